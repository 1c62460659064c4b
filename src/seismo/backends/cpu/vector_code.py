"""Lanes for CPUs: formulas write LLVM code as they run once, on 512-bit (or narrower) SIMD values.

LLVM's loop vectoriser gives up on update formulas with a dozen arrays that might alias. Here one
lane *is* an LLVM vector, so a formula written with ``load``, arithmetic and ``store`` is
vectorised by construction, on any target LLVM knows. Stores take a mask, so that the last vector
of a row needs no second, scalar loop.

A formula is plain Python without branches. Called with `Code` in the place of numbers, it leaves
behind the instructions it stands for. Compiling each of its hundred small functions by itself
takes Numba ten times as long.

A lane holds `width` numbers: 16 float32 or 8 float64 (64 bytes, one cache line). On machines with
narrower registers LLVM splits it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic

LANE_BYTES = 64
_I32, INTEGER = ir.IntType(32), ir.IntType(64)
_BYTE_POINTER = ir.IntType(8).as_pointer()
_NUMBERS = {"float32": ir.FloatType(), "float64": ir.DoubleType()}


def _operator(name: str) -> tuple[Callable[..., Code], Callable[..., Code]]:
    """Return the methods of an operator: this and that, that and this."""
    return (
        lambda this, that: _both(name, this, that),
        lambda this, that: _both(name, this.constant(that), this),
    )


class Code:
    """An LLVM value in the making: an integer, a number or a lane, at the end of a builder."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: ir.IRBuilder, value: ir.Value) -> None:
        self.builder, self.value = builder, value

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("sub")
    __mul__, __rmul__ = _operator("mul")
    __truediv__, __rtruediv__ = _operator("div")

    def below(self, other: Code) -> Code:
        """Whether an integer, or each of a lane of them, is less than another."""
        return self.then(self.builder.icmp_signed("<", self.value, other.value))

    def equals(self, number: int) -> Code:
        """Whether an integer has a value."""
        return self.then(self.builder.icmp_signed("==", self.value, self.constant(number).value))

    def constant(self, number: float) -> Code:
        """Return a Python number as code of the same kind."""
        kind = self.value.type
        kind = kind.element if isinstance(kind, ir.VectorType) else kind
        return self.then(ir.Constant(kind, number))

    def then(self, value: ir.Value) -> Code:
        """Return a new value at the end of the same builder."""
        return Code(self.builder, value)

    def hidden(self) -> Code:
        """Return the same integer without telling LLVM, which then works out anew what follows.

        Inside a loop an addition takes less than one more address that has to be kept.
        """
        kind = self.value.type
        same = ir.InlineAsm(ir.FunctionType(kind, [kind]), "", "=r,0", side_effect=True)
        return self.then(self.builder.call(same, [self.value]))

    def clip(self, low: Code, high: Code) -> Code:
        """Return the value, at least `low` and at most `high`."""
        value = self.builder.select(self.below(low).value, low.value, self.value)
        above = high.below(self.then(value)).value
        return self.then(self.builder.select(above, high.value, value))


def _both(operation: str, a: Code, other: Code | float) -> Code:
    b = other if isinstance(other, Code) else a.constant(other)
    if a.value.type == INTEGER:
        return a.then(getattr(a.builder, operation)(a.value, b.value))
    if a.value.type != b.value.type:
        a, b = _spread(a, b.value.type), _spread(b, a.value.type)
    return a.then(getattr(a.builder, f"f{operation}")(a.value, b.value, flags=("fast",)))


def _spread(one: Code, kind: ir.Type) -> Code:
    """Repeat a number in every place of a lane; leave a lane as it is."""
    if not isinstance(kind, ir.VectorType):
        return one
    undefined = ir.Constant(kind, ir.Undefined)
    first = one.builder.insert_element(undefined, one.value, ir.Constant(_I32, 0))
    order = ir.Constant(ir.VectorType(_I32, kind.count), [0] * kind.count)
    return one.then(one.builder.shuffle_vector(first, undefined, order))


