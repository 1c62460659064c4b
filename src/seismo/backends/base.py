"""What a backend offers: lanes to write formulas on, arrays, and sweeps of a formula over tiles.

A *sweep* applies one update formula to every point of a list of tiles. A tile is a row of
`TILE_COLUMNS` integers. Array indices count from the first number of the padded array.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from seismo.operators import operators

TILE_COLUMNS = (
    "z0", "z1", "y0", "y1",  # the rows z0 <= z < z1, y0 <= y < y1
    "shot",  # offset of the shot's fields in their arrays
    # for the left end, the middle and the right end of the rows: the points x0 <= x < x1, and of
    # their layer memory the index of (0, 0, 0), the strides and the slot size
    *(("x0", "x1", "memory", "memory_y", "memory_z", "slot") * 3),
)  # fmt: skip
SPAN_COLUMNS = 6
FIRST_SPAN = 5


@dataclass(frozen=True)
class SweepTables:
    """The arrays a sweep needs beside the fields.

    Attributes:
        strides: (2) distance of neighbours along y and z.
        first: (3, M) staggered coefficients / spacing along x, y, z.
        second: (3, M + 1) centred coefficients / spacing^2.
        profiles: layer profiles b, a, 1/kappa at nodes and at half points, (6, length) each of x,
            y, z; the length is the padded array's.
        up: (rows, width) surface weights for node values / spacing, with `down` for half points.
        surface: array index of the surface row along z.
    """

    strides: np.ndarray
    first: np.ndarray
    second: np.ndarray
    profiles: tuple[np.ndarray, np.ndarray, np.ndarray]
    up: np.ndarray
    down: np.ndarray
    surface: int


@dataclass(frozen=True)
class Variant:
    """Which operators a formula is bound to.

    Attributes:
        order: order of the differences.
        axes: "xz" or "xyz".
        middle: axes that pass through layer memory in the middle of a row.
        ends: the same in the layers at the ends of a row.
        slots: memory variables of the stage along one axis.
        closed: width of the surface weights, 0 away from a free surface.
    """

    order: int
    axes: str
    middle: str = ""
    ends: str = ""
    slots: int = 0
    closed: int = 0

    def bind(self, formula: Callable, lanes: Any) -> tuple[Callable, Callable]:
        """Bind a formula to the operators of the ends and of the middle of a row."""
        ends, middle = (
            formula(operators(lanes, self.order, self.axes, axes, self.slots, self.closed))
            for axes in (self.ends, self.middle)
        )
        return (middle if self.ends == self.middle else ends), middle


class Backend(Protocol):
    """The machine that holds the fields and runs the sweeps."""

    name: str
    precision: str
    lane_width: int

    def zeros(self, size: int) -> Any:
        """Allocate `size` zeros, aligned for lanes."""

    def sweep(
        self, formula: Callable, variant: Variant, tables: SweepTables,
        tiles: np.ndarray, memory: Any, arrays: tuple, leads: tuple[int, ...],
    ) -> Callable[[], None]:  # fmt: skip
        """Bind a formula to its operators, tiles and arrays; the result takes no arguments."""
