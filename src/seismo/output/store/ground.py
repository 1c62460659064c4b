"""The ground of a run in its results, and z of the points of its grid.

The vertical axis of arrays is s, which is z where rows are flat; points stand at

    z = s + f B(s),    B = (1 - (s - level) / depth)^3,   0 below level + depth,

f the depth of the ground below the level (`seismo.grid.coordinates`).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

import h5py
import numpy as np

from seismo.grid.coordinates import share
from seismo.output.store.arrays import (
    children,
    read,
    reading,
)

Z_TRUE = "z_true"  # coordinate with z of points, where the axis z is s
_NEAR = 1e-6  # of the spacing: coordinates at one point


class GroundRecord:
    """The ground under a run.

    Attributes:
        x: coordinates (n) in m of its columns.
        spacing: of the first two of them in m.
        y: coordinates (m) in m; 0 of a 2-D run.
        z: of the ground (m, n) in m.
        level: z in m of flat ground, on which the first row lies.
        depth: below the level in m from which on rows are flat.
        datum: z in m of height 0.
    """

    def __init__(self, group: h5py.Group) -> None:
        """Read it."""
        arrays = dict(children(group, h5py.Dataset))
        with reading(group):
            self.x = read(arrays["x"])
            self.spacing = float(self.x[1] - self.x[0])
            self.y = read(arrays["y"]) if "y" in arrays else np.zeros(1)
            self.z = np.atleast_2d(read(arrays["ground"]))
            numbers = [float(group.attrs[name]) for name in ("level", "depth", "datum")]
        (self.level, self.depth, self.datum) = numbers

    @property
    def flat_from(self) -> float:
        """S in m from which on rows are flat."""
        return self.level + self.depth

    def is_on(self, plane: Mapping[str, float]) -> bool:
        """Whether a plane of the results is the ground."""
        return "z" in plane and abs(plane["z"] - self.level) < _NEAR * self.spacing

    def cut(self, plane: Mapping[str, float]) -> GroundRecord:
        """Return the ground of a plane across x or y alone; itself on others."""
        rows = [_nearest(self.y, plane["y"])] if "y" in plane else slice(None)
        columns = [_nearest(self.x, plane["x"])] if "x" in plane else slice(None)
        result = copy(self)
        result.y = self.y[rows]
        result.x = self.x[columns]
        result.z = self.z[rows][:, columns]
        return result

    def at(self, y: np.ndarray | float, x: np.ndarray | float) -> np.ndarray:
        """Return z in m of the ground at the nodes next to coordinates (broadcast shape) in m."""
        return self.z[_nearest(self.y, y), _nearest(self.x, x)]

    def points(self, axes: Mapping[str, np.ndarray], plane: Mapping[str, float]) -> np.ndarray:
        """Return z in m of the points of arrays over axes (in their order), on a plane across."""
        names = list(axes)
        shaped = {
            name: np.reshape(ticks, [-1 if n == k else 1 for k in range(len(names))])
            for n, (name, ticks) in enumerate(axes.items())
        }
        y, x, s = (
            shaped.get(axis, plane.get(axis, default))
            for axis, default in (("y", 0.0), ("x", 0.0), ("z", self.level))
        )
        z = s + (self.at(y, x) - self.level) * share(s, self.level, self.depth)
        return np.broadcast_to(z, [len(ticks) for ticks in axes.values()])

    def nearest_rows(self, axes: Mapping[str, np.ndarray], z: float) -> np.ndarray:
        """Return the numbers (y, x) of the rows of a volume whose points are nearest to z in m."""
        across = {name: axes[name] for name in ("y", "x")}
        rows = np.zeros([ticks.size for ticks in across.values()], int)
        nearest = np.full(rows.shape, np.inf)
        # Row by row: points of a volume at once may be many.
        for row, s in enumerate(axes["z"]):
            distance = np.abs(self.points(across, {"z": float(s)}) - z)
            rows[distance < nearest] = row
            nearest = np.minimum(nearest, distance)
        return rows


def _nearest(nodes: np.ndarray, coordinates: np.ndarray | float) -> np.ndarray:
    """Return the numbers of the nodes next to coordinates."""
    if nodes.size == 1:
        return np.zeros(np.shape(coordinates), int)
    step = (nodes[-1] - nodes[0]) / (nodes.size - 1)
    return np.clip(np.rint((coordinates - nodes[0]) / step), 0, nodes.size - 1).astype(int)
