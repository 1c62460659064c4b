"""Slopes of velocities at the free surface of rock of any anisotropy, by its zero traction.

With the stiffness C in Voigt's order, N for the components zz, yz, xz of the surface's normal and T
for xx, yy, xy along it, strain rates e (2 exz for xz and so on) keep on z = 0::

    C_NN e_N + C_NT e_T = 0,      e_N = -C_NN^-1 C_NT e_T = S e_T
    d_z vz = S_zz e_T,            d_z v_a = S_az e_T - d_a vz,      a = x, y

(Auld 1990, section 9.D: free surfaces of anisotropic rock). In 2-D N is zz, xz and T is xx. Fluid
has no shear: d_z vz = -(d_x vx + d_y vy), and d_z v_a = d_a vz, as nothing turns it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seismo.equations.framework.table import Physics
from seismo.equations.rock import elastic_constants
from seismo.grid.coefficients import Stencil
from seismo.grid.grid import AXES, Grid
from seismo.grid.interpolation import (
    Points,
    PointsByField,
    add_points,
    lagrange,
    midpoint_weights,
)
from seismo.grid.surface_closure import SurfaceClosure
from seismo.grid.surface_interpolation import WEIGHTED_ROWS
from seismo.model.earth import Earth
from seismo.solver.grid_layout import rows_above_layers
from seismo.solver.surface.surface_slope import (
    MOST_REACH,
    MOST_ROWS,
    SurfaceSlope,
    even_depths,
)

_NORMAL = {"xz": (2, 4), "xyz": (2, 3, 4)}  # Voigt's numbers of zz, yz, xz, less 1
_ALONG = {"xz": (0,), "xyz": (0, 1, 5)}  # of xx, yy, xy
_STRAINS = ("xx", "yy", "xy")
_LEAST_SHEAR = 1e-9  # of c33: less is a fluid


def tilted_surface(
    physics: Physics, earth: Earth, grid: Grid, stencil: Stencil, closure: SurfaceClosure | None
) -> SurfaceSlope | None:
    """Return what the free surface of tilted rock prescribes; None of equations without tilt.

    Args:
        physics: the wave equation.
        earth: the medium.
        grid: the grid, whose first row along z is the surface.
        stencil: of the differences.
        closure: closed operators under that surface, or None.
    """
    if closure is None or not physics.interpolates:
        return None
    (contact,) = even_depths(earth, grid, WEIGHTED_ROWS)
    rows = max(1, math.ceil(min(contact, MOST_ROWS, rows_above_layers(grid) - 1)))
    return TiltedSurface(grid, earth, rows, stencil.order // 2)


@dataclass(frozen=True)
class TiltedSurface(SurfaceSlope):
    """What prescribes d_z of velocities on the free surface of rock about tilted axes."""

    def strains(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return S (n, normal, along) at columns y, x (n) of the surface."""
        # S = -C_NN^-1 C_NT
        stiffness = elastic_constants.stiffness_of(self.medium(y, x))
        stiffness = np.broadcast_to(stiffness, (*np.shape(x), 6, 6))
        axes = "".join(self.grid.axes)
        normal = np.array(_NORMAL[axes])
        along = np.array(_ALONG[axes])
        across_normal = stiffness[..., normal[:, None], normal].copy()
        # Of fluids the diagonal alone, so that there is an inverse.
        wet = stiffness[..., 4, 4] < _LEAST_SHEAR * stiffness[..., 2, 2]
        across_normal[wet] = np.eye(normal.size) * stiffness[wet][..., 2, 2][..., None, None]
        return -np.linalg.solve(across_normal, stiffness[..., normal[:, None], along])

    def points(self, columns: Points) -> PointsByField:
        """Return by its name what to read of vx (and vy) for d_z vz under some nodes."""
        return self._strained(columns, 0)

    def shear_points(self, axis: str, columns: Points) -> PointsByField:
        """Return by its name what to read for d_z of the velocity along an axis: see the base."""
        points_by_field = super().shear_points(axis, columns)
        # S e_T at the half points, from the nodes beside them.
        nodes = self.nodes_beside(axis, columns)
        row = -1 if axis == "x" else -2
        for name, points in self._strained(nodes, row).items():
            add_points(points_by_field, name, points)
        return points_by_field

    def nodes_beside(self, axis: str, columns: Points) -> Points:
        """Return the nodes that half points along an axis are interpolated from, weighted."""
        steps, weights = midpoint_weights(MOST_REACH)
        a = AXES.index(axis)
        index = [np.repeat(n, steps.size) for n in (columns.x, columns.y, columns.z)]
        index[a] = (columns[a][:, None] + 1 + steps).ravel()
        # No node beyond the grid has a medium of its own: the last one takes its weight.
        x, y, z = (np.clip(n, 0, most - 1) for n, most in zip(index, self.grid.points, strict=True))
        return Points(x, y, z, np.outer(columns.weights, weights).ravel()).added_up()

    def _strained(self, columns: Points, row: int) -> PointsByField:
        """Return what to read for a row of S e_T at nodes: 0 for zz, -2 for yz, -1 for xz."""
        shares = self.strains(columns.y, columns.x)[:, row] * columns.weights[:, None]
        points_by_field = PointsByField()
        for number, strain in enumerate(_STRAINS[: shares.shape[1]]):
            # e_xx = d_x vx; 2 e_xy = d_x vy + d_y vx
            for component, axis in {(strain[0], strain[1]), (strain[1], strain[0])}:
                read = self._derivative if component == axis else self._sideways
                points = read(axis, columns, shares[:, number])
                add_points(points_by_field, f"v{component}", points)
        return points_by_field

    def _sideways(self, axis: str, columns: Points, share: np.ndarray) -> Points:
        """Return the points of `share` times d_y vx at nodes, or d_x vy, by the axis y or x.

        The mean of half points along x, and the difference of nodes along y: polynomials both.
        """
        a = AXES.index(axis)
        across = 1 - a
        ends = [self.grid.points[n] - 1 + self.halo for n in (0, 1)]
        reach = np.full(columns.x.size, min(MOST_REACH, self.halo))
        for n in (0, 1):
            reach = np.minimum(reach, np.minimum(columns[n] + self.halo, ends[n] - columns[n]))
        reach = np.clip(reach, 1, MOST_REACH)
        pieces = []
        for number in np.unique(reach):
            some = reach == number
            halves, mean = midpoint_weights(int(number))
            steps, slope = central(int(number))
            weights = np.outer(slope / self.grid.spacing[a], mean).ravel()
            index = [np.repeat(columns[n][some], weights.size) for n in range(3)]
            index[across] += np.tile(np.tile(halves, steps.size), int(some.sum()))
            index[a] += np.tile(np.repeat(steps, halves.size), int(some.sum()))
            pieces.append((*index, np.outer(share[some], weights).ravel()))
        return Points(*(np.concatenate(piece) for piece in zip(*pieces, strict=True)))


def central(reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes beside one, `reach` on each side, and weights of the derivative at it."""
    steps = np.concatenate([np.arange(-reach, 0), np.arange(1, reach + 1)])
    # d/dx at 0 of the polynomial through the nodes: f(k) / k times the Lagrange weight at 0.
    return steps, lagrange(steps.astype(float), 0.0) / steps
