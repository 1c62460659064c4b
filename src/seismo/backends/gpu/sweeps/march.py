"""Marches: the planes along z of a thread of a sweep, with the lanes it keeps on the way.

Strides, coefficients and spacings are constants of the kernel: each grid compiles its own.

A march along rows that follow the ground computes the contributions of slopes to derivatives on the
way. A point takes 2 reach + 1 rows of each `H` (`seismo.backends.operators.cell`) about its own, or
all rows that closed ones read. A thread keeps those of its column in registers: for each plane it
computes the contribution reach planes ahead, and updates the point. So no array has `H`, nothing of
it is stored and read again, and each row of it is found once in a march.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from seismo.backends.gpu.sweeps.blocks import BlockPosition, ThreadPosition
from seismo.backends.gpu.sweeps.lanes import Column, CudaLanes
from seismo.backends.gpu.sweeps.layouts import (
    BlockShape,
    SweepConstants,
    built_in,
    inner_nodes,
)
from seismo.backends.operators.cell import Cell, bind
from seismo.backends.operators.derivatives import AXES, KernelContext, Operators
from seismo.backends.traced import (
    IRValue,
    repeat,
    when,
)
from seismo.equations.framework.formula import Formula

SECTOR_BYTES = 32  # the least that the memory gives


@dataclass(frozen=True)
class Sweep:
    """The work of a thread, as code.

    Attributes:
        lanes: the lanes.
        constants: of the kernel.
        addresses: of the table of blocks, the layer memory (three), the profiles along x, y, z and
            the surface weights (two).
        arrays: addresses of fields and coefficients, as the formula takes them.
        position: which points are the thread's.
        block: where its block stands, of a march whose threads copy planes together.
    """

    lanes: CudaLanes
    constants: SweepConstants
    addresses: Sequence[IRValue]
    arrays: Sequence[IRValue]
    position: ThreadPosition
    block: BlockPosition | None = None

    @property
    def plane(self) -> int:
        """Distance of neighbours along z."""
        return int(self.constants.tables.strides[1])

    @property
    def z_differentiated(self) -> list[IRValue]:
        """The arrays that the formula differentiates along z."""
        return [self.arrays[n] for n in self.constants.columns]

    def lane(self, column: int, i: IRValue, n: int) -> IRValue:
        """Read the lane of an operand n planes further; the model has no shots."""
        number = self.constants.columns[column]
        constants = self.constants
        # Coefficients of the model have no shot axis.
        of_model = number >= constants.writes + constants.reads
        start = i - self.position.shot if of_model else i
        return self.lanes.level(self.arrays[number], start, n, self.plane)

    def index(self, z: IRValue) -> IRValue:
        """Return the index of the thread's lane in plane z of a field."""
        # Flat index of (z, y, x) in the thread's shot.
        position = self.position
        y_stride = int(self.constants.tables.strides[0])
        return z * self.plane + position.y * y_stride + position.x + position.shot

    def context(self, z: IRValue, fluxes: Sequence[IRValue] | None = None) -> KernelContext:
        """Return the context of plane z; of a march across a layer with the fluxes around it."""
        t = self.constants.tables
        position = self.position
        # Rows that grow have their 1 / J in the profile along z.
        profiled = self.constants.stretched + "z" * self.constants.scaled
        _, memory, flux, coming, x_table, y_table, z_table, up, down = self.addresses
        y_stride, z_stride = (int(n) for n in t.strides)
        # SBP closure rows are counted from the surface; rows below the closure share the last row.
        depth = z - int(t.surface)
        row = depth.clip(0, t.up.shape[0] - 1)
        weights = [self._row(a, row, t.up.shape[1], self.constants.closed) for a in (up, down)]
        # Profiles along y and z, a row for a lane, where the axis is stretched or rows grow.
        profiles = [
            self._row(table, n, t.profiles[k].shape[0], AXES[k] in profiled)
            for k, table, n in ((1, y_table, position.y), (2, z_table, z))
        ]
        return KernelContext(
            **built_in(t),
            y_stride=y_stride,
            z_stride=z_stride,
            shot=position.shot,
            mask=position.x_end - position.x if self.constants.masked else None,
            medium=self._medium(z),
            packed=position.packed,
            memory=memory,
            j=z * position.memory_z + position.y * position.memory_y + position.x + position.memory,
            memory_y=position.memory_y,
            memory_z=position.memory_z,
            slot=position.slot,
            ahead=0,
            x=position.x,
            x_table=x_table,
            x_length=t.profiles[0].shape[1],
            y_row=profiles[0],
            z_row=profiles[1],
            up=weights[0],
            down=weights[1],
            depth=depth * z_stride,
            ground=z * z_stride + position.shot,
            flux=fluxes or flux,
            coming=coming,
            kept=self._has_memory(z),
        )

    def _row(self, table: IRValue, n: IRValue, count: int, used: bool) -> list[IRValue] | None:
        """Read the n-th row of a table, which takes up whole lanes."""
        if not used:
            return None
        # Tables are padded to whole lanes: a vector load reads several of a row's numbers.
        unit = self.lanes.unit
        return self.lanes.numbers(table, n * (-(-count // unit) * unit), count)

    def _medium(self, z: IRValue) -> IRValue:
        """Return how far from its coefficients a point's fields stand.

        The model has no shots. The medium is constant across a layer
        (`seismo.model.earth.Earth.clamp`), so that all of its points read the coefficients of its
        innermost point but one: mostly from the cache.
        """
        # Offset of a point in the layer from the innermost point: (n - clamped n) * stride.
        t = self.constants.tables
        position = self.position
        medium = self.position.shot
        numbers = (position.x, position.y, z)
        for axis, n, stride in zip(AXES, numbers, (1, *t.strides), strict=True):
            if axis in self.constants.stretched:
                inner = n.clip(*inner_nodes(t, axis, self.lanes.width))
                medium = medium + (n - inner) * int(stride)
        return medium

    def _has_memory(self, z: IRValue) -> tuple[IRValue, IRValue] | None:
        """Whether plane z has layer memory, at nodes and at half points."""
        if "z" not in self.constants.stretched:
            return None
        # Memory exists at nodes outside `inside`, at half points from the next point inwards on the
        # low side.
        first, last = (int(n) for n in self.constants.tables.inside[2])
        after = z >= last
        return (z < first) | after, (z < first - 1) | after

    def window(self, i: IRValue, behind: int, ahead: int) -> list[list[IRValue]]:
        """Read the lanes of each field from so many planes behind to so many ahead."""
        # The queue of a march: 2 half planes behind and ahead of the first plane.
        planes = range(-behind, ahead + 1)
        columns = range(len(self.constants.columns))
        return [[self.lane(column, i, n) for n in planes] for column in columns]

    def next_lanes(self, i: IRValue, ahead: int) -> list[IRValue]:
        """Read the lanes that so many planes further on bring."""
        # One new lane for each field differentiated along z; the others move down the queue.
        return [self.lane(column, i, ahead) for column in range(len(self.constants.columns))]

    def operands(
        self,
        columns: Sequence[Sequence[IRValue]],
        spot_lanes: Sequence[IRValue] = (),
        shared: Any = None,
    ) -> list:
        """Return the formula's operands: arrays, with a column where differentiated along z.

        Args:
            columns: lanes around the point along z, of each field that is differentiated there.
            spot_lanes: lanes that were read early (`spot_lanes`).
            shared: the lanes around the point in shared memory (`march_tile`).
        """
        # The formula reads these fields from registers (`Column`), all others from memory.
        operands: list[IRValue | Column] = list(self.arrays)
        for n, lanes in zip(self.constants.columns, columns, strict=True):
            operands[n] = Column(self.arrays[n], lanes, shared)
        if spot_lanes:
            for n, lane in zip(self._spot_arrays, spot_lanes, strict=True):
                operands[n] = Column(self.arrays[n], [lane])
        return operands

    @property
    def _spot_arrays(self) -> list[int]:
        """Numbers of the arrays that a formula reads at the point alone, and in full precision."""
        constants = self.constants
        fields = constants.writes + constants.reads
        spots = (*range(constants.writes), *range(fields, constants.arrays))
        return [n for n in spots if n not in constants.columns and not constants.short[n]]

    def spot_lanes(self, i: IRValue) -> list[IRValue]:
        """Read the lanes of undifferentiated arrays; of the model outside layers."""
        fields = self.constants.writes + self.constants.reads
        return [
            self.lanes.load(self.arrays[n], i)
            if n < fields
            else self.lanes.read(self.arrays[n], i - self.position.shot)
            for n in self._spot_arrays
        ]

    def ask_changed(self, i: IRValue, context: KernelContext, sectors: bool) -> None:
        """Prefetch the arrays that an update changes, by each thread or a thread of each sector.

        What it reads of it comes after stores, of which the compiler must assume that they changed
        it: the memory's latency would count for each of the fields and memory variables.
        """
        # Prefetch in the order of use: memory variables, then the fields written.
        constants = self.constants
        if constants.memories:
            with self._asking_threads(context.j, sectors):
                for n in range(constants.memories):
                    self.lanes.ask(context.memory, context.j + context.slot * n)
        for short in (False, True):
            numbers = [n for n in constants.asked_arrays if constants.short[n] == short]
            if numbers:
                with self._asking_threads(i, sectors, short):
                    for n in numbers:
                        self.lanes.ask(self.arrays[n], i)

    def _asking_threads(
        self, index: IRValue, sectors: bool, short: bool = False
    ) -> AbstractContextManager[None]:  # fmt: skip
        """Write the block's code for prefetching threads: all, or the first of each sector."""
        if not sectors:
            return nullcontext()
        numbers = SECTOR_BYTES // (2 if short else self.lanes.size)
        return when((index & (numbers - 1)).equals(0))

    def ask_plane(self, i: IRValue, ahead: int) -> None:
        """Prefetch the lanes of a later plane.

        Threads that march keep little of the memory's latency in flight: their registers are full.
        This takes none.
        """
        constants = self.constants
        later = i + ahead * self.plane
        for n in (n for n in range(constants.arrays) if n not in constants.unread):
            of_model = n >= constants.writes + constants.reads
            # Fields differentiated along z enter the queue half the order ahead of the point
            # itself.
            if n in constants.columns:
                start = later - self.position.shot if of_model else later
                self.lanes.ask(self.arrays[n], start + constants.half * self.plane)
            elif n < constants.writes + constants.reads:
                self.lanes.ask(self.arrays[n], later)
            else:
                self.lanes.ask(self.arrays[n], later - self.position.shot)


March = Callable[[Sweep, IRValue, IRValue], None]  # planes z, from the first, to behind the last


def marching(update: Callable, shape: BlockShape) -> March:
    """Return the code writer of a thread's planes; marches keep the lanes around along z."""

    def single(sweep: Sweep, first: IRValue, last: IRValue) -> None:
        # One plane for each thread, or a few: neighbours along z come from memory.
        i = sweep.index(first)
        for n in range(shape.together):
            # What several planes read at the same places the compiler reads once.
            at = i + n * sweep.plane if n else i
            context = sweep.context(first + n if n else first)
            sweep.ask_changed(at, context, shape.sectors)
            update(at, context, *sweep.arrays)

    def march(sweep: Sweep, first: IRValue, last: IRValue) -> None:
        # March along z: a queue of 2 half lanes for each field, in registers (Micikevicius 2009).
        half = sweep.constants.half
        start = sweep.index(first)
        queues = sweep.window(start, half, half - 1)
        count = 2 * half

        def next_turn(z: IRValue, carried: list[IRValue]) -> list[IRValue]:
            i, *lanes = carried
            # The plane that completes the stencil of plane z is half planes ahead.
            context = sweep.context(z)
            brought = sweep.next_lanes(i, half)
            columns = [
                [*lanes[k * count : (k + 1) * count], lane] for k, lane in enumerate(brought)
            ]
            # Prefetch a later plane into the second-level cache.
            if shape.ahead:
                with when(z + shape.ahead < last):
                    sweep.ask_plane(i, shape.ahead)
            update(i, context, *sweep.operands(columns))
            # Shift each queue by one plane: drop the furthest plane.
            return [i + sweep.plane, *(lane for column in columns for lane in column[1:])]

        repeat(first, last, [start, *(lane for queue in queues for lane in queue)], next_turn)

    return single if shape.planes == 1 else march


class SlopeMarch:
    """What a thread does with its planes.

    Args:
        operators: of rows that follow the ground.
        formula: updates a point; names the `H` that it takes.
        ahead: planes further on that the second-level cache is asked for; 0 for none.
    """

    def __init__(self, operators: Operators, formula: Formula, ahead: int) -> None:
        assert operators.curved is not None
        self._operators = operators
        self._formula = formula
        self._update = bind(operators, formula)
        self._rows = operators.curved.cross
        self._ahead = ahead

    def inner(self, sweep: Sweep, first: IRValue, last: IRValue) -> None:
        """Write the planes of a thread whose weights are about themselves."""
        reach = self._rows // 2
        count = 2 * reach

        def next_turn(z: IRValue, carried: list[IRValue]) -> list[IRValue]:
            # What is read again for the next plane comes out of the cache: registers are full.
            i = sweep.lanes.unknown(carried[0])
            kept = carried[1:]
            # The H that completes the column of plane z is reach planes ahead.
            brought = self._slopes_at(sweep, i + reach * sweep.plane, z + reach)
            columns = [[*kept[n * count : (n + 1) * count], lane] for n, lane in enumerate(brought)]
            # Prefetch later planes into the second-level cache.
            if self._ahead:
                with when(z + self._ahead < last):
                    _ask(sweep, i, reach, self._ahead)
            self._updated(sweep, i, z, columns)
            return [i + sweep.plane, *(lane for lanes in columns for lane in lanes[1:])]

        start = sweep.index(first)
        begun = [
            self._slopes_at(sweep, start + n * sweep.plane, first + n) for n in range(-reach, reach)
        ]
        queues = zip(*begun, strict=True)
        repeat(first, last, [start, *(lane for lanes in queues for lane in lanes)], next_turn)

    def closed(self, sweep: Sweep, first: IRValue, last: IRValue) -> None:
        """Write the planes of a thread under the surface, whose weights count from its row."""
        # All of their H: none lies above the surface.
        surface = first.constant(int(sweep.constants.tables.surface))
        start = sweep.index(surface)
        of_rows = [
            self._slopes_at(sweep, start + n * sweep.plane, surface + n) for n in range(self._rows)
        ]
        above = [None] * self._rows
        columns = [[*above, *lanes, None] for lanes in zip(*of_rows, strict=True)]

        def next_turn(z: IRValue, carried: list[IRValue]) -> list[IRValue]:
            i = sweep.lanes.unknown(carried[0])
            self._updated(sweep, i, z, columns)
            return [i + sweep.plane]

        repeat(first, last, [sweep.index(first)], next_turn)

    def _slopes_at(self, sweep: Sweep, i: IRValue, z: IRValue) -> list[IRValue]:
        # Each H at a lane, of the fields there.
        names = self._formula.marched
        arrays = (*sweep.arrays, *([None] * len(names)))
        curved = Cell(self._operators, self._formula, i, sweep.context(z), arrays).curved
        return [curved.sloped(name) for name in names]

    def _updated(self, sweep: Sweep, i: IRValue, z: IRValue, columns: Sequence) -> None:
        # An array's address stands for that of H, which has none.
        kept = [Column(sweep.arrays[0], lanes) for lanes in columns]
        self._update(i, sweep.context(z), *sweep.arrays, *kept)


def along_slopes(operators: Operators, formula: Formula, shape: BlockShape) -> March:
    """Return the code writer of a thread's planes (`SlopeMarch`), of closed rows or of others."""
    march = SlopeMarch(operators, formula, shape.ahead)
    return march.closed if operators.closed else march.inner


def _ask(sweep: Sweep, i: IRValue, reach: int, ahead: int) -> None:
    """Prefetch a later plane: fields that H reads, and the point's own."""
    constants = sweep.constants
    fields = constants.writes + constants.reads
    for n, array in enumerate(sweep.arrays[:fields]):
        planes = ahead + (reach if n >= constants.writes else 0)
        sweep.lanes.ask(array, i + planes * sweep.plane)
