"""Rules between keys that a single value cannot break: geometry, faces, names, surveys.

They run on a `Draft`, in which what could not be read at all is None, so that a misspelt key in one
place does not hide a source outside the grid in another. What depends on the physics is in
`seismo.scenario.rules.physics` and `rock_rules`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from seismo.equations.framework.registry import PARAMETERS
from seismo.errors import KeyPath
from seismo.scenario import units
from seismo.scenario.earth.gridded_parts import (
    FORMATS,
    OTHERS,
    VOLUMES,
    GriddedFile,
    format_of,
)
from seismo.scenario.earth.model_parts import (
    BlockPart,
    FilePart,
    GradientPart,
    LayersPart,
    SpherePart,
)
from seismo.scenario.earth.random_part import RandomPart
from seismo.scenario.mistakes.draft import Draft
from seismo.scenario.quantities import Mistake
from seismo.scenario.sections.grid import Boundaries, GridSpec, growing
from seismo.scenario.sections.position import GeographicPosition, Position
from seismo.scenario.sections.receivers import (
    CODE,
    FibreReceivers,
    GridReceivers,
    LineReceivers,
    PointReceivers,
)
from seismo.scenario.sections.sources import SHOT_NAME, SOURCE_NAME

Mistakes = Iterator[Mistake]
AXES = ("x", "y", "z")
_MOST_POINTS = 1e12  # more than any machine holds
_MOST_ALONG = 1e7  # points of one axis, which are listed one by one
_FARTHEST = 1e9  # spacings from zero to the origin: numbers of 16 digits keep 7 behind the point
_ROUNDING = 1e-9  # of the extent: a position typed in km may miss the face by its last bit


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
        spacing = grid.spacing.at_top(axis)
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
    for one, other in (("top", "bottom"), ("x_min", "x_max"), ("y_min", "y_max")):
        if (getattr(boundaries, one) == "periodic") != (getattr(boundaries, other) == "periodic"):
            lone, partner = (one, other) if getattr(boundaries, one) == "periodic" else (other, one)
            yield Mistake(
                ("boundaries", lone),
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


def inside(draft: Draft, path: KeyPath, axis: str, value: float | None) -> Mistakes:
    """Check that a coordinate lies inside the grid."""
    limits = draft.limits(axis)
    if value is None or limits is None:
        return
    low = limits[0]
    length = limits[1] - low
    if not low - _ROUNDING * length <= value <= low + length * (1.0 + _ROUNDING):
        problem = f"outside the grid: {axis} from {low:g} m to {low + length:g} m"
        yield Mistake(
            path, f"{problem}; move it inside, or change grid.extent.{axis} or grid.origin.{axis}"
        )


def _needed_y(draft: Draft) -> Iterator[tuple[KeyPath, float | None]]:
    """Yield where 3-D needs a y, with the y that is there."""
    if draft.grid is not None:
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
        for path, file in _files(index, model_part):
            if file.spacing is not None and not file.spacing.one_for_all:
                yield (*path, "spacing"), file.spacing.y
            if file.origin is not None:
                yield (*path, "origin"), file.origin.y


def _files(index: int, model_part: Any) -> Iterator[tuple[KeyPath, GriddedFile]]:
    if isinstance(model_part, FilePart):
        for key in PARAMETERS:
            file = getattr(model_part, key)
            if file is not None:
                yield ("model", index, key), file


def model_shapes(draft: Draft) -> Mistakes:
    """Check the order of layers and gradients, and the axes of gridded files."""
    for index, model_part in enumerate(draft.model or ()):
        if isinstance(model_part, LayersPart):
            tops = [layer.top for layer in model_part.layers]
            for number in range(1, len(tops)):
                if tops[number] <= tops[number - 1]:
                    above = f"{tops[number - 1]:g} m, the top of the layer before"
                    problem = f"layers are listed downwards: must be below {above}"
                    yield Mistake(("model", index, "layers", number, "top"), problem)
        elif isinstance(model_part, GradientPart):
            yield from _gradient(("model", index, "z_bottom"), model_part)
        for path, file in _files(index, model_part):
            yield from _file(path, file, draft.dimensions)
    limits = draft.limits("z")
    if limits and draft.model and not draft.has_topography:
        yield from _top_covered(limits[0], draft.model[0])


def _gradient(path: KeyPath, gradient: GradientPart) -> Mistakes:
    if (
        gradient.z_top is not None
        and gradient.z_bottom is not None
        and gradient.z_bottom <= gradient.z_top
    ):
        yield Mistake(path, f"must be below z_top ({gradient.z_top:g} m)")


def _top_covered(top: float, first: Any) -> Mistakes:
    counted = isinstance(first, LayersPart) and first.relative_to is None
    if counted and first.layers[0].top > top:
        problem = f"nothing fills the grid above: start at the grid's top ({top:g} m) or higher"
        yield Mistake(("model", 0, "layers", 0, "top"), problem)


def _file(path: KeyPath, file: GriddedFile, dimensions: int | None) -> Mistakes:
    suffix = PurePath(file.path).suffix.lower()
    foreign_format = None if file.format else OTHERS.get(suffix)
    if foreign_format:
        kind = foreign_format[0]
        expression = foreign_format[1].format(path=file.path, name=path[-1])
        saved = f'numpy.save("{PurePath(file.path).with_suffix(".npy")}", {expression})'
        problem = f"{kind}; models are read from .npy, HDF5, SEG-Y or raw numbers: {saved}"
        yield Mistake((*path, "path"), problem)
    elif not file.format and VOLUMES.get(suffix) == "netcdf":
        problem = "a NetCDF file; write - {type: volume, path: " + file.path + ", " + str(path[-1])
        yield Mistake((*path, "path"), problem + ": NAME OF ITS VARIABLE}")
    elif format_of(file) == "raw" and file.shape is None and (file.format or suffix):
        problem = "missing: a raw file needs its numbers of points, slowest axis first"
        if not file.format:
            problem += f"; {file.path!r} counts as one, as it ends in none of {', '.join(FORMATS)}"
        yield Mistake((*path, "shape"), problem)
    if dimensions == 2 and "y" in (file.axes or ""):
        yield Mistake((*path, "axes"), "a 2-D run has the axes x and z only")
    if file.shape is not None:
        axes = file.axes or ("z", "zx", "zyx")[len(file.shape) - 1]
        if len(axes) != len(file.shape) or (dimensions == 2 and len(file.shape) == 3):
            expected = f"one number of points for each of the axes {', '.join(file.axes or 'zx')}"
            yield Mistake((*path, "shape"), f"needs {expected}")


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


def names(draft: Draft) -> Mistakes:
    """Check that names which become groups and codes of the results are unique."""
    source_names = [getattr(source, "name", None) for source in draft.sources or ()]
    yield from _unique(("sources",), _or_default(source_names, SOURCE_NAME))
    yield from _unique(
        ("receivers",), [getattr(group, "name", None) for group in draft.receivers or ()]
    )
    if draft.output is not None:
        for key in ("snapshots", "maps"):
            output_names = [getattr(entry, "name", None) for entry in getattr(draft.output, key)]
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


def source_files(draft: Draft) -> Mistakes:
    """Check that sources with longitudes and latitudes in files have a grid on the earth, in 3-D.

    A 2-D run would take their moments per metre.
    """
    for index, source in enumerate(draft.sources or ()):
        if not hasattr(source, "acts_as"):
            continue
        if not draft.has_geographic:
            yield Mistake(
                ("sources", index, "path"),
                "needs the section 'geographic': longitude, latitude of the grid's x = 0, y = 0",
            )
        if draft.dimensions == 2:
            problem = "needs a 3-D grid: give grid.extent.y"
            yield Mistake(("sources", index, "type"), problem)
        if draft.survey is not None:
            problem = f"moves its source, and one of type {source.type} stays where its file says"
            yield Mistake(("survey",), f"{problem}: leave survey out")


def survey(draft: Draft) -> Mistakes:
    """Check that a survey has exactly one source to move."""
    count = len(draft.sources or ())
    if draft.survey is not None and count > 1:
        problem = f"a survey moves exactly one source, but there are {count}; keep one in sources"
        problem += ", and list its positions in shots; other sources are runs of their own"
        yield Mistake(("survey",), problem)
