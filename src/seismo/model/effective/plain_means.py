"""Cell averages of parameters that have a mean of their own: arithmetic, or harmonic.

`anellipticity` is that of vp^2 (epsilon - delta) (1 + 2 delta), which waves in constant density
feel where they cross thin layers aslant (`seismo.equations.acoustic.vti`). `axis_x`, `axis_y` and
`axis_z` are components of a unit vector along the symmetry axis: the principal axis of the mean of
n n^T, where rock counts by how anisotropic it is, and an axis as its opposite. Of vp, vs and rho
effective media are made (`seismo.model.effective.averaging`).

**Symmetry axes.** An axis n is its own opposite, so that n n^T is averaged, not its angles. Between
tilts of 89 and -89 degrees lies 90, between azimuths of 350 and 10 lies 0. The mean axis is the
principal one of the mean of n n^T, which turns evenly between two axes; between axes at right
angles it is undefined, and either is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import itemgetter

import numpy as np

from seismo.equations.framework.registry import PARAMETERS
from seismo.equations.rock.elastic_constants import axis_of

ANGLES = {"theta": 180.0, "phi": 360.0}  # by which they turn to the same axis
TURNS = ANGLES | {"azimuth": 180.0}  # the same of rock with planes of symmetry
PRODUCTS = ("xx", "yy", "zz", "xy", "xz", "yz")  # of the components of n
_SQUARINGS = 4  # of the mean products: the 16th power, in which the principal axis is all


def product(pair: str, theta: np.ndarray | float, phi: np.ndarray | float) -> np.ndarray:
    """Return a component of n n^T of axes with angles in degrees."""
    n = axis_of(theta, phi)
    return np.asarray(n[pair[0]] * n[pair[1]])


def principal(products: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the principal axis x, y, z of means of `PRODUCTS`: a column of a high power."""
    m = np.stack(np.broadcast_arrays(*(np.asarray(products[p], float) for p in PRODUCTS)))
    for _ in range(_SQUARINGS):
        xx, yy, zz, xy, xz, yz = m / np.abs(m[:3]).sum(0)
        m = np.stack([
            xx * xx + xy * xy + xz * xz, xy * xy + yy * yy + yz * yz, xz * xz + yz * yz + zz * zz,
            xy * (xx + yy) + xz * yz, xz * (xx + zz) + xy * yz, yz * (yy + zz) + xy * xz,
        ])  # fmt: skip
    rows = {"x": m[[0, 3, 4]], "y": m[[3, 1, 5]], "z": m[[4, 5, 2]]}
    # The column of the largest component of n, divided by its length.
    largest = m[:3].argmax(0)[None]
    column = np.stack([np.take_along_axis(rows[a], largest, 0)[0] for a in "xyz"])
    return dict(zip("xyz", column / np.sqrt((column**2).sum(0)), strict=True))


def _power(name: str, power: float, samples: Mapping[str, np.ndarray]) -> np.ndarray:
    return samples[name] ** power


def _anellipticity(samples: Mapping[str, np.ndarray]) -> np.ndarray:
    epsilon = samples["epsilon"]
    delta = samples["delta"]
    return samples["vp"] ** 2 * (epsilon - delta) * (1.0 + 2.0 * delta)


_LEAST_ANISOTROPY = 1e-6  # that isotropic rock counts as: its axis is none


def _product(pair: str, samples: Mapping[str, np.ndarray]) -> np.ndarray:
    strength = np.abs(samples["epsilon"]) + np.abs(samples["delta"]) + _LEAST_ANISOTROPY
    return strength * product(pair, samples["theta"], samples["phi"])


def _principal(axis: str, samples: Mapping[str, np.ndarray]) -> np.ndarray:
    return principal({pair: samples[f"axis_{pair}"] for pair in PRODUCTS})[axis]


_POWERS = {p.name: 1.0 if p.mean == "arithmetic" else -1.0 for p in PARAMETERS.values() if p.mean}
# Averaged quantities, from samples, and results, from these averages.
MEANS: dict[str, Callable[[Mapping[str, np.ndarray]], np.ndarray]] = {
    f"mean_{name}": partial(_power, name, power) for name, power in _POWERS.items()
}
MEANS["anellipticity"] = _anellipticity
RESULTS: dict[str, tuple[tuple[str, ...], Callable[[Mapping[str, np.ndarray]], np.ndarray]]] = {
    name: ((f"mean_{name}",), partial(_power, f"mean_{name}", power))
    for name, power in _POWERS.items()
}
RESULTS["anellipticity"] = (("anellipticity",), itemgetter("anellipticity"))
MEANS |= {f"axis_{pair}": partial(_product, pair) for pair in PRODUCTS}
RESULTS |= {
    f"axis_{a}": (tuple(f"axis_{pair}" for pair in PRODUCTS), partial(_principal, a)) for a in "xyz"
}
