"""Grids whose rows grow with depth: what they conserve, where points are, and what is refused.

Along z such a grid has derivatives 1 / J d/dzeta, J the height of a cell in those at the top. With
J among the weights of the energy (`test_solver_conservation`) it is conserved as on even grids.
"""

import numpy as np
import pytest

import solver
from seismo.backends.reference import ReferenceBackend
from seismo.equations.framework.registry import EQUATIONS, physics_for
from seismo.errors import ScenarioError
from seismo.grid.grid import (
    FLAT_ROWS,
    GROWTH,
    Grid,
    laid_out,
    moved,
)
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from test_finite_fault import elastic, fault, srf
from test_many_subfaults import as_points, rough
from test_solver_conservation import Energy, closed_box

SPACING = 10.0
DEPTH = 900.0
ROWS = [{"below": 250.0, "spacing": 14.0}, {"below": 500.0, "spacing": 24.0}]
FIRST_ORDER = [
    case
    for case in solver.EVERY_EQUATION
    if physics_for(*case.values).differences == "first"
    and not physics_for(*case.values).interpolates
]
CONSERVING = [case for case in FIRST_ORDER if EQUATIONS[case.values[0]].energy]


def plan(name: str, dimensions: int, rows=ROWS, **changes) -> dict:
    """Give a scenario with a few points along x and y, and rows that grow."""
    across = {"x": 130.0, "y": 120.0} if dimensions == 3 else {"x": 240.0}
    spacing = dict.fromkeys(across, SPACING)
    document = solver.plan(name, dimensions, steps=None)
    document["grid"] |= {"extent": {**across, "z": DEPTH}, "spacing": {**spacing, "z": rows}}
    places = {a: 0.5 * length + 3.0 for a, length in across.items()}
    for number, source in enumerate(document["sources"]):
        source["position"] = {**places, "z": (120.0, 460.0, 610.0)[number % 3]}
    document["receivers"][0]["positions"] = [
        {**{a: p - 9.0 for a, p in places.items()}, "z": z} for z in (82.0, 403.0, 655.0)
    ]
    document["time"] = {"duration": 0.15, "dispersion_removal": False}
    return document | changes


def random_model(folder, name: str, dimensions: int) -> list[dict]:
    """Write media that differ from point to point, ten times as many as the rows."""
    physics = physics_for(name, dimensions)
    shape = (91, 13, 14) if dimensions == 3 else (91, 25)
    model = solver.gridded(folder, solver.random_arrays(physics, shape))
    axes = "zyx" if dimensions == 3 else "zx"
    for part in model[0].values():
        if isinstance(part, dict):
            part["spacing"] = dict.fromkeys(axes, SPACING)
    return model


class GrowingEnergy(Energy):
    """The energy, of cells that are as tall as they are."""

    def weight(self, half: str) -> np.ndarray:
        grid = self.simulation.discretization.grid
        heights = grid.heights(np.arange(grid.points[2]) + 0.5 * ("z" in half))
        return super().weight(half) * heights[:, None, None]


