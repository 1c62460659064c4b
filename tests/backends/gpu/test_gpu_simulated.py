"""The GPU's own code, compiled for this machine's processor, against the NumPy reference.

No GPU is needed (`simulated_card.py`). Kernels and reference add the same numbers, the compiler in
another order; the bar is rounding in double precision, where a wrong point differs by 1e-3.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="the GPU's kernels need numba-cuda")

import mpi_worker
import seismo
import simulated_card
import solver
from decomposition_cases import HALOS, case
from seismo.backends import timeline
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.device_threads import DeviceThreads
from seismo.backends.gpu import backend as gpu
from seismo.backends.gpu import backend as gpu_backend
from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.gpu.launch_order import GpuLaunch, dependencies
from seismo.backends.gpu.sweeps import blocks, kernels
from seismo.backends.gpu.sweeps.layouts import BlockShape
from seismo.backends.reference import ReferenceBackend
from seismo.backends.select import BackendChoice
from seismo.errors import StoppedError, UnstableError
from seismo.grid.decomposition import LINE
from seismo.output.run_directory import checkpoint
from seismo.runs import run as runner
from seismo.runs.loop import run_loop
from seismo.runs.request import Signals
from seismo.runs.tools.kernels import CompilingCard
from seismo.scenario import from_dict
from seismo.solver.accuracy import stability_monitor
from seismo.solver.discretize import discretize
from seismo.solver.medium import earth_samples as medium
from seismo.solver.medium import field_damping
from simulated_card import SHAPES, SimulatedBackend, SimulatedCard, simulated
from test_contact import HARD, WATER, layers
from test_curved_rows import on_hill
from test_isotropic_planes import BLOCK, ROCK, Z
from test_layer_media import beds
from test_many_subfaults import check_spreading
from test_maps import check_polynomials
from test_resume import contents
from test_solver_backends import CASES, faces
from test_spectral_maps import check_responses

X = solver.SPACING["x"]
TOLERANCE = {"float64": 1e-12, "float32": 4e-4}
STEPS = 3
CELLS = {2: (14, 12), 3: (9, 6, 6)}  # sources away from layers need 12 cells along an axis


def both(document: dict, base, **how) -> list:
    """Build on the simulated card and on NumPy, and run from noise."""
    simulations = [
        solver.build(document, base, backend=backend, **how)
        for backend in (simulated, ReferenceBackend)
    ]
    for simulation in simulations:
        solver.add_noise(simulation)
        simulation.advance(STEPS)
    simulations[0].backend.card.check()
    return simulations


def compare(document: dict, base, **how) -> None:
    found, wanted = both(document, base, **how)
    tolerance = TOLERANCE[document["precision"]]
    for shot in range(found.discretization.batch):
        pairs = [(solver.wavefield(s, shot), solver.records(s, shot)) for s in (found, wanted)]
        for a, b in zip(*pairs, strict=True):
            assert solver.difference(a, b) < tolerance


def planned(name: str, dimensions: int, base, case: str = "layers", **changes) -> dict:
    keys = {"cells": CELLS[dimensions], "steps": STEPS, "boundaries": faces(case, dimensions)}
    keys["boundaries"]["layer"] = {"points": 2}
    return solver.plan(name, dimensions, random_medium=base, **(keys | changes))


PLANES = [
    ("acoustic", "mixed"),
    *(pytest.param("acoustic", c, marks=pytest.mark.slow) for c in CASES if c != "mixed"),
    ("acoustic_variable_density", "mixed"),
    ("elastic", "free_surface"),
    ("elastic", "closed"),
    ("elastic_sh", "layers"),
    ("viscoelastic", "free_surface"),
    ("viscoacoustic", "layers"),
]


@pytest.mark.parametrize(("name", "case"), PLANES)
def test_planes(name, case, tmp_path):
    """Every kernel of planes; all combinations are slow."""
    compare(planned(name, 2, tmp_path, case), tmp_path)


def test_layers_with_a_medium_of_their_own(tmp_path):
    """Side layers go over into the mean of beds: the card reads all of it, not their inner edge."""
    document = planned("elastic", 2, tmp_path, "free_surface") | {"model": beds(6, 2)}
    found, wanted = both(document, tmp_path)
    assert found.discretization.field_damping.averaged
    assert solver.difference(solver.wavefield(found), solver.wavefield(wanted)) < 1e-12


@pytest.mark.parametrize("across", [8, 33])
def test_planes_of_narrow_and_of_full_rows(across, tmp_path):
    """Rows that are all layer begin on a lane; behind those that fill their pitch is no layer."""
    compare(planned("acoustic", 2, tmp_path, cells=(across, 11)), tmp_path)


@pytest.mark.parametrize(
    ("name", "dimensions", "points"),
    [
        pytest.param("acoustic", 2, 7, marks=pytest.mark.slow),
        ("acoustic_variable_density", 2, 6),
        pytest.param("elastic", 2, 7, marks=pytest.mark.slow),
        ("acoustic", 3, 5),
    ],
)
def test_thick_layers_of_planes_and_spaces(name, dimensions, points, tmp_path):
    """Their outer points take the medium from the innermost ones; what differs is inside."""
    document = planned(name, dimensions, tmp_path, cells=(7, 6, 6)[:dimensions])
    document["boundaries"]["layer"] = {"points": points}
    compare(document, tmp_path)


@pytest.mark.parametrize("precision", TOLERANCE)
def test_planes_with_a_layer_behind_alone(precision, tmp_path):
    """Nothing is held before the first row of its memory, but its first lanes look there."""
    boundaries = faces("closed", 2) | {"x_min": "rigid", "x_max": "absorbing"}
    boundaries["layer"] = {"points": 5}
    keys = {"boundaries": boundaries, "cells": (24, 12), "precision": precision}
    compare(planned("acoustic", 2, tmp_path, **keys), tmp_path)


@pytest.mark.parametrize("name", solver.slow_but({"elastic"}, ["acoustic", "elastic"]))
def test_spaces(name, tmp_path):
    compare(planned(name, 3, tmp_path, "free_surface"), tmp_path)


@pytest.mark.parametrize(
    ("name", "across", "precision"),
    [
        ("acoustic_variable_density", 6, "float32"),
        pytest.param("acoustic_variable_density", 5, "float64", marks=pytest.mark.slow),
        pytest.param("elastic", 6, "float32", marks=pytest.mark.slow),
        pytest.param("elastic", 5, "float32", marks=pytest.mark.slow),
    ],
)
def test_spaces_whose_rows_end_with_half_a_line(name, across, precision, tmp_path, monkeypatch):
    """Odd rows are turned in single precision; of an odd number of rows one is spare."""
    turns = []
    kernel = kernels.SweepKernel
    monkeypatch.setattr(gpu_backend, "SweepKernel", lambda *a: turns.append(a[-1]) or kernel(*a))
    keys = {"cells": (35, across, 5), "precision": precision}
    compare(planned(name, 3, tmp_path, "free_surface", **keys), tmp_path)
    sub = solver.build(planned(name, 3, tmp_path, "free_surface", **keys), tmp_path).solvers[0]
    assert sub.subdomain.shape[2] % LINE == LINE // 2
    assert sub.subdomain.shape[1] == 2 * -(-(across + 1 + 4 + 4) // 2)
    assert any(turns) == (precision == "float32")


def second_differences(box: str, shape: BlockShape) -> dict:
    """Give second differences of all orders a layout in boxes of a kind of volumes."""
    return {key: shape for key in SHAPES if key[:3] == ("xyz", "second", box)}


@pytest.mark.parametrize(
    ("order", "points", "tile"),
    [(2, 1, False), pytest.param(8, 5, False, marks=pytest.mark.slow), (4, 3, True)],
)
def test_a_march_across_a_layer_in_one_piece(order, points, tile, tmp_path, monkeypatch):
    """Elsewhere it takes three planes at a time; the last rows lie beside the layer."""
    long = second_differences("layer", BlockShape((2, 3, 1), 64, tile=tile))
    monkeypatch.setattr(simulated_card, "SHAPES", SHAPES | long)
    document = planned("acoustic", 3, tmp_path, "free_surface", order=order)
    document["boundaries"]["layer"]["points"] = points
    compare(document, tmp_path)


@pytest.mark.parametrize(
    ("order", "precision", "ahead"),
    [(4, "float32", 0), pytest.param(12, "float64", 2, marks=pytest.mark.slow)],
)
def test_planes_in_shared_memory(order, precision, ahead, tmp_path, monkeypatch):
    """Of the interior: blocks reach beyond its rows and planes, the last of them with few."""
    tile = BlockShape((3, 2, 1), 4, ahead=ahead, tile=True)
    shapes = SHAPES | second_differences("inner", tile)
    monkeypatch.setattr(simulated_card, "SHAPES", shapes)
    used = []
    kernel = kernels.SweepKernel
    monkeypatch.setattr(gpu_backend, "SweepKernel", lambda *a: used.append(a[4]) or kernel(*a))
    cells = (order + 9, order + 3, order + 5)
    compare(
        planned("acoustic", 3, tmp_path, order=order, precision=precision, cells=cells), tmp_path
    )
    assert any(shape.tile and shape.planes == tile.planes for shape in used)


def shapes_used(document: dict, base, shapes: dict) -> set[BlockShape]:
    """Build a simulation on a card that only notes its kernels; give their layouts."""
    card = CompilingCard((9, 0), lambda kernel: isinstance(kernel, kernels.SweepKernel))
    solver.build(document, base, backend=lambda precision: GpuBackend(precision, card, shapes))
    return {request.kernel.shape for request in card.requests.values()}


@pytest.mark.parametrize(("name", "dimensions"), [("acoustic_vti", 3), ("acoustic", 2)])
def test_some_marches_have_no_planes_in_shared_memory(name, dimensions, tmp_path):
    """Those of several fields, and those in planes."""
    shapes = {key: BlockShape((2, dimensions - 1, 1), 3, tile=True) for key in SHAPES}
    used = shapes_used(planned(name, dimensions, tmp_path), tmp_path, shapes)
    assert any(shape.planes > 1 for shape in used)
    assert not any(shape.tile for shape in used)


@pytest.mark.parametrize(("waves", "planes"), [(0, 64), (1, 4)])
def test_marches_across_layers_of_few_blocks_are_cut(waves, planes, tmp_path):
    """In three pieces at most, of 12 rows: nine that keep memory, and some beside."""
    march = BlockShape((2, 2, 1), 64, waves=waves)
    document = planned("acoustic", 3, tmp_path, order=8, cells=(14, 14, 14))
    document["boundaries"]["layer"] = {"points": 9}
    used = shapes_used(document, tmp_path, SHAPES | second_differences("layer", march))
    assert {shape.planes for shape in used if shape.waves == waves and shape.planes > 3} == {planes}


@pytest.mark.parametrize("name", ["acoustic", pytest.param("acoustic_tti", marks=pytest.mark.slow)])
def test_slabs_change_no_bit(name, tmp_path):
    """Blocks come slab by slab, of the interior and of tables; the last slab is not full."""
    document = planned(name, 3, tmp_path)
    document["sources"] = document["sources"][:1]
    spots = [{"position": solver.place(3, n)} for n in ((4.3, 3.0, 3.2), (5.0, 3.0, 3.0))]
    document |= {"survey": {"shots": spots}}

    def slabs(rows: int) -> dict:
        return {key: replace(shape, slab=rows) for key, shape in SHAPES.items()}

    whole = stepped(document, tmp_path, slabs(0))
    assert len(whole) == 2
    for rows in (3, 100):
        pairs = zip(stepped(document, tmp_path, slabs(rows)), whole, strict=True)
        assert all(solver.identical(*pair) for pair in pairs)


def stepped(document: dict, base, shapes: dict) -> list[dict]:
    """Run from noise with a table of layouts; give the fields of each shot."""
    simulation = solver.build(
        document, base,
        backend=lambda precision: SimulatedBackend(precision, SimulatedCard(), shapes),
    )  # fmt: skip
    solver.add_noise(simulation)
    simulation.advance(STEPS)
    simulation.backend.card.check()
    return [solver.wavefield(simulation, shot) for shot in range(simulation.discretization.batch)]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name != "acoustic_tti"))
     for name in ("acoustic_tti", "elastic", "viscoelastic")],
)  # fmt: skip
def test_planes_together_and_blocks_of_rows(name, tmp_path):
    """Two planes of each thread where boxes are even, and blocks that share rows evenly.

    This machine's compiler rounds sums of two planes otherwise, which a card does not.
    """
    nx, ny, nz = CELLS[3]
    cells = nx, ny, nz + 1 - nz % 2
    document = planned(name, 3, tmp_path, cells=cells, precision="float32")
    pairs = {key: BlockShape((16, 1, 1), together=2, sectors=True, asks=True) for key in SHAPES}
    used = shapes_used(document, tmp_path, pairs)
    assert {shape.together for shape in used} >= {2}
    assert any(shape.threads[1] > 1 for shape in used)
    ones = {key: BlockShape((2, 2, 1)) for key in SHAPES}
    found, wanted = (stepped(document, tmp_path, shapes) for shapes in (pairs, ones))
    assert all(solver.difference(*pair) < 1e-6 for pair in zip(found, wanted, strict=True))


class AnyOrder(SimulatedCard):
    """A card that takes the launches of some steps in any order that they allow, at random."""

    def launch(self, kernel, grid, block, arguments, **how):
        run = super().launch(kernel, grid, block, arguments, **how)
        touched, written = (
            frozenset(a.ctypes.data for a in arrays)
            for arrays in (_arrays(arguments), how["writes"])
        )
        return GpuLaunch(run, touched - written, written, self)

    def program(self, members):
        (member,), chance = members, random.Random(1)

        def advance(first: int, count: int) -> None:
            member.clock[0] = first
            steps = (member.steps[n % len(member.steps)] for n in range(first, first + count))
            groups = [group for step in steps for group in step]
            needed, works = dependencies(groups), [work for group in groups for work in group]
            done = set[int]()
            while len(done) < len(works):
                left = [n for n in range(len(works)) if n not in done]
                now = chance.choice([n for n in left if done.issuperset(needed[n])])
                works[now]()
                done.add(now)

        return advance


def _arrays(arguments) -> list:
    if isinstance(arguments, tuple):
        return [array for one in arguments for array in _arrays(one)]
    return [arguments] if isinstance(arguments, np.ndarray) else []


@pytest.mark.parametrize("name", ["acoustic", "elastic"])
def test_any_order_that_launches_allow_gives_the_same_bits(name, tmp_path):
    """Sources of later steps, records, images, layers beside the interior."""
    document = planned(name, 2, tmp_path, "free_surface")
    runs = [
        solver.build(document, tmp_path, backend=lambda p, c=c: SimulatedBackend(p, c, SHAPES))
        for c in (SimulatedCard(), AnyOrder())
    ]
    for run in runs:
        run.advance(STEPS)
    for a, b in ((solver.wavefield(runs[0]), solver.wavefield(runs[1])),
                 (solver.records(runs[0]), solver.records(runs[1]))):  # fmt: skip
        assert solver.difference(a, b) == 0.0


@pytest.mark.parametrize("name", solver.slow_but({"elastic"}, ["acoustic", "elastic"]))
def test_single_precision(name, tmp_path):
    """Four numbers a lane instead of two."""
    compare(planned(name, 2, tmp_path, "free_surface", precision="float32"), tmp_path)


@pytest.mark.parametrize(
    ("depth", "closed"), [pytest.param(9.3, False, marks=pytest.mark.slow), (14.3, True)]
)
def test_a_sea_bed(depth, closed, tmp_path):
    """Corrected rows on the contact of fluid and solid, with and without room for closed ones."""
    changes = {"model": layers((0.0, WATER), (depth, HARD)), "cells": (12, 26)}
    boundaries = faces("free_surface", 2) | {"layer": {"points": 2}}
    document = solver.plan("elastic", 2, boundaries=boundaries, **changes)
    (contact,) = discretize(from_dict(document)).slips.corrected
    assert contact.closed == closed
    compare(document, tmp_path)


def test_even_planes(tmp_path, monkeypatch):
    """Coefficients kept for some planes, in two runs and in the free surface's row."""
    monkeypatch.setattr(medium, "EVEN_RUN", 3)
    blocks = [BLOCK | {"z": [k * Z for k in rows]} for rows in ((5.3, 7.0), (13.0, 14.6))]
    keys = {"cells": (14, 22), "steps": STEPS, "model": [ROCK, *blocks]}
    document = solver.plan(
        "elastic", 2, boundaries=faces("free_surface", 2) | {"layer": {"points": 2}}, **keys
    )
    even = discretize(from_dict(document)).even["stress"]
    assert np.count_nonzero(np.diff(even.astype(int)) == 1) == 2
    compare(document, tmp_path)


