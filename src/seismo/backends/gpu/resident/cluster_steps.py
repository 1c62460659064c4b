"""Updates of a plane by second differences in the memory of a cluster: fluxes of layers, own rows.

Layers take two passes, as on a CPU.

Updates of a plane by staggered first differences in the memory of a cluster.

Stages take turns: velocities, stresses. Layer memory stays in the card's memory, which its second
level of cache has, and so does as much of the model as finds no room beside a shot's fields. Blocks
of threads work in step: nothing bridges the time in which all wait for that cache. So a thread
reads all that a few rows take before it stores anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from seismo.backends.gpu.resident.block import BoundFormula, NotedLanes
from seismo.backends.gpu.resident.cluster_block import ClusterBlock
from seismo.backends.gpu.resident.threads import Member, SharedLanes
from seismo.backends.gpu.sweeps.lanes import Column
from seismo.backends.operators.cell import bind
from seismo.backends.operators.derivatives import KernelContext, Operators
from seismo.backends.traced import (
    IRValue,
    smaller,
    when,
)
from seismo.equations.framework.formula import SECOND_SLOTS, Formula

WRITTEN_FIELD = 0  # numbers of the fields (`ClusterBlock.field`)
READ_FIELD = 1


class _LayerOperators(Operators):
    """Operators whose memory along each axis lies elsewhere: `KernelContext.memory` by axis."""

    def slot(self, axis: str) -> int:
        """Return the first memory variable along an axis, in its own memory."""
        return 0

    def second(self, axis: str, f: Any, i: Any, s: KernelContext) -> Any:
        """Return a second derivative."""
        return super().second(axis, f, i, self._along(axis, s))

    def flux(self, axis: str, f: Any, i: Any, s: KernelContext) -> None:
        """Update the flux memory of a second derivative."""
        super().flux(axis, f, i, self._along(axis, s))

    def _along(self, axis: str, s: KernelContext) -> KernelContext:
        return s._replace(**s.memory[axis]) if axis in self.stretched else s


class _FluxQueue:
    """Columns of the flux along z around consecutive rows."""

    def __init__(self, lanes: SharedLanes, memory: dict[str, Any], half: int) -> None:
        self._lanes = lanes
        self._memory = memory
        self._half = half
        # Half points n - M ... n + M - 1 about row n, for the outer difference of psi.
        self._rows = [self._read(n) for n in range(-half, half)]

    def _read(self, n: int) -> IRValue:
        memory = self._memory
        return self._lanes.load(memory["memory"], memory["j"] + n * memory["memory_z"])

    def __getitem__(self, n: int) -> Column:
        """Return the column around the n-th row; rows are asked for in order."""
        self._rows.append(self._read(n + self._half))
        return Column(self._memory["memory"], self._rows[n : n + 2 * self._half + 1])


class ClusterSteps:
    """Update the points of a block."""

    def __init__(
        self, block: ClusterBlock, formula: Formula, coefficients: dict[str, list]
    ) -> None:
        """Bind a formula to the operators of each kind of points.

        Args:
            block: the block.
            formula: of the equation.
            coefficients: as in `KernelContext`.
        """
        self._block = block
        self._coefficients = coefficients
        order = 2 * block.shape.half
        self._operators = [
            _LayerOperators(block.lanes, order, "xz", kind.stretched, SECOND_SLOTS)
            for kind in block.shape.kinds
        ]
        self._updates = [bind(operator, formula) for operator in self._operators]

    def advance(self, number: int, member: Member, step: IRValue) -> None:
        """Do a pass of a step: update the fluxes of layers, or all points."""
        (self._update_fluxes, self._update)[number](member, step)

    def _update_fluxes(self, member: Member, step: IRValue) -> None:
        """Update the fluxes of the block's layers."""
        field = self._block.field(member, READ_FIELD, step)

        def update(number: int, row: dict[str, IRValue], x: IRValue, z: IRValue) -> None:
            def flux(n: int, i: IRValue, column: Column) -> None:
                context = self._context(number, member, row, x, z + n, i)
                # psi <- b psi + a dp/da at half points (Roden & Gedney 2000).
                for axis in self._block.shape.kinds[number].stretched:
                    self._operators[number].flux(axis, column, i, context)

            start = self._block.start(member, x, z)
            self._block.march(number, row, z, start, field, flux)

        self._block.rounds(member, 0, update)

    def _update(self, member: Member, step: IRValue) -> None:
        """Update the block's rows: bind the formula to where each lane stands."""
        field = self._block.field(member, READ_FIELD, step)
        written = self._block.field(member, WRITTEN_FIELD, step)
        model = self._block.kept_model(member, 0)

        def update(number: int, row: dict[str, IRValue], x: IRValue, z: IRValue) -> None:
            fluxes = self._flux_queue(number, member, row, x, z)

            def point(n: int, i: IRValue, column: Column) -> None:
                context = self._context(number, member, row, x, z + n, i)
                if fluxes is not None:
                    context.memory["z"]["flux"] = fluxes[n]
                # p(n+1) over p(n-1); in layers d2/da2 p + d/da psi + outer memory.
                self._updates[number](i, context, written, column, model)

            start = self._block.start(member, x, z)
            self._block.march(number, row, z, start, field, point)

        self._block.rounds(member, 1, update)

    def _flux_queue(
        self, number: int, member: Member, row: dict[str, IRValue], x: IRValue, z: IRValue
    ) -> _FluxQueue | None:
        """Return the fluxes along z around the rows of a column, read as they are needed."""
        if "z" not in self._block.shape.kinds[number].stretched:
            return None
        memory = self._block.memory(number, member, row, x, z)["z"]
        return _FluxQueue(self._block.lanes, memory, self._block.shape.half)

    def _context(self, number: int, member: Member, row: dict[str, IRValue], x: IRValue,
                 z: IRValue, i: IRValue) -> KernelContext:  # fmt: skip
        """Return the operators' context of a lane."""
        block = self._block
        node = block.kept_node(member, *block.inner_node(number, x, z))
        return block.context(
            self._coefficients,
            number,
            x,
            z,
            mask=block.mask(x, row["x_end"]),
            medium=i - node,
            memory=block.memory(number, member, row, x, z),
        )