def drift(name: str, dimensions: int, case: str, folder, steps: int) -> float:
    """Give the largest change of the energy of noise in a random medium, relative."""
    document = plan(
        name, dimensions, boundaries=closed_box(case, dimensions),
        model=random_model(folder, name, dimensions), averaging="point",
    )  # fmt: skip
    dt = discretize(from_dict(document, folder)).clock.dt
    document["time"]["duration"] = (steps + 50) * dt
    simulation = solver.build(document, folder)
    assert simulation.discretization.grid.stretching.largest > 2.0
    solver.silence(simulation)
    solver.add_noise(simulation)
    simulation.advance(1)
    return GrowingEnergy(simulation).drift(steps // 5)


@pytest.mark.parametrize("case", [pytest.param("rigid", marks=pytest.mark.slow), "free"])
@pytest.mark.parametrize(
    ("name", "dimensions"),
    solver.slow_cases_but({"elastic-3d", "acoustic_variable_density-2d"}, CONSERVING),
)
def test_energy_is_constant(name: str, dimensions: int, case: str, tmp_path) -> None:
    """Without the heights among its weights it changes by percents."""
    steps = 10_000 if dimensions == 2 else 500
    assert drift(name, dimensions, case, tmp_path, steps) < 1e-12


def test_rows_and_depths_belong_together() -> None:
    rows = laid_out(-30.0, SPACING, DEPTH, lambda z: 1.4 if z < 400.0 else 2.4)
    at = np.linspace(-4.0, rows.last + 4.0, 999)
    z = rows.coordinate(at)
    assert np.abs(rows.row(z) - at).max() < 1e-11
    # J is the slope of z: what derivatives are divided by, and cells are tall.
    slope = (rows.coordinate(at + 1e-5) - rows.coordinate(at - 1e-5)) / (2e-5 * SPACING)
    assert np.abs(slope - rows.factor(at)).max() < 1e-7
    assert np.abs(rows.moved(z, 0.5) - rows.coordinate(at + 0.5)).max() < 1e-9
    assert rows.coordinate(rows.last) == pytest.approx(-30.0 + DEPTH, abs=1e-9)


def test_rows_grow_below_the_top_and_slowly() -> None:
    rows = laid_out(0.0, SPACING, 3000.0, lambda z: 3.0)
    heights = rows.factor(np.arange(rows.last + 1))
    assert np.all(heights[: FLAT_ROWS - 1] == 1.0)
    assert np.all(np.diff(heights) >= 0.0)
    assert (heights[1:] / heights[:-1]).max() <= GROWTH
    assert 2.9 < rows.largest <= 3.0
    assert rows.coordinate(np.arange(FLAT_ROWS - 1)).tolist() == [
        SPACING * n for n in range(FLAT_ROWS - 1)
    ]


def test_cells_are_no_taller_than_is_wanted() -> None:
    def wanted(z: float) -> float:
        return 1.0 if z < 300.0 else 1.6 if z < 1100.0 else 3.0

    rows = laid_out(0.0, SPACING, 2000.0, wanted)
    at = np.arange(rows.last + 1)
    limits = np.array([wanted(z) for z in rows.coordinate(at)])
    assert (rows.factor(at) <= limits * 1.02).all()


def test_rows_of_one_height_stay_the_even_grid() -> None:
    assert laid_out(0.0, SPACING, DEPTH, lambda z: 1.0) is None
    even = discretize(from_dict(plan("elastic", 2, SPACING)))
    for rows in ("auto", [{"below": 100.0, "spacing": SPACING}]):
        discretization = discretize(from_dict(plan("elastic", 2, rows)))
        assert discretization.grid == even.grid
        assert discretization.clock == even.clock


def test_cells_fill_the_depth() -> None:
    rows = laid_out(0.0, SPACING, DEPTH, lambda z: 2.0)
    grid = Grid(
        "xz", (3, 1, rows.last + 1), (SPACING,) * 3, (0.0,) * 3, (0,) * 3, (0,) * 3, 0, rows
    )
    z = grid.coordinate("z", np.arange(rows.last + 1))
    low, high = (moved(grid.cells, "z", z, end) for end in (-0.5, 0.5))
    assert np.allclose(low[1:], high[:-1], atol=1e-9)


MODEL = [
    {"type": "layers", "layers": [
        {"top": 0.0, "vp": 1500.0, "vs": 800.0, "rho": 2000.0},
        {"top": 360.0, "vp": 3000.0, "vs": 1700.0, "rho": 2400.0},
    ]}
]  # fmt: skip


def layered(rows, **changes) -> dict:
    """Give sources above and below a contact, and receivers of all quantities on both sides."""
    document = plan("elastic", 2, rows, model=MODEL, **changes)
    for source in document["sources"]:
        source["wavelet"]["frequency"] = 12.0
    document["grid"]["extent"]["x"] = 900.0
    for source, x in zip(document["sources"], (300.0, 330.0, 380.0), strict=False):
        source["position"]["x"] = x
    for place, x in zip(document["receivers"][0]["positions"], (520.0, 560.0, 600.0), strict=True):
        place["x"] = x
    document["boundaries"] = solver.faces(2, top="free_surface") | {"layer": {"points": 12}}
    document["time"] = {"duration": 0.7, "step": 1e-3, "dispersion_removal": False}
    return document


@pytest.fixture(scope="module")
def even() -> dict[str, np.ndarray]:
    return solver.records(solver.simulate(layered(SPACING)))


def test_traces_are_those_of_an_even_grid(even) -> None:
    """Amplitudes of every source and receiver, wherever their rows are: 2 % of the largest."""
    grown = solver.simulate(layered([{"below": 400.0, "spacing": 17.0}]))
    depths = grown.discretization.grid
    assert depths.heights(depths.index("z", 610.0)) > 1.2
    found = solver.records(grown)
    for name, trace in even.items():
        error = np.linalg.norm(found[name] - trace, axis=1) / np.linalg.norm(trace, axis=1)
        assert error.max() < 0.02, (name, error)


def test_cuts_change_no_bit() -> None:
    document = layered("auto")
    document["time"]["duration"] = 0.2
    whole, cut = (
        solver.records(solver.simulate(document, parts=parts)) for parts in ((1, 1), (3, 1))
    )
    assert solver.identical(whole, cut)


@pytest.mark.parametrize(
    ("name", "dimensions"),
    solver.slow_cases_but({"elastic-2d", "acoustic_variable_density-3d"}, FIRST_ORDER),
)
def test_step_limit(name: str, dimensions: int, tmp_path) -> None:
    """At 0.999 of the limit noise stays as it is, wherever the fastest rock lies."""
    document = plan(name, dimensions, boundaries=closed_box("rigid", dimensions))
    values = document["model"][0]
    slow = {k: v * 0.5 for k, v in values.items() if k in ("vp", "vs")}
    document["model"] = [values, {"type": "block", "z": [-1e6, 600.0], **slow}]
    simulation = solver.build(document, courant=0.999)
    limits = [simulation.discretization.clock.limit]
    document["grid"]["spacing"]["z"] = SPACING
    limits.append(discretize(from_dict(document)).clock.limit)
    assert limits[0] > 1.05 * limits[1]
    solver.silence(simulation)
    solver.add_noise(simulation)
    simulation.advance(1)
    before = {k: np.abs(v).max() for k, v in solver.wavefield(simulation).items()}
    simulation.advance(simulation.total_steps - 1)
    for field, values in solver.wavefield(simulation).items():
        assert np.abs(values).max() < 30.0 * max(before[field], 1e-30)


@pytest.mark.parametrize(
    ("name", "dimensions"),
    [("elastic", 2), ("elastic_sh", 2), pytest.param("elastic", 3, marks=pytest.mark.slow)],
)
def test_the_gpu_has_the_same_rows(name: str, dimensions: int) -> None:
    """Its own code, run on this machine's processor, against NumPy, with layers on all sides."""
    pytest.importorskip("numba_cuda", reason="the GPU's kernels need numba-cuda")
    simulated = pytest.importorskip("simulated_card").simulated
    document = plan(name, dimensions, [{"below": 240.0, "spacing": 20.0}])
    document["grid"]["extent"] = dict.fromkeys(document["grid"]["extent"], 120.0) | {"z": 420.0}
    place = dict.fromkeys(document["grid"]["extent"], 60.0) | {"z": 330.0}
    for source in document["sources"]:
        source["position"] = place
    document["receivers"] = [solver.points([place])]
    document["boundaries"] |= {"top": "free_surface"}
    fields = []
    for backend in (simulated, ReferenceBackend):
        simulation = solver.build(document, backend=backend)
        assert simulation.discretization.grid.stretching.largest > 1.2
        solver.add_noise(simulation)
        simulation.advance(3)
        fields.append(solver.wavefield(simulation))
    assert solver.difference(*fields) < 1e-12


REFUSED = [
    ({"physics": "acoustic"}, "second differences"),
    ({"boundaries": {"top": "periodic", "bottom": "periodic"}}, "periodic"),
    ({"rows": "deep"}, "or auto"),
    ({"rows": []}, "must not be empty"),
    ({"rows": [{"below": 10.0}]}, "spacing"),
    ({"rows": [{"below": 300.0, "spacing": 20.0}, {"below": 200.0, "spacing": 30.0}]}, "increase"),
    ({"rows": [{"below": 300.0, "spacing": 5.0}]}, "from 10 m"),
    ({"rows": {"below": 10.0}}, "must be a number in m"),
]


@pytest.mark.parametrize(("changes", "words"), REFUSED)
def test_what_rows_cannot_do_is_refused(changes: dict, words: str) -> None:
    changes = dict(changes)
    document = plan(changes.pop("physics", "elastic"), 2, changes.pop("rows", ROWS))
    document["boundaries"] |= changes.pop("boundaries", {})
    with pytest.raises(ScenarioError, match=words) as caught:
        discretize(from_dict(document))
    assert "grid.spacing.z" in str(caught.value)


def test_a_sea_bed_among_growing_rows_is_refused_and_auto_keeps_away() -> None:
    water = [{"top": 0.0, "vp": 1500.0, "vs": 0.0, "rho": 1000.0}]
    rock = [{"top": 400.0, "vp": 3000.0, "vs": 1700.0, "rho": 2400.0}]
    model = [{"type": "layers", "layers": water + rock}]
    with pytest.raises(ScenarioError, match="contact of fluid and solid at 400 m"):
        discretize(from_dict(plan("elastic", 2, ROWS, model=model)))
    grid = discretize(from_dict(plan("elastic", 2, "auto", model=model))).grid
    assert float(grid.heights(grid.index("z", 420.0))) == 1.0
    assert grid.stretching.largest > 1.0


@pytest.mark.slow
def test_a_fault_acts_as_its_points_do(tmp_path) -> None:
    """Weights along z, of many subfaults found from few, belong to the rows."""
    document = elastic([fault(tmp_path, srf(rough(depth=(310.0, 370.0))))], cells=20)
    document["time"] = {"duration": 0.1, "dispersion_removal": False}
    document["grid"]["extent"]["z"] = 420.0
    document["grid"]["spacing"] |= {"z": [{"below": 240.0, "spacing": 20.0}]}
    simulation = solver.build(document, tmp_path)
    assert (
        simulation.discretization.grid.heights(simulation.discretization.grid.index("z", 340.0))
        > 1.1
    )
    fields = []
    for shots in (simulation.discretization.shots, [as_points(simulation.discretization)]):
        simulation.load(shots)
        simulation.advance(simulation.total_steps)
        fields.append(solver.wavefield(simulation))
    assert solver.difference(*fields) < 2e-5
