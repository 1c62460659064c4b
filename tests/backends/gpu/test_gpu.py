"""A real card: `pytest -m gpu test_gpu.py`, some minutes with an empty cache of kernels.

The card's answers against the CPU's and the NumPy reference, graphs against single steps, batches
against single shots, the watch, and what a card says of itself. Two runs in single precision that
add in another order differ by rounding, which grows with the square root of the steps: 1e-5 of the
waves after some thousand; the bar of 1e-4 is the promise of the README.
"""

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

import seismo
import solver
import test_maps
import test_run
import test_spectral_maps
from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.gpu.detect import detect
from seismo.backends.gpu.sweeps.layouts import BlockShape
from seismo.backends.reference import ReferenceBackend
from seismo.backends.row_kernels import pack_rows
from seismo.backends.select import choose
from seismo.backends.timeline import GROUPS
from seismo.equations.framework.registry import VARIANTS
from seismo.errors import ModelError, UnstableError
from seismo.runs import run
from seismo.runs.resources.memory import memory_of
from seismo.runs.tools.bench import find_ladder
from seismo.scenario import from_dict, load
from seismo.solver.accuracy import stability_monitor
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation
from test_contact import SEA_BEDS
from test_solver_backends import CASES, TOLERANCE, cells, faces

pytestmark = pytest.mark.gpu

PROMISE = 1e-4  # relative L2 of the traces against the CPU's
# Slow waves of acoustic TTI media never leave their source, and gather rounding.
# Rows under a mountain are steep and low, and gather some, too.
PROMISES = {"tilted_shale": 2e-4, "volcano": 3e-4, "jacksboro": 3e-4}
SCENARIOS = sorted((Path(__file__).parents[3] / "scenarios").glob("*.yaml"))
MOST_UPDATES = 2e9  # of a CPU in a test: a larger scenario is coarsened


@pytest.fixture(scope="module")
def choice():
    return choose("gpu")


@pytest.fixture
def gpu(choice):
    """Make backends on the card."""
    return choice.make


def relative(found: np.ndarray, wanted: np.ndarray) -> float:
    found, wanted = np.float64(found), np.float64(wanted)
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def coarsened(path: Path):
    """Load a scenario, on a coarser grid where a CPU would take minutes."""
    scenario = load(path)
    try:
        discretization = discretize(scenario)
    except ModelError as error:
        pytest.skip(str(error))
    updates = discretization.grid.size * len(discretization.shots) * discretization.clock.steps
    coarser = math.ceil((updates / MOST_UPDATES) ** (1 / (discretization.grid.dimensions + 1)))
    document = yaml.safe_load(scenario.to_yaml())
    spacing, extent = document["grid"]["spacing"], document["grid"]["extent"]
    # To where the extent ends, and a receiver may stand; rows that grow do so from the others.
    for axis in (a for a, h in spacing.items() if h != "auto"):
        spacing[axis] = extent[axis] / int(extent[axis] / (coarser * spacing[axis]))
    for group in document["receivers"]:  # as long as the waves that the grid carries
        if "interval" in group:
            group["interval"] *= coarser
    return from_dict(document, path.parent)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_scenario_gives_the_answer_of_the_cpu(path, tmp_path):
    scenario = coarsened(path)
    wanted = seismo.run(scenario, tmp_path / "cpu.h5", backend="cpu")
    found = seismo.run(scenario, tmp_path / "gpu.h5", backend="gpu")
    assert "threads" not in found.summary
    compared = 0
    for kind in ("traces", "snapshots", "maps"):
        for name, arrays in getattr(wanted, kind).items():
            for quantity in arrays:
                a, b = (getattr(r, kind)[name].values_of(quantity) for r in (found, wanted))
                if b.any():
                    compared += 1
                    promise = PROMISES.get(path.stem, PROMISE)
                    assert relative(a, b) < promise, (name, quantity)
    assert compared


def both(document, base, gpu, **how) -> list:
    """Run noise and sources on the card and on NumPy."""
    found = []
    for backend in (gpu, ReferenceBackend):
        simulation = solver.build(document, base, backend=backend, **how)
        solver.add_noise(simulation)
        simulation.advance(simulation.total_steps)
        found.append(simulation)
    return found


