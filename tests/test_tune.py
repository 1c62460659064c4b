"""The table of layouts of threads: looked up, improved by measured times, kept for a card.

The times are a function of the table here; what a card measures is in `benchmarks/`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("numba_cuda", reason="layouts are those of numba-cuda's kernels")

from compiling_card import CompilingCard
from seismo.backends.choice import Choice
from seismo.backends.cuda_march import Shape
from seismo.backends.cuda_shapes import H200, keep_shapes, shape_for, shapes_file, shapes_of
from seismo.backends.gpu import GpuBackend
from seismo.bench import tune as tuning
from seismo.bench.cases import tuning_case
from seismo.errors import DeviceError
from seismo.scenario import from_dict

KEY = ("xyz", "gradient", "inner", 4)
BEST = Shape((16, 4, 4), 1, False, 4)
CARD = Choice("gpu", "on a card", lambda precision: None)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SEISMO_CACHE_DIR", str(tmp_path))


def test_the_next_order_counts():
    found = [shape_for(H200, ("xyz", "gradient", "inner", order)) for order in (2, 4, 8, 16)]
    assert found[0] == found[1] == H200[KEY]
    assert found[2] == found[3] == H200["xyz", "gradient", "inner", 8] != found[0]


MEASURED = {key for key in H200 if key[3] <= 8}  # beyond, layouts only keep registers from spilling


def test_entries_and_candidates():
    """Every entry that was measured is tuned, by layouts that a card can take."""
    tuned = [
        key
        for physics in ("acoustic", "elastic")
        for axes in ("xz", "xyz")
        for order in (4, 8)
        for key in tuning.entries(physics, axes, order)
    ]
    assert sorted(tuned) == sorted(MEASURED)
    for key in tuned:
        for shape in tuning.candidates(key):
            threads, blocks = shape.bounds
            assert threads <= 1024
            assert threads * blocks <= 2048
            assert "y" in key[0] or shape.threads[1] == 1
            assert not shape.tile or key[:3] == ("xyz", "second", "inner")


@pytest.mark.parametrize("physics", ["acoustic", "elastic"])
@pytest.mark.parametrize("axes", ["xz", "xyz"])
def test_cases_are_valid_scenarios(physics, axes):
    case = tuning_case(physics, axes, 8)
    assert from_dict(case.scenario).grid.order == 8
    assert case.points > 2e6


def test_what_is_faster_stays():
    """A gain of a tenth is taken, one of half a per cent is noise."""

    def timed(case, choice, shapes) -> float:
        assert choice is CARD
        slow = 1.0 if shapes[KEY] == BEST else 1.1
        return slow * (0.995 if shapes["xz", "gradient", "side", 8].threads[2] == 32 else 1.0)

    shapes = dict(H200)
    told = {entry.key: entry for entry in tuning.tune(CARD, shapes, timed)}
    assert shapes == H200 | {KEY: BEST}
    assert told.keys() == MEASURED
    assert str(told[KEY]) == "xyz gradient inner 4: 16 x 4 x 4 threads, 10.0% faster"
    assert str(told["xz", "gradient", "side", 8]).endswith("kept")


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
    path.write_text(text)
    with pytest.raises(DeviceError, match=r"a-card\.json: .* run seismo tune again, or delete it"):
        shapes_of("a card")
