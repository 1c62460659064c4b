"""Damped oscillators at the points of maps, driven by the acceleration of the ground.

    (v before, v now) -> acceleration, linear over the step -> z of each period and component

The state z of each is exact for that motion (`seismo.acquisition.traces.ground_motion`), whatever
the period; short ones take a step in parts, so that no peak between is missed by more than 0.1 %.
Spectral acceleration is the largest |Im z| times the recurrence's scale.
"""

from __future__ import annotations

import numpy as np

from seismo.acquisition.traces.ground_motion import Recurrence, recurrence
from seismo.backends.base import Backend
from seismo.solver.sampling.map_quantities import PeakMapSet


class Oscillators:
    """The oscillators of one set of maps.

    Attributes:
        state: (period, channel, 2, size) real and imaginary parts of z, flat.
        most: parts of a step that the shortest period takes.
    """

    def __init__(self, backend: Backend, maps: PeakMapSet, size: int, dt: float) -> None:
        """Allocate oscillators at rest, for flat arrays of `size` numbers."""
        self._maps = maps
        self._size = size
        self._dt = dt
        self._substeps = maps.substeps(dt)
        self.most = max(self._substeps, default=0)
        self.copies = 2 * len(maps.periods) * len(maps.oscillating)
        self.state = backend.array(np.zeros(self.copies * size, backend.precision))

    def response(self, period: float, channel: int) -> int:
        """Return where Im z of a period and channel begins in the state."""
        return self._pair(self._maps.periods.index(period), channel) + self._size

    def _pair(self, number: int, channel: int) -> int:
        # Flat index of Re z in (period, channel, 2, size).
        index = self._maps.oscillating.index(channel)
        return 2 * (number * len(self._maps.oscillating) + index) * self._size

    def scale(self, period: float) -> float:
        """Return the factor that makes m/s^2 of Im z, whose acceleration is in m/s a step."""
        return recurrence(period, self._maps.damping, self._dt).scale / self._dt

    def moves(self, period: float, substep: int) -> bool:
        """Whether oscillators of a period take a step in more than `substep` parts."""
        return self._substeps[self._maps.periods.index(period)] > substep

    def tables(self, substep: int, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return what advances all that `moves` in a part of the step.

        Args:
            substep: number of the part.
            rows: where the rows of one channel begin.

        Returns:
            ``state_rows``, ``rows`` and ``numbers`` (row) and ``coefficients`` (period, 6), as
            `seismo.backends.kernels.slices.oscillate` takes them.
        """
        # Rows of all (period, channel) pairs that still move in this part.
        moving = [n for n, substeps in enumerate(self._substeps) if substeps > substep]
        pairs = [(k, n, c) for k, n in enumerate(moving) for c in self._maps.oscillating]
        return {
            "state_rows": np.concatenate([self._pair(n, c) + rows for _, n, c in pairs]),
            "rows": np.concatenate([c * self._size + rows for _, _, c in pairs]),
            "numbers": np.repeat([k for k, _, _ in pairs], rows.size),
            "coefficients": np.array([self._coefficients(n, substep) for n in moving]),
        }

    def _coefficients(self, number: int, substep: int) -> list[float]:
        """Return g, p, q of `oscillate`: of z, and of the acceleration at both ends of the step."""
        substeps = self._substeps[number]
        # Nigam & Jennings (1969) over a part of the step: z + g z + p a(n) + q a(n+1).
        one: Recurrence = recurrence(
            self._maps.periods[number], self._maps.damping, self._dt / substeps
        )
        # Linear in between: a(begin) = a0 + (a1 - a0) part / parts, and its change is 1 / parts.
        begin = substep / substeps
        share = one.linear / substeps
        first = -(one.constant * (1.0 - begin) - share)
        last = -(one.constant * begin + share)
        return [n for c in (one.growth, first, last) for n in (c.real, c.imag)]
