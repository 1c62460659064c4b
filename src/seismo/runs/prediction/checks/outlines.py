"""Outlines of polygons whose corners are in a wrong order: edges that cross, or are listed twice.

Inside is where an odd number of edges lies above (`seismo.model.bodies.Polygon`): of a figure of
eight half of the box is left, and of an outline that goes round twice nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seismo.runs.prediction.checks.timing import WarningLines
from seismo.scenario.earth.model_parts import OutlinePoint, PolygonPart
from seismo.solver.discretization import Discretization

_ROUNDING = 1e-12  # of the square of an outline's size


def outlines(discretization: Discretization) -> WarningLines:
    """Name edges of polygons that cross one another, or are there twice."""
    for number, section in enumerate(discretization.scenario.model):
        if isinstance(section, PolygonPart):
            named = discretization.scenario.named("model", number, "points")
            for problem in filter(None, (_twice(section.points), _crossing(section.points))):
                yield f"{named}: {problem}"


def _twice(points: Sequence[OutlinePoint]) -> str:
    """Describe an edge that is listed twice in one direction, if any is."""
    edges = [pair for pair in _edges(points) if pair[0] != pair[1]]
    repeated = next((pair for n, pair in enumerate(edges) if pair in edges[:n]), None)
    if repeated is None:
        return ""
    return (
        f"the edge {_written(repeated)} is there twice: what an outline goes round twice lies "
        "outside of it; list each corner once"
    )


def _crossing(points: Sequence[OutlinePoint]) -> str:
    """Describe the first two edges that cross between their ends, if any do."""
    edges = _edges(points)
    first, last = np.array(edges, float).transpose(1, 0, 2)
    along = (last - first)[:, None]
    sides = []
    for ends in (first, last):
        to_end = ends[None] - first[:, None]
        area = along[..., 0] * to_end[..., 1] - along[..., 1] * to_end[..., 0]
        sides.append(np.where(np.abs(area) > _ROUNDING * np.ptp(first, axis=0).max() ** 2, area, 0))
    parted = np.sign(sides[0]) * np.sign(sides[1]) < 0.0
    pairs = np.argwhere(np.triu(parted & parted.T))
    if not pairs.size:
        return ""
    one, other = (_written(edges[k]) for k in pairs[0])
    more = f", and {len(pairs) - 1} more pairs" if len(pairs) > 1 else ""
    return (
        f"the edges {one} and {other} cross{more}: parts between crossing edges lie outside of the "
        "polygon; list the corners one after the other around it"
    )


def _edges(points: Sequence[OutlinePoint]) -> list[tuple[OutlinePoint, OutlinePoint]]:
    return list(zip(points, (*points[1:], points[0]), strict=True))


def _written(edge: tuple[OutlinePoint, ...]) -> str:
    return " to ".join(f"[{x:.6g}, {z:.6g}]" for x, z in edge)