@pytest.mark.parametrize(
    ("name", "dimensions"),
    [
        pytest.param("elastic", 2, marks=pytest.mark.slow),
        ("acoustic_variable_density", 3),
    ],
)
def test_planes_where_fluids_meet(name, dimensions, tmp_path, monkeypatch):
    """Densities kept for some planes only, and a contact that dips: its off-diagonal terms."""
    monkeypatch.setattr(medium, "EVEN_RUN", 2)
    sea = {"vp": 1500.0, "rho": 1000.0} | ({"vs": 0.0} if name == "elastic" else {})
    centre = {"x": 7.2 * X, "z": 5.3 * Z} | ({"y": 45.0} if dimensions == 3 else {})
    mud = {"type": "sphere", "center": centre, "radius": 2.2 * Z, **sea, "rho": 2200.0}
    keys = {"cells": (14, 14) if dimensions == 2 else (9, 6, 12), "steps": STEPS}
    boundaries = faces("free_surface", dimensions) | {"layer": {"points": 2}}
    document = solver.plan(
        name, dimensions, boundaries=boundaries, model=[{"type": "uniform", **sea}, mud], **keys
    )
    planes = discretize(from_dict(document)).even["velocity"]
    assert 0 < np.count_nonzero(~planes) < len(planes)
    compare(document, tmp_path)
    assert solver.build(document, tmp_path).solvers[0].stages[0].core_corrections


