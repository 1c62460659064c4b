"""Cubic splines between samples, without SciPy's, which take half a second to import."""

from __future__ import annotations

import numpy as np


def interpolated(x: np.ndarray, samples: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Interpolate samples by cubics whose first and second derivatives are continuous.

    The first two cubics are one, and the last two (de Boor 2001, chapter 4, not-a-knot).

    Args:
        x: (n) where they are, growing, four at least.
        samples: (n, column).
        at: (m) where they are wanted.

    Returns:
        (m, column).
    """
    h = np.diff(x)
    n = np.arange(1, len(h))
    # Second derivatives M, by the change of slope at a sample:
    # h_(n-1) M_(n-1) + 2 (h_(n-1) + h_n) M_n + h_n M_(n+1) = 6 change.
    system = np.zeros((len(x), len(x)))
    system[n, n - 1] = h[:-1]
    system[n, n] = 2.0 * (h[:-1] + h[1:])
    system[n, n + 1] = h[1:]
    # Third derivatives are equal on both sides of the second sample, and of the last but one.
    system[0, :3] = h[1], -h[0] - h[1], h[0]
    system[-1, -3:] = h[-1], -h[-2] - h[-1], h[-2]
    changes = np.zeros_like(samples)
    changes[1:-1] = np.diff(np.diff(samples, axis=0) / h[:, None], axis=0)
    second = np.linalg.solve(system, 6.0 * changes)
    piece = np.clip(np.searchsorted(x, at) - 1, 0, len(h) - 1)
    width = h[piece, None]
    ahead = (at - x[piece])[:, None] / width
    behind = 1.0 - ahead
    straight = behind * samples[piece] + ahead * samples[piece + 1]
    bent = (behind**3 - behind) * second[piece] + (ahead**3 - ahead) * second[piece + 1]
    return np.asarray(straight + width**2 / 6.0 * bent)
