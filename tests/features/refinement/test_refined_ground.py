"""Ground that rows follow above a plane, below which a grid has larger cells."""

import numpy as np
import pytest

import seismo
import solver
from seismo.backends.reference import ReferenceBackend
from seismo.backends.select import choose
from seismo.equations.framework.registry import physics_for
from seismo.errors import ScenarioError
from seismo.features.topography.checks import ground_facts
from seismo.output import report
from seismo.runs.check.plan import make_plan
from seismo.runs.coordinates import true_positions
from seismo.runs.resources.memory import memory_of
from seismo.runs.resources.placement import FeasibleRanks
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from test_curved_rows import CurvedEnergy, fields_of, hill
from test_refinement import LevelEnergy, RefinedEnergy, box, scene, traces, with_noise

SIDES = {2: {"x": 810.0}, 3: {"x": 600.0, "y": 630.0}}


class HillEnergy(LevelEnergy, CurvedEnergy):
    """The energy of the finer grid, of cells that are as tall as they are."""


def scene_on_hill(dimensions: int = 2, height: float = 70.0, **changes) -> dict:
    """Give waves of a source under a hill and one below the plane, read on the ground and below."""
    document = scene(dimensions)
    across = {a: n for a, n in document["grid"]["extent"].items() if a != "z"}
    document["topography"] = hill(across, height, 110.0)
    # The first row of all grids at z = -60 m.
    document["grid"] |= {"refinement": [{"below": 570.0}], "origin": {"z": -90.0}}
    document["boundaries"]["layer"]["damping"] = 0.0  # runs end before anything grows
    shallow, deep = (source["position"] for source in document["sources"])
    del shallow["z"]
    shallow["depth"] = 120.0
    deep["z"] = 930.0
    points = ((200.0, 0.0), (270.0, 0.0), (300.0, 40.0), (330.0, 900.0))
    places = [{**shallow, "x": x, "depth": depth} for x, depth in points]
    document["receivers"] = [solver.points(places, quantities=["velocity"])]
    return document | changes


def of_equation(name: str, dimensions: int) -> dict:
    """Give that scene for an equation, with a force under the hill."""
    physics = physics_for(name, dimensions)
    scene = scene_on_hill(dimensions)
    plan = solver.plan(name, dimensions, steps=None)
    scene["sources"] = [solver.source(physics, "force", scene["sources"][0]["position"])]
    return scene | {key: plan[key] for key in ("physics", "model")}


def narrow(name: str, dimensions: int) -> dict:
    """Give a small one."""
    document = of_equation(name, dimensions)
    across = {a: 270.0 for a in document["grid"]["extent"] if a != "z"}
    middle = {a: 0.5 * length for a, length in across.items()}
    document["grid"] |= {
        "extent": across | {"z": 720.0}, "order": 4, "refinement": [{"below": 360.0}],
    }  # fmt: skip
    document["boundaries"]["layer"]["points"] = 3
    document["topography"] = hill(across, 25.0, 40.0)
    document["sources"][0]["position"] = middle | {"depth": 60.0}
    document["receivers"] = [solver.points([middle | {"depth": 0.0}], quantities=["velocity"])]
    document["time"] = {"duration": 0.05, "dispersion_removal": False}
    return document


