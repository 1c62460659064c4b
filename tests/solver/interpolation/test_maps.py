"""Maps of largest values: exact where fields are polynomials, and what every step shows.

The components of PGV are interpolated by polynomials, so that those are read exactly; tolerances
are what single precision rounds.
"""

import copy
from types import SimpleNamespace

import numpy as np
import pytest

import seismo
from seismo.backends import row_kernels as kernels
from seismo.backends.base import Backend
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.reference import ReferenceBackend
from seismo.backends.select import choose
from seismo.equations.framework.registry import physics_for
from seismo.errors import ScenarioError
from seismo.grid.coefficients import Stencil
from seismo.grid.decomposition import decompose
from seismo.grid.grid import Grid
from seismo.grid.surface_closure import surface_closure
from seismo.grid.time_step import Clock
from seismo.model.earth import Earth
from seismo.model.parts import Uniform
from seismo.output.store.layout import long_name, symbol
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.fields import Fields, RankFields
from seismo.solver.interpolation.point_weights import PointInterpolation
from seismo.solver.interpolation.traction_free_slopes import SurfaceSlope
from seismo.solver.sampling.output_sets import make_maps
from seismo.solver.sampling.peak_maps import MapReading, PeakMaps
from seismo.solver.simulation import Simulation
from test_run import SCENARIO

GRID = Grid("xyz", (20, 18, 22), (10.0, 10.0, 5.0), (0.0, -20.0, 0.0), (4, 3, 0), (4, 3, 4))
ORDER, SHOTS, DT = 4, 2, 0.5
EVERY_PLANE = dict.fromkeys(("velocity", "stress"), np.ones(GRID.points[2], bool))
# Of degree 3, which the four half points beside a node of order 4 read exactly; szz = 0 on z = 0.
POLYNOMIALS = {
    "vx": lambda x, y, z: 1.0 + 0.3 * x - 0.02 * x**2 + 0.002 * x**3 + 0.1 * y - 0.05 * z,
    "vy": lambda x, y, z: -2.0 + 0.2 * y + 0.03 * y**2 - 0.001 * y**3 + 0.07 * x * z,
    "vz": lambda x, y, z: 0.5 + slope_of(x, y) * z + 0.05 * z**2 - 0.002 * z**3 - 0.06 * y,
}
ROCK = Uniform({"vp": 2000.0, "vs": 1000.0, "rho": 2000.0})


def slope_of(x, y):
    """Give d_z vz of no traction on the surface: -lambda / (lambda + 2 mu) (d_x vx + d_y vy)."""
    across = (0.3 - 0.04 * x + 0.006 * x**2) / 10.0 + (0.2 + 0.06 * y - 0.003 * y**2) / 10.0
    return -0.5 * 5.0 * across


def entry(quantities, **cut):
    asked = {
        "decimate": 1,
        "plane": None,
        "box": None,
        "name": "m",
        "periods": None,
        "damping": 0.05,
    }
    asked |= cut
    return SimpleNamespace(quantities=quantities, **asked)


