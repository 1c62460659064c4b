"""Kernels for GPUs around a formula or a body: which thread does which points.

A sweep's kernel cuts boxes into blocks of threads, a lane of x for each thread. A box that is the
same for every shot (the interior) is known to the compiler, and its blocks to the launch grid; the
many boxes of the absorbing layers come as a table of blocks (`seismo.backends.gpu.sweeps.blocks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from seismo.backends.base import Variant
from seismo.backends.gpu.sweeps.blocks import (
    BLOCK_COLUMNS,
    BlockPosition,
    RowRotation,
    Thread,
    ThreadPosition,
)
from seismo.backends.gpu.sweeps.lanes import CudaLanes
from seismo.backends.gpu.sweeps.layouts import BlockShape, SweepConstants
from seismo.backends.gpu.sweeps.march import Sweep, along_slopes, marching
from seismo.backends.gpu.sweeps.march_tile import across, tiled
from seismo.backends.kernel_cache import function_name
from seismo.backends.operators.cell import bind
from seismo.backends.operators.derivatives import Operators
from seismo.backends.traced import (
    IRValue,
    choose,
    kept_in,
    smaller,
    when,
)
from seismo.equations.framework.formula import Formula

if TYPE_CHECKING:
    from seismo.backends.gpu.code_cache import Tools


@dataclass(frozen=True)
class SweepKernel:
    """A formula over boxes: a box common to all shots, or boxes of a table.

    Attributes:
        formula: of an equation.
        variant: operators that it is bound to; `constants` says which axes are stretched.
        precision: of the lanes.
        constants: built in.
        shape: layout of threads.
        box: (x, x_end, y, y_end, z, z_end, packed), or None for a table.
        volume: offset between the boxes of consecutive shots.
        back: whether the blocks go from the box's last planes to its first.
        turned: whether the arrays are taken with y and z swapped.
        rotation: of odd rows.
        narrow: whether its lanes are.
    """

    formula: Formula
    variant: Variant
    precision: str
    constants: SweepConstants
    shape: BlockShape
    box: tuple[int, ...] | None
    volume: int
    back: bool
    turned: bool = False
    rotation: RowRotation | None = None
    narrow: bool = False

    def __str__(self) -> str:
        """Identify it among all kernels."""
        built_in = (self.variant, self.precision, self.shape, self.box, self.volume, self.back)
        how = (self.rotation, self.turned, self.narrow)
        return f"{self.formula} {built_in} {how} {self.constants}"

    def write(self, tools: Tools) -> Callable:
        """Write the kernel."""
        from numba.cuda import types
        from numba.cuda.extending import intrinsic

        lanes = tools.lanes(self.precision, self.narrow)

        @intrinsic
        def code(context, addresses, arrays):
            def generate(context, builder, signature, args):
                # Unpack the two tuple arguments into their addresses.
                tuples = [
                    [IRValue(builder, builder.extract_value(argument, n)) for n in range(len(kind))]
                    for argument, kind in zip(args, signature.args, strict=True)
                ]
                self.trace(lanes, Thread(builder), *tuples)
                return context.get_dummy_value()

            return types.void(addresses, arrays), generate

        def kernel(addresses, arrays):
            code(addresses, arrays)

        return kernel

    def trace(
        self, lanes: CudaLanes, thread: Thread, addresses: Sequence[IRValue],
        arrays: Sequence[IRValue],
    ) -> None:  # fmt: skip
        """Write the code of a thread.

        Args:
            lanes: the lanes.
            thread: where it stands (`Thread`).
            addresses: as in `Sweep`.
            arrays: addresses of fields and coefficients.
        """
        v = self.variant
        constants = self.constants
        shape = self.shape
        arrays = kept_in(arrays, constants.short)
        # The table of blocks, memory (three), and tables of the layers.
        short = [0 < n <= 3 and constants.short_memory for n in range(len(addresses))]
        addresses = kept_in(addresses, short)
        # Layers across z, taken at once, in a march that carries fluxes from plane to plane.
        through = v.at_once and constants.stretched == "z" and shape.planes > 1
        # One formula, bound to the operators of these boxes: layers, closed rows, rows that grow.
        bound = Operators(
            lanes, v.order, v.axes, constants.stretched, v.slots, v.closed, at_once=v.at_once,
            across=through, damped=v.damped, turned=self.turned, scaled=v.scaled, curved=v.curved,
        )  # fmt: skip
        update = bind(bound, self.formula)
        if self.formula.marched:
            march = along_slopes(bound, self.formula, shape)
        elif through:
            march = across(update, bound.flux_to_come, shape)
        else:
            march = (tiled if shape.tile else marching)(update, shape)
        where = self._in_box if self.box else self._in_table
        position, y_end, first, last = where(lanes, thread, addresses)
        # Lanes behind the end of a row, and rows behind the end of the box, have no points.
        inside = (position.x < position.x_end) & (position.y < y_end) & (first < last)
        if shape.tile:
            block = self._block(lanes, thread, position, y_end, inside)
            # Threads without points help to copy, at the position of the block's first thread.
            x = choose(inside, position.x, block.x)
            y = choose(inside, position.y, block.y)
            position = replace(position, x=x, y=y)
            march(Sweep(lanes, constants, addresses, arrays, position, block), first, last)
            return
        with when(inside):
            if self.rotation:
                position = replace(
                    position, x=self.rotation.rotated(position.x, position.y, lanes.width)
                )
            march(Sweep(lanes, constants, addresses, arrays, position), first, last)

    def _block(
        self, lanes: CudaLanes, thread: Thread, position: ThreadPosition, y_end: Any,
        inside: IRValue,
    ) -> BlockPosition:  # fmt: skip
        """Return where the thread's block stands, which copies planes to shared memory."""
        column = thread.number("x")
        row = thread.number("y")
        number, threads = thread.share(self.shape.threads)
        return BlockPosition(
            position.x - column * lanes.width, position.y - row, position.x_end, y_end,
            column, row, number, threads, inside,
        )  # fmt: skip

    def _planes(self, thread: Thread, start: IRValue, end: Any) -> tuple[IRValue, IRValue]:
        """Return a thread's first plane z of a block's, and behind its last."""
        # A thread has consecutive planes in a march, or to update together; else a single plane.
        per_block = self.shape.points(1)[2]
        thread_planes = self.shape.planes * self.shape.together
        plane_distance, reach = (
            (thread_planes, thread_planes) if thread_planes > 1 else (1, per_block)
        )
        first = start + thread.number("z") * plane_distance
        return first, smaller(smaller(start + per_block, end), first + reach)

    def _in_table(
        self, lanes: CudaLanes, thread: Thread, addresses: Sequence[IRValue]
    ) -> tuple[ThreadPosition, Any, IRValue, IRValue]:  # fmt: skip
        """Read the block's row of the table.

        Returns:
            the thread's lane; behind its last row y; its first plane z; behind its last.
        """
        # One row of BLOCK_COLUMNS integers for each block, in the order of the launch grid.
        row = thread.block("x").wide() * BLOCK_COLUMNS
        columns = [lanes.integer(addresses[0], row + n) for n in range(BLOCK_COLUMNS)]
        x, y, start, x_end, y_end, z_end, *rest = columns
        planes = self._planes(thread, start, z_end)
        x = x + thread.number("x") * lanes.width
        return ThreadPosition(x, y + thread.number("y"), x_end, *rest), y_end, *planes

    def _in_box(
        self, lanes: CudaLanes, thread: Thread, addresses: Sequence[IRValue]
    ) -> tuple[ThreadPosition, Any, IRValue, IRValue]:  # fmt: skip
        """Find the block in the launch grid, which counts along x, y, and z of all shots."""
        assert self.box is not None
        # The box is a constant of the kernel: its bounds become literals.
        x0, x_end, y0, y_end, z0, z_end, packed = self.box
        (nx, ny, _) = self.shape.threads
        per_block = self.shape.points(1)[2]
        layers = -(-(z_end - z0) // per_block)
        blocks = self._block_numbers(thread, lanes.width)
        x = (next(blocks) * nx + thread.number("x")) * lanes.width + x0
        y = next(blocks) * ny + thread.number("y") + y0
        layer = next(blocks)
        shot = next(blocks)
        # The last blocks first: the sweep before has left these planes in the cache.
        if self.back:
            layer = layer * -1 + (layers - 1)
        planes = self._planes(thread, layer * per_block + z0, z_end)
        return ThreadPosition(x, y, x_end, shot * self.volume, packed), y_end, *planes

    def _block_numbers(self, thread: Thread, width: int) -> Iterator[IRValue]:
        """Yield the block's number along x, y and z of its box, then its shot."""
        assert self.box is not None
        x0, x_end, y0, y_end, z0, z_end, _ = self.box
        columns, rows, layers = self.shape.blocks((x_end - x0, y_end - y0, z_end - z0), width)
        slab = self.shape.slab_blocks
        if slab:
            # The grid counts blocks along x and y of a slab; along z; slabs of all shots.
            inner = thread.block("x")
            outer = thread.block("z")
            yield (inner % columns).wide()
            yield (outer % (rows // slab) * slab + inner // columns).wide()
            yield thread.block("y").wide()
            yield (outer // (rows // slab)).wide()
            return
        # It counts z blocks of all shots: layer within the box, then shot.
        yield thread.block("x").wide()
        yield thread.block("y").wide()
        block = thread.block("z")
        yield (block % layers).wide()
        yield (block // layers).wide()


@dataclass(frozen=True)
class BodyKernel:
    """A body (`Backend.each`) or row body, with a thread for each n or each point."""

    body: Callable
    rows: bool

    def __str__(self) -> str:
        """Identify it among all kernels."""
        return f"{function_name(self.body)} {self.rows}"

    def write(self, tools: Tools) -> Callable:
        """Write the kernel."""
        body = tools.device_function(self.body)
        return row_kernel(body) if self.rows else body_kernel(body)


def body_kernel(body: Callable) -> Callable:
    """Write the kernel that runs ``body(n, *arguments)`` with a thread for each n."""
    from numba import cuda

    def kernel(count, length, arguments):
        n = cuda.grid(1)
        if n < count:
            body(n, *arguments)

    return kernel


def row_kernel(body: Callable) -> Callable:
    """Write the kernel that runs ``body(n, x, x + 1, *arguments)``, a thread for one or more x."""
    from numba import cuda

    def kernel(count, length, arguments):
        # There may be millions of rows, and only x of the grid counts that far.
        x = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
        n = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        while n < count and x < length:
            body(n, x, x + 1, *arguments)
            x += cuda.gridDim.y * cuda.blockDim.x

    return kernel
