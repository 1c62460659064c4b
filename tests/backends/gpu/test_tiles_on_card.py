"""Planes stepped in tiles of a real card: `pytest -m gpu tests/backends/gpu/test_tiles_on_card.py`.

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
from seismo.backends.gpu.resident import program
from seismo.backends.select import choose
from test_clusters import answers, same_bits, stepped, survey

pytestmark = pytest.mark.gpu

BAR = 4e-5
FROM_REST = 300  # steps
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
    ("cells", "order", "points", "shots"),
    [((903, 860), 8, 12, 2), ((1960, 1990), 8, 20, 2), ((700, 1500), 4, 12, 2),
     ((300, 300), 8, 20, 40), ((257, 311), 8, 10, 3)],
)  # fmt: skip
def test_tiles_step_as_launches_do(cells, order, points, shots, taken, tmp_path: Path, monkeypatch):
    """The same waves and traces; the same bits however the steps are cut."""
    layers = {"layer": {"points": points}}
    time = {"duration": 0.3, "step": 0.001}
    document = survey(cells=cells, order=order, boundaries=layers, time=time, shots=shots)
    document["survey"]["batch"] = shots
    monkeypatch.setattr(program, "CLUSTERS", {})
    make = choose("gpu").make
    monkeypatch.setattr(GpuBackend, "in_clusters", True)
    in_tiles = [answers(stepped(document, tmp_path, make, counts)) for counts in CALLS]
    # One turn, but where two shots, or 40, have no room beside one another.
    turns = {1960: 2, 300: 2}.get(cells[0], 1)
    assert [len(sizes) for sizes in taken] == [3] * turns * len(CALLS)
    assert same_bits(*in_tiles)
    monkeypatch.setattr(GpuBackend, "in_clusters", False)
    launched = answers(stepped(document, tmp_path, make, CALLS[1]))
    assert len(taken) == turns * len(CALLS)
    for a, b in zip(in_tiles[0], launched, strict=True):
        assert solver.difference(a, b) < BAR


def test_a_shot_has_the_same_bits_alone_and_among_others(taken, tmp_path: Path):
    """Nobody has to ask for tiles where they are faster; a shot alone has other ones."""
    time = {"duration": FROM_REST * 1e-3, "step": 0.001}
    document = survey(cells=(300, 300), boundaries={"layer": {"points": 20}}, time=time, shots=40)
    found = []
    for shots in (40, 1):
        document["survey"] = {"shots": document["survey"]["shots"][:shots], "batch": shots}
        simulation = solver.build(document, tmp_path, backend=choose("gpu").make)
        simulation.advance(FROM_REST)
        found.append(answers(simulation))
    among, alone = found
    assert {len(sizes) for sizes in taken} == {3}
    assert len({sizes[0] for sizes in taken}) == 2
    assert same_bits(alone, among[: len(alone)])
