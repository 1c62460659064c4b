"""Cell averages of parameters that have a mean of their own: arithmetic, or harmonic.

`anellipticity` is that of vp^2 (epsilon - delta) (1 + 2 delta), which waves of one density feel
where they cross thin layers aslant (`seismo.equations.acoustic.vti`). `axis_x`, `axis_y` and
`axis_z` are components of a unit vector along the symmetry axis: the principal axis of the mean of
n n^T, where rock counts by how anisotropic it is, and an axis as its opposite. Of vp, vs and rho
effective media are made (`seismo.model.effective.averaging`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import itemgetter

import numpy as np

from seismo.equations.framework.registry import PARAMETERS
from seismo.model.effective import axes
from seismo.model.effective.cells import Samples


def _power(name: str, power: float, samples: Samples) -> np.ndarray:
    return samples[name] ** power


def _anellipticity(samples: Samples) -> np.ndarray:
    epsilon = samples["epsilon"]
    delta = samples["delta"]
    return samples["vp"] ** 2 * (epsilon - delta) * (1.0 + 2.0 * delta)


_LEAST_ANISOTROPY = 1e-6  # that isotropic rock counts as: its axis is none


def _product(pair: str, samples: Samples) -> np.ndarray:
    strength = np.abs(samples["epsilon"]) + np.abs(samples["delta"]) + _LEAST_ANISOTROPY
    return strength * axes.product(pair, samples["theta"], samples["phi"])


def _principal(axis: str, samples: Samples) -> np.ndarray:
    return axes.principal({pair: samples[f"axis_{pair}"] for pair in axes.PRODUCTS})[axis]


_POWERS = {p.name: 1.0 if p.mean == "arithmetic" else -1.0 for p in PARAMETERS.values() if p.mean}
# What is averaged, from samples, and what is asked for, from those averages.
MEANS: dict[str, Callable[[Samples], np.ndarray]] = {
    f"mean_{name}": partial(_power, name, power) for name, power in _POWERS.items()
}
MEANS["anellipticity"] = _anellipticity
RESULTS: dict[str, tuple[tuple[str, ...], Callable[[Samples], np.ndarray]]] = {
    name: ((f"mean_{name}",), partial(_power, f"mean_{name}", power))
    for name, power in _POWERS.items()
}
RESULTS["anellipticity"] = (("anellipticity",), itemgetter("anellipticity"))
MEANS |= {f"axis_{pair}": partial(_product, pair) for pair in axes.PRODUCTS}
RESULTS |= {
    f"axis_{a}": (tuple(f"axis_{pair}" for pair in axes.PRODUCTS), partial(_principal, a))
    for a in "xyz"
}
