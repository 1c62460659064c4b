"""Wavelets from text files: one column of values at an interval, or columns of time and value.

Between its samples the wavelet is a cubic spline with zero curvature at both ends (a natural
spline, exact to fourth order for smooth data), so that it can be evaluated and differentiated at
any time step; outside its samples it is zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ModelError

_LARGEST = 64 << 20  # bytes; a text wavelet of a million samples is smaller


@dataclass(frozen=True)
class Samples:
    """A natural cubic spline through values (n) at times (n) s."""

    time: np.ndarray
    values: np.ndarray
    curvature: np.ndarray

    def value(self, t: np.ndarray) -> np.ndarray:
        """Return the wavelet (as t) at times t (s)."""
        k, step, a, b, inside = self._place(t)
        y, c = self.values, self.curvature
        bend = ((a**3 - a) * c[k] + (b**3 - b) * c[k + 1]) * step**2 / 6.0
        return np.where(inside, a * y[k] + b * y[k + 1] + bend, 0.0)

    def rate(self, t: np.ndarray) -> np.ndarray:
        """Return the wavelet's rate of change (as t) at times t (s)."""
        k, step, a, b, inside = self._place(t)
        y, c = self.values, self.curvature
        bend = ((3.0 * b**2 - 1.0) * c[k + 1] - (3.0 * a**2 - 1.0) * c[k]) * step / 6.0
        return np.where(inside, (y[k + 1] - y[k]) / step + bend, 0.0)

    def _place(self, t: np.ndarray) -> tuple[np.ndarray, ...]:
        t = np.asarray(t, float)
        k = np.clip(np.searchsorted(self.time, t, "right") - 1, 0, self.time.size - 2)
        step = self.time[k + 1] - self.time[k]
        b = (t - self.time[k]) / step
        return k, step, 1.0 - b, b, (t >= self.time[0]) & (t <= self.time[-1])


def read_samples(spec: Any, base: Path | None) -> Samples:
    """Read the file of a wavelet (`spec.path`, `spec.interval`), relative to `base`.

    Raises:
        ModelError: the file is missing, not a table of numbers, or its times do not increase.
    """
    path = Path(base or ".") / spec.path
    table = _read_table(path)
    if table.shape[1] == 1:
        if spec.interval is None:
            raise ModelError(f"wavelet {path}: one column of values; give `interval` as well")
        time = np.arange(len(table)) * float(spec.interval)
    else:
        time = table[:, 0]
    if np.any(np.diff(time) <= 0.0):
        raise ModelError(f"wavelet {path}: the times of the first column must increase")
    values = np.ascontiguousarray(table[:, -1])
    return Samples(time, values, _natural_curvature(time, values))


def _read_table(path: Path) -> np.ndarray:
    """Return the numbers (rows, columns) of a text file; blanks or commas separate them."""
    expected = "expected a text file with a column of values, or columns of time and value"
    if not path.is_file():
        raise ModelError(f"wavelet {path}: no such file; {expected}")
    if path.stat().st_size > _LARGEST:
        raise ModelError(f"wavelet {path}: larger than {_LARGEST >> 20} MB; {expected}")
    rows = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"wavelet {path}: cannot be read as text ({error}); {expected}") from None
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].replace(",", " ").split()
        if not words:
            continue
        try:
            rows.append([float(word) for word in words])
        except ValueError:
            raise ModelError(
                f"wavelet {path}:{number}: {line.strip()[:40]!r} is not a number; {expected}"
            ) from None
        if len(words) not in (1, 2) or len(words) != len(rows[0]):
            raise ModelError(f"wavelet {path}:{number}: {len(words)} columns; {expected}")
    if len(rows) < 2:
        raise ModelError(f"wavelet {path}: {len(rows)} samples, at least 2 are needed; {expected}")
    table = np.array(rows)
    if not np.isfinite(table).all():
        raise ModelError(f"wavelet {path}: holds a value that is not finite; {expected}")
    return table


def _natural_curvature(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the second derivatives (n) of the natural spline (Thomas algorithm)."""
    curvature = np.zeros(x.size)
    step = np.diff(x)
    slope = np.diff(y) / step
    right = 6.0 * np.diff(slope)
    diagonal = 2.0 * (step[:-1] + step[1:])
    for k in range(1, right.size):
        factor = step[k] / diagonal[k - 1]
        diagonal[k] -= factor * step[k]
        right[k] -= factor * right[k - 1]
    for k in range(right.size - 1, -1, -1):
        curvature[k + 1] = (right[k] - step[k + 1] * curvature[k + 2]) / diagonal[k]
    return curvature
