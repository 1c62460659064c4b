"""Snapshots, maps and checkpoints: the output of a run besides the traces."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Iterable
from typing import Annotated, Any, Self

from pydantic import AfterValidator, model_validator

from seismo.equations.framework.table import Physics
from seismo.errors import KeyPath
from seismo.scenario import units
from seismo.scenario.draft import Draft
from seismo.scenario.mistakes import listed_names
from seismo.scenario.quantities import (
    Field,
    FilePath,
    Integer,
    Interval,
    Length,
    Mistake,
    Mistakes,
    Name,
    PositiveTime,
    Quantity,
    RelativeError,
    SamplingInterval,
    ScenarioSection,
    TimeFromZero,
    Truth,
)
from seismo.scenario.sections.grid import ground_of

_PEAKS = ("pgv", "pga", "sa")


class Plane(ScenarioSection):
    """One plane, by the coordinate that is constant on it."""

    x: Length | None = Field(None, description="plane of constant x")
    y: Length | None = Field(None, description="plane of constant y")
    z: Length | None = Field(None, description="plane of constant z")
    depth: Annotated[float, Quantity(units.LENGTH, ge=0.0)] | None = Field(
        None, description="in place of z: depth below the ground; 0 is the ground"
    )

    @model_validator(mode="after")
    def _one_axis(self) -> Plane:
        if sum(value is not None for value in (self.x, self.y, self.z, self.depth)) != 1:
            raise ValueError("a plane needs exactly one of 'x', 'y', 'z', 'depth'")
        return self


def _downwards(depths: tuple[float, float]) -> tuple[float, float]:
    """Refuse depths above the ground."""
    if depths[0] < 0.0:
        raise ValueError(f"begins {-depths[0]:g} m above the ground: begin at 0 m or below")
    return depths


class Region(ScenarioSection):
    """A box within the grid, by the first and the last coordinate along each axis.

    Over topography its rows follow the ground; `check` tells how deep they lie below it.
    """

    x: Interval | None = Field(None, description="from, to; default: the full grid")
    y: Interval | None = Field(None, description="from, to; default: the full grid")
    z: Interval | None = Field(
        None,
        description="from, to; default: the full grid; over topography of rows that follow the "
        "ground the z that they have where the ground lies at the grid's first row",
    )
    depth: Annotated[Interval, AfterValidator(_downwards)] | None = Field(
        None,
        description="in place of z: from, to below the ground; over topography below the ground "
        "at the grid's first row, which is the ground everywhere",
    )

    @model_validator(mode="after")
    def _one_height(self) -> Region:
        if self.z is not None and self.depth is not None:
            raise ValueError("has both 'z' and 'depth': leave one out")
        return self


class Cut(ScenarioSection):
    """The grid points of an output."""

    decimate: Annotated[Integer, Field(ge=1, le=1000)] = Field(
        1, description="keep every n-th point of each axis"
    )
    plane: Plane | None = Field(
        None,
        description="only this plane, moved to the closest nodes; of maps in 2-D a line, such as "
        "depth: 0 m, the ground (snapshots: 3-D only)",
    )
    box: Region | None = Field(None, description="only this part of the grid")

    def on_z(self, level: float) -> Self:
        """Return the same with z in place of depths below ground at z = `level` (m)."""
        changes: dict[str, ScenarioSection] = {}
        if self.plane is not None and self.plane.depth is not None:
            changes["plane"] = Plane(z=level + self.plane.depth)
        if self.box is not None and self.box.depth is not None:
            first, last = self.box.depth
            ends = {"z": (level + first, level + last), "depth": None}
            changes["box"] = self.box.model_copy(update=ends)
        return self.model_copy(update=changes)


class Snapshots(Cut):
    """Snapshots of fields at equal time intervals."""

    name: Name = Field("wavefield", description="name in the results; different for each entry")
    fields: Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        description="fields such as vx or sxz, `velocity` for all its components, or `pressure`"
    )
    interval: SamplingInterval | None = Field(None, description="time between snapshots")
    steps: Annotated[Integer, Field(ge=1)] | None = Field(
        None, description="time steps between snapshots, instead of `interval`"
    )
    start: TimeFromZero | None = Field(None, description="no snapshot before this time")
    stop: TimeFromZero | None = Field(None, description="no snapshot after this time")
    relative_error: RelativeError | None = Field(
        None, description="bound of the relative rounding error, for smaller files"
    )

    @model_validator(mode="after")
    def _in_order(self) -> Snapshots:
        if (self.interval is None) == (self.steps is None):
            raise ValueError("snapshots need exactly one of 'interval', 'steps'")
        if self.start is not None and self.stop is not None and self.stop < self.start:
            raise ValueError(f"stop ({self.stop:g} s) comes before start ({self.start:g} s)")
        return self


def are_spectral(quantities: Iterable[object]) -> bool:
    """Whether any quantity of a map has periods: spectral accelerations."""
    return any(str(name).partition("_")[0] == "sa" for name in quantities)


def _different(periods: tuple[float, ...]) -> tuple[float, ...]:
    """Refuse periods that would have the same name in the results."""
    names = [f"{period:g}" for period in periods]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} s is listed twice: keep one")
    return periods


class Maps(Cut):
    """Largest values at every point over the run."""

    name: Name = Field("peaks", description="name in the results; different for each entry")
    quantities: Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        description="`pgv`, `pga`, `sa` (largest speed, acceleration, response of oscillators), "
        "`pgv_horizontal`, `pgv_x`, `sa_rotd50`, `sa_rotd100` and so on, or fields such as p"
    )
    periods: (
        Annotated[
            tuple[PositiveTime, ...],
            Field(min_length=1, max_length=100),
            AfterValidator(_different),
        ]
        | None
    ) = Field(None, description="periods of the oscillators of `sa`")
    damping: Annotated[float, Quantity(units.NUMBER, ge=0.0, lt=1.0)] = Field(
        0.05, description="of these oscillators, as a share of the critical one"
    )

    @model_validator(mode="after")
    def _of_oscillators(self) -> Maps:
        spectral = are_spectral(self.quantities)
        if spectral and self.periods is None:
            raise ValueError("'sa' needs 'periods', such as [0.3 s, 1 s, 3 s]")
        if self.periods is not None and not spectral:
            raise ValueError("'periods' are those of 'sa', which quantities does not list: add it")
        return self


def _inside(path: str) -> str:
    """Refuse paths outside the scenario's folder: scenarios may come from others."""
    pure_path = pathlib.PurePath(path)
    if pure_path.is_absolute() or ".." in pure_path.parts:
        raise ValueError("leaves the scenario's folder; use --output for other folders")
    return path


