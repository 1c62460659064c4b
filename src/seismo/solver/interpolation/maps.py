"""How maps of largest values read velocities at the nodes, of half points beside them.

In an even medium that is the polynomial through as many half points as the differences have (8 at
most). Beside contacts of layers, and on a thin soft layer under a free surface, it is the weights
that receivers have along z (`seismo.solver.interpolation.point_weights`): of the rows of a node's
own side, and as fields bend there. A field that is staggered along x or y is then a sum of rows,
each of them interpolated along x or y.

Rows that lie beyond those that a part of the grid holds of its neighbours are not read, so that a
map is the same however the grid is cut: `MapReading.unlike` names the nodes that are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from seismo.backends.kernels.slices import POINTS
from seismo.equations.framework.table import Field
from seismo.grid.interpolation import Along, axis_weights, midpoint_weights, slope_share
from seismo.solver.interpolation.point_weights import PointInterpolation
from seismo.solver.sampling.field_sampling import StencilOffsets

MOST_REACH = POINTS // 2  # half points on either side of a node

Sums = list[tuple[str, StencilOffsets | None]]


@dataclass(frozen=True)
class MapReading:
    """What reads fields at the nodes of a map.

    Attributes:
        interpolation: what weights depend on.
        uncut: rows before which the grid is never cut.
        rows: grid indices of the map along z.
    """

    interpolation: PointInterpolation
    uncut: frozenset[int] = frozenset()
    rows: Iterable[int] = ()

    def at(self, rows: Iterable[int]) -> MapReading:
        """Return that of a map with such rows."""
        return MapReading(self.interpolation, self.uncut, rows)

    def sums(self, name: str) -> Sums:
        """Return, with their fields, the points whose sum is a field at the nodes.

        None stands for the points themselves, where the field stands on the nodes.
        """
        field = self.interpolation.physics.named(name)
        if not field.half:
            return [(name, None)]
        rows_beside = {z: some for z, some in self._beside(field) if self._within_halo(z, some[0])}
        # Mean of half points on both sides of the node.
        steps, some = midpoint_weights(min(MOST_REACH, self.interpolation.halo))
        if field.half == "z":
            return list(self._across(field, self._tables(steps, some), rows_beside))
        return [(name, one) for one in self._along(field.half, steps, some, rows_beside)]

    def unlike(self, name: str) -> list[int]:
        """Return the rows of nodes beside contacts that a field is read at as in an even medium."""
        field = self.interpolation.physics.named(name)
        if not field.half:
            return []
        return [z for z, some in self._beside(field) if not self._within_halo(z, some[0])]

    def _beside(self, field: Field) -> Iterator[tuple[int, Along]]:
        """Yield the rows of nodes that contacts change weights of, and these along z."""
        interpolation = self.interpolation
        for z in self.rows:
            side = interpolation.side(field, float(z))
            rows, weights = side or (np.array([z]), np.ones(1))
            depth = float(interpolation.grid.coordinate("z", z))
            ratios = interpolation.density_ratios(field, rows, depth)
            if ratios is not None:
                side = (rows, weights * ratios) if side or ratios[0] != 1.0 else None
            if side is not None:
                yield z, side

    def _within_halo(self, z: int, rows: np.ndarray) -> bool:
        """Whether whatever part of the grid has a node has such rows, too."""
        halo = self.interpolation.halo
        beyond = {
            cut
            for row in rows.tolist()
            for cut in (*range(z + 1, row - halo + 1), *range(row + halo + 1, z + 1))
        }
        return beyond <= self.uncut

    def _across(
        self, field: Field, tables: tuple[np.ndarray, np.ndarray], rows_beside: dict[int, Along]
    ) -> Iterator[tuple[str, StencilOffsets]]:
        """Yield the sums of a field that is staggered along z.

        Under a closed free surface there are no half points above; the polynomial through those
        below is used, with the slope that the surface prescribes, which other fields tell.
        """
        steps, weights = tables
        interpolation = self.interpolation
        # Maps read the same of all columns: not what ground that slopes prescribes.
        level = interpolation.level
        surface = interpolation.surface(field, sloped=level)
        closed = surface is not None and not surface.sign
        under = {float(z): axis_weights(float(z), True, 0, surface)
                 for z in range(MOST_REACH if closed else 0)}  # fmt: skip
        for z, (rows, some) in (under | rows_beside).items():
            steps[int(z)] = 0
            weights[int(z)] = 0.0
            steps[int(z), : rows.size] = rows - int(z)
            weights[int(z), : rows.size] = some
        yield field.name, StencilOffsets("z", steps, weights)
        slope = interpolation.slope if level else None
        if slope is None or not closed:
            return
        # d_z vz = -r (d_x vx + d_y vy), as reads of vx and vy.
        shares = np.array([slope_share(float(z), True, surface) for z in range(MOST_REACH)])
        for axis in slope.across:
            steps, weights = self._tables(*slope.derivative(axis))
            weights[MOST_REACH:] = 0.0
            weights[:MOST_REACH] *= -interpolation.grid.spacing[2] * shares[:, None]
            yield f"v{axis}", StencilOffsets(axis, steps, weights, slope.ratio)

    def _along(
        self, axis: str, steps: np.ndarray, some: np.ndarray, rows_beside: dict[int, Along]
    ) -> Iterator[StencilOffsets]:
        """Yield the sums of a field that is staggered along x or y, one for each row read."""
        most = max((rows.size for rows, _ in rows_beside.values()), default=1)
        for number in range(most):
            moved, weights = self._tables(steps, some)
            down = np.zeros(len(moved), np.int64)
            # Away from contacts: the row of the node alone.
            weights *= number == 0
            for z, (rows, shares) in rows_beside.items():
                is_read = number < rows.size
                down[z] = rows[number] - z if is_read else 0
                weights[z, : some.size] = some * (shares[number] if is_read else 0.0)
            yield StencilOffsets(axis, moved, weights, down=down)

    def _tables(self, rows: np.ndarray, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return steps and weights (points along z, POINTS) that are the same for every z."""
        size = (self.interpolation.grid.points[2], POINTS)
        steps = np.zeros(size, np.int64)
        weights = np.zeros(size)
        # The same stencil in every row.
        steps[:, : rows.size] = rows
        weights[:, : rows.size] = some
        return steps, weights
