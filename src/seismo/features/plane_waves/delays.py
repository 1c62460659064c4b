"""Delays of a plane wave at the columns of the grid, and the short filters that have them.

Along an axis with no slowness a wave comes to all columns together, and what they are given differs
by a factor; along another one each has a delay of its own. Columns (y, x) are all products of both.

A wave with horizontal slowness p has at x the motion of its column a time p . x later. Where time
dispersion is removed from the traces a frequency w of the grid stands for Omega = 2 / dt sin(w dt /
2), and the wave has the phase exp(-i Omega p . x): a delay that depends on frequency. A filter of a
few samples about a whole number of steps has it, and the weights of a difference, for all
frequencies that a signal holds, by least squares.

Delays along x and y add up, so that responses are products: only the factors along each axis are
computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seismo.backends.point_kernels import TOGETHER
from seismo.features.plane_waves.plane_wave import PlaneWave, WaveBox
from seismo.grid.grid import AXES
from seismo.solver.discretization import Discretization

_SHORTEST = 12  # samples
_LONGEST = 40
_FREQUENCIES = 193
ERROR = 3e-7  # of the largest response, times the spectrum, whose peak is 1
_LEAST_WEIGHT = 1e-4  # of frequencies that a signal hardly holds
_RANK = 3e-8  # of the least singular value that counts: weights stay of the size of 1
_SPREAD = 3.0  # steps by which frequencies of a segment arrive apart, at most
_HELD = 1e-5  # of the spectrum's peak: frequencies that count for it
_TRIED = 256  # places that tell how long filters are
_AT_ONCE = 4096  # places that are computed together


class SignalBand(NamedTuple):
    """The spectrum of signals that filters are fitted to.

    Attributes:
        strength: (n) of a signal at equal steps of frequency from 0 to the highest, at most 1.
        highest: of its frequencies, in radians per step.
        removal: whether delays are of traces that are freed from time dispersion.
    """

    strength: np.ndarray
    highest: float
    removal: bool

    @property
    def counting(self) -> float:
        """The highest frequency that counts, in radians per step."""
        last = np.flatnonzero(self.strength > _HELD)[-1]
        return self.highest * float(last) / max(1, self.strength.size - 1)

    @property
    def segment(self) -> float:
        """Steps of delay for which filters of a signal serve."""
        return 8.0 * _SPREAD / self.counting**2 if self.removal else np.inf


class AxisDelays(NamedTuple):
    """How late a wave comes to places along an axis, or sums of such waves.

    Attributes:
        offsets: (place, term) delays in steps.
        weights: (place, term) of the sum.
    """

    offsets: np.ndarray
    weights: np.ndarray

    @property
    def middle(self) -> np.ndarray:
        """Mean delay (place) in steps, by the sizes of the weights."""
        size = np.abs(self.weights)
        return np.asarray((self.offsets * size).sum(1) / size.sum(1))

    def response(self, frequency: np.ndarray) -> np.ndarray:
        """Return the sum's response (n, place) to exp(i w t), frequencies (n) in rad a step."""
        phases = np.exp(-1j * np.multiply.outer(frequency, self.offsets))
        return np.asarray((phases * self.weights).sum(2))


class RetardedFilters(NamedTuple):
    """Filters of several places.

    Attributes:
        taps: (place, sample) weights.
        lags: (place) steps: sample k counts from the step that is so many earlier.
    """

    taps: np.ndarray
    lags: np.ndarray


def middle(y: AxisDelays, x: AxisDelays) -> np.ndarray:
    """Return the mean delays (y * x) of places (y, x) in steps."""
    return (y.middle[:, None] + x.middle).ravel()


