"""Cell averages of parameters that have a mean of their own: arithmetic, or harmonic.

Of vp, vs and rho effective media are made (`seismo.model.averaging`).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from seismo.equations.registry import PARAMETERS
from seismo.model.cells import Samples


def _power(name: str, power: float, samples: Samples) -> np.ndarray:
    return samples[name] ** power


_POWERS = {p.name: 1.0 if p.mean == "arithmetic" else -1.0 for p in PARAMETERS.values() if p.mean}
# What is averaged, from samples, and what is asked for, from those averages.
MEANS = {f"mean_{name}": partial(_power, name, power) for name, power in _POWERS.items()}
RESULTS = {
    name: ((f"mean_{name}",), partial(_power, f"mean_{name}", power))
    for name, power in _POWERS.items()
}
