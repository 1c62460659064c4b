"""Interpolation on ground that slopes, and beside it; slopes of velocities that its traction sets.

Derivatives at constant z are sums of derivatives along rows, which follow the ground, and across
them (`seismo.features.topography.rows`)::

    d_z = (1 / g) d_s,    d_x = d_x|s - (a / g) d_s

With N = (-f_x, -f_y, 1) across the ground, t_lm = d_m v_l along its rows (m = x, y), w = d_s v / g
the gradient of v is t_lm + w_l N_m, and the traction C_iklm d_m v_l N_k vanishes where::

    G w = -C_iklm N_k t_lm,    G_il = C_iklm N_k N_m

(Auld 1990, section 9.D; G is Christoffel's matrix of the normal). A fluid has no volume strain on
its surface, and nothing turns it (but for changes of density along the surface)::

    w_z - f_x w_x - f_y w_y = -(t_xx + t_yy),    w_a + f_a w_z = t_za,    a = x, y

vz on the ground, of which t_za are differences, is that of a polynomial through its next rows: its
error counts by the slope alone. So read, vz on the ground errs at 30 degrees and 10 points by 0.03
in place of 0.11 % (P-SV, order 8), in a fluid by 0.12 in place of 0.37 %.

The traction prescribes the shear stresses across level planes, too: s_ab N_b = 0 is there::

    s_az = f_x s_ax + f_y s_ay,    a = x, y

of stresses that stand on the first row. The strains conjugate to them, in rock whose shear stresses
across z depend on one strain each, are

    2 e_az = (f_x C_ax,kl + f_y C_ay,kl) e_kl / C_az,az

Moments act by the transpose of reading. The scheme's own strains err from row to row next to the
ground, most in the first ones. Where no contact lies near, moments use polynomials, one of each
strain, free of traction on the ground, that fit eight rows by least squares, weighted by the rows'
errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from seismo.equations.framework.table import Field, Physics, Term
from seismo.equations.rock import elastic_constants
from seismo.features.topography.rows import Topography
from seismo.grid.coefficients import Stencil
from seismo.grid.grid import AXES
from seismo.grid.interpolation import (
    Points,
    PointsByField,
    Surface,
    add_points,
    axis_weights,
    joined_by_field,
    point_weights,
    value_share,
)
from seismo.model.earth import Earth
from seismo.solver.discretization import Discretization
from seismo.solver.interpolation.point_weights import PointInterpolation, PointRule
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
# Below the ground, that polynomials go through where contacts may cross them, and of fluids, whose
# rows next to it err more. Where the ground prescribes slopes few of them are read anyway.
_ROWS_ACROSS = 4
FITTED_ROWS = 4.0  # rows below the ground, in which strains are fitted
_NO_SHARE = 1e-12  # rounding error
_DEGREE = 5  # of polynomials that are fitted
# Errors of strains of rows over those of the rows below, on nodes from the first row below the
# ground on, and on half rows from the ground on.
_ERRORS = {False: (4.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
           True: (6.0, 8.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)}  # fmt: skip


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


def point_rule(discretization: Discretization) -> GroundRule | None:
    """Return how fields are read on ground that slopes; None where it is flat."""
    topography = discretization.fact(Topography)
    if topography is None:
        return None
    physics = discretization.physics
    earth = discretization.earth
    # Fluids have no traction that holds them.
    has_stress = "stress" in physics.observables
    # Over topography contacts may cross any row: six rows amplify a kink among them.
    across = "p" in physics.gradients or not discretization.extremes.uniform
    return GroundRule(
        topography=topography,
        traction=GroundTraction(physics, earth, topography) if has_stress else None,
        slopes=ground_slopes(physics, earth, topography, discretization.stencil),
        surface_rows=_ROWS_ACROSS if across else None,
        by_depth=not has_stress,
    )


@dataclass(frozen=True, kw_only=True)
class GroundRule(PointRule):
    """Interpolation on ground that slopes.

    Attributes:
        topography: the ground.
        traction: prescribed shear stresses, or None.
    """

    topography: Topography
    traction: GroundTraction | None

    def norm(self, field: Field, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the heights g of cells."""
        # g at the field's own points.
        grid = self.topography.grid
        at = [
            grid.coordinate(a, n + 0.5 * (a in field.half))
            for a, n in zip("zyx", (z, y, x), strict=True)
        ]
        return self.topography.height(*at)

    def level_terms(self, term: Term, position) -> list[Term] | None:
        """Return the terms along and across rows that a derivative is the sum of."""
        if not term.along:
            return None
        # d_z = (1 / g) d_s alone; d_x = d_x|s - (a / g) d_s.
        along = [term] if term.along != "z" else []
        share = self._share_across(term.along, position)
        across = [replace(term, along="z", factor=term.factor * share)] if share else []
        return [*along, *across]

    def _share_across(self, axis: str, position) -> float:
        """Return by how much d_s is part of a derivative along an axis at a position in m."""
        x, y, s = (np.asarray(p) for p in position)
        g = float(self.topography.height(s, y, x))
        if axis == "z":
            return 1.0 / g
        return -float(self.topography.surface(y, x, along=axis) * self.topography.share(s)) / g

    def strain(
        self, interpolation: PointInterpolation, field: Field, position
    ) -> PointsByField | None:
        """Return the points of the strain that a stress does work on."""
        if self.traction is None or field.name not in self.traction.names:
            return None
        # Where no contact lies near: strains fitted to the first rows.
        tilted = interpolation.tilted
        is_even = tilted is not None and tilted.rows >= MOST_ROWS
        if is_even and interpolation.index(position)[2] < FITTED_ROWS:
            return self.traction.fitted_strain(field.name, position)
        return self._under_ground(interpolation, field, position, self.traction.strain)

    def stress(
        self, interpolation: PointInterpolation, field: Field, position
    ) -> PointsByField | None:
        """Return the points that read a stress."""
        if self.traction is None or field.name not in self.traction.names:
            return None
        return self._under_ground(interpolation, field, position, self.traction.stress)

    def _under_ground(
        self,
        interpolation: PointInterpolation,
        field: Field,
        position,
        on_ground: Callable[..., PointsByField],
    ) -> PointsByField:
        """Return the points of rows of the stress itself, and of its value on the ground.

        Args:
            interpolation: of the rows.
            field: the stress.
            position: x, y, s in m.
            on_ground: function(name, position) of that prescribed value.
        """
        # Rows of the stress, and the weight of its value on the ground.
        points = interpolation.weights(field, position)
        half = "z" in field.half
        share = value_share(interpolation.index(position)[2], half, interpolation.surface(field))
        if not share:
            return {field.name: points}
        # The value on the ground, zero or that of the first row, is prescribed by its traction.
        rows = np.where((points.z == 0) & (not half), 0.0, points.weights)
        points_by_field = {field.name: points._replace(weights=rows)}
        for name, prescribed in on_ground(field.name, position).items():
            add_points(points_by_field, name, prescribed.times(share))
        return points_by_field


