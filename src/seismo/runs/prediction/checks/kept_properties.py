"""What rock of a model's later parts keeps of the rock that they lie over.

A part sets what it names. One that gives the velocities is another rock, most likely, and one that
leaves out epsilon, or qp, keeps those of the rock beneath: salt in shale is then as anisotropic as
the shale. That may be meant, so it is a line of `seismo check`, and no error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from seismo.equations.framework.registry import PARAMETERS
from seismo.model.bodies import Block, Polygon, Sphere
from seismo.model.layered import DepthProfile, EarthPart, Uniform
from seismo.runs.prediction.checks.timing import WarningLines
from seismo.solver.discretization import Discretization

_SAMPLED = {2: 81, 3: 25}  # points along each axis, besides the middle of the part
_SHAPES = {"z": (-1, 1, 1), "y": (-1, 1), "x": (-1,)}
_VELOCITIES = ("vp", "vs")


def kept(discretization: Discretization) -> WarningLines:
    """Name each part that gives velocities, and keeps other properties of the rock beneath."""
    earth = discretization.earth
    takes = earth.conversion.takes if earth.conversion else earth.needs
    optional = [name for name in takes if PARAMETERS[name].default is not None]
    for k, model_part in enumerate(earth.model_parts[1:], 1):
        named = _named(model_part)
        is_rock = all(name in named for name in _VELOCITIES if name in takes)
        unset = [name for name in optional if name not in named] if is_rock else []
        ranges = _beneath(discretization, k, unset) if unset else {}
        if not any(np.any(named[name]) for name in optional if name in named and not _turns(name)):
            ranges = ranges if not all(map(_turns, ranges)) else {}  # an axis of isotropic rock
        if not ranges:
            continue
        keeps = ", ".join(f"{name} {_range(*ends)}" for name, ends in ranges.items())
        without = ", ".join(f"{name}: {_default(name)}" for name in ranges)
        yield (
            f"{discretization.scenario.named('model', k)}: gives velocities, and keeps "
            f"{keeps} of the rock that it lies over; give {without} for rock without, or its own"
        )


def _named(model_part: EarthPart) -> Mapping[str, Any]:
    """Return the parameters of a part that is drawn over others, none of a file's or of water."""
    if isinstance(model_part, DepthProfile):
        return model_part.at_tops
    if isinstance(model_part, Uniform | Block | Sphere | Polygon):
        return model_part.properties
    return {}


def _turns(name: str) -> bool:
    return PARAMETERS[name].unit == "deg"


def _beneath(
    discretization: Discretization, k: int, names: list[str]
) -> dict[str, tuple[float, float]]:
    """Return the least and largest values of parameters that a part lies over and no later sets."""
    ticks = _ticks(discretization, discretization.earth.model_parts[k])
    coordinates = (ticks["z"], ticks.get("y"), ticks["x"])
    shape = np.broadcast_shapes(*(c.shape for c in ticks.values()))

    def painted(
        model_parts: tuple[EarthPart, ...], start: Mapping[str, float]
    ) -> dict[str, np.ndarray]:
        fields = {name: np.full(shape, value) for name, value in start.items()}
        for model_part in model_parts:
            model_part.paint(fields, *coordinates)
        return fields

    unset = dict.fromkeys([*names, "vp"], np.nan)
    model_parts = discretization.earth.model_parts
    before = painted(model_parts[:k], {name: PARAMETERS[name].start for name in names})
    current = painted((model_parts[k],), unset)
    later = painted(model_parts[k + 1 :], unset)
    ranges = {}
    for name in names:
        remains = ~np.isnan(current["vp"]) & np.isnan(later["vp"]) & np.isnan(later[name])
        samples = before[name][remains & (before[name] != PARAMETERS[name].default)]
        if samples.size:
            ranges[name] = (float(samples.min()), float(samples.max()))
    return ranges


def _ticks(discretization: Discretization, model_part: EarthPart) -> dict[str, np.ndarray]:
    """Return coordinates in m by axis: over the region, and the middle of a part."""
    extent = getattr(model_part, "extent", {})
    ticks = {}
    for axis in discretization.grid.axes:
        low, high = discretization.grid.limits(axis)
        even = np.linspace(low, high, _SAMPLED[discretization.grid.dimensions])
        middle = np.clip(np.mean(extent.get(axis) or (low, high)), low, high)
        ticks[axis] = np.append(even, middle).reshape(_SHAPES[axis])
    return ticks


def _range(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _default(name: str) -> str:
    default = PARAMETERS[name].default
    return ".inf" if default == np.inf else f"{default:g}"
