"""Checks of the parts of a model: hidden ones, properties kept from below, and properties unused.

Hidden parts: later parts cover them, or nothing is inside. Each part is asked at points spread over
its box whether it, or a part after it, gives the rock. Few points show almost all parts; more are
taken of a part that they do not show.

Kept properties: a part sets the properties that it names. A part that gives the velocities is
another rock, most likely, and if it leaves out epsilon, or qp, it keeps them of the rock beneath:
salt in shale is then as anisotropic as the shale. That may be meant, so it is a line of `seismo
check`, and no error.

Unused properties: every part may give every property, whatever the physics. A property that the
equation does not take is named wherever it could change anything: a density that varies, or is
perturbed, and any other property that is neither 0 nor its default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from seismo.equations.framework.parameters import RHO
from seismo.equations.framework.registry import (
    EQUATIONS,
    PARAMETERS,
    PHYSICS,
    parameters_of_physics,
)
from seismo.errors import ModelError
from seismo.grid.grid import Bounds
from seismo.model.earth import PlacedPoints
from seismo.model.gridded import Gridded
from seismo.model.parts import (
    Block,
    Body,
    DepthProfile,
    EarthPart,
    Polygon,
    Sphere,
    Uniform,
    Water,
)
from seismo.model.random_medium import RandomMedium
from seismo.model.volume import Volume
from seismo.runs.prediction.lines import WarningLines
from seismo.solver.discretization import Discretization

_COUNTS = {2: (8, 32, 200), 3: (4, 10, 40)}  # points along each axis of a part's box
_NOBODY = -1
_OF_WATER = ("vp", "vs", "rho")  # that are its own; it has the defaults of others
_Shaped = Body | Water
PartBox = Mapping[str, tuple[float, float]]


def hidden_parts(discretization: Discretization) -> WarningLines:
    """Name each part of the model that changes nothing, and the parts that cover it."""
    boxes = [_box(discretization, model_part) for model_part in discretization.earth.model_parts]
    for number, model_part in enumerate(discretization.earth.model_parts):
        try:
            owners = _owners(discretization, number, boxes)
        except ModelError:  # a file has no values between the points of the grid
            continue
        is_shaped = isinstance(model_part, _Shaped)
        if owners is None or not (owners or is_shaped):
            continue
        named = discretization.scenario.named("model", number)
        if not owners:
            problem = _nothing(
                discretization, model_part, discretization.scenario.model[number].type
            )
            yield f"{named}: {problem}"
        elif is_shaped or _is_whole(discretization, owners):
            covers = " and ".join(discretization.scenario.named("model", k) for k in owners)
            verb = "covers" if len(owners) == 1 else "cover"
            remedy = _where_it_belongs(discretization, model_part, owners)
            yield f"{covers} {verb} all of {named}: it changes nothing; {remedy}"


def _box(discretization: Discretization, model_part: EarthPart) -> PartBox | None:
    """Return the part of the grid about a part of the model.

    None of a body outside the grid (`seismo.runs.prediction.checks.coverage`), and of random media,
    which give no rock.
    """
    if isinstance(model_part, RandomMedium):
        return None
    box = {axis: discretization.grid.limits(axis) for axis in discretization.grid.axes}
    if discretization.ground is not None:
        box["z"] = (discretization.ground.highest, box["z"][1])
    if isinstance(model_part, _Shaped):
        for axis in box:
            low, high = model_part.extent.get(axis) or box[axis]
            box[axis] = (max(low, box[axis][0]), min(high, box[axis][1]))
    return box if all(low <= high for low, high in box.values()) else None


def _owners(
    discretization: Discretization, number: int, boxes: Sequence[PartBox | None]
) -> list[int] | None:
    """Return the later parts that cover all of a part; none where it has no inside.

    None where a part of it is left, or where no wave feels its parameters.
    """
    earth = discretization.earth
    names = earth.conversion.takes if earth.conversion else earth.needs
    model_part = earth.model_parts[number]
    if isinstance(model_part, _Shaped):
        own_names = _OF_WATER if isinstance(model_part, Water) else model_part.properties
        names = tuple(name for name in names if name in own_names)
    box = boxes[number]
    if not names or box is None:
        return None
    # Later parts that come near it; most bodies of many do not.
    later = [k for k, other in enumerate(boxes) if k >= number and other and _meet(box, other)]
    covering: set[int] = set()
    for count in _COUNTS[discretization.grid.dimensions]:
        points = _points(discretization, box, count)
        covered_by = {name: np.full(points.coordinates[0].shape, _NOBODY) for name in names}
        for k in later:
            _mark(covered_by, earth.model_parts[k], k, points.of_part(k), number)
        owners = set(np.unique(np.array(list(covered_by.values()))).tolist()) - {_NOBODY}
        if number in owners:
            return None
        covering |= owners
    return sorted(covering)


def _meet(box: PartBox, other: PartBox) -> bool:
    return all(
        low <= other[axis][1] and other[axis][0] <= high for axis, (low, high) in box.items()
    )


def _mark(
    covered_by: dict[str, np.ndarray],
    model_part: EarthPart,
    k: int,
    coordinates: Bounds,
    number: int,
) -> None:
    """Write the number of a part where it gives parameters, of a later part where it is the first.

    So layers that bodies lie in cover all by themselves.
    """
    fields = {name: np.full(owner.shape, np.nan) for name, owner in covered_by.items()}
    model_part.paint(fields, *coordinates)
    for name, samples in fields.items():
        covered_by[name][~np.isnan(samples) & ((k == number) | (covered_by[name] == number))] = k


def _points(discretization: Discretization, box: PartBox, count: int) -> PlacedPoints:
    """Return points spread over a box, under the ground."""
    ticks = {axis: _ticks(discretization, axis, *ends, count) for axis, ends in box.items()}
    grids = np.meshgrid(*ticks.values(), indexing="ij")
    along = dict(zip(ticks, (grid.ravel() for grid in grids), strict=True))
    frame = discretization.earth.frame
    if frame.topography is not None:
        is_ground = along["z"] >= frame.ground(along.get("y"), along["x"], None)
        along = {axis: grid[is_ground] for axis, grid in along.items()}
    return PlacedPoints(frame, (along["z"], along.get("y"), along["x"]))


def _ticks(
    discretization: Discretization, axis: str, low: float, high: float, count: int
) -> np.ndarray:
    """Return coordinates between two ends: where averages are not taken, nodes of the grid."""
    if discretization.scenario.averaging == "point" and not (
        axis == "z" and discretization.ground is not None
    ):
        first, last = discretization.grid.index(axis, np.array([low, high]))
        halves = np.arange(np.ceil(2.0 * first - 1e-6), np.floor(2.0 * last + 1e-6) + 1.0)
        return discretization.grid.coordinate(axis, 0.5 * halves[:: max(1, len(halves) // count)])
    return low + (high - low) * (np.arange(count) + 0.5) / count


def _nothing(discretization: Discretization, model_part: EarthPart, kind: str) -> str:
    """Describe the mistake in a part inside of which no point lies."""
    if discretization.scenario.averaging == "point" and isinstance(model_part, Block | Sphere):
        problem = "no point of the grid lies inside of"
        return (
            f"{problem} the {kind}: it changes nothing; use averaging: effective, or a finer grid"
        )
    lengths = "points" if isinstance(model_part, Polygon) else "lengths"
    ground = "" if discretization.ground is None else ", and that it lies under the ground"
    return f"nothing lies inside of the {kind}: it changes nothing; check its {lengths}{ground}"


def _is_whole(discretization: Discretization, owners: Sequence[int]) -> bool:
    """Whether a covering part has values everywhere; others may lie over a background."""
    return len(owners) == 1 and isinstance(
        discretization.earth.model_parts[owners[0]], Uniform | DepthProfile
    )


def _where_it_belongs(
    discretization: Discretization, model_part: EarthPart, owners: Sequence[int]
) -> str:
    """Return where a part belongs; layers and the like that cover it have no upper end."""
    over = owners[-1]
    tops = {"layers": "first layer", "gradient": "top value", "table": "first row"}
    top = tops.get(discretization.scenario.model[over].type, "")
    upwards = f", whose {top} reaches up to the top of the grid" if top else ""
    if isinstance(model_part, _Shaped):
        return f"put it after model[{over}]{upwards}"
    return f"leave it out, or give its rock in model[{over}]{upwards}"


_SAMPLED = {2: 81, 3: 25}  # points along each axis, besides the middle of the part
_SHAPES = {"z": (-1, 1, 1), "y": (-1, 1), "x": (-1,)}
_VELOCITIES = ("vp", "vs")


def kept(discretization: Discretization) -> WarningLines:
    """Name each part that gives velocities, and keeps other properties of the rock beneath."""
    earth = discretization.earth
    takes = earth.conversion.takes if earth.conversion else earth.needs
    optional = [name for name in takes if PARAMETERS[name].default is not None]
    for k, model_part in enumerate(earth.model_parts[1:], 1):
        named = _given_to(model_part)
        is_rock = all(name in named for name in _VELOCITIES if name in takes)
        unset = [name for name in optional if name not in named] if is_rock else []
        ranges = _beneath(discretization, k, unset) if unset else {}
        if not any(np.any(named[name]) for name in optional if name in named and not _turns(name)):
            ranges = ranges if not all(map(_turns, ranges)) else {}  # an axis of isotropic rock
        if not ranges:
            continue
        keeps = ", ".join(f"{name} {_from_to(*ends)}" for name, ends in ranges.items())
        without = ", ".join(f"{name}: {_default(name)}" for name in ranges)
        yield (
            f"{discretization.scenario.named('model', k)}: gives velocities, and keeps "
            f"{keeps} of the rock that it lies over; give {without} for rock without, or its own"
        )


def _given_to(model_part: EarthPart) -> Mapping[str, Any]:
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
    ticks = _lattice(discretization, discretization.earth.model_parts[k])
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


def _lattice(discretization: Discretization, model_part: EarthPart) -> dict[str, np.ndarray]:
    """Return coordinates in m by axis: over the region, and the middle of a part."""
    extent = getattr(model_part, "extent", {})
    ticks = {}
    for axis in discretization.grid.axes:
        low, high = discretization.grid.limits(axis)
        even = np.linspace(low, high, _SAMPLED[discretization.grid.dimensions])
        middle = np.clip(np.mean(extent.get(axis) or (low, high)), low, high)
        ticks[axis] = np.append(even, middle).reshape(_SHAPES[axis])
    return ticks


def _from_to(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _default(name: str) -> str:
    default = PARAMETERS[name].default
    return ".inf" if default == np.inf else f"{default:g}"


def dropped(discretization: Discretization) -> WarningLines:
    """Name the properties that the model gives and the equation does not take."""
    first: dict[str, int] = {}
    ends: dict[str, tuple[float, float]] = {}
    perturbed: set[str] = set()
    for k, model_part in enumerate(discretization.earth.model_parts):
        for name, samples in _values_given(model_part, discretization.grid.limits("z")):
            first.setdefault(name, k)
            least, most = ends.get(name, (np.inf, -np.inf))
            ends[name] = (
                min(least, float(np.fmin.reduce(samples, None))),
                max(most, float(np.fmax.reduce(samples, None))),
            )
        if isinstance(model_part, RandomMedium):
            first |= dict.fromkeys(model_part.factors.keys() - first.keys(), k)
            perturbed |= model_part.factors.keys()
    names = [
        name for name in PARAMETERS
        if name in first.keys() - set(discretization.scenario.equation.takes)
        and (name in perturbed or _matters(name, *ends[name]))
    ]  # fmt: skip
    if not names:
        return
    key = ("model", min(first[name] for name in names))
    ranges = ", ".join(f"{name}{_numbers(name, ends.get(name, ()))}" for name in names)
    density = ", which are those of constant density" if RHO.name in names else ""
    yield (
        f"{discretization.scenario.named(*key)}: {ranges}: without effect on waves of "
        f"physics: {discretization.scenario.physics}{density}; "
        f"{_physics_that_takes(discretization, names)}"
    )


def _values_given(
    model_part: EarthPart, z: tuple[float, float]
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield values of each property that a part gives, its extremes among them."""
    if isinstance(model_part, DepthProfile):
        depths = np.append(model_part.tops, z)
        for side in ("left", "right"):
            yield from model_part.at(model_part.at_tops, depths, side)
    elif isinstance(model_part, Gridded):
        for name, grid in model_part.grids.items():
            yield name, np.array([grid.samples.min(), grid.samples.max()]) * grid.factor
    elif isinstance(model_part, Volume):
        for block in model_part.blocks:
            yield from block.samples.items()
    else:
        properties: Mapping[str, float] = getattr(model_part, "properties", {})
        yield from ((name, np.array(value)) for name, value in properties.items())


def _matters(name: str, least: float, most: float) -> bool:
    """Whether a property between two values is not the same as none."""
    none = {0.0, PARAMETERS[name].default}
    return least < most if name == RHO.name else not {least, most} <= none


def _numbers(name: str, ends: tuple[float, ...]) -> str:
    """Format the numbers of a property, "" where it is perturbed alone."""
    unit = PARAMETERS[name].unit
    numbers = " to ".join(dict.fromkeys(f"{end:.5g}" for end in ends))
    return f" {numbers}{unit and f' {unit}'}" if numbers else ""


def _physics_that_takes(discretization: Discretization, names: list[str]) -> str:
    """Name the physics of fewest parameters that takes properties, if there is any."""
    wanted = {*names, *discretization.scenario.equation.takes}
    able = [
        name for name in PHYSICS
        if wanted <= parameters_of_physics(name)
        and discretization.grid.dimensions in EQUATIONS[name].dimensions
    ]  # fmt: skip
    them = "it" if len(names) == 1 else "them"
    if not able:
        return f"leave {them} out"
    fewest = min(able, key=lambda name: len(parameters_of_physics(name)))
    return f"physics: {fewest} takes {them}; else leave {them} out"
