"""The subfaults of a run on its grid: the points that each acts on, and its moment rate.

Those whose points all lie inside the grid, away from faces that are images, are spread by weights
along each axis (`seismo.backends.point_kernels`). The few others act as lone points do.

A subfault acts from shortly before its onset to shortly after its end, in which the transform of
`add_dispersion` rings. That transform moves waves of f dt periods a step to earlier steps, by
the share 1 - sqrt(1 - (pi f dt)^2) of their time. Subfaults begin early enough for waves of twice
the highest frequency of their rates, as it is of a few of them (1 % of the peak of the spectrum),
and of 4.5 steps a period at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cached_property, partial
from typing import Any

import numpy as np

from seismo.acquisition import wavelets
from seismo.acquisition.sources import PointSource
from seismo.acquisition.time_dispersion import add_dispersion
from seismo.equations.framework.table import Field
from seismo.features.faults.finite_fault import ActingFault
from seismo.features.faults.moment_depths import MomentDepths
from seismo.grid.grid import AXES
from seismo.grid.interpolation import WIDTH, even_weights
from seismo.solver.boundary_images import Face
from seismo.solver.discretization import derived_once
from seismo.solver.interpolation.point_weights import PointInterpolation

WINDOW = 128  # steps
_MARGIN = 32  # steps before and after a signal
_BEYOND = 2.0  # times the highest frequency
_LEAST_STEPS = 4.5  # a period
_MEASURED = 12  # subfaults
_SAMPLES = 1 << 20  # computed at once, by each thread
_THREADS = 4
_LENGTHS = 64  # steps: lengths are multiples, so that many signals are computed together
NUMBERS_PLACED = 48  # of 8 bytes: position, time and file data of a subfault


class FaultSignals:
    """The signals of a fault, partly kept from window to window."""

    def __init__(
        self, fault: ActingFault, dt: float, steps: int, removal: bool, precision: str,
        offset: float,
    ) -> None:  # fmt: skip
        """Take a fault and the steps of a run.

        Args:
            fault: the fault.
            dt: time step in s.
            steps: of the run.
            removal: whether traces will be freed from time dispersion.
            precision: of the numbers that are kept.
            offset: of the times of signals, in steps.
        """
        self._rates = fault.rates
        self._dt = dt
        self._offset = offset
        self._delay = fault.delay
        self._removal = removal
        self._kind = np.dtype(precision)
        # Onset and end of each subfault in steps.
        starts, ends = ((t + fault.delay) / dt - offset for t in fault.rates.ends)
        self._starts = starts
        self._ends = ends
        self._steps = steps
        # Range of steps: ringing margins, and the shift of the transform.
        early = _MARGIN + self._earlier * np.maximum(starts, 0.0)
        self.first = np.clip(np.floor(starts - early), 0, steps).astype(np.int64)
        last = np.minimum(np.ceil(ends + _MARGIN), steps)
        self.stop = np.where(last > self.first, last, self.first).astype(np.int64)
        # Lengths rounded up, so that many signals are resampled together.
        self._lengths = -(-(self.stop - self.first) // _LENGTHS) * _LENGTHS
        self._blocks: list[tuple[np.ndarray, np.ndarray]] = []  # numbers, signals

    def alone(self) -> FaultSignals:
        """Return the same signals, with a cache of its own windows."""
        signals = copy(self)
        signals._blocks = []
        return signals

    def kept_bytes(self, most: int) -> int:
        """Return the bytes of signals that are kept, of so many subfaults together at most."""
        length = (self.stop - self.first).max(initial=0) + _LENGTHS
        return int(most * length) * self._kind.itemsize

    @cached_property
    def _earlier(self) -> float:
        """Share of their time by which signals begin before their onsets."""
        # Highest frequency of a few subfaults, even in their numbers.
        late = np.flatnonzero((self._starts > 0.0) & (self._starts < self._steps))
        if not (self._removal and late.size):
            return 0.0
        sampled = late[np.linspace(0, late.size - 1, _MEASURED).astype(int)]
        highest = max(wavelets.maximum_frequency(self._rates.rate(int(n))) for n in sampled)
        # Shift of waves of frequency f: 1 - sqrt(1 - (pi f dt)^2) of their time.
        sine = min(math.pi * _BEYOND * highest * self._dt, math.pi / _LEAST_STEPS)
        return 1.0 - math.sqrt(1.0 - sine**2)

    def acting(self, begin: int, numbers: np.ndarray) -> np.ndarray:
        """Return the subfaults that act in the window that begins with a step."""
        first = self.first[numbers]
        # Those that begin after the run have no steps: they act in no window.
        is_acting = (first < begin + WINDOW) & (self.stop[numbers] > np.maximum(begin, first))
        return numbers[is_acting]

    def most(self, numbers: np.ndarray) -> int:
        """Return how many of these subfaults act in a window at most."""
        late_numbers = numbers[self.stop[numbers] > self.first[numbers]]
        return self.together(self.first[late_numbers], self.stop[late_numbers])

    def together(self, begin: np.ndarray, end: np.ndarray) -> int:
        """Return how many items acting in steps begin <= step < end (n) share a window."""
        size = self._steps // WINDOW + 2
        # Begins less ends, summed over windows: how many act in each.
        begun = np.bincount(begin // WINDOW, minlength=size)
        ended = np.bincount((end - 1) // WINDOW + 1, minlength=size)
        return int(np.cumsum(begun[:size] - ended[:size]).max(initial=0))

    def window(self, begin: int, numbers: np.ndarray) -> np.ndarray:
        """Return the signals (step, subfault) of a window, for subfaults of increasing numbers."""
        self._blocks = [b for b in self._blocks if (self.stop[b[0]] > begin).any()]
        # Drop blocks that have ended; evaluate blocks that begin.
        known = np.concatenate([b[0] for b in self._blocks] or [np.zeros(0, np.int64)])
        self._work_out(np.setdiff1d(numbers, known))
        samples = np.zeros((numbers.size, WINDOW), self._kind)
        for members, signals in self._blocks:
            rows = np.searchsorted(numbers, members).clip(max=numbers.size - 1)
            in_block = numbers[rows] == members
            # Step of the window within each kept signal; 0 outside it.
            at = begin + np.arange(WINDOW) - self.first[members[in_block], None]
            length = (self.stop - self.first)[members[in_block], None]
            inside = (at >= 0) & (at < length)
            taken = np.take_along_axis(signals[in_block], np.where(inside, at, 0), 1)
            samples[rows[in_block]] = np.where(inside, taken, 0.0)
        return samples.T

    def _work_out(self, numbers: np.ndarray) -> None:
        """Keep the signals of subfaults; none depends on which others are among them."""
        lengths = self._lengths[numbers]
        # In blocks, by threads: the transforms do not hold Python's lock.
        blocks: list[np.ndarray] = []
        for length in np.unique(lengths).tolist():
            alike = numbers[lengths == length]
            blocks += np.array_split(alike, -(-alike.size * length // _SAMPLES))
        with ThreadPoolExecutor(_THREADS, "seismo-signals") as pool:
            self._blocks += zip(blocks, pool.map(self._signals, blocks), strict=True)

    def _signals(self, numbers: np.ndarray) -> np.ndarray:
        """Return moment rates (subfault, step) in 1/s from the first of each, alike in length."""
        first = self.first[numbers]
        count = int(self._lengths[numbers[0]])
        dt = self._dt
        # Time of the first sample of each, less the delay of the fault.
        times = (first + self._offset) * self._dt - self._delay
        signals = self._rates.resampled(numbers, times, count, dt)
        if self._removal:
            signals = add_dispersion(signals, (first + self._offset)[:, None])
        return signals.astype(self._kind)


class Subfaults:
    """The subfaults of a fault.

    Attributes:
        fault: the fault.
        spread: numbers of the subfaults spread by weights along each axis.
        signals: moment rates.
        depths: weights along z.
    """

    def __init__(
        self, fault: ActingFault, interpolation: PointInterpolation, faces: list[Face],
        breaks: np.ndarray, dt: float, make_signals: Callable[[float], FaultSignals],
    ) -> None:  # fmt: skip
        """Place a fault on a grid.

        Args:
            fault: the fault.
            interpolation: the grid and its medium.
            faces: that are images.
            breaks: depths (n) in m where the medium of a layered earth ends suddenly.
            dt: time step in s.
            make_signals: makes its signals, of times that are so many steps late.
        """
        self.fault = fault
        self._interpolation = interpolation
        self._dt = dt
        self.depths = MomentDepths(interpolation, fault.positions, fault.strengths, breaks)
        fields = self.depths.targets
        # Time level of the signals, as of point sources (`Injection`).
        late = any(f.late for f in fields) or interpolation.physics.differences != "first"
        self.signals = make_signals(0.0 if late else 0.5)
        self._coordinates = {
            a: np.asarray(interpolation.grid.index(a, fault.positions[:, AXES.index(a)]), float)
            for a in interpolation.grid.axes
        }
        self.spread = np.flatnonzero(self._inside({f.axis for f in faces}, fields))

    @property
    def fields(self) -> list[Field]:
        """The fields that they act on."""
        return self.depths.targets

    @property
    def point_sources(self) -> list[PointSource]:
        """The others, which act as points."""
        others = np.setdiff1d(np.arange(len(self.fault)), self.spread)
        return [self.fault.point(n) for n in others.tolist()]

    def first(self, field: Field, axis: str) -> np.ndarray:
        """Return the first point (subfault) of a field along an axis that each acts on."""
        if axis not in self._coordinates:
            return np.zeros(len(self.fault), np.int64)
        if axis == "z":
            return self.depths.first(field)
        # First of WIDTH points about the position, on nodes or half points.
        along = np.floor(self._coordinates[axis] - 0.5 * (axis in field.half))
        return along.astype(np.int64) - WIDTH // 2 + 1

    def down(self, field: Field, numbers: np.ndarray) -> np.ndarray:
        """Return the weights (subfault, n) of subfaults along z, times strength and step.

        Times the weights along x and y (`level`) they are a field's increment per unit signal.
        """
        # A moment rate dM/dt acts on a stress as -dM/dt / cell (stress glut).
        drives = self._interpolation.physics.drives["moment_tensor"]
        scale = drives[0].scale(lambda name: 1.0, self._dt) / self._interpolation.grid.cell
        down = scale * self.depths.weights(field, numbers)
        rows = self.depths.first(field)[numbers, None] + np.arange(down.shape[1])
        # Over the share of a cell that each row stands for.
        x, y = (self._among(field, a, numbers)[:, None] for a in "xy")
        at = (array.ravel() for array in np.broadcast_arrays(x, y, rows))
        return np.asarray(down / self._interpolation.norm(field, *at).reshape(rows.shape))

    def _among(self, field: Field, axis: str, numbers: np.ndarray) -> np.ndarray:
        """Return the positions of subfaults on the points of a field along an axis."""
        if axis not in self._coordinates:
            return np.zeros(numbers.size)
        return self._coordinates[axis][numbers] - 0.5 * (axis in field.half)

    def level(self, axis: str, half: bool, numbers: np.ndarray) -> np.ndarray:
        """Return the weights (subfault, WIDTH) of subfaults along x or y.

        Args:
            axis: "x" or "y".
            half: whether the field is staggered along it.
            numbers: of the subfaults.
        """
        if axis not in self._coordinates:
            return np.eye(1, WIDTH).repeat(numbers.size, axis=0)
        # Weights of even media, which are separable.
        return even_weights(self._coordinates[axis][numbers], half)[1]

    def _inside(self, imaged: set[str], fields: list[Field]) -> np.ndarray:
        """Return (subfault) whether all points lie in the grid, beside no face that is an image."""
        grid = self._interpolation.grid
        inside = np.full(len(self.fault), not self._interpolation.physics.broad_sources)
        for field in fields:
            for axis in grid.axes:
                first = self.first(field, axis)
                margin = int(axis in imaged)
                count = self.depths.width if axis == "z" else WIDTH
                last = grid.points[AXES.index(axis)] - 1 - margin
                # All points lie in the grid, none on a face that is an image.
                inside &= (first >= margin) & (first + count - 1 <= last)
        return inside


@derived_once
def placed_faults(run: Any) -> list[Subfaults]:
    """Return the faults of a run on its grid (`seismo.solver.discretization.Discretization`)."""
    # Of two grids they belong to the grid on their side of the plane.
    every = (fault for shot in run.shots for fault in shot.faults)
    faults = [fault for fault in every if run.has(fault.positions).all()]
    if not faults:
        return []
    breaks = run.contact_depths if run.earth.layered else np.zeros(0)
    dt = run.clock.dt
    removal = run.scenario.time.dispersion_removal
    kept = run.total_steps, removal, run.scenario.arithmetic
    return [
        Subfaults(
            fault, run.interpolation, run.image_faces, breaks, dt,
            partial(FaultSignals, fault, dt, *kept),
        )
        for fault in faults
    ]  # fmt: skip