def compare(document, base, gpu, **how) -> None:
    found, wanted = both(document, base, gpu, **how)
    tolerance = TOLERANCE[document["precision"]]
    assert solver.difference(solver.wavefield(found), solver.wavefield(wanted)) < tolerance
    assert solver.difference(solver.records(found), solver.records(wanted)) < tolerance


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("name", "dimensions"), solver.EVERY_EQUATION)
def test_every_equation_and_face_equals_numpy(name, dimensions, case, precision, gpu, tmp_path):
    document = solver.plan(
        name, dimensions, random_medium=tmp_path, cells=cells(case, dimensions),
        steps={2: 20, 3: 8}[dimensions], boundaries=faces(case, dimensions), precision=precision,
    )  # fmt: skip
    compare(document, tmp_path, gpu)


@pytest.mark.parametrize("order", [2, 4, 6, 10, 12, 14, 16])
@pytest.mark.parametrize(("name", "dimensions"), [("acoustic", 2), ("acoustic", 3), ("elastic", 2)])
def test_every_order_equals_numpy(name, dimensions, order, gpu, tmp_path):
    document = solver.plan(
        name, dimensions, random_medium=tmp_path, cells=(60, 24) if dimensions == 2 else (40,) * 3,
        steps={2: 20, 3: 6}[dimensions], boundaries=faces("free_surface", dimensions), order=order,
    )  # fmt: skip
    compare(document, tmp_path, gpu)


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("bed", SEA_BEDS)
def test_contacts_of_fluid_and_solid_equal_numpy(bed, dimensions, gpu, tmp_path):
    document = solver.plan(
        "elastic", dimensions, model=SEA_BEDS[bed], steps=20,
        cells=(14, 28) if dimensions == 2 else (12, 12, 28),
        boundaries=faces("free_surface", dimensions),
    )  # fmt: skip
    compare(document, tmp_path, gpu)


@pytest.mark.parametrize(("name", "dimensions"), solver.EVERY_EQUATION)
def test_graphs_give_the_bits_of_single_steps(name, dimensions, gpu, tmp_path):
    """Odd portions fall between the graphs' beginnings and are launched one by one."""
    document = solver.plan(name, dimensions, random_medium=tmp_path, steps=97, precision="float32")
    whole, single, odd = (solver.build(document, tmp_path, backend=gpu) for _ in range(3))
    total = whole.total_steps
    whole.advance(total)
    for _ in range(total):
        single.advance(1)
    for portion in (1, 16, 17, 3, 33, 2, total - 72):
        odd.advance(portion)
    for other in (single, odd):
        assert solver.identical(solver.records(other), solver.records(whole))
        assert solver.identical(solver.wavefield(other), solver.wavefield(whole))


def test_a_layout_that_the_card_refuses_does_it_no_harm(gpu, tmp_path):
    """It takes 1024 threads of a block at most, and says so when it is asked to launch more."""
    document = solver.plan("acoustic", 3, random_medium=tmp_path, steps=20, precision="float32")

    def refused(precision):
        backend = gpu(precision)
        backend.shapes = dict.fromkeys(backend.shapes, BlockShape((8, 256, 1)))
        return backend

    with pytest.raises(RuntimeError):
        solver.build(document, tmp_path, backend=refused)
    compare(document, tmp_path, gpu)


@pytest.mark.parametrize("name", ["elastic", "viscoelastic", "acoustic_tti"])
def test_planes_together_change_no_bit(name, gpu, tmp_path):
    """Parts of other heights, whose threads take one plane, are to have the bits of all."""
    order = 8 if name == "acoustic_tti" else 4
    document = solver.plan(
        name, 3, random_medium=tmp_path, steps=20, precision="float32", order=order,
        cells=(40, 29, 29),
    )  # fmt: skip

    def alone(precision):
        backend = gpu(precision)
        shapes = backend.shapes
        assert any(shape.together > 1 for shape in shapes.values())
        backend.shapes = {key: replace(shape, together=1) for key, shape in shapes.items()}
        return backend

    found, wanted = (solver.simulate(document, tmp_path, backend=b) for b in (gpu, alone))
    assert solver.identical(solver.wavefield(found), solver.wavefield(wanted))


