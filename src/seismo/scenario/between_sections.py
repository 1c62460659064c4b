"""Rules between sections of a scenario: equation, geometry, faces, positions, names, surveys.

They take a `Draft`, in which unreadable parts are None, so that a misspelt key in one place does
not hide a source outside the grid in another. Rules within a section stand beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from seismo.equations.framework.registry import EQUATIONS, equation_for
from seismo.errors import KeyPath, ScenarioError
from seismo.scenario import units
from seismo.scenario.draft import AXES, Draft, equations_with, inside
from seismo.scenario.gridded_parts import RandomPart
from seismo.scenario.model_parts import BlockPart, SpherePart
from seismo.scenario.model_rules import gridded_files
from seismo.scenario.quantities import Mistake, Mistakes
from seismo.scenario.sections.grid import (
    Boundaries,
    GeographicPosition,
    GridSpec,
    Position,
    growing,
)
from seismo.scenario.sections.receivers import (
    CODE,
    FibreReceivers,
    GridReceivers,
    LineReceivers,
    PointReceivers,
)
from seismo.scenario.sections.sources import SHOT_NAME, SOURCE_NAME

_BOTH = "says what z says: leave one of both out"


_MOST_POINTS = 1e12  # more than any machine holds
_MOST_ALONG = 1e7  # points of an axis, which are listed singly
_FARTHEST = 1e9  # spacings from zero to the origin: numbers of 16 digits keep 7 behind the point


def geometry(draft: Draft) -> Mistakes:
    """Check spacing, faces, positions and every key that only 3-D has."""
    if draft.grid is not None:
        yield from _spacing(draft.grid)
    if draft.boundaries is not None:
        yield from _faces(draft.boundaries, draft.dimensions)
    for path, position in positions(draft):
        yield from _position(draft, path, position)
    for path, value in _values_of_y(draft):
        if value is not None and draft.dimensions == 2:
            yield Mistake(
                (*path, "y"), "a 2-D run has no y: leave it out, or give grid.extent.y for 3-D"
            )
    for path, value in _needed_y(draft):
        if value is None and draft.dimensions == 3:
            yield Mistake(
                (*path, "y"), "missing: a 3-D run needs y; for 2-D leave out grid.extent.y"
            )


def _spacing(grid: GridSpec) -> Mistakes:
    along = {}
    for axis in AXES:
        length = getattr(grid.extent, axis)
        spacing = grid.at_top(axis)
        if length is not None and spacing is not None and spacing > length:
            remedy = "check the units of both, make it longer, or grid.spacing finer"
            remedy = units.meant_in_km(length, spacing) or remedy
            problem = f"{length:g} m is less than grid.spacing, {spacing:g} m; {remedy}"
            yield Mistake(("grid", "extent", axis), problem)
        if length is not None and spacing is not None:
            along[axis] = 1.0 + length / spacing
            if abs(getattr(grid.origin, axis) or 0.0) > _FARTHEST * spacing:
                problem = f"too far from 0 to tell points {spacing:g} m apart; choose another zero"
                yield Mistake(("grid", "origin", axis), problem)
    if grid.grows:
        yield from growing(grid.spacing.z, grid.spacing.x)
    if grid.extent.y is None and grid.origin.y != 0.0:
        yield Mistake(("grid", "origin", "y"), "a 2-D run has no y: leave it out")
    if (points := math.prod(along.values())) > _MOST_POINTS:
        problem = (
            f"makes {points:.6g} points, {_MOST_POINTS:g} is the limit; make it "
            "coarser, or check its unit and those of grid.extent"
        )
        yield Mistake(("grid", "spacing"), problem)
        return
    for axis, count in along.items():
        if count > _MOST_ALONG:
            problem = f"makes {count:.8g} points, {_MOST_ALONG:g} is the limit along an axis"
            remedy = "make it shorter, or grid.spacing coarser"
            yield Mistake(("grid", "extent", axis), f"{problem}; {remedy}")


def _faces(boundaries: Boundaries, dimensions: int | None) -> Mistakes:
    for face in ("bottom", "x_min", "x_max", "y_min", "y_max"):
        if getattr(boundaries, face) == "free_surface":
            problem = "only the top can be a free surface; use absorbing, rigid or periodic"
            yield Mistake(("boundaries", face), problem)
    for first, last in (("top", "bottom"), ("x_min", "x_max"), ("y_min", "y_max")):
        if (getattr(boundaries, first) == "periodic") != (getattr(boundaries, last) == "periodic"):
            is_first = getattr(boundaries, first) == "periodic"
            periodic, partner = (first, last) if is_first else (last, first)
            yield Mistake(
                ("boundaries", periodic),
                f"periodic needs its opposite face too: set {partner}: periodic",
            )
    if dimensions == 2:
        for face in ("y_min", "y_max"):
            if getattr(boundaries, face) not in ("absorbing", "free_surface"):
                yield Mistake(("boundaries", face), "a 2-D run has no y faces: leave it out")


def positions(draft: Draft) -> Iterator[tuple[KeyPath, Any]]:
    """Yield the path and the value of every position of sources, receivers and shots."""
    for index, source in enumerate(draft.sources or ()):
        if hasattr(source, "position"):
            yield ("sources", index, "position"), source.position
    for index, group in enumerate(draft.receivers or ()):
        if isinstance(group, PointReceivers):
            for number, point in enumerate(group.positions):
                yield ("receivers", index, "positions", number), point
        elif isinstance(group, LineReceivers):
            yield ("receivers", index, "start"), group.start
            yield ("receivers", index, "end"), group.end
        elif isinstance(group, FibreReceivers):
            for number, bend in enumerate(group.points or ()):
                yield ("receivers", index, "points", number), bend
    if draft.survey is not None:
        for index, shot in enumerate(draft.survey.shots):
            yield ("survey", "shots", index, "position"), shot.position
        if draft.survey.line is not None:
            yield ("survey", "line", "start"), draft.survey.line.start
            yield ("survey", "line", "end"), draft.survey.line.end


def _position(draft: Draft, path: KeyPath, position: Any) -> Mistakes:
    if isinstance(position, GeographicPosition):
        if not draft.has_geographic:
            problem = (
                "needs the section 'geographic': longitude, latitude of the grid's x = 0, y = 0"
            )
            yield Mistake((*path, "longitude"), problem)
        return
    for axis in AXES:
        if axis not in draft.offset_axes(path):
            yield from inside(draft, (*path, axis), axis, getattr(position, axis))


def _needed_y(draft: Draft) -> Iterator[tuple[KeyPath, float | None]]:
    """Yield where 3-D needs a y, with the y that is there."""
    if draft.grid is not None and not draft.grid.is_open:
        yield ("grid", "spacing"), draft.grid.spacing.y
    for path, position in positions(draft):
        if isinstance(position, Position):
            yield path, position.y
    for index, group in enumerate(draft.receivers or ()):
        if isinstance(group, GridReceivers):
            yield ("receivers", index), None if group.y is None else group.y[0]
    for index, model_part in enumerate(draft.model or ()):
        if isinstance(model_part, SpherePart):
            yield ("model", index, "center"), model_part.center.y
        if isinstance(model_part, RandomPart) and not model_part.correlation.one_for_all:
            yield ("model", index, "correlation"), model_part.correlation.y


def _values_of_y(draft: Draft) -> Iterator[tuple[KeyPath, object]]:
    """Yield where 2-D must not have a y, with the y that is there."""
    yield from _needed_y(draft)
    for index, model_part in enumerate(draft.model or ()):
        if isinstance(model_part, BlockPart):
            yield ("model", index), model_part.y
        for path, file in gridded_files(index, model_part):
            if file.spacing is not None and not file.spacing.one_for_all:
                yield (*path, "spacing"), file.spacing.y
            if file.origin is not None:
                yield (*path, "origin"), file.origin.y


def names(draft: Draft) -> Mistakes:
    """Check that names which become groups and codes of the results are unique."""
    source_names = [getattr(source, "name", None) for source in draft.sources or ()]
    yield from _unique(("sources",), _or_default(source_names, SOURCE_NAME))
    yield from _unique(
        ("receivers",), [getattr(group, "name", None) for group in draft.receivers or ()]
    )
    if draft.output is not None:
        # Lists of entries, to which features may have added theirs.
        listed = {key: entries for key, entries in draft.output if isinstance(entries, tuple)}
        for key, entries in listed.items():
            output_names = [getattr(entry, "name", None) for entry in entries]
            yield from _unique(("output", key), output_names)
    if draft.survey is not None:
        shots = [shot.name for shot in draft.survey.shots]
        yield from _unique(("survey", "shots"), _or_default(shots, SHOT_NAME))
    for index, group in enumerate(draft.receivers or ()):
        if isinstance(group, PointReceivers):
            codes = _or_default([point.code for point in group.positions], CODE)
            yield from _unique(("receivers", index, "positions"), codes, "code")


def _or_default(given_names: Sequence[str | None], default: str) -> list[str]:
    return [name or default.format(index) for index, name in enumerate(given_names)]


def _unique(path: KeyPath, names_in_order: Sequence[str | None], key: str = "name") -> Mistakes:
    first: dict[str, int] = {}
    for index, name in enumerate(names_in_order):
        if name is not None and first.setdefault(name, index) != index:
            problem = (
                f"the {key} {name!r} is taken by {path[-1]}[{first[name]}]; give each its own {key}"
            )
            yield Mistake((*path, index, key), problem)


def survey(draft: Draft) -> Mistakes:
    """Check that a survey has exactly one source to move."""
    count = len(draft.sources or ())
    if draft.survey is not None and count > 1:
        problem = f"a survey moves exactly one source, but there are {count}; keep one in sources"
        problem += ", and list its positions in shots; other sources are runs of their own"
        yield Mistake(("survey",), problem)


def dimension(draft: Draft) -> Mistakes:
    """Check that the wave equation exists in the dimension of the grid."""
    if draft.physics is None or draft.dimensions is None:
        return
    known = EQUATIONS[draft.physics]
    if draft.dimensions not in known.dimensions:
        change = "leave out grid.extent.y" if draft.dimensions == 3 else "give grid.extent.y"
        others = equations_with(
            draft.dimensions, lambda other: set(known.needs) <= set(other.needs)
        )
        remedy = f"{change}, or use physics: {others}" if others else change
        yield Mistake(("physics",), f"is {known.dimensions[0]}-D only: {remedy}")


def combination(draft: Draft) -> Mistakes:
    """Check that an equation takes all that the model gives."""
    if draft.physics is None or not draft.model or None in draft.model:
        return
    try:
        equation_for(draft.physics, None, draft.required)
    except ScenarioError as error:
        yield Mistake(("physics",), str(error))


def options(draft: Draft) -> Mistakes:
    """Check that the wave equation has the options."""
    equation = draft.equation
    if equation is None:
        return
    for name in draft.options:
        if equation.name != name:
            yield Mistake((name,), f"options of physics {name}, not {equation.name}: leave it out")


def heights(draft: Draft) -> Mistakes:
    """Check that positions have either z or depth; over topography receivers need neither."""
    for path, position in _with_heights(draft):
        on_earth = isinstance(position, GeographicPosition)
        if on_earth and position.depth_from is not None and position.depth is None:
            problem = "says what depth counts from: give depth, or leave it out"
            yield Mistake((*path, "depth_from"), problem)
        if position.z is not None and position.depth is not None:
            yield Mistake((*path, "depth"), _BOTH)
        on_ground = path[0] == "receivers" and (on_earth or draft.has_topography)
        if position.z is None and position.depth is None and not on_ground:
            problem = "missing: give z, or depth below the ground"
            yield Mistake((*path, "depth" if on_earth else "z"), problem)
        if on_earth:
            continue
        if position.depth is not None and "z" in draft.offset_axes(path):
            problem = "is no offset from the source: give z, or leave relative_depth out"
            yield Mistake((*path, "depth"), problem)


def _with_heights(draft: Draft) -> Iterator[tuple[KeyPath, Any]]:
    """Yield positions, and receivers on a grid of their own, which have z or depth."""
    for path, position in positions(draft):
        if isinstance(position, Position | GeographicPosition):
            yield path, position
    for index, group in enumerate(draft.receivers or ()):
        if isinstance(group, GridReceivers):
            yield ("receivers", index), group


def lines(draft: Draft) -> Mistakes:
    """Check that both ends of a line have z, or both depth."""
    ends: list[tuple[KeyPath, Any]] = [
        (("receivers", n), group)
        for n, group in enumerate(draft.receivers or ())
        if isinstance(group, LineReceivers)
    ]
    if draft.survey is not None and draft.survey.line is not None:
        ends.append((("survey", "line"), draft.survey.line))
    for path, line in ends:
        kinds = [_kind(line.start), _kind(line.end)]
        if kinds[0] != kinds[1]:
            have = kinds[0] or kinds[1]
            problem = f"one end of the line has {have}, the other not: give both {have}"
            yield Mistake((*path, "end", have), problem)


def _kind(position: Any) -> str:
    """Return the key of a position's height."""
    return next((key for key in ("z", "depth") if getattr(position, key) is not None), "")