def retarded_filters(
    y: AxisDelays, x: AxisDelays, references: np.ndarray, band: SignalBand
) -> RetardedFilters:
    """Return filters that sum a signal at several delays with weights.

    Args:
        y: delays of places along y.
        x: the same along x.
        references: (y * x) delays in steps of places (y, x) for which signals are dispersed.
        band: of the signals.
    """
    fit = _Fit(y, x, references, band)
    count = references.size
    # Some places tell the length.
    tried = np.unique(np.linspace(0, count - 1, _TRIED).astype(int))
    wanted = fit.responses(tried)
    for length in range(_SHORTEST, _LONGEST + 1, TOGETHER):
        if fit.error(wanted, length) <= ERROR:
            break
    # All places, in blocks.
    inverse = np.linalg.pinv(fit.basis(length), rcond=_RANK)
    taps = np.empty((count, length))
    for first in range(0, count, _AT_ONCE):
        block = np.arange(first, min(first + _AT_ONCE, count))
        taps[block] = (inverse @ fit.responses(block)).T
    return RetardedFilters(taps, fit.centres + length // 2)


class _Fit:
    """Least squares of the weights of filters, at given frequencies.

    Attributes:
        centres: (place) the whole numbers of steps that filters stand about.
    """

    def __init__(
        self, y: AxisDelays, x: AxisDelays, references: np.ndarray, band: SignalBand
    ) -> None:
        self._frequency = np.linspace(0.0, band.highest, _FREQUENCIES)
        # Errors count by the spectrum.
        sampled_at = np.linspace(0.0, band.highest, band.strength.size)
        strength = np.interp(self._frequency, sampled_at, band.strength)
        self._importance = np.maximum(strength, _LEAST_WEIGHT)[:, None]
        true = 2.0 * np.sin(0.5 * self._frequency) if band.removal else self._frequency
        self._along = [axis.response(true) for axis in (y, x)]
        # Signals have exp(-i (Omega - w) reference) already: few delays remain.
        kinds, self._kind = np.unique(references, return_inverse=True)
        self._shared = np.exp(1j * np.outer(true - self._frequency, kinds))
        self.centres = np.round(middle(y, x)).astype(np.int64)
        self._steps, self._step = np.unique(self.centres, return_inverse=True)
        self._late = np.exp(1j * np.outer(self._frequency, self._steps))

    def responses(self, numbers: np.ndarray) -> np.ndarray:
        """Return the wanted responses about the centres of places, (2 frequency, place).

        Times the weights of frequencies; real parts, then imaginary parts.
        """
        along_y, along_x = self._along
        at_y, at_x = np.divmod(numbers, along_x.shape[1])
        response = along_y[:, at_y] * along_x[:, at_x]
        response *= self._late[:, self._step[numbers]]
        response *= self._shared[:, self._kind[numbers]]
        return self._weighted(response)

    def basis(self, length: int) -> np.ndarray:
        """Return the responses (2 frequency, sample) of the samples of a filter."""
        ahead = np.arange(length) - length // 2
        return self._weighted(np.exp(1j * np.outer(self._frequency, ahead)))

    def error(self, wanted: np.ndarray, length: int) -> float:
        """Return the largest error of responses by filters of a length, over the largest."""
        basis = self.basis(length)
        made = basis @ (np.linalg.pinv(basis, rcond=_RANK) @ wanted)
        return float(np.abs(made - wanted).max() / self._largest(wanted))

    def _largest(self, wanted: np.ndarray) -> float:
        real, imaginary = np.split(wanted, 2)
        return float((np.hypot(real, imaginary) / self._importance).max())

    def _weighted(self, response: np.ndarray) -> np.ndarray:
        response = response * self._importance
        return np.concatenate([response.real, response.imag])


class IncidentTerm(NamedTuple):
    """What a stage's differences along an axis lack of a field.

    Attributes:
        stage: after which it is added.
        field: name.
        points: along x, y, z, indices of the points that it is added to: all of their product.
        numbers: (y, x) of each column: which of the delays that differ it has.
        scales: (y, x) factors of a column's signals.
        signals: (segment, step, z) of each row, for delays that are similar.
        segments: (delay) which of them.
        filters: of the delays.
    """

    stage: str
    field: str
    points: tuple[np.ndarray, np.ndarray, np.ndarray]
    numbers: np.ndarray
    scales: np.ndarray
    signals: np.ndarray
    segments: np.ndarray
    filters: RetardedFilters


class ColumnsAlong(NamedTuple):
    """Columns along x or y.

    Attributes:
        points: (n) their indices.
        numbers: (n) which of the delays each has.
        scales: (n) factors of its signals.
        delays: that differ.
    """

    points: np.ndarray
    numbers: np.ndarray
    scales: np.ndarray
    delays: AxisDelays


class WaveColumns(NamedTuple):
    """Columns (y, x): all products of columns along each axis."""

    x: ColumnsAlong
    y: ColumnsAlong

    @property
    def numbers(self) -> np.ndarray:
        """Number of the delay of each (y, x): of the distinct delays, in rows of x."""
        return self.y.numbers[:, None] * len(self.x.delays.offsets) + self.x.numbers

    @property
    def scales(self) -> np.ndarray:
        """What the signals of each (y, x) are multiplied by."""
        return np.multiply.outer(self.y.scales, self.x.scales)


def wave_columns(
    discretization: Discretization, wave: PlaneWave, box: WaveBox, axis: str, field: str
) -> WaveColumns | None:
    """Return the columns in which a field lacks derivatives of a wave, None if there are none.

    Args:
        discretization: the run.
        wave: its plane wave.
        box: of the wave.
        axis: of the derivatives.
        field: name of the field that they change.
    """
    half = discretization.physics.named(field).half
    x, y = (_along(discretization, wave, box, a, a == axis, a in half) for a in "xy")
    return WaveColumns(x, y) if x.points.size and y.points.size else None


def _along(
    discretization: Discretization,
    wave: PlaneWave,
    box: WaveBox,
    axis: str,
    crossing: bool,
    half: bool,
) -> ColumnsAlong:
    """Return the columns along x or y, across the faces of the box or along them.

    Args:
        discretization: the run.
        wave: its plane wave.
        box: of the wave.
        axis: "x" or "y".
        crossing: whether the derivatives are along it.
        half: whether the points lie half a cell further.
    """
    grid = discretization.grid
    at: np.ndarray = np.arange(grid.points[AXES.index(axis)])
    points: np.ndarray = at[box.inside(axis, half, at)]
    lacking: np.ndarray = np.ones((points.size, 1))
    offset = 0.5 * half + np.zeros(1)
    # Across the face the sum of a difference, each of whose values comes with its own delay.
    if crossing:
        points, lacking = _across(discretization, box, axis, half)
        arms = np.arange(len(discretization.stencil.first)) + 0.5
        offset = 0.5 * half + np.concatenate([arms, -arms])
    # Horizontal slowness times velocity: the wave's direction along the axis.
    along = wave.level[AXES.index(axis)]
    # No slowness: a single delay, and factors that are the sums of the weights.
    if along == 0.0:
        together = AxisDelays(np.zeros((1, 1)), np.ones((1, 1)))
        return ColumnsAlong(points, np.zeros(points.size, np.int64), lacking.sum(1), together)
    # Steps that the wave takes for a cell, counted from the corner that it comes to first.
    steps = along * grid.spacing[AXES.index(axis)] / wave.velocity / discretization.clock.dt
    corner = float(grid.index(axis, wave.position[AXES.index(axis)]))
    offsets = (points[:, None] + offset - corner) * steps
    ones = np.ones(points.size)
    return ColumnsAlong(points, np.arange(points.size), ones, AxisDelays(offsets, lacking))


def _across(
    discretization: Discretization, box: WaveBox, axis: str, half: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the points along an axis whose differences cross the boundary, and their weights.

    Returns:
        (n) indices; (n, 2 M) c_m (chi_i - chi_j) / h for j ahead, then for j behind.
    """
    grid = discretization.grid
    first = discretization.stencil.first / grid.spacing[AXES.index(axis)]
    at = np.arange(grid.points[AXES.index(axis)])
    is_inside = box.inside(axis, half, at).astype(float)
    columns = []
    for sign in (1, -1):
        for m, c in enumerate(first):
            # Half a cell up from nodes are half points of the same number.
            there = at + (m + half if sign > 0 else half - 1 - m)
            # chi = 1 within the box, where fields hold the whole wave; 0 outside.
            chi = is_inside - box.inside(axis, not half, there)
            columns.append(sign * c * chi)
    lacking = np.stack(columns, axis=1)
    reached = (lacking != 0.0).any(axis=1)
    return at[reached], lacking[reached]
