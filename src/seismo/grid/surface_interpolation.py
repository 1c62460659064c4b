"""Interpolation beside a free surface: between nodes and half points, and at positions.

*Between nodes and half points*, for rock whose normal and shear strains are coupled, the
interpolations keep energy: they belong to the norms of the closed differences
(`seismo.grid.surface_closure`).

*At positions* among the rows of a fitted closure, weights along z read fields and spread sources
(`SurfaceWeights`). The grid's fields are no samples of the exact ones there: short waves in the
rows depend on the closure. Weights fitted to the exact response of half-spaces
(`scripts/fit_surface_weights.py`) read a velocity, strain or stress among the rows a few times
better than polynomials, and by their transpose a force or a moment there moves the surface as at
its exact depth. They are exact for polynomials up to degree 3, like weights of a whole space.

Fitted are depths half a cell apart. In between, weights are of the polynomial through the
nearest six depths, which keeps that exactness.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

from seismo.grid.coefficients import MIDPOINT
from seismo.grid.interpolation import Along, lagrange
from seismo.grid.surface_closure import DECIMALS, ClosureKind, SurfaceClosure

_PROJECTIONS = 200  # at most, in search of an interpolation of norm 1; about 50 find it
_BELOW = 1e-4  # of 1 lie projected singular values, so that the search ends
_MET = 0.01  # to which fitted coefficients meet conditions that Taylor's meet
_ENOUGH = 1e-4  # over 1, which coefficients that are not exact for lines may keep
WIDTH = 10  # rows that are read
STEP = 0.5  # cells between fitted depths
DEPTHS = STEP * np.arange(1, 19)  # in cells
WEIGHTED_ROWS = 15  # cells below the surface that all weights lie within
_BETWEEN = 6  # depths that others are interpolated from
# Readings: velocities along and across the surface, shear stresses that act on it, and others.
HALVES = {"along": False, "across": True, "shear": True, "normal": False}
READS = {
    ClosureKind.FORCES.value: ("along", "across"),
    ClosureKind.LONG.value: ("along", "across"),
    ClosureKind.MOMENTS.value: ("along", "across", "shear", "normal"),
}


def _exact(
    matrix: np.ndarray, node: np.ndarray, half: np.ndarray, rows: int, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the conditions on the changes of the block of M, and the lack of M to meet them.

    Each row (and column) must interpolate x^0 to x^most: sum_h M_nh h^p = N_n n^p at nodes,
    sum_n M_nh n^p = H_h h^p at half points, with the norms N of nodes and H of half points.
    """
    nodes = np.arange(len(matrix)) * 1.0
    halves = np.arange(len(matrix)) + 0.5
    conditions = []
    missing = []
    for k in range(rows):
        for power in range(most + 1):
            of_node = np.zeros((rows, rows))
            of_node[k] = halves[:rows] ** power
            conditions.append(of_node.ravel())
            missing.append(node[k] * nodes[k] ** power - matrix[k] @ halves**power)
            of_half = np.zeros((rows, rows))
            of_half[:, k] = nodes[:rows] ** power
            conditions.append(of_half.ravel())
            missing.append(half[k] * halves[k] ** power - matrix[:, k] @ nodes**power)
    return np.array(conditions), np.array(missing)


def midpoint_weights(closure: SurfaceClosure) -> tuple[np.ndarray, np.ndarray]:
    """Return (rows, width) weights of node values at half points, and of half points at nodes.

    Exact for straight lines.
    """
    rows, width = closure.up.shape
    size = width + 2 * len(MIDPOINT)
    to_half, to_node = _matrices(closure, np.array(MIDPOINT), size, 1)
    return to_half[:rows, :width], to_node[:rows, :width]


