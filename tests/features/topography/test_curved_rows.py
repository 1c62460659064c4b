"""Rows that follow the ground: what the discrete equations conserve, and that cuts change nothing.

Forces are the negative adjoint of strain rates in norms with the height g of cells among their
weights, and the normal traction on the ground vanishes to the residual of its iterations: energy is
constant to rounding, whatever the ground and the medium.
"""

import contextlib

import numpy as np
import pytest

import solver
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.reference import ReferenceBackend
from seismo.backends.select import choose
from seismo.equations.framework.registry import physics_for
from seismo.equations.framework.sloping_ground import RESIDUALS, iterations
from seismo.errors import ScenarioError
from seismo.features.topography.differences import curved_cost
from seismo.features.topography.rows import GroundSpline, Topography
from seismo.grid.coefficients import Stencil, midpoint, pairs_of
from seismo.grid.grid import Grid
from seismo.grid.surface_closure import ClosureKind, surface_closure
from seismo.grid.surface_interpolation import midpoint_matrices
from seismo.runs.resources.memory import memory_of
from seismo.runs.resources.memory_fit import HypotheticalRanks
from seismo.runs.resources.placement import FeasibleRanks
from seismo.runs.resources.speed import RooflineMachine, mean_cost
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.parallel.partition import divide
from seismo.solver.simulation import Simulation
from test_solver_conservation import Energy, closed_box, start_at_random
from test_solver_stability import amplitude

SPACING = 10.0
# Wide enough for a hill of which nothing is left at periodic sides.
WIDE = {2: {"x": 800.0}, 3: {"x": 640.0, "y": 620.0}}
DEPTH = 420.0
EXTENT = {2: {"x": 300.0}, 3: {"x": 300.0, "y": 280.0}}
CURVED = solver.slow_cases_but(
    (
        "elastic-2d", "elastic-3d", "viscoelastic-2d", "elastic_sh-2d", "acoustic-2d",
        "acoustic_variable_density-3d",
    ),
    [one for one in solver.EVERY_EQUATION if physics_for(*one.values, None, True).gradients],
)  # fmt: skip
# A plane, losses and space every day.
FEW_CURVED = solver.slow_cases_but(
    ("elastic-2d", "viscoelastic-2d", "acoustic_variable_density-3d"), CURVED
)


def hill(across: dict[str, float], height: float, width: float) -> dict:
    center = {a: 0.5 * length for a, length in across.items()}
    return {"type": "hills", "hills": [{"center": center, "height": height, "width": width}]}


def on_hill(name: str, dimensions: int, order: int, **changes) -> dict:
    """Give a scenario of a hill among absorbing layers, a source under it and receivers on it."""
    across = EXTENT[dimensions]
    document = solver.plan(name, dimensions, steps=None)
    document["grid"] |= {"extent": {**across, "z": 400.0}, "spacing": SPACING, "order": order}
    document["boundaries"] = {"top": "free_surface", "layer": {"points": 6}}
    document["topography"] = hill(across, 40.0, 70.0)
    document["sources"] = document["sources"][:1]
    document["sources"][0]["position"] = {**dict.fromkeys(across, 140.0), "depth": 60.0}
    places = [{**dict.fromkeys(across, x), "depth": z} for x, z in ((110.0, 0.0), (200.0, 55.0))]
    document["receivers"] = [{"type": "points", "positions": places}]
    document["time"] = {"duration": 0.2, "dispersion_removal": False}
    return document | changes


def fields_of(simulation) -> dict[str, np.ndarray]:
    """Give the fields that all points have."""
    return {
        f.name: simulation.field(f.name)
        for f in simulation.discretization.physics.fields
        if f.buffer is None and not f.on_surface
    }


def run(document: dict, counts=(1, 1), backend=CpuBackend) -> Simulation:
    scenario = from_dict(document, ".")
    simulation = Simulation(discretize(scenario), backend(scenario.precision), counts)
    simulation.advance(simulation.total_steps)
    assert simulation.discretization.curved_rows is not None
    return simulation


