"""Lanes of 16 bytes for Numba on NVIDIA GPUs: four float32 (or two float64) as one LLVM vector.

A thread that loads and stores 16 bytes at a time keeps more of the memory's latency in flight than
one that takes 4, and pays the index arithmetic once for four points. Arrays are addresses in global
memory. Along x the neighbours of a lane are cut out of two aligned ones (`beside`), so that no load
is narrow or unaligned.

A marching kernel may hand over an array as a tuple: its address, and the lanes around the point
along z that it holds in registers, an odd number. `load` and `level` then take them from there. A
last element that is a tuple itself is a tile in shared memory (the tile, the index of the point in
it, and of the row that follows): `beside` and `row` then read there.

`read` is for what the kernel does not write. It becomes a load through the read-only path, which
the compiler may move above stores; of `load` it must assume that any store may have changed it.
"""

from __future__ import annotations

import operator
from functools import lru_cache, partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cuda
from numba.cuda import types
from numba.cuda.extending import intrinsic, models, overload, register_model

from seismo.backends.gpu.register_lanes import beside_of, level_of, own_of, row_of
from seismo.backends.gpu.shared_lanes import asking, copies_done, copies_queued, tile_access

LANE_BYTES = 16
_I32 = ir.IntType(32)
_GLOBAL = 1  # LLVM's address space of a GPU's main memory


class _LaneType(types.Type):
    """`width` numbers of type `number`."""

    def __init__(self, number: types.Float, width: int) -> None:
        self.number, self.width = number, width
        super().__init__(name=f"cuda_lane({number}x{width})")


@register_model(_LaneType)
class _LaneModel(models.PrimitiveModel):
    def __init__(self, manager, lane) -> None:
        super().__init__(manager, lane, _vector(lane))


def _vector(lane: _LaneType) -> ir.VectorType:
    return ir.VectorType(_element(lane.number), lane.width)


def _element(number: types.Float):
    return ir.FloatType() if number == types.float32 else ir.DoubleType()


def _constant(k: int):
    return ir.Constant(_I32, k)


def _address(builder, kind, source):
    """Return the address of a field that may come with lanes around it."""
    return builder.extract_value(source, 0) if isinstance(kind, types.BaseTuple) else source


def _pointer(builder, address, index, pointee, element):
    base = builder.inttoptr(address, element.as_pointer(_GLOBAL))
    return builder.bitcast(builder.gep(base, [index]), pointee.as_pointer(_GLOBAL))


def _reading(kind, pointee, element, align: int, unchanging: bool):
    """Make an intrinsic (address, index) -> value; an unchanging one takes the read-only path."""

    @intrinsic
    def read(context, source, index):
        def generate(context, builder, signature, args):
            address = _address(builder, signature.args[0], args[0])
            value = builder.load(_pointer(builder, address, args[1], pointee, element))
            value.align = align
            if unchanging:
                value.set_metadata("invariant.load", builder.module.add_metadata([]))
            return value

        return kind(source, index), generate

    return read


def _storing(lane: _LaneType, align: int):
    vector, element = _vector(lane), _element(lane.number)

    def whole(builder, target, index, value) -> None:
        builder.store(value, _pointer(builder, target, index, vector, element)).align = align

    def single(builder, target, index, value, k: int) -> None:
        at = builder.add(index, ir.Constant(index.type, k))
        pointer = _pointer(builder, target, at, element, element)
        builder.store(builder.extract_element(value, _constant(k)), pointer)

    @intrinsic
    def store(context, target, index, value, mask):
        """Store a lane, or its first `mask` numbers (`None`: all)."""

        def generate(context, builder, signature, args):
            args = (_address(builder, signature.args[0], args[0]), *args[1:])
            if mask == types.none:
                whole(builder, *args[:3])
                return context.get_dummy_value()
            all_of_it = builder.icmp_signed(">=", args[3], ir.Constant(args[3].type, lane.width))
            with builder.if_else(all_of_it) as (then, otherwise):
                with then:
                    whole(builder, *args[:3])
                with otherwise:
                    for k in range(lane.width):
                        inside = builder.icmp_signed("<", ir.Constant(args[3].type, k), args[3])
                        with builder.if_then(inside):
                            single(builder, *args[:3], k)
            return context.get_dummy_value()

        return types.void(target, index, lane, mask), generate

    return store


def _joining(lane: _LaneType, first: int):
    """Make an intrinsic (a, b) -> the numbers from `first` on of a and b side by side."""

    @intrinsic
    def join(context, a, b):
        def generate(context, builder, signature, args):
            picked = ir.VectorType(_I32, lane.width)
            order = ir.Constant(picked, list(range(first, first + lane.width)))
            return builder.shuffle_vector(*args, order)

        return lane(a, b), generate

    return join


