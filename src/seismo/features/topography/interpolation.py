"""Interpolation on ground that slopes, and beside it.

Derivatives at constant z are sums of those along rows, which follow the ground, and across them
(`seismo.features.topography.rows`)::

    d_z = (1 / g) d_s,    d_x = d_x|s - (a / g) d_s

The ground's traction prescribes the slopes of velocities (`seismo.features.topography.slopes`) and
the shear stresses across level planes. With N = (-f_x, -f_y, 1) across the ground, s_ab N_b = 0 is
there::

    s_az = f_x s_ax + f_y s_ay,    a = x, y

of stresses that stand on the first row. Of the strains that they do work on, in rock whose shear
stresses across z take one strain each,

    2 e_az = (f_x C_ax,kl + f_y C_ay,kl) e_kl / C_az,az

(Auld 1990, section 9.D). Moments act by the transpose of what is read. The scheme's own strains err
from row to row next to the ground, most in the first ones. Where no contact lies near, moments take
those of the polynomials, one of each strain, that fit eight rows in the sense of least squares,
with weights by how much rows err there, among those without traction on the ground.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from seismo.equations.framework.table import Field, Physics, Term
from seismo.equations.rock import elastic_constants
from seismo.features.topography.rows import Topography
from seismo.features.topography.slopes import ground_slopes
from seismo.grid.grid import AXES
from seismo.grid.interpolation import Points, PointsByField, add_points, point_weights, value_share
from seismo.model.earth import Earth
from seismo.solver.discretization import Discretization
from seismo.solver.interpolation.point_weights import PointInterpolation, PointRule
from seismo.solver.interpolation.traction_free_slopes import MOST_ROWS

# Below the ground, that polynomials go through where contacts may cross them, and of fluids, whose
# rows next to it err more. Where the ground prescribes slopes few of them are read anyway.
_ROWS_ACROSS = 4
FITTED_ROWS = 4.0  # rows below the ground, in which strains are fitted
_NO_SHARE = 1e-12  # what rounding leaves
_DEGREE = 5  # of polynomials that are fitted
# What strains of rows err by, over those of the rows below, on nodes from the first row below the
# ground on, and on half rows from the ground on.
_ERRORS = {False: (4.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
           True: (6.0, 8.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)}  # fmt: skip


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
        traction: what it prescribes of shear stresses, or None.
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
            on_ground: function(name, position) of what prescribes that value.
        """
        # Rows of the stress, and the weight of its value on the ground.
        points = interpolation.weights(field, position)
        half = "z" in field.half
        share = value_share(interpolation.index(position)[2], half, interpolation.surface(field))
        if not share:
            return {field.name: points}
        # The value on the ground, a zero or that of the first row, is what its traction prescribes.
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
        """Return the points of a row of shares that stresses have, those of some part."""
        # Each of the other stresses is interpolated along the first row.
        row = shares[self.names.index(name)]
        least = _NO_SHARE * np.abs(row).max()
        return {
            other: self._points(other, position, share)
            for other, share in zip(self.names, row.tolist(), strict=True)
            if abs(share) > least
        }

    def _along_ground(self, position) -> np.ndarray:
        """Return all stresses on the ground by those across no level plane, (stress, stress)."""
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
