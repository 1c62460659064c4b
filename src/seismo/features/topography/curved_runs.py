"""Runs whose rows follow the ground: their table of the wave equation, and the planes it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from seismo.backends.base import computed_in
from seismo.backends.operators.cell import planes_of
from seismo.equations.framework.sloping_ground import (
    PLANES,
    RESIDUALS,
    iterations,
    on_ground,
    with_slopes,
)
from seismo.equations.rock.relaxation import Relaxation
from seismo.features.topography.rows import Topography
from seismo.grid.coefficients import midpoint_pairs
from seismo.grid.decomposition import Subdomain
from seismo.grid.surface_closure import RowWeights

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization

Planes = dict[str, np.ndarray]  # (y, x) of a subdomain, halo along both


def curved(discretization: Discretization, relaxation: Relaxation | None) -> Discretization:
    """Return a run with the table of its wave equation on a ground that slopes."""
    rows = discretization.curved_rows
    topography = discretization.fact(Topography)
    if topography is None or rows is None:
        return discretization
    physics = with_slopes(discretization.physics)
    if physics.curved_surface is None:
        return replace(discretization, physics=physics)
    # Iterations by the steepest dip and the largest c44 / c33, the same for all parts of the grid.
    extremes = discretization.extremes
    # c44 / c33 = vs^2 / vp^2; below 3/4 in any solid (bulk modulus > 0).
    shear = min(0.75, (extremes.vs_max / extremes.vp_min) ** 2)
    residual = RESIDUALS[computed_in(discretization.scenario.precision)]
    count = iterations(topography.steepest, shear, residual)
    return replace(discretization, physics=on_ground(physics, count, rows.to_node))


def plane_names(discretization: Discretization) -> tuple[str, ...]:
    """Return the names of the planes that formulas on curved rows take; none where it is flat."""
    if discretization.curved_rows is None:
        return ()
    axes = discretization.grid.axes
    names = PLANES[: len(axes) + 1] if discretization.physics.curved_surface else ()
    return (*planes_of(axes), *names)


def planes(
    discretization: Discretization, subdomain: Subdomain, coefficients: Mapping[str, np.ndarray]
) -> Planes:
    """Return the planes of a subdomain, halo included.

    Args:
        discretization: the run.
        subdomain: whose columns.
        coefficients: arrays (z, y, x) of the formulas at nodes, with halo along y and z.
    """
    topography = discretization.fact(Topography)
    rows = discretization.curved_rows
    if topography is None or rows is None:
        return {}
    axes = discretization.grid.axes
    ground = {name: _window(array, subdomain)
              for name, array in _of_ground(topography, axes).items()}  # fmt: skip
    # Planes of the surface's stresses, where this part has its row.
    surface = discretization.physics.curved_surface
    if surface is None or subdomain.owned.lo[2] > 0:
        empty = np.zeros_like(ground["ground_"])
        return ground | dict.fromkeys(set(plane_names(discretization)) - set(ground), empty)
    c33, shear = surface.moduli(coefficients, discretization.physics.numbers)
    return ground | _of_surface(rows, discretization, subdomain, ground, c33, shear)


def _of_ground(topography: Topography, axes: str) -> Planes:
    """Return f, f_x and f_y at the columns (y, x) of the whole grid, by their planes."""
    arrays = {}
    for name in planes_of(axes):
        _, *axis, half = name.split("_")
        arrays[name] = topography.slope(axis[0], half) if axis else topography.below_level(half)
    return arrays


def _window(array: np.ndarray, subdomain: Subdomain) -> np.ndarray:
    """Return the columns of a subdomain and its halo; clamped to the grid's ends."""
    halo = subdomain.halo
    ny, nx = array.shape
    x = np.clip(np.arange(-halo, nx + halo), 0, nx - 1)
    (_, first, _) = subdomain.padded.lo
    (_, last, _) = subdomain.padded.hi
    y = np.clip(np.arange(first, last), 0, ny - 1)
    return array[np.ix_(y, x)]


def _of_surface(
    rows: RowWeights, discretization: Discretization, subdomain: Subdomain, ground: Planes,
    c33: np.ndarray, shear: Mapping[str, np.ndarray],
) -> Planes:  # fmt: skip
    """Return c33 / g, w_x, w_y and the diagonal of A (see `surface.traction`)."""
    top = subdomain.halo  # the row of the surface in arrays with halo
    weights = midpoint_pairs(discretization.stencil.order)
    slope_of_share = rows.down[0, -2]
    # c33 / g of the nodes.
    planes = {"surface_c33": _padded(c33[top], subdomain)
              / (1.0 + ground["ground_"] * slope_of_share)}  # fmt: skip
    diagonal = planes["surface_c33"].copy()
    for axis in (a for a in discretization.grid.axes if a != "z"):
        # w = sum over rows of P0' P0 mu / g
        total = np.zeros_like(diagonal)
        for k in range(rows.closed):
            g = 1.0 + ground[f"ground_{axis}"] * rows.up[k, -2]
            mu = _padded(shear[axis][top + k], subdomain)
            total += rows.to_node[k] * rows.up[k, -1] * mu / g
        planes[f"surface_{axis}"] = total
        # Diagonal of Px' w Px: the squares of the weights of the half points about a node.
        along = 1 if axis == "x" else 0
        through = np.zeros_like(total)
        for m, weight in enumerate(weights):
            for n in (m, -1 - m):
                through += weight**2 * _shifted(total, n, along)
        diagonal = diagonal + ground[f"ground_{axis}_"] ** 2 * through
    return planes | {"surface_diagonal": diagonal}


def _padded(row: np.ndarray, subdomain: Subdomain) -> np.ndarray:
    """Return an array (y, x) with halo along y alone, or a single value, with halo along both."""
    halo = subdomain.halo
    nx = subdomain.owned.shape[0]
    ny = subdomain.padded.hi[1] - subdomain.padded.lo[1]
    columns = np.broadcast_to(row, (ny, nx) if row.shape[1] > 1 else (ny, 1))
    if columns.shape[1] == 1:
        return np.broadcast_to(columns, (ny, nx + 2 * halo)).copy()
    return np.pad(columns, ((0, 0), (halo, halo)), "edge")


def _shifted(array: np.ndarray, n: int, along: int) -> np.ndarray:
    """Return the values n points further along an axis, clamped at the ends."""
    count = array.shape[along]
    return array.take(np.clip(np.arange(count) + n, 0, count - 1), along)
