"""vz on the free surface: read with the slope that vanishing traction prescribes, and few rows.

Sources next to the surface, and contacts just below it, are compared with a grid four times finer,
which reads vz on its surface from a quarter of the depth.
"""

from __future__ import annotations

import numpy as np
import pytest

import seismo
from seismo.exact import metrics
from seismo.interpolation import Surface, axis_weights, slope_share, sloped_weights
from seismo.receivers import channel_points
from seismo.scenario import from_dict
from seismo.setup import prepare
from seismo.surface_slope import even_depth
from seismo.surroundings import Surroundings

ROCK = {"vp": 5550.0, "vs": 3150.0, "rho": 2650.0}
SOFT = {"vp": 1200.0, "vs": 600.0, "rho": 1900.0}
HARD = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0}


@pytest.mark.parametrize("rows", [1, 2, 3, 6])
@pytest.mark.parametrize("position", [0.0, 0.3, 0.8, 2.2])
def test_few_rows_and_a_slope_read_polynomials(position: float, rows: int) -> None:
    weights, share = sloped_weights(position, rows)
    assert weights.size <= rows
    z = np.arange(weights.size) + 0.5
    for power in range(weights.size + 1):
        assert weights @ z**power + share * (power == 1) == pytest.approx(position**power, abs=1e-9)


@pytest.mark.parametrize("position", [0.5, 3.5, 4.0, 7.2])
def test_no_slope_takes_part_on_a_row_of_vz_or_further_down(position: float) -> None:
    assert slope_share(position, True, Surface(0, False, 8)) == 0.0


def test_a_reading_stays_above_a_contact() -> None:
    """Two half points above it: no more are read; below it the slope tells nothing."""
    shallow = Surface(0, vanishes=False, sloped=2)
    assert axis_weights(0.0, True, 0, shallow)[0].tolist() == [0, 1]
    assert axis_weights(2.6, True, 0, shallow)[0].size == 6
    assert slope_share(2.6, True, shallow) == 0.0


def layered(depth: float, spacing: float, x: list[float]) -> dict:
    """Give a soft layer over rock, a force in the rock, and receivers on the surface."""
    layers = [{"top": 0.0, **SOFT}, {"top": depth, **HARD}] if depth else [{"top": 0.0, **SOFT}]
    return {
        "physics": "elastic",
        "grid": {"extent": {"x": 500.0, "z": 300.0}, "spacing": spacing, "order": 8},
        "time": {"duration": 1.2, "dispersion_removal": True},
        "boundaries": {"top": "free_surface", "layer": {"points": round(200.0 / spacing)}},
        "model": [{"type": "layers", "layers": layers}],
        "sources": [{
            "type": "force", "position": {"x": 100.0, "z": 120.0}, "force": {"x": 1e6, "z": 2e6},
            "wavelet": {"type": "ricker", "frequency": 2.4},
        }],
        "receivers": [{
            "name": "s", "type": "points", "quantities": ["velocity"], "interval": 0.01,
            "positions": [{"x": at, "z": 0.0} for at in x],
        }],
    }  # fmt: skip


def test_the_first_contact_is_found() -> None:
    for depth, even in ((0.0, np.inf), (23.0, 2.0), (27.0, 2.5), (60.0, 5.5), (300.0, np.inf)):
        setup = prepare(from_dict(layered(depth, 10.0, [100.0])))
        assert even_depth(setup.earth, setup.grid, 8) == even
        assert setup.slope.rows == (8 if even > 8 else np.ceil(even))


@pytest.mark.parametrize("z", [0.0, 5.0, 15.0])
@pytest.mark.parametrize("name", ["vx", "vz"])
def test_rotation_takes_both_differences(name: str, z: float) -> None:
    """d_z vx - d_x vz of a field that grows by 1 /s along the axis across it."""
    setup = prepare(from_dict(layered(0.0, 10.0, [250.0])))
    around = Surroundings(setup.grid, setup.physics, setup.closure, False, setup.halo, setup.slope)
    terms = setup.physics.observables["rotation"]["rotation_y"]
    points = channel_points(around, terms, (250.0, 0.0, z), setup.stencil)[name]
    along = 10.0 * (points.z if name == "vx" else points.x)
    assert abs(points.weights @ along) == pytest.approx(0.5, rel=1e-2)