@pytest.mark.parametrize(
    ("name", "dimensions", "order", "height", "steps"),
    [
        ("elastic", 2, 8, 120.0, 400), ("elastic", 2, 4, 120.0, 400),
        ("elastic_sh", 2, 8, 120.0, 400), ("elastic_sh", 2, 4, 120.0, 400),
        pytest.param("elastic", 3, 4, 20.0, 100, marks=pytest.mark.slow),
        pytest.param("elastic_vti", 2, 8, 120.0, 10_000, marks=pytest.mark.slow),
        pytest.param("elastic_orthorhombic", 3, 8, 20.0, 100, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_energy_is_constant(name, dimensions, order, height, steps, tmp_path) -> None:
    """Of noise in random rock on both sides of the plane, under a hill of 60 degrees (3-D: 26)."""
    plane = {2: 690.0, 3: 300.0}[dimensions]
    across = SIDES[dimensions]
    document = box(name, dimensions, order, tmp_path, across, plane + 480.0, plane)
    document["topography"] = hill(across, height, {2: 60.0, 3: 33.0}[dimensions])
    simulation = with_noise(document, tmp_path, steps)
    energy = RefinedEnergy(simulation)
    energy.levels[1] = HillEnergy(simulation.above, simulation)
    assert energy.drift(steps // 4) < 1e-12


@pytest.mark.parametrize("order", [2, 4, 6, 8, 10, 12, 14, 16])
def test_curved_rows_end_above_the_closed_ones(order: int) -> None:
    """Of the deepest mapping that a plane leaves; neither kind of row reads the other's weights."""
    height = 90.0
    document = scene_on_hill(height=height)
    below = 540.0 if order == 2 else 570.0
    document["grid"] |= {
        "order": order, "extent": {"x": 900.0, "z": 1500.0}, "refinement": [{"below": below}],
    }  # fmt: skip
    discretization = discretize(from_dict(document, ".")).above
    assert discretization.vertical.depth < 6.0 * height
    assert discretization.curved_rows.count <= discretization.plane_rows.rows[0]


def test_flat_ground_gives_the_bits_of_none() -> None:
    document = scene(time={"duration": 0.3})
    wanted = traces(solver.build(document))
    for section in (
        hill({"x": 900.0}, 0.0, 110.0),
        {"type": "plane", "dip": 0.0, "through": {"x": 0.0, "z": 0.0}},
    ):
        assert np.array_equal(traces(solver.build(document | {"topography": section})), wanted)


def test_waves_are_those_of_one_grid() -> None:
    """On the ground and below the plane: to 0.2 % where the shortest have 9 points below it."""
    document = scene_on_hill(time={"duration": 1.2, "step": 1.6e-3})
    refined = solver.build(document)
    found = traces(refined)
    del document["grid"]["refinement"]
    document["boundaries"]["layer"]["points"] = 24
    even = solver.build(document)
    wanted = traces(even)
    error = np.linalg.norm(found - wanted, axis=(0, 2)) / np.linalg.norm(wanted, axis=(0, 2))
    assert error.max() < 2e-3
    assert refined.points < 0.65 * even.points


@pytest.mark.parametrize(
    ("name", "dimensions", "backend"),
    [
        ("viscoelastic", 2, "threads of a card"),
        ("elastic", 3, "reference"),
        pytest.param("viscoelastic", 2, "reference", marks=pytest.mark.slow),
        pytest.param("elastic", 3, "threads of a card", marks=pytest.mark.slow),
    ],
)
def test_other_backends_give_the_same(name: str, dimensions: int, backend: str) -> None:
    """From noise on both grids; a card's threads are run on this machine's processor."""
    make = ReferenceBackend
    if backend != "reference":
        pytest.importorskip("numba_cuda", reason="the GPU's kernels need numba-cuda")
        make = pytest.importorskip("simulated_card").simulated
    document = narrow(name, dimensions)
    found, wanted = (solver.build(document, backend=one) for one in (make, None))
    for simulation in (found, wanted):
        for level in simulation.levels:
            solver.add_noise(level)
        simulation.advance(3)
    for one, other in zip(found.levels, wanted.levels, strict=True):
        fields = fields_of(other)
        for field, array in fields_of(one).items():
            assert np.abs(array - fields[field]).max() < 1e-12 * np.abs(fields[field]).max()


def test_cuts_change_no_bit() -> None:
    """Both grids are cut along y, through the hill."""
    document = narrow("elastic", 3)
    one, cut = (solver.build(document, parts=parts) for parts in ((1, 1), (1, 2)))
    wanted = traces(one)
    assert np.array_equal(traces(cut), wanted)
    assert wanted.any()


def test_a_run_goes_on_to_the_same_bits() -> None:
    """From its state half-way, lossy rock, which has memory variables on both grids."""
    document = of_equation("viscoelastic", 2)
    document |= {"time": {"duration": 0.2}, "precision": "float32"}
    first, second = (solver.build(document) for _ in range(2))
    half = first.total_steps // 2
    solver.go_on(first, second, half)
    for run in (first, second):
        run.advance(run.total_steps - half)
    for one, other in zip(first.levels, second.levels, strict=True):
        assert np.array_equal(one.recorder.record, other.recorder.record)
        assert one.recorder.record.any()


def test_parts_below_the_plane_follow_the_ground() -> None:
    """Depths of a gradient count from the ground on both sides of the plane."""
    gradient = {"vp": {"top": 1500.0, "bottom": 3000.0}, "vs": {"top": 800.0, "bottom": 1800.0}}
    part = {"type": "gradient", "relative_to": "ground", "z_top": 0.0, "z_bottom": 1000.0}
    document = scene_on_hill(model=[part | gradient | {"rho": {"top": 2000.0, "bottom": 2000.0}}])
    discretization = discretize(from_dict(document, "."))
    x = np.array([[100.0, 450.0]])
    for grid, s in (
        (discretization, 600.0),
        (discretization.above, 540.0),
        (discretization.above, 100.0),
    ):
        found = grid.own_earth.sample(np.array([[s]]), None, x)["vs"]
        depth = discretization.ground.z(s, None, x) - discretization.ground.ground(None, x)
        assert np.ravel(found) == pytest.approx(800.0 + np.ravel(depth))


def test_results_have_true_z_on_both_sides(tmp_path) -> None:
    """Of sections across the plane, of what lies on the ground, and of receivers."""
    document = scene_on_hill(time={"duration": 0.1})
    section = {"name": "section", "fields": ["vz"], "interval": 0.05}
    ground = {"name": "ground", "quantities": ["pgv"], "box": {"z": [-65.0, -55.0]}}
    document["output"] = {"snapshots": [section], "maps": [ground]}
    discretization = discretize(from_dict(document, "."))
    with seismo.run(document, tmp_path / "hill.h5") as results:
        both = (results.snapshots["section"], 30.0), (results.maps["ground"], 10.0)
        for arrays, spacing in both:
            z, x = (arrays.axes[a] for a in "zx")
            assert np.diff(x) == pytest.approx(spacing)
            true = discretization.ground.z(z[:, None], None, x)
            assert arrays.z_true == pytest.approx(true, rel=1e-6, abs=1e-8)
        # The largest value of a map is where it stands.
        peak = results.maps["ground"]
        text = report._highest_point(peak)("pgv")
        z = peak.z_true.ravel()[np.nanargmax(peak.values_of("pgv"))]
        assert f"z {z:.6g} m" in text
        placed = true_positions(discretization, discretization.groups[0].coordinates)
        assert results.traces["receivers"].z == pytest.approx(placed[:, 2])
        assert results.traces["receivers"].column("depth") == pytest.approx([0.0, 0.0, 40.0, 900.0])


def test_memory_is_counted() -> None:
    """Of both grids, to the byte where a run has arrays for steps."""
    simulation = solver.build(scene_on_hill())
    memory = memory_of(simulation.discretization, simulation.backend)
    fields = [part.fields for level in simulation.levels for part in level.solvers]
    # Backends round the lengths of arrays up to whole lines.
    planned = memory.wavefield + memory.model
    assert planned == pytest.approx(sum(one.bytes for one in fields), rel=1e-2)


def test_check_tells_of_the_ground_and_the_plane() -> None:
    scenario = from_dict(scene_on_hill(), ".")
    plan = make_plan(scenario)
    facts = [text for _, text in ground_facts(plan.discretization)]
    assert "flat below z = 360 m" in facts[0]
    assert "42 of 64 rows follow the ground" in facts[-1]
    assert FeasibleRanks(scenario).most(4) == 1


@pytest.mark.parametrize("origin", [{}, {"z": -90.0}])
def test_a_plane_among_curved_rows_is_refused(origin: dict) -> None:
    """Where it has to lie is said, and does."""
    document = scene_on_hill()
    document["grid"] |= {"refinement": [{"below": 330.0}], "origin": origin}
    with pytest.raises(ScenarioError, match="leaves too little under ground") as refusal:
        discretize(from_dict(document, "."))
    (text,) = refusal.value.messages
    below = float(text.split("use ")[1].split(" m")[0])
    document["grid"]["refinement"] = [{"below": below}]
    discretization = discretize(from_dict(document, "."))
    assert discretization.ground.heights[0] >= 0.4
    assert float(
        discretization.grid.coordinate("z", discretization.interface.row)
    ) == pytest.approx(below)


@pytest.mark.parametrize("top", [None, -90.0, -75.0])
def test_auto_finds_a_plane_below_curved_rows(top: float | None) -> None:
    """On a row of both grids, wherever the first one lies."""
    part = {"type": "gradient", "relative_to": "ground", "z_top": 0.0, "z_bottom": 450.0}
    ends = {"vp": (1800.0, 4000.0), "vs": (600.0, 2000.0), "rho": (2000.0, 2400.0)}
    rock = {name: {"top": first, "bottom": last} for name, (first, last) in ends.items()}
    document = scene_on_hill(model=[part | rock])
    document["grid"] |= {
        "refinement": "auto", "origin": {} if top is None else {"z": top},
        "extent": {"x": 900.0, "z": 1500.0},
    }  # fmt: skip
    document["sources"][1]["position"]["z"] = 1100.0
    document["receivers"][0]["positions"].pop()
    discretization = discretize(from_dict(document, "."))
    assert 560.0 < float(discretization.grid.coordinate("z", discretization.interface.row)) < 720.0
    assert discretization.ground.depth == pytest.approx(420.0, rel=1e-4)  # six reliefs


@pytest.mark.parametrize(
    ("below", "message"),
    [(575.0, "use 570 m"), (1320.0, "below -60 m and above 1110 m"), (-100.0, "must lie below")],
)
def test_planes_off_the_rows_are_refused(below: float, message: str) -> None:
    document = scene_on_hill()
    document["grid"] |= {"refinement": [{"below": below}]}
    with pytest.raises(ScenarioError, match=message):
        discretize(from_dict(document, "."))


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "dimensions", "order"), [
    ("elastic", 2, 8), ("elastic_sh", 2, 4), ("elastic", 3, 4), ("viscoelastic", 3, 8),
])  # fmt: skip
def test_a_card_gives_the_answer_of_the_processor(name: str, dimensions: int, order: int) -> None:
    document = of_equation(name, dimensions)
    document["grid"]["order"] = order
    document["time"] = {"duration": 0.2}
    wanted = traces(solver.build(document))
    found = traces(solver.build(document, backend=choose("gpu").make))
    assert np.abs(found - wanted).max() < 1e-11 * np.abs(wanted).max()