@lru_cache
def _part(lane: _LaneType, k: int):
    """Make an intrinsic (lane) -> its k-th number."""

    @intrinsic
    def part(context, value):
        def generate(context, builder, signature, args):
            return builder.extract_element(args[0], _constant(k))

        return lane.number(value), generate

    return part


def _rounding(lane: _LaneType):
    """Make an intrinsic (lane) -> the same, rounded as it stands.

    A product is fused with one sum and not with another, as the compiler pleases: here it cannot
    see that it is one.
    """
    kind, letter = _element(lane.number), "f" if lane.number == types.float32 else "d"
    code = f"mov.f{32 if letter == 'f' else 64} $0, $1;"

    @intrinsic
    def rounded(context, value):
        def generate(context, builder, signature, args):
            found, same = args[0], ir.FunctionType(kind, [kind])
            for k in map(_constant, range(lane.width)):
                number = [builder.extract_element(args[0], k)]
                seen = builder.asm(same, code, f"={letter},{letter}", number, False)
                found = builder.insert_element(found, seen, k)
            return found

        return lane(value), generate

    return rounded


def _register_arithmetic(lane: _LaneType) -> None:
    vector = _vector(lane)

    def splat(builder, value):
        lane_value = ir.Constant(vector, ir.Undefined)
        for k in range(lane.width):
            lane_value = builder.insert_element(lane_value, value, _constant(k))
        return lane_value

    def register(python_operator, instruction: str) -> None:
        @intrinsic
        def elementwise(context, a, b):
            def generate(context, builder, signature, args):
                both = [
                    value if kind == lane else splat(builder, value)
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
def cuda_lanes(precision: str) -> Any:
    """Return the lane operations of a precision.

    Args:
        precision: "float32" or "float64".
    """
    kind: Any = {"float32": types.float32, "float64": types.float64}[precision]
    item = np.dtype(precision).itemsize
    lanes = LANE_BYTES // item
    lane = _LaneType(kind, lanes)
    vector, element = _vector(lane), _element(kind)
    _register_arithmetic(lane)
    device = cuda.jit(device=True, fastmath=True, forceinline=True)
    plain = _reading(lane, vector, element, LANE_BYTES, False)
    tile_parts = tile_access(lane, vector, element, LANE_BYTES)

    class Lanes:
        width, index, number = lanes, np.uint64, np.dtype(precision).type
        jit = staticmethod(device)
        load = own_of(lane, plain)
        rounded = _rounding(lane)
        part = partial(_part, lane)
        integer = _reading(types.int64, ir.IntType(64), ir.IntType(64), 8, True)
        store = _storing(lane, LANE_BYTES)
        fetch = staticmethod(device(lambda f, i: None))
        ask = asking(element)
        tile_number = kind  # of an array in shared memory
        tile_read, tile_store, tile_copy = tile_parts
        copies_queued, copies_done = copies_queued, staticmethod(copies_done)

    return _neighbours(Lanes, lane, _reading(lane, vector, element, LANE_BYTES, True))


def _neighbours(Lanes: Any, lane: _LaneType, read: Any) -> Any:  # noqa: N803
    """Add what reads lanes, here and further along x, y, z."""
    device, whole, width = Lanes.jit, Lanes.index, Lanes.width

    def further(n: int):
        count = whole(abs(n))
        if n < 0:
            return device(lambda f, i, stride: read(f, i - count * stride))
        return device(lambda f, i, stride: read(f, i + count * stride))

    @lru_cache
    def beside(n: int):
        """Read a lane n points further along x."""
        full, rest = divmod(n, width)
        far = whole(abs(full) * width)
        if full < 0:
            stored = device(lambda f, i: read(f, i - far))
        else:
            stored = device(lambda f, i: read(f, i + far))
        aligned = beside_of(lane, full * width, stored, Lanes.tile_read)
        if not rest:
            return device(lambda f, i: aligned(f, i))
        following, join = beside((full + 1) * width), _joining(lane, rest)
        return device(lambda f, i: join(aligned(f, i), following(f, i)))

    @lru_cache
    def among(n: int):
        """Cut the lane n points further along x out of an odd number of lanes around the point."""
        full, rest = divmod(n, width)
        join = _joining(lane, rest)
        if not rest:
            return device(lambda held: held[len(held) // 2 + full])
        return device(
            lambda held: join(held[len(held) // 2 + full], held[len(held) // 2 + full + 1])
        )

    @lru_cache
    def row(n: int):
        """Read a lane n rows further along y."""
        return row_of(n, further(n), Lanes.tile_read)

    @lru_cache
    def level(n: int):
        """Read a lane n planes further along z, from the field's tuple if it has one."""
        return level_of(lane, n, further(n))

    Lanes.read, Lanes.beside, Lanes.row, Lanes.level = read, beside, row, level
    Lanes.among = among
    return Lanes
