"""Distances of ground-motion models, against points all over the subfaults."""

import numpy as np
import pytest

import seismo
from seismo.features.faults.finite_fault import FaultGeometry
from seismo.formats.seismograms import hypocentre
from seismo.output.results import open_results
from seismo.scenario import from_dict
from test_finite_fault import elastic, fault, point, srf

STRIKE = 0.7
DIP = 1.0
SIDE = 1000.0


@pytest.fixture
def plane():
    """Return 4 x 3 squares of one plane, of which one slips first."""
    along = np.array([np.cos(STRIKE), np.sin(STRIKE), 0.0])
    down = np.array([-np.sin(STRIKE) * np.cos(DIP), np.cos(STRIKE) * np.cos(DIP), np.sin(DIP)])
    u, v = np.meshgrid(SIDE * (np.arange(4) - 1.5), SIDE * (np.arange(3) + 1.0))
    centres = u.reshape(-1, 1) * along + v.reshape(-1, 1) * down
    onsets = np.linalg.norm(centres - centres[6], axis=1)
    same = np.ones(12)
    geometry = FaultGeometry(centres, STRIKE * same, DIP * same, SIDE**2 * same, onsets)
    a, b = np.meshgrid(np.linspace(-2000, 2000, 401), np.linspace(500, 3500, 301))
    return geometry, a.reshape(-1, 1) * along + b.reshape(-1, 1) * down


def test_distances_are_those_of_a_plane(plane):
    geometry, surface = plane
    points = np.random.default_rng(1).uniform(-6e3, 6e3, (20, 3)) * [1, 1, 0]
    points[0] = surface[60_000] * [1, 1, 0]  # above it
    distances = geometry.distances(points)
    away = points[:, None] - surface
    step = 10.0
    np.testing.assert_allclose(
        distances["r_rup"], np.linalg.norm(away, axis=2).min(axis=1), atol=step
    )
    flat = np.linalg.norm(away[..., :2], axis=2).min(axis=1)
    np.testing.assert_allclose(distances["r_jb"], flat, atol=step)
    assert distances["r_jb"][0] == 0.0
    np.testing.assert_allclose(
        distances["r_hyp"], np.linalg.norm(points - geometry.centres[6], axis=1)
    )


def test_results_have_the_hypocentre_and_the_distances(tmp_path):
    """The subfault that slips first is the event of exports, not the centroid."""
    text = srf([point(120, 140, 115, onset=0.05), point(60, 140, 95, onset=0.01)])
    at = {"x": 60.0, "y": 100.0, "z": 95.0}
    document = elastic(
        [fault(tmp_path, text)], time={"duration": 0.02},
        receivers=[{"name": "r", "type": "points", "positions": [at]}],
    )  # fmt: skip
    seismo.run(from_dict(document, tmp_path), tmp_path / "x.h5").close()
    with open_results(tmp_path / "x.h5") as results:
        (row,) = results.sources
        assert row["x"] == pytest.approx(90.0, abs=0.1)
        event = hypocentre(results, "shot_000")
        assert (event["x"], event["z"]) == pytest.approx((60.0, 95.0), abs=0.1)
        assert event["depth"] == pytest.approx(95.0, abs=0.1)
        assert event["longitude"] == row["hypocentre_longitude"] != row["longitude"]
        r_hyp, r_rup, r_jb = (
            results.traces["r"].column(name)[0] for name in ("r_hyp", "r_rup", "r_jb")
        )
        assert r_hyp == pytest.approx(40.0, abs=0.1)
        assert 40.0 - 10.0 * np.sqrt(2) < r_rup < 40.0  # half a diagonal of 20 m x 20 m
        assert r_jb <= r_rup
        assert {row["r_rup (m)"] for row in results.ground_motion()} == {r_rup}
