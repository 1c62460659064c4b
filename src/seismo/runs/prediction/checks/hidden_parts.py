"""Parts of the model of which nothing is left: later parts cover them, or nothing is inside.

Each part is asked at points spread over its box whether it, or a part after it, gives the rock.
Few points show almost all parts; more are taken of a part that they do not show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from seismo.errors import ModelError
from seismo.features.topography.heights.frame import PlacedPoints
from seismo.model.bodies import Block, Body, Polygon, Sphere
from seismo.model.layered import Bounds, DepthProfile, EarthPart, Uniform, Water
from seismo.model.random_medium import RandomMedium
from seismo.runs.prediction.checks.timing import WarningLines
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
            remedy = _remedy(discretization, model_part, owners)
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

    None where some of it is left, or where no wave feels what it gives.
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
    """Write the number of a part where it gives parameters, of a later one where it is the first.

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
    """Return coordinates between two ends: where averages are not taken, those of the grid."""
    if discretization.scenario.averaging == "point" and not (
        axis == "z" and discretization.ground is not None
    ):
        first, last = discretization.grid.index(axis, np.array([low, high]))
        halves = np.arange(np.ceil(2.0 * first - 1e-6), np.floor(2.0 * last + 1e-6) + 1.0)
        return discretization.grid.coordinate(axis, 0.5 * halves[:: max(1, len(halves) // count)])
    return low + (high - low) * (np.arange(count) + 0.5) / count


def _nothing(discretization: Discretization, model_part: EarthPart, kind: str) -> str:
    """Return what is wrong with a part inside of which no point lies."""
    if discretization.scenario.averaging == "point" and isinstance(model_part, Block | Sphere):
        problem = "no point of the grid lies inside of"
        return (
            f"{problem} the {kind}: it changes nothing; use averaging: effective, or a finer grid"
        )
    lengths = "points" if isinstance(model_part, Polygon) else "lengths"
    ground = "" if discretization.ground is None else ", and that it lies under the ground"
    return f"nothing lies inside of the {kind}: it changes nothing; check its {lengths}{ground}"


def _is_whole(discretization: Discretization, owners: Sequence[int]) -> bool:
    """Whether one part covers that has values everywhere; others may lie over a background."""
    return len(owners) == 1 and isinstance(
        discretization.earth.model_parts[owners[0]], Uniform | DepthProfile
    )


def _remedy(discretization: Discretization, model_part: EarthPart, owners: Sequence[int]) -> str:
    """Return where a part belongs; layers and the like that cover it have no upper end."""
    over = owners[-1]
    tops = {"layers": "first layer", "gradient": "top value", "table": "first row"}
    top = tops.get(discretization.scenario.model[over].type, "")
    upwards = f", whose {top} reaches up to the top of the grid" if top else ""
    if isinstance(model_part, _Shaped):
        return f"put it after model[{over}]{upwards}"
    return f"leave it out, or give its rock in model[{over}]{upwards}"