def test_shots_side_by_side_and_parts(tmp_path):
    """Two shots in a batch, and the grid cut in two with copies between."""
    document = planned("acoustic", 2, tmp_path, cells=(14, 20))
    document["sources"] = document["sources"][:1]
    spots = [{"position": solver.place(2, n)} for n in ((6.3, 9.2), (8.0, 8.5))]
    compare(document | {"survey": {"shots": spots}}, tmp_path)
    document["grid"]["order"] = 4
    compare(document, tmp_path, parts=(2, 1))


@pytest.mark.parametrize(("name", "dimensions"), [("elastic", 2), ("acoustic", 3)])
def test_more_blocks_along_an_axis_than_a_launch_may_have(name, dimensions, tmp_path, monkeypatch):
    """Planes with millions of rows, rows with millions of points; here it may have two."""
    monkeypatch.setattr(blocks, "MOST_BLOCKS", 2)
    monkeypatch.setattr(gpu, "ROW_THREADS", (2, 2))
    if dimensions == 3:  # blocks along y alone are too many
        shapes = {key: BlockShape((2, 1, 1), 9) for key in SHAPES}
        monkeypatch.setattr(simulated_card, "SHAPES", shapes)
    launched = []
    launch = SimulatedCard.launch
    monkeypatch.setattr(
        SimulatedCard,
        "launch",
        lambda card, kernel, grid, *rest, **how: (
            launched.append(grid) or launch(card, kernel, grid, *rest, **how)
        ),
    )
    compare(planned(name, dimensions, tmp_path, "closed", cells=CELLS[dimensions]), tmp_path)
    assert max(max(grid[1:]) for grid in launched) <= 2


