"""The sources of a run as the page of `seismo check` describes them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from seismo.acquisition.sources.moment_tensor import magnitude_of
from seismo.features.faults.finite_fault import ActingFault, FaultSummary
from seismo.features.plane_waves.background import box_of, plane_waves
from seismo.features.plane_waves.plane_wave import EVANESCENT_LEAD, PlaneWave
from seismo.features.topography.ground import true_positions
from seismo.grid.grid import AXES
from seismo.output.reports.source_facts import ranged, source_lines
from seismo.output.store.quantities import timing
from seismo.runs.contents.coordinates import size_and_depth
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
    faults = [s for s in sources if isinstance(s, FaultSummary)]
    for fault, acting in zip(faults, discretization.shots[0].faults, strict=True):
        yield "fault", _fault(discretization, fault, acting)
    for wave in plane_waves(discretization):
        yield "plane wave", _plane_wave(discretization, wave)


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


def _plane_wave(discretization: Discretization, wave: PlaneWave) -> str:
    """Describe how a plane wave comes, and the box in which the run has all of it."""
    grid = discretization.grid
    box = box_of(discretization, wave)
    degrees = math.degrees(wave.incidence)
    text = (
        f"{wave.name}: {wave.wave}, {degrees:.4g} deg from the vertical at {wave.velocity:.5g} m/s"
    )
    if wave.incidence:
        text += f", {wave.velocity / math.sin(wave.incidence):.5g} m/s along the surface"
    corner = ", ".join(f"{a} = {wave.position[AXES.index(a)]:.6g} m" for a in grid.axes)
    start = f"; its wavelet begins at {wave.start:.4g} s at {corner}"
    sides = []
    for axis in box.faces.replace("z", ""):
        a = AXES.index(axis)
        low, high = grid.coordinate(axis, [box.first[a], box.last[a]])
        sides.append(f"{axis} = {low:.6g} to {high:.6g} m")
    sides.append(f"z to {float(grid.coordinate('z', box.last[2])):.6g} m")
    text += f"{start}; all motion within {', '.join(sides)}, outside what is scattered alone"
    if wave.evanescent:
        text += f"; evanescent in some rock, so that it begins {EVANESCENT_LEAD:g} periods early"
    return text


def _fault(discretization: Discretization, fault: FaultSummary, acting: ActingFault) -> str:
    """Describe a finite fault: its moment, and those of its file's slip by either rigidity."""
    sizes = [(fault.moment, "acts")]
    sizes += zip(
        fault.moments, ("slip, area and rigidity of the file", "by the model"), strict=True
    )
    named = [f"{m:.4g} N m (Mw {magnitude_of(m):.2f}) {what}" for m, what in sizes if m > 0.0]
    z = true_positions(discretization.ground, acting.positions)[:, 2]
    text = (
        f"{fault.name}: {fault.subfaults} subfaults that slip, at z = {z.min():.6g} to "
        f"{z.max():.6g} m; M0 {', '.join(named)}"
    )
    if grain := fault.directivity.grain:
        text += (
            f"; rupture at {grain.velocity:.4g} m/s over subfaults {grain.spacing:.4g} m apart, "
            f"which show from {grain.frequency:.3g} Hz on"
        )
    return text