def test_a_second_batch_starts_from_rest(gpu, tmp_path):
    """Loading records new graphs, and clears what the card was still working on."""
    document = solver.plan("elastic", 2, random_medium=tmp_path, steps=60)
    simulation = solver.build(document, tmp_path, backend=gpu)
    records = []
    for _ in range(3):
        simulation.load(simulation.discretization.shots)
        simulation.advance(simulation.total_steps)
        records.append(solver.records(simulation))
    assert all(solver.identical(one, records[0]) for one in records)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(("name", "dimensions"), solver.EVERY_EQUATION)
def test_a_batch_of_shots_equals_single_shots(name, dimensions, precision, gpu, tmp_path):
    spots = [solver.place(dimensions, n) for n in (9.0, 11.3, 14.6)]
    document = solver.plan(
        name, dimensions, random_medium=tmp_path, steps=40, precision=precision,
        boundaries=faces("free_surface", dimensions),
    )  # fmt: skip
    document["sources"] = document["sources"][:1]
    survey = document | {"survey": {"batch": 3, "shots": [{"position": p} for p in spots]}}
    batch = solver.simulate(survey, tmp_path, backend=gpu)
    assert batch.discretization.batch == 3
    for shot, spot in enumerate(spots):
        document["sources"][0]["position"] = spot
        single = solver.simulate(document, tmp_path, backend=gpu)
        assert solver.identical(solver.records(batch, shot), solver.records(single))
        assert solver.identical(solver.wavefield(batch, shot), solver.wavefield(single))


def test_a_run_writes_what_the_cpu_writes(tmp_path):
    """Traces, snapshots at honest times, decimation, maps, a model of two media."""
    found, wanted = (
        seismo.run(test_maps.with_maps(), tmp_path / f"{name}.h5", backend=name)
        for name in ("gpu", "cpu")
    )
    assert found.summary["device"] != wanted.summary["device"]
    assert found.summary["cuda_driver"]
    for kind in ("traces", "snapshots", "maps"):
        for name, arrays in getattr(wanted, kind).items():
            for quantity in arrays:
                a, b = (getattr(r, kind)[name].values_of(quantity) for r in (found, wanted))
                assert relative(a, b) < PROMISE


def test_peaks_of_polynomials_are_exact(gpu):
    test_maps.check_polynomials(gpu("float32"), (1, 1), "z")


def test_maps_hold_the_responses_of_their_motion(gpu):
    test_spectral_maps.check_responses(gpu("float32"))


def test_spectral_maps_are_those_of_the_cpu(tmp_path):
    """RotD50 and SA of a run, in a graph of steps; oscillators in parts of a step, too."""
    found, wanted = (
        seismo.run(test_spectral_maps.SCENARIO, tmp_path / f"{name}.h5", backend=name).maps["g"]
        for name in ("gpu", "cpu")
    )
    for quantity in wanted:
        assert relative(found.values_of(quantity), wanted.values_of(quantity)) < PROMISE


def test_rounded_snapshots_in_a_box_keep_their_bound(tmp_path):
    """Beside those of the same run on the same card that are not rounded, at every step."""
    box = {"box": {"x": [100.0, 200.0], "z": [50.0, 150.0]}, "fields": ["p", "vx"], "steps": 1}
    snapshots = [box | {"name": "whole"}, box | {"name": "rounded", "relative_error": 1e-3}]
    scenario = test_maps.changed(output={"snapshots": snapshots})
    with seismo.run(scenario, tmp_path / "x.h5", backend="gpu") as results:
        for field in ("p", "vx"):
            whole, rounded = (results.snapshots[n].values_of(field) for n in ("whole", "rounded"))
            bound = results.snapshots["rounded"].attribute(field, "relative_error_bound")
            assert whole.any()
            assert (np.abs(whole - rounded) <= bound * np.abs(whole) + 1.2e-38).all()