class CurvedEnergy(Energy):
    """The energy, of cells that are as tall as they are."""

    def weight(self, half: str) -> np.ndarray:
        discretization = self.simulation.discretization
        z, y, x = (
            discretization.grid.coordinate(a, np.arange(discretization.grid.points["xyz".index(a)])
                                  + 0.5 * (a in half)) for a in "zyx"
        )  # fmt: skip
        across = y[None, :, None] if "y" in discretization.grid.axes else None
        rows = discretization.grid.heights(
            np.arange(discretization.grid.points[2]) + 0.5 * ("z" in half)
        )
        heights = discretization.vertical.height(z[:, None, None], across, x)
        return super().weight(half) * rows[:, None, None] * heights

    def density(self, half: str) -> np.ndarray | float:
        """Give that of motion; of gradients of the pressure 1."""
        return super().density(half) if "rho" in self.physics.medium else 1.0

    def fields(self) -> dict[str, np.ndarray]:
        return {name: field[0].copy() for name, field in fields_of(self.simulation).items()}


def drift(
    name: str, dimensions: int, height: float, folder, steps: int, depth: float = DEPTH, **changes
) -> float:
    """Give the largest change of the energy of noise in a random medium under a hill, relative."""
    across = WIDE[dimensions]
    document = solver.plan(name, dimensions, steps=None)
    depth = max(depth, SPACING * round(5.5 * height / SPACING))  # of rows that may follow it
    document["grid"] |= {"extent": {**across, "z": depth}, "spacing": SPACING} | changes
    document["boundaries"] = closed_box("free", dimensions)
    document["topography"] = hill(across, height, 60.0 if dimensions == 2 else 33.0)
    shape = (
        round(depth / SPACING) + 1,
        *(round(n / SPACING) + 1 for n in reversed(across.values())),
    )
    arrays = solver.random_arrays(physics_for(name, dimensions), shape)
    document["model"] = solver.gridded(folder, arrays)
    for part in document["model"][0].values():
        if isinstance(part, dict):
            part["spacing"] = dict.fromkeys(("z", *reversed(across)), SPACING)
    document["averaging"] = "point"
    document["sources"] = document["sources"][:1]
    document["sources"][0]["position"] = {**dict.fromkeys(across, 100.0), "z": 100.0}
    place = {**dict.fromkeys(across, 110.0), "z": 120.0}
    document["receivers"] = [{"type": "points", "positions": [place]}]
    document["time"] = {"duration": 0.1, "dispersion_removal": False, "courant": 0.95}
    dt = discretize(from_dict(document, folder)).clock.dt
    document["time"]["duration"] = (steps + 50) * dt
    simulation = solver.build(document, folder)
    solver.silence(simulation)
    generator = np.random.default_rng(5)
    (part,) = simulation.solvers
    for field in (f for f in simulation.discretization.physics.fields if f.buffer is None):
        if not field.on_surface:
            view = part.subdomain.inside(part.fields.arrays(0)[field.name])
            view[...] = generator.standard_normal(view.shape) * 1e-6**field.late
    simulation.advance(1)
    return CurvedEnergy(simulation).drift(steps // 3, parts=3)


@pytest.mark.parametrize(
    ("name", "dimensions", "height", "order", "steps"),
    [
        ("elastic", 2, 40.0, 4, 1000),
        pytest.param("elastic", 2, 120.0, 8, 10_000, marks=pytest.mark.slow),
        pytest.param("elastic", 2, -45.0, 8, 10_000, marks=pytest.mark.slow),
        pytest.param("elastic", 3, 20.0, 4, 60, marks=pytest.mark.slow),
        ("elastic_sh", 2, 60.0, 8, 1000),
        ("acoustic", 2, 60.0, 8, 1000),
        pytest.param("acoustic", 2, 120.0, 4, 10_000, marks=pytest.mark.slow),
        pytest.param("acoustic", 2, 120.0, 8, 10_000, marks=pytest.mark.slow),
        pytest.param("acoustic_variable_density", 2, -45.0, 8, 10_000, marks=pytest.mark.slow),
        pytest.param("acoustic_variable_density", 3, 20.0, 8, 100, marks=pytest.mark.slow),
        ("acoustic", 3, 20.0, 4, 60),
        pytest.param("elastic_vti", 2, 40.0, 8, 10_000, marks=pytest.mark.slow),
        pytest.param("elastic_orthorhombic", 2, 40.0, 4, 10_000, marks=pytest.mark.slow),
        pytest.param("elastic_orthorhombic", 3, 20.0, 4, 200, marks=pytest.mark.slow),
    ],
)
def test_energy_is_constant(name, dimensions, height, order, steps, tmp_path) -> None:
    assert drift(name, dimensions, height, tmp_path, steps, order=order) < 1e-12


@pytest.mark.parametrize(
    ("name", "dimensions", "order", "steps"),
    [
        ("elastic", 2, 8, 1000),
        pytest.param("elastic", 2, 4, 10_000, marks=pytest.mark.slow),
        pytest.param("elastic_sh", 2, 8, 10_000, marks=pytest.mark.slow),
        pytest.param("acoustic", 2, 8, 10_000, marks=pytest.mark.slow),
        pytest.param("elastic", 3, 4, 100, marks=pytest.mark.slow),
    ],
)
def test_energy_is_constant_where_rows_grow(name, dimensions, order, steps, tmp_path) -> None:
    """Among the curved rows, too."""
    grows: dict = dict.fromkeys("xy"[: dimensions - 1], SPACING)
    grows["z"] = [{"below": 100.0, "spacing": 2.0 * SPACING}]
    height = 70.0 if dimensions == 2 else 55.0
    found = drift(name, dimensions, height, tmp_path, steps, 900.0, order=order, spacing=grows)
    assert found < 1e-12


@pytest.mark.parametrize(("name", "dimensions"), FEW_CURVED)
def test_cuts_change_no_bit(name: str, dimensions: int) -> None:
    time = {"duration": 0.2 if dimensions == 2 else 0.06, "dispersion_removal": False}
    document = on_hill(name, dimensions, 4, precision="float32", time=time)
    whole = fields_of(run(document))
    assert all(field.any() for field in whole.values())
    cut = fields_of(run(document, (2, 1) if dimensions == 2 else (2, 2)))
    assert all(np.array_equal(whole[field], cut[field]) for field in whole)


def test_ranks_and_time_are_those_of_curved_rows() -> None:
    """They are dearer, and in one part: how many ranks may share a run is told before its earth."""
    document = on_hill("elastic", 3, 4)
    feasible = FeasibleRanks(from_dict(document))
    discretization = discretize(from_dict(document))
    assert discretization.curved_rows is not None
    able = []
    for count in range(1, 12):
        with contextlib.suppress(ScenarioError):
            division = divide(discretization, CpuBackend("float64"), HypotheticalRanks(count))
            able.append(count)
            assert all(s.owned.lo[2] in (0, *range(discretization.curved_rows.count, 99))
                       for s in division.subdomains)  # fmt: skip
    assert [count for count in range(1, 12) if feasible.suits(count)] == able
    assert 2 in able
    # Time grows by the rows that are curved, as was measured.
    flat = discretize(from_dict(document | {"topography": None}))
    machine = RooflineMachine("cpu", {"threads": 1})
    ratio = mean_cost(discretization, machine) / mean_cost(flat, machine)
    share = discretization.curved_rows.count / discretization.grid.points[2]
    assert ratio == pytest.approx(1.0 + (curved_cost("cpu", 3, 4) - 1.0) * share, rel=0.1)


@pytest.mark.parametrize("batch", [1, 2])
def test_memory_is_counted(batch: int) -> None:
    """That of what slopes add, of tractions of the ground and of its planes, too."""
    document = on_hill("viscoelastic", 2, 4, precision="float32")
    places = [{"x": 140.0 + 10.0 * n, "depth": 60.0} for n in range(batch)]
    document["survey"] = {"shots": [{"position": place} for place in places], "batch": batch}
    simulation = run(document)
    planned = memory_of(simulation.discretization, simulation.backend)
    (part,) = simulation.solvers
    named = part.fields.arrays(0)
    fields = {id(named[f.name]): f for f in simulation.discretization.physics.fields}
    sizes = {id(array): array.nbytes for array in named.values()}
    new = sum(sizes[n] for n, f in fields.items() if f.on_surface or f.buffer is not None)
    kept = sum(sizes[id(named[name])] for name in part.state() if name in named)
    # Backends round the lengths of arrays up to whole lines.
    assert planned.renewed == pytest.approx(new, rel=2e-2)
    assert planned.wavefield - planned.renewed == pytest.approx(kept, rel=1e-2)
    assert planned.model == pytest.approx(part.fields.bytes - new - kept, rel=3e-2)


@pytest.mark.parametrize(
    ("dimensions", "order", "backend"),
    [
        (2, 8, CpuBackend),
        (2, 4, ReferenceBackend),
        pytest.param(2, 8, "gpu", marks=pytest.mark.gpu),
        pytest.param(3, 4, "gpu", marks=pytest.mark.gpu),
    ],
)
def test_shots_together_are_those_alone(dimensions: int, order: int, backend) -> None:
    """What slopes add, and the ground's tractions, take the curved rows of each shot alone."""
    make = choose("gpu").make if backend == "gpu" else backend
    document = on_hill("elastic", dimensions, order)
    document["time"]["duration"] = 0.05
    places = [{**dict.fromkeys("xy"[: dimensions - 1], x), "depth": 60.0} for x in (110.0, 190.0)]

    def of(shots: list) -> Simulation:
        survey = {"shots": [{"position": place} for place in shots], "batch": len(shots)}
        return run(document | {"survey": survey}, backend=make)

    together = of(places)
    alone = [of([place]) for place in places]
    for field, array in fields_of(together).items():
        for shot, one in enumerate(alone):
            assert np.array_equal(array[shot], one.field(field)[0])
    renewed = [s.solvers[0].fields.renewed_bytes for s in (together, alone[0])]
    assert renewed[0] == pytest.approx(2 * renewed[1], rel=0.02)


@pytest.mark.parametrize(("name", "dimensions"), FEW_CURVED)
def test_kernels_do_what_the_formulas_say(name: str, dimensions: int) -> None:
    time = {"duration": 0.1 if dimensions == 2 else 0.04, "dispersion_removal": False}
    document = on_hill(name, dimensions, 4, time=time)
    compiled = fields_of(run(document))
    plain = fields_of(run(document, backend=ReferenceBackend))
    for field, expected in plain.items():
        assert np.abs(compiled[field] - expected).max() < 1e-10 * np.abs(expected).max()


@pytest.mark.parametrize(
    "name", solver.slow_but({"elastic"}, ["elastic", "acoustic", "elastic_vti"])
)
def test_marches_find_what_slopes_add(name: str) -> None:
    """A card's threads, on this machine's processor, have no arrays of it."""
    pytest.importorskip("numba_cuda", reason="the GPU's kernels need numba-cuda")
    from simulated_card import simulated

    document = on_hill(name, 3, 4)
    document["grid"]["extent"] = {"x": 120.0, "y": 110.0, "z": 260.0}
    document["boundaries"]["layer"]["points"] = 4
    document["topography"] = hill({"x": 120.0, "y": 100.0}, 25.0, 40.0)
    document["sources"][0]["position"] = {"x": 60.0, "y": 60.0, "depth": 40.0}
    place = {"x": 60.0, "y": 60.0, "depth": 0.0}
    document["receivers"] = [{"type": "points", "positions": [place]}]
    found, expected = (solver.build(document, ".", backend=b) for b in (simulated, CpuBackend))
    for simulation in (found, expected):
        solver.add_noise(simulation)
        simulation.advance(3)
    found.backend.card.check()
    (part,) = found.solvers
    slopes = {f.name for f in found.discretization.physics.fields if f.buffer is not None}
    assert part.fields.marched == slopes
    assert part.fields.renewed_bytes < 0.5 * expected.solvers[0].fields.renewed_bytes
    wanted = fields_of(expected)
    for field, array in fields_of(found).items():
        assert np.abs(array - wanted[field]).max() < 1e-13 * np.abs(wanted[field]).max()


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "dimensions"), CURVED)
def test_a_card_computes_the_same(name: str, dimensions: int) -> None:
    document = on_hill(name, dimensions, 8 if name == "elastic" else 4)
    here = fields_of(run(document))
    there = fields_of(run(document, backend=choose("gpu").make))
    for field, expected in here.items():
        assert np.abs(there[field] - expected).max() < 1e-10 * np.abs(expected).max()


