"""Planes stepped in tiles of a real card: `pytest -m gpu tests/test_tiles_on_card.py`.

The bar against the launches of the same card is rounding: 4e-5 of the waves after 200 steps from
noise, as layers take two passes in tiles and one in launches.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="a card needs CuPy")

import solver
from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.gpu.card import Card
from seismo.backends.select import choose
from test_clusters import answers, same_bits, stepped, survey

pytestmark = pytest.mark.gpu

BAR = 4e-5
CALLS = [(1, 90, 109), (200,)]


@pytest.fixture
def taken(monkeypatch) -> list[tuple[int, ...]]:
    """Note the sizes of each kernel with the loop inside that is bound."""
    noted: list[tuple[int, ...]] = []
    bind = Card.clustered

    def clustered(card, kernel, sizes, arguments, beside=()):
        noted.append(sizes)
        return bind(card, kernel, sizes, arguments, beside)

    monkeypatch.setattr(Card, "clustered", clustered)
    return noted


@pytest.mark.parametrize(
    ("cells", "order", "points"), [((903, 860), 8, 12), ((1960, 1990), 8, 20), ((700, 1500), 4, 12)]
)
def test_tiles_step_as_launches_do(cells, order, points, taken, tmp_path: Path, monkeypatch):
    """The same waves and traces; the same bits however the steps are cut."""
    layers = {"layer": {"points": points}}
    time = {"duration": 0.3, "step": 0.001}
    document = survey(cells=cells, order=order, boundaries=layers, time=time)
    document["survey"]["batch"] = 2
    make = choose("gpu").make
    monkeypatch.setattr(GpuBackend, "in_clusters", True)
    in_tiles = [answers(stepped(document, tmp_path, make, counts)) for counts in CALLS]
    # A kernel for each of two shots.
    assert [len(sizes) for sizes in taken] == [3] * 2 * len(CALLS)
    assert same_bits(*in_tiles)
    monkeypatch.setattr(GpuBackend, "in_clusters", False)
    launched = answers(stepped(document, tmp_path, make, CALLS[1]))
    assert len(taken) == 2 * len(CALLS)
    for a, b in zip(in_tiles[0], launched, strict=True):
        assert solver.difference(a, b) < BAR
