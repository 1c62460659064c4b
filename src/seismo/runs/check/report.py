"""The page of `seismo check`: the plan of a run as text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from seismo.acquisition.receivers import ReceiverGroup
from seismo.equations.framework.parameters import CONSTANTS
from seismo.grid.grid import AXES
from seismo.model.gridded import Gridded
from seismo.model.random_medium import RandomMedium
from seismo.model.volume import Volume
from seismo.output.report import ranged, settings, source_lines
from seismo.output.store.layout import timing
from seismo.runs.check import choices_of
from seismo.runs.check.planned_run import PlannedRun
from seismo.runs.coordinates import size_and_depth
from seismo.runs.prediction.accuracy import layer_errors
from seismo.runs.prediction.lines import facts_of_features, in_percent, percent
from seismo.runs.progress import clock_time, rate
from seismo.scenario.gridded_parts import GriddedPart
from seismo.scenario.sections.sources import Source
from seismo.scenario.units import with_unit
from seismo.solver.discretization import Discretization

_LATE = 0.1  # of a centre, from which on it is said to come after the origin time
MOST_SOURCES = 3  # that are described each


def source_facts(discretization: Discretization) -> Iterator[tuple[str, str]]:
    """Yield labels and descriptions of the sources of a shot, the event, faults and plane waves."""
    shots = len(discretization.shots)
    together = discretization.batch
    sources = discretization.shots[0].summaries
    text = f"{len(sources)} source{'s' * (len(sources) > 1)}"
    if shots > 1:
        text = f"{shots} shots, {together} at a time, {text} each"
    acts = [
        f"{s.name} ({s.kind}, {s.wavelet.type} {timing(s.start, s.centre)})"
        for s in sources[:MOST_SOURCES]
    ]
    acts += ["..."] * (len(sources) > MOST_SOURCES)
    yield "sources", f"{text}: {', '.join(acts)}"
    rows = [
        {"name": f"{s.name}{_counted(discretization, entry)}", **size_and_depth(discretization, s)}
        for s, entry in zip(sources, discretization.scenario.sources, strict=True)
    ]
    if shots > 1:
        moved = [
            size_and_depth(discretization, s)
            for shot in discretization.shots
            for s in shot.summaries
        ]
        yield "", f"shots: {ranged(moved)}"
        rows = []
    yield from (("", line) for line in source_lines(rows))
    if event := discretization.scenario.event:
        late = _after_origin(discretization, event.at)
        yield "event", f"{event.time} at t = {with_unit(event.at, 's')}{late}"
    yield from facts_of_features(discretization, "sources")


def _after_origin(discretization: Discretization, at: float) -> str:
    """Name by how much the centre of a symmetric wavelet comes after the origin time (s).

    Events and faults of files have their own times, counted from it.
    """
    sections = zip(discretization.shots[0].summaries, discretization.scenario.sources, strict=True)
    centres = [
        source.centre
        for source, section in sections
        if source.centre is not None and section.type not in ("event", "finite_fault", "plane_wave")
    ]
    if not centres or min(centres) - at < _LATE * min(centres):
        return ""
    return (
        f"; the wavelet's centre comes {min(centres) - at:.4g} s later, and so do picks of "
        f"exported traces: set event.at to {min(centres):.6g} s if the origin time is that of the "
        "centre"
    )


def _counted(discretization: Discretization, source: Source) -> str:
    """Describe from where depths of a file count, over topography."""
    if discretization.ground is None or source.type not in ("event", "finite_fault"):
        return ""
    return f" (depths of its file count from the {source.depth_from or 'ground'})"


_MEANINGS = {  # by their interpolation
    "linear": "values between points are linear; interpolation: cells makes each a rock to midway",
    "cells": "each point is the rock of its cell, which ends midway to the next (interpolation)",
}


def sample_facts(discretization: Discretization) -> Iterator[tuple[str, str]]:
    """Yield a line for each meaning of samples in the model, and of spheres about sources."""
    gridded = (
        section for section in discretization.scenario.model if isinstance(section, GriddedPart)
    )
    for interpolation in dict.fromkeys(section.interpolation for section in gridded):
        yield "samples", _MEANINGS[interpolation]
    if (spheres := discretization.earth.spheres) is not None:
        yield (
            "spheres",
            f"{len(spheres.centres)} of {with_unit(spheres.radius, 'm')} about sources: "
            f"{spheres.turned} turns to {spheres.other} (isotropic_source)",
        )


MOST_CAUSES = 3  # of errors that are listed
MOST_SETS = 6  # of receivers whose errors are listed
_OF_SPACING = 0.01  # to which z of media is rounded


def print_plan(plan: PlannedRun, console: Console) -> None:
    """Print the plan: facts, layers, warnings."""
    for label, text in _facts(plan):
        console.print(f"{label:<12}{text}", markup=False, highlight=False, soft_wrap=True)
    console.print(_layers(plan))
    if plan.shows_prices:
        console.print(_prices(plan))
        obstacles = dict.fromkeys(price.obstacle for price in plan.prices if price.obstacle)
        for obstacle in obstacles:
            console.print(f"  {obstacle}", markup=False, highlight=False, soft_wrap=True)
    for warning in plan.warnings:
        label = "[yellow]warning[/yellow]"
        if warning in plan.errors or warning in plan.refusals:
            label = f"[red]{'error' if warning in plan.errors else 'refused'}[/red]"
        console.print(f"{label} ", end="")
        console.print(warning, markup=False, highlight=False, soft_wrap=True)
    if not plan.warnings:
        console.print("no warnings")
    if plan.errors:
        console.print("[red]this grid does not carry these waves[/red]: the exit code is 1")
    if plan.refusals:
        console.print("[red]this run will not start here[/red], as said above; elsewhere it may")


def _facts(plan: PlannedRun) -> Iterator[tuple[str, str]]:
    discretization = plan.discretization
    grid = discretization.grid
    clock = discretization.clock
    scenario = discretization.scenario
    if scenario.title:
        yield "title", scenario.title
    yield (
        "physics",
        f"{discretization.scenario.equation.name}, {grid.dimensions}-D, "
        f"order {discretization.stencil.order} ({_coefficients(plan)}), {scenario.precision}",
    )
    size = " x ".join(str(grid.points[AXES.index(a)]) for a in grid.axes)
    yield (
        "grid",
        f"{size} points ({', '.join(grid.axes)}) = {grid.size / 1e6:.3g} million, layers "
        f"included{_rows(discretization)}",
    )
    if choices := choices_of(scenario):
        yield "chosen", f"{settings(choices)}, for {percent(scenario.grid.accuracy)}"
    if plan.budget:
        error = in_percent(scenario.grid.accuracy)
        yield (
            "budget",
            f"{plan.budget}, for which --accuracy '{error}' errs least; run it with that",
        )
    yield from facts_of_features(discretization, "grid")
    yield from facts_of_features(discretization, "ground")
    yield (
        "time",
        f"{clock.steps} steps of {with_unit(clock.dt, 's')} = "
        f"{with_unit(clock.steps * clock.dt, 's')}, and {discretization.extra_steps} more to "
        "complete the traces; "
        f"the stability limit is {with_unit(clock.limit, 's')} "
        f"(vmax {discretization.fastest:.5g} m/s), the step {clock.dt / clock.limit:.2f} of it",
    )
    yield from _files(plan)
    yield from sample_facts(discretization)
    yield from _geometry(plan)
    yield "frequency", f"up to {plan.f_max:.4g} Hz (-40 dB), dominant {plan.f_dominant:.4g} Hz"
    yield "resolution", _resolution(plan)
    yield "accuracy", _accuracy(plan)
    if plan.cheaper:
        yield "cheaper", str(plan.cheaper)
    yield from ((finding.label, str(fact)) for finding, fact in plan.findings.items() if fact)
    yield from facts_of_features(discretization, "accuracy")
    yield from _damping(discretization)
    yield from _resources(plan)
    yield from _speed(plan)


def _damping(discretization: Discretization) -> Iterator[tuple[str, str]]:
    """Yield the damping of layers against guided waves, its beginning, and reflections."""
    if discretization.field_damping.averaged:
        yield "boundaries", "side layers have the mean of beds between which waves would grow"
    (_, before), *later = layer_errors(discretization)
    for time, error in later:
        yield (
            "boundaries",
            f"layers are damped from t = {with_unit(time, 's')} on against waves guided by soft "
            f"ground or beds; until then they reflect {percent(before)} of the traces, later "
            f"{percent(error)}",
        )
        before = error


def _rows(discretization: Discretization) -> str:
    """Describe rows that grow with depth, against as many as an even grid would have."""
    grid = discretization.grid
    if grid.stretching is None:
        return ""
    low, high = (grid.spacing[2] * factor for factor in (1.0, grid.stretching.largest))
    even = discretization.scenario.grid.extent.z / low + 1.0 + grid.low[2] + grid.high[2]
    return (
        f"; rows grow from {low:.4g} to {high:.4g} m: {grid.points[2] / even:.2g} of the points "
        "of even rows"
    )


def _coefficients(plan: PlannedRun) -> str:
    stencil = plan.discretization.stencil
    texts = [f"along {a} bounded by {most:g}, to {100 * e:g} %" for a, most, e in stencil.bounds]
    if set(plan.discretization.grid.axes) > set(stencil.bounded):
        keeping = f"coefficients that keep wave speeds to {100.0 * stencil.tolerance:g} %"
        texts.insert(0, keeping if stencil.tolerance else "taylor coefficients")
    return ", ".join(texts)


def _resources(plan: PlannedRun) -> Iterator[tuple[str, str]]:
    memory = plan.memory
    needed = [f"{with_unit(need.need, 'B')} on {need.where}" for need in plan.demands]
    faults = f", faults on the host {with_unit(memory.faults, 'B')}" if memory.faults else ""
    preparing = memory.beside if len(plan.demands) > 1 else memory.preparing
    yield (
        "memory",
        f"{', '.join(needed)} (wavefield {with_unit(memory.wavefield, 'B')}, "
        f"model {with_unit(memory.model, 'B')}, layers {with_unit(memory.layers, 'B')}, "
        f"sources {with_unit(memory.sources, 'B')}{faults}, "
        f"traces {with_unit(memory.recorder, 'B')}, "
        f"snapshots and maps {with_unit(memory.snapshots + memory.maps + memory.ring, 'B')}; "
        "while preparing "
        f"{with_unit(preparing, 'B')} on the host; the rest for Python and its packages)",
    )
    yield (
        "results",
        f"up to {with_unit(plan.output.total, 'B')} "
        f"(traces {with_unit(plan.output.traces, 'B')}, "
        f"snapshots {with_unit(plan.output.snapshots, 'B')}, "
        f"maps {with_unit(plan.output.maps, 'B')}, "
        f"model {with_unit(plan.output.model, 'B')}) before compression",
    )
    yield (
        "checkpoints",
        f"{with_unit(memory.state, 'B')} each, "
        f"up to {with_unit(memory.checkpoints, 'B')} of disk while a run lasts",
    )


def _speed(plan: PlannedRun) -> Iterator[tuple[str, str]]:
    devices = plan.device
    division = plan.division
    if division.ranks.has_others:
        devices = f"{division.ranks.count} x {plan.device}"
        text = f"{devices}, in {division.counts} parts along z and y"
        if division.grids > 1:
            text = f"{devices}, as {division.grids} grids side by side, each with its own shots"
            text += f", in {division.counts} parts along z and y" * (division.ranks_per_grid > 1)
        if division.ranks_per_grid > 1:
            text += f"; the costliest is {division.imbalance:.1%} above the mean"
        yield "shared by", text
        if plan.sharing:
            yield "", plan.sharing
    maps = ""
    if plan.map_seconds > 0.01 * plan.seconds:
        maps = f"; without the maps about {clock_time(plan.seconds - plan.map_seconds)}"
    yield (
        "run time",
        f"about {clock_time(plan.seconds)} on {devices} when nothing else runs, at "
        f"{rate(plan.points_per_second)}{maps} (an estimate, to a factor of two or so), and "
        "compiling in a first run",
    )


def _resolution(plan: PlannedRun) -> str:
    """Compare the points per wavelength with those needed for the accuracy over these paths."""
    worst = min(plan.layers, key=lambda layer: layer.points_per_wavelength)
    wanted = plan.discretization.scenario.grid.accuracy
    return (
        f"{worst.points_per_wavelength:.2g} points in the shortest wavelength "
        f"({worst.slowest:.5g} m/s at {plan.f_max:.4g} Hz); over the paths of this run, order "
        f"{plan.discretization.stencil.order} keeps dispersion to {percent(wanted)} from "
        f"{plan.points_needed:.2g} on"
    )


def _accuracy(plan: PlannedRun) -> str:
    causes = [f"{name} {percent(error)}" for name, error in plan.expected.causes[:MOST_CAUSES]]
    wanted = plan.discretization.scenario.grid.accuracy
    missed = ""
    if plan.expected.error > wanted:
        missed = f"; {plan.remedy or f'{percent(wanted)} is wanted'}"
    sets = [f"{name} {percent(error)}" for name, error in plan.expected.sets[:MOST_SETS]]
    sets += ["..."] * (len(plan.expected.sets) > MOST_SETS)
    each = f"; of receivers {', '.join(sets)}" if sets else ""
    return f"expected trace error {plan.expected} ({', '.join(causes)}){each}{missed}"


def _geometry(plan: PlannedRun) -> Iterator[tuple[str, str]]:
    discretization = plan.discretization
    yield from source_facts(discretization)
    groups = [f"{g.name}: {len(g)} ({', '.join(g.quantities)}){_motion(discretization, g)}"
              for g in discretization.groups]  # fmt: skip
    yield "receivers", "; ".join(groups) or "none"


def _motion(discretization: Discretization, group: ReceiverGroup) -> str:
    """Describe how receivers move with the shots; "" where they do not."""
    if group.motion is None:
        return ""
    shots = [shot.name for shot in discretization.shots]
    dropped = sum(int((~group.recording(shot)).sum()) for shot in shots)
    lost = f", {dropped} of {len(group) * len(shots)} traces dropped outside the grid"
    return " moving with the source" + lost * (dropped > 0)


def _files(plan: PlannedRun) -> Iterator[tuple[str, str]]:
    """Describe how axes of gridded files and depths were taken, which files do not tell."""
    discretization = plan.discretization
    descriptions = []
    for model_part, section in zip(
        discretization.earth.model_parts, discretization.scenario.model, strict=True
    ):
        if isinstance(model_part, Volume):
            descriptions.append(model_part.described())
        grids = model_part.grids if isinstance(model_part, Gridded) else {}
        for name, grid in grids.items():
            axes = getattr(section, name).axes or grid.axes
            shape = " x ".join(str(grid.samples.shape[grid.axes.index(axis)]) for axis in axes)
            ends = (f"{a} {grid.reach(a)[0]:.6g} to {grid.reach(a)[1]:.6g} m" for a in axes)
            descriptions.append(f"{name} {shape} points, the slowest axis first: {', '.join(ends)}")
    descriptions += [
        f"receivers {g.name}: {g.vertical}" for g in discretization.groups if g.vertical
    ]
    if descriptions:
        yield "files", "; ".join(descriptions)
    for medium in (p for p in discretization.earth.model_parts if isinstance(p, RandomMedium)):
        yield "random", medium.described()


def _prices(plan: PlannedRun) -> Table:
    """Show the cheapest grids for some errors, on one of the devices."""
    table = Table(title=f"prices of errors, on {plan.device}", title_justify="left")
    for heading in ("error", "expected", "spacing (m)", "order", "stencil", "layer.points",
                    "points", "memory", "run time"):  # fmt: skip
        table.add_column(heading, justify="right")
    for price in plan.prices:
        table.add_row(
            percent(price.wanted), percent(price.expected), f"{price.spacing:.6g}",
            str(price.order), price.stencil, str(price.points),
            f"{price.grid_points / 1e6:.3g} million",
            with_unit(price.memory, "B"), clock_time(price.seconds),
        )  # fmt: skip
    return table


def _signed(value: float) -> str:
    """Format a number with its sign to three places, and zero without."""
    text = f"{value:+.3f}"
    return text if float(text) else "0.000"


def _rounded(value: float, unit: float) -> float:
    return round(value / unit) * unit + 0.0  # 0 is no -0


def _layers(plan: PlannedRun) -> Table:
    """Show each medium, or representatives of many: these are no layers."""
    many = any(layer.stands_for for layer in plan.layers)
    title = f"resolution at {plan.f_max:.4g} Hz"
    if many:
        title += ": the slowest, the median and the fastest of many media (no layers)"
    if plan.attenuation and plan.attenuation.rise > 1.0:
        title += ", by unrelaxed velocities"
    table = Table(title=title, title_justify="left")
    unit = _OF_SPACING * plan.discretization.grid.spacing[2]
    z = "z of such media (m)" if many else "z (m)"
    others = [name for name in plan.layers[0].others if name not in CONSTANTS]
    speeds = ("slowest", "fastest") if len(others) < len(plan.layers[0].others) else ()
    parameters = ("vp", "vs", "rho", *others)
    for heading in (z, *parameters, *speeds, "share", "points per wavelength", "phase error"):
        table.add_column(heading, justify="right")
    for layer in plan.layers:
        cells = ["-" if v is None else f"{v:.0f}" for v in (layer.vp, layer.vs, layer.rho)]
        cells += [f"{layer.others[name]:.3g}" for name in others]
        cells += [f"{getattr(layer, name):.0f}" for name in speeds]
        share = f"{layer.stands_for} {layer.share:.0%}".strip()
        table.add_row(
            " to ".join(f"{_rounded(end, unit):.6g}" for end in layer.z), *cells, share,
            f"{layer.points_per_wavelength:.1f}", f"{_signed(layer.phase_error)} %",
        )  # fmt: skip
    return table