@dataclass(frozen=True)
class GroundTraction:
    """Shear stresses across z that the ground prescribes, and the strains of these.

    Attributes:
        physics: the wave equation.
        earth: the medium, which takes x, y, s.
        topography: the ground.
    """

    physics: Physics
    earth: Earth
    topography: Topography

    def stress(self, name: str, position) -> PointsByField:
        """Return the points, by their field, of a stress on the ground above a position."""
        return self._read(self._along_ground(position), name, position)

    def strain(self, name: str, position) -> PointsByField:
        """Return the same for the strain that it does work on, by stresses that do so on theirs."""
        # Strains by stresses on the ground, these by level ones, and these by strains: S P C.
        stiffness = self._stiffness(position)
        known = self._along_ground(position)
        return self._read(np.linalg.solve(stiffness, known @ stiffness), name, position)

    def fitted_strain(self, name: str, position) -> PointsByField:
        """Return the same for that strain at a position in the first rows: see above."""
        # No traction: s_az = f_b s_ab and so on, of C e on the ground.
        stiffness = self._stiffness(position)
        across = ["z" in other for other in self.names]
        conditions = ((np.eye(len(across)) - self._along_ground(position)) @ stiffness)[across]
        conditions /= np.abs(conditions).max()
        halves = tuple("z" in self.physics.named(other).half for other in self.names)
        z_index = float(self.topography.grid.index("z", position[2]))
        weights = _fit(halves, tuple(map(tuple, conditions.tolist())), z_index)
        points_by_field = PointsByField()
        # Rows of each field, interpolated along them.
        for other, half, shares in zip(
            self.names, halves, weights[self.names.index(name)], strict=True
        ):
            x, y, _, weights = self._columns(other, position)
            rows = np.arange(shares.size) + (not half)
            points_by_field[other] = Points(
                np.repeat(x, rows.size), np.repeat(y, rows.size), np.tile(rows, x.size),
                np.outer(weights, shares).ravel(),
            )  # fmt: skip
        return points_by_field

    @property
    def names(self) -> list[str]:
        """The stresses."""
        return list(self.physics.observables["stress"])

    def _read(self, shares: np.ndarray, name: str, position) -> PointsByField:
        """Return the points of a row of shares of stresses, above a threshold."""
        # Each of the other stresses is interpolated along the first row.
        row = shares[self.names.index(name)]
        least = _NO_SHARE * np.abs(row).max()
        return {
            other: self._points(other, position, share)
            for other, share in zip(self.names, row.tolist(), strict=True)
            if abs(share) > least
        }

    def _along_ground(self, position) -> np.ndarray:
        """Return all stresses on the ground by stresses across no level plane, (stress, stress)."""
        x, y, _ = (np.asarray(p) for p in position)
        slope = {
            axis: float(self.topography.surface(y, x, along=axis))
            for axis in self.topography.grid.axes
            if axis != "z"
        }
        names = self.names
        shares = np.eye(len(names))
        # s_az by s_ax and s_ay, then szz by both: the rows of P.
        for name in sorted(names, key=lambda name: name.count("z")):
            if "z" in name:
                of = (("s" + "".join(sorted(name[1] + axis)), slope[axis]) for axis in slope)
                shares[names.index(name)] = sum(f * shares[names.index(other)] for other, f in of)
        return shares

    def _points(self, name: str, position, share: float) -> Points:
        """Return the points of a field on the ground above a position, weighted with a share."""
        return self._columns(name, position).times(share)

    def _columns(self, name: str, position) -> Points:
        """Return the points of a field's first row about the ground above a position."""
        grid = self.topography.grid
        x, y = (
            float(grid.index(a, position[AXES.index(a)])) if a in grid.axes else 0.0 for a in "xy"
        )
        across = self.physics.named(name).half.replace("z", "")
        return point_weights((x, y, 0.0), across)

    def _stiffness(self, position) -> np.ndarray:
        """Return the stiffness (stress, stress) of the ground above a position."""
        x, y, _ = (np.asarray(p) for p in position)
        # The first row stands on the ground.
        across = y if "y" in self.topography.grid.axes else None
        medium = self.earth.sample(np.array(self.topography.level), across, x)
        return elastic_constants.stiffness_of_stresses(medium, self.names)


