"""The ground about the faces of a box, which is level there, and the depths of rows that follow it.

Rows of a grid under topography stand at z = s + f B(s), f being the depth of the ground below the
level on which the first row lies (`seismo.grid.coordinates`). About a side face f has one value, so
that rows there are level, and no field has slopes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from seismo.features.wavefield_boxes.shell import GridBox
from seismo.grid.coordinates import share
from seismo.solver.discretization import Discretization

LEVEL = 1e-3  # of a cell, by which level ground may differ


@dataclass(frozen=True)
class FaceGround:
    """Level ground about the faces of a box.

    Attributes:
        level: z in m of the first row where the ground is not displaced.
        depth: below the level in m from which on rows are flat.
        displacement: f in m about each side face; none where the ground is flat.
    """

    level: float = 0.0
    depth: float = 1.0
    displacement: Mapping[str, float] = field(default_factory=dict)

    def depths(self, face: str, s: np.ndarray) -> np.ndarray:
        """Return z (n) in m of rows at s (n) in m, about a face."""
        return s + self.displacement.get(face, 0.0) * share(s, self.level, self.depth)

    def surface(self, face: str, top: float) -> float:
        """Return z in m of the ground about a face, whose first row is at s = `top` in m."""
        return float(self.depths(face, np.array([top]))[0])


def lowest_ground(discretization: Discretization) -> float:
    """Return z in m of the lowest ground, of the top of the grid where it is flat."""
    grid = discretization.grid
    vertical = discretization.vertical
    if vertical is None:
        return float(grid.coordinate("z", grid.extent.lo[2]))
    x, y = (grid.coordinate(axis, np.arange(grid.points[a])) for a, axis in enumerate("xy"))
    return float(vertical.ground(None if grid.dimensions == 2 else y[:, None], x).max())


def face_ground(discretization: Discretization, box: GridBox, width: int) -> FaceGround:
    """Return the ground about the faces of a box, within so many points of them.

    Raises:
        ValueError: it is not level about a face, or its bottom lies among rows that follow it.
    """
    grid = discretization.grid
    vertical = discretization.vertical
    if vertical is None:
        return FaceGround()
    # f at the columns of each slab.
    displacement = {}
    for face, slab in box.slabs(width).items():
        x, y = (
            grid.coordinate(axis, np.arange(slab.lo[a], slab.hi[a])) for a, axis in enumerate("xy")
        )
        rows = None if grid.dimensions == 2 else y[:, None]
        f = vertical.ground(rows, x) - vertical.level
        # Side faces cross rows that follow the ground; the bottom lies below them.
        if face[0] != "z":
            if np.ptp(f) > LEVEL * grid.spacing[2]:
                raise ValueError(f"the ground is not level about {face}: make the box larger")
            displacement[face] = float(f.flat[0])
        elif float(grid.coordinate("z", slab.lo[2])) < vertical.flat_from:
            lowest = vertical.flat_from + width * grid.spacing[2]
            problem = f"{face} lies among rows that follow the ground"
            raise ValueError(f"{problem}: move it below z = {lowest:.6g} m")
    return FaceGround(vertical.level, vertical.flat_from - vertical.level, displacement)
