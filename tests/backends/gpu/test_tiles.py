"""Planes stepped in tiles on all multiprocessors of a GPU, on the simulated card.

The bar against the NumPy reference is rounding; however a plane is cut, bits are the same.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="the GPU's kernels need numba-cuda")

import solver
from seismo.backends.gpu.resident import program, tile_layout
from seismo.backends.reference import ReferenceBackend
from simulated_card import SimulatedCard, simulated
from test_clusters import (
    BOUNDS,
    LAYERS,
    answers,
    in_clusters,
    refusing,
    same_bits,
    stepped,
    survey,
)


def in_tiles(monkeypatch, multiprocessors=9, threads=64, lanes=8, always=True):
    """Return a backend that steps in tiles, of blocks of so many threads."""
    monkeypatch.setattr(program, "CLUSTERS", {})
    monkeypatch.setattr(SimulatedCard, "multiprocessors", multiprocessors)
    monkeypatch.setattr(program, "THREADS", threads)
    monkeypatch.setattr(program, "LANES", (lanes,))
    return in_clusters(monkeypatch, always=always)


def plane(**changes) -> dict:
    """Return a survey whose layers fit tiles, with receivers off the nodes across these."""
    return survey(**({"cells": (61, 70)} | changes))


WAYS = {  # multiprocessors, threads, lanes, changes
    "batch": (9, 64, 8, {}),
    "two at a time": (11, 72, 10, {"shots": 3}),
    "wide": (8, 48, 12, {"cells": (85, 52), "shots": 1}),
    "order 16": (4, 64, 16, {"order": 16, "shots": 1, "boundaries": {"layer": {"points": 10}}}),
    "order 4": (9, 64, 8, {"order": 4, "shots": 1}),
    "float64": (9, 64, 16, {"precision": "float64", "shots": 1}),
    "no layers": (6, 64, 8, {"shots": 1, "boundaries": {}}),
}
SLOW = {"order 4", "float64", "wide"}
TURNS = {"batch": 2, "two at a time": 2}  # launches, each of as many shots as have room


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=pytest.mark.slow) if way in SLOW else way for way in WAYS]
)
def test_tiles_step_as_the_reference_does(way, tmp_path, monkeypatch):
    """Sources, receivers across tiles, both layers and corners; shots, orders and precisions."""
    *how, changes = WAYS[way]
    document = plane(**changes)
    simulation = stepped(document, tmp_path, in_tiles(monkeypatch, *how))
    assert [len(sizes) for _, sizes, _ in simulation.backend.taken] == [3] * TURNS.get(way, 1)
    simulation.backend.card.check()
    wanted = stepped(document, tmp_path, ReferenceBackend)
    for a, b in zip(answers(simulation), answers(wanted), strict=True):
        assert solver.difference(a, b) < BOUNDS[document["precision"]]


def test_tiles_with_layers_have_fewer_rows(tmp_path, monkeypatch):
    """Threads of tiles with a layer along z have three rows, others five."""
    monkeypatch.setattr(tile_layout, "STRIPS", ((5, 3),))
    document = plane(shots=1)
    simulation = stepped(document, tmp_path, in_tiles(monkeypatch))
    (kernel, *_), *_ = simulation.backend.taken
    assert (kernel.shape.strip, kernel.shape.short) == (5, 3)
    wanted = stepped(document, tmp_path, ReferenceBackend)
    for a, b in zip(answers(simulation), answers(wanted), strict=True):
        assert solver.difference(a, b) < BOUNDS["float32"]


def test_sources_beside_edges_of_tiles(tmp_path, monkeypatch):
    """What is injected beside an edge reaches the neighbour with the edge."""
    document = plane(shots=1)
    wavelet = document["sources"][0]["wavelet"]
    document["sources"] = [
        {"type": "pressure", "position": {"x": 10.0 * n + 3.0, "z": 10.0 * n + 7.0},
         "wavelet": wavelet}
        for n in range(60)
    ]  # fmt: skip
    document.pop("survey")
    simulation = stepped(document, tmp_path, in_tiles(monkeypatch))
    assert simulation.backend.taken
    wanted = stepped(document, tmp_path, ReferenceBackend)
    for a, b in zip(answers(simulation), answers(wanted), strict=True):
        assert solver.difference(a, b) < BOUNDS["float32"]


def test_bits_depend_on_no_tiles_and_on_no_call(tmp_path, monkeypatch):
    """Tiles, threads, the shots at a time and the steps of a call change no bit."""
    ways = [(9, 64, 8, 2, (20,)), (6, 96, 12, 2, (3, 17)), (18, 72, 10, 2, (20,))]
    found = [
        answers(stepped(plane(shots=shots), tmp_path, in_tiles(monkeypatch, *how), counts))
        for *how, shots, counts in ways
    ]
    assert all(same_bits(other, found[0][: len(other)]) for other in found[1:])


@pytest.mark.parametrize(
    "changes",
    [
        {"boundaries": LAYERS | {"top": "free_surface"}},
        {"output": {"maps": [{"name": "m", "quantities": ["pressure"]}]}},
        {"cells": (700, 700)},
    ],
)
def test_what_tiles_do_not_do_is_launched(changes, tmp_path, monkeypatch):
    """Images, maps, planes that do not fit."""
    backend = in_tiles(monkeypatch)
    simulation = solver.build(plane(**changes), tmp_path, backend=backend)
    assert not simulation.backend.taken


@pytest.mark.parametrize(
    ("cells", "together", "clusters"),
    [((100, 110), 4, True), ((300, 320), 3, True), ((1500, 1500), 3, True), ((60, 70), 0, False)],
)
def test_planes_are_stepped_as_is_fastest(cells, together, clusters, tmp_path, monkeypatch):
    """Left to itself the backend takes clusters, tiles or launches, whatever the shots."""
    if not clusters:
        monkeypatch.setattr(program, "CLUSTERS", {})
    for shots in (1, 3):
        backend = in_clusters(monkeypatch, always=None)
        simulation = solver.build(plane(cells=cells, shots=shots), tmp_path, backend=backend)
        assert {len(sizes) for _, sizes, *_ in simulation.backend.taken} == {together} - {0}


def test_a_card_without_room_for_all_tiles_takes_launches(tmp_path, monkeypatch):
    """A share of a card may have fewer multiprocessors."""
    backend = refusing(in_tiles(monkeypatch))
    document = plane(shots=1)
    launched = stepped(document, tmp_path, simulated)
    assert same_bits(answers(stepped(document, tmp_path, backend)), answers(launched))


def test_other_shots_are_loaded(tmp_path, monkeypatch):
    """A batch that follows starts from rest, with its own sources."""
    simulation = solver.build(plane(shots=1), tmp_path, backend=in_tiles(monkeypatch))
    simulation.advance(30)
    first = answers(simulation)
    simulation.load(simulation.discretization.shots[:1])
    simulation.advance(30)
    assert np.abs(first[0]["p"]).max() > 0
    assert same_bits(first, answers(simulation))
