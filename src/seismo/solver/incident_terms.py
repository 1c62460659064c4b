"""What plane waves add to the fields of a run; what finds it needs scipy, and is imported then."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seismo.scenario.optional_package import optional_package
from seismo.solver.incident_background import plane_waves
from seismo.solver.retarded_filter import RetardedFilters

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization
    from seismo.solver.incident_wave import IncidentWave

_POINT_BYTES = 16  # its index, and the numbers of its signal and filter
_FILTER_LENGTH = 20  # samples, about


class IncidentTerm(NamedTuple):
    """What a stage's differences along an axis lack of a field.

    Attributes:
        stage: after which it is added.
        field: name.
        points: along x, y, z, indices of the points that it is added to: all of their product.
        signals: (segment, z, step) of each row, for columns of similar delay.
        segments: (column) which of them.
        filters: of the columns (y, x), one behind the other.
    """

    stage: str
    field: str
    points: tuple[np.ndarray, np.ndarray, np.ndarray]
    signals: np.ndarray
    segments: np.ndarray
    filters: RetardedFilters


def incident_waves(setup: Discretization) -> list[IncidentWave]:
    """Return the plane waves on the grid of a run.

    Raises:
        ScenarioError: scipy is not installed.
    """
    waves = plane_waves(setup)
    if not waves:
        return []
    optional_package("scipy.sparse", "plane_waves", "a source of type plane_wave")
    kind = import_module("seismo.solver.incident_wave").IncidentWave
    return [kind(setup, wave) for wave in waves]


def incident_terms(setup: Discretization) -> list[IncidentTerm]:
    """Return all that the plane waves of a run add to its fields."""
    return [term for wave in setup.incident_waves for term in wave.terms()]


def incident_bytes(setup: Discretization, item: int) -> int:
    """Return the bytes of the points, signals and filters of a run's plane waves.

    Args:
        setup: the run.
        item: bytes of its numbers.
    """
    total = 0
    for wave in setup.incident_waves:
        band = wave.band(wave.spectrum())
        for one in wave.injected:
            rows, _ = wave.shares(one)
            columns = wave.columns(one) if rows.size else None
            if columns is None:
                continue
            _, _, offsets, weights = columns
            segments, references = wave.segments(offsets, weights, band)
            total += rows.size * segments.size * _POINT_BYTES
            total += _FILTER_LENGTH * segments.size * item
            total += references.size * rows.size * wave.samples * item
    return total
