"""Equations of plane waves across absorbing layers, and P and SV waves that layers convert.

Damping changes both velocities by as much as it changes the density the other way: S waves send
back three times what SH waves do of nearly upright ones, and both kinds are converted into each
other. Across a layer vx at half points and vz at nodes, times exp(i k z - i w t), obey with the
differences, 1/s and W of `seismo.runs.prediction.layer_waves`::

    W^2 vx + (W/s) G (1/W) (a D/s vx + i k l vz) + i k b (G/s vz + i k vx) = 0
    W^2 vz + (W/s) D (b/W) (G/s vz + i k vx) + i k (a i k vz + l D/s vx) = 0

    a = vp^2,    b = vs^2,    l = a - 2 b
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from seismo.grid.spline import interpolated

WINDOW = 4  # points inside the face, over the length of a stencil
# Frequencies that are sampled where there are more, and the power by which they crowd at 0.
_FREQUENCIES = 60
_TOWARDS_ZERO = 1.5
_STEPS = 6  # of Newton's method
_INCIDENCES = 8  # between waves along the normal, P waves and S waves along the face, and decayed
_FINE = 301  # ranks between which they are interpolated


class LayerPoints(Protocol):
    """Points of a layer, as waves meet them (`seismo.runs.prediction.layer_waves.LayerWaves`)."""

    @property
    def velocity(self) -> float:
        """Of P waves in m/s."""

    @property
    def spacing(self) -> float:
        """Distance in m of points."""

    @property
    def first(self) -> np.ndarray:
        """Coefficients of differences."""

    def stretches(self, k: np.ndarray, inside: int) -> tuple[np.ndarray, np.ndarray]:
        """Return 1/s (wave, points) at nodes and half points."""

    def slowed(self, k: np.ndarray, inside: int) -> tuple[np.ndarray, np.ndarray]:
        """Return W (wave, points) over that inside, at nodes and half points."""

    def squared(self, k: np.ndarray) -> np.ndarray:
        """Return (W h / c)^2 (wave, 1) inside."""


def sent_back(layer: LayerPoints, vs: float, angular: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return reflections (wave, 2, 2): of P and SV waves that go back, by those that come.

    Amplitudes are those of displacement k of P waves, and k turned by 90 degrees of SV waves, of
    waves that come and, seen in the mirror of the face, of waves that go back.

    Args:
        layer: that they meet, at the velocity of P waves.
        vs: velocity of S waves in m/s.
        angular: (wave) w in 1/s.
        along: (wave) wavenumber along the face in 1/m.
    """
    first = layer.first
    inside = WINDOW * len(first)
    k = angular / layer.velocity
    stretched = layer.stretches(k, inside)
    slowed = layer.slowed(k, inside)
    squared = layer.squared(k)  # (W h / vp)^2
    kappa = layer.spacing * along[:, None]
    ratio = (vs / layer.velocity) ** 2
    bands = _bands(first, stretched, slowed, squared, kappa, ratio)
    across = np.sqrt(np.hstack([squared, squared / ratio]) - kappa**2 + 0j)
    across = np.where(across.imag < 0.0, -across, across)
    ones = np.broadcast_to(kappa, across[:, :1].shape)
    # Fields vx and vz of kinds P and SV.
    coming = np.array([[across[:, :1], ones], [ones, -across[:, 1:]]])
    back = np.array([[-across[:, :1], -ones], [ones, -across[:, 1:]]])
    fields = np.moveaxis(coming[..., 0], -1, 0), np.moveaxis(back[..., 0], -1, 0)
    return reflected(bands, _phases(first, across), fields, np.array([0.5, 0.0]), inside)


def _phases(first: np.ndarray, across: np.ndarray) -> np.ndarray:
    """Return q whose symbols (any shape) staggered differences have."""
    q = 2.0 * np.arcsin(0.5 * across + 0j)  # of differences of order 2
    for _ in range(_STEPS):
        slope = (symbol(first, q + 1e-4) - symbol(first, q - 1e-4)) / 2e-4
        q = q - (symbol(first, q) - across) / slope
    return q


