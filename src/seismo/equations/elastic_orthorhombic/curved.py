"""Terms of these equations on ground that slopes (`features.topography.surface`)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from seismo.equations.elastic.curved import between_nodes
from seismo.equations.elastic.formulas import four_nodes
from seismo.equations.framework.sloping_ground import shear_rate
from seismo.equations.rock.elastic_constants import named


def moduli(
    coefficients: Mapping[str, np.ndarray], numbers: Mapping[str, float]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return c33 dt of nodes, and the shear moduli times dt between them, by horizontal axis."""
    compliances = {a: coefficients.get(named("q", f"{a}z")) for a in "xy"}
    return coefficients["c33"], {
        a: 4.0 / between_nodes(q, a) for a, q in compliances.items() if q is not None
    }


def shear(cell):
    """s_az -= c_I / g P0 Px(a e), c_I the harmonic mean of four nodes."""
    for a in sorted(cell.axes)[:-1]:
        pair = f"{a}z"
        modulus = 4.0 / four_nodes(cell, named("q", pair), *pair)
        cell.put(f"s{pair}", cell[f"s{pair}"] - modulus * shear_rate(cell, a))
