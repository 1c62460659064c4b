"""Terms of these equations on ground that slopes (`features.topography.surface`)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from seismo.equations.elastic.curved import between_nodes
from seismo.equations.elastic.formulas import four_nodes
from seismo.equations.framework.sloping_ground import shear_rate
from seismo.equations.framework.table import CurvedSurface
from seismo.equations.loss.memory_variables import (
    CellArrays,
    at_once,
    drive,
)
from seismo.equations.viscoelastic.formulas import moduli_at_once


def moduli(
    coefficients: Mapping[str, np.ndarray], numbers: Mapping[str, float]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return c33 dt of nodes, and the shear moduli times dt between them, as in one step."""
    arrays = CellArrays(dict(coefficients), dict(numbers))
    c33, *_ = moduli_at_once(arrays)
    shear_moduli = {}
    for a in "xy":
        # Harmonic mean of four nodes; y their mean weighted with 1 / mu.
        compliance = between_nodes(coefficients["q"], a)
        y = between_nodes(coefficients["qy"], a) / compliance
        shear_moduli[a] = 4.0 / compliance * (1.0 - at_once(arrays, "s", y))
    return c33, shear_moduli


def shear(cell):
    """s_az and its memory take the strain rate -P0 Px(a e) / g of the surface."""
    for a in cell.axes[:-1]:
        compliance = four_nodes(cell, "q", "z", a)
        y = four_nodes(cell, "qy", "z", a) / compliance
        rate = -1.0 * shear_rate(cell, a)
        change = 4.0 / compliance * (1.0 - at_once(cell, "s", y)) * rate
        cell.put(f"s{a}z", cell[f"s{a}z"] + change)
        drive(cell, f"{a}z", rate)


def curved_surface(remembers: tuple[str, ...]) -> CurvedSurface:
    """Return how the equation takes part, with memory variables of shear strains across z."""
    return CurvedSurface(moduli, shear, ("q", "qy"), remembers)
