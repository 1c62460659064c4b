"""Maps of largest values read velocities as receivers at their nodes do, beside contacts, too."""

import numpy as np
import pytest

import seismo
import solver
from seismo.backends.select import choose
from seismo.runs.prediction.accuracy import expected_error
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.parallel.partition import never_cut
from seismo.solver.sampling.peak_maps import MapReading
from seismo.solver.simulation import Simulation

H = 10.0  # m
SOFT = {"vp": 800.0, "vs": 250.0, "rho": 1800.0}
ROCK = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0}
WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}
BRINE = {"vp": 1700.0, "vs": 0.0, "rho": 2000.0}
STACKS = {  # depths of tops in cells
    "thin soft layer": ((0.0, SOFT), (1.0, ROCK)),
    "contact below": ((0.0, SOFT), (12.4, ROCK)),
    "sea bed": ((0.0, WATER), (14.3, ROCK)),
    "two fluids": ((0.0, WATER), (9.3, BRINE)),
}


def document(stack: str, **changes) -> dict:
    """Put a force in the rock under a free surface, a map of its section, and stations on nodes."""
    layers = [{"top": top * H, **rock} for top, rock in STACKS[stack]]
    slowest = min(rock["vs"] or rock["vp"] for _, rock in STACKS[stack])
    frequency = slowest / (25.0 * H)  # 10 points in the shortest wavelength
    source = {"type": "pressure", "amplitude": 1e6} if stack == "two fluids" else {
        "type": "force", "force": {"x": 1e9, "z": 2e9}}  # fmt: skip
    return {
        "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": 400.0, "z": 350.0}, "spacing": H, "order": 8},
        "time": {"duration": 3.0 / frequency, "dispersion_removal": False},
        "boundaries": {"top": "free_surface", "layer": {"points": 8}},
        "model": [{"type": "layers", "layers": layers}],
        "sources": [{"position": {"x": 160.0, "z": 230.0}, **source,
                     "wavelet": {"type": "ricker", "frequency": frequency}}],
        "output": {"maps": [{"quantities": ["pgv_x", "pgv_z"]}]},
    } | changes  # fmt: skip


@pytest.mark.parametrize("stack", STACKS)
def test_rows_are_weighed_as_receivers_weigh_them(stack: str) -> None:
    """Of fields that differ from row to row alone; even media keep their polynomials."""
    discretization = discretize(from_dict(document(stack)))
    interpolation, rows = discretization.interpolation, range(discretization.grid.points[2] - 12)
    reading = MapReading(interpolation, never_cut(discretization), rows)
    values = np.random.default_rng(1).standard_normal(discretization.grid.points[2] + 20)
    changed = 0
    for name in ("vx", "vz"):
        field = interpolation.physics.named(name)
        assert not reading.unlike(name)
        of_map = np.zeros(len(rows))
        for read, points in reading.sums(name):
            for z in rows if read == name else ():
                down = points.down[z] if points.down is not None else 0
                across = points.steps[z] if points.axis == "z" else 0
                of_map[z] += points.weights[z] @ values[np.broadcast_to(z + down + across, 8)]
        for z, _ in reading._beside(field):
            _, _, rows_read, weights = interpolation.weights(field, (200.0, 0.0, z * H))
            assert of_map[z] == pytest.approx(weights @ values[rows_read], abs=1e-9)
            changed += 1
    assert changed > 1


@pytest.mark.slow
def test_peaks_on_a_thin_soft_layer_are_those_of_traces(tmp_path) -> None:
    """With the row of the surface alone 4 % of vx are missing."""
    stations = [{"name": "s", "type": "points", "quantities": ["velocity"],
                 "positions": [{"x": x, "z": 0.0} for x in (100.0, 200.0, 300.0)]}]  # fmt: skip
    maps = [{"quantities": ["pgv_x", "pgv_z"]}]
    asked = document("thin soft layer", receivers=stations, output={"maps": maps})
    with seismo.run(asked, tmp_path / "x.h5") as results:
        for axis in "xz":
            peaks = results.maps["peaks"].values_of(f"pgv_{axis}")[0, 0, [10, 20, 30]]
            traces = np.abs(results.traces["s"].values_of(f"v{axis}")[0]).max(-1)
            np.testing.assert_allclose(peaks, traces, rtol=0.01)


@pytest.mark.parametrize(
    "stack", [pytest.param("thin soft layer", marks=pytest.mark.slow), "sea bed"]
)
def test_peaks_beside_contacts_do_not_depend_on_cuts(stack: str) -> None:
    discretization = discretize(from_dict(document(stack)))
    found = []
    for parts in ((1, 1), (3, 1)):
        simulation = Simulation(discretization, choose("cpu").make("float64"), parts)
        solver.add_noise(simulation)
        simulation.advance(4)
        found.append(simulation.maps.peaks(0))
    for name, values in found[0].items():
        np.testing.assert_array_equal(values, found[1][name])


def test_check_names_nodes_that_are_read_as_in_an_even_medium() -> None:
    """Parts of a grid of order 4 hold two rows of their neighbours, weights take four."""
    asked = document("contact below")
    asked["grid"]["order"] = 4
    (line,) = (w for w in seismo.check(asked, backend="cpu").warnings if "even medium" in w)
    assert "from z = 100 m to 160 m" in line
    asked["grid"]["order"] = 8
    assert not any("even medium" in w for w in seismo.check(asked, backend="cpu").warnings)


DIPPING = {"type": "polygon", "vp": 1980.0, "vs": 1100.0, "rho": 1900.0,
           "points": [[50.0, -5.0], [2000.0, -5.0], [2000.0, 800.0]]}  # fmt: skip


def test_peaks_beside_a_contact_that_dips_err_as_check_expects(tmp_path) -> None:
    """Of a grid four times as fine; where the earth varies sideways none is read for its kinks."""

    def peaks(spacing: float) -> tuple[dict, np.ndarray]:
        given = {
            "physics": "elastic",
            "grid": {"extent": {"x": 500.0, "z": 360.0}, "spacing": spacing},
            "time": {"duration": 1.1},
            "boundaries": {"top": "free_surface", "layer": {"points": int(120 / spacing)}},
            "model": [{"type": "uniform", **ROCK}, DIPPING],
            "sources": [{"type": "force", "position": {"x": 150.0, "z": 250.0},
                         "force": {"x": 1e6, "z": 1e6},
                         "wavelet": {"type": "ricker", "frequency": 4.4}}],
            "output": {"model": False, "maps": [{"name": "m", "quantities": ["pgv"]}]},
        }  # fmt: skip
        with seismo.run(given, output=tmp_path / f"{spacing:g}.h5") as results:
            return given, results.maps["m"].values_of("pgv")[0]

    given, coarse = peaks(H)
    _, fine = peaks(H / 4)
    error = np.abs(coarse / fine[::4, ::4] - 1.0)
    z, x = np.mgrid[: coarse.shape[0], : coarse.shape[1]] * H
    beside = np.abs(z - 805.0 / 1950.0 * (x - 50.0) + 5.0) < 2.0 * H
    expected = expected_error(discretize(from_dict(given))).error
    assert 0.005 < error[beside].max() < 3.0 * expected
    assert expected < 0.03
