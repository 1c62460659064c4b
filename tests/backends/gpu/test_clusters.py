"""Planes stepped in clusters of a GPU, time loop inside, on the simulated card.

The bar against the NumPy reference is rounding; whatever the cluster, bits are the same.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="the GPU's kernels need numba-cuda")

import solver
from seismo.backends.gpu import code_cache
from seismo.backends.gpu.resident import cluster_plan, program
from seismo.backends.gpu.resident.kernel import ClusterKernel
from seismo.backends.gpu.resident.threads import ClusterError
from seismo.backends.reference import ReferenceBackend
from simulated_card import simulated

BOUNDS = {"float64": 1e-12, "float32": 4e-5}
LAYERS = {"layer": {"points": 6}}
ROCK = [{"top": 0.0, "vp": 1500.0}, {"top": 200.0, "vp": 2400.0}]
SOLID = [
    {"top": 0.0, "vp": 2600.0, "vs": 1500.0, "rho": 2100.0},
    {"top": 200.0, "vp": 4000.0, "vs": 2300.0, "rho": 2400.0},
]
RANDOM = {"type": "random", "hurst": 0.3, "correlation": {"x": 60.0, "z": 40.0},
          "std": "5 %", "properties": {"vp": 1.0, "vs": 1.0, "rho": 0.8}, "seed": 7}  # fmt: skip
MOMENT = {"type": "moment_tensor", "components": {"xx": 1e9, "zz": 2e9, "xz": 0.5e9}}
FORCE = {"type": "force", "force": {"x": 1e6, "z": -2e6}}
ACROSS = {"type": "force", "force": {"y": 1e6}}
STAGGERED = {  # physics: parameters that the model leaves out, a source, quantities
    "elastic": ("", MOMENT, ["velocity", "pressure"]),
    "elastic_sh": ("vp", ACROSS, ["velocity"]),
    "acoustic_variable_density": ("vs", {"type": "pressure"}, ["pressure", "velocity"]),
}


def survey(cells=(40, 44), shots=2, order=8, precision="float32", **changes) -> dict:
    """Return a survey with sources and receivers off the nodes."""
    nx, nz = cells
    return {
        "physics": "acoustic",
        "precision": precision,
        "grid": {"extent": {"x": 10.0 * nx, "z": 10.0 * nz}, "spacing": 10.0, "order": order},
        "time": {"duration": 0.06, "step": 0.001},
        "boundaries": LAYERS,
        "model": [{"type": "layers", "layers": ROCK}],
        "sources": [
            {"type": "pressure", "position": {"x": 123.0, "z": 101.0},
             "wavelet": {"type": "ricker", "frequency": 30.0}},
        ],
        "receivers": [
            {"name": "line", "type": "line", "start": {"x": 51.0, "z": 57.0},
             "end": {"x": 9.3 * nx, "z": 8.1 * nz}, "count": 9, "quantities": ["pressure"]},
        ],
        "survey": {
            "shots": [{"position": {"x": 123.0 + 21 * n, "z": 101.0}} for n in range(shots)]
        },
    } | changes  # fmt: skip


def staggered(physics="elastic", order=4, line="level", **changes) -> dict:
    """Return the same survey for a medium of two stages.

    Blocks of rows spare the receivers of a level line, but not those of an upright one.
    """
    absent, source, quantities = STAGGERED[physics]
    layers = [{key: number for key, number in one.items() if key != absent} for one in SOLID]
    document = survey(
        order=order, physics=physics, model=[{"type": "layers", "layers": layers}], **changes
    )
    document["sources"] = [{key: value for key, value in document["sources"][0].items()
                            if key != "type"} | source]  # fmt: skip
    receivers = document["receivers"][0]
    receivers |= {"quantities": quantities, "count": 31}
    axis = {"level": "z", "upright": "x"}[line]
    receivers["end"][axis] = receivers["start"][axis]
    return document


def in_clusters(monkeypatch, blocks=None, strips=(3, 2), always=True):
    """Return a backend that steps in clusters, of so many blocks if that is given."""
    if blocks:
        monkeypatch.setattr(program, "CLUSTERS", {blocks: 1})
    for name in ("SECOND", "STAGGERED"):
        costs = getattr(cluster_plan, name)
        monkeypatch.setattr(cluster_plan, name, replace(costs, strips=strips))

    def make(precision: str):
        backend = simulated(precision)
        backend.in_clusters = always
        backend.taken = []
        clustered = backend.card.clustered
        backend.card.clustered = lambda *how, **more: backend.taken.append(how) or clustered(*how)
        return backend

    return make


def refusing(make):
    """Return a backend as `make` does, on a card that refuses blocks that work together."""

    def refuse(first: int, count: int) -> None:
        raise ClusterError

    def made(precision: str):
        backend = make(precision)
        backend.card.clustered = lambda *how, **more: refuse
        return backend

    return made


def stepped(document: dict, tmp_path, backend, counts=(1, 7, 12)):
    """Run from noise, in several calls."""
    simulation = solver.build(document, tmp_path, backend=backend)
    solver.add_noise(simulation)
    for count in counts:
        simulation.advance(count)
    return simulation


def answers(simulation) -> list[dict[str, np.ndarray]]:
    shots = range(simulation.discretization.batch)
    return [ask(simulation, shot) for shot in shots for ask in (solver.wavefield, solver.records)]


def same_bits(found: list[dict], wanted: list[dict]) -> bool:
    pairs = zip(found, wanted, strict=True)
    return all(np.array_equal(a[name], b[name]) for a, b in pairs for name in b)


@pytest.mark.parametrize(
    ("blocks", "changes"),
    [
        (1, {"cells": (20, 24)}),
        pytest.param(2, {"cells": (37, 41), "precision": "float64"}, marks=pytest.mark.slow),
        pytest.param(4, {"shots": 3}, marks=pytest.mark.slow),
        pytest.param(4, {"order": 4}, marks=pytest.mark.slow),
        (8, {"cells": (30, 90), "order": 16, "shots": 1}),
    ],
)
def test_clusters_step_as_the_reference_does(blocks, changes, tmp_path, monkeypatch):
    """Sources, receivers, both layers and corners; several shots, orders and precisions."""
    document = survey(**changes)
    found = stepped(document, tmp_path, in_clusters(monkeypatch, blocks))
    assert found.backend.taken
    found.backend.card.check()
    wanted = stepped(document, tmp_path, ReferenceBackend)
    for a, b in zip(answers(found), answers(wanted), strict=True):
        assert solver.difference(a, b) < BOUNDS[document["precision"]]


WAYS = {  # blocks, rows of neighbours, changes
    "alone": (1, 2, {"cells": (20, 24), "line": "upright"}),
    "batch": (4, 4, {"shots": 3, "line": "upright"}),
    "level": (4, 2, {"shots": 1, "cells": (43, 57)}),
    "many": (8, 2, {"cells": (30, 90)}),
    "float64": (4, 2, {"precision": "float64"}),
    "order 8": (4, 4, {"order": 8, "cells": (37, 60)}),
    "order 2": (2, 1, {"order": 2}),
}
# Each physics in two of three ways, each way of two physics.
DAILY = {
    ("elastic", "batch"), ("elastic", "level"), ("elastic_sh", "alone"), ("elastic_sh", "batch"),
    ("acoustic_variable_density", "alone"), ("acoustic_variable_density", "level"),
}  # fmt: skip


@pytest.mark.parametrize("case", solver.slow_but(DAILY, product(STAGGERED, WAYS)), ids="-".join)
def test_two_stages_step_as_the_reference_does(case, tmp_path, monkeypatch):
    """All sources, channels of several fields, contacts, layers; few rows of neighbours or many."""
    physics, way = case
    blocks, halo, how = WAYS[way]
    document = staggered(physics, **how)
    found = stepped(document, tmp_path, in_clusters(monkeypatch, blocks))
    (kernel, _, _), *_ = found.backend.taken
    assert kernel.shape.halo == halo
    found.backend.card.check()
    wanted = stepped(document, tmp_path, ReferenceBackend)
    for a, b in zip(answers(found), answers(wanted), strict=True):
        assert solver.difference(a, b) < BOUNDS[document["precision"]]


def test_forces_and_rock_without_planes_of_one_kind(tmp_path, monkeypatch):
    """Sources of velocity; a medium that varies everywhere has all coefficients."""
    document = staggered()
    document["sources"] = [{key: value for key, value in document["sources"][0].items()
                            if key not in MOMENT} | FORCE]  # fmt: skip
    document["model"].append(RANDOM)
    found = stepped(document, tmp_path, in_clusters(monkeypatch, 4))
    assert found.backend.taken
    wanted = stepped(document, tmp_path, ReferenceBackend)
    for a, b in zip(answers(found), answers(wanted), strict=True):
        assert solver.difference(a, b) < BOUNDS["float32"]


def test_layers_that_damp_their_fields(tmp_path, monkeypatch):
    """A soft bed between stiffer ones: layers keep m v and m s beside their memory."""
    document = staggered(line="upright")
    soft, stiff = SOLID
    beds = ((stiff, 0.0), (soft, 120.0), (stiff, 300.0))
    document["model"] = [{"type": "layers", "layers": [rock | {"top": z} for rock, z in beds]}]
    found = stepped(document, tmp_path, in_clusters(monkeypatch, 4))
    (kernel, _, _), *_ = found.backend.taken
    assert all(one.damped for one in kernel.formulas)
    wanted = stepped(document, tmp_path, ReferenceBackend)
    for a, b in zip(answers(found), answers(wanted), strict=True):
        assert solver.difference(a, b) < BOUNDS["float32"]


@pytest.mark.parametrize("make", [survey, staggered])
def test_bits_depend_on_no_cluster_and_on_no_call(make, tmp_path, monkeypatch):
    """Blocks, rows of a column and the steps of a call change no bit."""
    document = make()
    ways = [(2, (3, 2), (20,)), (4, (5, 1), (3, 17)), (8, (2, 4), (20,))]
    found = [
        answers(stepped(document, tmp_path, in_clusters(monkeypatch, blocks, strips), counts))
        for blocks, strips, counts in ways
    ]
    assert all(same_bits(found[0], other) for other in found[1:])


@pytest.mark.parametrize(
    "changes",
    [
        {"physics": "acoustic_variable_density", "boundaries": LAYERS | {"top": "free_surface"},
         "model": [{"type": "layers", "layers": [{"top": 0.0, "vp": 1500.0, "rho": 1000.0}]}]},
        {"physics": "elastic", "model": [{"type": "layers", "layers": [
            SOLID[0] | {"epsilon": 0.1, "delta": 0.05, "gamma": 0.1, "theta": 20.0}]}]},
        {"physics": "elastic", "model": [{"type": "layers", "layers": SOLID}],
         "boundaries": LAYERS | {"top": "free_surface"}},
        {"boundaries": LAYERS | {"top": "free_surface"}},
        {"boundaries": LAYERS | {"x_min": "rigid"}},
        {"output": {"maps": [{"name": "m", "quantities": ["pressure"]}]}},
        {"cells": (700, 700), "physics": "elastic", "order": 4,
         "model": [{"type": "layers", "layers": SOLID}]},
    ],
)  # fmt: skip
def test_what_clusters_do_not_do_is_launched(changes, tmp_path, monkeypatch):
    """Images, maps, other equations, and planes that do not fit."""
    backend = in_clusters(monkeypatch)
    simulation = solver.build(survey(**changes), tmp_path, backend=backend)
    assert not simulation.backend.taken


def test_clusters_are_taken_where_they_are_faster(tmp_path, monkeypatch):
    """Left to itself the backend steps small surveys so, but not where told not to."""
    for always, taken in ((None, True), (False, False)):
        backend = in_clusters(monkeypatch, strips=(6, 3), always=always)
        simulation = solver.build(survey(), tmp_path, backend=backend)
        assert bool(simulation.backend.taken) is taken


@pytest.mark.parametrize(
    ("how", "taken"), [({"cells": (40, 44)}, True), ({"cells": (310, 310)}, False)]
)
def test_the_shots_of_a_batch_do_not_decide(how, taken, tmp_path, monkeypatch):
    """Else the bits of a shot would depend on those beside it."""
    for shots in (1, 3):
        backend = in_clusters(monkeypatch, strips=(2, 2), always=None)
        document = staggered(boundaries={"layer": {"points": 20}}, shots=shots, **how)
        simulation = solver.build(document, tmp_path, backend=backend)
        assert bool(simulation.backend.taken) is taken


def test_a_card_that_refuses_clusters_takes_launches(tmp_path, monkeypatch):
    """A share of a card may have too few multiprocessors side by side."""
    backend = refusing(in_clusters(monkeypatch, 4))
    document = survey(shots=1)
    found = stepped(document, tmp_path, backend)
    wanted = stepped(document, tmp_path, simulated)
    assert same_bits(answers(found), answers(wanted))


@pytest.mark.parametrize(("make", "field"), [(survey, "p"), (staggered, "vx")])
def test_other_shots_are_loaded(make, field, tmp_path, monkeypatch):
    """A batch that follows starts from rest, with its own sources."""
    document = make(shots=1)
    simulation = solver.build(document, tmp_path, backend=in_clusters(monkeypatch))
    simulation.advance(30)
    first = answers(simulation)
    simulation.load(simulation.discretization.shots[:1])
    simulation.advance(30)
    assert np.abs(first[0][field]).max() > 0
    assert same_bits(first, answers(simulation))


def test_planes_share_kernels(tmp_path, monkeypatch):
    """Sizes, spacings, shots, sources and rows of a plane are arguments: nothing compiles anew."""
    planes = [
        survey(),
        survey(cells=(36, 56), shots=3),
        survey(boundaries={"layer": {"points": 9}}, receivers=[]),
        survey(grid={"extent": {"x": 420.0, "z": 400.0}, "spacing": {"x": 12.0, "z": 8.0}}),
    ]
    taken = []
    for document in planes:
        simulation = solver.build(document, tmp_path, backend=in_clusters(monkeypatch))
        (kernel, _, arguments), *_ = simulation.backend.taken
        taken.append((str(replace(kernel, shape=replace(kernel.shape, masked=True))), arguments))
    assert len({kernel for kernel, _ in taken}) == 1
    assert len({plane for _, (_, plane, _) in taken}) == len(planes)
    assert len({tuple(map(len, arguments)) for _, arguments in taken}) == 1


@pytest.mark.parametrize(
    ("make", "further"),
    [(survey, ()), (staggered, ("div.approx.ftz.f32", "ld.global.nc.v4.f32", "fma.rn.ftz.f32"))],
)
def test_code_of_the_card(make, further, tmp_path, monkeypatch):
    """The kernel compiles: shared memory, rows handed over and counted by bytes."""
    code_cache.without_card((9, 0))
    simulation = solver.build(make(), tmp_path, backend=in_clusters(monkeypatch, 4))
    kernel, sizes, arguments = simulation.backend.taken[0]
    assert isinstance(kernel, ClusterKernel)
    arrays, plane, coefficients = map(len, arguments)
    counted = (("uint64",) * arrays, ("int64",) * plane, ("float32",) * coefficients)
    signature = (*counted, "int64", "int64")
    request = code_cache.CompileRequest(kernel, signature, (sizes[2], 1), True, (9, 0))
    text = code_cache.compile_ptx(request)
    common = ("st.async.shared::cluster", "mbarrier.try_wait", "ld.shared.v4.f32")
    for instruction in (*common, *further):
        assert instruction in text
    assert "ld.local" not in text
