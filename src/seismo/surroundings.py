"""What reading a field at any position depends on: the grid, its surface, where the field stands.

Receivers read with these weights, sources spread with them; both therefore agree on what happens
beside a free surface, and reciprocity holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seismo.errors import ScenarioError
from seismo.grid import AXES, Grid
from seismo.interpolation import Surface, point_weights
from seismo.physics.table import Field, Physics
from seismo.stencils import SurfaceClosure


@dataclass(frozen=True)
class Surroundings:
    """What the weights of sources and receivers depend on beside the position.

    Attributes:
        grid: the grid.
        physics: the wave equation.
        closure: closed operators under an elastic free surface, or None.
        imaged: whether a free surface is made by images.
        halo: points beyond each face of the grid that a field has.
    """

    grid: Grid
    physics: Physics
    closure: SurfaceClosure | None
    imaged: bool
    halo: int

    def surface(self, field: Field) -> Surface | None:
        """Tell how a field continues above the free surface, if there is one."""
        half = "z" in field.half
        if self.closure is not None:
            return Surface(0, vanishes=half and field.name.startswith("s"))
        if self.imaged:
            return Surface(1 if half else -1, vanishes=not half)
        return None

    def weights(self, field: Field, position):
        """Give grid indices x, y, z and weights that read a field at a position in m."""
        index = [
            float(self.grid.index(a, p)) if a in self.grid.axes else 0.0
            for a, p in zip(AXES, position, strict=True)
        ]
        found = point_weights(index, field.half, 0, self.surface(field))
        self.refuse_outside(found, position, "interpolate", ", or onto a grid point")
        return found

    def refuse_outside(self, points, position, what: str, instead: str = "") -> None:
        """Refuse a position in m whose points (x, y, z, ...) reach beyond those that fields have.

        Raises:
            ScenarioError: it lies too near a face to do `what`; what to do `instead` is told.
        """
        for a, axis in enumerate(AXES):
            over = max(-points[a].min(), points[a].max() - self.grid.points[a] + 1) - self.halo
            if axis in self.grid.axes and over > 0:
                raise ScenarioError(
                    f"{axis} = {position[a]:.6g} m lies too near a face of the grid to {what}: "
                    f"move it inwards by {over * self.grid.spacing[a]:g} m{instead}"
                )

    def norm(self, field: Field, z: np.ndarray) -> np.ndarray:
        """Give the share of a cell that points in row z stand for."""
        share = np.ones(len(z))
        if self.closure is not None:
            half = "z" in field.half
            norm = self.closure.half_norm if half else self.closure.node_norm
            near = z < len(norm)
            share[near] = norm[z[near]]
        return share
