"""Slices: the points of the grid that an output takes, and the launches that sample fields there.

A cut keeps every n-th point of a box, of the whole extent, or of a plane through it. Nothing is
interpolated: a field that stands half a cell further is read at the point of its node. Boxes that
reach out of the grid or hold no point are refused together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seismo.acquisition.locator import level_of
from seismo.backends import row_kernels as kernels
from seismo.backends.base import Launch
from seismo.equations.framework.table import Physics
from seismo.errors import KeyPath, ScenarioError
from seismo.grid.decomposition import (
    GlobalBlock,
    index_range,
    index_ranges,
    intersection,
)
from seismo.grid.grid import AXES, Grid
from seismo.scenario import Scenario
from seismo.scenario.sections.output import Maps, Snapshots
from seismo.solver.fields import Fields, RankFields

_GROUPS = ("velocity", "pressure")


@dataclass(frozen=True)
class StencilOffsets:
    """Points to sum along an axis instead of the point itself, by its grid index along z.

    Attributes:
        axis: along which they lie.
        steps: (points along z, kernels.POINTS) how far up the axis.
        weights: (points along z, kernels.POINTS) of them.
        factor: function(y, x) of the grid indices (broadcastable) of the point itself, by which the
            sum is multiplied, or None.
        down: (points along z) in which row further down they lie, or None: in the point's own.
    """

    axis: str
    steps: np.ndarray
    weights: np.ndarray
    factor: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    down: np.ndarray | None = None


@dataclass(frozen=True)
class Component:
    """A quantity that is read: its unit, the weighted fields that make it, and their times."""

    name: str
    unit: str
    terms: tuple[tuple[str, float], ...]
    late: bool


@dataclass(frozen=True)
class Slice:
    """Points of a grid.

    Attributes:
        index: grid indices kept along x, y, z, as ranges.
        axes: coordinates in m by name, in the order of the arrays' axes.
        plane: coordinate in m of the axis that was cut.
    """

    index: tuple[range, range, range]
    axes: dict[str, np.ndarray]
    plane: dict[str, float]

    @property
    def points(self) -> int:
        """How many."""
        return int(np.prod([len(r) for r in self.index]))

    @property
    def corners(self) -> np.ndarray:
        """Positions (8, 3) in m of its corners."""
        along = [self.axes.get(a, np.array([self.plane.get(a, 0.0)])) for a in AXES]
        ends = [(ticks.min(), ticks.max()) for ticks in along]
        return np.array(np.meshgrid(*ends)).reshape(3, -1).T

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along the axes that are left."""
        return tuple(len(ticks) for ticks in self.axes.values())


def components_of(name: str, physics: Physics) -> list[Component]:
    """Return the components of a field, or of the groups `velocity` and `pressure`."""
    fields = {f.name: f for f in physics.fields}
    if name not in _GROUPS:
        field = fields[name]
        return [Component(name, field.unit, ((name, 1.0 / field.scale),), field.late)]
    components = []
    for component, terms in physics.observables[name].items():
        # Weighted fields of the component; it stands in time where the first does.
        first = fields[terms[0].field]
        weights = tuple((t.field, t.factor) for t in terms)
        components.append(Component(component, first.unit, weights, first.late))
    return components


def make_slice(entry: Snapshots | Maps, grid: Grid) -> Slice:
    """Work out which points an entry of the scenario takes: `decimate`, `plane`, `box`."""
    requested = {} if entry.plane is None else {a: getattr(entry.plane, a) for a in AXES}
    # Nearest plane, and every n-th point along the other axes.
    plane = {a: round(float(grid.index(a, v))) for a, v in requested.items() if v is not None}
    index = {a: kept_points(grid, a, entry, plane) for a in AXES}
    axes = {
        a: grid.ticks(a, np.array(index[a])) for a in "zyx" if a in grid.axes and a not in plane
    }
    cut = {a: float(grid.ticks(a, n)) for a, n in plane.items()}
    return Slice((index["x"], index["y"], index["z"]), axes, cut)


