"""Fit differences of a bounded symbol (`seismo.grid.coefficients`).

    python scripts/fit_bounded_coefficients.py

writes src/seismo/grid/bounded_coefficients.json, a few seconds a row (needs scipy). For each
order, largest symbol S and tolerance e the widest band of wavenumbers k is sought by bisection in
which

    |K(k) / k - 1| <= e,    K(k) = 2 sum_m c_m sin((m - 1/2) k),    K <= S at every k

have a solution. Shorter waves must not have the frequency of those in the band, which sources would
excite: K is at least 1.2 times the end of the band from 1.25 times that on. For a band this is a
linear programme in c and e.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

from seismo.grid.coefficients import BOUNDED_ORDERS, BOUNDS

DATA = Path(__file__).parents[1] / "src/seismo/grid/bounded_coefficients.json"
TOLERANCES = (5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3)  # of K / k
SAMPLES = 400  # wavenumbers at which the conditions hold, in the band and beyond
APART, HIGHER = 1.25, 1.2  # from how many bands on waves are higher, and by how much
NARROWEST, WIDEST = 0.2, 2.6  # bands that are tried, in radians per sample
HALVINGS = 14
DECIMALS = 12


def fitted(order: int, bound: float, band: float) -> tuple[np.ndarray, float]:
    """Return c (M) with the least error of the phase velocity up to a band, and that error."""
    arms = np.arange(order // 2) + 0.5
    inside = np.linspace(1e-3, band, SAMPLES)
    beyond = np.linspace(band, math.pi, SAMPLES)
    apart = np.linspace(min(APART * band, math.pi), math.pi, SAMPLES)
    ratio = 2.0 * np.sin(np.outer(inside, arms)) / inside[:, None]
    bounded, floor = (2.0 * np.sin(np.outer(k, arms)) for k in (beyond, apart))
    # Unknowns c and e:  +-(K / k - 1) <= e,  K <= S,  -K <= -1.2 band.
    error = np.ones((SAMPLES, 1))
    matrix = np.block(
        [[ratio, -error], [-ratio, -error], [bounded, 0 * error], [-floor, 0 * error]]
    )
    right = np.repeat([1.0, -1.0, bound, -HIGHER * band], SAMPLES)
    bounds = [(None, None)] * arms.size + [(0.0, None)]
    result = linprog(np.eye(arms.size + 1)[-1], matrix, right, bounds=bounds, method="highs")
    if not result.success:
        return np.zeros(0), math.inf
    return result.x[:-1], float(result.x[-1])


def widest(order: int, bound: float, tolerance: float) -> np.ndarray | None:
    """Return c (M) of the widest band that keeps a tolerance, None where none does."""
    low, high = NARROWEST, min(WIDEST, bound / HIGHER)
    if fitted(order, bound, low)[1] > tolerance:
        return None
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high) if fitted(order, bound, middle)[1] <= tolerance else (low, middle)
        )
    return fitted(order, bound, low)[0]


def main() -> None:
    """Fit them all."""
    lines = []
    for order in BOUNDED_ORDERS:
        for bound in BOUNDS:
            for tolerance in TOLERANCES:
                c = widest(order, bound, tolerance)
                if c is not None:
                    fit = {"order": order, "bound": bound, "tolerance": tolerance}
                    lines.append(json.dumps(fit | {"c": c.round(DECIMALS).tolist()}))
                    print(lines[-1], flush=True)
    DATA.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
