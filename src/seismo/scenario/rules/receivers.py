"""Rules between the keys of a set of receivers."""

from __future__ import annotations

import math
from typing import Any

from seismo.scenario.mistakes.draft import Draft
from seismo.scenario.quantities import Mistake
from seismo.scenario.rules.between_sections import (
    AXES,
    Mistakes,
    inside,
)
from seismo.scenario.sections.position import GeographicPosition
from seismo.scenario.sections.receivers import (
    MOST_RECEIVERS,
    FibreReceivers,
    GridReceivers,
)

_OF_MOVING = ("relative_depth", "outside")  # keys that say how receivers move


def fibres(draft: Draft) -> Mistakes:
    """Check that each fibre has either its points or a file of them."""
    for index, group in enumerate(draft.receivers or ()):
        if isinstance(group, FibreReceivers) and (group.points is None) == (group.path is None):
            problem = "missing: give the points of the fibre, or path, a file of them"
            if group.path is not None:
                problem = "a fibre has its points here, or in a file: leave points or path out"
            yield Mistake(("receivers", index, "points"), problem)


def grids(draft: Draft) -> Mistakes:
    """Check the ranges of receivers that lie on a regular grid of their own."""
    for index, group in enumerate(draft.receivers or ()):
        if not isinstance(group, GridReceivers):
            continue
        count = math.prod(ticks[2] for ticks in (group.x, group.y, group.z, group.depth) if ticks)
        if count > MOST_RECEIVERS:
            problem = f"makes {count} receivers, {MOST_RECEIVERS} is the limit; take fewer"
            yield Mistake(("receivers", index, "x"), problem)
        for axis in AXES:
            ticks = None if axis in group.offset_axes else getattr(group, axis)
            for end in (0, 1) if ticks and ticks[2] > 1 else (0,):
                value = ticks[end] if ticks else None
                yield from inside(draft, ("receivers", index, axis, end), axis, value)


def moving(draft: Draft) -> Mistakes:
    """Check that receivers which move with the shots have one source to count from."""
    for index, group in enumerate(draft.receivers or ()):
        path = ("receivers", index)
        if group is None or isinstance(group, FibreReceivers):
            continue
        if not group.moves:
            for key in _OF_MOVING:
                if getattr(group, key) is not None:
                    problem = "says how receivers move: add relative_to: source, or leave it out"
                    yield Mistake((*path, key), problem)
            continue
        if problem := _without_origin(draft.sources):
            yield Mistake((*path, "relative_to"), problem)
        for number, point in enumerate(getattr(group, "positions", ())):
            if isinstance(point, GeographicPosition):
                yield Mistake(
                    (*path, "positions", number, "longitude"),
                    "is a place, where relative_to: source needs an offset: give x, (y,) z in m, "
                    "or leave relative_to out",
                )


def _without_origin(sources: tuple[Any, ...] | None) -> str:
    """Return why no source can be counted from; "" where one can."""
    if sources is None:
        return ""
    if len(sources) != 1:
        return (
            f"needs one source to count from, and there are {len(sources)}, which act together; "
            "keep one in sources, or leave relative_to out and write places"
        )
    if getattr(sources[0], "type", "") == "finite_fault":
        return (
            "needs a source at a point, and a finite fault is none; leave relative_to out and "
            "write places"
        )
    return ""
