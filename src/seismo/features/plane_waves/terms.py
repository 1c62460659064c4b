"""What plane waves add to the fields of a run; what finds it needs scipy, and is imported then."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from seismo.features.plane_waves.background import plane_waves
from seismo.features.plane_waves.filters import IncidentTerm
from seismo.solver.discretization import derived_once

if TYPE_CHECKING:
    from seismo.features.plane_waves.wave import IncidentWave
    from seismo.solver.discretization import Discretization

_POINT_BYTES = 12  # its index, and that of its signal; its scale is a number
_FILTER_LENGTH = 20  # samples, about


@derived_once
def incident_waves(discretization: Discretization) -> list[IncidentWave]:
    """Return the plane waves on the grid of a run."""
    waves = plane_waves(discretization)
    if not waves:
        return []
    kind = import_module("seismo.features.plane_waves.wave").IncidentWave
    return [kind(discretization, wave) for wave in waves]


@derived_once
def incident_terms(discretization: Discretization) -> list[IncidentTerm]:
    """Return all that the plane waves of a run add to its fields."""
    return [term for wave in incident_waves(discretization) for term in wave.terms()]


class IncidentSize(NamedTuple):
    """How much the plane waves of a run add to, in a step and in memory.

    Attributes:
        points: that are added to.
        signals: that are filtered for them: rows of the delays that differ.
        samples: of signals and filters.
    """

    points: int = 0
    signals: int = 0
    samples: int = 0

    def nbytes(self, item: int) -> int:
        """Return the bytes of all of it, with numbers of `item` bytes."""
        return self.points * (_POINT_BYTES + item) + (self.signals + self.samples) * item


def incident_size(discretization: Discretization) -> IncidentSize:
    """Return the size of a run's plane waves, without finding them."""
    total = IncidentSize()
    for wave in incident_waves(discretization):
        # Each face of the box: columns times rows of points, each column with its delay.
        band = wave.band(wave.spectrum())
        for one in wave.injected:
            rows, _ = wave.shares(one)
            columns = wave.columns(one) if rows.size else None
            if columns is None:
                continue
            # Points are all columns and rows; signals those of delays, by their segments.
            segments, references = wave.segments(columns, band)
            sizes = IncidentSize(
                rows.size * columns.numbers.size,
                rows.size * segments.size,
                _FILTER_LENGTH * segments.size + references.size * rows.size * wave.samples,
            )
            total = IncidentSize(*(a + b for a, b in zip(total, sizes, strict=True)))
    return total
