"""Lanes for CPUs: formulas are traced on 512-bit (or narrower) SIMD values.

LLVM's loop vectoriser gives up on update formulas with a dozen arrays that might alias. Here one
lane *is* an LLVM vector, so a formula written with ``load``, arithmetic and ``store`` is
vectorised by construction, on any target LLVM knows. Stores take a mask, so that the last vector
of a row needs no second, scalar loop.

A lane holds `width` numbers: 16 float32 or 8 float64 (64 bytes, one cache line). On machines with
narrower registers LLVM splits it.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
from llvmlite import ir

from seismo.backends.code.traced import (
    I32,
    IRValue,
    ShortArray,
    declared,
    pointer,
    spread,
)

LANE_BYTES = 64
_BYTE_POINTER = ir.IntType(8).as_pointer()
_NUMBERS = {"float32": ir.FloatType(), "float64": ir.DoubleType()}


def _call(builder: ir.IRBuilder, name: str, arguments: list) -> None:
    signature = ir.FunctionType(ir.VoidType(), [a.type for a in arguments])
    builder.call(declared(builder.module, signature, name), arguments)


@cache
def _aligns() -> bool:
    """Whether the processor that Numba compiles for shifts across two lanes.

    LLVM turns such a shuffle of numbers into a slower one with a table, hence the assembler.
    """
    from llvmlite import binding
    from numba.core.registry import cpu_target

    # valignd and valignq of AVX-512: two aligned registers, shifted as one, give the unaligned
    # lane.
    _, _, features = cpu_target.target_context.codegen().magic_tuple()
    if "+avx512f" not in features.split(","):
        return False
    binding.initialize_native_asmparser()
    return True


class VectorLanes:
    """The lanes of a precision.

    Args:
        precision: "float32" or "float64".
    """

    def __init__(self, precision: str) -> None:
        self.size = np.dtype(precision).itemsize
        self.width = LANE_BYTES // self.size
        self.kind = _NUMBERS[precision]
        # A vector of the precision, and as many numbers of 16 bits.
        self._vector = ir.VectorType(self.kind, self.width)
        self._short = ir.VectorType(ir.HalfType(), self.width)

    def load(self, source: IRValue, index: IRValue) -> IRValue:
        """Read the lane that begins at number `index` behind an address."""
        if isinstance(source, ShortArray):
            return self._load(source, index, self._short, 2).converted(self._vector)
        return self._load(source, index, self._vector, self.size)

    @staticmethod
    def _load(source: IRValue, index: IRValue, kind: ir.Type, align: int) -> IRValue:
        value = index.builder.load(pointer(source, index, kind))
        # Alignment of a single number: rows need not begin on a lane.
        value.align = align
        return index.then(value)

    read = load  # of what the stage does not write

    @staticmethod
    def rounded(value: IRValue) -> IRValue:
        """Leave a product as it is: on these processors LLVM fuses it alike wherever it goes."""
        return value

    def beside(self, source: IRValue, index: IRValue, n: int) -> IRValue:
        """Read a lane `n` points further along x.

        Loads that cross a cache line take twice the time of others: where there is an instruction
        for it, the lane is cut out of two aligned ones.
        """
        # Aligned multiple of the lane, or no instruction for it: a plain load.
        before, rest = divmod(n, self.width)
        if not rest or not _aligns():
            return self.load(source, index + n)
        operation = f"valign{'d' if self.size == 4 else 'q'} $${rest}, $1, $2, $0"
        cut = ir.InlineAsm(ir.FunctionType(self._vector, [self._vector] * 2), operation, "=v,v,v")
        pair = [self.load(source, index + (before + k) * self.width).value for k in (0, 1)]
        return index.then(index.builder.call(cut, pair))

    def level(self, source: IRValue, index: IRValue, n: int, stride: IRValue) -> IRValue:
        """Read a lane `n` planes further along z."""
        return self.load(source, index + stride * n)

    row = level  # further along y

    def store(self, target: IRValue, index: IRValue, value: IRValue, where: IRValue) -> None:
        """Write a lane where its mask says so.

        In 16 bits as integers: of these every processor that stores some of a lane stores some.
        """
        if not isinstance(target, ShortArray):
            self._store(target, index, value, where, f"f{8 * self.size}", self.size)
            return
        # Conversion to half precision, then its bits as integers.
        integers = ir.VectorType(ir.IntType(16), self.width)
        short = value.converted(self._short)
        bits = short.then(short.builder.bitcast(short.value, integers))
        self._store(target, index, bits, where, "i16", 2)

    def _store(
        self, target: IRValue, index: IRValue, value: IRValue, where: IRValue, kind: str, size: int
    ) -> None:  # fmt: skip
        # llvm.masked.store: lanes without a mask bit are not touched, even if the page does not
        # exist.
        address_of_lane = pointer(target, index, value.value.type)
        name = f"llvm.masked.store.v{self.width}{kind}.p0"
        arguments = [value.value, address_of_lane, ir.Constant(I32, size), where.value]
        _call(index.builder, name, arguments)

    def fetch(self, address: IRValue, index: IRValue) -> None:
        """Ask for the cache line of number `index` behind an address, in the second-level cache.

        The first-level cache waits for few lines at a time: for those that come from memory it
        would have to wait longest.
        """
        # llvm.prefetch arguments: read (0), locality 2 (second level), data cache (1).
        stored = ir.HalfType() if isinstance(address, ShortArray) else self.kind
        address_of_lane = index.builder.bitcast(pointer(address, index, stored), _BYTE_POINTER)
        kind = [ir.Constant(I32, c) for c in (0, 2, 1)]  # read, second level, data
        _call(index.builder, "llvm.prefetch.p0", [address_of_lane, *kind])

    def first(self, count: IRValue) -> IRValue:
        """Make the mask of the first `count` numbers of a lane."""
        integers = ir.VectorType(I32, self.width)
        # Compare 0, 1, 2, ... with the count in all positions.
        numbers = count.then(ir.Constant(integers, list(range(self.width))))
        short = count.then(count.builder.trunc(count.value, I32))
        return numbers < spread(short, integers)


@lru_cache
def vector_lanes(precision: str) -> VectorLanes:
    """Return the lanes of a precision, always the same ones: operators are shared by lanes."""
    return VectorLanes(precision)
