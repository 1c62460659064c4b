"""Plane waves that meet absorbing layers, on the grid.

Across a layer a scalar wave p exp(i k x - i w t), k its wavenumber along the layer, obeys with the
differences G (nodes to half points) and D (back), both stretched by the layer's 1/s::

    (W / c)^2 p - K(k)^2 p + (W/s) D (1/W s) G p = 0,    1/s = 1/kappa + a / (1 - b exp(i w dt)),

with a, b, kappa and m of the layer (`seismo.solver.medium.cpml`) and, with the factor m by which
fields fall in a step, W = (i / dt) (exp(-i w dt / 2) / m - exp(i w dt / 2)). Both p and its flux
fall, each by the m of its place: upright waves keep their impedance, and only the change of W from
a node to the next half point sends them back. Inside, p is an incoming wave exp(i q n) and a
reflected wave R exp(-i q n); the equations of the layer's points and of a few inside it make R::

    inside, both waves | WINDOW points | the layer | nothing
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seismo.grid.grid import AXES
from seismo.solver.discretization import Discretization
from seismo.solver.medium.cpml import PmlParameters, outward

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
    def depth(self) -> float:
        """Thickness of the layer in m."""
        return self.points * self.spacing

    def stretched_depth(self, k: np.ndarray) -> np.ndarray:
        """Return the complex thickness (wave) in m, the sum of s, as waves go through upright."""
        nodes, _ = self._stretches(k, 0)
        return np.asarray(self.spacing * (1.0 / nodes).sum(axis=1))

    def sent_back(self, k: np.ndarray, cosine: np.ndarray) -> np.ndarray:
        """Return R (wave) at the face of waves of incidences that may be complex.

        Args:
            k: (wave) wavenumbers in 1/m.
            cosine: (wave) of the incidences.
        """
        stencil = self.discretization.stencil
        first = np.asarray(stencil.first)
        second = np.asarray(
            stencil.second if self.discretization.physics.differences == "second" else []
        )
        outside = 2 * len(first)
        inside = 2 * outside  # points inside the face, known as waves or solved for
        q = self.spacing * k * cosine
        nodes, halves = self._stretches(k, inside)
        slowed, slowed_halves, damping = self._slowed(k, inside)
        if not second.size:  # p and its flux are damped
            nodes = nodes * slowed
            halves = halves / slowed_halves
        bands = nodes[:, None] * _second_differences(first, second, halves)
        if second.size:
            across = 2.0 * (1.0 - np.cos(np.outer(q, np.arange(1, len(second))))) @ second[1:]
        else:
            across = (2.0 * np.sin(np.outer(q, np.arange(len(first)) + 0.5)) @ first) ** 2
        reach = bands.shape[1] // 2
        bands[:, reach] += across[:, None] + damping
        # Columns outside the window are the wave that comes, exp(i q n), and R times that going
        # back: the first unknown.
        bands = bands[:, :, outside - 1 :]
        count = bands.shape[2]
        size = reach + 1
        blocks = np.zeros((len(q), -(-count // size) * size, 3 * size), complex)
        coming = np.zeros((len(q), size), complex)
        for m in range(-reach, reach + 1):
            row = np.arange(max(0, -m - outside + 1), min(count, count - m))
            entries = bands[:, reach + m, row]
            within = row + m >= 1
            blocks[:, row[within], row[within] % size + m + size] = entries[:, within]
            known = row[~within]
            wave = np.exp(1j * np.outer(q, known + m + outside - inside))
            coming[:, known] += entries[:, ~within] * wave
            blocks[:, known, size] += entries[:, ~within] / wave
        rest = np.arange(count, blocks.shape[1])
        blocks[:, rest, rest % size + size] = 1.0
        return _first_unknown(blocks, -coming)

    def _stretches(self, k: np.ndarray, inside: int) -> tuple[np.ndarray, np.ndarray]:
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

    def _slowed(self, k: np.ndarray, inside: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return W (wave, points) over that inside, at nodes and half points.

        And the contribution of the fields' damping to (W h / c)^2 at nodes.
        """
        turn = self._turn(k)
        free = 1.0 / turn - turn
        slowed = [
            (1.0 / (turn * np.pad(kept, (inside, 0), constant_values=1.0)) - turn) / free
            for kept in self._rows[6:]
        ]
        rate = self.spacing / (self.velocity * self._step)
        return slowed[0], slowed[1], rate**2 * free**2 * (1.0 - slowed[0] ** 2)

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


def _first_unknown(blocks: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the first unknown (wave) of block-tridiagonal equations, which it overwrites.

    Args:
        blocks: (wave, equation, 3 size) coefficients of unknowns of the block before that of the
            equation, of its own and of the next.
        right: (wave, size) right sides of the first block; those of others are zero.
    """
    size = right.shape[1]
    before, middle, after = (slice(n * size, (n + 1) * size) for n in range(3))
    for begin in range(blocks.shape[1] - size, 0, -size):  # elimination from the outer end
        block = blocks[:, begin : begin + size]
        above = blocks[:, begin - size : begin]
        above[:, :, middle] -= above[:, :, after] @ np.linalg.solve(
            block[:, :, middle], block[:, :, before]
        )
    return np.asarray(np.linalg.solve(blocks[:, :size, middle], right[:, :, None])[:, 0, 0])


def goes_along(discretization: Discretization, along: float, away: float) -> bool:
    """Whether waves that go so far along a face, and to it and from it [m], graze it."""
    k = 2.0 * math.pi * discretization.dominant_frequency / discretization.waves.slowest
    return away < STEEP * math.hypot(along, away) and k * along >= SHORT


def _second_differences(first: np.ndarray, second: np.ndarray, halves: np.ndarray) -> np.ndarray:
    """Return the bands (wave, 2 reach + 1, points) of D h G; nothing lies beyond the ends.

    Entry (reach + m, i) is that of row i and column i + m.

    Args:
        first: coefficients of the staggered differences G (to half points) and D (back).
        second: of the second difference that stands for D G where h is 1; empty where D G does.
        halves: h (wave, points), 1/s at half points.
    """
    length = len(first)
    reach = 2 * length - 1
    count = halves.shape[1]
    ahead = np.concatenate([-first[::-1], first])  # at -length + 1/2, ..., length - 1/2
    bands = np.zeros((len(halves), 2 * reach + 1, count), complex)
    weights = np.pad(halves - 1.0 if second.size else halves, ((0, 0), (length, length)))
    for back in range(-length, length):
        # h at the half points that D takes from each row
        taken = ahead[back + length] * weights[:, length + back : length + back + count]
        for on in range(1 - length, length + 1):
            bands[:, reach + back + on] += ahead[on + length - 1] * taken
    for m in range(-len(second) + 1, len(second)):
        bands[:, reach + m] += second[abs(m)]
    return bands
