"""Slow waves that sources in acoustic VTI and TTI rock send behind P: their share and velocity.

With k_H across the axis and k_N along it, the second root of the dispersion relation is

    w = vp sqrt(2 (epsilon - delta)) k_H k_N / sqrt(k_N^2 + (1 + 2 epsilon) k_H^2)

nearly: along the axis and across it waves of any length have the same frequency, and crowd on rays
as close to these directions as the grid carries them. With s = sin a cos a at an angle a from the
axis, traces have slow waves of

    0.02 (1 / hypot(s, s_h) - 1.5),
    s_h = 0.02 (20 h / wavelength)^1.6 (0.1 / (epsilon - delta))^0.9

times P (L2) in 2-D, fitted to runs of epsilon - delta from 0.05 to 0.35, 12 to 40 points of the
dominant wavelength and angles from 0 to 90 degrees, to a factor of two in most of them. In strong
rock they overlap with P for a few wavelengths (epsilon 0.3, delta -0.05: across the axis for 5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

_SHARE = 0.02  # of P, times 1 / s
_BETWEEN = 1.5  # subtracted from 1 / s
_LEAST = 0.01  # of P, between the axes
_POINTS = 20.0  # of a dominant wavelength, and
_CONTRAST = 0.1  # epsilon - delta, with which
_FINEST = 0.02  # is s_h
# In three dimensions waves crowd on the axis from all sides, and on the plane across it.
_ON_AXIS = 12.0
_ACROSS = 3.0
_LEAST_3D = 0.03
# Sources about a tilted axis are spread; the grid scatters waves that it does not carry to all
# directions.
_SPREAD = 0.5
_TURNED = 0.08

RockAtSource = Mapping[str, float]


@dataclass(frozen=True)
class SlowWaves:
    """The slow waves of an equation.

    Attributes:
        axis: function(medium, dimensions) -> axis of the rock, of length 1.
        spread: whether sources are spread, as about a tilted axis.
    """

    axis: Callable[[RockAtSource, int], np.ndarray]
    spread: bool = False

    def share(self, offsets: np.ndarray, medium: RockAtSource, points: float) -> np.ndarray:
        """Return slow waves over P (n), L2 of traces.

        Args:
            offsets: receivers (n, 2 or 3) less the source, in m.
            medium: at the source.
            points: of the dominant wavelength.
        """
        along, across = self._cosine_and_sine(offsets, medium)
        contrast = (medium["epsilon"] - medium["delta"]) / _CONTRAST
        finest = _FINEST * (_POINTS / points) ** 1.6 * contrast**-0.9
        crowded = _SHARE * (1.0 / np.hypot(along * across, finest) - _BETWEEN)
        share: np.ndarray = np.maximum(crowded, _LEAST)
        if offsets.shape[1] > 2:
            share = _ON_AXIS * (share * along) ** 2 + _ACROSS * share * across + _LEAST_3D
        if self.spread:
            turned = _TURNED * (points / _POINTS) ** 1.6 * contrast**1.3
            share = np.hypot(_SPREAD * share, turned)
        return share

    def velocity(self, offsets: np.ndarray, medium: RockAtSource) -> np.ndarray:
        """Return the velocity (n) m/s of the fastest slow waves towards receivers."""
        along, across = self._cosine_and_sine(offsets, medium)
        contrast = medium["epsilon"] - medium["delta"]
        fastest: np.ndarray = medium["vp"] * np.sqrt(2.0 * contrast) * (1.0 - along * across)
        return fastest

    def _cosine_and_sine(
        self, offsets: np.ndarray, medium: RockAtSource
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return cosine and sine of the angles (n) between the axis and offsets."""
        axis = self.axis(medium, offsets.shape[1])
        lengths = np.maximum(np.linalg.norm(offsets, axis=1), np.finfo(float).tiny)
        cosine = np.minimum(np.abs(offsets @ axis) / lengths, 1.0)
        return cosine, np.sqrt(1.0 - cosine**2)
