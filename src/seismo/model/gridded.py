"""A parameter on the regular grid of a file, interpolated to any coordinate.

Interpolation is linear along each axis, except between fluid and solid, and between a quality
factor and inf, where the value of the closest point is used, and of symmetry axes, which are
interpolated as such (`seismo.model.effective.plain_means`); beyond the edges of the file its
outermost values continue (in absorbing layers, for example).

Where samples are cells, each is the rock of a box about its point, which ends midway to the next:

    samples       a       b       c
    linear     ...a----a+b/2----b+c/2----c...
    cells      ...a a a a|b b b b|c c c c...

On a tensor grid (each coordinate varying along its own axis) it is done axis by axis,
several times faster than point by point; where only the first coordinate varies so, along that axis
first; else point by point. Which way is taken depends on how coordinates vary, not on how many
there are, so that all cuts of a grid see the same bits. What has no weight does not count.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from seismo.equations.framework.parameters import ParameterFields
from seismo.errors import ModelError
from seismo.grid.grid import Bounds
from seismo.model.effective.plain_means import (
    ANGLES,
    PRODUCTS,
    TURNS,
    principal,
    product,
)


def interpolate(samples: np.ndarray, indices: Sequence[np.ndarray]) -> np.ndarray:
    """Return interpolated values (broadcast shape of the indices), within the edges.

    Args:
        samples: an array with an axis for each index.
        indices: fractional, of equal rank, from 0 to the number of points less 1.
    """
    if _on_own_axes(indices):
        return _tensor(samples, indices)
    if len(indices) == 3 and _first_alone(indices):
        first, *across = indices
        planes = _along_axis(samples, 0, *_cell(first.ravel(), len(samples)))
        result = _points(np.moveaxis(planes, 0, -1), [index[0] for index in across])
        return np.moveaxis(result, -1, 0)
    return _points(samples, indices)


def closest(samples: np.ndarray, indices: Sequence[np.ndarray]) -> np.ndarray:
    """Return the values of the closest points (broadcast shape of the indices)."""
    return samples[closest_numbers(samples.shape, indices)]


def closest_numbers(
    shape: tuple[int, ...], indices: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Return the numbers along each axis of the closest points."""
    last = np.subtract(shape, 1)
    rounded = (np.floor(index + 0.5) for index in indices)
    return tuple(np.clip(k, 0, n).astype(np.intp) for k, n in zip(rounded, last, strict=True))


def _on_own_axes(indices: Sequence[np.ndarray]) -> bool:
    """Whether each index varies along one axis only, in the order of the samples' axes."""
    varying = [[axis for axis, size in enumerate(p.shape) if size > 1] for p in indices]
    if any(len(axes) > 1 for axes in varying):
        return False
    order = [axes[0] for axes in varying if axes]
    return order == sorted(set(order))


def _first_alone(indices: Sequence[np.ndarray]) -> bool:
    """Whether the first index alone varies along the first axis, and along no other."""
    first, *across = indices
    return first.size == first.shape[0] and all(index.shape[0] == 1 for index in across)


def _tensor(samples: np.ndarray, indices: Sequence[np.ndarray]) -> np.ndarray:
    """Interpolate axis by axis, within the box that holds the cells of all places."""
    cells = [_cell(i.ravel(), count) for i, count in zip(indices, samples.shape, strict=True)]
    first = [int(low.min(initial=n - 1)) for (low, _), n in zip(cells, samples.shape, strict=True)]
    behind = [int(low.max(initial=0)) + 2 for low, _ in cells]
    result = samples[tuple(map(slice, first, behind))]
    for axis, (low, weight) in enumerate(cells):
        result = _along_axis(result, axis, low - first[axis], weight)
    return result.reshape(np.broadcast_shapes(*(index.shape for index in indices)))


