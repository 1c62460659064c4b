"""Checks of numbers in the model: lengths meant in km, percents, radians, corners in a wrong order.

Thin beds and walls are drawn on purpose, so that a single length has to be much less than a cell.
All depths of a part within a cell, or a body within half a cell, are no drawing of anything.

Inside a polygon is where an odd number of edges lies above (`seismo.model.parts.Polygon`): of a
figure of eight half of the box is left, and of an outline that goes round twice nothing.

Thomsen's and Tsvankin's parameters are plain numbers, and angles are in degrees: an epsilon of 2
was 2 %, and where every tilt is a degree or so they were radians.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from seismo.equations.framework.parameters import EPSILON, GAMMA, THETA, TSVANKIN
from seismo.errors import KeyPath
from seismo.model.parts import DepthProfile
from seismo.runs.prediction.lines import WarningLines
from seismo.scenario.model_parts import (
    BlockPart,
    InterfacePart,
    OutlinePoint,
    PolygonPart,
    SpherePart,
    WaterPart,
    rock_sections,
)
from seismo.scenario.units import meant_in_km
from seismo.solver.discretization import Discretization

_KM = 1e3  # m
# Of the spacing:
_LEAST = 0.1  # of a length
_LEAST_BODY = 0.5  # of the longest side of a body
_LEAST_DEPTHS = 1.0  # of all depths of a part, where they lie in the grid as km
_LEAST_REACH = 2.0  # of all coordinates of an interface
_THOMSEN = (EPSILON.name, GAMMA.name, *(parameter.name for parameter in TSVANKIN))
_MOST_THOMSEN = 1.0  # of rock: waves along layers 1.7 times as fast as across them
_RIGHT_ANGLE = math.pi / 2.0  # rad


class _Length(NamedTuple):
    """A length in m, its key and kind, and how many spacings it has at least."""

    path: KeyPath
    kind: str
    length: float
    least: float = _LEAST


def tiny_lengths(discretization: Discretization) -> WarningLines:
    """Name lengths far below the spacing, and ask for their unit."""
    scenario = discretization.scenario
    spacing = _spacing(discretization)
    for path, kind, length, least in _lengths(discretization):
        if 0.0 < length < least * spacing:
            remedy = meant_in_km(length, spacing) or "check its unit"
            yield (
                f"{scenario.named(*path)}: {kind} of {length:.6g} m, in a grid with points "
                f"every {spacing:.6g} m; {remedy}"
            )


def percents(discretization: Discretization) -> WarningLines:
    """Name anisotropy stronger than that of any rock, and ask whether it is in percent."""
    for path, name, value in _given_sizes(discretization, _THOMSEN):
        if value > _MOST_THOMSEN:
            yield (
                f"{discretization.scenario.named(*path, name)}: {value:g}: rocks have less than "
                f"{_MOST_THOMSEN:g}; write {value / 100.0:g} if it is in percent"
            )


def radians(discretization: Discretization) -> WarningLines:
    """Name tilts none of which is more than a degree or so, and ask whether they are in radians."""
    tilts = [tilt for tilt in _given_sizes(discretization, (THETA.name,)) if tilt[-1] > 0.0]
    path, name, largest = max(tilts, key=lambda tilt: tilt[-1], default=((), "", 0.0))
    if 0.0 < largest <= _RIGHT_ANGLE:
        yield (
            f"{discretization.scenario.named(*path, name)}: a tilt of {largest:g} degrees changes "
            f"hardly anything; if it is in radians, write {math.degrees(largest):.4g}"
        )


def _given_sizes(
    discretization: Discretization, names: Sequence[str]
) -> Iterator[tuple[KeyPath, str, float]]:
    """Yield keys of parts and layers, parameters and the largest size of their values."""
    for path, section in rock_sections(discretization.scenario.model):
        for name in names:
            value = getattr(section, name, None)
            ends = (getattr(value, "top", value), getattr(value, "bottom", value))
            numbers = [abs(end) for end in ends if isinstance(end, int | float)]
            if numbers:
                yield path, name, max(numbers)


def _lengths(discretization: Discretization) -> Iterator[_Length]:
    for number, section in enumerate(discretization.scenario.model):
        path = ("model", number)
        profile = discretization.earth.model_parts[number]
        if isinstance(profile, DepthProfile):
            yield from _depths(discretization, number, profile.listed, profile.tops.tolist())
        elif isinstance(section, InterfacePart):
            reach = max(abs(coordinate) for point in section.points for coordinate in point)
            yield _Length((*path, "points"), "coordinates", reach, _LEAST_REACH)
        elif isinstance(section, PolygonPart):
            short, long = sorted(np.ptp(section.points, axis=0).tolist())
            yield _Length((*path, "points"), "a longest side", long, _LEAST_BODY)
            if long >= _LEAST_BODY * _spacing(discretization):
                yield _Length((*path, "points"), "a side", short)
        elif isinstance(section, SpherePart):
            yield _Length((*path, "radius"), "a radius", section.radius, 0.5 * _LEAST_BODY)
        elif isinstance(section, BlockPart):
            ends = ((axis, getattr(section, axis)) for axis in "xyz")
            sides = {axis: both[1] - both[0] for axis, both in ends if both}
            is_small = len(sides) == discretization.grid.dimensions
            is_small = is_small and max(sides.values()) < _LEAST_BODY * _spacing(discretization)
            least = _LEAST_BODY if is_small else _LEAST
            yield from (_Length((*path, a), "a side", side, least) for a, side in sides.items())
        elif isinstance(section, WaterPart):
            yield _Length((*path, "depth"), "a depth", section.depth - _top(discretization))
    for number, hill in enumerate(
        getattr(discretization.scenario.section("topography"), "hills", ())
    ):
        yield _Length(("topography", "hills", number, "width"), "a width", hill.width)


def _depths(
    discretization: Discretization, number: int, listed: str, tops: list[float]
) -> Iterator[_Length]:
    """Yield the range of a profile's depths, with the grid's top where they count from there."""
    section: Any = discretization.scenario.model[number]
    key = listed or ("z_top" if section.z_bottom is None else "z_bottom")
    if not listed:
        tops = [z for z in (section.z_top, section.z_bottom) if z is not None]
    if number in discretization.earth.frame.below_ground:
        tops = [0.0, *tops]
    elif discretization.ground is None:
        tops = [_top(discretization), *tops]
    depths = sorted(set(tops))
    if len(depths) > 1:
        first, last = discretization.grid.limits("z")
        in_km = _KM * (depths[1] - depths[0])
        least = _LEAST_DEPTHS if in_km <= last - first else _LEAST
        yield _Length(("model", number, key), "a range of depths", depths[-1] - depths[0], least)


def _top(discretization: Discretization) -> float:
    """Return z in m of the grid's top, over topography of the highest ground."""
    return (
        discretization.grid.limits("z")[0]
        if discretization.ground is None
        else discretization.ground.highest
    )


