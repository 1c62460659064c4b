"""The table of layouts of threads: looked up, improved by measured times, kept for a card.

The times are a function of the table here; what a card measures is in `benchmarks/`.
"""

import itertools
import math
import re
from dataclasses import dataclass, replace

import pytest

pytest.importorskip("numba_cuda", reason="layouts are those of numba-cuda's kernels")

from seismo import cli
from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.gpu.sweeps.layouts import (
    FLOAT16,
    H200,
    BlockShape,
    keep_shapes,
    shape_for,
    shapes_file,
    shapes_of,
)
from seismo.backends.kernel_cache import kernel_cache
from seismo.backends.select import BackendChoice
from seismo.errors import DeviceError
from seismo.runs.tools.bench import cases
from seismo.runs.tools.bench import tune as tuning
from seismo.runs.tools.bench.cases import tuning_case
from seismo.runs.tools.kernels import CompilingCard, is_interior
from seismo.scenario import from_dict
from seismo.solver.simulation import Simulation

KEY = ("xyz", "gradient", "inner", 4)
BEST = BlockShape((16, 4, 4), 1, 4)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SEISMO_CACHE_DIR", str(tmp_path))


@pytest.fixture
def small(monkeypatch):
    """Let cases be small, and nothing be compiled; give what would have been."""
    sizes = {key: ({"xz": 121, "xyz": 60}[key[1]], 2) for key in cases._TUNING}
    monkeypatch.setattr(cases, "_TUNING", sizes)
    compiled: list = []
    monkeypatch.setattr(tuning, "compile_elsewhere", compiled.append)
    return compiled


def test_the_next_order_counts():
    found = [shape_for(H200, ("xyz", "gradient", "inner", order)) for order in (2, 4, 8, 16)]
    assert found[0] == found[1] == H200[KEY]
    assert found[2] == H200["xyz", "gradient", "inner", 8] != found[0]
    assert found[3] == H200["xyz", "gradient", "inner", 16] == shape_for(H200, (*KEY[:3], 14))


def test_threads_that_would_idle_take_other_rows():
    """At 75 lanes a fifth of three warps would; in volumes blocks stay whole lines wide."""
    plane, volume = BlockShape((32, 1, 8)), BlockShape((32, 8, 1))
    assert [plane.fitted(n).threads for n in (500, 82, 75, 8)] == [
        (32, 1, 8), (32, 1, 8), (16, 1, 16), (8, 1, 32)
    ]  # fmt: skip
    assert plane.fitted(5).threads == (5, 1, 32)
    assert [volume.fitted(n).threads for n in (500, 82, 75, 54, 5)] == [
        (32, 8, 1), (32, 8, 1), (16, 8, 2), (8, 8, 4), (5, 8, 1)
    ]  # fmt: skip
    march = BlockShape((32, 8, 1), 10)
    assert [march.fitted(n).threads for n in (70, 75)] == [(24, 8, 1), (16, 16, 1)]


def test_blocks_of_rows_share_them_evenly():
    """In whole lines; blocks of fewer warps take further rows, or more of them fit."""
    rows = BlockShape((128, 1, 1), 1, 3)
    found = [(s.threads, s.blocks_per_multiprocessor) for s in map(rows.fitted, (128, 96, 54, 130))]
    assert found == [((128, 1, 1), 3), ((96, 1, 1), 4), ((56, 2, 1), 3), ((72, 1, 1), 4)]
    march = BlockShape((64, 1, 1), 64, 4)
    found = [(s.threads, s.blocks_per_multiprocessor) for s in map(march.fitted, (49, 48, 33, 32))]
    assert found == [((56, 1, 1), 4), ((48, 1, 1), 4), ((40, 1, 1), 4), ((32, 2, 1), 4)]


