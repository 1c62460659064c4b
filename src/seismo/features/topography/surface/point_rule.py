"""Interpolation on ground that slopes, and beside it.

Derivatives at constant z are sums of those along rows, which follow the ground, and across them::

    d_z = (1 / g) d_s,    d_x = d_x|s - (a / g) d_s

(`seismo.features.topography.rows`). The slopes of velocities, and the shear stresses across level
planes, are what the ground's traction prescribes (`seismo.features.topography.surface.slopes`,
`seismo.features.topography.surface.shear`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from seismo.equations.framework.table import Field, Term
from seismo.features.topography.rows import Topography
from seismo.features.topography.surface.shear import FITTED_ROWS, GroundTraction
from seismo.features.topography.surface.slopes import ground_slopes
from seismo.grid.interpolation import PointsByField, add_points, value_share
from seismo.solver.discretization import Discretization
from seismo.solver.interpolation.point_weights import PointInterpolation, PointRule
from seismo.solver.surface.surface_slope import MOST_ROWS

# Below the ground, that polynomials go through where contacts may cross them, and of fluids, whose
# rows next to it err more. Where the ground prescribes slopes few of them are read anyway.
_ROWS_ACROSS = 4


def point_rule(discretization: Discretization) -> GroundRule | None:
    """Return how fields are read on ground that slopes; None where it is flat."""
    topography = discretization.topography
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
