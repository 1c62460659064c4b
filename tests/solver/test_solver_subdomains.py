"""One domain or many, one shot or a batch: the same numbers to the last bit.

Every point is updated by the same operations on the same values wherever the grid is cut, sources
are added in the same order, and traces are sums of the same points: equality is exact.
Sources and receivers lie on the cuts, beside them and in the halos, where windows are shared.
"""

import contextlib
import dataclasses

import numpy as np
import pytest

import solver
from seismo.acquisition.sources import Shot
from seismo.equations.framework.registry import physics_for
from seismo.errors import ScenarioError
from seismo.solver import grid_layout, simulation
from seismo.solver.simulation import Simulation

CELLS = {2: (30, 52), 3: (18, 24, 24)}
PARTS = {2: [(2, 1), (3, 1)], 3: [(2, 1), (1, 2), (2, 2)]}
EVERY_DAY = {(3, 1), (2, 2)}  # two cuts, and one along each axis: each of them is a cut alone
# Of equations that stand in for others, one cut of those every day whose terms the formulas of all
# others have, too.
DAILY = {"acoustic_tti", "elastic_tti", "viscoacoustic", "viscoelastic", "viscoelastic_vti"}
BOXES = [
    pytest.param(
        *equation.values,
        parts,
        id=f"{equation.id}-{parts[0]}x{parts[1]}",
        marks=(
            [pytest.mark.slow]
            if parts not in EVERY_DAY
            else equation.marks
            if parts != (3, 1) or equation.values[0] not in DAILY
            else ()
        ),
    )
    for equation in solver.EVERY_EQUATION
    for parts in PARTS[equation.values[1]]
]


def under(top: str, dimensions: int) -> dict:
    """Layers everywhere; under a free surface a mirror, which cuts must not inherit."""
    bottom = "rigid" if top == "free_surface" else "absorbing"
    return solver.faces(dimensions, top=top, bottom=bottom)


def crossing(name: str, dimensions: int, base, top: str, parts, **changes) -> dict:
    """Give a scenario whose sources and receivers lie about the crossing of the cuts.

    A cut at the middle of N cells lies at cell N / 2 with equal layers on both faces, and half a
    layer higher under a free surface; a few cells do for all.
    """
    cells = CELLS[dimensions]
    physics = physics_for(name, dimensions)
    grid = grid_layout.make_grid(
        solver.from_dict(
            solver.plan(name, dimensions, cells=cells, boundaries=under(top, dimensions))
        )
    )
    cut = {
        axis: grid.points[n] // count - grid.low[n] if count > 1 else 0.5 * cells["xyz".index(axis)]
        for axis, n, count in (("y", 1, parts[1]), ("z", 2, parts[0]))
        if axis in grid.axes and (axis == "z" or dimensions == 3)
    }
    middle = [cut.get(a, 0.5 * cells[0]) for a in solver.axes_of(dimensions)]
    # On the cut, between its rows, and so far that only the end of a window crosses it.
    shifts = [0.0, -0.4, 0.6, 1.3, -3.2, 2.7]
    spots = [solver.place(dimensions, [m + s for m in middle]) for s in shifts]
    kinds = list(physics.drives)
    keys = {
        "cells": cells,
        "steps": 30,
        "random_medium": base,
        "boundaries": under(top, dimensions),
        "sources": [
            solver.source(physics, kinds[n % len(kinds)], spot) for n, spot in enumerate(spots)
        ],
        "receivers": [solver.points(spots, quantities=solver.quantities(physics))],
    }
    return solver.plan(name, dimensions, **{**keys, **changes})


@pytest.mark.parametrize("top", solver.slow_but({"free_surface"}, ["absorbing", "free_surface"]))
@pytest.mark.parametrize(("name", "dimensions", "parts"), BOXES)
def test_one_domain_equals_many(name, dimensions, parts, top, tmp_path) -> None:
    document = crossing(name, dimensions, tmp_path, top, parts)
    whole = solver.simulate(document, tmp_path)
    cut = solver.simulate(document, tmp_path, parts=parts)
    assert len(cut.solvers) == parts[0] * parts[1]
    assert solver.identical(solver.records(cut), solver.records(whole))
    assert solver.identical(solver.wavefield(cut), solver.wavefield(whole))


@pytest.mark.parametrize(("dimensions", "parts"), [(2, (3, 1)), (3, (2, 2))])
def test_receivers_on_the_surface_take_what_others_have(dimensions, parts, tmp_path) -> None:
    """Beside a cut in y, and where the rows that tell the surface's slopes reach over it."""
    document = crossing("elastic", dimensions, tmp_path, "free_surface", parts)
    middle = [0.5 * n for n in CELLS[dimensions]]
    spots = [
        solver.place(dimensions, [*(m + shift for m in middle[:-1]), z])
        for shift in (0.0, 0.7)
        for z in (0.0, 0.8, 6.2)
    ]
    quantities = ["velocity", "divergence", "rotation"]
    document["receivers"] = [solver.points(spots, quantities=quantities)]
    whole = solver.simulate(document, tmp_path)
    cut = solver.simulate(document, tmp_path, parts=parts)
    assert solver.identical(solver.records(cut), solver.records(whole))
    assert all(np.abs(trace).max() for trace in solver.records(whole).values())


def survey_of(name: str, dimensions: int, base, positions, **changes) -> dict:
    """Give a survey of one source at those positions."""
    physics = physics_for(name, dimensions)
    document = crossing(name, dimensions, base, "free_surface", (2, 1), **changes)
    kind = next(iter(physics.drives))
    document["sources"] = [solver.source(physics, kind, positions[0])]
    document["survey"] = {"shots": [{"position": p} for p in positions]}
    return document