def filled(backend: Backend, cuts: tuple[int, int]) -> list[Fields]:
    """Give fields that are polynomials at their own places, shot n of them n + 1 times."""
    physics, parts = physics_for("elastic", 3), []
    for subdomain in (s for row in decompose(GRID, ORDER // 2, cuts, SHOTS) for s in row):
        fields = Fields(backend, physics, subdomain, EVERY_PLANE, 0)
        nz, ny, nx = subdomain.shape
        z, y, x = np.meshgrid(*(np.arange(n) for n in (nz, ny, nx)), indexing="ij")
        ox, (_, oy, oz) = subdomain.halo, subdomain.offset
        for name, polynomial in POLYNOMIALS.items():
            half = [0.5 * (a in physics.named(name).half) for a in "xyz"]
            place = (x - ox + half[0], y - oy + half[1], z - oz + half[2])
            values = polynomial(*place) * np.array([1.0, 2.0])[:, None, None, None]
            subdomain.view(fields.arrays(0)[name])[:] = backend.array(values.astype("f4"))
        parts.append(fields)
    return parts


def check_polynomials(backend: Backend, cuts: tuple[int, int], plane: str | None) -> None:
    """Compare peaks after two looks, of which the second sees a third of the motion."""
    physics = physics_for("elastic", 3)
    closure = surface_closure(Stencil(ORDER))
    slope = SurfaceSlope(GRID, Earth((ROCK,), ("vp", "vs", "rho")), 8, ORDER // 2)
    interpolation = PointInterpolation(GRID, physics, closure, False, Stencil(ORDER), slope)
    names = ("pgv", "pga", "pgv_horizontal", "pga_y", "pgv_z", "vz")
    place = plane and SimpleNamespace(**{**dict.fromkeys("xyz"), plane: 20.0})
    parts = filled(backend, cuts)
    maps = make_maps(entry(names, decimate=2, plane=place), GRID, physics)
    clock = Clock(DT, 10, DT, DT)
    peaks = PeakMaps(
        RankFields(backend, parts, SHOTS, SerialCommunicator()),
        MapReading(interpolation),
        [maps],
        clock,
    )
    for _ in range(2):
        for launch in peaks.launches(0):
            launch()
        for fields in parts:
            for name in POLYNOMIALS:
                fields.arrays(0)[name][:] *= np.float32(1 / 3)
    x, y, z = np.meshgrid(*maps.cut.index, indexing="ij")
    v = {name: p(x, y, z).T.reshape(maps.cut.shape) for name, p in POLYNOMIALS.items()}
    below = POLYNOMIALS["vz"](x, y, z + 0.5).T.reshape(maps.cut.shape)
    length = np.sqrt(v["vx"] ** 2 + v["vy"] ** 2 + v["vz"] ** 2)
    wanted = {
        "pgv": length, "pga": length / DT, "pgv_horizontal": np.hypot(v["vx"], v["vy"]),
        "pga_y": abs(v["vy"]) / DT, "pgv_z": abs(v["vz"]), "vz": abs(below),
    }  # fmt: skip
    for shot in range(SHOTS):
        found = peaks.peaks(shot)
        assert set(found) == {f"m/{name}" for name in names}
        for name, values in wanted.items():
            size = (shot + 1) * values
            np.testing.assert_allclose(found[f"m/{name}"], size, atol=2e-6 * size.max(), rtol=0)
    for held in peaks.state().values():
        held.array[:] = 0
    assert not any(values.any() for values in peaks.peaks(1).values())


@pytest.mark.parametrize("kind", [ReferenceBackend, CpuBackend])
@pytest.mark.parametrize("cuts", [(1, 1), (2, 2)])
@pytest.mark.parametrize("plane", [None, "x", "z"])
def test_peaks_of_polynomials_are_exact(kind, cuts, plane):
    check_polynomials(kind("float32"), cuts, plane)


@pytest.mark.parametrize("kind", [ReferenceBackend, CpuBackend])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("power", [-70, 96])
def test_lengths_whose_squares_are_no_numbers_are_exact(kind, count, power):
    """Squares of 1e-21 and 1e29 leave single precision; a power of two rounds nothing."""
    backend, tiny, length = kind("float32"), np.float32(2.0**power), 53
    values = np.random.default_rng(2).normal(size=(count, length)).astype("f4")
    found = np.zeros((2, length), "f4")
    for peaks, factor in zip(found, (1, tiny), strict=True):
        starts = np.arange(count) * length
        held = (peaks, (factor * values).ravel(), np.zeros(1, np.int64), starts, backend.clock, 0)
        backend.each_row(kernels.raise_peaks, 1, length, held, (0,))()
    np.testing.assert_allclose(found[0], np.linalg.norm(values, axis=0), rtol=3e-7)
    np.testing.assert_array_equal(found[1], tiny * found[0])


def changed(**sections):
    return copy.deepcopy(SCENARIO) | sections


def with_maps(**sections):
    maps = [{"name": "a", "quantities": ["p", "pgv", "pga_x"]},
            {"name": "b", "quantities": ["pgv"], "box": {"x": [100.0, 200.0]}}]  # fmt: skip
    snapshots = [{"name": "every", "fields": ["p"], "steps": 1}]
    return changed(output={"maps": maps, "snapshots": snapshots}, **sections)


def test_a_map_shows_the_largest_of_all_steps_up_to_the_end(tmp_path):
    """The run goes on for some steps, for the sake of traces, that the maps do not see."""
    with seismo.run(with_maps(), tmp_path / "x.h5") as results:
        maps, pressure = results.maps["a"], results.snapshots["every"].values_of("p")
        np.testing.assert_array_equal(maps.values_of("p")[0], np.abs(pressure).max(axis=0))
        assert maps.dimensions("pgv") == ("shot", "z", "x")
        assert (maps.unit("pgv"), maps.unit("pga_x")) == ("m/s", "m/s^2")
        pgv = maps.values_of("pgv")
        np.testing.assert_array_equal(results.maps["b"].values_of("pgv"), pgv[..., 10:21])
        assert maps.attribute("pgv", "peak") == pgv.max() > 0
        assert "b: 1 shot, 21 x 11 points (z, x)" in results.info()


def test_the_peak_at_a_receiver_is_that_of_its_trace(tmp_path):
    """Traces at 25 Hz and below are sampled 20 times a period: peaks differ by (pi / 20)^2 / 2.

    A tenth more is allowed, for the time dispersion that is removed from traces alone.
    """
    station = [{"name": "n", "type": "points", "quantities": ["velocity", "acceleration"],
                "positions": [{"x": 200.0, "z": 60.0}]}]  # fmt: skip
    with seismo.run(with_maps(receivers=station), tmp_path / "x.h5") as results:
        traces = {c: results.traces["n"].values_of(c)[0, 0] for c in ("vx", "vz", "ax")}
        found = {q: results.maps["a"].values_of(q)[0, 6, 20] for q in ("pgv", "pga_x")}
    wanted = np.hypot(traces["vx"], traces["vz"]).max()
    assert found["pgv"] == pytest.approx(wanted, rel=0.014)
    assert found["pga_x"] == pytest.approx(np.abs(traces["ax"]).max(), rel=0.014)


def test_maps_of_a_survey_are_those_of_its_shots(tmp_path):
    def surveyed(*places, batch=2):
        shots = [{"position": {"x": x, "z": 100.0}} for x in places]
        return with_maps(survey={"shots": shots, "batch": batch})

    survey = seismo.run(surveyed(80.0, 103.0, 222.0), tmp_path / "survey.h5").maps["a"]
    assert survey.shots == ["shot_000", "shot_001", "shot_002"]
    for number, place in enumerate((80.0, 103.0, 222.0)):
        alone = seismo.run(surveyed(place, batch=1), tmp_path / f"{number}.h5").maps["a"]
        for name in ("p", "pgv", "pga_x"):
            np.testing.assert_array_equal(survey.values_of(name)[number], alone.values_of(name)[0])


# The polynomial under a free surface reads rows further away than differences of order 2.
SHALLOW_CUT = {
    "physics": "elastic", "grid": {"extent": {"x": 300.0, "z": 180.0}, "spacing": 10.0, "order": 2},
    "model": [{"type": "uniform", "vp": 1500.0, "vs": 800.0, "rho": 1000.0}],
    "boundaries": {"top": "free_surface", "layer": {"points": 3}},
    "output": {"maps": [{"quantities": ["pgv"]}]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "cuts"),
    [({"boundaries": {"layer": {"points": 3}}}, (3, 1)), (SHALLOW_CUT, (5, 1))],
)
def test_maps_do_not_depend_on_the_cuts_of_the_grid(changes, cuts):
    scenario = from_dict(with_maps() | changes)
    discretization, backend = discretize(scenario), choose("cpu").make("float32")
    found = []
    for parts in ((1, 1), cuts):
        simulation = Simulation(discretization, backend, parts)
        simulation.advance(60)
        found.append(simulation.maps.peaks(0))
    for name, values in found[0].items():
        np.testing.assert_array_equal(values, found[1][name])
        assert values.any()


def test_a_box_between_grid_points_is_refused(tmp_path):
    """All of them, in one pass."""
    box = {"box": {"x": [101.0, 109.0]}}
    entries = {
        "maps": [{"quantities": ["p"]} | box],
        "snapshots": [{"fields": ["p"], "steps": 1} | box],
    }
    with pytest.raises(ScenarioError) as refusal:
        seismo.run(changed(output=entries), tmp_path / "x.h5")
    for text, key in zip(refusal.value.messages, ("snapshots", "maps"), strict=True):
        assert text.startswith(f"output.{key}[0].box.x: ")
        assert "from 101 m to 109 m holds no point" in text


def test_steps_that_never_come_are_refused(tmp_path):
    snapshots = [{"fields": ["p"], "steps": 100, "start": 0.21}]
    with pytest.raises(ScenarioError, match=r"no multiple of 100 steps of 0.002 s from 0.21 s"):
        seismo.run(changed(output={"snapshots": snapshots}), tmp_path / "x.h5")


def test_maps_have_names_for_people():
    assert long_name("pgv") == "peak ground velocity"
    assert long_name("pga_horizontal") == "horizontal peak ground acceleration"
    assert long_name("pgv_x") == "x component of peak ground velocity"
    assert symbol("pga_horizontal") == "PGA horizontal"
