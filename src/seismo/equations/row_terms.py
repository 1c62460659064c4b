"""What a stage adds to whole rows of a field: rows of another, or their derivative."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

Matrix = dict[tuple[int, int], float]


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

    def into(self, others: Mapping[str, str]) -> RowSums:
        """Return the same for other fields, by the name of those here."""
        return replace(self, target=others.get(self.target, self.target))


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

    def into(self, others: Mapping[str, str]) -> RowSlope:
        """Return the same for other fields, by the name of those here."""
        targets = {(others.get(n, n), row): gain for (n, row), gain in self.targets.items()}
        return replace(self, targets=targets)
