"""Interpolation between nodes and half points beside a free surface, which keeps energy.

Rock whose normal and shear strains are coupled needs one where the other stands. Beside the surface
the interpolations belong to the norms of its closed differences (`seismo.grid.surface_closure`).
"""

from __future__ import annotations

import numpy as np

from seismo.grid.coefficients import MIDPOINT
from seismo.grid.surface_closure import DECIMALS, SurfaceClosure

_PROJECTIONS = 200  # at most, in search of an interpolation of norm 1; some 50 find it
_BELOW = 1e-4  # of 1 lie what singular values are projected to, so that the search ends
_MET = 0.01  # to which fitted coefficients meet conditions that those of Taylor meet
_ENOUGH = 1e-4  # over 1, which coefficients that are not exact for lines may keep


def _exact(
    matrix: np.ndarray, node: np.ndarray, half: np.ndarray, rows: int, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the conditions on the changes of the block of M, and what M lacks to meet them.

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
    closure, H_node P' = (H_half P)^T = M, so that what couples shear and normal strains keeps
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