class Output(ScenarioSection):
    """The results file and its contents."""

    path: Annotated[FilePath, AfterValidator(_inside)] | None = Field(
        None, description="results file, in the scenario's folder; default: its name with .h5"
    )
    snapshots: tuple[Snapshots, ...] = Field((), description="snapshots of the wavefield")
    maps: tuple[Maps, ...] = Field((), description="maps of largest values")
    model: Truth = Field(True, description="write the earth model as it was used")


class Checkpoint(ScenarioSection):
    """Interval of checkpoints; a signal or the end of a job requests a checkpoint, too."""

    wall_time: PositiveTime = Field(1800.0, description="wall-clock time between two checkpoints")
    steps: Annotated[Integer, Field(ge=1)] | None = Field(
        None, description="steps between two checkpoints, whichever comes first"
    )


def cuts(draft: Draft) -> Mistakes:
    """Check the quantities of snapshots and maps, and their places."""
    if draft.output is None or draft.dimensions is None:
        return
    table = draft.table
    shown = table and {"fields": table.shown, "quantities": peaks(table)}
    for key, listed in (("snapshots", "fields"), ("maps", "quantities")):
        for index, entry in enumerate(getattr(draft.output, key)):
            if entry is None:
                continue
            path = ("output", key, index)
            names = getattr(entry, listed)
            known = shown[listed] if shown else names
            offers = f"physics {draft.physics} in {draft.dimensions}-D has the {listed}"
            yield from listed_names((*path, listed), names, known, offers)
            yield from _cut(draft, path, entry)


