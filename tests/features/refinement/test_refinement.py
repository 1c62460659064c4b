"""Grids of two spacings: what both conserve together, and what passes from one to the other."""

from dataclasses import replace

import numpy as np
import pytest

import seismo
import solver
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.reference import ReferenceBackend
from seismo.backends.select import choose
from seismo.equations.framework.registry import physics_for
from seismo.errors import ScenarioError
from seismo.features.refinement.error import refinement_error
from seismo.features.refinement.operators import (
    FACTOR,
    above,
    below,
    plane_closure,
    to_coarse,
    to_fine,
)
from seismo.grid.coefficients import Stencil
from seismo.runs.check.plan import make_plan
from seismo.runs.request import Signals
from seismo.runs.resources.memory import memory_of
from seismo.runs.resources.memory_fit import HypotheticalRanks
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation
from test_finite_fault import GEOGRAPHIC, RATE, TIMES, as_tensor, fault, point, srf
from test_resume import contents
from test_solver_conservation import Energy

SPACING = 10.0
EXTENT = {2: {"x": 360.0}, 3: {"x": 240.0, "y": 240.0}}
DEPTH, PLANE = 780.0, 390.0


class LevelEnergy(Energy):
    """The energy of one of two grids, in cells of the finer one."""

    def __init__(self, simulation, whole) -> None:
        super().__init__(simulation)
        self.whole = whole

    def weight(self, half: str) -> np.ndarray:
        """Give the share of a cell: by the norms beside the plane, and none on its other side."""
        discretization = self.simulation.discretization
        closure, _ = plane_closure(discretization.stencil)
        norm = closure.half_norm if "z" in half else closure.node_norm
        rows = np.arange(discretization.grid.points[2])
        is_half = int("z" in half)
        if discretization.subdivision > 1:
            depth = discretization.interface.row - rows - is_half
            cell = 1.0
        else:
            depth = rows - discretization.interface.row
            cell = float(FACTOR ** len(self.axes))
        w = np.where(depth >= 0, 1.0, 0.0)
        beside = (depth >= 0) & (depth < len(norm))
        w[beside] = norm[depth[beside]]
        return cell * super().weight(half) * w[:, None, None]


class RefinedEnergy:
    """The energy of both grids."""

    def __init__(self, simulation) -> None:
        self.simulation = simulation
        self.levels = [LevelEnergy(level, simulation) for level in simulation.levels]

    def after_a_step(self) -> float:
        """Take a step and give the energy."""
        before = [level.fields() for level in self.levels]
        self.simulation.advance(1)
        total = 0.0
        for level, old in zip(self.levels, before, strict=True):
            now = level.fields()
            total += level.kinetic(now)
            total += sum(0.5 * np.sum(form) for form in level.stored(old, now))
        return total

    drift = Energy.drift


def box(
    name: str, dimensions: int, order: int, folder, across: dict | None = None,
    depth: float = DEPTH, plane: float = PLANE, **changes,
) -> dict:  # fmt: skip
    """Give a closed box of a random medium, cut by a plane below which cells are larger."""
    across = across or EXTENT[dimensions]
    document = solver.plan(name, dimensions, steps=None)
    document["grid"] |= {
        "extent": {**across, "z": depth}, "spacing": SPACING, "order": order,
        "refinement": [{"below": plane}],
    }  # fmt: skip
    sides = {f"{a}_{end}": "periodic" for a in across for end in ("min", "max")}
    document["boundaries"] = {"top": "free_surface", "bottom": "rigid", **sides}
    shape = [round(n / SPACING) + 1 for n in (depth, *reversed(across.values()))]
    document["model"] = solver.gridded(folder, solver.random_arrays(
        physics_for(name, dimensions), tuple(shape)))  # fmt: skip
    for part in document["model"][0].values():
        if isinstance(part, dict):
            part["spacing"] = dict.fromkeys(("z", *reversed(across)), SPACING)
    document["averaging"] = "point"
    document["sources"] = document["sources"][:1]
    document["sources"][0]["position"] = {**dict.fromkeys(across, 100.0), "z": 150.0}
    place = {**dict.fromkeys(across, 110.0), "z": 160.0}
    document["receivers"] = [solver.points([place], quantities=["velocity"])]
    document["time"] = {"duration": 0.1, "dispersion_removal": False, "courant": 0.95}
    return document | changes


