"""The incident field at points of a run, at the times at which its steps take it.

A run with the grid and the steps of the recorded run takes its records as they are. Others have
them interpolated: in space by Lagrange's polynomials along each axis, in time by a windowed sinc.
Time dispersion belongs to a time step (`seismo.acquisition.time_dispersion`): where steps differ,
that of the recorded run is removed, and that of this run added.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from seismo.acquisition.time_dispersion import add_dispersion, remove_dispersion
from seismo.features.wavefield_boxes.face_ground import FaceGround, face_ground
from seismo.features.wavefield_boxes.recorded_box import RecordedBox
from seismo.features.wavefield_boxes.shell import ROUNDING
from seismo.features.wavefield_boxes.source import RecordedWavefield, reach
from seismo.grid.grid import AXES
from seismo.solver.discretization import Discretization

POINTS = 8  # of a polynomial
TAPS = 24  # of the interpolation in time
_BETA = 10.0  # of its Kaiser window: 1e-5 up to 0.7 of the Nyquist frequency
_BLOCK = 1 << 22  # numbers that are read or transformed at once


@dataclass(frozen=True)
class IncidentPoints:
    """Points of fields at which the incident field is taken.

    Attributes:
        kinds: names of fields, and by how many steps they are newer than at a step's beginning.
        kind: (n) number of the kind.
        index: (n, 3) x, y, z in the grid.
    """

    kinds: list[tuple[str, int]]
    kind: np.ndarray
    index: np.ndarray

    def __len__(self) -> int:
        """Count them."""
        return len(self.kind)


class _AxisReading(NamedTuple):
    """How points of a slab are read along an axis: recorded points, and weights if not as such."""

    taken: slice
    weights: np.ndarray | None


class _SlabReading(NamedTuple):
    """The points of a field about a face that are read.

    Attributes:
        face: whose slab of the recorded run.
        field: name of the field.
        axes: of z, [y,] x.
        points: numbers of the points that are wanted, in the slab of this run.
        signals: (n) whose signals they are.
    """

    face: str
    field: str
    axes: list[_AxisReading]
    points: np.ndarray
    signals: np.ndarray


class IncidentSignals:
    """The signals of a recorded wavefield at given points."""

    def __init__(
        self, discretization: Discretization, wavefield: RecordedWavefield, points: IncidentPoints
    ) -> None:
        """Find where each is recorded; resample them where steps differ."""
        self._recorded = recorded = wavefield.recorded
        self._points = points
        # The file stays open: windows are read while the run steps.
        self._results = recorded.open()
        self._slabs = list(_readings(discretization, wavefield, points))
        self._known: dict[int, np.ndarray] = {}
        self._resampled: np.ndarray | None = None
        # Records of steps of the same length have their dispersion.
        removal = discretization.scenario.time.dispersion_removal
        is_same_step = abs(recorded.dt / discretization.clock.dt - 1.0) < ROUNDING
        if not is_same_step or removal != recorded.removal:
            self._resampled = self._at_steps(discretization)

    def window(self, first: int, count: int) -> np.ndarray:
        """Return the samples (step, signal) that so many steps take; 0 behind the records."""
        if self._resampled is not None:
            samples = np.zeros((count, len(self._points)), np.float32)
            known = self._resampled[first : first + count]
            samples[: len(known)] = known
            return samples
        # Record k has a field as it is after k every steps; newer fields are those of the next.
        steps = np.arange(first, first + count)
        every = self._recorded.every
        shifts = {shift for _, shift in self._points.kinds}
        reading = {shift: interpolation((steps + shift) / every) for shift in shifts}
        records = self._records_of({k for number, _ in reading.values() for k in number.tolist()})
        samples = np.zeros((count, len(self._points)), np.float32)
        for columns, (_, shift) in self._columns():
            numbers, weights = reading[shift]
            known = np.array([records[k][columns] for k in numbers.tolist()])
            samples[:, columns] = weights @ known
        return samples

    def _columns(self) -> Iterator[tuple[slice, tuple[str, int]]]:
        """Yield the signals of each kind, which are neighbours."""
        ends = np.searchsorted(self._points.kind, np.arange(len(self._points.kinds) + 1))
        for kind, (begin, end) in zip(self._points.kinds, pairwise(ends.tolist()), strict=True):
            yield slice(begin, end), kind

    def _records_of(self, numbers: set[int]) -> dict[int, np.ndarray]:
        """Return records (signal) by their numbers, zeros beside the first and the last."""
        wanted = sorted(number for number in numbers if 0 <= number < self._recorded.records)
        # Windows overlap: what the last one has read is kept.
        known = {number: self._known[number] for number in wanted if number in self._known}
        unread = [number for number in wanted if number not in known]
        if unread:
            block = self._read(unread[0], unread[-1] + 1 - unread[0])
            known |= {number: block[number - unread[0]] for number in unread}
        self._known = known
        zeros = np.zeros(len(self._points), np.float32)
        return {number: known.get(number, zeros) for number in numbers}

    def _read(self, first: int, count: int) -> np.ndarray:
        """Return records (record, signal) of the file."""
        records = np.zeros((count, len(self._points)), np.float32)
        slabs = self._results.boxes[self._recorded.name]
        for slab in self._slabs:
            index = (slice(first, first + count), *(axis.taken for axis in slab.axes))
            fields = slabs[slab.face].values_of(slab.field, index)
            # Along z, y and x in turn, from recorded points to those of this run.
            for number, (_, weights) in enumerate(slab.axes, 1):
                if weights is not None:
                    product = np.tensordot(weights, fields, (1, number))
                    fields = np.moveaxis(product, 0, number)
            # The points that are taken, a signal each.
            records[:, slab.signals] = fields.reshape(count, -1)[:, slab.points]
        return records

    def _at_steps(self, discretization: Discretization) -> np.ndarray:
        """Return all samples (step, signal), whose time dispersion is that of the steps."""
        recorded = self._recorded
        steps = discretization.total_steps
        # All records, a block of them after the other.
        records = _array((recorded.records, len(self._points)))
        block = max(1, _BLOCK // max(1, len(self._points)))
        for first in range(0, recorded.records, block):
            count = min(block, recorded.records - first)
            records[first : first + count] = self._read(first, count)
        # Then all times of a block of signals of a kind.
        samples = _array((steps, len(self._points)))
        width = max(1, _BLOCK // max(steps, recorded.records * recorded.every))
        for columns, (name, shift) in self._columns():
            for first in range(columns.start, columns.stop, width):
                signals = slice(first, min(first + width, columns.stop))
                samples[:, signals] = _resampled(
                    records[:, signals], recorded, discretization, (recorded.lags[name], shift)
                )
        return samples


def _resampled(
    records: np.ndarray, recorded: RecordedBox, discretization: Discretization,
    times: tuple[float, int],
) -> np.ndarray:  # fmt: skip
    """Return records (record, n) of a field at the times of steps: (step, n).

    Args:
        records: the records.
        recorded: whose they are.
        discretization: whose steps take them.
        times: lag of the field, and by how many steps it is newer than at a step's beginning.
    """
    lag, shift = times
    dt = discretization.clock.dt
    # All steps of the recorded run, without its dispersion.
    every_step = np.arange((recorded.records - 1) * recorded.every + 1)
    series = interpolated(records, every_step / recorded.every)
    if recorded.removal:
        series = remove_dispersion(series.T, -lag).T
    # Steps n take the field at n + shift - lag steps, with their own.
    offset = shift - lag
    wanted = (np.arange(discretization.total_steps) + offset) * dt / recorded.dt + lag
    series = interpolated(series, wanted)
    if discretization.scenario.time.dispersion_removal:
        series = add_dispersion(series.T, offset).T
    return series


def _array(shape: tuple[int, int]) -> np.ndarray:
    """Return an array of zeros, in a temporary file where it is large."""
    if shape[0] * shape[1] <= _BLOCK:
        return np.zeros(shape, np.float32)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, np.float32, "w+", shape=shape)


def interpolated(series: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return series (sample, n) at places (m) in samples: (m, n); they are 0 beside theirs."""
    numbers, weights = interpolation(at)
    inside = (numbers >= 0) & (numbers < len(series))
    return np.asarray(weights[:, inside] @ np.asarray(series[numbers[inside]], float))


