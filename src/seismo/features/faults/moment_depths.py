"""Weights along z of many moments: how the weights of a point source depend on its depth.

A moment acts on the points that read the strain at its place (`point_weights`). Along x and y they
are as in even media. Along z they differ near surfaces and contacts, where a component may act on
the stresses of several. In each half row between contacts the weights change smoothly with depth:
where many subfaults lie in it, weights are computed at `_NODES` depths, and interpolated by the
polynomial through them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from seismo.equations.framework.table import Field
from seismo.grid.grid import AXES
from seismo.grid.interpolation import RADIUS, WIDTH, axis_weights, even_weights
from seismo.solver.interpolation.point_weights import PointInterpolation

_NODES = 8  # depths of a half row, whose polynomial errs by 1e-7 of the weights
_NEAR = RADIUS + 1  # rows from a contact of fluid and solid that sees it
_SAME = 1e-6  # rows


@dataclass(frozen=True)
class _HalfRow:
    """Subfaults between two half rows.

    Attributes:
        first: number of the first of its depths.
        nodes: depths (node) in rows.
    """

    first: int
    nodes: np.ndarray


class MomentDepths:
    """The weights along z of moments at many places.

    Attributes:
        fields: that moments act on, by component.
        width: rows that a moment acts on.
    """

    def __init__(
        self, interpolation: PointInterpolation, positions: np.ndarray,
        strengths: Mapping[str, np.ndarray], breaks: np.ndarray,
    ) -> None:  # fmt: skip
        """Take places and moments.

        Args:
            interpolation: the grid and its medium.
            positions: x, y, z (moment, 3) m.
            strengths: components (moment) in N m.
            breaks: depths (n) in m where the medium of a layered earth ends suddenly.
        """
        self._interpolation = interpolation
        self._strengths = strengths
        drives = interpolation.physics.drives["moment_tensor"]
        # Components that any moment has.
        acting = [d for d in drives if np.any(strengths[d.component])]
        self.fields = {d.component: interpolation.physics.named(d.field) for d in acting}
        self._z_indices = np.asarray(interpolation.grid.index("z", positions[:, 2]), float)
        self._even = self._is_even()
        self._half_rows: list[_HalfRow] = []
        self._of = np.full(len(positions), -1)  # half row of each, -1 where the medium is even
        # Depths where weights change suddenly: contacts.
        ends = [c.z_index for c in interpolation.slips]
        ends += np.atleast_1d(interpolation.grid.index("z", breaks)).tolist()
        depths = self._sorted_out(np.sort(np.array(ends, float)))
        self._depth_weights = [self._weights_at(depth) for depth in depths]
        self._first = self._first_rows()
        self._profiles: dict[tuple[str, str, int], np.ndarray] = {}
        self.width = max([WIDTH, *(self._last_row(t) for t in self.targets)])

    @property
    def targets(self) -> list[Field]:
        """The fields that any moment acts on, in the order of the equation."""
        return [f for f in self._interpolation.physics.fields if f.name in self._names]

    @property
    def _names(self) -> set[str]:
        return {f.name for f in self.fields.values()} | {
            name
            for by_component in self._depth_weights
            for by_field in by_component.values()
            for name in by_field
        }

    def first(self, field: Field) -> np.ndarray:
        """Return the first row (moment) of a field that each acts on."""
        rows = np.floor(self._z_indices - 0.5 * ("z" in field.half)).astype(np.int64) - RADIUS + 1
        is_uneven = self._of >= 0
        # Elsewhere: the first row of the half row's own weights.
        rows[is_uneven] = self._first[field.name][self._of[is_uneven]]
        return rows

    def weights(self, field: Field, numbers: np.ndarray) -> np.ndarray:
        """Return the weights (n, width) of moments from their first rows, in N m."""
        totals = np.zeros((numbers.size, self.width))
        half_rows = self._of[numbers]
        for component, its in self.fields.items():
            if its.name == field.name:
                # Even medium: Kaiser sinc weights along z.
                even = numbers[half_rows < 0]
                _, even_sums = even_weights(self._z_indices[even], "z" in field.half)
                totals[half_rows < 0, :WIDTH] = self._strengths[component][even, None] * even_sums
        for which in np.unique(half_rows[half_rows >= 0]).tolist():
            rows = np.flatnonzero(half_rows == which)
            half_row = self._half_rows[which]
            # Uneven: interpolate the weights of the nodes in depth.
            shares = _shares(half_row.nodes, self._z_indices[numbers[rows]])
            for component in self.fields:
                profile = self._profile(field.name, component, which)
                if profile.any():
                    strength = self._strengths[component][numbers[rows], None]
                    for n, weights in enumerate(profile):
                        totals[rows] += strength * shares[:, n, None] * weights
        return totals

    def _is_even(self) -> np.ndarray:
        """Return (moment) whether no surface, contact or layer changes the weights."""
        interpolation = self._interpolation
        z_indices = self._z_indices
        even = np.ones(z_indices.size, bool)
        # Stencils that reach neither a surface, nor a contact, nor an uneven layer. Moments beside
        # sloping ground have no profile along z of their own: they act singly, as their first rows
        # lie outside the grid.
        if interpolation.by_depth and (interpolation.closure is not None or interpolation.imaged):
            even &= z_indices >= RADIUS - 0.5
        if interpolation.slope is not None and interpolation.slope.fitted is not None:
            even &= z_indices > interpolation.slope.fitted.deepest
        for contact in interpolation.slips:
            even &= np.abs(z_indices - contact.z_index) > _NEAR
        if interpolation.layers is not None:
            rows, row = np.unique(np.floor(z_indices), return_inverse=True)
            uneven = np.array([interpolation.layers.uneven(float(r) + 0.25) for r in rows], bool)
            even &= ~uneven[row]
        return even

    def _sorted_out(self, breaks: np.ndarray) -> list[float]:
        """Group uneven places between half rows; return the depths whose weights it takes."""
        depths: list[float] = []
        uneven = np.flatnonzero(~self._even)
        z_indices = self._z_indices[uneven]
        on = np.isclose(z_indices[:, None], breaks[None], 0.0, _SAME).any(axis=1)
        # By half row, by the layer between breaks, and on breaks or not.
        kinds = np.stack(
            [np.floor(2.0 * z_indices), np.searchsorted(breaks, z_indices), on], axis=1
        )
        which, kind = np.unique(kinds, axis=0, return_inverse=True)
        for n in range(len(which)):
            numbers = uneven[kind.ravel() == n]
            exact = np.unique(self._z_indices[numbers].round(9))
            if exact.size <= _NODES or which[n][2]:
                for z_index in exact.tolist():
                    same_depth = self._z_indices[numbers].round(9) == z_index
                    self._of[numbers[same_depth]] = len(self._half_rows)
                    self._half_rows.append(_HalfRow(len(depths), np.array([z_index])))
                    depths.append(z_index)
                continue
            # Chebyshev nodes across the depths of the half row.
            angle = np.pi * (np.arange(_NODES) + 0.5) / _NODES
            middle = 0.5 * (exact[0] + exact[-1])
            half = 0.5 * (exact[-1] - exact[0])
            nodes = middle + half * np.cos(angle)
            self._of[numbers] = len(self._half_rows)
            self._half_rows.append(_HalfRow(len(depths), nodes))
            depths += nodes.tolist()
        return depths

    def _weights_at(self, z_index: float) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]:
        """Return by component, and by the field that it acts on, rows and weights at a depth.

        They are computed for a source on a node in the middle of the grid, from its column alone.
        """
        grid = self._interpolation.grid
        middle = [n // 2 for n in grid.points]
        position = [float(grid.coordinate(a, middle[AXES.index(a)])) for a in "xy"]
        position.append(float(grid.coordinate("z", z_index)))
        by_component: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
        for component, field in self.fields.items():
            by_component[component] = {}
            for name, points in self._interpolation.spreading(field, tuple(position)).items():
                column = np.ones(points.z.size, bool)
                share = 1.0
                for axis, at in zip("xy", middle, strict=False):
                    if axis in grid.axes:
                        half = axis in self._interpolation.physics.named(name).half
                        rows, weights = axis_weights(float(at), half)
                        nearest = int(np.argmax(np.abs(weights)))
                        # One column of the separable weights, over its share along x and y.
                        column &= getattr(points, axis) == rows[nearest]
                        share *= float(weights[nearest])
                by_component[component][name] = points.z[column], points.weights[column] / share
        return by_component

    def _rows_of(self, name: str, which: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the weights of all components on a field, at all depths of a half row."""
        half_row = self._half_rows[which]
        at_depths = self._depth_weights[half_row.first : half_row.first + half_row.nodes.size]
        return [
            by_field[name]
            for by_component in at_depths
            for by_field in by_component.values()
            if name in by_field
        ]

    def _first_rows(self) -> dict[str, np.ndarray]:
        """Return by field the first row that each half row's moments act on."""
        return {
            field.name: np.array(
                [
                    min((rows.min() for rows, _ in self._rows_of(field.name, n)), default=0)
                    for n in range(len(self._half_rows))
                ],
                np.int64,
            )
            for field in self.targets
        }

    def _last_row(self, field: Field) -> int:
        """Return how many rows the moments of any half row act on."""
        row_counts = [
            rows.max() + 1 - self._first[field.name][n]
            for n in range(len(self._half_rows))
            for rows, _ in self._rows_of(field.name, n)
        ]
        return int(max(row_counts, default=0))

    def _profile(self, name: str, component: str, which: int) -> np.ndarray:
        """Return the weights (node, width) of a component on a field, in a half row."""
        key = name, component, which
        if key not in self._profiles:
            self._profiles[key] = self._made_profile(*key)
        return self._profiles[key]

    def _made_profile(self, name: str, component: str, which: int) -> np.ndarray:
        half_row = self._half_rows[which]
        first = self._first[name][which]
        profile = np.zeros((half_row.nodes.size, self.width))
        for n in range(half_row.nodes.size):
            rows, weights = self._depth_weights[half_row.first + n][component].get(
                name, (np.zeros(0, int), np.zeros(0))
            )
            np.add.at(profile[n], rows - first, weights)
        return profile


def _shares(nodes: np.ndarray, z_indices: np.ndarray) -> np.ndarray:
    """Return the Lagrange weights of nodes at places, (place, node)."""
    distinct = ~np.eye(nodes.size, dtype=bool)
    differences = np.where(distinct, nodes[:, None] - nodes, 1.0)
    off = np.where(distinct, z_indices[:, None, None] - nodes, 1.0)
    # prod over m of (x - x_m) / (x_n - x_m)
    return np.prod(off / differences, axis=2)