def peaks(table: Physics) -> tuple[str, ...]:
    """Return what maps may show: fields, and peaks of motion where the equation has velocities."""
    field_names = table.shown
    motions = [name[1:] for name in field_names if name in ("vx", "vy", "vz")]
    level = ["horizontal"] if set(motions) & {"x", "y"} else []
    level += ["rotd50", "rotd100"] if {"x", "y"} <= set(motions) else []
    words = [peak + tail for tail in ("", *(f"_{t}" for t in level + motions)) for peak in _PEAKS]
    return tuple(n for n in field_names if n != "velocity") + (tuple(words) if motions else ())


def _cut(draft: Draft, path: KeyPath, entry: Any) -> Mistakes:
    """Check that a plane and a box lie in the grid; maps of a 2-D run are lines on a plane."""
    if entry.plane is not None and draft.dimensions == 2 and path[1] == "snapshots":
        problem = "snapshots of a 2-D run are of one plane already: leave it out, or give a box"
        yield Mistake((*path, "plane"), problem)
    elif entry.plane is not None and draft.dimensions == 2 and entry.plane.y is not None:
        yield Mistake((*path, "plane", "y"), "a 2-D run has no y: give depth, z or x")
    elif entry.plane is not None:
        for axis in "xyz":
            yield from _inside_grid(draft, (*path, "plane", axis), axis, getattr(entry.plane, axis))
        yield from _deep(draft, (*path, "plane", "depth"), (entry.plane.depth,))
    if entry.box is not None:
        yield from _deep(draft, (*path, "box", "depth"), entry.box.depth or ())
    for axis in "xyz" if entry.box is not None else "":
        axis_path = (*path, "box", axis)
        ends = getattr(entry.box, axis)
        if ends is not None and axis == "y" and draft.dimensions == 2:
            yield Mistake(axis_path, "a 2-D run has no y: leave it out")
        elif ends is not None and getattr(entry.plane, axis, None) is not None:
            yield Mistake(axis_path, f"the plane has one {axis}: leave it out")
        elif ends is not None:
            yield from next(
                filter(None, (list(_inside_grid(draft, axis_path, axis, e)) for e in ends)), ()
            )


def _deep(draft: Draft, path: KeyPath, depths: Iterable[float | None]) -> Mistakes:
    """Check that depths below the ground lie in the grid."""
    limits = draft.limits("z")
    for depth in depths:
        if limits and draft.boundaries and depth is not None:
            z = ground_of(limits[0], draft.boundaries.top) + depth
            yield from _inside_grid(draft, path, "z", z)


def _inside_grid(draft: Draft, path: KeyPath, axis: str, value: float | None) -> Mistakes:
    limits = draft.limits(axis)
    if value is not None and limits is not None and not limits[0] <= value <= limits[1]:
        low, high = limits
        problem = f"outside the grid: {axis} from {low:g} m to {high:g} m; move it inside"
        yield Mistake(path, problem)


def snapshot_times(draft: Draft) -> Mistakes:
    """Check that each entry of snapshots has one: at multiples of its interval, start to stop."""
    for index, entry in enumerate(draft.output.snapshots if draft.output else ()):
        if entry is None or entry.interval is None:
            continue  # the length of a step is not known yet
        start = entry.start or 0.0
        stop = math.inf if entry.stop is None else entry.stop
        last = min(stop, draft.time.duration if draft.time else math.inf)
        first = math.ceil(start / entry.interval * (1.0 - 1e-9)) * entry.interval
        if first > last * (1.0 + 1e-9):
            problem = (
                f"there is no multiple of the interval ({entry.interval:g} s) from here to "
                f"{last:g} s, stop or the end of the run: begin earlier, or use a shorter interval"
            )
            yield Mistake(("output", "snapshots", index, "start"), problem)