def interpolation(at: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return the numbers (k) of samples that places (m) in samples take, and weights (m, k).

    Those of a sinc with a Kaiser window (Kaiser & Schafer 1980); whole samples are taken as such.
    """
    from scipy.sparse import csr_array  # other runs need none

    nearest = np.rint(at).astype(int)
    if np.abs(at - nearest).max() < ROUNDING:
        taken = nearest[:, None]
        weights = np.ones(taken.shape)
    else:
        # Half of the taps on either side.
        taken = np.floor(at).astype(int)[:, None] + np.arange(1 - TAPS // 2, TAPS // 2 + 1)
        distance = at[:, None] - taken
        width = np.sqrt(np.maximum(0.0, 1.0 - (2.0 * distance / TAPS) ** 2))
        weights = np.sinc(distance) * np.i0(_BETA * width) / np.i0(_BETA)
    numbers, columns = np.unique(taken, return_inverse=True)
    rows = np.repeat(np.arange(at.size), taken.shape[1])
    shape = (at.size, numbers.size)
    return numbers, csr_array((weights.ravel(), (rows, columns.ravel())), shape=shape)


def _readings(
    discretization: Discretization, wavefield: RecordedWavefield, points: IncidentPoints
) -> Iterator[_SlabReading]:
    """Yield the slabs of fields from which points are read, each point from a single slab."""
    grid = discretization.grid
    ground = face_ground(discretization, wavefield.box, reach(discretization))
    # Slabs overlap at the edges of the box.
    is_unread = np.ones(len(points), bool)
    for face, slab in wavefield.box.slabs(reach(discretization)).items():
        within = np.all((points.index >= slab.lo) & (points.index < slab.hi), axis=1) & is_unread
        is_unread &= ~within
        for number, (name, _) in enumerate(points.kinds):
            signals = np.flatnonzero(within & (points.kind == number))
            if not signals.size:
                continue
            # Their numbers among all points of the slab.
            axes = [AXES.index(axis) for axis in reversed(grid.axes)]
            index = tuple(points.index[signals, a] - slab.lo[a] for a in axes)
            flat = np.asarray(np.ravel_multi_index(index, [slab.shape[a] for a in axes]))
            reading = [
                _axis_reading(
                    discretization, wavefield.recorded, ground, face, name, AXES[a],
                    np.arange(slab.lo[a], slab.hi[a]),
                )
                for a in axes
            ]  # fmt: skip
            yield _SlabReading(face, name, reading, flat, signals)


def _axis_reading(
    discretization: Discretization, recorded: RecordedBox, ground: FaceGround, face: str,
    name: str, axis: str, nodes: np.ndarray,
) -> _AxisReading:  # fmt: skip
    """Return how a field at or half a cell behind nodes (n) of an axis is read from a slab."""
    # Coordinates of both runs, where the field stands in their cells.
    half = 0.5 * (axis in discretization.physics.named(name).half)
    wanted = np.asarray(discretization.grid.coordinate(axis, nodes + half))
    half = 0.5 * (axis in recorded.half[name])
    samples = recorded.slabs[face][axis] + half * recorded.spacing[axis]
    # Rows under topography, about a face where they are level.
    if axis == "z":
        wanted = ground.depths(face, wanted)
        samples = recorded.ground.depths(face, samples)
    # Points of the recorded grid, in a row, are read as they are.
    first = int(np.abs(samples - wanted[0]).argmin())
    there = samples[first : first + wanted.size]
    if (
        there.size == wanted.size
        and np.abs(there - wanted).max() < ROUNDING * recorded.spacing[axis]
    ):
        return _AxisReading(slice(first, first + wanted.size), None)
    # Shear stresses half a cell below a free surface vanish on it: a sample that is known.
    if axis == "z" and "z_min" not in recorded.faces and name in recorded.vanishing:
        surface = recorded.ground.surface(face, recorded.first["z"])
        weights = polynomials(np.append(surface, samples), wanted)[:, 1:]
    else:
        weights = polynomials(samples, wanted)
    return _AxisReading(slice(0, samples.size), weights)


def polynomials(samples: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the weights (n, m) of samples at places (m) in Lagrange's polynomials at others (n).

    Each is through the `POINTS` samples about its place, or the first or last ones.
    """
    # As many on either side, but at the ends.
    count = min(POINTS, samples.size)
    first = np.clip(np.searchsorted(samples, wanted) - count // 2, 0, samples.size - count)
    taken = first[:, None] + np.arange(count)
    abscissae = samples[taken]
    weights = np.zeros((wanted.size, samples.size))
    # The k-th: the product of (x - x_m) / (x_k - x_m) over the other samples m.
    for k in range(count):
        others = np.delete(abscissae, k, axis=1)
        factors = (wanted[:, None] - others) / (abscissae[:, k : k + 1] - others)
        weights[np.arange(wanted.size), taken[:, k]] = factors.prod(axis=1)
    return weights
