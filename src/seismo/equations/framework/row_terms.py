"""What a stage adds to whole rows of a field: rows of another, or their derivative."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Matrix = dict[tuple[int, int], float]
# Strain "zz", "xz" or "yz" -> field -> function(row) -> what a strain rate adds to it per second
# (`seismo.equations.framework.table.Physics.strain_responses`).
Responses = Mapping[str, Mapping[str, Callable[[int], float]]]


@dataclass(frozen=True)
class RowSums:
    """Rows of one field to add to rows of another.

    Attributes:
        target: field that changes.
        source: field that is added.
        weights: (target row, source row) -> weight, rows as in the grid.
    """

    target: str
    source: str
    weights: Matrix

    @property
    def fields(self) -> set[str]:
        """Fields that change."""
        return {self.target}


@dataclass(frozen=True)
class RowSlope:
    """The derivative along a horizontal axis of a sum of rows, to add to rows of other fields.

    Attributes:
        targets: (field, row) -> factor.
        source: field that is differentiated.
        weights: row -> weight in the sum.
        axis: "x" or "y".
        up: whether from nodes to half points.
    """

    targets: dict[tuple[str, int], float]
    source: str
    weights: dict[int, float]
    axis: str
    up: bool

    @property
    def fields(self) -> set[str]:
        """Fields that change."""
        return {name for name, _ in self.targets}
