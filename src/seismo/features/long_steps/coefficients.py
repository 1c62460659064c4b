"""Staggered coefficients whose differences are bounded, for longer time steps.

The stability limit of a scheme falls with S, the largest value of

    K(k) = 2 sum_m c_m sin((m - 1/2) k)

over all wavenumbers k (radians per sample), which shortest waves have. Coefficients that are
accurate in as wide a band as possible have S = 2.6 to 3; no wave needs that much where the grid has
more than four points per wavelength. Those of this family keep K below a bound at every k, and its
error below a tolerance in the widest band for which such coefficients exist. From a quarter beyond
the band on no wave has the frequency of one within it. `scripts/fit_bounded_coefficients.py`
computes them, `coefficients.json` stores them.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files

import numpy as np

ORDERS = tuple(range(6, 17, 2))
BOUNDS = (1.5, 1.7, 1.9, 2.2)  # of K, spacing 1
UNDER_SURFACE = {8: (1.9, 2e-5)}  # along z, by the order


@lru_cache
def _fits() -> dict[tuple[int, float, float], tuple[float, ...]]:
    """Return the coefficients by order, bound and tolerance."""
    text = files("seismo.features.long_steps").joinpath("coefficients.json").read_text()
    return {
        (fit["order"], fit["bound"], fit["tolerance"]): tuple(fit["c"]) for fit in json.loads(text)
    }


def under_surface(order: int) -> tuple[tuple[str, float, float], ...]:
    """Return the bounds of a `Stencil` along z, whose rows a free surface closes."""
    return (("z", *UNDER_SURFACE[order]),)


def bounded_family(order: int) -> list[tuple[float, float]]:
    """Return the bounds and tolerances of an order for which there are coefficients."""
    return [(bound, tolerance) for known, bound, tolerance in _fits() if known == order]


def bounded(order: int, bound: float, tolerance: float) -> np.ndarray:
    """Return c_1 .. c_M of the staggered first derivative, in units of 1 / spacing."""
    return np.array(_fits()[order, bound, tolerance])