def _bands(
    first: np.ndarray, stretched: tuple[np.ndarray, np.ndarray],
    slowed: tuple[np.ndarray, np.ndarray], squared: np.ndarray, kappa: np.ndarray, ratio: float,
) -> np.ndarray:  # fmt: skip
    """Return the bands (wave, equation, field, 2 reach + 1, points) over a = vp^2.

    Args:
        first: coefficients of differences.
        stretched: 1/s (wave, points) at nodes and at half points.
        slowed: W over that inside, in the same places.
        squared: (W h)^2 / a (wave, 1) inside.
        kappa: k h (wave, 1).
        ratio: b / a.
    """
    nodes, halves = stretched
    slow, slow_half = slowed
    down = -len(first)  # begin of D,
    up = down + 1  # and of G
    ik = 1j * kappa[:, None]
    lame = 1.0 - 2.0 * ratio
    outer = (nodes * slow)[:, None]
    outer_half = (halves * slow_half)[:, None]
    bands = np.array([
        [outer_half * _passed_twice(first, nodes / slow, (up, down)),
         ik * (lame * outer_half * _passed_once(first, 1.0 / slow, up)
               + ratio * halves[:, None] * _passed_once(first, np.ones_like(slow), up))],
        [ik * (ratio * outer * _passed_once(first, 1.0 / slow_half, down)
               + lame * nodes[:, None] * _passed_once(first, np.ones_like(slow), down)),
         ratio * outer * _passed_twice(first, halves / slow_half, (down, up))],
    ])  # fmt: skip
    reach = bands.shape[3] // 2
    bands[0, 0, :, reach] += squared * slow_half**2 - ratio * kappa**2
    bands[1, 1, :, reach] += squared * slow**2 - kappa**2
    return np.moveaxis(bands, 2, 0)


class SentBackConverted:
    """Reflections of P and SV waves by a layer, interpolated between samples."""

    def __init__(self, layer: LayerPoints, vs: float, angular: np.ndarray, decay: float) -> None:
        """Ask a layer of waves of frequencies w (frequency) in 1/s, and of a decay up to 1/m."""
        sampled, between = sampled_frequencies(angular)
        self.decay = decay
        self.speeds = np.array([layer.velocity, vs])
        self.angular = np.abs(angular)
        self.rank = np.linspace(0.0, 3.0, 3 * _INCIDENCES + 1)
        kx = self._along(np.abs(sampled), self.rank)
        w = np.repeat(sampled, len(self.rank))
        back = sent_back(layer, vs, w, kx.ravel()).reshape(*kx.shape, 2, 2)
        self.back = between(np.moveaxis(back, (2, 3), (0, 1)), 2)

    def of(self, kx: np.ndarray) -> np.ndarray:
        """Return it (kind back, kind coming, frequency, wave) of waves of kx in 1/m."""
        fine = np.linspace(0.0, 3.0, _FINE)
        ranks = [
            np.interp(np.abs(kx), along, fine) for along in self._along(self.angular, fine)
        ]  # fmt: skip
        mirrored = np.array([[np.ones_like(kx), np.sign(kx)], [np.sign(kx), np.ones_like(kx)]])
        return mirrored[:, :, None] * np.array([
            [[np.interp(r, self.rank, row) for r, row in zip(ranks, rows, strict=True)]
             for rows in kind]
            for kind in self.back
        ])  # fmt: skip

    def _along(self, angular: np.ndarray, rank: np.ndarray) -> np.ndarray:
        """Return kx (frequency, rank) in 1/m; P waves travel up to rank 1, S waves up to 2."""
        p, s = angular[:, None] / self.speeds[:, None, None]
        travelling = p * np.sin(0.5 * np.pi * np.minimum(rank, 1.0))
        between = 0.5 * (s - p) * (1.0 - np.cos(np.pi * np.clip(rank - 1.0, 0.0, 1.0)))
        return np.hypot(travelling + between, self.decay * np.maximum(rank - 2.0, 0.0) ** 2)


def sampled_frequencies(
    angular: np.ndarray,
) -> tuple[np.ndarray, Callable[[np.ndarray, int], np.ndarray]]:
    """Return frequencies that stand for others, and a function to interpolate along an axis."""
    if len(angular) <= _FREQUENCIES:
        return angular, lambda samples, axis: samples
    share = np.linspace(0.0, 1.0, _FREQUENCIES) ** _TOWARDS_ZERO
    sampled = angular[0] + (angular[-1] - angular[0]) * share

    def between(samples: np.ndarray, axis: int) -> np.ndarray:
        first = np.moveaxis(samples, axis, 0)
        every = interpolated(sampled.real, first.reshape(len(first), -1), angular.real)
        return np.moveaxis(every.reshape(-1, *first.shape[1:]), 0, axis)

    return sampled, between


