"""Checks that gridded model files fit the region: a line for each that does not.

Beyond its edges a file's outermost values go on (`seismo.model.gridded`). That is meant for
half a cell, not for half a region: there the file's axes, spacing or origin are likely wrong. So
they are where a file that reaches further would fit the region exactly if it were read otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import permutations

import numpy as np

from seismo.model.gridded import Gridded, GridField
from seismo.model.parts import (
    Body,
    DepthProfile,
    Water,
)
from seismo.model.volume import Volume
from seismo.runs.prediction.lines import WarningLines
from seismo.solver.discretization import Discretization

_SAMPLED = {2: 201, 3: 41}  # points along each axis, to find parts painted over
_SHAPES = {"z": (-1, 1, 1), "y": (-1, 1), "x": (-1,)}
_SLACK = 1.0 + 1e-6  # cells
_FAR = 10.0  # times the region is as far as a file reaches by intention
_ALIKE = 1.1  # times that reaches beyond the region differ at most


def uncovered(discretization: Discretization) -> WarningLines:
    """Name each file that leaves more than a cell beyond its edges, and why it may."""
    region = {axis: discretization.grid.limits(axis) for axis in discretization.grid.axes}
    for k, name, field in _fields(discretization):
        short = [axis for axis in "xyz" if axis in field.axes and _beyond(field, region, axis)]
        share = _share(discretization, k, name, field, region) if short else 0.0
        if share > 0.0:
            along = " and ".join(
                f"{axis} = {_reach(field.reach(axis))} of {_reach(region[axis])}" for axis in short
            )
            yield (
                f"{_named(discretization, k, name, field)} covers {along}: {share:.3g} % of the "
                "region takes the values of its edges; "
                f"{_remedy(discretization, k, name, field, region)}"
            )


def outside(discretization: Discretization) -> WarningLines:
    """Name each volume that takes the values of its edges outside its file."""
    region = {axis: discretization.grid.limits(axis) for axis in discretization.grid.axes}
    count = _SAMPLED[discretization.grid.dimensions]
    ticks = {a: np.linspace(*region[a], count).reshape(_SHAPES[a]) for a in region}
    for k, model_part in enumerate(discretization.earth.model_parts):
        if not isinstance(model_part, Volume) or model_part.outside != "nearest":
            continue
        points = discretization.earth.frame.points((ticks["z"], ticks.get("y"), ticks["x"]))
        share = 100.0 * model_part.share_outside(*points.of_part(k))
        if share > 0.0:
            yield (
                f"{discretization.scenario.named('model', k)}: {model_part.source} has "
                f"{model_part.described()}; {share:.3g} % of the region takes values of its edges"
            )


def otherwise(discretization: Discretization) -> WarningLines:
    """Name each file that reaches beyond the region, but fits it if read in another way."""
    region = {axis: discretization.grid.limits(axis) for axis in discretization.grid.axes}
    for k, name, field in _fields(discretization):
        meant = _too_far(field, region) if field.spaced else _finer(field, region)
        problem = field.doubt or _flattened(field, region) or meant
        if problem:
            yield f"{_named(discretization, k, name, field)} {problem}"


def _flattened(field: GridField, region: Mapping[str, tuple[float, float]]) -> str:
    step = field.spacing[0]
    points = [round((last - first) / step) + 1 for first, last in region.values()]
    if len(field.axes) > 1 or len(points) == 1 or field.samples.size != np.prod(points):
        return ""
    return (
        f"has {field.samples.size} values along {field.axes}, as many as the region has points "
        f"{step:g} m apart ({' x '.join(map(str, points))}); if it was flattened, save it as it was"
    )


def _other_unit(field: GridField, region: Mapping[str, tuple[float, float]], factor: float) -> str:
    """Write the spacing in another unit with which a file would cover the region, if it does."""
    for axis, count, step in zip(field.axes, field.samples.shape, field.spacing, strict=True):
        first, last = region[axis]
        if not last - first - step * factor <= (count - 1) * step * factor <= _FAR * (last - first):
            return ""
    steps = zip(field.axes[::-1], field.spacing[::-1], strict=True)
    return f"{{{', '.join(f'{axis}: {factor * step:.6g} m' for axis, step in steps)}}}"


def _too_far(field: GridField, region: Mapping[str, tuple[float, float]]) -> str:
    meant = _other_unit(field, region, 1e-3)
    if not meant:
        return ""
    reach = min(np.ptp(field.reach(axis)) / np.ptp(region[axis]) for axis in field.axes)
    return (
        f"reaches {reach:.3g} times as far as the region: its spacing seems to be in m, not km; "
        f"write {meant}, which covers the region"
    )


def _finer(field: GridField, region: Mapping[str, tuple[float, float]]) -> str:
    reaches = [np.ptp(field.reach(axis)) / np.ptp(region[axis]) for axis in field.axes]
    if len(reaches) == 1 or min(reaches) < _ALIKE or max(reaches) > _ALIKE * min(reaches):
        return ""
    return (
        f"reaches {reaches[0]:.3g} times as far as the region along all of its axes; if its points "
        "are closer together than the grid's, whose spacing is taken, give it: "
        f"{_fitting(field, region)} fill the region"
    )


def _named(discretization: Discretization, k: int, name: str, field: GridField) -> str:
    return f"{discretization.scenario.named('model', k, name)}: {field.source}"


def _fields(discretization: Discretization) -> Iterator[tuple[int, str, GridField]]:
    for k, model_part in enumerate(discretization.earth.model_parts):
        if isinstance(model_part, Gridded):
            yield from (
                (k, n, model_part.grids[n])
                for n in discretization.earth.needs
                if n in model_part.grids
            )


def _beyond(field: GridField, region: Mapping[str, tuple[float, float]], axis: str) -> bool:
    (low, high) = field.reach(axis)
    (first, last) = region[axis]
    cell = field.spacing[field.axes.index(axis)]
    return max(low - first, last - high) > _SLACK * cell


def _share(
    discretization: Discretization,
    k: int,
    name: str,
    field: GridField,
    region: Mapping[str, tuple[float, float]],
) -> float:
    """Return how much (%) of the region lies beyond a file and in no part after it."""
    covered = 1.0
    count = _SAMPLED[discretization.grid.dimensions]
    ticks = {a: np.linspace(*region[a], count).reshape(_SHAPES[a]) for a in region}
    outside = np.zeros(np.broadcast_shapes(*(tick.shape for tick in ticks.values())), bool)
    for axis in field.axes:
        (low, high) = field.reach(axis)
        (first, last) = region[axis]
        covered *= max(0.0, min(high, last) - max(low, first)) / (last - first)
        outside |= (ticks[axis] < low) | (ticks[axis] > high)
    later = {name: np.full(outside.shape, np.nan)}
    for model_part in discretization.earth.model_parts[k + 1 :]:
        model_part.paint(later, ticks["z"], ticks.get("y"), ticks["x"])
    return 100.0 * (1.0 - covered) * float(np.isnan(later[name][outside]).mean())


def _remedy(
    discretization: Discretization,
    k: int,
    name: str,
    field: GridField,
    region: Mapping[str, tuple[float, float]],
) -> str:
    section = discretization.scenario.model[k]
    points = dict(zip(field.axes, field.samples.shape, strict=True))
    needed = {
        axis: (last - first) / field.spacing[field.axes.index(axis)] - _SLACK + 1.0
        for axis, (first, last) in region.items()
        if axis in field.axes
    }
    if field.spaced and (meant := _other_unit(field, region, 1e3)):
        return f"its spacing seems to be in km: write {meant}, which covers the region"
    written = (section if section.type == "array" else getattr(section, name)).axes or field.axes
    for turned in permutations(written):
        if all(points[a] >= needed[b] for a, b in zip(written, turned, strict=True)):
            if "".join(turned) == written:
                return f"check its origin ({_first_coordinates(field)})"
            return f"if it is transposed, give axes: {''.join(turned)}"
    if not field.spaced and min(points.values()) > 1:
        fitting = _fitting(field, region)
        return f"give its spacing (the grid's is taken; {fitting} fill the region), or extend it"
    return "check its spacing and origin, or extend it"


def _fitting(field: GridField, region: Mapping[str, tuple[float, float]]) -> str:
    """Write the spacing of a file's points that fill the region."""
    points = dict(zip(field.axes, field.samples.shape, strict=True))
    steps = {a: (region[a][1] - region[a][0]) / (points[a] - 1) for a in field.axes[::-1]}
    return f"{{{', '.join(f'{axis}: {step:.4g} m' for axis, step in steps.items())}}}"


