"""Stages bound to a subdomain: launches of a formula on its boxes and arrays.

A stage runs its edge boxes first and its core later, so that halos can travel meanwhile.

A sweep has a single formula for all rows. Where a few rows of a column need other weights (at
contacts of fluid and solid) `RowCorrections` add the difference right after the sweep: weighted
rows of another field, or its derivative along the rows, stretched in the absorbing layers as the
sweeps stretch theirs. The rows of an edge are corrected with the edge, before neighbours receive
it, the others with the core; each point by the subdomain that owns it, from fields that the stage
only reads. The answer is therefore the same to the last bit however the grid is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np

from seismo.backends.base import Backend, KernelConstants, KernelFields, Launch, Variant
from seismo.backends.operators.derivatives import Curved
from seismo.backends.row_kernels import (
    add_rows,
    add_scaled,
    slope,
)
from seismo.equations.framework.table import Stage
from seismo.grid.decomposition import CheckpointArray, GlobalBlock, Subdomain
from seismo.grid.grid import AXES, Box
from seismo.grid.surface_closure import RowWeights
from seismo.solver.fields import Fields
from seismo.solver.grid_layout import RowGroup, reached
from seismo.solver.medium.cpml import LayerMemory

Matrix = dict[tuple[int, int], float]
# Strain "zz", "xz" or "yz" -> field -> function(row) -> its response to a strain rate per second
# (`seismo.equations.framework.table.Physics.strain_responses`).
Responses = Mapping[str, Mapping[str, Callable[[int], float]]]


@dataclass(frozen=True)
class RowSums:
    """Rows of one field to add to rows of another.

    Attributes:
        target: field that changes.
        source: field that is added.
        weights: (target row, source row) -> weight, rows as in the grid.
    """

    target: str
    source: str
    weights: Matrix

    @property
    def fields(self) -> set[str]:
        """Fields that change."""
        return {self.target}


@dataclass(frozen=True)
class RowSlope:
    """The derivative along a horizontal axis of a sum of rows, to add to rows of other fields.

    Attributes:
        targets: (field, row) -> factor.
        source: field that is differentiated.
        weights: row -> weight in the sum.
        axis: "x" or "y".
        up: whether from nodes to half points.
    """

    targets: dict[tuple[str, int], float]
    source: str
    weights: dict[int, float]
    axis: str
    up: bool

    @property
    def fields(self) -> set[str]:
        """Fields that change."""
        return {name for name, _ in self.targets}


@dataclass(frozen=True)
class Binding:
    """Arrays and tables that all stages of a subdomain share.

    Attributes:
        backend: where they run.
        subdomain: its arrays' shape.
        fields: its arrays.
        tables: coefficients and profiles.
        order: of the differences.
        regions: boxes of a variant each.
        closed_width: width of the surface weights, 0 without a closed free surface.
        even: by stage, of every plane z of the grid, whether its medium is even.
        moving: points that can move; the others are left as they are.
        damped: whether layers damp the fields themselves.
        curved: weights of rows that follow the ground, None where it is flat.
        closed_rows: rows under a free surface with operators of their own.
        refined: tables of the rows beside the plane where two spacings meet, or None.
    """

    backend: Backend
    subdomain: Subdomain
    fields: Fields
    tables: KernelConstants
    order: int
    regions: list[RowGroup]
    closed_width: int
    even: dict[str, np.ndarray]
    moving: Box
    damped: bool = False
    curved: RowWeights | None = None
    closed_rows: int = 0
    refined: KernelConstants | None = None

    def tables_of(self, closed: bool, refined: bool) -> tuple[KernelConstants, int]:
        """Return the tables of rows of a kind, and the width of their weights; 0 without any."""
        if refined and self.refined is not None:
            return self.refined, self.refined.up.shape[1]
        return self.tables, self.closed_width if closed else 0

    def weights(self, region: RowGroup) -> Curved | None:
        """Return which weights the rows of a region have that follow the ground."""
        if self.curved is None or not region.curved:
            return None
        cross = self.curved.cross if region.closed else self.curved.inner
        distances = self.fields.shot_distances
        return Curved(self.curved.plain, self.curved.cross, cross, distances)

    def marches(self, slopes: tuple[str, ...]) -> bool:
        """Whether threads that march find terms of slopes, of a stage."""
        return bool(slopes) and self.fields.marched.issuperset(slopes)

    @property
    def stretched(self) -> bool:
        """Whether cells of the grid grow along z."""
        return self.subdomain.grid.stretching is not None


def _rows(
    binding: Binding, stage: Stage, memory: LayerMemory, region: RowGroup, box: Box
) -> list[list[int]]:
    """Return the columns of a box of a region, for every shot; along x as far as it reaches."""
    sub = binding.subdomain
    ox, oy, oz = sub.offset
    (_, y0, z0) = box.lo
    (_, y1, z1) = box.hi
    columns = []
    # A row of columns for each shot: box, offset of the shot, packed offset, x-segments.
    for shot in range(sub.batch):
        along: list[int] = []
        for span, (first, last) in enumerate(region.spans):
            x0 = min(max(first, box.lo[0]), last)
            x1 = max(min(last, box.hi[0]), x0)
            # Stages of the layers leave the interior out: an empty range of x.
            idle = stage.where == "layer" and not region.stretched(span)
            along += [x0 + ox, (x0 if idle else x1) + ox]
            along += memory.columns(region, span, shot, sub.offset)
        rows = (z0 + oz, z1 + oz, y0 + oy, y1 + oy)
        packed = binding.fields.packed(z0, stage.coefficients)
        columns.append([*rows, shot * sub.volume, packed, *along])
    return columns


def _pieces(box: Box, even: np.ndarray | None) -> list[tuple[bool, Box]]:
    """Cut a box in runs of planes that are even, and that are not."""
    if even is None:
        return [(False, box)]
    (x0, y0, z0) = box.lo
    (x1, y1, z1) = box.hi
    # Cut where the kind of plane changes.
    cuts = [z0, *(z for z in range(z0 + 1, z1) if even[z] != even[z - 1]), z1]
    return [(bool(even[a]), Box((x0, y0, a), (x1, y1, b))) for a, b in pairwise(cuts)]


# Axes of layers in the middle and at the ends of rows, closed, even, curved weights, refined.
OperatorKey = tuple[str, str, bool, bool, Curved | None, bool]


class BoundStage:
    """A stage on a subdomain: `edges[parity]` and `core[parity]` list its launches.

    Neighbours wait for the edges. Corrections follow the updates of the same points.
    `memories` are the arrays of the layers that a step leaves for the next.
    """

    def __init__(self, binding: Binding, stage: Stage, memory: LayerMemory, number: int) -> None:
        """Bind the stage that is the n-th of a step."""
        self.stage = stage
        self._number = number
        self.memories = list(memory.memories)
        # Edges first: neighbours wait for them.
        edges, core = binding.subdomain.edges_and_core()
        parities = binding.fields.physics.parities
        self.edges = [self._launches(binding, memory, edges, parity) for parity in parities]
        self.core = [self._launches(binding, memory, [core], parity) for parity in parities]
        self.edge_corrections: list[Launch] = []
        self.core_corrections: list[Launch] = []

    def _launches(
        self, binding: Binding, memory: LayerMemory, boxes: list[Box], parity: int
    ) -> list[Launch]:
        stage = self.stage
        grouped = dict[OperatorKey, tuple[list[list[int]], list[list[int]]]]()
        # Boxes by the operators that their rows need, a launch each.
        for region in self._regions(binding, memory):
            for box in boxes:
                overlap = region.box & box
                if not overlap.size or not (region.ends or stage.where != "layer"):
                    continue
                for even, piece in _pieces(overlap, binding.even.get(stage.name)):
                    moving_piece = piece & binding.moving
                    if not moving_piece.size:
                        continue
                    curved = binding.weights(region)
                    key = (*region.kind, even, curved, region.refined)
                    part_boxes, whole_boxes = grouped.setdefault(key, ([], []))
                    part_boxes += _rows(binding, stage, memory, region, moving_piece)
                    whole_boxes += _rows(binding, stage, memory, region, piece)
        arrays = binding.fields.arrays(parity)
        launches = list[list[Launch]]()
        # Interior rows, the longest launches, come first.
        for key, both in sorted(grouped.items(), key=lambda item: len(item[0][0])):
            moving, complete = (np.array(numbers, np.int64) for numbers in both)
            middle, ends, closed, even, curved, refined = key
            physics = binding.fields.physics
            formula = physics.formula(stage, even)
            if curved:
                marched = binding.marches(stage.slopes)
                planes = tuple(binding.fields.planes)
                formula = physics.curved_formula(stage, even, planes, marched)
            read = formula.fields[len(stage.writes) :]
            writes, reads, model = (
                tuple(arrays[n] for n in names)
                for names in (stage.writes, read, formula.coefficients)
            )
            tables, width = binding.tables_of(closed, refined)
            # Operators in the interior and in the PML segments of a row. Layers across z have the
            # heights of cells in their profile; closed rows all have the same.
            scaled = binding.stretched and not width and "z" not in middle + ends
            on_surface = stage.where in ("surface", "closed", "curved")
            variant = Variant(
                binding.order, binding.subdomain.grid.axes, middle, ends, memory.slots, width,
                memory.at_once, binding.damped, scaled and not on_surface, curved,
            )  # fmt: skip
            operands = KernelFields(writes, reads, model, memory.arrays(parity))
            launches.append(binding.backend.sweep(
                formula, variant, tables, moving, operands,
                back=(self._number + parity) % 2 == 1,
                whole_boxes=None if np.array_equal(moving, complete) else complete,
            ))  # fmt: skip
        # the longest first; ends of rows, where they are apart, fill the rest of the card
        return [launch for turn in zip_longest(*launches) for launch in turn if launch is not None]

    def _regions(self, binding: Binding, memory: LayerMemory) -> list[RowGroup]:
        if self.stage.where == "layer" and memory.at_once:
            return []  # the stage that shares its memory does it
        if self.stage.where not in ("surface", "closed", "curved"):
            return binding.regions
        # Stages of the surface: its rows alone, without layers.
        rows = reached(self.stage, binding.subdomain.grid, binding.closed_rows)
        if self.stage.where == "curved" and binding.curved is not None:
            if binding.marches(self.stage.writes):
                return []  # the stage that takes terms of slopes finds it
            rows = Box((0, 0, 0), (*rows.hi[:2], binding.curved.count))
        nx = rows.shape[0]
        spans = ((0, 0), (0, nx), (nx, nx))
        curved = binding.curved is not None
        return [RowGroup(rows, spans, "", "", curved, curved)] if rows.size else []

    def follow(
        self, edges: list[Launch], core: list[Launch], memories: list[CheckpointArray]
    ) -> None:
        """Run corrections right after the updates of the same points; they keep `memories`."""
        self.edge_corrections += edges
        self.core_corrections += core
        self.memories += memories


def bind_stages(
    bindings: list[Binding], stages: tuple[Stage, ...], pad: int
) -> list[list[BoundStage]]:
    """Bind the stages of a wave equation to a subdomain, for each phase of the steps.

    Args:
        bindings: that they share, in each phase; all have the same layer memory.
        stages: the equation's table.
        pad: margin of layer memory.
    """
    common = bindings[0]
    memories = dict[str, LayerMemory]()
    for stage in stages:
        # Stages that share memory have that of the first.
        owner = stage.shares or stage.name
        if owner not in memories:
            slots = common.fields.physics.slots(owner)
            memories[owner] = LayerMemory(
                common.backend, stage, slots, common.subdomain, common.regions, pad,
                common.backend.at_once and common.fields.physics.at_once,
                common.fields.physics.short_layers,
            )  # fmt: skip
    return [
        [
            BoundStage(binding, stage, memories[stage.shares or stage.name], n)
            for n, stage in enumerate(stages)
        ]
        for binding in bindings
    ]


class RowCorrections:
    """Own the layer memory of a stage's corrections and bind them to the points of boxes."""

    def __init__(
        self, backend: Backend, subdomain: Subdomain, arrays: dict[str, np.ndarray], stage: str
    ) -> None:
        """Prepare for a subdomain.

        Args:
            backend: where the arrays are.
            subdomain: where.
            arrays: its flat arrays by field.
            stage: that they follow.
        """
        self._stage = stage
        self._backend = backend
        self._subdomain = subdomain
        self._arrays = arrays
        self._scratch: dict[tuple[str, Box], Any] = {}
        self.memories: list[CheckpointArray] = []

    def bind(
        self, terms: list[RowSums | RowSlope], box: Box, tables: KernelConstants
    ) -> list[Launch]:
        """Bind the terms whose target rows lie in a box of owned points, with tables of sweeps.

        Bindings of a box to other tables go on with the same layer memory.
        """
        launches = []
        for number, term in enumerate(terms):
            if isinstance(term, RowSlope):
                launches += self._slope(term, box, f"correction.{self._stage}.{number}", tables)
            else:
                launches += self._sums(term, box)
        return launches

    def _bases(self, box: Box) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return where row z = 0 would begin for every shot and y of a box, these y, and the shots.

        Of a part further down that is before its arrays.
        """
        # Rows of the box, for each shot and y, at z = 0.
        y = np.arange(box.lo[1], box.hi[1])
        batch = self._subdomain.batch
        shots = np.repeat(np.arange(batch), len(y))
        rows = np.tile(self._subdomain.flat(0, y, 0), batch)
        return shots * self._subdomain.volume + rows, np.tile(y, batch), shots

    def _offsets(self, rows) -> np.ndarray:
        return np.array(rows, np.int64) * self._subdomain.strides[1]

    def _sums(self, term: RowSums, box: Box) -> list[Launch]:
        # Dense block of the weights: target rows of this box, source rows.
        inside = {k: w for k, w in term.weights.items() if box.lo[2] <= k[0] < box.hi[2]}
        if not inside or not box.size:
            return []
        # Rows that change, and rows that are read.
        rows = sorted({target for target, _ in inside})
        sources = sorted({source for _, source in inside})
        target = self._arrays[term.target]
        source = self._arrays[term.source]
        weights = np.array([[inside.get((t, s), 0.0) for s in sources] for t in rows], target.dtype)
        to = self._offsets(rows)
        source_offsets = self._offsets(sources)
        (bases, _, shots) = self._bases(box)
        length = box.shape[0]
        put = self._backend.array
        arguments = (target, source, put(bases), put(to), put(source_offsets), put(weights))
        return [self._backend.each_row(add_rows, bases.size, length, arguments, (0,), shots)]

    def _memory(self, array_name: str, box: Box, rows: int, number: np.dtype) -> tuple[Any, Any]:
        """Return the layer memory of a term in a box, and where it finds slopes: (row, x) each."""
        if (array_name, box) not in self._scratch:
            length = box.shape[0]
            shots = self._subdomain.shots
            memory, slopes = (
                self._backend.array(np.zeros((rows, length), number)) for _ in range(2)
            )
            # Memory (shot, y, x) by global indices; it is the same in all phases of the layers.
            counts = ((shots.start, shots.stop), (box.lo[1], box.hi[1]), (0, length))
            strides = (rows // len(shots) * length, length, 1)
            block = GlobalBlock(array_name, 0, strides, tuple((run,) for run in counts))
            self.memories.append(CheckpointArray(memory, [block]))
            self._scratch[array_name, box] = memory, slopes
        return self._scratch[array_name, box]

    def _slope(
        self, term: RowSlope, box: Box, array_name: str, tables: KernelConstants
    ) -> list[Launch]:
        # df/da of weighted rows, once for all rows that take it.
        inside = {k: g for k, g in term.targets.items() if box.lo[2] <= k[1] < box.hi[2]}
        if not inside or not box.size:
            return []
        source = self._arrays[term.source]
        a = AXES.index(term.axis)
        number = source.dtype
        bases, y, shots = self._bases(box)
        length = box.shape[0]
        # b, a, 1 / kappa at nodes or half points: the term is stretched as the sweeps are.
        profile = tables.profiles[a][3 * term.up :][:3].astype(number)
        if term.axis == "x":
            profile = profile[:, self._subdomain.offset[0] :]
            profile_index = y * 0 - 1
        else:
            profile_index = y + self._subdomain.offset[1]
        # Staggered difference along the axis, up or down.
        stride = (1, self._subdomain.strides[0])[a]
        backend = self._backend
        put = self._backend.array
        memory, slopes = self._memory(array_name, box, bases.size, number)
        at = put(bases)
        arguments = (
            source, put(self._offsets(list(term.weights))),
            put(np.array(list(term.weights.values()), number)), at,
            stride, 0 if term.up else -stride, put(np.asarray(tables.first[a], number)),
            put(np.ascontiguousarray(profile)), put(profile_index), memory, slopes,
        )  # fmt: skip
        # One derivative, added to each target row with its own factor.
        adds = [
            (self._arrays[name], at, int(self._offsets(row)), number.type(gain), slopes)
            for (name, row), gain in inside.items()
        ]
        return [
            backend.each_row(slope, bases.size, length, arguments, (9, 10), shots),
            *(backend.each_row(add_scaled, bases.size, length, add, (0,), shots) for add in adds),
        ]
