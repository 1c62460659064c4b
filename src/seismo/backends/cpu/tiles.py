"""Tiles of a sweep on CPUs: the loops over z, y and the lanes of x around a formula.

A tile walks whole rows: the left end, the middle, the right end. All its arguments lie in memory
behind a single address, so that every variant is a C function of the same arguments. `parameters`
is the address of the addresses of: tiles, integers (`INTEGERS`, then a lead for each array),
coefficients, profiles, weights, layer memory (`TABLES`), and the arrays.

LLVM's loop vectoriser gives up on update formulas with a dozen arrays that might alias. Here a lane
*is* an LLVM vector (`VectorLanes`), so a formula written with ``load``, arithmetic and ``store`` is
vectorised by construction, on any target LLVM knows. Stores take a mask, so that the last vector of
a row needs no second, scalar loop. A lane holds `width` numbers: 16 float32 or 8 float64 (64 bytes,
a cache line). On machines with narrower registers LLVM splits it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from llvmlite import ir

from seismo.backends.base import BOX_COLUMNS, FIRST_SPAN, SPAN_COLUMNS, Variant
from seismo.backends.machine import LANE_BYTES
from seismo.backends.operators.derivatives import KernelContext
from seismo.backends.traced import (
    I32,
    IRArray,
    IRValue,
    ShortArray,
    declared,
    either,
    kept_in,
    loop,
    pointer,
    spread,
)
from seismo.equations.framework.formula import Formula

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

    # valignd and valignq of AVX-512: two aligned registers, shifted together, give the unaligned
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

    read = load  # of arrays that the stage does not write

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

        In 16 bits as integers: every processor that can store part of a lane can store integers so.
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

        The first-level cache waits for few lines at a time: lines that come from memory would take
        longest.
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


TABLES = (
    "tiles", "integers", "first", "second", "on_nodes", "numbers", "x_table", "y_table", "z_table",
    "up", "down", "memory",
)  # fmt: skip
INTEGERS = ("y_stride", "z_stride", "surface", "rows", "x_length", "y_length", "z_length")
PROFILES = 8  # numbers of a layer profile: b, a, 1/kappa at nodes and at half points, m at both


class TileCode:
    """Write the code of a sequence of tiles.

    Args:
        lanes: lanes of the backend.
        formula: the update.
        variant: the operators that it is bound to.
        width: surface weights of a row, 0 where none is read.
    """

    def __init__(self, lanes: VectorLanes, formula: Formula, variant: Variant, width: int) -> None:
        self._lanes = lanes
        # Both ends of a row and its middle, which may lie in a layer, too.
        self._ends, self._middle = variant.bind(formula, lanes)
        self._in_layer = variant.middle != ""
        # Memory is touched again in the next row: along y, or along z where there is no y.
        self._next_row = "memory_y" if "y" in variant.axes else "memory_z"
        self._terms = variant.order // 2
        self._width = width
        self._short = formula.is_short
        self._scalars = len(formula.numbers)

    def __call__(self, first: IRValue, last: IRValue, parameters: IRValue, step: IRValue) -> None:
        """Write all of it at the end of a builder: tiles first <= n < last, in any step."""
        # The only argument is an address; tables and arrays follow it by position.
        addresses = IRArray(parameters)
        tables = {name: addresses[k] for k, name in enumerate(TABLES)}
        integers = IRArray(tables["integers"])
        tiles = IRArray(tables["tiles"])
        # Integers of the sweep are loaded once, before all loops.
        tables |= {name: integers[k] for k, name in enumerate(INTEGERS)}
        arrays = kept_in([addresses[len(TABLES) + k] for k in range(len(self._short))], self._short)
        leads = [integers[len(INTEGERS) + k] for k in range(len(self._short))]
        context: dict[str, Any] = {
            name: tables[name] for name in KernelContext._fields if name in tables
        }
        # Coefficients become registers: order / 2 for each axis (second derivatives: order / 2 +
        # 1).
        count = self._terms
        for name, terms in (("first", count), ("second", count + 1), ("on_nodes", count)):
            rows = [self._numbers(tables[name], axis * terms, terms) for axis in range(3)]
            context[name] = tuple(rows)
        context["numbers"] = self._numbers(tables["numbers"], 0, self._scalars)
        pairs = list(zip(arrays, leads, strict=True))
        # Loop nest: tile, z, y, x-segment, lane.
        with loop(first, last) as n:
            tile = tiles.offset_by(n * len(BOX_COLUMNS))
            context |= {"shot": tile[4], "medium": tile[4], "packed": tile[5]}
            with loop(tile[0], tile[1]) as z:
                self._plane(tile, tables, context, z, pairs)

    def _numbers(
        self, address: IRValue, first: Any, count: int, stride: Any = 1
    ) -> tuple[IRValue, ...]:
        table = IRArray(address, self._lanes.kind)
        return tuple(table[first + k * stride] for k in range(count))

    def _plane(self, tile: IRArray, tables: dict, context: dict, z: IRValue, arrays: list) -> None:
        # SBP closure row of this plane; planes below the closure share its last row.
        depth = z - tables["surface"]
        row = depth.clip(z.constant(0), tables["rows"] - 1)
        for name in ("up", "down"):
            context[name] = self._numbers(tables[name], row * self._width, self._width)
        # Profiles along z and y are invariant along x: seven scalars for each row.
        context["z_row"] = self._numbers(tables["z_table"], z, PROFILES, tables["z_length"])
        context["depth"] = depth * tables["z_stride"]
        context["ground"] = z * tables["z_stride"] + context["medium"]
        with loop(tile[2], tile[3]) as y:
            context["y_row"] = self._numbers(tables["y_table"], y, PROFILES, tables["y_length"])
            start = z * tables["z_stride"] + y * tables["y_stride"] + context["medium"]
            with loop(z.constant(0), z.constant(3)) as span:
                self._span(tile, context, z, y, span, start, arrays)

    def _span(
        self, tile, context: dict, z: IRValue, y: IRValue, span: IRValue, start: IRValue, arrays
    ) -> None:
        # Left PML, interior, right PML: segments of columns behind the row's own.
        columns = tile.offset_by(span * SPAN_COLUMNS + FIRST_SPAN)
        x0, x1, memory, memory_y, memory_z, slot = (columns[k] for k in range(SPAN_COLUMNS))
        context |= {"memory_y": memory_y, "memory_z": memory_z, "slot": slot}
        context["ahead"] = context[self._next_row]
        # Memory variables of the row: index of x = 0; lanes add x.
        j = memory + z * memory_z + y * memory_y

        def lanes(formula: Callable, in_layer: bool) -> None:
            with loop(x0, x1, self._lanes.width) as counter:
                # LLVM's search for the cheapest addresses in a loop (its strength reduction) takes
                # half of all compiling: in layers, which are few points, an opaque index stops it.
                x = counter.opaque() if in_layer else counter
                # Mask of the last lane: the numbers before x1.
                lane = {"x": x, "j": j + x, "mask": self._lanes.first(x1 - x)}
                # Opaque strides keep LLVM from hoisting an address per stencil row into registers,
                # which spill.
                lane |= {name: context[name].opaque() for name in ("y_stride", "z_stride")}
                # Prefetch each array a fixed distance ahead.
                for array, lead in arrays:
                    self._lanes.fetch(array, start + x + lead)
                formula(
                    start + x, KernelContext(**(context | lane)), *(array for array, _ in arrays)
                )

        # One copy of the loop where the operators agree, else a branch per segment.
        if self._ends is self._middle:
            lanes(self._middle, self._in_layer)
        else:
            # Interior segments have number 1 of the three.
            either(
                span.equals(1),
                lambda: lanes(self._middle, self._in_layer),
                lambda: lanes(self._ends, True),
            )
