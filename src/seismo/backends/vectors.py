"""Vector lanes for Numba on CPUs: 512-bit (or narrower) SIMD values as a Numba type.

LLVM's loop vectoriser gives up on update formulas with a dozen arrays that might alias. Here one
lane value *is* an LLVM vector, so a formula written with ``load``, arithmetic and ``store`` is
vectorised by construction, on any target LLVM knows, and compiles faster. Stores take a mask, so
that the last vector of a row needs no second, scalar loop.

A lane holds `width` numbers: 16 float32 or 8 float64 (64 bytes, one cache line). On machines with
narrower registers LLVM splits it.
"""

from __future__ import annotations

import operator
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, overload, register_model

LANE_BYTES = 64
_I32 = ir.IntType(32)
_BYTE_POINTER = ir.IntType(8).as_pointer()


class _LaneType(types.Type):
    """One SIMD value of `width` numbers of type `number`."""

    def __init__(self, number: types.Float, width: int) -> None:
        self.number, self.width = number, width
        super().__init__(name=f"lane({number}x{width})")


class _MaskType(types.Type):
    """One boolean for each number of a lane."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(name=f"mask(x{width})")


@register_model(_LaneType)
class _LaneModel(models.PrimitiveModel):
    def __init__(self, manager, lane) -> None:
        super().__init__(manager, lane, _vector(lane))


@register_model(_MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager, mask) -> None:
        super().__init__(manager, mask, ir.VectorType(ir.IntType(1), mask.width))


def _vector(lane: _LaneType) -> ir.VectorType:
    element = ir.FloatType() if lane.number == types.float32 else ir.DoubleType()
    return ir.VectorType(element, lane.width)


def _splat(builder, value, vector: ir.VectorType):
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
    order = ir.Constant(ir.VectorType(_I32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, order)


def _pointer(builder, address, index, vector: ir.VectorType):
    """Pointer to the lane that begins at number `index` behind an integer address."""
    base = builder.inttoptr(address, vector.element.as_pointer())
    return builder.bitcast(builder.gep(base, [index]), vector.as_pointer())


def _call(builder, name: str, arguments) -> None:
    signature = ir.FunctionType(ir.VoidType(), [a.type for a in arguments])
    builder.call(cgutils.get_or_insert_function(builder.module, signature, name), arguments)


def _memory_access(lane: _LaneType, mask: _MaskType):
    vector = _vector(lane)
    size = np.dtype(str(lane.number)).itemsize
    suffix = f"v{lane.width}f{8 * size}.p0"

    @intrinsic
    def load(context, source, index):
        def generate(context, builder, signature, args):
            value = builder.load(_pointer(builder, *args, vector))
            value.align = size
            return value

        return lane(source, index), generate

    @intrinsic
    def store(context, target, index, value, where):
        def generate(context, builder, signature, args):
            pointer = _pointer(builder, *args[:2], vector)
            align = ir.Constant(_I32, size)
            _call(builder, f"llvm.masked.store.{suffix}", [args[2], pointer, align, args[3]])
            return context.get_dummy_value()

        return types.void(target, index, lane, mask), generate

    return load, store


def _mask_of_first(mask: _MaskType):
    @intrinsic
    def first(context, count):
        """Make the mask of the first `count` numbers of a lane."""

        def generate(context, builder, signature, args):
            integers = ir.VectorType(ir.IntType(64), mask.width)
            numbers = ir.Constant(integers, list(range(mask.width)))
            return builder.icmp_signed("<", numbers, _splat(builder, args[0], integers))

        return mask(types.int64), generate

    return first


def _prefetching(lane: _LaneType):
    element = _vector(lane).element

    def touch(builder, address, index) -> None:
        base = builder.inttoptr(address, element.as_pointer())
        pointer = builder.bitcast(builder.gep(base, [index]), _BYTE_POINTER)
        constants = [ir.Constant(_I32, c) for c in (0, 3, 1)]  # read, keep in every cache, data
        _call(builder, "llvm.prefetch.p0", [pointer, *constants])

    @intrinsic
    def prefetch(context, addresses, index, leads):
        """Ask for the cache line of number ``index + leads[k]`` behind every address of a tuple."""
        count = len(addresses)

        def generate(context, builder, signature, args):
            for k in range(count):
                ahead = builder.add(args[1], builder.extract_value(args[2], k))
                touch(builder, builder.extract_value(args[0], k), ahead)
            return context.get_dummy_value()

        return types.void(addresses, index, leads), generate

    @intrinsic
    def fetch(context, address, index):
        """Ask for the cache line of number `index` behind an address."""

        def generate(context, builder, signature, args):
            touch(builder, *args)
            return context.get_dummy_value()

        return types.void(address, index), generate

    return prefetch, fetch


@intrinsic
def pointer_to(context, address):
    """Turn an integer address into a pointer that `numba.carray` takes."""

    def generate(context, builder, signature, args):
        return builder.inttoptr(args[0], _BYTE_POINTER)

    return types.voidptr(types.uint64), generate


@intrinsic
def call_at(context, address, tile, parameters):
    """Call the C function ``void(int64 tile, uint64 parameters)`` at an address."""

    def generate(context, builder, signature, args):
        integer = ir.IntType(64)
        function = ir.FunctionType(ir.VoidType(), [integer, integer])
        builder.call(builder.inttoptr(args[0], function.as_pointer()), args[1:])
        return context.get_dummy_value()

    return types.void(types.uint64, types.int64, types.uint64), generate


def _register_arithmetic(lane: _LaneType) -> None:
    vector = _vector(lane)

    def register(python_operator, instruction: str) -> None:
        @intrinsic
        def elementwise(context, a, b):
            def generate(context, builder, signature, args):
                both = [
                    value if kind == lane else _splat(builder, value, vector)
                    for kind, value in zip(signature.args, args, strict=True)
                ]
                return getattr(builder, instruction)(*both, flags=("fast",))

            return lane(a, b), generate

        @overload(python_operator)
        def implementation(a, b):
            if lane in (a, b) and {a, b} <= {lane, lane.number}:
                return lambda a, b: elementwise(a, b)
            return None

    for pair in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
        register(getattr(operator, pair[0]), pair[1])


@lru_cache
def vector_lanes(precision: str) -> SimpleNamespace:
    """Give the lane operations of a precision: load, store, first (mask), prefetch, fetch, width.

    Args:
        precision: "float32" or "float64".
    """
    number: Any = {"float32": types.float32, "float64": types.float64}[precision]
    width = LANE_BYTES // np.dtype(precision).itemsize
    lane, mask = _LaneType(number, width), _MaskType(width)
    _register_arithmetic(lane)
    load, store = _memory_access(lane, mask)
    prefetch, fetch = _prefetching(lane)
    return SimpleNamespace(
        load=load, store=store, first=_mask_of_first(mask), prefetch=prefetch, fetch=fetch,
        width=width,
    )  # fmt: skip
