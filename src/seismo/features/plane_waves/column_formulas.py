"""The formulas of an equation on a column of the grid, as matrices.

In an earth that varies with depth only, a wave with horizontal slowness p depends on x and y as
exp(-s p . x). A staggered difference along them is then a number; along z it is a matrix, closed
rows of a free surface and rows that grow included. So a formula, run once on a `ColumnCell`, says
which matrices update its fields, whatever the formula is::

    f  <-  sum over g, a of  M[g, a] g,    a = "" on the spot, "x", "y" or "z" the derivative of g

with the numbers of the horizontal derivatives left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from seismo.equations.framework.table import Physics, Stage
from seismo.grid.coefficients import Stencil
from seismo.grid.surface_closure import SurfaceClosure

Key = tuple[str, str]  # a field, and along which axis it is differentiated


class RowSum:
    """A linear function of the fields of a column: a matrix (row, row) for each of them."""

    __array_ufunc__ = None  # arrays leave products with it to it

    def __init__(self, terms: Mapping[Key, sparse.csr_array]) -> None:
        self.terms = dict(terms)

    def __add__(self, other: Any) -> RowSum:
        """Return the sum; `sum` begins with 0."""
        if not isinstance(other, RowSum):
            return self
        # Matrices of the same field, differentiated alike, add up.
        terms = dict(self.terms)
        for key, matrix in other.terms.items():
            terms[key] = terms[key] + matrix if key in terms else matrix
        return RowSum(terms)

    __radd__ = __add__

    def __mul__(self, factor: Any) -> RowSum:
        """Return it times a number, or times numbers (row)."""
        # A factor of each row is a diagonal matrix to the left; rows times 0 are left out.
        rows = next(iter(self.terms.values())).shape[0]
        diagonal = sparse.diags_array(np.broadcast_to(np.asarray(factor, float), rows)).tocsr()
        diagonal.eliminate_zeros()
        return RowSum({key: (diagonal @ matrix).tocsr() for key, matrix in self.terms.items()})

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> RowSum:
        """Return it over a number, or over numbers (row)."""
        return self * (1.0 / np.asarray(divisor, float))

    def __neg__(self) -> RowSum:
        """Return its negative."""
        return self * -1.0

    def __sub__(self, other: RowSum) -> RowSum:
        """Return the difference."""
        return self + -other


class ColumnCell:
    """What a formula sees of the rows of a column (`seismo.backends.operators.cell`).

    Attributes:
        axes: of the grid.
        numbers: names of the scalars of the run.
        written: the fields that the formula has changed.
    """

    def __init__(self, physics: Physics, differences: ColumnDifferences, model: Mapping[str, Any]):
        self.axes = physics.axes
        self.numbers = tuple(physics.numbers)
        self.written: dict[str, RowSum] = {}
        self._physics = physics
        self._differences = differences
        self._model = model

    def __getitem__(self, name: str) -> Any:
        """Return a field on the spot, as it has been changed, or a coefficient (row)."""
        if name in self._model:
            return self._model[name]
        return self.written.get(name) or RowSum({(name, ""): self._differences.identity})

    def put(self, name: str, value: RowSum) -> None:
        """Change a field."""
        self.written[name] = value

    def d(self, axis: str, name: str) -> RowSum:
        """Return the derivative of a field, half a cell up or down the axis."""
        # Across x and y a factor, which is left out; along z up from nodes, down from between.
        if axis != "z":
            return RowSum({(name, axis): self._differences.identity})
        up = "z" not in self._physics.named(name).half
        return RowSum({(name, "z"): self._differences.up if up else self._differences.down})

    def total(self, *pairs: tuple[str, str]) -> RowSum:
        """Return the sum of derivatives along axes, of fields."""
        return self.sum(self.d(axis, name) for axis, name in pairs)

    def next(self, name: str, axes: str) -> np.ndarray:
        """Return a coefficient at the next node: only along z does it differ."""
        rows = self._model[name]
        return np.append(rows[1:], rows[-1:]) if "z" in axes else rows

    def number(self, name: str) -> float:
        """Return a scalar of the run."""
        return self._physics.numbers[name]

    def sum(self, terms: Iterable[Any]) -> Any:
        """Add up."""
        return sum(terms)

    def rounded(self, value: Any) -> Any:
        """Return a value as it is."""
        return value


@dataclass(frozen=True)
class ColumnDifferences:
    """Staggered differences along z in 1/m as matrices, between nodes n and half points n + 1/2.

    Attributes:
        up: (row, row) of values on nodes, at half points.
        down: (row, row) of values at half points, on nodes.
    """

    up: sparse.csr_array
    down: sparse.csr_array

    @property
    def identity(self) -> sparse.csr_array:
        """The matrix that changes nothing."""
        return sparse.eye_array(self.up.shape[0], format="csr")


def differences(
    stencil: Stencil, closure: SurfaceClosure | None, spacing: float, heights: np.ndarray
) -> ColumnDifferences:
    """Return the differences of a column.

    Args:
        stencil: coefficients.
        closure: of its first rows under a free surface, or None.
        spacing: m along z at the top.
        heights: (2, row) of cells, over that at the top, at nodes and at half points.
    """
    count = heights.shape[1]
    first = stencil.first
    matrices = []
    # d f / dz at n + 1/2 and at n: sum_m c_m (f[start + m - 1] - f[start - m]).
    for start, at, block in ((1, heights[1], "up"), (0, heights[0], "down")):
        offsets = [start + m for m in range(len(first))]
        offsets += [start - 1 - m for m in range(len(first))]
        weights = [*first, *-first]
        band = sparse.diags_array(
            [np.full(count - abs(o), w) for o, w in zip(offsets, weights, strict=True)],
            offsets=offsets,
            shape=(count, count),
        ).tolil()
        # One-sided rows under a free surface, in place of the first ones.
        if closure is not None:
            rows = getattr(closure, block)
            band[: len(rows)] = 0.0
            band[: len(rows), : rows.shape[1]] = rows
        # (1 / J) d/dzeta where rows grow.
        matrices.append((sparse.diags_array(1.0 / (at * spacing)) @ band).tocsr())
    return ColumnDifferences(*matrices)


def stage_updates(
    physics: Physics,
    stage: Stage,
    matrices: ColumnDifferences,
    model: Mapping[str, np.ndarray],
    even: np.ndarray | None,
) -> dict[str, RowSum]:
    """Return a stage's new values of each field that it changes.

    Args:
        physics: the wave equation.
        stage: of the equation.
        matrices: the differences along z.
        model: coefficients (row).
        even: (row) whether the formula of isotropic planes is that of a row; None if of none.
    """
    # Once for each kind of plane: the general formula, and that of a single rock.
    updates = []
    for update in (stage.update, stage.even.update if stage.even else None):
        if update is None:
            continue
        cell = ColumnCell(physics, matrices, model)
        # Rows of a single rock may lack divisors of the general formula, and do not use it.
        with np.errstate(divide="ignore", invalid="ignore"):
            update(cell)
        updates.append(cell.written)
    changed = dict(updates[0])
    if stage.where == "surface":
        # The row of the free surface alone.
        kept = np.arange(matrices.up.shape[0]) > 0
        plain = ColumnCell(physics, matrices, model)
        return {f: value * ~kept + plain[f] * kept for f, value in changed.items()}
    if len(updates) == 2 and even is not None:
        # Every row has the formula that the run takes there.
        return {f: changed[f] * ~even + updates[1][f] * even for f in changed}
    return changed