class IRArray:
    """Numbers behind an address, read one by one."""

    def __init__(self, address: Code, kind: ir.Type = INTEGER) -> None:
        self._address, self._kind = address, kind

    def __getitem__(self, index: Code | int) -> Code:
        """Read one of them."""
        at = index if isinstance(index, Code) else self._address.constant(index)
        return at.then(at.builder.load(_pointer(self._address, at, self._kind)))

    def behind(self, count: Code) -> IRArray:
        """Return the table of integers that begins after some."""
        return IRArray(self._address + count * (INTEGER.width // 8))


def _pointer(address: Code, index: Code, kind: ir.Type) -> ir.Value:
    """Point to the number or lane that begins at number `index` behind an integer address."""
    builder, element = index.builder, getattr(kind, "element", kind)
    first = builder.inttoptr(address.value, element.as_pointer())
    return builder.bitcast(builder.gep(first, [index.value]), kind.as_pointer())


@contextmanager
def loop(first: Code, last: Code, step: int = 1) -> Iterator[Code]:
    """Write a loop over first, first + step, ... < last around the code of the block."""
    stride = ir.Constant(INTEGER, step)
    with cgutils.for_range_slice(first.builder, first.value, last.value, stride) as (n, _):
        yield first.then(n)


def either(condition: Code, yes: Callable[[], None], no: Callable[[], None]) -> None:
    """Write two ways to go on, of which a condition chooses."""
    with condition.builder.if_else(condition.value) as (then, otherwise):
        with then:
            yes()
        with otherwise:
            no()


def _call(builder: ir.IRBuilder, name: str, arguments: list) -> None:
    signature = ir.FunctionType(ir.VoidType(), [a.type for a in arguments])
    builder.call(cgutils.get_or_insert_function(builder.module, signature, name), arguments)


@cache
def _aligns() -> bool:
    """Whether the processor that Numba compiles for shifts across two lanes.

    LLVM turns such a shuffle of numbers into a slower one with a table, hence the assembler.
    """
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

    index, number = int, float

    def __init__(self, precision: str) -> None:
        self.size = np.dtype(precision).itemsize
        self.width = LANE_BYTES // self.size
        self.kind = _NUMBERS[precision]
        self._vector = ir.VectorType(self.kind, self.width)

    @staticmethod
    def jit(function: Callable) -> Callable:
        """Leave a formula as it is: it runs while the code is written."""
        return function

    def load(self, source: Code, index: Code) -> Code:
        """Read the lane that begins at number `index` behind an address."""
        value = index.builder.load(_pointer(source, index, self._vector))
        value.align = self.size
        return index.then(value)

    read = load  # of what the stage does not write

    @staticmethod
    def rounded(value: Code) -> Code:
        """Leave a product as it is: on these processors LLVM fuses it alike wherever it goes."""
        return value

    def beside(self, n: int) -> Callable[[Code, Code], Code]:
        """Return the function that reads a lane `n` points further along x.

        Loads that cross a cache line take twice the time of others: where there is an instruction
        for it, the lane is cut out of two aligned ones.
        """
        before, rest = divmod(n, self.width)
        if not rest or not _aligns():
            return lambda source, index: self.load(source, index + n)
        operation = f"valign{'d' if self.size == 4 else 'q'} $${rest}, $1, $2, $0"
        cut = ir.InlineAsm(ir.FunctionType(self._vector, [self._vector] * 2), operation, "=v,v,v")

        def read(source: Code, index: Code) -> Code:
            pair = [self.load(source, index + (before + k) * self.width).value for k in (0, 1)]
            return index.then(index.builder.call(cut, pair))

        return read

    def level(self, n: int) -> Callable[[Code, Code, Code], Code]:
        """Return the function that reads a lane `n` planes further along z."""
        return lambda source, index, stride: self.load(source, index + stride * n)

    row = level  # further along y

    def store(self, target: Code, index: Code, value: Code, where: Code) -> None:
        """Write a lane where its mask says so."""
        align = ir.Constant(_I32, self.size)
        pointer = _pointer(target, index, self._vector)
        name = f"llvm.masked.store.v{self.width}f{8 * self.size}.p0"
        _call(index.builder, name, [value.value, pointer, align, where.value])

    def fetch(self, address: Code, index: Code) -> None:
        """Ask for the cache line of number `index` behind an address, in the second-level cache.

        The first-level cache waits for few lines at a time: for those that come from memory it
        would have to wait longest.
        """
        pointer = index.builder.bitcast(_pointer(address, index, self.kind), _BYTE_POINTER)
        kind = [ir.Constant(_I32, c) for c in (0, 2, 1)]  # read, second level, data
        _call(index.builder, "llvm.prefetch.p0", [pointer, *kind])

    def first(self, count: Code) -> Code:
        """Make the mask of the first `count` numbers of a lane."""
        integers = ir.VectorType(_I32, self.width)
        numbers = count.then(ir.Constant(integers, list(range(self.width))))
        short = count.then(count.builder.trunc(count.value, _I32))
        return numbers.below(_spread(short, integers))


@lru_cache
def vector_lanes(precision: str) -> VectorLanes:
    """Return the lanes of a precision, always the same ones: operators are shared by lanes."""
    return VectorLanes(precision)


def written(write: Callable[[Code, Code, Code, Code], None]) -> Callable[..., None]:
    """Make a function that Numba compiles of one that writes code.

    Args:
        write: called with four integers, the arguments of the function.
    """

    @intrinsic
    def body(context: Any, first: Any, last: Any, parameters: Any, step: Any):
        def generate(context, builder, signature, args):
            write(*(Code(builder, argument) for argument in args))
            return context.get_dummy_value()

        return types.void(first, last, parameters, step), generate

    def function(first, last, parameters, step):
        body(first, last, parameters, step)

    return function
