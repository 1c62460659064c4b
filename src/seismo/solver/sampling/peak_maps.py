"""Peak maps: largest values over the whole run at every point of a slice, updated in each step.

    fields -> values of the components -> rates of change -> length of the vector -> peak

Nothing is stored in between. Peak ground velocity (PGV) and acceleration (PGA) are lengths of
vectors, of all components, of the horizontal ones, or of one alone. Their components stand on
different points of the staggered grid and are interpolated to the nodes (`map_reading`).
Acceleration is the change of velocity from step to step; it drives the oscillators of spectral
acceleration (`oscillators`). Peaks of fields are taken where the field stands. RotD50 keeps peaks
along directions a few degrees apart.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from seismo.acquisition.traces.ground_motion import median_of_directions
from seismo.backends.base import Launch
from seismo.backends.kernels import slices as kernels
from seismo.grid.global_index import CheckpointArray
from seismo.grid.time_step import Clock
from seismo.solver.fields import RankFields
from seismo.solver.interpolation.maps import MapReading
from seismo.solver.sampling.field_sampling import FieldSampler
from seismo.solver.sampling.map_quantities import (
    DIRECTIONS,
    MapQuantity,
    PeakMapSet,
)
from seismo.solver.sampling.oscillators import Oscillators

_BLOCK = 1 << 16  # points whose directions are sorted at once


class PeakMaps:
    """The peaks of all shots of a batch, on the device."""

    def __init__(
        self, sampled: RankFields, reading: MapReading, sets: list[PeakMapSet], clock: Clock
    ) -> None:
        self._sets = [_Peaks(sampled, reading, maps, clock) for maps in sets]

    def launches(self, parity: int) -> list[Launch]:
        """Return the launches that update the peaks after a step, in order."""
        return [launch for one in self._sets for launch in one.launches(parity)]

    def state(self) -> dict[str, CheckpointArray]:
        """Return the state that later steps depend on."""
        return dict(chain.from_iterable(one.state().items() for one in self._sets))

    def peaks(self, shot: int) -> dict[str, np.ndarray]:
        """Return the maps of one shot of the batch: ``<set>/<quantity>`` -> array over the axes.

        They are whole a step after the duration, and stay so. All ranks have to ask for them; the
        first gets them.
        """
        peaks = {}
        for one in self._sets:
            for quantity in one.maps.quantities:
                array = one.peaks(quantity, shot)
                if array is not None:
                    peaks[f"{one.maps.name}/{quantity.name}"] = array
        return peaks


class _Peaks:
    """The running maxima of one set of maps."""

    def __init__(
        self, sampled: RankFields, reading: MapReading, maps: PeakMapSet, clock: Clock
    ) -> None:
        backend = sampled.backend
        self.maps = maps
        self._backend = backend
        self._clock = clock
        self._reader = FieldSampler(sampled, maps.cut)
        self._reading = reading.at(maps.cut.index[2])
        size = self._reader.size
        # Values of the step, their change, and the values before it.
        zeros = np.zeros(len(maps.channels) * size, backend.precision)
        self._amplitudes = backend.array(zeros)
        kept = zeros if maps.changing else zeros[:1]
        self._rates = backend.array(kept)
        self._before = backend.array(kept)
        self._oscillators = Oscillators(backend, maps, size, clock.dt)
        self._largest = {
            q.name: backend.array(np.zeros(q.peaks * size, np.float32)) for q in maps.quantities
        }
        # Directions of half a turn, of which the others have the same peaks.
        angles = np.arange(DIRECTIONS) * np.pi / DIRECTIONS
        waves = (np.cos(angles), np.sin(angles))
        self._directions = tuple(backend.array(w.astype(backend.precision)) for w in waves)
        self._rows = np.arange(0, size, self._reader.length)
        self._shots = self._rows // max(1, self._reader.points)

    def peaks(self, quantity: MapQuantity, shot: int) -> np.ndarray | None:
        """Return the largest values of a shot over the axes; None but on the first rank."""
        size = self._reader.size
        shots = range(shot, shot + 1)
        raised = self._largest[quantity.name]
        # One array of the slice for each direction.
        copies = [raised[n * size : (n + 1) * size] for n in range(quantity.peaks)]
        gathered = [self._reader.gathered(copy, shots) for copy in copies]
        if gathered[0] is None:
            return None
        samples = np.stack([self._backend.fetch(one) for one in gathered])
        # Median over the directions (Boore 2010), some points at a time.
        if quantity.along_directions:
            blocks = range(0, samples.shape[1], _BLOCK)
            samples = np.concatenate(
                [median_of_directions(samples[:, k : k + _BLOCK]) for k in blocks]
            )
        return self._scale(quantity) * samples.reshape(self.maps.cut.shape)

    def _scale(self, quantity: MapQuantity) -> np.float32:
        """Return the factor to SI units."""
        if quantity.period is not None:
            return np.float32(self._oscillators.scale(quantity.period))
        # Change per step over dt: acceleration in m/s^2.
        return np.float32(1.0 / self._clock.dt if quantity.of_change else 1.0)

    def state(self) -> dict[str, CheckpointArray]:
        """Return the peaks by name, and the values and rates before the next step."""
        kept = dict(self._largest)
        if self.maps.changing:
            kept["before"] = self._before
        if self.maps.periods:
            kept |= {"rates": self._rates, "oscillators": self._oscillators.state}
        return {
            (array_name := f"{self.maps.name}/{name}"): CheckpointArray(
                array,
                [self._reader.global_block(array_name, array.size // max(1, self._reader.size))],
            )
            for name, array in kept.items()
        }

    def launches(self, parity: int) -> list[Launch]:
        """Return the launches that update the peaks after steps of a parity, in order."""
        size = self._reader.size
        channels = self.maps.channels
        launches = list[Launch]()
        if not size:
            return launches
        # 1. Read the components, interpolated to the nodes where they form a vector.
        for n, (component, at_nodes) in enumerate(channels):
            added = False
            for name, factor in component.terms:
                sums = self._reading.sums(name) if at_nodes else [(name, None)]
                for field, points in sums:
                    launches += self._reader.launches(
                        field, parity, self._amplitudes, factor, added=added, first=n * size,
                        beside=points,
                    )  # fmt: skip
                    added = True
        # 2. Oscillators, from the acceleration of the step before to that of this one.
        launches += self._responses()
        # 3. Change since the step before.
        if self.maps.changing:
            starts = np.arange(len(channels))[:, None] * size
            rows = (starts + self._rows).ravel()
            arguments = (self._rates, self._before, self._amplitudes)
            launches.append(self._rowwise(kernels.change, arguments, rows, (0, 1)))
        # 4. Length of the vector, or its part along directions, and the maximum so far.
        for quantity in (q for q in self.maps.quantities if q.period is None):
            which = [channels.index((c, quantity.at_nodes)) for c in quantity.components]
            array = self._rates if quantity.of_change else self._amplitudes
            launches.append(self._raise(quantity, array, [n * size for n in which]))
        return launches

    def _responses(self) -> list[Launch]:
        """Return the launches that advance the oscillators and update the peaks of responses."""
        oscillators = self._oscillators
        put = self._backend.array
        channels = self.maps.channels
        launches = list[Launch]()
        # Short periods take a step in parts, in all of which peaks are raised.
        for substep in range(oscillators.most):
            tables = oscillators.tables(substep, self._rows)
            coefficients = tables["coefficients"].astype(self._backend.precision)
            arguments = (
                oscillators.state, put(tables["state_rows"]), self._reader.size, self._rates,
                self._before, self._amplitudes,
            )  # fmt: skip
            more = (put(tables["numbers"]), put(coefficients))
            launches.append(
                self._rowwise(kernels.oscillate, arguments, tables["rows"], (0,), *more)
            )
            for quantity in self.maps.quantities:
                period = quantity.period
                if period is not None and oscillators.moves(period, substep):
                    numbers = [channels.index((c, True)) for c in quantity.components]
                    starts = [oscillators.response(period, n) for n in numbers]
                    launches.append(self._raise(quantity, oscillators.state, starts))
        return launches

    def _raise(self, quantity: MapQuantity, array: Any, starts: list[int]) -> Launch:
        """Bind the raising of a quantity's peaks to vectors, until the duration is over.

        After step n fields stand at t = (n + 1) dt at most, and acceleration at n dt.
        """
        last = self._clock.steps - (0 if quantity.follows_acceleration else 1)
        both = (self._largest[quantity.name], array)
        first = self._backend.array(np.array(starts, np.int64))
        until = (self._backend.clock, last)
        if not quantity.along_directions:
            return self._rowwise(kernels.raise_peaks, both, self._rows, (0,), first, *until)
        more = (first, self._reader.size, *self._directions, *until)
        return self._rowwise(kernels.raise_along, both, self._rows, (0,), *more)

    def _rowwise(self, body: Any, arrays: tuple, rows: np.ndarray, writes, *more: Any) -> Launch:
        arguments = (*arrays, self._backend.array(rows), *more)
        shots = np.resize(self._shots, rows.size)
        length = self._reader.length
        return self._backend.each_row(body, rows.size, length, arguments, writes, shots)
