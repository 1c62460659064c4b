"""Waves that run along the rows of a closed free surface, and which way their energy goes.

In absorbing layers waves grow whose energy runs against their phase (Becache, Fauqueux & Joly
2003). With U in node rows, i W in half rows, norms N and H, and closed differences G and D, waves
exp(i (k x - w t)) of the grid have, with szz = 0 in row 0,

    w^2 M y = (K0 + k K1 + k^2 K2) y,    y = (U, W),    M = (N rho, H rho)
    K0 = G' H c44 G + D' N c33 D,   K1 = G' H c44 - N c13 D and its transpose,   K2 = (N c11, H c44)

and a group velocity y' (K1 + 2 k K2) y / (2 w y' M y).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from seismo.grid.coefficients import Stencil
from seismo.grid.surface_closure import SurfaceClosure, interior_matrix

ROWS = 26  # of nodes; the lowest one is rigid
_WAVENUMBERS = np.linspace(0.1, 3.1, 31)  # rad per cell
_NEAR, _SHARE = 10, 0.8  # rows that hold so much of the energy of a wave along the surface


def slowest(closure: SurfaceClosure, stencil: Stencil, medium: Mapping[str, np.ndarray]) -> float:
    """Return the least group velocity in m/s of waves along the rows; negative if one runs back.

    Args:
        closure: of the surface.
        stencil: of the differences below.
        medium: "rho", "c11", "c13", "c33", "c44" (`ROWS`) of the node rows, in SI.
    """
    first = stencil.first
    up = interior_matrix(first, ROWS - 1, ROWS)
    down = -up.T
    for whole, part in ((up, closure.up), (down, closure.down)):
        whole[: len(part)] = 0.0
        whole[: len(part), : part.shape[1]] = part
    node, half = np.ones(ROWS), np.ones(ROWS - 1)
    node[: closure.rows], half[: closure.rows] = closure.node_norm, closure.half_norm
    rho, c44 = medium["rho"], medium["c44"]
    between = half * 2.0 / (1.0 / c44[1:] + 1.0 / c44[:-1])
    bears = node * (np.arange(ROWS) > 0)
    plate = medium["c11"][0] - medium["c13"][0] ** 2 / medium["c33"][0]
    along = np.append(node[0] * plate, (node * medium["c11"])[1:])
    none = np.zeros((ROWS, ROWS - 1))
    still = np.block([
        [up.T @ (between[:, None] * up), none],
        [none.T, down.T @ ((bears * medium["c33"])[:, None] * down)],
    ])  # fmt: skip
    mixed = up.T * between - (bears * medium["c13"])[:, None] * down
    linear = np.block([[np.zeros((ROWS, ROWS)), mixed], [mixed.T, np.zeros((ROWS - 1,) * 2)]])
    square = np.diag(np.append(along, between))
    mass = np.append(node * rho, half * 0.5 * (rho[1:] + rho[:-1]))
    scale = 1.0 / np.sqrt(mass[:, None] * mass)
    near = np.append(np.arange(ROWS) < _NEAR, np.arange(ROWS - 1) < _NEAR)
    found = np.inf
    seen = 2.0 * np.sin(np.outer(_WAVENUMBERS, np.arange(len(first)) + 0.5)) @ first
    for k in seen:
        squares, waves = np.linalg.eigh((still + k * linear + k * k * square) * scale)
        energy = np.einsum("ij,ik,kj->j", waves, (linear + 2.0 * k * square) * scale, waves)
        velocity = energy / (2.0 * np.sqrt(squares.clip(min=1e-9 * squares[-1])))
        held = (waves[near] ** 2).sum(0) > _SHARE
        found = min(found, float(velocity[held].min(initial=np.inf)))
    return found
