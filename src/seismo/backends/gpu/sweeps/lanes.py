"""Lanes of 16 bytes on NVIDIA GPUs: four float32 (or two float64) as an LLVM vector.

A thread that loads and stores 16 bytes at a time keeps more of the memory's latency in flight than
a thread that takes 4, and pays the index arithmetic once for four points. Arrays are addresses in
global memory. Along x the neighbours of a lane are cut out of two aligned ones (`beside`), so that
no load is narrow or unaligned.

A marching kernel hands over a field as a `Column`: its address, and the lanes around the point
along z that the thread has in registers. `load` and `level` then take them from there.

`read` is for arrays that the kernel does not write. It becomes a load through the read-only path,
which the compiler may move above stores; of `load` it must assume that any store may have changed
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir

from seismo.backends.base import SHORT, computed_in
from seismo.backends.traced import (
    I32,
    INTEGER,
    IRValue,
    ShortArray,
    declared,
    pointer,
    when,
)

LANE_BYTES = 16
SHARED = 3  # LLVM's number of a block's shared memory
_PAIR = ir.VectorType(ir.HalfType(), 2)  # of a word
_NUMBERS = {"float32": ir.FloatType(), "float64": ir.DoubleType()}


@dataclass(frozen=True)
class Column:
    """A field with lanes around the point along z, an odd number, in registers.

    Attributes:
        address: of the field.
        lanes: the lanes; a single lane, where the field is not differentiated along z.
        shared: the lanes around the point's own in its plane, in shared memory (`march_tile`).
    """

    address: IRValue
    lanes: Sequence[IRValue]
    shared: Any = None

    def __getitem__(self, n: int) -> IRValue:
        """Return the lane n planes further."""
        # The middle lane of a column is the point itself.
        return self.lanes[len(self.lanes) // 2 + n]

    def __contains__(self, n: int) -> bool:
        """Whether the lane n planes further is among them."""
        return abs(n) <= len(self.lanes) // 2


def _address(source: IRValue | Column) -> IRValue:
    return source.address if isinstance(source, Column) else source


def _shared_lanes(source: IRValue | Column, index: IRValue) -> Any:
    """Return the lanes in shared memory around the lane of an index, None where there are none."""
    shared = source.shared if isinstance(source, Column) else None
    return shared if shared is not None and shared.index is index else None


class CudaLanes:
    """The lanes of a precision.

    Args:
        precision: "float32", "float64", or "float16" of fields that are computed in float32.
        narrow: whether lanes of 16-bit fields have half as many numbers, as at the ends of rows,
            where a layer is a few lanes wide.
    """

    space = 1  # LLVM's number of a GPU's main memory

    def __init__(self, precision: str, narrow: bool = False) -> None:
        self.precision = precision
        computed = computed_in(precision)
        self.size = np.dtype(computed).itemsize
        # Numbers that rows of tables are a multiple of.
        self.unit = LANE_BYTES // np.dtype(precision).itemsize
        self.width = LANE_BYTES // self.size if narrow else self.unit
        self.kind = _NUMBERS[computed]
        # LLVM types of a lane: in registers, and of numbers of 16 bits in memory. Neighbours are
        # read as words: halves would be loaded in pieces, as used.
        self.vector = ir.VectorType(self.kind, self.width)
        in_words = precision == SHORT
        element, count = (I32, self.width // 2) if in_words else (ir.HalfType(), self.width)
        self._short = ir.VectorType(element, count)

    def _load(self, address: IRValue, index: IRValue, kind: ir.Type, unchanging: bool) -> IRValue:
        # Aligned vector loads become an ld.v4 (ld.v2 of doubles).
        space = getattr(address, "space", self.space)
        is_short = kind is self.vector and isinstance(address, ShortArray)
        stored = self._short if is_short else kind
        of = ir.HalfType() if is_short else None
        value = index.builder.load(pointer(address, index, stored, space, of))
        if kind is not self.kind:
            value.align = self._alignment(stored)
        # invariant.load selects the read-only path (ld.global.nc), which may be moved above stores.
        if unchanging:
            value.set_metadata("invariant.load", index.builder.module.add_metadata([]))
        lane = index.then(value)
        return self._widened(lane) if is_short else lane

    def _widened(self, lane: IRValue) -> IRValue:
        """Return numbers of 16 bits, as they are loaded, in the lane's own precision."""
        if self._short.element != I32:
            return lane.converted(self.vector)
        builder = lane.builder
        wide = ir.Constant(self.vector, ir.Undefined)
        for n in range(self.width // 2):
            word = builder.extract_element(lane.value, I32(n))
            pair = builder.bitcast(word, _PAIR)
            for k in range(2):
                half = builder.extract_element(pair, I32(k))
                wide = builder.insert_element(wide, builder.fpext(half, self.kind), I32(2 * n + k))
        return lane.then(wide)

    def _rounded_short(self, lane: IRValue) -> IRValue:
        """Return a lane in 16 bits, as it is stored."""
        if self._short.element != I32:
            return lane.converted(self._short)
        builder = lane.builder
        words = ir.Constant(self._short, ir.Undefined)
        for n in range(self.width // 2):
            pair = ir.Constant(_PAIR, ir.Undefined)
            for k in range(2):
                number = builder.extract_element(lane.value, I32(2 * n + k))
                half = builder.fptrunc(number, ir.HalfType())
                pair = builder.insert_element(pair, half, I32(k))
            words = builder.insert_element(words, builder.bitcast(pair, I32), I32(n))
        return lane.then(words)

    def _alignment(self, kind: ir.Type) -> int:
        """Return the alignment (bytes) of a vector load or store."""
        if kind == self.vector:
            return LANE_BYTES
        return 2 * self.width if kind == self._short else 8  # or an integer

    def load(self, source: IRValue | Column, index: IRValue) -> IRValue:
        """Read the lane that begins at number `index`, which the kernel may have written."""
        if isinstance(source, Column):
            return source[0]
        return self._load(source, index, self.vector, False)

    def read(self, source: IRValue | Column, index: IRValue) -> IRValue:
        """Read a lane of an array that the kernel does not write."""
        return self._load(_address(source), index, self.vector, True)

    def integer(self, address: IRValue, index: IRValue) -> IRValue:
        """Read a number of a table of integers."""
        return self._load(address, index, INTEGER, True)

    def element(self, lane: IRValue, n: int) -> IRValue:
        """Return the n-th number of a lane."""
        return lane.then(lane.builder.extract_element(lane.value, I32(n)))

    def numbers(self, table: IRValue, start: IRValue, count: int) -> list[IRValue]:
        """Read numbers of a table that begin with a lane."""
        lanes = [self.read(table, start + n) for n in range(0, count, self.width)]
        return [self.element(lanes[n // self.width], n % self.width) for n in range(count)]

    def store(
        self, field: IRValue | Column, index: IRValue, value: IRValue, mask: IRValue | None
    ) -> None:
        """Write a lane, or its first `mask` numbers."""
        builder = index.builder
        target = _address(field)
        stored = self._rounded_short(value) if isinstance(target, ShortArray) else value
        if mask is None:
            self._put(target, index, stored)
            return
        # Most lanes are full: test once, and branch to the scalar stores only at the row's end.
        with builder.if_else((mask >= self.width).value) as (inside, across):
            with inside:
                self._put(target, index, stored)
            # Partial lane at the end of a row: scalar stores under the mask.
            with across:
                for n in range(self.width):
                    with when(mask > n):
                        number = self.element(value, n)
                        if isinstance(target, ShortArray):
                            number = number.converted(ir.HalfType())
                        self._put(target, index + n, number)

    def _put(self, target: IRValue, index: IRValue, value: IRValue) -> None:
        """Write a whole lane, by a vector store (st.v4), or a single number."""
        kind = value.value.type
        space = getattr(target, "space", self.space)
        of = ir.HalfType() if kind == self._short else None
        stored = index.builder.store(value.value, pointer(target, index, kind, space, of))
        if isinstance(kind, ir.VectorType):
            stored.align = self._alignment(kind)

    def _join(self, before: IRValue, after: IRValue, first: int) -> IRValue:
        """Return the lane from number `first` of a lane on, continued in the next."""
        # shufflevector across two lanes: numbers first .. first + width - 1 of the pair.
        order = ir.Constant(ir.VectorType(I32, self.width), list(range(first, first + self.width)))
        return before.then(before.builder.shuffle_vector(before.value, after.value, order))

    def _aligned(self, source: IRValue | Column, index: IRValue, n: int) -> IRValue:
        if isinstance(source, Column) and n == 0:
            return source[0]
        if (shared := _shared_lanes(source, index)) is not None:
            return shared.lane(n, 0)
        return self.read(source, index + n * self.width)

    def beside(self, source: IRValue | Column, index: IRValue, n: int) -> IRValue:
        """Read a lane n points further along x."""
        # Floor division: n = full * width + rest also for negative n.
        full, rest = divmod(n, self.width)
        before = self._aligned(source, index, full)
        if not rest:
            return before
        return self._join(before, self._aligned(source, index, full + 1), rest)

    def among(self, lanes: Sequence[IRValue], n: int) -> IRValue:
        """Cut the lane n points further along x out of an odd number of lanes around the point."""
        # The same cut from registers; the middle of the list is the point's own lane.
        full, rest = divmod(n, self.width)
        first = len(lanes) // 2 + full
        return self._join(lanes[first], lanes[first + 1], rest) if rest else lanes[first]

    def row(self, source: IRValue | Column, index: IRValue, n: int, stride: int) -> IRValue:
        """Read a lane n rows further along y."""
        if (shared := _shared_lanes(source, index)) is not None:
            return shared.lane(0, n)
        return self.read(source, index + n * stride)

    def level(self, source: IRValue | Column, index: IRValue, n: int, stride: int) -> IRValue:
        """Read a lane n planes further along z."""
        if isinstance(source, Column) and n in source:
            return source[n]
        return self.read(source, index + n * stride)

    def fetch(self, address: IRValue, index: IRValue) -> None:
        """Leave the caches alone: other threads hide the latency."""

    def ask(self, address: IRValue, index: IRValue) -> None:
        """Ask the second-level cache for the line of number `index` of an array."""
        # PTX of a prefetch into L2; the memory clobber keeps its place among the loads.
        builder = index.builder
        stored = ir.HalfType() if isinstance(address, ShortArray) else self.kind
        lane_pointer = builder.ptrtoint(pointer(address, index, stored, self.space), INTEGER)
        kind = ir.FunctionType(ir.VoidType(), [INTEGER])
        text = "prefetch.global.L2 [$0];"
        builder.call(ir.InlineAsm(kind, text, "l,~{memory}", side_effect=True), [lane_pointer])

    def shared(self, builder: ir.IRBuilder, count: int) -> ir.Value:
        """Set so many numbers of a block's shared memory aside."""
        module = builder.module
        name = module.get_unique_name("tile")
        kind = ir.ArrayType(self.kind, count)
        memory = ir.GlobalVariable(module, kind, name, SHARED)
        memory.linkage = "internal"
        memory.initializer = ir.Constant(kind, ir.Undefined)
        memory.align = LANE_BYTES
        return builder.bitcast(memory, self.kind.as_pointer(SHARED))

    def read_shared(self, memory: ir.Value, shared_index: IRValue) -> IRValue:
        """Read the lane that begins at a number of shared memory."""
        value = shared_index.builder.load(self._in_shared(memory, shared_index, self.vector))
        value.align = LANE_BYTES
        return shared_index.then(value)

    def _in_shared(self, memory: ir.Value, shared_index: IRValue, kind: ir.Type) -> ir.Value:
        builder = shared_index.builder
        number = builder.gep(memory, [shared_index.value])
        return builder.bitcast(number, kind.as_pointer(memory.type.addrspace))

    def copy_to_shared(
        self, memory: ir.Value, shared_index: IRValue, address: IRValue, index: IRValue
    ) -> None:
        """Start to copy a lane of an array to shared memory, past the registers."""
        # The address in shared memory has 32 bits.
        builder = index.builder
        target = builder.ptrtoint(memory, I32)
        target = builder.add(target, builder.trunc((shared_index * self.size).value, I32))
        lane_pointer = builder.ptrtoint(pointer(address, index, self.kind, self.space), INTEGER)
        kind = ir.FunctionType(ir.VoidType(), [I32, INTEGER])
        text = f"cp.async.cg.shared.global [$0], [$1], {LANE_BYTES};"
        copy = ir.InlineAsm(kind, text, "r,l,~{memory}", side_effect=True)
        builder.call(copy, [target, lane_pointer])

    def await_copies(self, builder: ir.IRBuilder) -> None:
        """Wait for this thread's copies to shared memory, and for the block's other threads."""
        nothing = ir.FunctionType(ir.VoidType(), [])
        text = "cp.async.wait_all;"
        builder.call(ir.InlineAsm(nothing, text, "~{memory}", side_effect=True), [])
        barrier = declared(builder.module, nothing, "llvm.nvvm.barrier0")
        builder.call(barrier, [])

    def rounded(self, value: IRValue) -> IRValue:
        """Return a lane rounded as it stands.

        The compiler fuses a product with any sum; here it cannot see the product.
        """
        builder = value.builder
        rounded_lane = value.value
        for n in range(self.width):
            moved = self.moved(self.element(value, n))
            rounded_lane = builder.insert_element(rounded_lane, moved.value, I32(n))
        return value.then(rounded_lane)

    def unknown(self, index: IRValue) -> IRValue:
        """Return an index opaque to the compiler, so that its uses are not moved."""
        kind = index.value.type
        same = ir.InlineAsm(ir.FunctionType(kind, [kind]), "", "=l,0", side_effect=True)
        return index.then(index.builder.call(same, [index.value]))

    def moved(self, number: IRValue) -> IRValue:
        """Return a number of which the compiler does not see how it came about."""
        # An opaque move hides a product from contraction into a fused multiply-add.
        letter = "f" if self.size == 4 else "d"
        same = ir.FunctionType(self.kind, [self.kind])
        text = f"mov.f{8 * self.size} $0, $1;"
        operands = [number.value]
        return number.then(number.builder.asm(same, text, f"={letter},{letter}", operands, False))


@lru_cache
def cuda_lanes(precision: str, narrow: bool = False) -> CudaLanes:
    """Return the lanes of a precision, always the same ones: operators are shared by lanes."""
    return CudaLanes(precision, narrow)