class _Node(IRValue):
    """Index of a node in the arrays of the model, partly kept in shared memory.

    Attributes:
        kept: its index in these; `value` is that in the card's memory.
        rows: distances of rows: in the card's memory, in shared memory.
    """

    __slots__ = ("kept", "rows")

    def __init__(self, index: IRValue, kept: IRValue, rows: tuple[IRValue, IRValue]) -> None:
        super().__init__(index.builder, index.value)
        self.kept = kept
        self.rows = rows

    def __add__(self, row: IRValue) -> _Node:
        """Return the index of the next row: formulas take no other steps in the model."""
        # Both indices go on together: which of them is used depends on the array.
        beside, kept_beside = self.rows
        return _Node(self.then(self.value) + beside, self.kept + kept_beside, self.rows)


class _FromNode(IRValue):
    """What is to be taken from the index of a field to get that of its node (`KernelContext`)."""

    __slots__ = ("node",)

    def __init__(self, offset: IRValue, node: _Node) -> None:
        super().__init__(offset.builder, offset.value)
        self.node = node

    def __rsub__(self, index: IRValue) -> _Node:
        """Return the index of the node."""
        return _Node(index - self.then(self.value), self.node.kept, self.node.rows)


class _StageLanes(NotedLanes):
    """Lanes of rows that a thread updates side by side; part of the model is in shared memory.

    Stores are done later, so that reads need not wait for them.
    """

    def __init__(self, lanes: SharedLanes) -> None:
        super().__init__(lanes)
        self.kept: list[IRValue] = []  # addresses of coefficients in shared memory

    def _at(self, source: Any, index: IRValue) -> IRValue:
        if not isinstance(index, _Node):
            return index
        return index.kept if any(source is kept for kept in self.kept) else index.then(index.value)

    def level(self, source: Any, index: IRValue, n: int, stride: Any) -> IRValue:
        """Read a lane n rows further."""
        return self._lanes.level(source, self._at(source, index), n, stride)

    def read(self, source: Any, index: IRValue) -> IRValue:
        """Read a lane."""
        return self._lanes.read(source, self._at(source, index))

    def beside(self, source: Any, index: IRValue, n: int) -> IRValue:
        """Read a lane n points further along x."""
        return self._lanes.beside(source, self._at(source, index), n)


class _MemoryOperators(Operators):
    """Operators whose memory variables were read before: `KernelContext.memory` by variable."""

    def through_layer(self, d: Any, axis: str, half: bool, s: KernelContext, n: int) -> Any:
        """Pass a derivative through its memory variable where a layer is."""
        if axis not in self.stretched:
            return d
        # psi <- b psi + a d with the psi that was read before (`_variables`).
        variable = s.memory[self.slot(axis) + n]
        return super().through_layer(d, axis, half, s._replace(memory=variable), n)