@pytest.mark.parametrize(("peers", "least"), [*((True, n) for n in HALOS), (False, 0)])
def test_two_cards_of_a_process(peers, least, tmp_path, monkeypatch):
    """To the bits of one, whether or not they see each other's memory."""
    monkeypatch.setattr(SimulatedBackend, "copied_from", least)
    discretization = discretize(from_dict(case("acoustic", 2, tmp_path), tmp_path))

    def make(precision: str):
        return simulated(precision, peers)

    wanted = mpi_worker.outcome(discretization, (1, 1), SerialCommunicator(), make)
    found = DeviceThreads(2).run(lambda one: mpi_worker.outcome(discretization, (2, 1), one, make))
    assert all(np.array_equal(found[key], wanted[key]) for key in wanted)


@pytest.mark.parametrize(
    ("name", "dimensions", "parts"),
    [("elastic", 2, (2, 1)), pytest.param("viscoelastic", 3, (2, 2), marks=pytest.mark.slow)],
)
def test_cards_of_a_process_share_a_hill(name, dimensions, parts):
    """Cut below the rows that follow the ground, and beside them."""
    time = {"duration": 0.2 if dimensions == 2 else 0.06, "dispersion_removal": False}
    document = on_hill(name, dimensions, 4, precision="float32", time=time)
    discretization = discretize(from_dict(document))
    wanted = mpi_worker.outcome(discretization, (1, 1), SerialCommunicator(), simulated)
    found = DeviceThreads(parts[0] * parts[1]).run(
        lambda one: mpi_worker.outcome(discretization, parts, one, simulated)
    )
    assert all(values.any() for values in wanted.values())
    assert all(np.array_equal(found[key], wanted[key]) for key in wanted)