def _spacing(discretization: Discretization) -> float:
    return min(filter(None, map(discretization.scenario.grid.spacing.at_top, "xyz")))


_ROUNDING = 1e-12  # of the square of an outline's size


def outlines(discretization: Discretization) -> WarningLines:
    """Name edges of polygons that cross each other, or occur twice."""
    for number, section in enumerate(discretization.scenario.model):
        if isinstance(section, PolygonPart):
            named = discretization.scenario.named("model", number, "points")
            for problem in filter(None, (_twice(section.points), _crossing(section.points))):
                yield f"{named}: {problem}"


def _twice(points: Sequence[OutlinePoint]) -> str:
    """Describe an edge that is listed twice in the same direction, if any is."""
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
    first_edge, other = (_written(edges[k]) for k in pairs[0])
    more = f", and {len(pairs) - 1} more pairs" if len(pairs) > 1 else ""
    return (
        f"the edges {first_edge} and {other} cross{more}: parts between crossing edges lie outside "
        "of the polygon; list the corners one after the other around it"
    )


def _edges(points: Sequence[OutlinePoint]) -> list[tuple[OutlinePoint, OutlinePoint]]:
    return list(zip(points, (*points[1:], points[0]), strict=True))


def _written(edge: tuple[OutlinePoint, ...]) -> str:
    return " to ".join(f"[{x:.6g}, {z:.6g}]" for x, z in edge)