def _first_coordinates(field: GridField) -> str:
    return ", ".join(f"{a} = {field.reach(a)[0]:.6g} m" for a in field.axes[::-1])


def _reach(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.6g} to {ends[1]:.6g} m"


def bodies_outside(discretization: Discretization) -> WarningLines:
    """A body beyond the grid changes nothing; in the absorbing layers the edge goes on."""
    for k, body in enumerate(discretization.earth.model_parts):
        if not isinstance(body, Body | Water):
            continue
        for axis in discretization.grid.axes:
            low, high = body.extent.get(axis) or (-math.inf, math.inf)
            first, last = discretization.grid.limits(axis)
            if axis == "z" and discretization.ground is not None:
                first = discretization.ground.highest
            if low > last or high < first:
                far = f"begins at {axis} = {low:.6g} m, beyond the grid, which ends at {last:.6g} m"
                before = (
                    f"ends at {axis} = {high:.6g} m, before the grid, which begins at {first:g} m"
                )
                yield (
                    f"{discretization.scenario.named('model', k)}: "
                    f"the {discretization.scenario.model[k].type} "
                    f"{far if low > last else before}: it changes nothing; move it, or the grid"
                )
                break


def contacts_below(discretization: Discretization) -> WarningLines:
    """Layers below an absorbing bottom send nothing back, which they would within the run."""
    profiles = [
        (k, profile)
        for k, profile in enumerate(discretization.earth.model_parts)
        if isinstance(profile, DepthProfile)
    ]
    is_open = discretization.scenario.boundaries.bottom == "absorbing"
    if not (profiles and discretization.groups and is_open) or discretization.ground is not None:
        return
    k, profile = profiles[-1]
    bottom = discretization.grid.limits("z")[1]
    sources = [source for shot in discretization.shots for source in shot.sources]
    if not all(source.is_local for source in sources):
        return
    acting, reading = (
        max(depths)
        for depths in (
            [source.position[2] for source in sources],
            [group.all_positions[:, 2].max() for group in discretization.groups],
        )
    )
    start = min(source.start for source in sources)
    waves = discretization.waves
    depth = min((jump for jump in profile.jumps if jump > bottom), default=math.inf)
    back = start + (2.0 * depth - acting - reading) / waves.fastest
    if back < waves.duration:
        yield (
            f"{discretization.scenario.named('model', k)}: a contact at z = {depth:.6g} m, "
            f"below the grid, which ends at {bottom:.6g} m, would send waves back from "
            f"t = {back:.3g} s on; traces lack them: enlarge grid.extent, if they matter"
        )
