"""Numerical dispersion: how much a trace errs whose waves have crossed a part of the grid.

A plane wave along the unit vector n, of angular frequency w, in a medium of velocity c, has on the
grid the wavenumber k that solves

    sum_a [K(k n_a h_a) / h_a]^2 = (w / c)^2,       K(q)   = 2 sum_m c_m sin((m - 1/2) q)
                                             or     K(q)^2 = 2 sum_m d_m (1 - cos(m q))

for staggered first and centred second differences. Where the error of time stepping stays in the
traces, w becomes (2 / dt) sin(w dt / 2). After a distance s the phase is (k - w / c) s too large,
and a trace of amplitude spectrum S errs by

    e^2 = integral |S|^2 |exp(i phase) - 1|^2 dw / integral |S|^2 dw

of its L2 norm. Frequencies that no k carries are lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seismo.grid.coefficients import Stencil

_SAMPLES = 1500  # of wavenumbers, up to the shortest that the grid holds
_UNRELATED = 0.5 * math.pi  # phase from which on a wave errs by what two unrelated ones differ
_LOST = np.inf


@dataclass(frozen=True)
class Spectra:
    """What frequencies the traces of a run hold.

    Attributes:
        frequency: (n) Hz.
        energy: (spectrum, n) share of each trace's energy that lies about a frequency; sums to 1.
    """

    frequency: np.ndarray
    energy: np.ndarray

    def error(self, phase: np.ndarray) -> float:
        """Return the relative L2 error of the worst trace by its phase errors (n) in radians."""
        bounded = np.minimum(np.abs(phase), _UNRELATED)
        squares = np.where(np.isinf(phase), 1.0, 4.0 * np.sin(0.5 * bounded) ** 2)
        return float(np.sqrt((self.energy @ squares).max()))


@dataclass(frozen=True)
class Operator:
    """The spatial differences of a run, as plane waves see them.

    Attributes:
        stencil: order and tolerance.
        second_order: whether second differences drive the waves, or staggered first ones.
        spacing: (axis) m.
        dt: time step in s where its error stays in the traces, else 0.
    """

    stencil: Stencil
    second_order: bool
    spacing: tuple[float, ...]
    dt: float = 0.0

    def phase(
        self, frequency: np.ndarray, velocity: float, direction: tuple[float, ...]
    ) -> np.ndarray:
        """Return the phase error (n) in radians per metre, infinite where nothing is carried.

        Args:
            frequency: (n) Hz.
            velocity: of the wave in m/s.
            direction: (axis) of the wave, of length 1.
        """
        k, found = self._wavenumbers(direction)
        true = 2.0 * math.pi * frequency / velocity
        asked = true
        if self.dt:
            half = math.pi * frequency * self.dt
            asked = true * np.sinc(np.minimum(half, 0.5 * math.pi) / math.pi)
        numerical = np.interp(asked, found, k, right=_LOST)
        return numerical - true

    def _wavenumbers(self, direction: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return wavenumbers and what the differences make of them, both (samples) in rad/m."""
        steps = [abs(n) * h for n, h in zip(direction, self.spacing, strict=True)]
        k = np.linspace(0.0, math.pi / max(steps), _SAMPLES)
        squares = sum(
            self.symbol_squared(k * step) / h**2
            for step, h in zip(steps, self.spacing, strict=True)
        )
        found = np.sqrt(np.maximum(squares, 0.0))
        # Shorter waves than the one of the largest value travel backwards.
        rising = 1 + int(np.argmax(found))
        return k[:rising], np.maximum.accumulate(found[:rising])

    def symbol_squared(self, q: np.ndarray) -> np.ndarray:
        """Return K(q)^2 (n) at wavenumbers q (n) in radians per sample."""
        m = np.arange(1, self.stencil.order // 2 + 1)
        if self.second_order:
            return 2.0 * (1.0 - np.cos(np.outer(q, m))) @ self.stencil.second[1:]
        return (2.0 * np.sin(np.outer(q, m - 0.5)) @ self.stencil.first) ** 2