@pytest.mark.parametrize("table", [H200, FLOAT16], ids=["float32", "float16"])
def test_rows_of_any_length_leave_threads_their_registers(table):
    """Registers are dealt to whole warps: no more may be on a multiprocessor than was measured."""

    def warps(shape: BlockShape) -> int:
        return shape.blocks_per_multiprocessor * -(-math.prod(shape.threads) // 32)

    for shape, lanes in itertools.product(set(table.values()), range(1, 300)):
        fitted = shape.fitted(lanes)
        assert warps(fitted) <= warps(shape), (shape, fitted)


MEASURED = {key for key in H200 if key[3] != 10}  # which only keeps registers from spilling


def test_entries_and_candidates():
    """Every entry that was measured is tuned, by layouts that a card can take."""
    tuned = [
        key
        for physics in ("acoustic", "elastic", "acoustic_tti")
        for axes in ("xz", "xyz")
        for order in (4, 8, 12, 16)
        for key in tuning.entries(physics, axes, order)
    ]
    assert {key for key in tuned if key in MEASURED} == {
        k for k in MEASURED if k[1] != "memory" and k[2] not in ("curved", "sloping")
    }
    for key in tuned:
        assert tuning.candidates(key)[0] == shape_for(H200, key)
        for shape in tuning.candidates(key):
            threads, blocks = shape.bounds
            assert threads <= 1024
            assert threads * blocks <= 2048
            assert "y" in key[0] or shape.threads[1] == 1


@pytest.mark.parametrize("physics", ["acoustic", "elastic", "acoustic_tti"])
@pytest.mark.parametrize("axes", ["xz", "xyz"])
def test_cases_are_valid_scenarios(physics, axes):
    case = tuning_case(physics, axes, 8)
    assert from_dict(case.scenario).grid.order == 8
    assert case.points > 2e6


def test_what_is_faster_stays(small):
    """A gain of a tenth is taken, one of half a per cent is noise."""
    cuts = ("xyz", "gradient", "side", 4)

    def timed(bench, shapes) -> float:
        slow = 1.0 if shapes[KEY] == BEST else 1.1
        return slow * (0.995 if shapes[cuts].threads[2] == 8 else 1.0)

    shapes, card = dict(H200), CompilingCard((9, 0))
    events = list(tuning.tune(card, shapes, [("elastic", "xyz", 4)], timed))
    assert shapes == H200 | {KEY: BEST}
    told = {event.key: event for event in events if isinstance(event, tuning.Tuned)}
    assert list(told) == tuning.entries("elastic", "xyz", 4)
    assert str(told[KEY]) == ("xyz gradient inner 4: 16 x 4 x 4 threads, 4 blocks, 10.0% faster")
    assert str(told[cuts]).endswith("kept")


@pytest.mark.parametrize(
    ("again", "known"),
    [(1.0, 1.0), pytest.param(0.9, 0.9, marks=pytest.mark.slow)],
    ids=["it", "the_card"],
)
def test_a_layout_that_was_fast_once_is_not_taken(small, again, known):
    """It must be so again, beside the one that is known: the card may have become faster."""
    times, seen = iter([0.9, again]), []

    def timed(bench, shapes) -> float:
        if shapes[KEY] == BEST:
            seen.append(shapes)
            return next(times)
        return known if len(seen) == 2 else 1.0

    shapes = dict(H200)
    list(tuning.tune(CompilingCard((9, 0)), shapes, [("elastic", "xyz", 4)], timed))
    assert len(seen) == 2
    assert shapes[KEY] == H200[KEY]


def test_a_case_that_the_card_cannot_hold_is_passed_over(small, monkeypatch):
    monkeypatch.setattr(CompilingCard, "memory", 1 << 20)
    shapes = dict(H200)
    (event,) = tuning.tune(CompilingCard((9, 0)), shapes, [("elastic", "xyz", 4)])
    assert shapes == H200
    assert re.fullmatch(
        r"elastic 3-D order 4: skipped: the run needs \d+ MB of memory on a compiler, "
        r"1.05 MB are free there",
        str(event),
    )


def test_all_is_compiled_before_the_first_is_timed(small):
    """And no two layouts come out the same, or as the table does, on the grid of the case."""
    bound = []

    def timed(bench, shapes) -> float:
        card = CompilingCard((9, 0))
        Simulation(bench.discretization, GpuBackend("float32", card, shapes))
        (compiled,) = small
        assert card.requests.keys() <= compiled.keys()
        bound.append(frozenset(card.requests))
        return 1.0

    events = list(tuning.tune(CompilingCard((9, 0)), dict(H200), [("acoustic", "xyz", 8)], timed))
    wave, *trials = [e for e in events if isinstance(e, tuning.Wave | tuning.Trial)]
    assert wave == tuning.Wave("acoustic 3-D order 8", len(trials), len(small[0]))
    assert [trial.number for trial in trials] == list(range(wave.layouts))
    table, again, *others = bound
    assert table == again
    assert len({table, *others}) == 1 + len(others) == 1 + wave.layouts
    assert set().union(*bound) == small[0].keys()


def refused(shape) -> bool:
    return shape.planes == 16


@dataclass
class Picky(CompilingCard):
    """Refuse marches of 16 planes, and be lost where layouts of the interior look far ahead."""

    asked: bool = False

    def program(self, members):
        inner = [r.kernel.shape for r in self.take_requests() if is_interior(r.kernel)]
        self.asked = self.lost and any(shape.ahead > 1 for shape in inner)
        if self.asked or any(refused(shape) for shape in inner):
            raise RuntimeError("CUDA_ERROR_INVALID_PTX: too many registers\nand so on")
        return super().program(members)

    lost = False

    def wait(self) -> None:
        if self.asked:
            raise RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS")


@pytest.mark.slow
def test_what_a_card_cannot_take_is_passed_over(small):
    key = ("xyz", "second", "inner", 4)
    events = list(tuning.tune(Picky((9, 0)), dict(H200), [("acoustic", "xyz", 4)]))
    failed = [event for event in events if isinstance(event, tuning.Failed)]
    assert [event.shape for event in failed] == [s for s in tuning.candidates(key) if refused(s)]
    assert str(failed[0]) == (
        "xyz second inner 4: 32 x 8 x 1 threads, 2 blocks, 16 planes: skipped: "
        "RuntimeError: CUDA_ERROR_INVALID_PTX: too many registers"
    )
    tuned = [event.key for event in events if isinstance(event, tuning.Tuned)]
    assert tuned == tuning.entries("acoustic", "xyz", 4)


@pytest.mark.slow
def test_a_lost_card_ends_it(small, monkeypatch):
    monkeypatch.setattr(Picky, "lost", True)
    with pytest.raises(RuntimeError, match="ILLEGAL_ADDRESS"):
        list(tuning.tune(Picky((9, 0)), dict(H200), [("acoustic", "xyz", 4)]))


@pytest.fixture
def tune(small, monkeypatch, command_line):
    """Call `seismo tune` on a machine with a card; give exit code and output."""
    card = CompilingCard((9, 0))
    choice = BackendChoice("gpu", "on a card", lambda precision: GpuBackend(precision, card))
    monkeypatch.setattr("seismo.backends.select.choose", lambda *_: choice)
    return lambda *arguments: command_line("tune", *arguments)[:2]


def test_the_command_tunes_what_it_is_told_to(tune, monkeypatch):
    """It begins with what is kept."""
    keep_shapes("a compiler", H200 | {KEY: BEST})
    monkeypatch.setattr(tuning, "time_again", lambda built, case: 1.0)
    code, said = tune("elastic", "--dimensions", "2", "--order", "4")
    first, *entries, path = said.splitlines()
    assert code == 0
    assert first.startswith("elastic 2-D order 4: ")
    keys = [" ".join(map(str, key)) for key in tuning.entries("elastic", "xz", 4)]
    assert [line.partition(":")[0] for line in entries] == keys
    assert path == str(shapes_file("a compiler"))
    assert shapes_of("a compiler") == H200 | {KEY: BEST}


def test_what_was_found_before_an_interrupt_is_kept(tune, monkeypatch):
    """It comes while the second entry's first layout is timed."""
    inner, layer, *_ = tuning.entries("acoustic", "xz", 4)
    (best,) = (s for s in tuning.candidates(inner) if s.blocks_per_multiprocessor == 2)

    def time_again(built, case) -> float:
        shapes = built.backend.shapes
        if shapes[layer] != H200[layer]:
            raise KeyboardInterrupt
        return 1.0 if shapes[inner] == best else 2.0

    monkeypatch.setattr(tuning, "time_again", time_again)
    code, said = tune("acoustic", "--dimensions", "2", "--order", "4")
    assert code == cli.INTERRUPTED
    assert said.splitlines()[-1].endswith("100.0% faster")
    assert shapes_of("a compiler") == H200 | {inner: best}


@pytest.mark.parametrize(
    "arguments", [("acustic",), ("--dimensions", "1"), ("--order", "6"), ("acoustic", "elastic")]
)
def test_what_is_not_measured_is_a_mistake(tune, arguments):
    assert tune(*arguments) == (2, "")


def test_a_kept_table_is_that_cards():
    other = H200 | {KEY: replace(BEST, planes=3)}
    assert keep_shapes("NVIDIA A100-SXM4-80GB", other) == shapes_file("NVIDIA A100-SXM4-80GB")
    assert shapes_of("NVIDIA A100-SXM4-80GB") == other
    assert shapes_of("NVIDIA H200") == H200


def test_runs_take_the_kept_table():
    card = CompilingCard((9, 0))
    assert GpuBackend("float32", card).shapes == H200
    keep_shapes(card.name, H200 | {KEY: BEST})
    assert GpuBackend("float32", card).shapes[KEY] == BEST


@pytest.mark.parametrize("text", ["", "[]", '{"xyz gradient inner 4": {"threads": [1, 2]}}', "{1}"])
def test_a_table_that_cannot_be_read_is_named(text):
    path = keep_shapes("a card", H200)
    kernel_cache().store(path.name, text.encode())
    with pytest.raises(
        DeviceError, match=r"a-card\.json: is damaged, .* delete it, and run seismo tune again"
    ):
        shapes_of("a card")
