"""Planes stepped in clusters of a real card: `pytest -m gpu test_clusters_on_card.py`.

The bar against the launches of the same card is rounding: 1e-5 of the waves, after 200 steps from
noise; of second differences 4e-5, as layers take two passes in clusters and one in launches.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="a card needs CuPy")

import solver
from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.gpu.card import Card
from seismo.backends.select import choose
from test_clusters import STAGGERED, answers, same_bits, staggered, stepped, survey

pytestmark = pytest.mark.gpu

BARS = {"acoustic": 4e-5}
PROMISE = 1e-5
CALLS = [(1, 90, 109), (200,)]


@pytest.fixture
def taken(monkeypatch) -> list[int]:
    """Note the blocks of the clusters of each kernel that is bound."""
    noted: list[int] = []
    bind = Card.clustered

    def clustered(card, kernel, sizes, arguments, beside=()):
        noted.append(sizes[1])
        return bind(card, kernel, sizes, arguments, beside)

    monkeypatch.setattr(Card, "clustered", clustered)
    return noted


def documents() -> dict[str, dict]:
    """Return surveys of all equations that clusters step, of small clusters and large ones."""
    small = {"cells": (91, 102), "time": {"duration": 0.3, "step": 0.001}}
    large = small | {"cells": (230, 240)}
    made = {f"{physics}-{len(how['cells'])}-{n}": staggered(physics, **how)
            for physics in STAGGERED for n, how in enumerate((small, large))}  # fmt: skip
    upright = staggered(line="upright", **large)
    return made | {"acoustic": survey(**large), "upright": upright,
                   "order 8": staggered(order=8, **small)}  # fmt: skip


@pytest.mark.parametrize("name", documents())
def test_clusters_step_as_launches_do(name, taken, tmp_path: Path, monkeypatch):
    """The same waves and traces; the same bits however the steps are cut."""
    document = documents()[name]
    make = choose("gpu").make
    monkeypatch.setattr(GpuBackend, "in_clusters", True)
    found = [answers(stepped(document, tmp_path, make, counts)) for counts in CALLS]
    assert len(taken) == len(CALLS)
    assert same_bits(*found)
    monkeypatch.setattr(GpuBackend, "in_clusters", False)
    wanted = answers(stepped(document, tmp_path, make, CALLS[1]))
    assert len(taken) == len(CALLS)
    for a, b in zip(found[0], wanted, strict=True):
        assert solver.difference(a, b) < BARS.get(name, PROMISE)


def test_surveys_of_elastic_planes_are_stepped_in_clusters(taken, tmp_path):
    """Nobody has to ask for it where it is faster."""
    solver.build(staggered(cells=(140, 140), shots=40), tmp_path, backend=choose("gpu").make)
    assert taken