class ClusterStages:
    """Update the points of a block, a stage in each pass of a step."""

    def __init__(
        self, block: ClusterBlock, formulas: Sequence[BoundFormula], coefficients: dict[str, list]
    ) -> None:
        """Bind formulas to the operators of each kind of points.

        Args:
            block: the block.
            formulas: of the equation.
            coefficients: as in `KernelContext`.
        """
        self._block = block
        self._coefficients = coefficients
        self._formulas = [formulas[kind.formula] for kind in block.shape.kinds]
        order = 2 * block.shape.half
        self._lanes = _StageLanes(block.lanes)
        # One binding for each kind of points: formula and stretched axes.
        self._updates = [
            bind(
                _MemoryOperators(
                    self._lanes,
                    order,
                    "xz",
                    kind.stretched,
                    formula.formula.slots,
                    damped=formula.damped,
                ),
                formula.formula,
            )
            for kind, formula in zip(block.shape.kinds, self._formulas, strict=True)
        ]

    def advance(self, number: int, member: Member, step: IRValue) -> None:
        """Do a pass of a step: update the block's rows in a stage."""
        block = self._block
        plane = block.plane
        # What shared memory has of the model, in place of the card's arrays.
        model = {c: block.kept_model(member, n) for n, c in enumerate(block.shape.kept)}
        self._lanes.kept = list(model.values())

        def update(kind: int, row: dict[str, IRValue], x: IRValue, z: IRValue) -> None:
            formula = self._formulas[kind]
            # Operands in the order of the formula: fields, then coefficients.
            arrays: list[Any] = [block.field(member, field, step) for field in formula.fields]
            arrays += [model.get(n, block.arrays.coefficients[n]) for n in formula.coefficients]
            start = block.start(member, x, z)
            count = block.shape.strips[kind]
            # What is around the rows along z is read once for all of them.
            reach = range(-block.shape.half, count + block.shape.half)
            marched = {
                n: [block.lanes.read(arrays[n], start + k * plane.pitch) for k in reach]
                for n in formula.formula.along("z")
            }
            # All rows are computed before any is stored: their loads need not wait for stores.
            written = []
            for n in range(count):
                # Behind the last row the last row is computed again, and not stored.
                at = smaller(z + n, row["z_end"] - 1) if n else z
                # Fields differentiated along z come as columns in registers.
                operands = list(arrays)
                for array, lanes in marched.items():
                    column = lanes[n : n + 2 * block.shape.half + 1]
                    operands[array] = Column(arrays[array], column)
                i = start + n * plane.pitch
                self._updates[kind](i, self._context(kind, row, member, x, at, i), *operands)
                written.append(self._lanes.taken())
            # Then they are stored, the first of them in any case.
            for n, stores in enumerate(written):
                with when(z + n < row["z_end"]) if n else nullcontext():
                    for store in stores:
                        block.lanes.store(*store)

        block.rounds(member, number, update)

    def _node(self, kind: int, member: Member, x: IRValue, z: IRValue) -> _Node:
        """Return the index of a point's node in the arrays of the model."""
        block = self._block
        inner_x, inner_z = block.inner_node(kind, x, z)
        # Flat index in the arrays of the card, and in their kept parts.
        index = inner_z.wide() * block.plane.stride + inner_x.wide()
        kept = block.kept_node(member, inner_x, inner_z)
        return _Node(index, kept, (block.plane.stride, block.plane.model_row))

    def _context(
        self, kind: int, row: dict[str, IRValue], member: Member, x: IRValue, z: IRValue, i: IRValue
    ) -> KernelContext:  # fmt: skip
        """Return the operators' context of a lane.

        Args:
            kind: number of the kind of points.
            row: columns of the round.
            member: the thread.
            x: of the lane.
            z: of the lane.
            i: its index in a field.
        """
        # Layer memory as other kernels have it: index of the point, then variable by variable.
        j = z.wide() * row["memory_z"] + x.wide() + row["memory"] + member.shot * row["shot"]
        node = self._node(kind, member, x, z)
        return self._block.context(
            self._coefficients,
            kind,
            x,
            z,
            8 if self._formulas[kind].damped else 6,
            mask=self._block.mask(x, row["x_end"]),
            medium=_FromNode(i - node.then(node.value), node),
            packed=row["packed"],
            memory=self._variables(kind, j, row["slot"]),
            j=j,
            slot=row["slot"],
        )

    def _variables(self, kind: int, j: IRValue, slot: IRValue) -> list[Column]:
        """Read the memory variables of a point, before any of them is written."""
        formula = self._formulas[kind]
        address = self._block.arrays.memory[formula.memory]
        # Of each stretched axis as many as the formula has derivatives there.
        count = len(self._block.shape.kinds[kind].stretched) * formula.formula.slots
        return [
            Column(address, [self._block.lanes.load(address, j + slot * n if n else j)])
            for n in range(count)
        ]