@pytest.mark.slow
@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("name", "dimensions"), solver.EVERY_EQUATION)
def test_every_combination(name, dimensions, case, precision, tmp_path):
    large = dimensions == 3 and case in ("closed", "mixed")
    cells = (12, 12, 12) if large else CELLS[dimensions]
    compare(planned(name, dimensions, tmp_path, case, precision=precision, cells=cells), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("order", range(2, 17, 2))
@pytest.mark.parametrize("name", ["acoustic", "elastic"])
def test_every_order(name, order, tmp_path):
    cells = (22, 20) if order > 8 else CELLS[2]
    document = planned(name, 2, tmp_path, "free_surface", order=order, cells=cells)
    compare(document, tmp_path)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_the_search_for_the_largest(precision, size):
    """What is not finite is above all numbers, whatever its sign; -max is above what is smaller.

    Of doubles 32 bits are compared.
    """
    backend = simulated(precision)
    field = backend.zeros(size)
    field[:size] = np.random.default_rng(1).standard_normal(size) * 1e3
    start, top = backend.largest(field, 10), float(np.finfo(precision).max)
    found = start()()
    assert found.size == pytest.approx(np.abs(field).max(), rel=2e-6)
    assert found.at == np.abs(field).argmax()
    for value, wanted in ((-top, top), (np.nan, math.inf), (-np.inf, math.inf), (np.inf, math.inf)):
        field[size // 2] = value
        assert start()() == (pytest.approx(wanted, rel=2e-6), size // 2)


SCENARIO = {
    "physics": "acoustic",
    "grid": {"extent": {"x": 160.0, "z": 120.0}, "spacing": 10.0, "order": 4},
    "time": {"duration": 0.06, "step": 0.002},
    "boundaries": {"layer": {"points": 3}},
    "model": [{"type": "uniform", "vp": 1500.0}],
    "sources": [{"type": "pressure", "position": {"x": 83.0, "z": 60.0},
                 "wavelet": {"type": "ricker", "frequency": 20.0}}],
    "receivers": [{"type": "points", "positions": [{"x": 120.0, "z": 60.0}],
                   "quantities": ["pressure"]}],
    "survey": {"batch": 1, "shots": [{"position": {"x": x, "z": 60.0}} for x in (83.0, 90.0)]},
    "output": {"snapshots": [{"name": "p", "fields": ["pressure"], "interval": 0.02}],
               "maps": [{"name": "m", "quantities": ["p"], "decimate": 2}]},
}  # fmt: skip


@pytest.fixture
def on_the_card(monkeypatch):
    """Let runs go to the simulated card."""
    choice = BackendChoice("gpu", "on a simulator", simulated)
    monkeypatch.setattr(runner, "select_backends", lambda *_: ([choice], ""))


def test_a_run(tmp_path, monkeypatch):
    """Traces, snapshots and maps are the CPU's, to what 34 steps in single precision round."""
    wanted = seismo.run(SCENARIO, tmp_path / "cpu.h5", backend="cpu")
    choice = BackendChoice("gpu", "on a simulator", simulated)
    monkeypatch.setattr(runner, "select_backends", lambda *_: ([choice], ""))
    notes = []
    found = seismo.run(SCENARIO, tmp_path / "gpu.h5", notes.append)
    assert notes[0].note == "on a simulator"
    assert found.summary["device"] == "simulator"
    assert "threads" not in found.summary
    assert json.dumps(found.summary)
    places = [("receivers", "traces")] + [(f"p/shot_00{n}", "snapshots") for n in range(2)]
    for name, kind in places:
        a, b = (getattr(r, kind)[name].values_of("pressure") for r in (found, wanted))
        assert np.abs(b).max() > 0
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * np.abs(b).max())
    a, b = (r.maps["m"].values_of("p") for r in (found, wanted))
    assert b.min() > 0
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * b.max())


def test_shots_on_two_cards(tmp_path, monkeypatch):
    """Each with a grid of its own and two shots, one after the other: the bits of one card."""
    shots = [{"position": {"x": x, "z": 60.0}} for x in (83.0, 90.0, 84.5, 91.0)]
    scenario = SCENARIO | {"survey": {"batch": 1, "shots": shots, "spread": "shots"}}
    choice = BackendChoice("gpu", "on a simulator", simulated)
    for count, name in ((1, "one.h5"), (2, "two.h5")):
        monkeypatch.setattr(runner, "select_backends", lambda *_, n=count: ([choice] * n, ""))
        with seismo.run(scenario, tmp_path / name) as results:
            assert results.summary.get("grids", 1) == count
    assert contents(tmp_path / "two.h5") == contents(tmp_path / "one.h5")


def test_a_run_goes_on_on_the_card(tmp_path, on_the_card):
    """What was fetched is put back: the same bits as in one go."""
    signals = Signals()

    def stop(progress) -> None:
        signals.stop = progress.phase == "step"

    wanted = seismo.run(SCENARIO, tmp_path / "wanted.h5")
    with pytest.raises(StoppedError, match=r"stopped after step \d+ of \d+, on SIGTERM"):
        seismo.run(SCENARIO, tmp_path / "x.h5", stop, signals=signals)
    found = seismo.run(SCENARIO, tmp_path / "x.h5", resume=True)
    for read in (
        lambda results: results.traces["receivers"].values_of("pressure"),
        lambda results: results.snapshots["p/shot_000"].values_of("pressure"),
        lambda results: results.maps["m"].values_of("p"),
    ):
        assert read(wanted).any()
        np.testing.assert_array_equal(read(found), read(wanted))


@pytest.mark.parametrize("precision", solver.slow_but({"float32"}, TOLERANCE))
def test_cards_that_cut_it_otherwise_go_on(precision, tmp_path):
    """To the same bits: beside the layers at the ends of rows those above and below have memory."""
    document = planned(
        "acoustic", 2, tmp_path, cells=(22, 24), order=8, precision=precision, steps=2 * STEPS
    )
    document["boundaries"]["layer"]["points"] = 5
    one, two = (
        solver.build(document, tmp_path, backend=simulated, parts=p) for p in ((1, 1), (2, 1))
    )
    solver.add_noise(one)
    one.advance(STEPS)
    checkpoint.write(tmp_path, STEPS, {}, one.state(), np.asarray)
    (path,) = checkpoint.checkpoint_files(tmp_path)
    two.step = STEPS
    checkpoint.fill([path], path, two.state(), np.asarray)
    for run in (one, two):
        run.advance(STEPS)
    assert solver.identical(solver.wavefield(two), solver.wavefield(one))


def test_a_profiled_run_is_the_same_run(tmp_path, monkeypatch, on_the_card):
    """Steps 4 and 9 go group by group."""
    monkeypatch.setattr(timeline, "EVERY", 5)
    monkeypatch.setattr(timeline, "ALONE", 4)
    found = seismo.run(SCENARIO, tmp_path / "x.h5", profile=True)
    assert found.traces_hash == seismo.run(SCENARIO, tmp_path / "y.h5").traces_hash
    events = json.loads((tmp_path / "x.profile.json").read_text())["traceEvents"]
    assert {"pressure", "sources", "receivers", "maps"} <= {e["name"] for e in events}


def test_maps_run_on_the_card():
    check_polynomials(simulated("float32"), (1, 1), "z")


def test_oscillators_swing_on_the_card():
    check_responses(simulated("float32"))


def test_faults_are_spread_on_the_card(tmp_path):
    check_spreading(simulated("float32"), tmp_path, 1e-6)


def test_an_unstable_run_is_told_one_look_later(tmp_path, monkeypatch, on_the_card):
    """A NaN after step 12 is found by the look at 20, which is judged at 30."""
    monkeypatch.setattr(stability_monitor, "EVERY", 10)
    one_shot = SCENARIO | {"survey": {"shots": SCENARIO["survey"]["shots"][:1]}}
    advance, steps = run_loop.Simulation.advance, []

    def spoilt(simulation, count):
        advance(simulation, count)
        steps.append(simulation.step)
        if simulation.step >= 12:
            simulation.solvers[0].fields.arrays(0)["p"][500] = np.nan

    monkeypatch.setattr(run_loop.Simulation, "advance", spoilt)
    with pytest.raises(UnstableError, match="at step 20 ") as caught:
        seismo.run(one_shot | {"output": {}}, tmp_path / "x.h5")
    assert (caught.value.good, steps[-1]) == (10, 30)
    with seismo.open_results(tmp_path / "x.h5") as kept:
        assert kept.status == "unstable"


def test_layers_of_a_run_are_damped_from_one_step_on(monkeypatch):
    """Two programs, of other profiles and the same arrays; new shots begin with the first."""
    monkeypatch.setattr(field_damping, "HARMLESS", 2)
    layers = [{"top": 0.0, "vp": 600.0, "vs": 300.0, "rho": 2000.0},
              {"top": 40.0, "vp": 3000.0, "vs": 1500.0, "rho": 2000.0}]  # fmt: skip
    document = solver.plan(
        "elastic", 2, cells=CELLS[2], model=[{"type": "layers", "layers": layers}], steps=STEPS,
        boundaries=faces("free_surface", 2) | {"layer": {"points": 2}},
    )  # fmt: skip
    simulation = solver.build(document, backend=simulated)
    assert [first for first, _ in simulation.discretization.layer_phases] == [0, 2]
    simulation.advance(STEPS)
    first = solver.wavefield(simulation)
    simulation.load(simulation.discretization.shots)
    simulation.advance(STEPS)
    for name, values in solver.wavefield(simulation).items():
        np.testing.assert_array_equal(values, first[name])
    compare(document, ".")