def with_noise(document: dict, folder, steps: int):
    """Build a simulation that begins with noise on both grids."""
    dt = discretize(from_dict(document, folder)).clock.dt
    document["time"]["duration"] = (steps + 50) * dt
    simulation = solver.build(document, folder)
    fill_with_noise(simulation)
    simulation.advance(1)
    return simulation


def fill_with_noise(simulation) -> None:
    """Let both grids begin with noise, and no source act."""
    solver.silence(simulation)
    generator = np.random.default_rng(5)
    for level in simulation.levels:
        (part,) = level.solvers
        for field in level.discretization.physics.fields:
            view = part.subdomain.inside(part.fields.arrays(0)[field.name])
            view[...] = generator.standard_normal(view.shape) * 1e-6**field.late


@pytest.mark.parametrize(
    ("name", "dimensions", "order", "steps"),
    [
        ("elastic", 2, 4, 2000), ("elastic", 2, 8, 2000), ("elastic_sh", 2, 8, 2000),
        ("elastic", 3, 4, 200), ("elastic_vti", 2, 8, 2000),
    ],
)  # fmt: skip
def test_energy_is_constant(name, dimensions, order, steps, tmp_path) -> None:
    """Of noise in a random medium on both sides of the plane."""
    simulation = with_noise(box(name, dimensions, order, tmp_path), tmp_path, steps)
    assert RefinedEnergy(simulation).drift(steps // 4) < 1e-12


@pytest.mark.parametrize(
    ("name", "dimensions", "order", "ratio", "share"),
    [
        ("elastic_sh", 2, 4, 3.0, 0.682), ("elastic_sh", 2, 8, 2.0, 0.859),
        ("elastic", 2, 8, 3.0, 0.914), ("elastic", 2, 8, 1.5, 1.0),
        ("elastic", 3, 4, 3.0, 0.953),
    ],
)  # fmt: skip
def test_faster_rock_below_the_plane_limits_the_step(
    name, dimensions, order, ratio, share, tmp_path, monkeypatch
) -> None:
    """Of vp / vs 1.42. Noise stays at 0.99 of the limit and explodes at 1.02."""
    rock = {"vs": 1800.0, "rho": 2000.0} | ({"vp": 2556.0} if name == "elastic" else {})
    soft = {key: value / ratio for key, value in rock.items() if key != "rho"}
    model = [{"type": "uniform", **rock}, {"type": "block", "z": [-1e5, PLANE], **soft}]
    document = box(name, dimensions, order, tmp_path, model=model)
    document["time"]["duration"] = 410 * discretize(from_dict(document, tmp_path)).clock.limit
    discretization = discretize(from_dict(document, tmp_path))
    levels = []
    for courant in (0.99, 1.02):
        clock = replace(discretization.clock, dt=courant * discretization.clock.limit)
        discretization = replace(
            discretization, clock=clock, above=replace(discretization.above, clock=clock)
        )
        simulation = Simulation(discretization, CpuBackend("float64"), (1, 1))
        fill_with_noise(simulation)
        simulation.advance(400)
        levels.append(max(np.abs(one.field("vy" if "sh" in name else "vx")).max()
                          for one in simulation.levels))  # fmt: skip
    assert levels[0] < 1e-4
    assert share == 1.0 or not levels[1] < 1e10
    monkeypatch.setattr("seismo.features.refinement.grids.plane_limit", lambda *grids: np.inf)
    alone = discretize(from_dict(document, tmp_path)).clock.limit
    assert discretization.clock.limit / alone == pytest.approx(share, abs=2e-3)


@pytest.mark.parametrize("order", [2, 4, 6, 8, 12, 16])
def test_differences_beside_the_plane_are_exact_for_parabolas(order: int) -> None:
    """On both sides, with the value on the plane; at order 2 for straight lines."""
    stencil = Stencil(order)
    for beside in (below(stencil, 10), above(stencil, 60)):
        rows = np.arange(*beside.rows)
        columns = beside.base + np.arange(beside.up.shape[1])
        for power in range(2 if order == 2 else 3):
            nodes, halves = ((columns + half - beside.plane) ** float(power) for half in (0.0, 0.5))
            nodes[beside.nodes - beside.base] = 0.0**power
            halves[beside.halves - beside.base] = 0.0**power
            for table, values, half in ((beside.up, nodes, 0.5), (beside.down, halves, 0.0)):
                z = rows + half - beside.plane
                wanted = power * z ** max(power - 1, 0)
                on_side = z <= 0 if beside.nodes > beside.plane else z >= 0
                found = table[rows - beside.base] @ values
                assert np.abs(found - wanted)[on_side].max() < 1e-9
        at = beside.inner + 0.5 - beside.plane
        assert beside.extrapolation @ np.array([at**0, at]).T == pytest.approx([1.0, 0.0])
        assert 1.0 <= beside.growth < 1.02


@pytest.mark.parametrize("is_half", [False, True])
def test_interpolations_are_adjoint_and_carry_waves(is_half: bool) -> None:
    """Straight lines exactly, averages cubics, too; of waves of 5 and 10 points 0.7 and 0.04 %."""
    count = 20
    fine = np.zeros((FACTOR * count, count))
    for kind, offsets, weights in to_fine(is_half):
        for i in range(count):
            fine[FACTOR * i + kind, (i + offsets) % count] += weights
    coarse = np.zeros((count, FACTOR * count))
    offsets, weights = to_coarse(is_half)
    for i in range(count):
        coarse[i, (FACTOR * i + offsets) % (FACTOR * count)] += weights
    assert np.abs(coarse - fine.T / FACTOR).max() < 1e-15
    middle = slice(3 * FACTOR, 5 * FACTOR)
    shift = 0.5 * is_half
    x, x_coarse = np.arange(FACTOR * count) + shift, FACTOR * (np.arange(count) + shift)
    assert fine[middle] @ x_coarse == pytest.approx(x[middle])
    assert coarse[3:5] @ x**3 == pytest.approx(x_coarse[3:5] ** 3)
    for points, error in ((5, 8e-3), (10, 5e-4)):
        waves = [np.exp(2j * np.pi / points / FACTOR * z) for z in (x, x_coarse)]
        symbol = waves[0].conj() @ fine @ waves[1] / x.size
        assert abs(symbol - 1.0) < error


def scene(dimensions: int = 2, **changes) -> dict:
    """Give waves of 9 points in the shortest wavelength below a plane, from both sides of it."""
    across = {"x": 900.0} if dimensions == 2 else {"x": 540.0, "y": 540.0}
    middle = {a: 0.5 * n for a, n in across.items()}
    wavelet = {"type": "ricker", "frequency": 1.5}
    force = {**dict.fromkeys(across, 0.0), "x": 1e9, "z": 1e9}
    places = [{**middle, "x": 250.0, "z": z} for z in (0.0, 150.0, 750.0, 813.0)]
    document = {
        "physics": "elastic",
        "precision": "float64",
        "grid": {
            "extent": {**across, "z": 1200.0}, "spacing": 10.0, "order": {2: 8, 3: 4}[dimensions],
            "refinement": [{"below": 420.0}],
        },
        "boundaries": {"top": "free_surface", "layer": {"points": 8}},
        "model": [{"type": "uniform", "vp": 1800.0, "vs": 1000.0, "rho": 2000.0}],
        "sources": [
            {"type": "force", "position": {**middle, "z": z}, "force": force, "wavelet": wavelet}
            for z in (120.0, 700.0)
        ],
        "receivers": [solver.points(places, quantities=["velocity"])],
        "time": {"duration": 1.2 if dimensions == 2 else 0.4},
    }  # fmt: skip
    return document | changes


def traces(simulation) -> np.ndarray:
    """Run to the end and give the records of all components, (component, receiver, step)."""
    simulation.advance(simulation.total_steps)
    (group,) = simulation.discretization.groups
    names = [c for _, _, c in group.components(simulation.discretization.physics).values()]
    return np.array([simulation.recorder.raw(0, group.name, name) for name in names])


def test_waves_are_those_of_an_even_grid(tmp_path) -> None:
    """On both sides: to 0.1 % where the shortest have 9 points; 0.05 % is told of the plane."""
    document = scene()
    layer = document["boundaries"]["layer"]
    layer |= {"points": 20, "damping": 0.0}
    refined = solver.build(document)
    found = traces(refined)
    del document["grid"]["refinement"]
    layer["points"] = 60
    wanted = traces(solver.build(document))
    error = np.linalg.norm(found - wanted, axis=(0, 2)) / np.linalg.norm(wanted, axis=(0, 2))
    assert error.max() < 1e-3
    assert refinement_error(refined.discretization) == pytest.approx(5.4e-4, rel=0.1)
    assert refined.points < 0.5 * solver.build(document).points


@pytest.mark.parametrize("name", ["viscoelastic", "elastic_vti"])
def test_a_run_goes_on_to_the_same_bits(name: str) -> None:
    """From its state half-way, another simulation does."""
    document = solver.plan(name, 2, steps=None) | {
        key: value for key, value in scene().items() if key not in ("physics", "model")
    }
    document["time"] = {"duration": 0.3}
    document["precision"] = "float32"
    first, second = (solver.build(document) for _ in range(2))
    half = first.total_steps // 2
    solver.go_on(first, second, half)
    names = [block.array_name for saved in first.state().values() for block in saved.blocks]
    assert len(names) == len(set(names))
    assert np.array_equal(*(
        (run.advance(run.total_steps - half), run.recorder.record)[1] for run in (first, second)
    ))  # fmt: skip


def test_a_stopped_run_gives_the_same_file(tmp_path) -> None:
    document = scene(checkpoint={"steps": 60}, time={"duration": 0.4})
    document["output"] = {
        "snapshots": [{"name": "all", "fields": ["vz"], "interval": 0.2},
                      {"name": "sparse", "fields": ["vz"], "interval": 0.2, "decimate": 2}],
        "maps": [{"name": "top", "quantities": ["pgv"], "box": {"z": [0.0, 60.0]}},
                 {"name": "deep", "quantities": ["pga"], "box": {"z": [600.0, 900.0]}}],
    }  # fmt: skip
    seismo.run(document, tmp_path / "one.h5").close()
    signals = Signals()

    def stop(progress) -> None:
        signals.stop |= progress.phase == "checkpoint"

    with pytest.raises(seismo.SeismoError, match="seismo resume"):
        seismo.run(document, tmp_path / "two.h5", stop, signals=signals)
    seismo.run(document, tmp_path / "two.h5", resume=True).close()
    assert contents(tmp_path / "two.h5") == contents(tmp_path / "one.h5")
    with seismo.open_results(tmp_path / "one.h5") as results:
        assert {"top", "deep"} == set(results.maps)
        # Figures say which points are shown on both sides of the plane.
        words = "above z = 420 m one in 3 points of the finer grid"
        titles = [results.plot(kind).get_suptitle() for kind in ("snapshot", "model")]
        assert all(words in title.replace("\n", " ") for title in titles)
        title = results.plot("snapshot", series="sparse").get_suptitle().replace("\n", " ")
        assert words.replace("3", "6") in title
        assert words not in results.plot("peaks").get_suptitle()


def test_shots_in_a_batch_are_those_of_one(tmp_path) -> None:
    document = scene(time={"duration": 0.4})
    document["sources"] = document["sources"][:1]
    places = [{"x": x, "z": z} for x, z in ((400.0, 100.0), (450.0, 700.0))]
    document["survey"] = {"shots": [{"position": place} for place in places], "batch": 2}
    together = solver.build(document)
    together.advance(together.total_steps)
    (group,) = together.discretization.groups
    for shot, place in enumerate(places):
        alone = {key: value for key, value in document.items() if key != "survey"}
        alone["sources"] = [document["sources"][0] | {"position": place}]
        wanted = traces(solver.build(alone))[0]
        assert np.array_equal(together.recorder.raw(shot, group.name, "vx"), wanted)


@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_other_backends_give_the_same(dimensions: int) -> None:
    """From noise on both grids."""
    duration = {2: 0.06, 3: 0.012}[dimensions]
    document = scene(dimensions, time={"duration": duration, "dispersion_removal": False})
    document["boundaries"]["layer"] = {"points": 4}
    across = {"x": 900.0} if dimensions == 2 else {"x": 300.0, "y": 300.0}
    document["grid"]["extent"] = {**across, "z": 840.0}
    document["sources"] = document["sources"][:1]
    discretization = discretize(from_dict(document))
    found, wanted = (
        Simulation(discretization, make("float64")) for make in (ReferenceBackend, CpuBackend)
    )
    for simulation in (found, wanted):
        for level in simulation.levels:
            solver.add_noise(level)
    found, wanted = traces(found), traces(wanted)
    assert np.abs(found - wanted).max() < 1e-12 * np.abs(wanted).max()


def test_gridded_rock_has_the_spacing_of_the_scenario(tmp_path) -> None:
    """Where a file gives none, above the plane and below."""
    document = scene(2)
    nodes = (121, 91)
    depth = np.arange(nodes[0])[:, None] + np.zeros(nodes)
    arrays = {"vp": 1800.0 + depth, "vs": 1000.0 + depth, "rho": 2000.0 + 0.0 * depth}
    document["model"] = solver.gridded(tmp_path, arrays)
    for part in document["model"][0].values():
        if isinstance(part, dict):
            part.pop("spacing", None)
    discretization = discretize(from_dict(document, tmp_path))
    for grid in discretization.grids_of_spacing:
        z = grid.grid.coordinate("z", np.array([20]))
        found = grid.own_earth.sample(z[:, None], None, np.array([[450.0]]))["vs"]
        wanted = np.clip(z, 420.0 if grid is discretization else 0.0, None) / 10.0 + 1000.0
        assert found.ravel() == pytest.approx(wanted)


def test_memory_is_counted() -> None:
    """Of both grids, to the byte where a run has arrays for steps."""
    simulation = solver.build(scene())
    memory = memory_of(simulation.discretization, simulation.backend)
    fields = [part.fields for level in simulation.levels for part in level.solvers]
    assert memory.wavefield == sum(a.nbytes for one in fields for a in one.wavefield.values())


def test_check_tells_both_grids() -> None:
    found = make_plan(from_dict(scene(), "."))
    assert found.as_dict()["grid_points"] == found.discretization.points
    assert [layer.bottom for layer in found.layers] == [pytest.approx(420.0), pytest.approx(1200.0)]
    beside = scene()
    beside["receivers"][0]["positions"].append({"x": 250.0, "z": 430.0})
    (warning,) = (w for w in make_plan(from_dict(beside, ".")).warnings if "next to the plane" in w)
    assert "use z of 370 m or less, or of 600 m or more" in warning


@pytest.mark.parametrize(
    ("section", "change", "message"),
    [
        ("grid", {"refinement": [{"below": 425.0}]}, "rows that lie 30 m apart; use 420 m"),
        ("grid", {"refinement": [{"below": 1300.0}]}, "below 0 m and above 1200 m"),
        ("grid", {"refinement": [{"below": 420.0, "factor": 2}]}, "must be one of 3"),
        ("grid", {"refinement": [{"below": 90.0}, {"below": 420.0}]}, "one plane at most"),
        ("grid", {"extent": {"x": 910.0, "z": 1200.0}}, "use a multiple of it, such as 900 m"),
        ("grid", {"extent": {"x": 900.0, "z": 1210.0}}, "use a multiple of it, such as 1200 m"),
        ("grid", {"decomposition": [2, 1]}, "cut along y alone: use .1, 1."),
        ("boundaries", {"x_min": "rigid"}, "absorbing or periodic sides"),
        ("boundaries", {"top": "periodic", "bottom": "periodic"}, "boundaries.top.* does not go"),
        ("model", {"epsilon": 0.1, "delta": 0.05, "theta": 30.0}, "tti waves do not go with it"),
        ("", {"precision": "float16"}, "does not go with grid.refinement"),
        ("sources", {"position": {"x": 450.0, "z": 400.0}}, "lies too near the plane"),
        ("output", {"maps": [{"name": "a", "quantities": ["pgv"]}]}, "on both sides of the plane"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(section: str, change: dict, message: str) -> None:
    document = scene()
    if section in ("sources", "model"):
        document[section][0] |= change
    elif section:
        document[section] = document.get(section, {}) | change
    else:
        document |= change
    with pytest.raises(ScenarioError, match=message):
        discretize(from_dict(document, "."))


def test_grids_of_a_plane_are_not_cut() -> None:
    discretization = discretize(from_dict(scene(), "."))
    with pytest.raises(ScenarioError, match="cannot be cut along z, where grids of two"):
        Simulation(discretization, ReferenceBackend("float64"), ranks=HypotheticalRanks(2))


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "dimensions"), [
    ("elastic", 2), ("elastic", 3), ("viscoelastic", 3), ("elastic_sh", 2),
])  # fmt: skip
def test_a_card_gives_the_answer_of_the_processor(name: str, dimensions: int) -> None:
    document = solver.plan(name, dimensions, steps=None) | {
        key: value for key, value in scene(dimensions).items() if key not in ("physics", "model")
    }
    document["sources"] = [
        solver.source(physics_for(name, dimensions), "force", document["sources"][0]["position"])
    ]
    document["time"] = {"duration": 0.2}
    wanted = traces(solver.build(document))
    found = traces(solver.build(document, backend=choose("gpu").make))
    assert np.abs(found - wanted).max() < 1e-11 * np.abs(wanted).max()


@pytest.mark.parametrize(
    "depths",
    [
        pytest.param((90.0, 150.0), id="above"),
        pytest.param((720.0, 810.0), id="below", marks=pytest.mark.slow),
    ],
)
def test_a_fault_is_its_subfaults_on_either_side(depths, tmp_path) -> None:
    """As moment tensors at the same places; one that meets the plane is refused."""
    document = scene(3, geographic=GEOGRAPHIC)
    document["time"] = {"duration": 0.12}
    places = [(260.0, 250.0, depths[0]), (287.0, 270.0, depths[1])]
    np.savetxt(tmp_path / "rate.txt", np.stack([TIMES, RATE], axis=1))
    text = srf([point(*place) for place in places])
    records = []
    for sources in ([fault(tmp_path, text)], [as_tensor(place) for place in places]):
        simulation = solver.build(document | {"sources": sources}, tmp_path)
        records.append(traces(simulation))
    assert np.abs(records[0]).max() > 0.0
    assert np.abs(records[1] - records[0]).max() < 2e-3 * np.abs(records[0]).max()
    text = srf([point(260.0, 250.0, 200.0), point(287.0, 270.0, 700.0)])
    with pytest.raises(
        ScenarioError, match="the fault fault from z = 200 to 700 m meets the plane"
    ):
        solver.build(document | {"sources": [fault(tmp_path, text)]}, tmp_path)
