"""Plane waves that meet absorbing layers, on the grid.

Across a layer a scalar wave p exp(i k x - i w t), k its wavenumber along the layer, obeys with the
differences G (nodes to half points) and D (back), both stretched by the layer's 1/s::

    (W / c)^2 p - K(k)^2 p + (1/s) D (1/s) G p = 0,    1/s = 1/kappa + a / (1 - b exp(i w dt)),

with a, b, kappa and m of the layer (`seismo.solver.absorbing.cpml`) and, with the factor m by which
fields fall in a step, W = (i / dt) (exp(-i w dt / 2) / m - exp(i w dt / 2)). Inside, p is a wave
exp(i q n) that comes and one, R exp(-i q n), that goes back; the equations of the layer's points
and of some inside it make R::

    inside, both waves | WINDOW points | the layer | nothing
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seismo.grid.grid import AXES
from seismo.solver.absorbing.cpml import PmlParameters, outward
from seismo.solver.discretization import Discretization


@dataclass(frozen=True)
class LayerWaves:
    """Waves of one velocity that meet a layer at a face.

    Attributes:
        setup: of the run.
        axis: that the face is across.
        side: 0 of the low face, 1 of the high one.
        velocity: m/s.
        layer: its strength.
        points: of the layer.
        coarser: times as large a spacing as the run's own.
    """

    setup: Discretization
    axis: str
    side: int
    velocity: float
    layer: PmlParameters
    points: int
    coarser: float = 1.0

    @property
    def spacing(self) -> float:
        """Distance in m of points in the layer."""
        grid = self.setup.grid
        n = AXES.index(self.axis)
        edge = (grid.low[n], grid.points[n] - grid.high[n] - 1)[self.side]
        return self.coarser * grid.edge(self.axis, edge)

    @property
    def depth(self) -> float:
        """Thickness of the layer in m."""
        return self.points * self.spacing

    def stretched_depth(self, k: np.ndarray) -> np.ndarray:
        """Return the complex thickness (wave) in m, the sum of s, as waves go through upright."""
        return np.asarray(self.spacing * (1.0 / self._stretches(k, 0)[0]).sum(axis=1))

    def sent_back(self, k: np.ndarray, cosine: np.ndarray) -> np.ndarray:
        """Return R (wave) at the face of waves of incidences that may be complex.

        Args:
            k: (wave) wavenumbers in 1/m.
            cosine: (wave) of the incidences.
        """
        first = np.asarray(self.setup.stencil.first)
        outside = 2 * len(first)
        inside = 2 * outside  # points inside the face, known as waves or solved for
        q = self.spacing * k * cosine
        nodes, halves, damping = self._stretches(k, inside)
        count = nodes.shape[1]
        up, down = _differences(first, count)
        if self.setup.physics.differences == "second":
            second = np.asarray(self.setup.stencil.second)
            gap = np.abs(np.arange(count)[None, :] - np.arange(count)[:, None])
            straight = np.concatenate([second, np.zeros(count)])[gap]
            across = 2.0 * (1.0 - np.cos(np.outer(q, np.arange(1, len(second))))) @ second[1:]
        else:
            straight = down @ up
            across = (2.0 * np.sin(np.outer(q, np.arange(len(first)) + 0.5)) @ first) ** 2
        system = nodes[:, :, None] * (straight + down @ ((halves[:, :, None] - 1.0) * up))
        system[:, np.arange(count), np.arange(count)] += across[:, None] + damping
        # Rows beyond the window, whose fields are the waves that come and go back.
        rows = slice(outside - 1, None)
        points = 1j * q[:, None] * (np.arange(outside) - inside + 1)
        coming, going = (
            np.einsum("wij,wj->wi", system[:, rows, :outside], np.exp(sign * points))
            for sign in (1.0, -1.0)
        )
        unknown = np.concatenate([going[:, :, None], system[:, rows, outside:]], axis=2)
        return np.asarray(np.linalg.solve(unknown, -coming[:, :, None])[:, 0, 0])

    def _stretches(self, k: np.ndarray, inside: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return 1/s (wave, points) at nodes and half points, from inside to the outer end.

        And what the damping of the fields adds to (W h / c)^2 there.
        """
        setup = self.setup
        dt = self.coarser * setup.clock.dt
        rows = outward(self.layer, self.points, self.spacing, dt, setup.finer)
        turn = np.exp(0.5j * self.velocity * k * dt)[:, None]
        stretched = []
        for first in (0, 3):
            b, a, ikappa = rows[first : first + 3]
            within_layer = ikappa + a / (1.0 - b * turn**2)
            if first and not self.side:
                # The half point beyond the first node is none of the grid's.
                within_layer[:, -1] = float(setup.physics.differences == "second")
            stretched.append(np.pad(within_layer, ((0, 0), (inside, 0)), constant_values=1.0))
        kept = np.pad(rows[6], (inside, 0), constant_values=1.0)
        rate = self.spacing / (self.velocity * dt)
        damping = (1.0 / turn - turn) ** 2 - (1.0 / (turn * kept) - turn) ** 2
        return stretched[0], stretched[1], rate**2 * damping


def _differences(first: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return G and D (count, count) of spacing 1; nothing lies beyond their ends."""
    gap = np.arange(count)[None, :] - np.arange(count)[:, None]
    odd = np.concatenate([[0.0], first, np.zeros(count)])
    up = np.where(gap > 0, odd[np.abs(gap)], -odd[np.abs(gap - 1)])
    down = np.where(gap >= 0, odd[np.abs(gap + 1)], -odd[np.abs(gap)])
    return up, down