def _along_axis(samples: np.ndarray, axis: int, low: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Interpolate along an axis, so far behind points of these numbers."""
    below = samples.take(low, axis).astype(np.result_type(samples, weight), copy=False)
    if not weight.any():
        return below
    above = samples.take(low + (weight > 0.0), axis)
    weight = weight.reshape([-1 if a == axis else 1 for a in range(samples.ndim)])
    return below * (1.0 - weight) + above * weight


def _points(samples: np.ndarray, indices: Sequence[np.ndarray]) -> np.ndarray:
    """Interpolate point by point, from the corners of each point's cell; further axes follow."""
    cells = [_cell(index, count) for index, count in zip(indices, samples.shape, strict=False)]
    result = np.zeros(())
    further = (1,) * (samples.ndim - len(cells))
    for corner in range(1 << len(cells)):
        index: list[np.ndarray] = []
        share = np.ones(())
        for axis, (low, weight) in enumerate(cells):
            upper = corner >> axis & 1
            index.append(low + upper * (weight > 0.0))
            share = share * (weight if upper else 1.0 - weight)
        result = result + samples[tuple(index)] * share.reshape(share.shape + further)
    return result


def interpolate_transposed(
    derivative: np.ndarray, shape: tuple[int, ...], indices: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the transpose of `interpolate`: a derivative by samples of a shape.

    Args:
        derivative: by the interpolated values (broadcast shape of the indices).
        shape: of the samples.
        indices: as of `interpolate`.
    """
    spread = np.broadcast_shapes(*(index.shape for index in indices))
    result = np.zeros(int(np.prod(shape)))
    cells = [_cell(index, count) for index, count in zip(indices, shape, strict=True)]
    for corner in range(1 << len(cells)):
        number = np.zeros((), np.intp)
        share = np.ones(())
        for axis, (low, weight) in enumerate(cells):
            upper = corner >> axis & 1
            number = number * shape[axis] + low + upper * (weight > 0.0)
            share = share * (weight if upper else 1.0 - weight)
        numbers = np.broadcast_to(number, spread).ravel()
        result += np.bincount(numbers, (share * derivative).ravel(), result.size)
    return result.reshape(shape)


def _cell(index: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the point below each place and how far it is to the next, within the edges."""
    index = np.clip(index, 0.0, points - 1.0)
    low = index.astype(np.intp)
    return low, index - low


AXES = "zyx"
USUAL_AXES = {1: "z", 2: "zx", 3: "zyx"}  # by their number
GENTLE = 1.1  # ratio of densities at neighbouring points that makes no contact
_ROUNDING = 1e-9  # of weights that add up to 1
_WITHIN = 1e-6  # of a cell, by which a box may reach beyond it
Limits = tuple[float, float]


def in_order(samples: np.ndarray, axes: str) -> tuple[np.ndarray, str]:
    """Return values with their axes in the order of `AXES`, and these; C order is not copied."""
    order = [axes.index(axis) for axis in AXES if axis in axes]
    return np.ascontiguousarray(samples.transpose(order)), "".join(axes[k] for k in order)


@dataclass(frozen=True)
class GridField:
    """Values (along `axes`, a part of "zyx" in that order) times `factor`, in SI."""

    samples: np.ndarray
    axes: str
    origin: tuple[float, ...]
    spacing: tuple[float, ...]
    factor: float
    source: str  # the file it came from, for messages
    key: tuple[str | int, ...] = ()  # the scenario's keys that name it
    spaced: bool = False  # whether its spacing is its own, not the grid's
    doubt: str = ""  # how else the file might be meant
    above: int = 0  # points along z that are left out before the first

    @property
    def largest(self) -> float:
        """The largest value of the file."""
        return float(self.samples.max()) * self.factor

    def reach(self, axis: str) -> tuple[float, float]:
        """Return the coordinates in m of its first and last point along an axis."""
        a = self.axes.index(axis)
        return self.origin[a], self.origin[a] + (self.samples.shape[a] - 1) * self.spacing[a]

    @property
    def thin(self) -> GridField:
        """The same grid without axes x or y along which nothing varies."""
        array = self.samples
        kept = list(range(self.samples.ndim))
        for a in [a for a, axis in enumerate(self.axes) if axis != "z" and "z" in self.axes]:
            first = array.take([0], a)
            last = array.take([-1], a)
            if (first == last).all() and (array == first).all():
                array = first
                kept.remove(a)
        return replace(
            self,
            samples=array.reshape([array.shape[a] for a in kept]),
            axes="".join(self.axes[a] for a in kept),
            origin=tuple(self.origin[a] for a in kept),
            spacing=tuple(self.spacing[a] for a in kept),
        )

    def at(
        self, z: np.ndarray, y: np.ndarray | None, x: np.ndarray, nearest: bool = False
    ) -> np.ndarray:
        """Return values (broadcastable to z, y, x) at coordinates in m.

        Args:
            z: depths.
            y: coordinates along y, None in 2-D.
            x: coordinates along x.
            nearest: whether to take the closest point of the file instead of interpolating.

        Raises:
            ModelError: the file has the axis y and the run is 2-D.
        """
        if nearest:
            return self.samples[self.numbers(z, y, x)] * self.factor
        indices = self._indices(z, y, x)
        with np.errstate(invalid="ignore"):
            interpolated = interpolate(self.samples, indices)
        infinite = ~np.isfinite(interpolated)
        if infinite.any():
            interpolated = np.where(infinite, closest(self.samples, indices), interpolated)
        return interpolated * self.factor

    def at_transposed(
        self, derivative: np.ndarray, z: np.ndarray, y: np.ndarray | None, x: np.ndarray
    ) -> np.ndarray:
        """Return the transpose of `at`: a derivative by the samples from that by values there."""
        indices = self._indices(z, y, x)
        return self.factor * interpolate_transposed(derivative, self.samples.shape, indices)

    def numbers(self, z: np.ndarray, y: np.ndarray | None, x: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the numbers along its axes of the closest points to coordinates in m."""
        return closest_numbers(self.samples.shape, self._indices(z, y, x))

    def _indices(self, z: np.ndarray, y: np.ndarray | None, x: np.ndarray) -> list[np.ndarray]:
        """Return fractional indices of coordinates in m along the axes, all of equal rank."""
        rank = max(np.ndim(z), np.ndim(x), 0 if y is None else np.ndim(y))
        indices: list[np.ndarray] = []
        for name, start, step in zip(self.axes, self.origin, self.spacing, strict=True):
            index = {"z": z, "y": y, "x": x}[name]
            if index is None:
                raise ModelError(
                    f"{self.source} has the axis y, but the grid is 2-D (x, z); give a file of "
                    "axes zx, or grid.extent.y",
                    *self.key,
                )
            index = (np.asarray(index, float) - start) / step - self.above * (name == "z")
            indices.append(index.reshape((1,) * (rank - index.ndim) + index.shape))
        return indices

    def unlike(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return which boxes low to high (z, y, x in m) reach into cells of unlike samples."""
        first = []
        cells = []
        ends = zip(self._indices(*low), self._indices(*high), self.samples.shape, strict=True)
        for begin, end, count in ends:
            lowest = np.clip(np.floor(begin + 0.5 + _WITHIN), 0, count - 1).astype(np.intp)
            highest = np.clip(np.ceil(end - 0.5 - _WITHIN), 0, count - 1).astype(np.intp)
            first.append(lowest)
            cells.append(np.maximum(highest - lowest, 0))
        samples = self.samples[tuple(first)]
        result = np.zeros(samples.shape, bool)
        for steps in itertools.product(*(range(int(most.max()) + 1) for most in cells)):
            further = zip(first, steps, cells, strict=True)
            result |= (
                self.samples[tuple(n + np.minimum(k, most) for n, k, most in further)] != samples
            )
        return result

    def varies(self, top: float, bottom: float) -> bool:
        """Whether there is more than one value between two depths in m, anywhere."""
        array = self.between(top, bottom).samples
        return bool(array.min() != array.max())

    def steepest(self, top: float, bottom: float) -> float:
        """Return the largest ratio of neighbouring points between two depths in m."""
        array = self.between(top, bottom).samples
        largest = 1.0
        for axis in range(array.ndim):
            neighbours = (
                array.take(range(1, array.shape[axis]), axis),
                array.take(range(array.shape[axis] - 1), axis),
            )
            if neighbours[0].size:
                ratio = neighbours[0] / neighbours[1]
                largest = max(largest, float(ratio.max()), 1.0 / float(ratio.min()))
        return largest

    def between(self, top: float, bottom: float) -> GridField:
        """Return the points that values between two depths in m come from."""
        if "z" not in self.axes:
            return self
        a = self.axes.index("z")
        index = (np.array([top, bottom]) - self.origin[a]) / self.spacing[a] - self.above
        first, last = np.clip(index, 0.0, self.samples.shape[a] - 1.0)
        begin = math.floor(first)
        end = math.ceil(last) + 1
        samples = self.samples[(slice(None),) * a + (slice(begin, end),)]
        return replace(self, samples=samples, above=self.above + begin)


@dataclass(frozen=True)
class Gridded:
    """The part of an earth model that comes from gridded files, one per parameter.

    There is no mixture of fluid and solid: between points of the file with vs = 0 at one of them
    only the earth is as at the nearer. What is `removed` is 0 everywhere. Samples are `cells`, or
    values between which it is interpolated.
    """

    grids: Mapping[str, GridField]
    removed: frozenset[str] = frozenset()
    cells: bool = False

    @cached_property
    def thin(self) -> dict[str, GridField]:
        """The files, without axes along which nothing varies."""
        return {name: grid.thin for name, grid in self.grids.items()}

    @cached_property
    def solid(self) -> GridField | None:
        """Where vs is not 0, if it is anywhere: 1, else 0."""
        vs = self.thin.get("vs")
        if vs is None or (vs.samples > 0).all() or not vs.samples.any():
            return None
        return replace(vs, samples=vs.samples > 0, factor=1.0)

    @property
    def parameters(self) -> frozenset[str]:
        """Names of the parameters it sets, everywhere."""
        return frozenset(self.grids)

    @property
    def layered(self) -> bool:
        """Whether every file varies along the axis z only."""
        return all(grid.axes == "z" for grid in self.thin.values())

    def largest(self, name: str) -> float:
        """Return the largest value of a parameter in the files, 0 if none has it."""
        return self.grids[name].largest if name in self.grids else 0.0

    def paint(
        self, fields: ParameterFields, z: np.ndarray, y: np.ndarray | None, x: np.ndarray
    ) -> None:
        """Overwrite everything."""
        share = self.solid.at(z, y, x) if self.solid and not self.cells else np.zeros(())
        between = (share > _ROUNDING) & (share < 1.0 - _ROUNDING)
        for nearest, where in ((self.cells, True), (True, between)):
            if np.any(where):
                plain = {n: g for n, g in self.thin.items() if n in fields and n not in TURNS}
                if self.cells:
                    read = _of_cells(plain, z, y, x)
                else:
                    read = {name: grid.at(z, y, x, nearest) for name, grid in plain.items()}
                if ANGLES.keys() & fields.keys():
                    read |= angles_at(self.thin, z, y, x, nearest)
                if "azimuth" in self.thin:
                    read["azimuth"] = azimuth_at(self.thin["azimuth"], z, y, x, nearest)
                for name in read.keys() & fields.keys():
                    np.copyto(fields[name], read[name], where=where)
        for name in self.removed & fields.keys():
            fields[name][...] = 0.0

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return which boxes edges of cells cut; values vary everywhere (`Earth.gridded`)."""
        if not self.cells:
            return np.zeros((), bool)
        unlike = [grid.unlike(low, high) for grid in self.thin.values()]
        return np.logical_or.reduce(np.broadcast_arrays(*unlike))

    def varies(self, top: float, bottom: float) -> bool:
        """Whether any file has more than one value between two depths in m."""
        return any(grid.varies(top, bottom) for grid in self.grids.values())

    def steps(self, top: float, bottom: float) -> bool:
        """Whether density jumps between neighbouring points, between two depths in m.

        Else <rho> and 1 / <1 / rho> of a cell are the same to (ln GENTLE)^2 / 12.
        """
        rho = self.grids.get("rho")
        return rho is not None and rho.steepest(top, bottom) > GENTLE


def _of_cells(
    grids: Mapping[str, GridField], z: np.ndarray, y: np.ndarray | None, x: np.ndarray
) -> dict[str, np.ndarray]:
    """Return values of cells at coordinates in m, found once for grids of the same points."""
    numbers = {}
    read = {}
    for name, grid in grids.items():
        points = (grid.axes, grid.origin, grid.spacing, grid.samples.shape, grid.above)
        if points not in numbers:
            numbers[points] = grid.numbers(z, y, x)
        read[name] = grid.samples[numbers[points]] * grid.factor
    return read


def unlike(theta: GridField, phi: GridField) -> bool:
    """Whether angles stand on points that are not the same, along an axis of both."""
    first, second = (
        {axis: (*grid.reach(axis), grid.spacing[a]) for a, axis in enumerate(grid.axes)}
        for grid in (theta.thin, phi.thin)
    )
    return any(first[axis] != second[axis] for axis in first.keys() & second.keys())


def separate_angles(
    gridded_parts: Mapping[int, Mapping[str, GridField]],
) -> tuple[int, int] | None:
    """Return the numbers of two parts of which the first gives theta alone, the second phi alone.

    Args:
        gridded_parts: grids by parameters, of each gridded part of a model by its number.
    """
    alone: dict[str, int] = {}
    for number, grids in gridded_parts.items():
        angles = [name for name in ANGLES if name in grids]
        if len(angles) == 1 and np.ptp(grids[angles[0]].samples) > 0.0:
            alone[angles[0]] = number
    return (alone["theta"], alone["phi"]) if alone.keys() >= ANGLES.keys() else None


def angles_at(
    grids: Mapping[str, GridField], z: np.ndarray, y: np.ndarray | None, x: np.ndarray,
    nearest: bool = False,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return the angles in degrees that grids give, at coordinates in m, of a mean axis.

    An angle given alone turns the shorter way, theta as an axis, phi as a direction.

    Args:
        grids: of parameters, by name; both angles on points that are alike.
        z: depths.
        y: coordinates along y, None in 2-D.
        x: coordinates along x.
        nearest: whether to take the closest point instead of interpolating.
    """
    planes = {n: grids[n].between(z.min(), z.max()) for n in ANGLES if n in grids}
    if not planes:
        return {}
    axes = [axis for axis in "zyx" if any(axis in grid.axes for grid in planes.values())]
    owner = {axis: max(planes.values(), key=lambda grid: axis in grid.axes) for axis in axes}
    points = replace(
        owner[axes[0]], axes="".join(axes), factor=1.0,
        origin=tuple(g.origin[g.axes.index(a)] for a, g in owner.items()),
        spacing=tuple(g.spacing[g.axes.index(a)] for a, g in owner.items()),
    )  # fmt: skip
    angles = {name: _along(grid, axes) for name, grid in planes.items()}

    def mean(samples: np.ndarray) -> np.ndarray:
        return replace(points, samples=samples).at(z, y, x, nearest)

    if "theta" not in angles:
        azimuth = np.radians(angles["phi"])
        return {"phi": np.degrees(np.arctan2(mean(np.sin(azimuth)), mean(np.cos(azimuth))))}
    pairs = {pair: product(pair, angles["theta"], angles.get("phi", 0.0)) for pair in PRODUCTS}
    n = principal({pair: mean(samples) for pair, samples in pairs.items()})
    if "phi" not in angles:
        return {"theta": np.degrees(np.arctan2(n["x"], n["z"]))}
    across = np.hypot(n["x"], n["y"])
    return {"theta": np.degrees(np.arctan2(across, n["z"])),
            "phi": np.degrees(np.arctan2(n["y"], n["x"]))}  # fmt: skip


def azimuth_at(
    grid: GridField, z: np.ndarray, y: np.ndarray | None, x: np.ndarray, nearest: bool = False
) -> np.ndarray:
    """Return the azimuths in degrees of planes of symmetry; arguments as of `angles_at`."""
    double = 2.0 * np.radians(grid.samples * grid.factor)
    sine, cosine = (
        replace(grid, samples=wave(double), factor=1.0).at(z, y, x, nearest)
        for wave in (np.sin, np.cos)
    )
    return 0.5 * np.degrees(np.arctan2(sine, cosine))


def _along(grid: GridField, axes: list[str]) -> np.ndarray:
    """Return the values of a grid, with an axis of length 1 for every missing axis."""
    missing = tuple(k for k, axis in enumerate(axes) if axis not in grid.axes)
    return np.expand_dims(grid.samples * grid.factor, missing)