def symbol(first: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return what staggered differences make of exp(i q n), over i."""
    return np.asarray(2.0 * np.sin(q[..., None] * (np.arange(len(first)) + 0.5)) @ first)


def reflected(
    bands: np.ndarray, q: np.ndarray, fields: tuple[np.ndarray, np.ndarray], late: np.ndarray,
    inside: int,
) -> np.ndarray:  # fmt: skip
    """Return amplitudes (wave, kind that goes back, kind that comes) of reflected waves.

    Args:
        bands: (wave, equation, field, 2 reach + 1, points) of the equations: entry (reach + m, i)
            is that of row i and column i + m.
        q: (wave, kind) phase from point to point.
        fields: (wave, field, kind) of waves that come, and of those that go back, at the face.
        late: (field) where it stands beyond its point.
        inside: points inside the face, known as waves or solved for.
    """
    reach = bands.shape[3] // 2
    kinds = q.shape[1]
    # Columns outside the window are waves that come, exp(i q n), and those going back: the first
    # unknowns.
    bands = np.moveaxis(bands[..., reach:], -1, 1)
    count = bands.shape[1]
    size = reach + 1
    padded = -(-count // size) * size
    blocks = np.zeros((len(q), padded, kinds, 3 * size, kinds), complex)
    right = np.zeros((len(q), size, kinds, kinds), complex)
    for m in range(-reach, reach + 1):
        row = np.arange(min(count, count - m))
        entries = bands[..., reach + m][:, row]
        within = row + m >= 1
        for equation in range(kinds):
            blocks[:, row[within], equation, row[within] % size + m + size] = entries[
                :, within, equation
            ]
        known = row[~within]
        position = (known + m + reach + 1 - inside)[:, None] + late
        phase = 1j * q[:, None, None, :] * position[None, :, :, None]
        coming, back = (
            np.einsum("wref,wrfk->wrek", entries[:, ~within], waves[:, None] * np.exp(turned))
            for waves, turned in zip(fields, (phase, -phase), strict=True)
        )
        right[:, known] -= coming
        blocks[..., size, :][:, known] += back
    rest = np.arange(count, padded)
    for equation in range(kinds):
        blocks[:, rest, equation, rest % size + size, equation] = 1.0
    shape = (len(q), padded * kinds, 3 * size * kinds)
    return _first_unknowns(blocks.reshape(shape), right.reshape(len(q), -1, kinds))


def _first_unknowns(blocks: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the first unknowns (wave, unknown, n) of block-tridiagonal equations.

    Which are overwritten.

    Args:
        blocks: (wave, equation, 3 size) coefficients of unknowns of the block before that of the
            equation, of its own and of the next.
        right: (wave, size, n) n right sides of the first block; those of others are zero.
    """
    size = right.shape[1]
    before, middle, after = (slice(n * size, (n + 1) * size) for n in range(3))
    for begin in range(blocks.shape[1] - size, 0, -size):  # elimination from the outer end
        block = blocks[:, begin : begin + size]
        above = blocks[:, begin - size : begin]
        above[:, :, middle] -= above[:, :, after] @ np.linalg.solve(
            block[:, :, middle], block[:, :, before]
        )
    solved = np.linalg.solve(blocks[:, :size, middle], right)
    return np.asarray(solved[:, : right.shape[2]])


def second_differences(first: np.ndarray, second: np.ndarray, halves: np.ndarray) -> np.ndarray:
    """Return the bands (wave, 2 reach + 1, points) of D h G; nothing lies beyond the ends.

    Entry (reach + m, i) is that of row i and column i + m.

    Args:
        first: coefficients of the staggered differences G (to half points) and D (back).
        second: of the second difference that stands for D G where h is 1; empty where D G does.
        halves: h (wave, points), 1/s at half points.
    """
    ends = -len(first), 1 - len(first)  # begins of D and G
    bands = _passed_twice(first, halves - 1.0 if second.size else halves, ends)
    reach = bands.shape[1] // 2
    for m in range(-len(second) + 1, len(second)):
        bands[:, reach + m] += second[abs(m)]
    return bands


def _passed_once(first: np.ndarray, weights: np.ndarray, begin: int) -> np.ndarray:
    """Return the bands (wave, 2 reach + 1, points) of staggered differences of weighted fields.

    Args:
        first: coefficients.
        weights: (wave, points) of the fields that are differentiated.
        begin: first of the points that they are taken from: half points around a node, or nodes
            around a half point.
    """
    length = len(first)
    reach = 2 * length - 1
    count = weights.shape[1]
    bands = np.zeros((len(weights), 2 * reach + 1, count), complex)
    padded = np.pad(weights, ((0, 0), (length, length)))
    for n, coefficient in enumerate(np.concatenate([-first[::-1], first])):
        m = begin + n
        bands[:, reach + m] = coefficient * padded[:, length + m : length + m + count]
    return bands


def _passed_twice(first: np.ndarray, weights: np.ndarray, begin: tuple[int, int]) -> np.ndarray:
    """Return the bands of differences of weighted differences, of those with begin[0] outside."""
    outer = _passed_once(first, weights, begin[0])
    bands = np.zeros_like(outer)
    for n, coefficient in enumerate(np.concatenate([-first[::-1], first])):
        m = begin[1] + n
        from_m = slice(max(0, -m), bands.shape[1] - max(0, m))
        bands[:, max(0, m) : bands.shape[1] + min(0, m)] += coefficient * outer[:, from_m]
    return bands