def test_a_long_survey_goes_in_even_batches(tmp_path):
    """Small shots fill the card together; each is its own run."""
    positions = [40.0 + 5.0 * n for n in range(40)]
    survey = seismo.run(test_run.surveyed(positions), tmp_path / "many.h5", backend="gpu")
    pairs = seismo.run(test_run.surveyed(positions, batch=7), tmp_path / "few.h5", backend="gpu")
    found, wanted = (r.traces["nodes"].values_of("pressure") for r in (survey, pairs))
    np.testing.assert_array_equal(found, wanted)


def test_an_unstable_run_stops_soon_and_keeps_what_was_sound(tmp_path, monkeypatch):
    """A look every 50 steps, judged one look later: within 100 steps of the first bad one."""
    unstable = test_run._unstable(from_dict(test_run.SCENARIO), 1.11)
    monkeypatch.setattr(run.UnplacedRun, "discretized", lambda *_: unstable)
    steps, advance = [], Simulation.advance
    monkeypatch.setattr(
        Simulation, "advance", lambda s, count: (advance(s, count), steps.append(s.step))
    )
    with pytest.raises(UnstableError, match=r"unstable at step \d+") as caught:
        seismo.run(test_run.SCENARIO | {"output": {}}, tmp_path / "x.h5", backend="gpu")
    assert steps[-1] <= caught.value.good + 2 * stability_monitor.EVERY
    with seismo.open_results(tmp_path / "x.h5") as kept:
        assert kept.status == "unstable"
        pressure = kept.traces["nodes"].values_of("pressure")
    assert np.isfinite(pressure[..., : caught.value.good - 4]).all()
    assert np.isnan(pressure[..., caught.value.good :]).all()


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 255, 257, 10**6 + 3, 40 * 10**6])
def test_the_search_for_the_largest(precision, size, gpu):
    """What is not finite is above all numbers, whatever its sign; -max is above what is smaller."""
    backend = gpu(precision)
    values = np.random.default_rng(1).standard_normal(size).astype(precision)
    field = backend.zeros(size)
    field[:size] = backend.array(values)
    start, top = backend.largest(field, 10), float(np.finfo(precision).max)
    found = start()()
    assert found.size == pytest.approx(np.abs(values).max(), rel=2e-6)
    assert np.abs(values[found.at]) == pytest.approx(found.size, rel=2e-6)
    for place in {0, size // 2, size - 1}:
        for value, wanted in ((-top, top), (np.nan, math.inf), (-np.inf, math.inf)):
            field[place] = value
            assert start()() == (pytest.approx(wanted, rel=2e-6), place)
        field[place] = 0.0


def test_searches_follow_one_another_without_waiting(gpu):
    """Each gives what the field was when it began."""
    backend = gpu("float32")
    field = backend.zeros(1 << 24)
    start, looks = backend.largest(field, 10), []
    for n in range(20):
        field[n] = 1.0 + n
        looks.append(start())
    assert [look() for look in looks] == [(1.0 + n, n) for n in range(20)]


def test_more_rows_than_a_grid_counts_along_y(gpu):
    backend, rows = gpu("float32"), 300_000
    source = backend.array(np.arange(3 * rows, dtype="f4"))
    target, starts = backend.zeros(3 * rows), backend.array(3 * np.arange(rows))
    held = (target, 0, 3, backend.array(np.zeros(rows, np.int64)), starts, source)
    backend.each_row(pack_rows, rows, 3, held, writes=(0,))()
    np.testing.assert_array_equal(backend.fetch(target)[: 3 * rows], np.arange(3 * rows))


def test_a_card_describes_itself(gpu):
    backend = gpu("float32")
    said = backend.describe()
    assert said["device"]
    assert all(said[name] for name in ("cuda_driver", "cuda_runtime", "cupy", "numba_cuda"))
    free = backend.free_memory()
    held = backend.zeros(1 << 28)
    assert free - backend.free_memory() >= held.nbytes
    del held
    assert 1e11 < backend.bandwidth() < 2e13


def test_a_card_says_how_it_is(gpu):
    """What its management library knows; nvidia-ml-py comes with the extras."""
    health = gpu("float32").health()
    assert 0.0 <= health["utilisation"] <= 1.0
    assert health["memory"] > 1e8
    assert 10.0 < health["temperature"] < 120.0


def test_the_driver_says_what_cards_there_are():
    facts = detect()
    assert all(card.memory > 1 << 30 for card in facts.gpus)
    assert len(facts.links) == len(facts.gpus) * (len(facts.gpus) - 1) // 2


def test_a_profiled_run_gives_the_same_bits(tmp_path, monkeypatch):
    """Spans by the card's events are in order, and every stage has some."""
    monkeypatch.setattr(GpuBackend, "in_clusters", False)  # what is profiled is launched
    wanted, found = (
        seismo.run(
            test_run.SCENARIO, tmp_path / f"{name}.h5", backend="gpu", profile=name == "found"
        )
        for name in ("wanted", "found")
    )
    assert found.traces_hash == wanted.traces_hash
    events = json.loads((tmp_path / "found.profile.json").read_text())["traceEvents"]
    tracks = {e["args"]["name"]: e["tid"] for e in events if e["ph"] == "M"}
    groups = [e for e in events if e["ph"] == "X" and e["tid"] == tracks[GROUPS]]
    assert {"velocity", "pressure", "sources", "receivers"} <= {e["name"] for e in groups}
    for one, other in itertools.pairwise(groups):
        assert 0 <= one["dur"] < 1e6
        assert one["ts"] + one["dur"] <= other["ts"] + 1.0  # us


@pytest.mark.parametrize(("name", "dimensions"), VARIANTS)
def test_the_memory_of_a_card_is_the_memory_planned(name, dimensions, gpu):
    """Of some 100 MB to 1 GB; the plan may count 15 % too much."""
    cupy = pytest.importorskip("cupy")
    document = solver.plan(
        name, dimensions, cells=3000 if dimensions == 2 else 150, steps=20, precision="float32"
    )
    pool = cupy.cuda.MemoryPool()  # one in which nothing was freed that this could use
    with cupy.cuda.using_allocator(pool.malloc):
        simulation = solver.build(document, backend=gpu)
        simulation.advance(20)
        simulation.backend.wait()
    planned = memory_of(simulation.discretization, simulation.backend)
    held = pool.total_bytes()  # the array on its way may find its place where others go later
    assert 0.85 * (planned.resident - planned.array) < held < 1.05 * planned.resident


def test_another_gpu_than_there_is_is_refused():
    with pytest.raises(seismo.SeismoError, match="there is no GPU 1000; choose from 0 "):
        choose("gpu", 1000)


def test_a_view_fetches_what_is_indexed(gpu, tmp_path):
    document = solver.plan("acoustic", 2, random_medium=tmp_path, steps=30)
    simulation = solver.simulate(document, tmp_path, backend=gpu)
    fetched = []
    backend = SimpleNamespace(fetch=lambda a: fetched.append(a.size) or simulation.backend.fetch(a))
    (_, view) = simulation.views("p")[0]
    view._backend = backend
    part = view[:, 3:9:2, :, 5:6]
    assert fetched == [part.size]
    np.testing.assert_array_equal(part, simulation.field("p")[:, 3:9:2, :, 5:6])


def test_kernels_of_the_ladder(gpu):
    """Every other way to do the acoustic update gives the product's answer."""
    find_ladder()
    from ladder import flat, layouts, looped, naive, scalar_queue, stand, strided, tile

    backend = gpu("float32")
    interior = stand.Interior(backend, stand.whole("acoustic", 3, 8, 64))
    wanted = interior.answer(backend.program(interior.steps(interior.product)), 2)
    for bind in (
        naive.bind, strided.bind, flat.bind, looped.bind, tile.bind, scalar_queue.bind,
        layouts.bind(BlockShape((32, 4, 2), 1)),
    ):  # fmt: skip
        steps = interior.steps(lambda call, bind=bind: bind(backend, call))
        found = interior.answer(backend.program(steps), 2)
        assert stand.difference(found, wanted) < 1e-6


def test_the_rest_of_the_ladder(choice, monkeypatch):
    """The search plane by plane, and atomic additions."""
    find_ladder()
    from ladder import atomics, sequential, stand

    monkeypatch.setattr(atomics, "SIDE", 64)
    tiny = stand.Stand(choice, stand.Scale(space=64, shots=1, seconds=0.0))
    for measure in (sequential.measure, atomics.measure):
        assert measure(tiny).difference < 1e-6
