"""Weights of the rows that follow the ground: derivatives along z, and what slopes add to others.

With a = f_x B (`seismo.features.topography.rows`), G and D the differences of nodes and of half
points along z, P and P' the interpolations between them (each other's adjoint in the norms of the
closure), and Px, Px' those along x, derivatives at constant z are::

    d_x v = dx v - (1 / g) Px' Z [f_x v],        Z = P' B G of nodes, P B D of half points,
    d_x s = (1 / g) (dx (g s) - f_x Z' [Px s]),  Z' = D B P of nodes, G B P' of half points.

The first is the form of a gradient, the second that of a divergence: Z' is -Z^T in the norms, so
that forces are the negative adjoint of strain rates and no energy is made, whatever the ground is.
B varies with the row alone: Z and Z' are weights of rows, in a table. A point in such rows costs
more than one in flat rows (`curved_cost`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seismo.features.topography.rows import Topography
from seismo.grid.coefficients import Stencil, cross_reach, midpoint_pairs
from seismo.grid.surface_closure import RowWeights, SurfaceClosure, closed_operators
from seismo.grid.surface_interpolation import midpoint_matrices
from seismo.solver.discretization import Discretization

# Cost of a point over that in flat rows, by dimensions: at no order, and for each order more.
CURVED_COST = {
    "cpu": {2: (2.8, 0.0), 3: (2.3, 0.375)},
    "gpu": {2: (2.3, 0.03), 3: (1.0, 0.25)},
}
_SAME = 1e-12  # weights of a row that differ from those far below by less belong to the interior


class _Operators:
    """Matrices of the rows of a grid from the surface down: (half points, nodes) or transposed."""

    def __init__(self, stencil: Stencil, closure: SurfaceClosure, size: int) -> None:
        self.up, self.down = closed_operators(stencil.first, size, size, closure)
        weights = midpoint_pairs(stencil.order)
        self.to_half, self.to_node = midpoint_matrices(closure, weights, size)

    def crossed(self, nodes: np.ndarray, halves: np.ndarray) -> dict[str, np.ndarray]:
        """Return Z and Z' of half rows and of node rows, for B at both."""
        return {
            # Gradients: Z = P' B G of nodes and P B D of half points; divergences: Z' = -Z^T.
            "half_gradient": self.to_half * nodes @ self.down,
            "half_divergence": self.up * nodes @ self.to_node,
            "node_gradient": self.to_node * halves @ self.up,
            "node_divergence": self.down * halves @ self.to_half,
        }


def weights_of(discretization: Discretization) -> RowWeights | None:
    """Return the weights of the curved rows of a run; None where the ground is flat."""
    topography = discretization.fact(Topography)
    if topography is None or discretization.closure is None:
        return None
    return row_weights(topography, discretization.stencil, discretization.closure)


def halo(order: int, curved: bool, is_finer: bool) -> int:
    """Return the points beside a part that rows which follow the ground read."""
    return cross_reach(order) if curved else 0


def row_weights(topography: Topography, stencil: Stencil, closure: SurfaceClosure) -> RowWeights:
    """Return the weights of the curved rows of a run."""
    layout = _layout(stencil, closure)
    count = topography.rows + layout.reach
    # Further rows, so that weights of curved ones do not see the end of the matrices.
    size = count + 3 * layout.reach + layout.closed
    operators = _Operators(stencil, closure, size)
    grid = topography.grid
    rows = np.arange(size)
    s_nodes, s_halves = (grid.coordinate("z", rows + shift) for shift in (0.0, 0.5))
    # B at nodes and half points between its factors.
    crossed = operators.crossed(topography.share(s_nodes), topography.share(s_halves))
    tables = {}
    for name, plain, at, shift in (
        ("half", operators.up, s_halves, 0.5), ("node", operators.down, s_nodes, 0.0)
    ):  # fmt: skip
        # Over the height of the row's cells, where rows grow with depth.
        scale = 1.0 / (grid.spacing[2] * grid.heights(rows[:count] + shift))[:, None]
        # Columns: G or D, Z, Z', B', and P of the surface's row (half rows alone).
        blocks = [
            plain[:count, : layout.plain] * scale,
            *(layout.cut(crossed[f"{name}_{form}"], count) * scale
              for form in ("gradient", "divergence")),
            topography.slope_of_share(at[:count])[:, None],
            (operators.to_half if shift else 0.0 * operators.to_half)[:count, :1],
        ]  # fmt: skip
        tables[name] = np.hstack(blocks)
    return RowWeights(
        layout.closed, count, layout.plain, layout.cross, 2 * layout.reach + 1,
        tables["half"], tables["node"], operators.to_node[0, : layout.closed],
    )  # fmt: skip


@dataclass(frozen=True)
class _Layout:
    """Which rows are closed, and how far weights reach.

    Attributes:
        closed: rows with one-sided weights.
        reach: rows on either side of an inner row that Z and Z' read.
        plain: width of the derivatives of closed rows.
        cross: width of Z and Z' there.
    """

    closed: int
    reach: int
    plain: int
    cross: int

    def cut(self, matrix: np.ndarray, count: int) -> np.ndarray:
        """Return Z or Z' of rows: from the surface on of closed ones, about itself of others."""
        table = np.zeros((count, self.cross))
        table[: self.closed] = matrix[: self.closed, : self.cross]
        for row in range(self.closed, count):
            table[row, : 2 * self.reach + 1] = matrix[row, row - self.reach : row + self.reach + 1]
        return table


def _layout(stencil: Stencil, closure: SurfaceClosure) -> _Layout:
    """Find the rows that the closure and its interpolations change."""
    reach = cross_reach(stencil.order)
    size = closure.rows + 8 * reach
    operators = _Operators(stencil, closure, size)
    ones = np.ones(size)
    crossed = list(operators.crossed(ones, ones).values())
    closed = 0
    deep = size // 2
    # A row is closed where its weights are not those of the interior, moved along.
    for matrix in (operators.up, operators.down, *crossed):
        inner = matrix[deep, deep - reach : deep + reach + 1]
        for row in range(deep):
            expected = np.zeros(size)
            first = row - reach
            expected[max(0, first) : first + inner.size] = inner[max(0, -first) :]
            if first < 0 or np.abs(matrix[row] - expected).max() > _SAME:
                closed = max(closed, row + 1)
    widths = [
        max(int(np.abs(m[:closed]).max(axis=0).nonzero()[0][-1]) + 1 for m in some)
        for some in ((operators.up, operators.down), crossed)
    ]
    return _Layout(closed, reach, widths[0], max(widths[1], 2 * reach + 1))


def row_costs(discretization: Discretization, backend: str) -> tuple[float, int]:
    """Return the cost of a point in rows that follow the ground, and the number of these."""
    rows = discretization.curved_rows.count if discretization.curved_rows else 0
    grid = discretization.grid
    return curved_cost(backend, grid.dimensions, discretization.stencil.order), rows


def uncut_rows(discretization: Discretization) -> range:
    """Return the rows before which a grid cannot be cut."""
    curved = discretization.curved_rows
    return range(curved.count + discretization.halo) if curved else range(0)


def curved_cost(backend: str, dimensions: int, order: int) -> float:
    """Return the cost of a point for a backend by name, 1 for one that nobody has measured."""
    least, each = CURVED_COST.get(backend, {}).get(dimensions, (1.0, 0.0))
    return least + each * order