def traces(document: dict, path) -> np.ndarray:
    """Run, and give vx and vz (component, receiver, time)."""
    with seismo.run(document, path) as results:
        return np.array([results.traces["s"].values_of(c)[0] for c in ("vx", "vz")])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("depth", "bar"), [(0.0, 0.001), (13.0, 0.01), (23.0, 0.01), (28.0, 0.009)]
)
def test_vz_on_the_surface_above_a_contact(depth: float, bar: float, tmp_path) -> None:
    """Ten points per shortest wavelength in the soft layer: 0.07, 0.94, 0.95, 0.83 % are found.

    A polynomial through six rows, across the contact, gave 1 to 7 %.
    """
    x = [150.0, 203.0, 300.0, 400.0]
    _, coarse = traces(layered(depth, 10.0, x), tmp_path / "coarse.h5")
    _, fine = traces(layered(depth, 2.5, x), tmp_path / "fine.h5")
    for found, wanted in zip(coarse, fine, strict=True):
        assert metrics.relative_l2(found, wanted) < bar


def explosion(depth: float, spacing: float) -> dict:
    """Give an explosion so many cells of 1250 m below the surface, with receivers and a map."""
    return {
        "physics": "elastic",
        "grid": {"extent": {"x": 17500.0, "z": 12500.0}, "origin": {"x": -7500.0, "z": 0.0},
                 "spacing": spacing, "order": 8},
        "time": {"duration": 15.0, "step": 4e-5 * spacing},
        "boundaries": {"top": "free_surface", "layer": {"points": 12}},
        "model": [{"type": "uniform", **ROCK}],
        "sources": [{
            "type": "explosion", "position": {"x": 0.0, "z": 1250.0 * depth}, "moment": 1e18,
            "wavelet": {"type": "gaussian_rate", "half_duration": 4.0},
        }],
        "receivers": [{
            "name": "s", "type": "points", "quantities": ["velocity"], "interval": 0.05,
            "positions": [{"x": 1250.0 * n, "z": 0.0} for n in (0, 1, 2, 2.7, 5, 6.3)],
        }],
        "output": {"maps": [{"name": "m", "quantities": ["pgv_z"], "box": {"z": [0.0, 1.0]}}]},
    }  # fmt: skip


def surface_motion(depth: float, spacing: float, path) -> tuple[np.ndarray, np.ndarray]:
    """Run; give vx and vz (component, receiver, time), and the peaks of vz 1250 m apart."""
    with seismo.run(explosion(depth, spacing), path) as results:
        traces = np.array([results.traces["s"].values_of(c)[0] for c in ("vx", "vz")])
        peaks = results.maps["m"].values_of("pgv_z")[0, 0, :: round(1250.0 / spacing)]
    return traces, peaks


@pytest.mark.filterwarnings("ignore::seismo.errors.ScenarioWarning")
@pytest.mark.parametrize(
    ("depth", "bar"),
    [
        (5.0, 0.025),
        *(pytest.param(d, 0.02, marks=pytest.mark.slow) for d in (1.0, 1.5, 3.7, 4.64, 5.5, 6, 8)),
        *(pytest.param(d, 0.025, marks=pytest.mark.slow) for d in (2.0, 2.5, 3.0)),
    ],
)
def test_vz_on_the_surface_above_a_shallow_source(depth: float, bar: float, tmp_path) -> None:
    """Traces and peaks five cells and more from the source, straight above it included.

    Errors are 1 % of the motion of a receiver at most, 2.4 % straight above a source five cells
    deep; a polynomial through six rows was wrong by a factor of 3 at 4.64 cells.
    """
    coarse, peaks = surface_motion(depth, 1250.0, tmp_path / "coarse.h5")
    fine, wanted = surface_motion(depth, 312.5, tmp_path / "fine.h5")
    far = np.hypot((0, 1, 2, 2.7, 5, 6.3), depth) > 4.99
    error = np.abs(coarse - fine).max(axis=2) / np.sqrt((fine**2).sum(axis=0)).max(axis=1)
    assert error[:, far].max() < bar
    far = np.hypot(np.arange(-6, 9), depth) > 4.99
    assert (np.abs(peaks / wanted - 1)[far] < bar).all()
