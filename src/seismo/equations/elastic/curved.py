"""Terms of these equations on ground that slopes (`features.topography.surface`)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from seismo.equations.elastic.formulas import four_nodes
from seismo.equations.framework.sloping_ground import shear_rate
from seismo.equations.framework.table import CurvedSurface


def between_nodes(array: np.ndarray, axis: str) -> np.ndarray:
    """Return the sums of four nodes (z, y, x) about points half a cell along z and an axis."""
    for a in ("zyx".index("z"), "zyx".index(axis)):
        count = array.shape[a]
        array = array + array.take(np.minimum(np.arange(count) + 1, count - 1), a)
    return array


def moduli(
    coefficients: Mapping[str, np.ndarray], numbers: Mapping[str, float]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return c33 dt of nodes, and the shear moduli times dt between them, by horizontal axis."""
    q = coefficients["q"]
    return coefficients["c33"], {a: 4.0 / between_nodes(q, a) for a in "xy"}


def shear(cell):
    """s_az -= mu / g P0 Px(a e), mu the harmonic mean of four nodes."""
    for a in cell.axes[:-1]:
        mu = 4.0 / four_nodes(cell, "q", "z", a)
        cell.put(f"s{a}z", cell[f"s{a}z"] - mu * shear_rate(cell, a))


CURVED_SURFACE = CurvedSurface(moduli, shear, ("q",))