def kept_points(grid: Grid, axis: str, entry: Snapshots | Maps, plane: Mapping[str, int]) -> range:
    """Return the numbers of the points that an entry takes along an axis, none if none is there."""
    a = AXES.index(axis)
    low = grid.extent.lo[a]
    high = grid.extent.hi[a]
    # Across a plane a single point; along the others the extent without layers.
    if axis in plane:
        return range(plane[axis], plane[axis] + 1)
    ends = None if entry.box is None else getattr(entry.box, axis)
    if ends:
        # Points within the box, its ends included.
        first, last = (float(grid.index(axis, end)) for end in ends)
        low = max(low, int(np.ceil(first - 1e-6)))
        high = min(high, int(last + 1e-6) + 1)
    return range(low, high, entry.decimate if axis in grid.axes else 1)


@dataclass(frozen=True)
class SampledRows:
    """The rows of a cut within a subdomain.

    Attributes:
        fields: of the subdomain.
        shots: whose shot each row is (row).
        z: grid index of each row along z.
        y: and along y.
        field_rows: where each row begins in a field.
        to: where it begins in a flat array (shot, z, y, x) of the cut, or of the part that is kept.
    """

    fields: Fields
    shots: np.ndarray
    z: np.ndarray
    y: np.ndarray
    field_rows: np.ndarray
    to: np.ndarray

    def taking(self, chosen: np.ndarray) -> SampledRows:
        """Return the chosen rows."""
        arrays = (a[chosen] for a in (self.shots, self.z, self.y, self.field_rows, self.to))
        return SampledRows(self.fields, *arrays)

    def beside(self, points: StencilOffsets) -> tuple[np.ndarray, np.ndarray]:
        """Return the offsets (row, n) and weights of the terms of each point of a row."""
        strides = dict(zip("xyz", (1, *self.fields.subdomain.strides), strict=True))
        offsets = points.steps[self.z] * strides[points.axis]
        if points.down is not None:
            offsets = offsets + points.down[self.z, None] * strides["z"]
        return offsets, points.weights[self.z]


