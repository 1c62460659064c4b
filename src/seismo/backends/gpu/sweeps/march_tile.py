"""Planes of a march in shared memory, and marches across an absorbing layer.

The threads of a block copy the plane that comes next, with a frame of half the stencil around the
block, while they work on the present plane; the copies pass by the registers (`cp.async`).
Neighbours along x and y are then read from shared memory. A point of order 16 has 32 of them, more
than the first-level cache delivers in time.

::

    wait for the copies of this plane, and for the other threads
    copy the next plane; read the queue's next lane and the point's own numbers of it
    update this plane

Two planes take turns in shared memory, so that a barrier per plane keeps them apart.

Across a layer whose second derivatives are taken at once (`across`) a thread holds its column of
the field and of the fluxes to come in registers: each row of the layer is read once, and of the
neighbours' memory none. The rows beside the layer's memory, which see it, are marched through alike
(`seismo.backends.operators.derivatives.across`). At high orders the plane around the points stands
in shared memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from seismo.backends.gpu.sweeps.lanes import Column
from seismo.backends.gpu.sweeps.layouts import BlockShape
from seismo.backends.gpu.sweeps.march import March, Sweep
from seismo.backends.traced import (
    IRValue,
    choose,
    repeat,
    when,
)

SLOTS = 2  # planes in shared memory


class PlaneTile:
    """The planes of a field in shared memory, as a thread of a block sees them."""

    def __init__(self, sweep: Sweep, shape: BlockShape, first: IRValue) -> None:
        """Set memory aside, find where the thread's copies come from, and copy a first plane."""
        lanes = sweep.lanes
        block = sweep.block
        assert block is not None
        half = sweep.constants.half
        frame = -(-half // lanes.width)
        self._sweep = sweep
        self._block = block
        self._first = first
        self.pitch = shape.threads[0] + 2 * frame
        rows = shape.threads[1] + 2 * half
        self._copies = -(-self.pitch * rows // block.threads)
        # All threads make as many copies: copies behind the tile's end pad its memory.
        self._size = self._copies * block.threads
        self._memory = lanes.shared(first.builder, SLOTS * self._size * lanes.width)
        self._position = (block.row + half) * self.pitch + block.column + frame
        self._offsets = [self._offset(n, frame, half) for n in range(self._copies)]
        self._copy(first, first.constant(0))

    def _offset(self, n: int, frame: int, half: int) -> IRValue:
        """Return where the thread's n-th copy comes from, counted from its plane's beginning."""
        # Lane (row, column) of the tile; the frame reaches `half` rows and `frame` lanes beyond.
        sweep = self._sweep
        block = self._block
        width = sweep.lanes.width
        lane = block.number + n * block.threads
        x = block.x + (lane % self.pitch - frame) * width
        y = block.y + lane // self.pitch - half
        # What no point of the box needs may lie beyond the array: the block's first stands in.
        needed = (x < block.x_end + frame * width) & (y < block.y_end + half)
        stride = int(sweep.constants.tables.strides[0])
        return choose(needed, y * stride + x, block.y * stride + block.x) + sweep.position.shot

    def _copy(self, z: IRValue, slot: IRValue) -> None:
        """Start to copy plane z of the field."""
        lanes = self._sweep.lanes
        (field,) = self._sweep.z_differentiated
        for n, offset in enumerate(self._offsets):
            lane = slot + self._block.number + n * self._block.threads
            source = z * self._sweep.plane + offset
            lanes.copy_to_shared(self._memory, lane * lanes.width, field, source)

    def turn(self, z: IRValue, last: IRValue, index: IRValue) -> TileLane:
        """Wait for plane z and start to copy the next.

        Returns:
            the lanes around the thread's lane, which has that index in the field.
        """
        slot = (z - self._first) & 1
        self._sweep.lanes.await_copies(z.builder)
        with when(z + 1 < last):
            self._copy(z + 1, (slot * -1 + 1) * self._size)
        return TileLane(self, index, slot * self._size + self._position)

    def lane(self, number: IRValue) -> IRValue:
        """Read a lane of shared memory."""
        lanes = self._sweep.lanes
        return lanes.read_shared(self._memory, number * lanes.width)


@dataclass(frozen=True)
class TileLane:
    """A lane in shared memory, and the lanes around it in its plane.

    Attributes:
        tile: has them.
        index: of the lane in the field.
        number: of the lane in shared memory.
    """

    tile: PlaneTile
    index: IRValue
    number: IRValue

    def lane(self, lanes: int, rows: int) -> IRValue:
        """Read the lane so many lanes further along x and rows along y."""
        return self.tile.lane(self.number + (rows * self.tile.pitch + lanes))


def only_points(sweep: Sweep) -> AbstractContextManager[None]:
    """Write the code of the block for threads that have points; the others only copy planes."""
    return when(sweep.block.inside) if sweep.block else nullcontext()


def tiled(update: Callable, shape: BlockShape) -> March:
    """Return the code writer of the planes of all threads of a block."""

    def march(sweep: Sweep, first: IRValue, last: IRValue) -> None:
        half = sweep.constants.half
        count = 2 * half
        tile = PlaneTile(sweep, shape, first)
        start = sweep.index(first)
        (queue,) = sweep.window(start, half, half - 1)
        early = [*sweep.next_lanes(start, half), *sweep.spot_lanes(start)]

        def next_turn(z: IRValue, carried: list[IRValue]) -> list[IRValue]:
            i, *lanes = carried
            shared = tile.turn(z, last, i)
            # The next plane's operands are read now; behind the last plane the last again.
            following = choose(z + 1 < last, i + sweep.plane, i)
            early = [*sweep.next_lanes(following, half), *sweep.spot_lanes(following)]
            if shape.ahead:
                with when(z + shape.ahead < last):
                    sweep.ask_plane(i, shape.ahead)
            column = lanes[: count + 1]
            spot_lanes = lanes[count + 1 :]
            with only_points(sweep):
                update(i, sweep.context(z), *sweep.operands([column], spot_lanes, shared))
            return [i + sweep.plane, *column[1:], *early]

        repeat(first, last, [start, *queue, *early], next_turn)

    return march


def across(update: Callable, flux: Callable, shape: BlockShape) -> March:
    """Return the code writer of a thread's planes of a layer across z (`derivatives.across`).

    It begins as far before them as fluxes are needed, so that each flux is computed in a single
    way.

    Args:
        update: the formula.
        flux: function (field, i, place) -> the flux there.
        shape: the layout of threads.
    """

    def march(sweep: Sweep, first: IRValue, last: IRValue) -> None:
        # Registers: 2 reach field lanes and 2 half fluxes, where reach = 2 half - 1 planes on each
        # side.
        half = sweep.constants.half
        reach = 2 * half - 1
        count = 2 * reach
        tile = PlaneTile(sweep, shape, first) if shape.tile else None

        def forward(
            i: IRValue, z: IRValue, carried: Sequence[IRValue]
        ) -> tuple[Column, list[IRValue]]:  # fmt: skip
            """Take a plane up: return the field's column, and the fluxes with the new flux."""
            # The flux at z + half - 1/2 needs the field up to reach planes ahead of z.
            queue = carried[:count]
            fluxes = carried[count:]
            (lane,) = sweep.next_lanes(i, reach)
            (field,) = sweep.z_differentiated
            column = Column(field, [*queue, lane])
            return column, [*fluxes[1:], flux(column, i, sweep.context(z))]

        def next_turn(z: IRValue, carried: list[IRValue]) -> list[IRValue]:
            # Main march: the flux half a stencil ahead enters, then the plane is updated.
            i, *registers = carried
            shared = tile.turn(z, last, i) if tile else None
            if shape.ahead:
                with when(z + shape.ahead < last):
                    _ask_row(sweep, i + shape.ahead * sweep.plane, z + shape.ahead)
                    if shape.asks:
                        _ask_registers(sweep, i + shape.ahead * sweep.plane, z + shape.ahead)
            column, fluxes = forward(i, z + (half - 1), registers)
            with only_points(sweep):
                update(i, sweep.context(z, fluxes), *sweep.operands([column.lanes], (), shared))
            return [i + sweep.plane, *column.lanes[1:], *fluxes]

        # Start reach planes before the first: 2 half - 1 steps fill the queue of fluxes.
        i = sweep.index(first - reach)
        # Planes behind that are not asked for are gone before they are used: any lane will do.
        (lanes_ahead,) = sweep.window(i, 0, reach - 1)
        queue = [lanes_ahead[0]] * reach + lanes_ahead
        registers = [*queue, *queue[: 2 * half]]
        # Written out, so that the steps' loads go side by side; they update nothing.
        for n in range(reach):
            column, fluxes = forward(i, first + (n - half), registers)
            registers = [*column.lanes[1:], *fluxes]
            i = i + sweep.plane
        repeat(first, last, [i, *registers], next_turn)

    return march


def _ask_registers(sweep: Sweep, i: IRValue, z: IRValue) -> None:
    """Ask the cache for the field and the flux that a later turn's registers take up."""
    half = sweep.constants.half
    (field,) = sweep.z_differentiated
    sweep.lanes.ask(field, i + (2 * half - 1) * sweep.plane)
    context = sweep.context(z + (half - 1))
    with when(context.kept[1]):
        sweep.lanes.ask(context.flux, context.j)


def _ask_row(sweep: Sweep, i: IRValue, z: IRValue) -> None:
    """Prefetch the arrays that change in a later row."""
    context = sweep.context(z)
    position = sweep.position
    constants = sweep.constants
    fields = constants.writes + constants.reads
    for n in range(fields):
        if n not in constants.columns and n not in constants.unread:
            sweep.lanes.ask(sweep.arrays[n], i)
    with when(context.medium.equals(position.shot)):  # else of the previous or next row
        for array in sweep.arrays[fields:]:
            sweep.lanes.ask(array, i - context.medium)
    with when(context.kept[0]):
        sweep.lanes.ask(context.memory, context.j)
