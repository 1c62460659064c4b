"""The code of tiles: the loops over z, y and the lanes of x around a formula.

A tile walks whole rows: the left end, the middle, the right end. All it needs stands in memory
behind one address, so that every variant is a C function of the same arguments. `parameters` is
the address of the addresses of: tiles, integers (`INTEGERS`, then a lead for each array),
coefficients, profiles, weights, layer memory (`TABLES`), and the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seismo.backends.base import BOX_COLUMNS, FIRST_SPAN, SPAN_COLUMNS, Variant
from seismo.backends.code.traced import (
    IRArray,
    IRValue,
    either,
    kept_in,
    loop,
)
from seismo.backends.cpu.vector_code import VectorLanes
from seismo.backends.operators.stencils import KernelContext
from seismo.equations.framework.formula import Formula

TABLES = (
    "tiles", "integers", "first", "second", "on_nodes", "numbers", "x_table", "y_table", "z_table",
    "up", "down", "memory",
)  # fmt: skip
INTEGERS = ("y_stride", "z_stride", "surface", "rows", "x_length", "y_length", "z_length")
PROFILES = 7  # numbers of a layer profile: b, a, 1/kappa at nodes and at half points, m at nodes


class TileCode:
    """Write the code of some tiles, one after the other.

    Args:
        lanes: lanes of the backend.
        formula: what is updated.
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
        # Coefficients become registers: order / 2 for each axis (one more of second derivatives).
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
                # Opaque strides keep LLVM from hoisting one address per stencil row into registers,
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