class FieldSampler:
    """Bind the reading of fields at the points of a cut, for all shots of a batch.

    Attributes:
        points: of the cut that this rank has; all of them where the first rank's arrays take them.
        shots: that it has them of, of all that advance together; or all of them likewise.
        size: numbers of a flat array of them (shot, rows).
    """

    def __init__(self, sampled: RankFields, cut: Slice, at_first: bool = False) -> None:
        """Find the rows.

        Args:
            sampled: the fields.
            cut: the points.
            at_first: whether all write to arrays of the first rank's, where they see its memory.
        """
        fields = sampled.fields
        backend = sampled.backend
        self._backend = backend
        self.cut = cut
        self._ranks = sampled.ranks
        self._at_first = at_first and self._ranks.share_memory(backend)
        self.shots = range(sampled.shots) if self._at_first else fields[0].subdomain.shots
        every = (_rows(cut, subdomain_fields, self.shots.start) for subdomain_fields in fields)
        self.rows = [rows for rows in every if rows.to.size]
        self.points = cut.points
        self._numbers = np.arange(cut.points // self.length)
        if not self._at_first:
            self._keep_own()
        self.size = self.points * len(self.shots)
        self.bound_rows = [
            [backend.array(a) for a in (rows.to, rows.field_rows)] for rows in self.rows
        ]

    def _keep_own(self) -> None:
        """Let the rows that are here move together, in their order."""
        # Rows of this rank, back to back in their global order.
        every = np.sort(np.concatenate([np.zeros(0, np.int64), *(r.to for r in self.rows)]))
        self.rows = [replace(r, to=np.searchsorted(every, r.to) * self.length) for r in self.rows]
        self._numbers = every[: every.size // len(self.shots)] // self.length
        self.points = self._numbers.size * self.length
        self._rank_points = self._ranks.gather((self.shots, self._numbers))

    def buffer(self, number: Any) -> Any:
        """Allocate an array of numbers of a type for the points."""
        make = self._ranks.same if self._at_first else _made
        return make(lambda: self._backend.array(np.zeros(self.size, number)))

    def global_block(self, array_name: str, count: int = 1) -> GlobalBlock:
        """Return the global indices of `count` such arrays in a row."""
        counts = (index_range(0, count), index_range(self.shots.start, self.shots.stop))
        index = (*counts, index_ranges(self._numbers), index_range(0, self.length))
        return GlobalBlock(array_name, 0, (self.size, self.points, self.length, 1), index)

    @property
    def takes_points(self) -> bool:
        """Whether this rank's arrays take the points."""
        return self._ranks.first or not self._at_first

    def wait_for_all(self) -> None:
        """Let later launches of any rank wait for earlier launches of the others."""
        if self._at_first:
            self._ranks.wait_for_peers(self._backend)

    @property
    def length(self) -> int:
        """Points of a row."""
        return len(self.cut.index[0])

    def gathered(self, array: Any, shots: range) -> Any:
        """Gather the arrays of all ranks for shots; None on ranks other than 0."""
        # Part of the array that belongs to these shots.
        local_shots = intersection(shots, self.shots)
        first, last = (
            self.points * (n - self.shots.start) for n in (local_shots.start, local_shots.stop)
        )
        if self._at_first:
            return array[first:last] if self._ranks.first else None
        pieces = self._ranks.gather_arrays(self._backend.fetch(array[first:last]))
        if pieces is None or self._rank_points is None:
            return None
        rows = self.cut.points // self.length
        block = np.empty((len(shots), rows, self.length), array.dtype)
        # Rank 0: rows of each rank to their global places.
        for (rank_shots, numbers), piece in zip(self._rank_points, pieces, strict=True):
            common_shots = intersection(shots, rank_shots)
            into = slice(common_shots.start - shots.start, common_shots.stop - shots.start)
            block[into, numbers] = piece.reshape(len(common_shots), numbers.size, self.length)
        return self._backend.array(block.ravel())

    def launches(
        self, name: str, parity: int, target: Any, factor: float, *, added: bool,
        first: int = 0, beside: StencilOffsets | None = None,
    ) -> Iterator[Launch]:  # fmt: skip
        """Bind ``target = factor * field`` after steps of a parity, for each subdomain.

        Args:
            name: field.
            parity: of the step.
            target: flat array that begins with `first`.
            factor: of the field.
            added: whether the target is added to.
            first: where the cut begins in the target.
            beside: points to sum instead of the points themselves.
        """
        put = self._backend.array
        number = np.dtype(self._backend.precision).type
        for rows, (to, field_rows) in zip(self.rows, self.bound_rows, strict=True):
            source = rows.fields.written(name, parity)
            step = self.cut.index[0].step
            # target = factor * field, or * a weighted sum of points beside it.
            if beside is not None and beside.factor is not None:
                yield from self._multiplied(rows, source, target, factor, first, beside)
                continue
            arguments = (target, put(rows.to + first) if first else to, source, field_rows, step)
            if beside is None:
                yield self.each_row(kernels.cut, rows, (*arguments, number(factor), int(added)))
            else:
                offsets, weights = rows.beside(beside)
                sums = (put(offsets), put(number(factor * weights)))
                yield self.each_row(kernels.cut_beside, rows, (*arguments, *sums, int(added)))

    def _multiplied(
        self,
        rows: SampledRows,
        source: Any,
        target: Any,
        factor: float,
        first: int,
        beside: StencilOffsets,
    ) -> Iterator[Launch]:
        """Bind the adding of sums that have a factor of their own at every point."""
        put = self._backend.array
        number = np.dtype(self._backend.precision).type
        # Only rows that any weight reads, such as rows under a closed surface.
        rows = rows.taking(beside.weights[rows.z].any(axis=1))
        if beside.factor is None or not rows.to.size:
            return
        x = self.cut.index[0]
        # One row of factors for each y of the slice.
        y, which = np.unique(rows.y, return_inverse=True)
        factors = number(beside.factor(y[:, None], np.array(x)[None, :]))
        offsets, weights = rows.beside(beside)
        yield self.each_row(kernels.add_multiplied, rows, (
            target, put(rows.to + first), source, put(rows.field_rows), x.step, put(offsets),
            put(number(factor * weights)), put(factors.ravel()), put(which * len(x)),
        ))  # fmt: skip

    def each_row(self, body: Any, rows: SampledRows, arguments: tuple) -> Launch:
        """Bind a body to the rows of a subdomain; it writes its first argument."""
        count = rows.to.size
        return self._backend.each_row(body, count, self.length, arguments, (0,), rows.shots)


def _made(make: Callable[[], Any]) -> Any:
    return make()


def _rows(cut: Slice, fields: Fields, first: int) -> SampledRows:
    """Find the rows within a subdomain, for arrays that begin with a shot."""
    subdomain = fields.subdomain
    (x, y, z) = cut.index
    (_, ylo, zlo) = subdomain.owned.lo
    (_, yhi, zhi) = subdomain.owned.hi
    # Rows of the slice that the subdomain owns, for all shots.
    ys = np.array([n for n in y if ylo <= n < yhi], np.int64)
    zs = np.array([n for n in z if zlo <= n < zhi], np.int64)
    shots = np.arange(subdomain.batch)
    shot, z_of, y_of = (a.ravel() for a in np.meshgrid(shots, zs, ys, indexing="ij"))
    # Row of the slice: (shot, z, y) in its own order.
    plane = (shot + subdomain.first - first) * len(z) + (z_of - z.start) // z.step
    row = plane * len(y) + (y_of - y.start) // y.step
    field_rows = subdomain.flat(x.start, y_of, z_of) + shot * subdomain.volume
    return SampledRows(fields, shot, z_of, y_of, field_rows, row * len(x))


def refuse_empty_boxes(scenario: Scenario, grid: Grid) -> None:
    """Refuse boxes of snapshots and maps that end below the grid, or hold no point.

    Args:
        scenario: the scenario.
        grid: the grid, of two the coarser grid, which has rows of all depths.

    Raises:
        ScenarioError: with all of them.
    """
    errors = [scenario.mistake(*key, problem=problem) for key, problem in _empty(scenario, grid)]
    if errors:
        raise ScenarioError.of(errors)


def _empty(scenario: Scenario, grid: Grid) -> Iterator[tuple[KeyPath, str]]:
    """Yield the keys of such boxes, and the mistake in each."""
    # Depths count from the ground: the first row where it is not flat.
    level = level_of(scenario, grid)
    entries = [
        (("output", key, number, "box"), entry, entry.on_z(level))
        for key in ("snapshots", "maps")
        for number, entry in enumerate(getattr(scenario.output, key))
    ]
    sides = [(*of, placed, *side) for *of, placed in entries for side in placed.box or ()]
    for path, entry, placed, axis, ends in sides:
        if ends is None or axis not in grid.axes:
            continue
        key = (*path, "depth" if axis == "z" and entry.box.depth else axis)
        bottom = grid.limits(axis)[1]
        spacing = grid.spacing[AXES.index(axis)]
        if ends[1] > bottom + 1e-6 * spacing:
            yield key, f"to {axis} = {ends[1]:g} m, and the grid ends at {bottom:g} m; end it there"
        elif not kept_points(grid, axis, placed, {}):
            yield (
                key, f"from {ends[0]:g} m to {ends[1]:g} m holds no point of the grid, whose "
                f"spacing is {spacing:g} m; make it wider",
            )  # fmt: skip
