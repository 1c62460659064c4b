"""Slopes of velocities at the free surface of a solid or fluid, which its zero traction prescribes.

    szz = 0 on z = 0:    d_z vz = -r (d_x vx + d_y vy),    r = lambda / (lambda + 2 mu)
    sxz = syz = 0:       d_z v_a = -d_a vz,                a = x, y

With the first a few rows of vz, which stand half a cell below the nodes, tell vz on the surface as
well as many rows do without; the near field of a shallow source, or a contact, stays out of the
reading. r is 1 in a fluid, which no shear stress holds: nothing turns it, and d_z v_a = d_a vz.
Divergence and rotation beside the surface are read with both. `seismo.grid.interpolation` has the
weights of the rows and of the slopes.

In rock of any anisotropy, with the stiffness C in Voigt's order, N for the components zz, yz, xz of
the surface's normal and T for xx, yy, xy along it, strain rates e (2 exz for xz and so on) keep on
z = 0::

    C_NN e_N + C_NT e_T = 0,      e_N = -C_NN^-1 C_NT e_T = S e_T
    d_z vz = S_zz e_T,            d_z v_a = S_az e_T - d_a vz,      a = x, y

(Auld 1990, section 9.D: free surfaces of anisotropic rock). In 2-D N is zz, xz and T is xx.

On a soft layer of one cell motion along the surface bends (`ThinLayerReading`). With u that motion,
s shear stress, w motion across it and waves of frequency omega along x::

    d_z s = -omega^2 rho u - E d_xx u - c66 d_yy u,    E = c11 - c13^2 / c33
    d_z u = s / mu - d_x w,                            s = 0 on the surface

So beside a line u has parts phi that go as the integrals over z of S / mu, where S is the integral
of rho, of E or of c66. The closed rows have them, too: G phi = S / mu with D S = rho, by their own
differences (`seismo.grid.surface_closure`) and averages. A closure of power 1, which such a layer
has, leaves a part of a cell's bend in single rows, which is 1 to 4 % of u. The weights of even
media are changed as little as makes them read each phi as it is at the position.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seismo.equations.framework.table import Physics
from seismo.equations.rock import elastic_constants
from seismo.grid.coefficients import Stencil, staggered
from seismo.grid.grid import AXES, Grid
from seismo.grid.interpolation import (
    RADIUS,
    Along,
    Points,
    PointsByField,
    Surface,
    add_points,
    axis_weights,
    lagrange,
    midpoint_weights,
    slope_share,
)
from seismo.grid.surface_closure import SurfaceClosure, closed_operators
from seismo.grid.surface_interpolation import WEIGHTED_ROWS, SurfaceWeights
from seismo.model.earth import Earth
from seismo.solver.interpolation.layer_contacts import (
    ALIKE,
    MARGIN,
    Layers,
    Values,
)

MOST_REACH = 4  # half points on either side of a node that tell its d_x vx
MOST_ROWS = 8  # half points below the surface that a reading may use
_SLAB = 1 << 20  # columns that are sampled at once
CONTACT = 0.1  # relative change of a modulus within half a cell that counts as a contact
_NORMAL = {"xz": (2, 4), "xyz": (2, 3, 4)}  # Voigt's numbers of zz, yz, xz, less 1
_ALONG = {"xz": (0,), "xyz": (0, 1, 5)}  # of xx, yy, xy
_STRAINS = ("xx", "yy", "xy")
_LEAST_SHEAR = 1e-9  # of c33: less is a fluid


Offsets = tuple[np.ndarray, np.ndarray]  # offsets along x, y, z (3, k) and weights (k)


@dataclass(frozen=True)
class SurfaceSlope:
    """The slope d_z vz that the free surface of a run prescribes.

    Attributes:
        grid: the grid; its first row along z is the surface.
        earth: the medium.
        rows: half points below the surface that lie above the shallowest contact.
        halo: points beyond each face of the grid that a field has.
        fitted: weights that read fields among the rows of the closure, or None.
    """

    grid: Grid
    earth: Earth
    rows: int
    halo: int
    fitted: SurfaceWeights | None = None

    def ratio(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return c13 / c33 at the surface (broadcast shape of indices y, x)."""
        # lambda / (lambda + 2 mu) of the rock at the surface.
        ratio = elastic_constants.thin_stretch(self.medium(y, x))
        return np.broadcast_to(ratio, np.broadcast_shapes(np.shape(y), np.shape(x)))

    def medium(self, y: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
        """Sample the medium of the surface at indices y, x."""
        across = self.grid.coordinate("y", y) if self.grid.dimensions == 3 else None
        top = np.array(self.grid.coordinate("z", 0))
        return self.earth.sample(top, across, self.grid.coordinate("x", x))

    @property
    def across(self) -> list[str]:
        """The axes along the surface."""
        return [a for a in "xy" if a in self.grid.axes]

    def derivative(self, axis: str, most: int = MOST_REACH) -> tuple[np.ndarray, np.ndarray]:
        """Return the half points around a node, and their weights 1/m, for the derivative there."""
        reach = min(most, self.halo)
        # Staggered Taylor difference of half points, at the node.
        c = staggered(2 * reach) / self.grid.spacing[AXES.index(axis)]
        return np.arange(-reach, reach), np.concatenate([-c[::-1], c])

    def points(self, columns: Points) -> PointsByField:
        """Return the points of vx (and vy), by their names, for the slope under nodes.

        Near a face of the grid, where fewer half points are left, fewer are taken.

        Args:
            columns: nodes of the surface, and how much (m) of the slope there is wanted.
        """
        # d_z vz = -r (d_x vx + d_y vy)
        share = -self.ratio(columns.y, columns.x) * columns.weights
        return {f"v{axis}": self._derivative(axis, columns, share) for axis in self.across}

    def shear_points(self, axis: str, columns: Points) -> PointsByField:
        """Return the points of velocities, by their names, for the slope of that along an axis.

        Args:
            axis: "x" or "y".
            columns: half points along it on the surface, by the nodes before them, and how much (m)
                of the slope there is wanted.
        """
        # sxz = 0: d_z v_a = -d_a vz; no rotation in a fluid: d_z v_a = +d_a vz.
        medium = self.medium(columns.y, columns.x)
        sign = np.where(medium.get("vs", medium.get("c55", 0.0)) > 0.0, -1.0, 1.0)
        of_vz = self._derivative(axis, columns, sign * columns.weights, half=1).added_up()
        surface = Surface(0, vanishes=False, sloped=self.rows)
        # vz on the surface: from its rows below, and from the prescribed slope.
        rows, weights = axis_weights(0.0, True, 0, surface)
        x, y = (np.repeat(n, rows.size) for n in of_vz[:2])
        below = np.tile(rows, of_vz.weights.size), np.outer(of_vz.weights, weights).ravel()
        share = slope_share(0.0, True, surface) * self.grid.spacing[2]
        slope = self.points(of_vz.times(share))
        return {name: points.added_up() for name, points in slope.items()} | {
            "vz": Points(x, y, *below)
        }

    def _derivative(self, axis: str, columns: Points, share: np.ndarray, half: int = 0) -> Points:
        """Return the points of `share` times the derivative along an axis at nodes.

        With `half` 1, at the half points behind them, of a field on the nodes.
        """
        a = AXES.index(axis)
        last = self.grid.points[a] - 1 + self.halo
        centre = np.clip(columns[a] + half, 1 - self.halo, last)
        # Fewer points where the grid ends.
        reach = np.clip(np.minimum(centre + self.halo, last + 1 - centre), 1, MOST_REACH)

        def stencil(most: int) -> Offsets:
            steps, weights = self.derivative(axis, most)
            return along_axis(axis, steps), weights

        centres = columns._replace(**{axis: centre})
        return stencil_points(centres, share, reach, stencil)


@dataclass(frozen=True)
class TiltedSurface(SurfaceSlope):
    """The slopes of velocities that the free surface of rock about tilted axes prescribes."""

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
        """Return the points of vx (and vy), by their names, for d_z vz under nodes."""
        return self._strained(columns, 0)

    def shear_points(self, axis: str, columns: Points) -> PointsByField:
        """Return the points for d_z of the velocity along an axis: see the base."""
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
        # No node beyond the grid has a medium of its own: the last takes its weight.
        x, y, z = (np.clip(n, 0, most - 1) for n, most in zip(index, self.grid.points, strict=True))
        return Points(x, y, z, np.outer(columns.weights, weights).ravel()).added_up()

    def _strained(self, columns: Points, row: int) -> PointsByField:
        """Return the points of a row of S e_T at nodes: 0 for zz, -2 for yz, -1 for xz."""
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

        def stencil(most: int) -> Offsets:
            # Mean of half points across the axis times the central difference along it.
            halves, mean = midpoint_weights(most)
            steps, slope = central(most)
            offsets = along_axis(axis, np.repeat(steps, halves.size))
            offsets[across] += np.tile(halves, steps.size)
            return offsets, np.outer(slope / self.grid.spacing[a], mean).ravel()

        return stencil_points(columns, share, reach, stencil)


def tilted_surface(
    physics: Physics, earth: Earth, grid: Grid, stencil: Stencil, closure: SurfaceClosure | None
) -> SurfaceSlope | None:
    """Return the slopes at the free surface of tilted rock; None of equations without tilt.

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
    rows = max(1, math.ceil(min(contact, MOST_ROWS, grid.rows_above_layers - 1)))
    return TiltedSurface(grid, earth, rows, stencil.order // 2)


def stencil_points(
    columns: Points, share: np.ndarray, reach: np.ndarray, stencil: Callable[[int], Offsets]
) -> Points:
    """Return the points of stencils about nodes (n) of a surface, weighted with shares (n).

    Args:
        columns: the nodes.
        share: of each.
        reach: (n) points that each stencil has on either side.
        stencil: function(reach) -> offsets (3, k) along x, y, z and weights (k).
    """
    pieces = []
    # Nodes near the ends of the grid have shorter stencils: a length at a time.
    for number in np.unique(reach):
        chosen = reach == number
        offsets, weights = stencil(int(number))
        index = [
            np.repeat(along[chosen], weights.size) + np.tile(offset, int(chosen.sum()))
            for along, offset in zip(columns[:3], offsets, strict=True)
        ]
        pieces.append((*index, np.outer(share[chosen], weights).ravel()))
    return Points(*(np.concatenate(piece) for piece in zip(*pieces, strict=True)))


def along_axis(axis: str, steps: np.ndarray) -> np.ndarray:
    """Return offsets (3, k) of steps along an axis."""
    offsets = np.zeros((3, steps.size), int)
    offsets[AXES.index(axis)] = steps
    return offsets


def central(reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes, `reach` on each side of another, and weights of the derivative at that."""
    steps = np.concatenate([np.arange(-reach, 0), np.arange(1, reach + 1)])
    # d/dx at 0 of the polynomial through the nodes: f(k) / k times the Lagrange weight at 0.
    return steps, lagrange(steps.astype(float), 0.0) / steps


def even_depths(
    earth: Earth, grid: Grid, most: int, changes: Sequence[float] = (CONTACT,)
) -> list[float]:
    """Return the depths in cells down to which no column of the earth has a contact.

    A contact is a modulus or density that changes by more than so much within half a cell.

    Args:
        earth: the medium.
        grid: the grid.
        most: depth in cells that is looked at; beyond it the answer is infinite.
        changes: relative; a depth for each.
    """
    z = grid.coordinate("z", np.arange(2 * most + 1) / 2)
    y, x = (grid.coordinate(a, np.arange(grid.points[AXES.index(a)])) for a in "yx")
    if earth.layered:
        y = y[:1]
        x = x[:1]
    rows = max(1, _SLAB // (x.size * z.size))
    depths = [np.inf] * len(changes)
    for first in range(0, y.size, rows):
        across = y[None, first : first + rows, None] if grid.dimensions == 3 else None
        down = z[:, None, None] if grid.dimensions == 3 else z[:, None]
        medium = earth.sample(down, across, x)
        moduli = [
            medium["rho"],
            *(medium["rho"] * medium[v] ** 2 for v in ("vp", "vs") if v in medium),
        ]
        for modulus in moduli:
            flat = modulus.reshape(z.size, -1)
            jumps = np.abs(np.diff(flat, axis=0))
            least = np.minimum(flat[1:], flat[:-1])
            for n, change in enumerate(changes):
                # First half cell in which any column jumps.
                cut = np.flatnonzero((jumps > change * least).any(1))
                depths[n] = min(depths[n], cut[0] / 2 if cut.size else np.inf)
    return depths


_ROWS = 5  # least rows that weights change
_DEEPEST = 16  # row from which on the medium has to be even
_TAIL = 40  # rows of that medium, which differences are inverted over
_FINE = 64  # samples per row of exact integrals
_LEAST = 0.2  # of the largest part of phi that is no line: the part that is not read exactly


@dataclass(frozen=True)
class ThinLayerReading:
    """The reading of motion along a free surface on a thin soft layer.

    Attributes:
        layers: the rows of the earth.
        closure: of the differences at the surface.
    """

    layers: Layers
    closure: SurfaceClosure

    def weights(self, z_index: float) -> Along | None:
        """Return rows and weights for a place, in rows, or None where weights of even media do."""
        if not self._bends:
            return None
        even_rows, weights = axis_weights(z_index, False, 0, Surface(0, vanishes=False))
        rows = np.arange(max(_ROWS, even_rows.max() + 1))
        plain = np.zeros(rows.size)
        plain[even_rows] = weights
        # phi of the rows and at the place, less its line through the rows.
        line = np.array([np.ones(rows.size), rows])
        seen = np.array([discrete[rows] for discrete, _ in self._bends])
        depths = np.arange(self._even * _FINE + 1) / _FINE
        wanted = [np.interp(z_index, depths, exact) for _, exact in self._bends]
        rest = seen - np.linalg.solve(line @ line.T, line @ seen.T).T @ line
        # Damped least change of the weights.
        gram = rest @ rest.T + (_LEAST * np.abs(rest).max()) ** 2 * np.eye(len(rest))
        return rows, plain + np.linalg.solve(gram, wanted - seen @ plain) @ rest

    @cached_property
    def _rows(self) -> Values:
        """Moduli (rows) as the scheme has them, from the surface down."""
        return {n: v[MARGIN:] for n, v in self.layers.rows(0.0).items() if np.isfinite(v).all()}

    @cached_property
    def _even(self) -> int:
        """The first row below the closure's rows with a single medium about it, or 0."""
        for row in range(self.closure.rows + 1, _DEEPEST):
            about = slice(row - 1, row + RADIUS + 1)
            moduli = np.array(list(self._rows.values()))[:, about]
            if (np.ptp(moduli, axis=1) <= ALIKE * np.abs(moduli).max(1)).all():
                return row
        return 0

    @cached_property
    def _bends(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return each phi: (rows) of the scheme, and (samples) exact, `_FINE` to a row.

        Below the row `_even` its medium goes on.
        """
        last = self._even
        if not last or (self._rows["c44"] == 0.0).any():
            return []
        total = last + _TAIL
        rows = {name: np.pad(v[: last + 1], (0, total - last - 1), "edge")
                for name, v in self._rows.items()}  # fmt: skip
        z = (np.arange(last * _FINE) + 0.5) / _FINE
        fine = self.layers.moduli_of(z, 1.0 / _FINE)
        up, down = closed_operators(np.array(self.layers.first), total, total, self.closure)
        softness = 1.0 / rows["c44"]
        softness = 0.5 * (softness[1:] + softness[:-1])  # of the half rows
        bends = []
        for density, exact_density in zip(_densities(rows), _densities(fine), strict=True):
            # D S = rho and G phi = S / mu, with phi = 0 on the surface.
            stress = np.linalg.solve(down, density)[:-1]
            phi = np.append(0.0, np.linalg.solve(up[:-1, 1:], softness * stress))
            # Exact: S and phi by the midpoint rule.
            sums = np.append(0.0, np.cumsum(exact_density)) / _FINE
            steps = 0.5 * (sums[1:] + sums[:-1]) / fine["c44"]
            exact = np.append(0.0, np.cumsum(steps)) / _FINE
            # Below the closure they differ by a line, which waves from below have anyway.
            below = np.arange(self.closure.rows, last + 1)
            line = np.polyfit(below, phi[below] - exact[::_FINE][below], 1)
            unit = np.abs(exact[-1])
            bends.append(((phi - np.polyval(line, np.arange(total))) / unit, exact / unit))
        return bends


def _densities(m: Values) -> list[np.ndarray]:
    """Return the quantities whose integral shear stress is: rho, E and, where it acts, c66."""
    stretch = m["c11"] - m["c13"] ** 2 / m["c33"]
    return [m["rho"], stretch, *([m["c66"]] if "c66" in m else [])]
