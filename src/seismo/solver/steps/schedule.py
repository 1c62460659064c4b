"""The launches of a step, in the order of the time step: all of them are bound once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.backends.base import Group, Launch, Step

if TYPE_CHECKING:
    from seismo.solver.simulation import Simulation


def step_schedule(simulation: Simulation, parity: int, phase: int = 0) -> Step:
    """Return the launches of a step: groups in order, each of concurrent launches.

    In each phase sweeps have other layer profiles or boxes, and the same arrays. Sources near a
    cut act before their points travel to the neighbour.
    """
    levels = simulation.levels
    schedule = [group for level in levels for group in _evaluations(level)]
    # Stages in the order of the time step; what grids exchange comes before each of all. Rows that
    # follow the ground have stages of their own, which only the finest grid has.
    numbers = [
        {s.name: n for n, s in enumerate(one.discretization.physics.stages)} for one in levels
    ]
    for stage in levels[-1].discretization.physics.stages:
        for exchange in simulation.exchanges if stage.name in numbers[0] else ():
            schedule += _each(exchange.before(stage), f"{stage.name} refinement")
        for level, number in zip(levels, numbers, strict=True):
            if stage.name in number:
                schedule += _stage(level, number[stage.name], parity, phase)
    for exchange in simulation.exchanges:
        schedule += _each(exchange.fill(), "refinement")
    # After the last stage: sample receivers, raise the peaks of maps.
    for level in levels:
        schedule += _each(level.recorder.launches(parity), "receivers")
        schedule += _each(level.maps.launches(parity), "maps")
    return [group for group in schedule if group]


def _evaluations(simulation: Simulation) -> Step:
    """Return what evaluates the sources of a step, before any stage needs them."""
    schedule = _each(
        [one for p in simulation.solvers for one in p.injection.evaluations()], "sources"
    )
    spread = [one for p in simulation.solvers for f in p.faults for one in f.evaluations()]
    retarded = [one for p in simulation.solvers for one in p.incident.evaluations()]
    return schedule + _each([*spread, *retarded], "sources")


def _stage(simulation: Simulation, n: int, parity: int, phase: int) -> Step:
    """Return the launches of the n-th stage."""
    stage = simulation.discretization.physics.stages[n]
    bound = [solver.phases[phase][n] for solver in simulation.solvers]
    halo = simulation.halos[parity][n]
    # Sources near a cut act with the edges, the others with the core.
    edge_sources, core_sources = (
        _acting(simulation, stage.name, inner, parity) for inner in (False, True)
    )
    images = [fill for solver in simulation.solvers for fill in solver.images[parity][stage.name]]
    name = stage.name
    between = f"{stage.name} halo"
    # 1. Edges, their corrections and sources: what neighbours wait for.
    edges = [launch for b in bound for launch in b.edges[parity]]
    schedule = [Group(edges, "edge", name)]
    schedule += _each([one for b in bound for one in b.edge_corrections], name, "edge")
    schedule += _each(edge_sources, "sources", "edge")
    # 2. Send halos.
    schedule += [Group(group, group.where, between) for group in halo.start]
    # 3. Core, concurrently with the messages.
    core = [launch for b in bound for launch in b.core[parity]]
    schedule.append(Group(core, "core", name))
    schedule += _each([one for b in bound for one in b.core_corrections], name, "core")
    schedule += _each(core_sources, "sources", "core")
    # 4. Receive halos, then fill the images outside mirror faces.
    schedule += [Group(group, group.where, between) for group in halo.finish]
    return schedule + _each(images, f"{name} images")


def _acting(simulation: Simulation, stage: str, inner: bool, parity: int) -> list[Launch]:
    """Return the launches of sources that act in a stage, away from cuts or near them."""
    return [
        launch
        for p in simulation.solvers
        for bound_of in (p.injection.bound, *(f.bound for f in p.faults), p.incident.bound)
        for launch in bound_of(stage, inner, parity)
    ]


def _each(launches: list[Launch], name: str, where: str = "") -> Step:
    """Return groups of one launch each, which run in order."""
    return [Group([one], where, name) for one in launches]
