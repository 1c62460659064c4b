"""Receivers of derivatives among the rows of a free surface, where differences are one-sided."""

from __future__ import annotations

from functools import partial

import numpy as np

from seismo.grid.interpolation import ON_GRID
from seismo.runs.prediction.checks.timing import WarningLines
from seismo.runs.prediction.contacts.near_contacts import DIFFERENTIATED
from seismo.solver.discretization import Discretization


def surface_strains(discretization: Discretization) -> WarningLines:
    """Name receivers of derivatives among the rows of a free surface, on which they are right.

    Measured at 7 and 10 points per shortest wavelength: rotation errs by up to 4.9 and 1.2 %,
    divergence by up to 2 and 1 % of the largest strain; on the surface both by 0.75 and 0.1 %. Rows
    of tilted rock have the plain closure: all within 0.5 and 0.2 %.
    """
    if discretization.slope is None:
        return
    rows = discretization.closed_rows
    for group in discretization.groups:
        count = group.count_where(partial(_among_rows, discretization))
        if count and any(quantity in DIFFERENTIATED for quantity in group.quantities):
            yield (
                f"receivers {group.name}: {count} record divergence, rotation or strain up to "
                f"{rows} points under the free surface, where they err by up to 5 % of the largest "
                "strain with 7 points per wavelength, and 1.5 % with 10: move them to the surface, "
                "or use a finer grid.spacing"
            )


def _among_rows(discretization: Discretization, positions: np.ndarray) -> np.ndarray:
    """Return which positions (n, 3) m lie under a free surface, among its rows."""
    row = discretization.grid.index("z", positions[:, 2])
    return (row > ON_GRID) & (row < discretization.closed_rows)
