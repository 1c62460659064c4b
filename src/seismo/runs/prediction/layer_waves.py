"""Plane waves that meet absorbing layers, on the grid.

Across a layer a scalar wave p exp(i k x - i w t), k its wavenumber along the layer, obeys with the
differences G (nodes to half points) and D (back), both stretched by the layer's 1/s::

    (W / c)^2 p - K(k)^2 p + (W/s) D (1/W s) G p = 0,    1/s = 1/kappa + a / (1 - b exp(i w dt)),

with a, b, kappa and m of the layer (`seismo.solver.medium.cpml`) and, with the factor m by which
fields fall in a step, W = (i / dt) (exp(-i w dt / 2) / m - exp(i w dt / 2)). Both p and its flux
fall, each by the m of its place: upright waves keep their impedance, and only the change of W from
a node to the next half point sends them back. Inside, p is an incoming wave exp(i q n) and a
reflected wave R exp(-i q n); the equations of the layer's points and of a few inside it make R::

    inside, both waves | points in a window | the layer | nothing
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seismo.grid.grid import AXES
from seismo.runs.prediction.layer_equations import (
    WINDOW,
    reflected,
    sampled_frequencies,
    second_differences,
    symbol,
)
from seismo.solver.discretization import Discretization
from seismo.solver.medium.cpml import PmlParameters, outward

# Samples of a reflection:
_INCIDENCES = 10  # of waves that travel, and
_EVANESCENT = 5  # of such that decay
_NOTHING = 1e-30  # sent back at most, for a logarithm
# Waves at grazing incidence (`seismo.runs.prediction.layer_reflections`):
STEEP = 0.5  # cosine of the angle of incidence from which on they are none
SHORT = 80.0  # radians along a face, below which plane waves of too many angles arrive together


@dataclass(frozen=True)
class LayerWaves:
    """Waves of a velocity that meet a layer at a face.

    Attributes:
        discretization: of the run.
        axis: that the face is across.
        side: 0 of the low face, 1 of the high.
        velocity: m/s.
        layer: its strength.
        points: of the layer.
        coarser: times as large a spacing as the run's own.
    """

    discretization: Discretization
    axis: str
    side: int
    velocity: float
    layer: PmlParameters
    points: int
    coarser: float = 1.0

    @property
    def spacing(self) -> float:
        """Distance in m of points in the layer."""
        grid = self.discretization.grid
        n = AXES.index(self.axis)
        edge = (grid.low[n], grid.points[n] - grid.high[n] - 1)[self.side]
        return self.coarser * grid.edge(self.axis, edge)

    @property
    def first(self) -> np.ndarray:
        """Coefficients of first differences."""
        return np.asarray(self.discretization.stencil.first)

    @property
    def depth(self) -> float:
        """Thickness of the layer in m."""
        return self.points * self.spacing

    def stretched_depth(self, k: np.ndarray) -> np.ndarray:
        """Return the complex thickness (wave) in m, the sum of s, as waves go through upright."""
        nodes, _ = self.stretches(k, 0)
        return np.asarray(self.spacing * (1.0 / nodes).sum(axis=1))

    def sent_back(self, k: np.ndarray, cosine: np.ndarray) -> np.ndarray:
        """Return R (wave) at the face of waves of incidences that may be complex.

        Args:
            k: (wave) wavenumbers in 1/m.
            cosine: (wave) of the incidences.
        """
        first = self.first
        second = np.zeros(0)
        if self.discretization.physics.differences == "second":
            second = np.asarray(self.discretization.stencil.second)
        inside = WINDOW * len(first)
        q = self.spacing * k * cosine
        nodes, halves = self.stretches(k, inside)
        slowed, slowed_halves = self.slowed(k, inside)
        if not second.size:  # p and its flux are damped
            nodes = nodes * slowed
            halves = halves / slowed_halves
        bands = nodes[:, None] * second_differences(first, second, halves)
        if second.size:
            across = 2.0 * (1.0 - np.cos(np.outer(q, np.arange(1, len(second))))) @ second[1:]
        else:
            across = symbol(first, q) ** 2
        bands[:, bands.shape[1] // 2] += across[:, None] + self.squared(k) * (slowed**2 - 1.0)
        single = np.ones((len(q), 1, 1))
        return reflected(
            bands[:, None, None], q[:, None], (single, single), np.zeros(1), inside
        )[:, 0, 0]  # fmt: skip

    def stretches(self, k: np.ndarray, inside: int) -> tuple[np.ndarray, np.ndarray]:
        """Return 1/s (wave, points) at nodes and half points, from inside to the outer end."""
        rows = self._rows
        turn = self._turn(k)
        stretched = []
        for first in (0, 3):
            b, a, ikappa = rows[first : first + 3]
            within_layer = ikappa + a / (1.0 - b * turn**2)
            if first and not self.side:
                # The half point beyond the first node is none of the grid's.
                within_layer[:, -1] = float(self.discretization.physics.differences == "second")
            stretched.append(np.pad(within_layer, ((0, 0), (inside, 0)), constant_values=1.0))
        return stretched[0], stretched[1]

    def slowed(self, k: np.ndarray, inside: int) -> tuple[np.ndarray, np.ndarray]:
        """Return W (wave, points) over that inside, at nodes and half points."""
        turn = self._turn(k)
        nodes, halves = (
            (1.0 / (turn * np.pad(kept, (inside, 0), constant_values=1.0)) - turn)
            / (1.0 / turn - turn)
            for kept in self._rows[6:]
        )
        return nodes, halves

    def squared(self, k: np.ndarray) -> np.ndarray:
        """Return (W h / c)^2 (wave, 1) inside."""
        turn = self._turn(k)
        rate = self.spacing / (self.velocity * self._step)
        return np.asarray(-((rate * (1.0 / turn - turn)) ** 2))

    @property
    def _step(self) -> float:
        """Time step in s."""
        return self.coarser * self.discretization.clock.dt

    @property
    def _rows(self) -> np.ndarray:
        """Profile (8, points) of the layer from inside out."""
        subdivision = self.discretization.subdivision
        return outward(self.layer, self.points, self.spacing, self._step, subdivision)

    def _turn(self, k: np.ndarray) -> np.ndarray:
        """Return exp(i w dt / 2) (wave, 1)."""
        return np.exp(0.5j * self.velocity * k * self._step)[:, None]


class SentBack:
    """Reflection of plane waves by a layer, interpolated between samples."""

    def __init__(self, layer: LayerWaves, angular: np.ndarray, decay: float) -> None:
        """Ask a layer of waves of frequencies w (frequency) in 1/s, and of a decay up to 1/m."""
        sampled, between = sampled_frequencies(angular)
        k = sampled / layer.velocity
        self.decay = decay
        # Incidences of waves that travel, and decay of others (`of`).
        travelling = np.arange(_INCIDENCES) / _INCIDENCES
        self.rank = np.append(travelling, 1.0 + np.arange(1, _EVANESCENT + 1) / _EVANESCENT)
        size = np.abs(k)[:, None]
        sine = np.sin(0.5 * math.pi * np.minimum(self.rank, 1.0))
        kx = np.hypot(size * sine, self.decay * np.maximum(self.rank - 1.0, 0.0) ** 2)
        cosine = np.sqrt(1.0 - (kx / k[:, None]) ** 2)
        back = layer.sent_back(np.repeat(k, len(self.rank)), cosine.ravel()).reshape(cosine.shape)
        # The logarithm, steady from wave to wave.
        turn = np.unwrap(np.angle(back), axis=1)
        turn += (np.unwrap(turn[:, 0]) - turn[:, 0])[:, None]
        self.logarithm = between(np.log(np.maximum(np.abs(back), _NOTHING)) + 1j * turn, 0)
        self.size = np.abs(angular / layer.velocity)[:, None]

    def of(self, kx: np.ndarray) -> np.ndarray:
        """Return it (frequency, wave) of waves of kx in 1/m."""
        sine = np.minimum(np.abs(kx) / self.size, 1.0)
        decay = np.sqrt(np.maximum(kx**2 - self.size**2, 0.0))
        rank = np.arcsin(sine) / (0.5 * math.pi) + np.sqrt(decay / self.decay)
        return np.exp([
            np.interp(ranks, self.rank, row.real) + 1j * np.interp(ranks, self.rank, row.imag)
            for ranks, row in zip(rank, self.logarithm, strict=True)
        ])  # fmt: skip


def goes_along(discretization: Discretization, along: float, away: float) -> bool:
    """Whether waves that go so far along a face, and to it and from it [m], graze it."""
    k = 2.0 * math.pi * discretization.dominant_frequency / discretization.waves.slowest
    return away < STEEP * math.hypot(along, away) and k * along >= SHORT
