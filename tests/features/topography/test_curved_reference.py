"""The solution that curved ground is judged by, against Lamb's problem, level and turned."""

import sys
from pathlib import Path

import numpy as np
import pytest

from seismo.exact import layered_plane, metrics, shear
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

ROCK = Medium(3000.0, 1700.0, 2200.0)
FREQUENCY = 6.8  # Hz; the shortest S wavelength is 100 m
DT = 1 / (24 * FREQUENCY)
TIMES = np.arange(round(0.62 / DT)) * DT
PHASE = (np.pi * (FREQUENCY * TIMES - 1.6)) ** 2
PULSE = (1 - 2 * PHASE) * np.exp(-PHASE)
SOURCE = np.array([-60.0, 110.0])
RECEIVERS = np.array([[-40.0, 0.0], [150.0, 0.0], [100.0, 60.0]])
REACH = 0.5 * ROCK.vp * (TIMES[-1] - 0.6 / FREQUENCY)
FORCES = {"P-SV": np.array([0.8, -0.6]), "SH": np.array([1.3])}


@pytest.fixture
def reference(monkeypatch):
    """Return the module, which is among the scripts of validation and no package."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "validation"))
    import curved_surface

    yield curved_surface
    sys.modules.pop("curved_surface", None)


def exact(kind: str) -> np.ndarray:
    """Return the velocity (receiver, component, time) m/s on level ground."""
    force = FORCES[kind]
    if kind == "SH":
        velocity = shear.force_response(
            RECEIVERS, SOURCE, PULSE, DT, ROCK.vs, ROCK.rho, "velocity", surface=0.0
        )
        return force[0] * velocity[:, None]
    return layered_plane.force_response(
        Stack((ROCK,), (0.0,)), SOURCE, RECEIVERS, force, PULSE, DT, "velocity", cut=1e-6
    )


@pytest.mark.parametrize(
    ("kind", "dip"),
    [("SH", 0.0), ("SH", 25.0), ("P-SV", 20.0), pytest.param("P-SV", 0.0, marks=pytest.mark.slow)],
)
def test_on_a_plane_it_is_the_solution_of_lambs_problem(reference, kind: str, dip: float) -> None:
    """Level and turned, on the surface close to the source, farther, and below: 0.2 % at most."""
    cosine = np.cos(np.radians(dip))
    sine = np.sin(np.radians(dip))
    turn = np.array([[cosine, -sine], [sine, cosine]])
    ground = reference.plane(sine / cosine, REACH * cosine, 60.0)
    vectors = turn if kind == "P-SV" else np.eye(1)
    velocity = reference.force_response(
        ground, turn @ SOURCE, RECEIVERS @ turn.T, vectors @ FORCES[kind], PULSE, DT, ROCK
    )
    wanted = np.einsum("ij,rjt->rit", vectors, exact(kind))
    errors = [metrics.relative_l2(*pair) for pair in zip(velocity, wanted, strict=True)]
    assert max(errors) < 2e-3


def test_waves_are_reciprocal_on_a_hill(reference) -> None:
    """SH: source and receiver may change places where the ground is curved."""
    hill = reference.hill(90.0, 150.0, REACH, 45.0)
    first = np.array([-120.0, 100.0])
    second = np.array([140.0, 45.0])
    there, back = (
        reference.force_response(hill, start, end, FORCES["SH"], PULSE, DT, ROCK)
        for start, end in ((first, second), (second, first))
    )
    level = reference.plane(0.0, REACH, 60.0)
    flat = reference.force_response(level, first, second, FORCES["SH"], PULSE, DT, ROCK)
    assert metrics.relative_l2(there, back) < 2e-3
    assert metrics.relative_l2(there, flat) > 0.1


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_slope_is_turned_without_a_mirror(monkeypatch, dimensions: int) -> None:
    """The frame of ground that dips is right-handed as x, y, z, and its first axis goes down."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "validation"))
    import dipping_ground

    for module in ("dipping_ground", "cases"):
        monkeypatch.delitem(sys.modules, module)
    dip = np.radians(20.0)
    azimuth = np.radians(35.0)
    frame = dipping_ground.turn(dip, azimuth, dimensions)
    np.testing.assert_allclose(frame.T @ frame, np.eye(dimensions), atol=1e-15)
    assert np.linalg.det(frame) == pytest.approx(1.0)
    assert frame[-1, 0] == pytest.approx(np.sin(dip))
    assert frame[-1, -1] == pytest.approx(np.cos(dip))
    if dimensions == 3:
        assert np.arctan2(frame[1, 0], frame[0, 0]) == pytest.approx(azimuth)