@lru_cache(maxsize=64)  # components of a source share them
def _fit(
    halves: tuple[bool, ...], conditions: tuple[tuple[float, ...], ...], z_index: float
) -> np.ndarray:
    """Return weights (strain, strain, row) that read strains of rows at a depth in rows.

    Args:
        halves: whether each strain stands on half rows.
        conditions: numbers (condition, strain) whose sums of strains vanish on the ground.
        z_index: the depth.
    """
    # Polynomials in rows over eight of them, strain by strain.
    powers = np.arange(_DEGREE + 1)
    count = len(halves)
    rows = len(_ERRORS[True])
    matrix = np.zeros((count, rows, count, powers.size))
    certainty = np.array([1.0 / np.array(_ERRORS[half]) for half in halves])
    for n, half in enumerate(halves):
        depths = np.arange(rows) + (0.5 if half else 1.0)
        matrix[n, :, n] = certainty[n, :, None] * (depths[:, None] / rows) ** powers
    # Their values on the ground keep the conditions: a basis of all that do.
    _, sizes, turned = np.linalg.svd(np.kron(np.array(conditions), 1.0 * (powers == 0)))
    kept = turned[int((sizes > _NO_SHARE).sum()) :].T
    flat = matrix.reshape(count * rows, -1)
    solved = kept @ np.linalg.pinv(flat @ kept) * certainty.ravel()
    at_depth = (z_index / rows) ** powers
    return np.einsum("apbr,p->abr", solved.reshape(count, powers.size, count, rows), at_depth)