@pytest.mark.parametrize(("name", "dimensions"), solver.slow_in_space("elastic"))
def test_batch_of_shots_equals_single_shots(name, dimensions, tmp_path) -> None:
    """Also cut in two, which must not mix the shots."""
    spots = [solver.place(dimensions, n) for n in (9.0, 11.3, 8.6)]
    document = survey_of(name, dimensions, tmp_path, spots)
    batch = solver.simulate(document, tmp_path)
    cut = solver.simulate(document, tmp_path, parts=(2, 1))
    assert batch.discretization.batch == len(spots)
    for shot, spot in enumerate(spots):
        alone = {k: v for k, v in document.items() if k != "survey"}
        alone["sources"] = [{**document["sources"][0], "position": spot}]
        single = solver.simulate(alone, tmp_path)
        for many in (batch, cut):
            assert solver.identical(solver.records(many, shot), solver.records(single))
            assert solver.identical(solver.wavefield(many, shot), solver.wavefield(single))


def test_next_batch_starts_from_rest(tmp_path) -> None:
    """Three shots, two at a time: what the first batch left must not reach the second."""
    spots = [solver.place(2, n) for n in (9.0, 11.3, 8.6)]
    document = survey_of("elastic", 2, tmp_path, spots)
    together = solver.simulate(document, tmp_path)
    wanted = solver.wavefield(together, 2)
    document["survey"]["batch"] = 2
    pairs = solver.simulate(document, tmp_path)
    assert pairs.discretization.batch == 2
    pairs.load(pairs.discretization.shots[2:])
    assert not any(field.any() for field in solver.wavefield(pairs).values())
    pairs.advance(pairs.total_steps)
    assert solver.identical(solver.records(pairs), solver.records(together, 2))
    assert solver.identical(solver.wavefield(pairs), wanted)
    # A last batch that is not full leaves the other place silent.
    assert not any(field.any() for field in solver.wavefield(pairs, 1).values())


@pytest.mark.parametrize(("parts", "anew"), [((1, 1), 0), ((2, 1), 1)], ids=["whole", "cut"])
def test_other_shots_are_loaded_into_what_is_bound(parts, anew, tmp_path, monkeypatch) -> None:
    """Between points, on one, and none; where neighbours wait for it, it is bound anew, once."""
    document = crossing("elastic", 2, tmp_path, "free_surface", (2, 1))
    on_the_cut = document["sources"][0]["position"]
    spots = [solver.place(2, 9.3), on_the_cut, solver.place(2, 11.0), solver.place(2, 8.6)]
    wanted, bound, bind = [], list[Simulation](), Simulation._bind
    for spot in spots:
        document["sources"] = [{**document["sources"][0], "position": spot}]
        wanted.append(solver.simulate(document, tmp_path, parts=parts))
    loaded = solver.build(document, tmp_path, parts=parts)
    monkeypatch.setattr(
        Simulation, "_bind", lambda one, *which: bound.append(one) or bind(one, *which)
    )
    for one in [*wanted, *wanted]:
        loaded.load(one.discretization.shots)
        loaded.advance(loaded.total_steps)
        assert solver.identical(solver.records(loaded), solver.records(one))
        assert solver.identical(solver.wavefield(loaded), solver.wavefield(one))
    loaded.load([Shot("none", ())])
    loaded.advance(loaded.total_steps)
    assert not any(field.any() for field in solver.wavefield(loaded).values())
    assert len(bound) == anew


def test_parts_narrower_than_the_stencil_are_refused() -> None:
    document = solver.plan("acoustic", 2, cells=(20, 20), boundaries=solver.faces(2, "rigid"))
    with pytest.raises(ScenarioError, match=r"along z.*at least \d+.*use at most"):
        solver.build(document, parts=(20, 1))
    with pytest.raises(ScenarioError, match="2 subdomains along y in a 2-D run: use 1"):
        solver.build(document, parts=(1, 2))


def test_parts_that_cut_a_layer_are_refused() -> None:
    thick = {**solver.faces(2), "layer": {"points": 10}}
    document = solver.plan("acoustic", 2, cells=(20, 20), boundaries=thick)
    with pytest.raises(ScenarioError, match=r"lie in an absorbing layer .*use at most"):
        solver.build(document, parts=(4, 1))


def test_cut_across_a_periodic_axis_is_refused_or_right(tmp_path) -> None:
    """Its images lie in another subdomain."""
    loop = solver.faces(2, top="periodic", bottom="periodic")
    document = solver.plan("acoustic", 2, cells=(20, 40), boundaries=loop, random_medium=tmp_path)
    whole = solver.simulate(document, tmp_path)
    with contextlib.suppress(ScenarioError):
        cut = solver.simulate(document, tmp_path, parts=(2, 1))
        assert solver.identical(solver.wavefield(cut), solver.wavefield(whole))


def test_a_setup_is_not_changed_by_running() -> None:
    """Two simulations of one discretization give the same numbers."""
    document = solver.plan("elastic", 2, steps=20)
    first = solver.simulate(document)
    again = simulation.Simulation(first.discretization, first.backend)
    again.advance(again.total_steps)
    assert solver.identical(solver.records(again), solver.records(first))
    assert dataclasses.is_dataclass(first.discretization)
    assert np.isfinite(solver.wavefield(again)["vx"]).all()
