"""Optimisers: L-BFGS-B of SciPy, and Adam.

Both are deterministic functions of the values and gradients that they ask for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.optimize

from seismo.inversion.full_waveform.settings import Optimiser

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
Accepted = Callable[[np.ndarray], None]

_MEMORY = 10
_TOLERANCE = 1e-6
_STEP = 0.02
_DECAYS = (0.9, 0.999)
_ADDED = 1e-8
_SEARCHES = 20  # evaluations of a line search, at most


def minimise(
    settings: Optimiser, function: Function, start: np.ndarray, bounds: np.ndarray | None,
    accepted: Accepted,
) -> str:  # fmt: skip
    """Look for the least value of a function.

    Args:
        settings: of the optimiser.
        function: of unknowns (unknown), to its value and gradient (unknown).
        start: first unknowns.
        bounds: least and greatest value of each unknown (unknown, 2), or None.
        accepted: called with the unknowns of each iteration, those of the start first.

    Returns:
        Why it ended.
    """
    method = _adam if settings.method == "adam" else _lbfgsb
    return method(settings, function, start, bounds, accepted)


def _lbfgsb(
    settings: Optimiser, function: Function, start: np.ndarray, bounds: np.ndarray | None,
    accepted: Accepted,
) -> str:  # fmt: skip
    """Run L-BFGS-B (Byrd, Lu, Nocedal & Zhu 1995, SIAM J. Sci. Comput. 16, 1190-1208)."""
    is_first = True

    def reported(unknowns: np.ndarray) -> tuple[float, np.ndarray]:
        """Report the first unknowns, too, which SciPy does not."""
        nonlocal is_first
        value_and_gradient = function(unknowns)
        if is_first:
            accepted(unknowns)
        is_first = False
        return value_and_gradient

    result = scipy.optimize.minimize(
        reported, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=accepted,
        options={
            "maxiter": settings.iterations,
            "maxfun": settings.iterations * _SEARCHES,
            "maxcor": settings.memory or _MEMORY,
            "ftol": settings.tolerance or _TOLERANCE,
            "gtol": 0.0,
        },
    )  # fmt: skip
    return str(result.message)


def _adam(
    settings: Optimiser, function: Function, start: np.ndarray, bounds: np.ndarray | None,
    accepted: Accepted,
) -> str:  # fmt: skip
    """Run Adam (Kingma & Ba 2015, algorithm 1); values beyond bounds are moved to them."""
    step = settings.step or _STEP
    unknowns = start.copy()
    mean = np.zeros_like(start)
    square = np.zeros_like(start)
    for iteration in range(settings.iterations + 1):
        _, gradient = function(unknowns)
        accepted(unknowns)
        if iteration == settings.iterations:
            break
        mean = _DECAYS[0] * mean + (1.0 - _DECAYS[0]) * gradient
        square = _DECAYS[1] * square + (1.0 - _DECAYS[1]) * gradient**2
        corrected = mean / (1.0 - _DECAYS[0] ** (iteration + 1))
        deviation = np.sqrt(square / (1.0 - _DECAYS[1] ** (iteration + 1)))
        # Relative to the largest, so that the size of gradients does not count.
        largest = float(deviation.max()) or 1.0
        unknowns = unknowns - step * corrected / (deviation + _ADDED * largest)
        if bounds is not None:
            unknowns = np.clip(unknowns, *bounds.T)
    return "all iterations are done"
