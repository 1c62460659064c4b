"""Weights along z that read fields among the rows of a fitted closure, and spread sources there.

Next to a closed surface (`seismo.grid.surface_closure`) the grid's fields are not samples of the
exact ones: what short waves do in the rows depends on the closure. Weights that know it, fitted to
the exact response of half-spaces (`scripts/fit_surface_weights.py`), read a velocity, strain or
stress among the rows a few times better than polynomials, and by their transpose a force or a
moment there moves the surface as one at its very depth does. They are exact for polynomials up to
degree 3, like those of a whole space.

Fitted are depths half a cell apart. In between, weights are those of the polynomial through the
nearest six depths, which keeps that exactness.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

from seismo.grid.interpolation import Along, lagrange
from seismo.grid.surface_closure import ClosureKind

WIDTH = 10  # rows that are read
STEP = 0.5  # cells between fitted depths
DEPTHS = STEP * np.arange(1, 19)  # in cells
WEIGHTED_ROWS = 15  # cells below the surface that all weights lie within
_BETWEEN = 6  # depths that others are interpolated from
# What is read: velocities along and across the surface, shear stresses that act on it, and others.
HALVES = {"along": False, "across": True, "shear": True, "normal": False}
READS = {
    ClosureKind.FORCES.value: ("along", "across"),
    ClosureKind.LONG.value: ("along", "across"),
    ClosureKind.MOMENTS.value: ("along", "across", "shear", "normal"),
}


def first_row(depth: float, half: bool) -> int:
    """Return the first of the rows that a fitted depth in cells is read from."""
    return max(0, math.floor(depth - 0.5 * half) - WIDTH // 2 + 1)


@lru_cache
def _fits() -> dict[tuple[int, str], dict]:
    """Return the fits by order and kind of the closure."""
    text = files("seismo.grid").joinpath("surface_weights.json").read_text()
    return {(fit["order"], fit["kind"]): fit for fit in json.loads(text)}


@dataclass(frozen=True)
class SurfaceWeights:
    """The weights that belong to one fitted closure.

    Attributes:
        order: of the differences.
        kind: of the closure.
        deepest: depth in cells down to which they are used.
    """

    order: int
    kind: ClosureKind
    deepest: float

    def reads(self, what: str, depth: float) -> bool:
        """Whether something at a depth in cells is read with them."""
        # Above the first half points vz is read with the slope that the surface prescribes.
        shallowest = DEPTHS[0] if what == "across" else 0.0
        return what in READS[self.kind.value] and shallowest < depth <= self.deepest

    def weights(self, what: str, depth: float) -> Along:
        """Return rows (n) and weights (n) that read something at a depth in cells."""
        return _interpolated((self.order, self.kind.value), what, self.deepest, depth)


@lru_cache(maxsize=4096)  # receivers on a line share their depth
def _interpolated(key: tuple[int, str], what: str, deepest: float, depth: float) -> Along:
    """Return rows and weights at a depth, by those of the nearest fitted ones."""
    last = DEPTHS[deepest >= DEPTHS].size
    depths = DEPTHS[:last]
    tables = np.array(_fits()[key][what])[:last]
    # On the surface that is the first row alone, and nothing of shear stresses, which vanish there.
    if not HALVES[what] or what == "shear":
        on_top = np.eye(1, WIDTH) * (what != "shear")
        depths, tables = np.append(0.0, depths), np.concatenate([on_top, tables])
    start = int(np.clip(np.searchsorted(depths, depth) - _BETWEEN // 2, 0, depths.size - _BETWEEN))
    some = slice(start, start + _BETWEEN)
    firsts = [first_row(float(at), HALVES[what]) for at in depths[some]]
    total = np.zeros(firsts[-1] + WIDTH)
    for first, share, weights in zip(
        firsts, lagrange(depths[some], depth), tables[some], strict=True
    ):
        total[first : first + WIDTH] += share * weights
    return np.arange(firsts[0], total.size), total[firsts[0] :]


def deepest(even_rows: float) -> float:
    """Return the depth in cells down to which all weights are of rock so many cells deep; or 0."""
    if even_rows < WIDTH:
        return 0.0
    # The last row of a depth lies WIDTH / 2 below it, or less.
    return float(DEPTHS[even_rows - WIDTH // 2 > DEPTHS][-1])


def surface_weights(order: int, kind: ClosureKind, even_rows: float) -> SurfaceWeights | None:
    """Return the weights that belong to the largest closure of a kind; None where there are none.

    Args:
        order: of the differences.
        kind: of the closure.
        even_rows: cells below the surface that are of one solid; no weight is of a row below these.
    """
    reach = deepest(even_rows)
    known = (order, kind.value) in _fits()
    return SurfaceWeights(order, kind, reach) if reach and known else None
