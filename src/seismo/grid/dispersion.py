"""Numerical dispersion: the relative error of a trace whose waves have crossed the grid.

A plane wave along the unit vector n, of angular frequency w, in a medium of velocity c, has on the
grid the wavenumber k that solves

    sum_a [K(k n_a h_a) / h_a]^2 = (w / c)^2,       K(q)   = 2 sum_m c_m sin((m - 1/2) q)
                                             or     K(q)^2 = 2 sum_m d_m (1 - cos(m q))

for staggered first and centred second differences. Where the error of time stepping is not removed
from the traces, w becomes (2 / dt) sin(w dt / 2). After a distance s the phase is (k - w / c) s too
large, and the relative L2 error e of a trace of amplitude spectrum S follows from

    e^2 = integral |S|^2 |exp(i phase) - 1|^2 dw / integral |S|^2 dw

Frequencies above the grid's cut-off do not propagate: their error is 100 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from seismo.grid.coefficients import Stencil, staggered_symbol

_SAMPLES = 1500  # wavenumbers, up to the shortest wave on the grid
_UNRELATED = 0.5 * math.pi  # phase error in rad from which on waves count as uncorrelated
_LOST = np.inf


@dataclass(frozen=True)
class Spectra:
    """Spectra of the traces of a run.

    Attributes:
        frequency: (n) Hz.
        energy: (spectrum, n) share of each trace's energy at each frequency; sums to 1.
    """

    frequency: np.ndarray
    energy: np.ndarray

    def error(self, phase: np.ndarray) -> float:
        """Return the relative L2 error of the worst trace by its phase errors (n) in radians."""
        # |exp(i phase) - 1|^2 = 4 sin^2(phase / 2), not less again once the waves are unrelated.
        bounded = np.minimum(np.abs(phase), _UNRELATED)
        squares = np.where(np.isinf(phase), 1.0, 4.0 * np.sin(0.5 * bounded) ** 2)
        return float(np.sqrt((self.energy @ squares).max()))


@dataclass(frozen=True)
class Operator:
    """Plane-wave symbol of the spatial differences of a run.

    Attributes:
        stencil: order and tolerance.
        second_order: whether the equation has second differences, or staggered first ones.
        spacing: (axis) m.
        dt: time step in s where its error is not removed from the traces, else 0.
    """

    stencil: Stencil
    second_order: bool
    spacing: tuple[float, ...]
    dt: float = 0.0

    def phase(
        self, frequency: np.ndarray, velocity: float, direction: tuple[float, ...]
    ) -> np.ndarray:
        """Return the phase error (n) in radians per metre, infinite above the grid's cut-off.

        Args:
            frequency: (n) Hz.
            velocity: of the wave in m/s.
            direction: (axis) of the wave, of length 1.
        """
        # The relation holds on any scale: in units of the largest spacing, many grids share it.
        scale = max(self.spacing)
        relative = tuple(h / scale for h in self.spacing)
        k, symbol = _wavenumbers(replace(self, spacing=relative, dt=0.0), direction)
        true = 2.0 * math.pi * frequency / velocity
        target = true
        if self.dt:
            # Leapfrog: w -> (2 / dt) sin(w dt / 2).
            half_angle = math.pi * frequency * self.dt
            target = true * np.sinc(np.minimum(half_angle, 0.5 * math.pi) / math.pi)
        # Inverse of the dispersion relation: k where the symbol equals w / c.
        numerical = np.interp(target * scale, symbol, k, right=_LOST) / scale
        # Phase k s grows against the true w s / c: the difference per metre.
        return numerical - true

    def symbol_squared(self, axis: int, q: np.ndarray) -> np.ndarray:
        """Return K(q)^2 (n) along an axis of `spacing` at wavenumbers q (n) in rad per sample."""
        if self.second_order:
            m = np.arange(1, self.stencil.order // 2 + 1)
            return 2.0 * (1.0 - np.cos(np.outer(q, m))) @ self.stencil.second[1:]
        name = ("xyz" if len(self.spacing) == 3 else "xz")[axis]
        return staggered_symbol(self.stencil.along(name), q) ** 2


@lru_cache(maxsize=64)  # waves of many media and spacings ask for the same
def _wavenumbers(operator: Operator, direction: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return wavenumbers k and the symbol of the differences there, both (samples) in radians.

    They count per unit of the operator's spacings.
    """
    steps = [abs(n) * h for n, h in zip(direction, operator.spacing, strict=True)]
    k = np.linspace(0.0, math.pi / max(steps), _SAMPLES)
    # sum_a [K(k n_a h_a) / h_a]^2, which is zero across the direction.
    squares = sum(
        operator.symbol_squared(axis, k * step) / h**2
        for axis, (step, h) in enumerate(zip(steps, operator.spacing, strict=True))
        if step
    )
    symbol = np.sqrt(np.maximum(squares, 0.0))
    # Waves shorter than that of the largest symbol have a negative group velocity; frequencies that
    # any of them has are lost.
    rising = 1 + int(np.argmax(symbol))
    carried = symbol[:rising] <= symbol[rising - 1 :].min()
    return k[:rising][carried], np.maximum.accumulate(symbol[:rising][carried])
