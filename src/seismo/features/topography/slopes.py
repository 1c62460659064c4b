"""Slopes of velocities on ground that slopes, which its traction prescribes.

With N = (-f_x, -f_y, 1) across the ground, t_lm = d_m v_l along its rows (m = x, y), w = d_s v / g
the gradient of v is t_lm + w_l N_m, and the traction C_iklm d_m v_l N_k vanishes where::

    G w = -C_iklm N_k t_lm,    G_il = C_iklm N_k N_m

(Auld 1990, section 9.D; G is Christoffel's matrix of the normal). A fluid has no volume strain on
its surface, and nothing turns it (but for changes of density along the surface)::

    w_z - f_x w_x - f_y w_y = -(t_xx + t_yy),    w_a + f_a w_z = t_za,    a = x, y

vz on the ground, of which t_za are differences, is that of a polynomial through its next rows: what
that errs counts by the slope alone. So read, vz on the ground errs at 30 degrees and 10 points by
0.03 in place of 0.11 % (P-SV, order 8), in a fluid by 0.12 in place of 0.37 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from seismo.equations.framework.table import Physics
from seismo.equations.rock import elastic_constants
from seismo.features.topography.rows import Topography
from seismo.grid.coefficients import Stencil
from seismo.grid.grid import AXES
from seismo.grid.interpolation import Points, PointsByField, Surface, axis_weights, joined_by_field
from seismo.model.earth import Earth
from seismo.solver.interpolation.traction_free_slopes import (
    MOST_REACH,
    MOST_ROWS,
    Offsets,
    SurfaceSlope,
    TiltedSurface,
    along_axis,
    central,
    even_depths,
    stencil_points,
)

# Half points that vz is read from beside its slope, whatever contacts lie among them. Rock of 1900
# m/s on that of 3000, 0.7, 1.6 and 2.6 cells below ground that dips by 20 degrees, 10 points, vz on
# the ground: 0.9, 1.5, 0.8 %, by four rows without the slope 2.2, 1.5, 1.2 %.
LEAST_ROWS = 3


def ground_slopes(
    physics: Physics, earth: Earth, topography: Topography, stencil: Stencil
) -> tuple[GroundSlope | None, SurfaceSlope | None]:
    """Return the slopes that the ground prescribes of vz that is read, and of derivatives.

    None where no motion needs them.

    Args:
        physics: the wave equation.
        earth: the medium, which takes x, y, s.
        topography: the ground.
        stencil: of the differences.
    """
    moving = {field.name for field in physics.fields if field.name.startswith("v")}
    if not moving:
        return None, None
    # Rows above the shallowest contact.
    grid = topography.grid
    (contact,) = even_depths(earth, grid, MOST_ROWS)
    rows = max(1, math.ceil(min(contact, MOST_ROWS)))
    # SH waves have no vz that a slope helps to read.
    if moving == {"vy"}:
        return None, ShearGroundSlope(grid, earth, rows, stencil.order // 2, topography=topography)
    fluid = "p" in physics.gradients
    known = GroundSlope(grid, earth, rows, stencil.order // 2, topography=topography, fluid=fluid)
    return replace(known, rows=max(rows, LEAST_ROWS)), known


@dataclass(frozen=True, kw_only=True)
class ShearGroundSlope(SurfaceSlope):
    """The slope d_s vy of SH waves that ground prescribes: s_yz = f s_xy.

    Attributes:
        topography: the ground.
    """

    topography: Topography

    def shear_points(self, axis: str, columns: Points) -> PointsByField:
        """Return the points for d_s vy at nodes, weighted: see the base."""
        # (c44 + f^2 c66) d_s vy / g = f c66 d_x vy along the rows
        x = np.asarray(self.grid.coordinate("x", columns.x))
        f = self.topography.surface(None, x, along="x")
        g = self.topography.height(self.topography.level, None, x)
        medium = self.medium(columns.y, columns.x)
        ratio = 1.0 + 2.0 * np.asarray(medium.get("gamma", 0.0))
        share = columns.weights * g * f * ratio / (1.0 + f**2 * ratio)
        # Central differences of nodes; fewer near the ends of the grid.
        last = self.grid.points[0] - 1 + self.halo
        reach = np.minimum(columns.x + self.halo, last - columns.x)
        reach = np.clip(reach, 1, min(MOST_REACH, self.halo))

        def stencil(most: int) -> Offsets:
            steps, slope = central(most)
            return along_axis("x", steps), slope / self.grid.spacing[0]

        return {"vy": stencil_points(columns, share, reach, stencil)}


@dataclass(frozen=True, kw_only=True)
class GroundSlope(TiltedSurface):
    """The slopes d_s of velocities that ground prescribes.

    Attributes:
        topography: the ground.
        fluid: whether it is that of a fluid.
    """

    topography: Topography
    fluid: bool

    def points(self, columns: Points) -> PointsByField:
        """Return the points of velocities, by their names, for d_s vz under nodes."""
        return self._rates(columns, "z")

    def shear_points(self, axis: str, columns: Points) -> PointsByField:
        """Return the same for d_s of the velocity along an axis, at half points: see the base."""
        # w at the half points, from the nodes beside them.
        return self._rates(self.nodes_beside(axis, columns), axis)

    def _rates(self, columns: Points, component: str) -> PointsByField:
        """Return the points for g w of a component at nodes, weighted."""
        slopes = self._slopes(columns.y, columns.x)
        of_tangents = self._of_fluid(slopes) if self.fluid else self._of_solid(columns, slopes)
        # d_s v = g w.
        y, x = self._coordinates(columns.y, columns.x)
        g = self.topography.height(self.topography.level, y, x)
        shares = of_tangents[:, AXES.index(component)] * (g * columns.weights)[:, None, None]
        return joined_by_field(self._tangents(columns, shares))

    def _tangents(self, columns: Points, shares: np.ndarray) -> Iterator[tuple[str, Points]]:
        """Yield the points of sums of t_lm at nodes, with shares (n, l, m)."""
        for m, axis in enumerate(self.across):
            for component in (*self.across, "z"):
                share = shares[:, AXES.index(component), m]
                read = self._sideways
                if component == axis:
                    read = self._derivative
                elif component == "z":
                    read = self._of_vz
                yield f"v{component}", read(axis, columns, share)

    def _of_vz(self, axis: str, columns: Points, share: np.ndarray) -> Points:
        """Return the points of `share` times the derivative of vz along an axis at nodes."""
        a = AXES.index(axis)
        last = self.grid.points[a] - 1 + self.halo
        reach = np.minimum(columns[a] + self.halo, last - columns[a])
        reach = np.clip(reach, 1, min(MOST_REACH, self.halo))
        # vz on the ground: the polynomial through its next rows.
        surface = Surface(0, vanishes=False, rows=self.rows_of_vz)
        rows, weights = axis_weights(0.0, True, 0, surface)

        def stencil(most: int) -> Offsets:
            steps, slope = central(most)
            offsets = along_axis(axis, np.repeat(steps, rows.size))
            offsets[2] = np.tile(rows, steps.size)
            return offsets, np.outer(slope / self.grid.spacing[a], weights).ravel()

        return stencil_points(columns, share, reach, stencil)

    @property
    def rows_of_vz(self) -> int:
        """Rows that the polynomial of vz goes through."""
        return min(self.rows, 4)

    def _coordinates(self, y: np.ndarray, x: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        """Return y, None in 2-D, and x in m of columns."""
        across = np.asarray(self.grid.coordinate("y", y)) if "y" in self.grid.axes else None
        return across, np.asarray(self.grid.coordinate("x", x))

    def _slopes(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return f_x, f_y (n, axis) of columns."""
        at = self._coordinates(y, x)
        return np.stack([self.topography.surface(*at, along=a) for a in self.across], axis=-1)

    def _of_fluid(self, slopes: np.ndarray) -> np.ndarray:
        """Return w (n, component, l, m) of t_lm in a fluid."""
        count = slopes.shape[1]
        of = np.zeros((len(slopes), 3, 3, count))
        for m, axis in enumerate(self.across):
            a = AXES.index(axis)
            # w_z (1 + f_x^2 + f_y^2) = f_x t_zx + f_y t_zy - t_xx - t_yy
            of[:, 2, 2, m] = slopes[:, m]
            of[:, 2, a, m] = -1.0
            of[:, a, 2, m] = 1.0
        of[:, 2] /= (1.0 + np.sum(slopes**2, axis=1))[:, None, None]
        for m, axis in enumerate(self.across):
            # w_a = t_za - f_a w_z
            of[:, AXES.index(axis)] -= slopes[:, m, None, None] * of[:, 2]
        return of

    def _of_solid(self, columns: Points, slopes: np.ndarray) -> np.ndarray:
        """Return w (n, component, l, m) of t_lm in rock of any anisotropy."""
        stiffness = elastic_constants.stiffness_of(self.medium(columns.y, columns.x))
        stiffness = np.broadcast_to(stiffness, (len(slopes), 6, 6))
        # C_iklm by its components, times N_k.
        voigt = elastic_constants.VOIGT
        tensor = stiffness[:, voigt[:, :, None, None], voigt[None, None]]
        along = [AXES.index(a) for a in self.across]
        normal = np.zeros((len(slopes), 3))
        normal[:, along] = -slopes
        normal[:, 2] = 1.0
        traction = np.einsum("niklm,nk->nilm", tensor, normal)
        matrix = np.einsum("nilm,nm->nil", traction, normal)
        right = -traction[..., along].reshape(len(slopes), 3, -1)
        return np.linalg.solve(matrix, right).reshape(len(slopes), 3, 3, len(along))