def midpoint_matrices(
    closure: SurfaceClosure, weights: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same of all of `size` rows, by weights of pairs of samples.

    Exact for parabolas where such exist, else for straight lines.
    """
    small = sum(closure.up.shape) + 2 * len(weights)
    closed = _matrices(closure, weights, small, 2)
    # Below the block both are the interior's.
    to_node = _interior(weights, size)
    to_half = to_node.T.copy()
    rows = min(small - len(weights), size)
    for matrix, block in zip((to_half, to_node), closed, strict=True):
        matrix[:rows, : min(small, size)] = block[:rows, :size]
    return to_half, to_node


def _interior(weights: np.ndarray, size: int) -> np.ndarray:
    """Return the interpolation (nodes, half points) far from a surface, w_m at m and -1 - m."""
    offset = np.arange(size)[None, :] - np.arange(size)[:, None]  # half point less node
    matrix = np.zeros((size, size))
    for m, weight in enumerate(weights):
        matrix += weight * ((offset == m) | (offset == -1 - m))
    return matrix


def _matrices(
    closure: SurfaceClosure, weights: np.ndarray, size: int, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return P and P' of rows next to a surface, exact up to a power, or to 1 where none are.

    The interpolations P (nodes -> half points) and P' are each other's adjoint in the norms of the
    closure, H_node P' = (H_half P)^T = M, so that the coupling of shear and normal strains keeps
    energy. M is a matrix near to the interior's whose block of rows makes both exact for straight
    lines (or parabolas), and H_node^-1/2 M H_half^-1/2 of norm 1, as without a surface: more gains
    energy.
    """
    rows = closure.rows
    # M = N P': start from the interior's interpolation.
    matrix = _interior(weights, size)
    node = np.ones(size)
    half = np.ones(size)
    node[:rows] = closure.node_norm
    half[:rows] = closure.half_norm
    system, missing = _exact(matrix, node, half, rows, most)
    # Least-norm change that meets all conditions, and the nearest ones to others.
    inverse = np.linalg.pinv(system, rcond=1e-11)
    change = inverse @ missing
    if most > 1 and np.abs(system @ change - missing).max() > _MET:
        return _matrices(closure, weights, size, 1)
    scale = np.sqrt(np.outer(node, half))
    interior = matrix.copy()
    # Alternating projections: singular values up to 1, conditions.
    for _ in range(_PROJECTIONS):
        matrix[:rows, :rows] = interior[:rows, :rows] + change.reshape(rows, rows)
        node_modes, norms, half_modes = np.linalg.svd(matrix / scale)
        if norms[0] <= 1.0 + _ENOUGH:
            break
        bounded = scale * (node_modes * np.minimum(norms, 1.0 - _BELOW) @ half_modes)
        nearer = (bounded - interior)[:rows, :rows].ravel()
        change = nearer - inverse @ (system @ nearer - missing)
    matrix[:rows, :rows] = interior[:rows, :rows] + change.reshape(rows, rows).round(DECIMALS)
    # P = H^-1 M^T and P' = N^-1 M, with the norms N of nodes and H of half points.
    return matrix.T / half[:, None], matrix / node[:, None]


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
    """The weights that belong to a fitted closure.

    Attributes:
        order: of the differences.
        kind: of the closure.
        deepest: depth in cells down to which they are used.
    """

    order: int
    kind: ClosureKind
    deepest: float

    def reads(self, quantity: str, depth: float) -> bool:
        """Whether something at a depth in cells is read with them."""
        # Above the first half points vz is read with the slope that the surface prescribes.
        shallowest = DEPTHS[0] if quantity == "across" else 0.0
        return quantity in READS[self.kind.value] and shallowest < depth <= self.deepest

    def weights(self, quantity: str, depth: float) -> Along:
        """Return rows (n) and weights (n) that read something at a depth in cells."""
        return _interpolated((self.order, self.kind.value), quantity, self.deepest, depth)


@lru_cache(maxsize=4096)  # receivers on a line share their depth
def _interpolated(key: tuple[int, str], quantity: str, deepest: float, depth: float) -> Along:
    """Return rows and weights at a depth, by the nearest fitted depths."""
    last = DEPTHS[deepest >= DEPTHS].size
    depths = DEPTHS[:last]
    tables = np.array(_fits()[key][quantity])[:last]
    # On the surface that is the first row alone, and nothing of shear stresses, which vanish there.
    if not HALVES[quantity] or quantity == "shear":
        on_top = np.eye(1, WIDTH) * (quantity != "shear")
        depths, tables = np.append(0.0, depths), np.concatenate([on_top, tables])
    start = int(np.clip(np.searchsorted(depths, depth) - _BETWEEN // 2, 0, depths.size - _BETWEEN))
    nearest = slice(start, start + _BETWEEN)
    firsts = [first_row(float(at), HALVES[quantity]) for at in depths[nearest]]
    total = np.zeros(firsts[-1] + WIDTH)
    for first, share, weights in zip(
        firsts, lagrange(depths[nearest], depth), tables[nearest], strict=True
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
        even_rows: cells of a single solid below the surface; rows below these have no weight.
    """
    reach = deepest(even_rows)
    known = (order, kind.value) in _fits()
    return SurfaceWeights(order, kind, reach) if reach and known else None