@pytest.mark.slow
def test_nothing_grows() -> None:
    """A million points' worth of noise is gone, in float32, with absorbing layers."""
    document = on_hill("elastic", 2, 8, precision="float32")
    document["time"] = {"duration": 30.0, "dispersion_removal": False}
    simulation = solver.build(document, ".")
    early = []
    for _ in range(2):
        simulation.advance(simulation.total_steps // 2)
        early.append(max(np.abs(simulation.field(f"v{a}")).max() for a in "xz"))
    assert early[1] <= early[0]


def test_traction_on_the_ground_vanishes() -> None:
    """Szz balances the shear stresses, and is no part of the force on vz there."""
    simulation = run(on_hill("elastic", 2, 8))
    rows = simulation.discretization.curved_rows
    stresses = {name: simulation.field(name)[0][:, 0] for name in ("szz", "sxz")}
    on_nodes = np.tensordot(rows.to_node, stresses["sxz"][: rows.closed], 1)
    interpolated = np.zeros_like(on_nodes)
    for m, weight in enumerate(midpoint(pairs_of(8))):
        interpolated += weight * (np.roll(on_nodes, -m) + np.roll(on_nodes, m + 1))
    slope = simulation.discretization.vertical.slope("x", "")[0]
    traction = (stresses["szz"][0] - slope * interpolated)[8:-8]
    assert np.abs(traction).max() < 1e-12 * np.abs(stresses["szz"]).max()
    assert np.abs(stresses["szz"][0]).max() > 1e-3 * np.abs(stresses["szz"]).max()


def test_iterations_leave_little_on_steep_ground() -> None:
    counts = [iterations(np.tan(np.radians(dip)), 0.5, RESIDUALS["float32"]) for dip in (5, 30, 60)]
    assert counts == sorted(counts)
    assert all(count % 2 for count in counts)


@pytest.mark.parametrize("order", [4, 8, 16])
def test_interpolations_are_adjoint_and_exact(order: int) -> None:
    closure = surface_closure(Stencil(order), ClosureKind.PLAIN)
    to_half, to_node = midpoint_matrices(closure, midpoint(pairs_of(order)), 60)
    node = np.ones(60)
    half = np.ones(60)
    node[: closure.rows] = closure.node_norm
    half[: closure.rows] = closure.half_norm
    inner = slice(0, 40)
    weighed = (half[:, None] * to_half).T - node[:, None] * to_node
    assert np.abs(weighed[inner, inner]).max() < 1e-14
    rows = np.arange(60.0)
    for power in (0, 1) if order == 4 else (0, 1, 2):
        assert np.abs(to_half @ rows**power - (rows + 0.5) ** power)[inner].max() < 1e-4
        assert np.abs(to_node @ (rows + 0.5) ** power - rows**power)[inner].max() < 1e-4


def test_points_stand_where_the_map_says() -> None:
    grid = Grid("xz", (81, 1, 61), (10.0, 1.0, 10.0), (0.0, 0.0, 50.0), (8, 0, 0), (8, 0, 8))
    x = np.asarray(grid.coordinate("x", np.arange(8, 73)))
    ground = Topography(grid, GroundSpline(x, None, 40.0 * np.sin(x / 60.0)), 300.0)
    s = np.linspace(50.0, 500.0, 91)[:, None]
    z = ground.z(s, None, x)
    assert np.abs(ground.s(z, None, x) - s).max() < 1e-9
    assert np.allclose(z[-1], s[-1])
    assert np.allclose(z[0], ground.ground(None, x))
    # g is the slope of z along s; beyond the layers' inner edge the ground is level.
    step = 1e-4
    slope = (ground.z(s + step, None, x) - ground.z(s - step, None, x)) / (2.0 * step)
    assert np.abs(slope - ground.height(s, None, x))[1:].max() < 1e-6
    assert np.abs(ground.slope("x", "")[0, :8]).max() == 0.0


def test_sh_waves_under_the_steepest_ground_keep_to_the_limit(tmp_path) -> None:
    """Noise in cells a fifth as high as wide; at that of plane waves it explodes."""
    document = solver.plan("elastic_sh", 2, steps=None, order=8)
    document["grid"] |= {"extent": {"x": 800.0, "z": 840.0}, "spacing": {"x": 10.0, "z": 2.0}}
    document["boundaries"] = closed_box("free", 2)
    document["topography"] = hill({"x": 800.0}, 120.0, 60.0)
    document["sources"] = document["sources"][:1]
    document["sources"][0]["position"] = {"x": 100.0, "z": 100.0}
    simulation = solver.build(document, tmp_path, courant=0.95)
    solver.silence(simulation)
    start_at_random(simulation)
    simulation.advance(100)
    before = amplitude(simulation)
    simulation.advance(500)
    assert amplitude(simulation) < 4.0 * before
