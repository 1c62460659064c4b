"""What absorbing layers send back of waves that meet them at grazing incidence, on the grid.

Across a layer a scalar wave p exp(i k x - i w t), k its wavenumber along the layer, obeys with the
differences G (nodes to half points) and D (back), both stretched by the layer's 1/s::

    (W / c)^2 p - K(k)^2 p + (1/s) D (1/s) G p = 0,    1/s = 1/kappa + a / (1 - b exp(i w dt)),

with the run's own a, b, kappa (`seismo.solver.cpml`) and W = (2 / dt) sin(w dt / 2). Inside, p is a
wave exp(i q n) that comes and one, R exp(-i q n), that goes back; the equations of the layer's
points and of some inside it make R::

    inside, both waves | WINDOW points | the layer | nothing

A path from a source to a receiver by way of the layer's outer end has the angle and the length r of
that from the source's image. R changes much among the plane waves that arrive together, and is
their mean along the path of steepest descent (Aki & Richards 2002, section 6.1). It counts by how
much more than the straight path this one spreads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from seismo.acquisition.receivers import paths_of
from seismo.grid.grid import AXES
from seismo.solver.cpml import profiles
from seismo.solver.discretization import Discretization

GRAZING = "waves along absorbing layers"
_MOST_ENDS = 200  # sources, and receivers, between which paths are sought
_PATHS = 3  # by a face, the most grazing ones
_STEEP = 0.5  # cosine of the angle of incidence from which on nothing is told
_SHORT = 80.0  # radians along a face, below which plane waves of too many angles arrive together
_QUANTILES = (1e-3, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 0.999)  # of the energy, by frequency
# Plane waves that arrive along a path, as t of exp(-t^2).
_ANGLES = np.linspace(-4.0, 4.0, 17)


def grazing_error(setup: Discretization) -> float:
    """Return the relative error of the worst trace by waves that go along absorbing layers."""
    if not setup.groups:
        return 0.0
    sources = np.array([s.position for shot in setup.shots for s in shot.sources if s.is_local])
    if not sources.size:
        return 0.0
    by_face = [
        _by_face(setup, axis, side, sources) for axis, side in product(setup.grid.axes, (0, 1))
    ]
    return min(1.0, math.hypot(*by_face))


def _by_face(setup: Discretization, axis: str, side: int, sources: np.ndarray) -> float:
    """Return the error of the worst trace by one face."""
    grid = setup.grid
    a = AXES.index(axis)
    if not (grid.low[a], grid.high[a])[side]:
        return 0.0
    paths = _paths(setup, axis, side, sources)
    if not len(paths):
        return 0.0
    spectra = setup.waves.spectra
    below = np.cumsum(spectra.energy.mean(axis=0))
    frequencies = np.interp(_QUANTILES, below, spectra.frequency)
    errors = []
    for velocity in _velocities(setup, sources):
        k = 2.0 * math.pi * frequencies / velocity
        known = k * paths[:, 0].max() >= _SHORT
        if not known[len(known) // 2]:
            continue
        sent_back = _LayerWaves(setup, axis, side, velocity, k[known]).sent_back(paths).max(axis=0)
        logarithms = np.log(spectra.frequency), np.log(frequencies[known])
        errors.append(spectra.error(np.interp(*logarithms, sent_back)))
    return float(np.sqrt(np.mean(np.square(errors or [0.0]))))


def _paths(setup: Discretization, axis: str, side: int, sources: np.ndarray) -> np.ndarray:
    """Return lengths in m of paths (n, 3): along a face, to it and from it, and straight."""
    grid = setup.grid
    a = AXES.index(axis)
    columns = [AXES.index(other) for other in grid.axes if other != axis]
    edge = grid.limits(axis)[side]
    outer = abs(float(grid.coordinate(axis, (0, grid.points[a] - 1)[side])) - edge)
    paths = [np.zeros((0, 3))]
    for pair in paths_of(sources, setup.groups):
        acting, reading = (ends[:: -(-len(ends) // _MOST_ENDS)] for ends in pair)
        offset = acting[:, None] - reading[None]
        along = np.linalg.norm(offset[..., columns], axis=-1)
        away = np.abs(acting[:, None, a] - edge) + np.abs(reading[None, :, a] - edge)
        straight = np.hypot(along, offset[..., a])
        paths.append(np.stack([along, away, straight], axis=-1).reshape(-1, 3))
    every = np.concatenate(paths)
    through = every[:, 1] + 2.0 * outer
    cosines = through / np.hypot(every[:, 0], through)
    order = np.argsort(cosines)[:_PATHS]
    return every[order[cosines[order] < _STEEP]]


def _velocities(setup: Discretization, sources: np.ndarray) -> list[float]:
    """Return the velocities in m/s of P and S waves where the first source is."""
    x, y, z = (np.array([coordinate]) for coordinate in sources[0])
    medium = setup.earth.sample(z, y if setup.grid.dimensions == 3 else None, x)
    names = ["vp", "vs"] if setup.waves.shear else ["vp"]
    speeds = [float(np.ravel(medium[name])[0]) for name in names if name in medium]
    return [speed for speed in speeds if speed] or [setup.waves.slowest]


@dataclass(frozen=True)
class _LayerWaves:
    """Waves of one velocity that meet the layer at a face.

    Attributes:
        setup: of the run.
        axis: that the face is across.
        side: 0 of the low face, 1 of the high one.
        velocity: m/s.
        k: (wave) wavenumbers in 1/m.
    """

    setup: Discretization
    axis: str
    side: int
    velocity: float
    k: np.ndarray

    @property
    def spacing(self) -> float:
        """Distance in m of points in the layer."""
        grid = self.setup.grid
        n = AXES.index(self.axis)
        edge = (grid.low[n], grid.points[n] - grid.high[n] - 1)[self.side]
        return grid.edge(self.axis, edge)

    @property
    def _nodes(self) -> int:
        """Points that the equations are solved for."""
        return self.stretches(self.k)[0].shape[1]

    @property
    def inside(self) -> int:
        """Points inside the face that the equations are solved for, and know as waves."""
        return 4 * len(self.setup.stencil.first)

    def sent_back(self, paths: np.ndarray) -> np.ndarray:
        """Return what comes back (path, wave) over what arrives straight.

        That is a mean along t, exp(i k r cos u) = exp(i k r - t^2), of incidences u past the
        image's: sin(u / 2) = exp(-i pi / 4) t / sqrt(2 k r).

        Args:
            paths: as `_paths` returns them.
        """
        along, away, straight = (column[:, None] for column in paths.T)
        depth = self.spacing * (self._nodes - self.inside)
        distance = away + 2.0 * depth
        r = np.hypot(along, distance)
        half_sine = np.exp(-0.25j * math.pi) * _ANGLES / np.sqrt(2.0 * self.k * r)[:, :, None]
        cosine = np.cos(np.arccos(distance / r)[:, :, None] + 2.0 * np.arcsin(half_sine))
        k = np.broadcast_to(self.k[:, None], cosine.shape)
        back = self.plane_waves(k.ravel(), cosine.ravel()).reshape(cosine.shape)
        back = back * np.exp(-2j * k * cosine * depth - _ANGLES**2) / np.sqrt(1.0 - half_sine**2)
        dimensions = self.setup.grid.dimensions
        total = back.sum(axis=-1) * (_ANGLES[1] - _ANGLES[0]) / math.sqrt(math.pi)
        return np.asarray(np.abs(total) * (straight / r) ** (0.5 * dimensions - 0.5))

    def plane_waves(self, k: np.ndarray, cosine: np.ndarray) -> np.ndarray:
        """Return R (wave) at the face of waves of incidences that may be complex."""
        first = np.asarray(self.setup.stencil.first)
        outside = 2 * len(first)
        q = self.spacing * k * cosine
        nodes, halves = self.stretches(k)
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
        system += across[:, None, None] * np.eye(count)
        # Rows beyond the window, whose fields are the waves that come and go back.
        rows = slice(outside - 1, None)
        points = 1j * q[:, None] * (np.arange(outside) - self.inside + 1)
        coming, going = (
            np.einsum("wij,wj->wi", system[:, rows, :outside], np.exp(sign * points))
            for sign in (1.0, -1.0)
        )
        unknown = np.concatenate([going[:, :, None], system[:, rows, outside:]], axis=2)
        return np.asarray(np.linalg.solve(unknown, -coming[:, :, None])[:, 0, 0])

    def stretches(self, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return 1/s (wave, points) at nodes and half points, from inside to the outer end."""
        setup = self.setup
        n = AXES.index(self.axis)
        width = (setup.grid.damped.low[n], setup.grid.damped.high[n])[self.side]
        rows = profiles(setup)[0][self.axis]
        delay = np.exp(1j * self.velocity * k * setup.clock.dt)[:, None]
        stretched = []
        for first in (0, 3):
            b, a, ikappa = rows[first : first + 3]
            if not self.side:
                # The half point after a node is, seen from the other end, that before it.
                b, a, ikappa = (np.roll(r[::-1], -1) if first else r[::-1] for r in (b, a, ikappa))
            b, a, ikappa = (r[len(r) - width :] for r in (b, a, ikappa))
            within_layer = ikappa + a / (1.0 - b * delay)
            if first and not self.side:
                # The half point beyond the first node is none of the grid's.
                within_layer[:, -1] = float(setup.physics.differences == "second")
            ahead = np.ones((len(k), self.inside))
            stretched.append(np.concatenate([ahead, within_layer], axis=1))
        return stretched[0], stretched[1]


def _differences(first: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return G and D (count, count) of spacing 1; nothing lies beyond their ends."""
    gap = np.arange(count)[None, :] - np.arange(count)[:, None]
    odd = np.concatenate([[0.0], first, np.zeros(count)])
    up = np.where(gap > 0, odd[np.abs(gap)], -odd[np.abs(gap - 1)])
    down = np.where(gap >= 0, odd[np.abs(gap + 1)], -odd[np.abs(gap)])
    return up, down
