"""Rules of the ground, and of heights above or below it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seismo.errors import KeyPath
from seismo.scenario.mistakes.draft import Draft
from seismo.scenario.quantities import Mistake
from seismo.scenario.rules.between_sections import Mistakes, positions
from seismo.scenario.sections.position import GeographicPosition, Position
from seismo.scenario.sections.receivers import GridReceivers, LineReceivers
from seismo.scenario.sections.sources import PlaneWaveSource
from seismo.scenario.sections.topography import FORMATS, heights_format

_BOTH = "says what z says: leave one of both out"
_LEVEL_IN_2D = (0.0, 180.0, -180.0, 360.0, -360.0)  # azimuths along x


def topography(draft: Draft) -> Mistakes:
    """Check that the top is the ground, and what describes it."""
    if not draft.has_topography:
        return
    if draft.boundaries is not None and draft.boundaries.top != "free_surface":
        yield Mistake(("boundaries", "top"), "topography is that of a free surface: set "
                      "top: free_surface")  # fmt: skip
    for index, source in enumerate(draft.sources or ()):
        if isinstance(source, PlaneWaveSource):
            yield Mistake(
                ("sources", index, "type"),
                "plane waves come in through rows that topography bends: use point sources, or "
                "leave topography out",
            )
    yield from _described(draft, draft.topography)


def _described(draft: Draft, section: Any) -> Mistakes:
    for path, point in _described_at(section):
        if point.y is not None and draft.dimensions == 2:
            yield Mistake((*path, "y"), "a 2-D run has no y: leave it out")
        if point.y is None and draft.dimensions == 3:
            yield Mistake((*path, "y"), "missing: a 3-D run needs y")
    kind = getattr(section, "type", "")
    if kind == "plane" and draft.dimensions == 2 and section.azimuth not in _LEVEL_IN_2D:
        yield Mistake(("topography", "azimuth"), "a 2-D run dips along x alone: give 0 or 180 deg")
    if kind != "file":
        return
    written = heights_format(section)
    if not written:
        problem = f"missing: {section.path!r} ends in none of {', '.join(FORMATS)}"
        yield Mistake(("topography", "format"), f"{problem}; give it")
    of_npy = ("spacing", "origin")
    keys = {"variable": "netcdf", "coordinates": "xyz", **dict.fromkeys(of_npy, "npy")}
    for key, wanted in keys.items():
        if written and written != wanted and getattr(section, key) is not None:
            problem = f"is of {wanted} files, and this is one of {written}: leave it out"
            yield Mistake(("topography", key), problem)
    if section.crs is not None and not draft.has_geographic:
        problem = "needs the section 'geographic': longitude, latitude of the grid's x = 0, y = 0"
        yield Mistake(("topography", "crs"), problem)
    if section.crs is not None and section.coordinates == "degrees":
        yield Mistake(("topography", "crs"), "is one of metres: leave it or coordinates out")


def _described_at(section: Any) -> Iterator[tuple[KeyPath, Any]]:
    """Yield the places that describe the ground, with their paths."""
    for number, hill in enumerate(getattr(section, "hills", ())):
        yield ("topography", "hills", number, "center"), hill.center
    if getattr(section, "through", None) is not None:
        yield ("topography", "through"), section.through


def heights(draft: Draft) -> Mistakes:
    """Check that positions have one of z and depth; over topography receivers need none."""
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
    """Yield what has z or depth: positions, and receivers on a grid of their own."""
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
    """Return by what key a position has its height."""
    return next((key for key in ("z", "depth") if getattr(position, key) is not None), "")


RULES = (topography, heights, lines)
