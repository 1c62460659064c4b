"""Peak maps: largest values over the whole run at every point of a slice, updated in each step.

    fields -> values of the components -> rates of change -> length of the vector -> peak
              (v before, v now) -> acceleration -> oscillators of each period and component

Nothing is stored in between. Peak ground velocity (PGV) and acceleration (PGA) are lengths of
vectors, of all components, of the horizontal, or of a single component. Acceleration is the change
of velocity from step to step. Peaks of fields are taken where the field stands. RotD50 keeps peaks
along directions a few degrees apart.

Components of the vectors stand on different points of the staggered grid and are interpolated to
the nodes, in an even medium by the polynomial through as many half points as the differences have
(8 at most). Beside contacts of layers, and on a thin soft layer under a free surface, it is the
weights that receivers have along z (`seismo.solver.interpolation.point_weights`): of the rows of a
node's own side, and as fields bend there. A field that is staggered along x or y is then a sum of
rows, each of them interpolated along x or y. Rows beyond the halo that a part of the grid holds of
its neighbours are not read, so that a map is the same however the grid is cut: `MapReading.unlike`
names the nodes that are left.

The state z of each oscillator is exact for linear acceleration over the step
(`seismo.acquisition.ground_motion`), whatever the period; short ones take a step in parts,
so that no peak between is missed by more than 0.1 %. Spectral acceleration is the largest |Im z|
times the recurrence's scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from seismo.acquisition.ground_motion import (
    Recurrence,
    median_of_directions,
    recurrence,
)
from seismo.backends import row_kernels as kernels
from seismo.backends.base import Backend, Launch
from seismo.equations.framework.table import Field
from seismo.grid.decomposition import CheckpointArray
from seismo.grid.interpolation import Along, axis_weights, midpoint_weights, slope_share
from seismo.grid.time_step import Clock
from seismo.solver.fields import RankFields
from seismo.solver.interpolation.point_weights import PointInterpolation
from seismo.solver.sampling.field_sampling import FieldSampler, StencilOffsets
from seismo.solver.sampling.output_sets import (
    DIRECTIONS,
    MapQuantity,
    PeakMapSet,
)

MOST_REACH = kernels.POINTS // 2  # half points on either side of a node
_BLOCK = 1 << 16  # points whose directions are sorted at once

Sums = list[tuple[str, StencilOffsets | None]]


@dataclass(frozen=True)
class MapReading:
    """The reading of fields at the nodes of a map.

    Attributes:
        interpolation: how fields are read.
        uncut: rows before which the grid is never cut.
        rows: grid indices of the map along z.
    """

    interpolation: PointInterpolation
    uncut: frozenset[int] = frozenset()
    rows: Iterable[int] = ()

    def at(self, rows: Iterable[int]) -> MapReading:
        """Return that of a map with such rows."""
        return MapReading(self.interpolation, self.uncut, rows)

    def sums(self, name: str) -> Sums:
        """Return, with their fields, the points whose sum is a field at the nodes.

        None stands for the points themselves, where the field stands on the nodes.
        """
        field = self.interpolation.physics.named(name)
        if not field.half:
            return [(name, None)]
        rows_beside = {z: side for z, side in self._beside(field) if self._within_halo(z, side[0])}
        # Mean of half points on both sides of the node.
        steps, weights = midpoint_weights(min(MOST_REACH, self.interpolation.halo))
        if field.half == "z":
            return list(self._across(field, self._tables(steps, weights), rows_beside))
        return [(name, offsets) for offsets in self._along(field.half, steps, weights, rows_beside)]

    def unlike(self, name: str) -> list[int]:
        """Return the rows of nodes beside contacts that a field is read at as in an even medium."""
        field = self.interpolation.physics.named(name)
        if not field.half:
            return []
        return [z for z, side in self._beside(field) if not self._within_halo(z, side[0])]

    def _beside(self, field: Field) -> Iterator[tuple[int, Along]]:
        """Yield the rows of nodes that contacts change weights of, and these along z."""
        interpolation = self.interpolation
        for z in self.rows:
            # Rows of the node's own side, as receivers read, with rho v of layers of fluid.
            side = interpolation.side(field, float(z))
            rows, weights = side or (np.array([z]), np.ones(1))
            depth = float(interpolation.grid.coordinate("z", z))
            ratios = interpolation.density_ratios(field, rows, depth)
            if ratios is not None:
                side = (rows, weights * ratios) if side or ratios[0] != 1.0 else None
            if side is not None:
                yield z, side

    def _within_halo(self, z: int, rows: np.ndarray) -> bool:
        """Whether whatever part of the grid has a node has such rows, too."""
        halo = self.interpolation.halo
        beyond = {
            cut
            for row in rows.tolist()
            for cut in (*range(z + 1, row - halo + 1), *range(row + halo + 1, z + 1))
        }
        return beyond <= self.uncut

    def _across(
        self, field: Field, tables: tuple[np.ndarray, np.ndarray], rows_beside: dict[int, Along]
    ) -> Iterator[tuple[str, StencilOffsets]]:
        """Yield the sums of a field that is staggered along z.

        Under a closed free surface there are no half points above; the polynomial through the half
        points below is used, with the slope that the surface prescribes, which other fields tell.
        """
        steps, weights = tables
        interpolation = self.interpolation
        # Maps read all columns alike: without the slopes prescribed by sloping ground.
        level = interpolation.level
        surface = interpolation.surface(field, sloped=level)
        closed = surface is not None and not surface.sign
        under = {float(z): axis_weights(float(z), True, 0, surface)
                 for z in range(MOST_REACH if closed else 0)}  # fmt: skip
        for z, (rows, row_weights) in (under | rows_beside).items():
            steps[int(z)] = 0
            weights[int(z)] = 0.0
            steps[int(z), : rows.size] = rows - int(z)
            weights[int(z), : rows.size] = row_weights
        yield field.name, StencilOffsets("z", steps, weights)
        slope = interpolation.slope if level else None
        if slope is None or not closed:
            return
        # d_z vz = -r (d_x vx + d_y vy), as reads of vx and vy.
        shares = np.array([slope_share(float(z), True, surface) for z in range(MOST_REACH)])
        for axis in slope.across:
            steps, weights = self._tables(*slope.derivative(axis))
            weights[MOST_REACH:] = 0.0
            weights[:MOST_REACH] *= -interpolation.grid.spacing[2] * shares[:, None]
            yield f"v{axis}", StencilOffsets(axis, steps, weights, slope.ratio)

    def _along(
        self, axis: str, steps: np.ndarray, even_weights: np.ndarray, rows_beside: dict[int, Along]
    ) -> Iterator[StencilOffsets]:
        """Yield the sums of a field that is staggered along x or y, for each row read."""
        most = max((rows.size for rows, _ in rows_beside.values()), default=1)
        for number in range(most):
            moved, weights = self._tables(steps, even_weights)
            down = np.zeros(len(moved), np.int64)
            # Away from contacts: the row of the node alone.
            weights *= number == 0
            for z, (rows, shares) in rows_beside.items():
                is_read = number < rows.size
                down[z] = rows[number] - z if is_read else 0
                weights[z, : even_weights.size] = even_weights * (
                    shares[number] if is_read else 0.0
                )
            yield StencilOffsets(axis, moved, weights, down=down)

    def _tables(self, rows: np.ndarray, row_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return steps and weights (points along z, `kernels.POINTS`), the same for every z."""
        size = (self.interpolation.grid.points[2], kernels.POINTS)
        steps = np.zeros(size, np.int64)
        weights = np.zeros(size)
        # The same stencil in every row.
        steps[:, : rows.size] = rows
        weights[:, : rows.size] = row_weights
        return steps, weights


class Oscillators:
    """The oscillators of a set of maps.

    Attributes:
        state: (period, channel, 2, size) real and imaginary parts of z, flat.
        most: parts of a step that the shortest period takes.
    """

    def __init__(self, backend: Backend, maps: PeakMapSet, size: int, dt: float) -> None:
        """Allocate oscillators at rest, for flat arrays of `size` numbers."""
        self._maps = maps
        self._size = size
        self._dt = dt
        self._substeps = maps.substeps(dt)
        self.most = max(self._substeps, default=0)
        self.copies = 2 * len(maps.periods) * len(maps.oscillating)
        self.state = backend.array(np.zeros(self.copies * size, backend.precision))

    def response(self, period: float, channel: int) -> int:
        """Return where Im z of a period and channel begins in the state."""
        return self._pair(self._maps.periods.index(period), channel) + self._size

    def _pair(self, number: int, channel: int) -> int:
        # Flat index of Re z in (period, channel, 2, size).
        index = self._maps.oscillating.index(channel)
        return 2 * (number * len(self._maps.oscillating) + index) * self._size

    def scale(self, period: float) -> float:
        """Return the factor that makes m/s^2 of Im z, whose acceleration is in m/s a step."""
        return recurrence(period, self._maps.damping, self._dt).scale / self._dt

    def moves(self, period: float, substep: int) -> bool:
        """Whether oscillators of a period take a step in more than `substep` parts."""
        return self._substeps[self._maps.periods.index(period)] > substep

    def tables(self, substep: int, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return the arrays that advance all that `moves` in a part of the step.

        Args:
            substep: number of the part.
            rows: where the rows of a channel begin.

        Returns:
            ``state_rows``, ``rows`` and ``numbers`` (row) and ``coefficients`` (period, 6), as
            `seismo.backends.row_kernels.oscillate` takes them.
        """
        # Rows of all (period, channel) pairs that still move in this part.
        moving = [n for n, substeps in enumerate(self._substeps) if substeps > substep]
        pairs = [(k, n, c) for k, n in enumerate(moving) for c in self._maps.oscillating]
        return {
            "state_rows": np.concatenate([self._pair(n, c) + rows for _, n, c in pairs]),
            "rows": np.concatenate([c * self._size + rows for _, _, c in pairs]),
            "numbers": np.repeat([k for k, _, _ in pairs], rows.size),
            "coefficients": np.array([self._coefficients(n, substep) for n in moving]),
        }

    def _coefficients(self, number: int, substep: int) -> list[float]:
        """Return g, p, q of `oscillate`: of z, and of the acceleration at both ends of the step."""
        substeps = self._substeps[number]
        # Nigam & Jennings (1969) over a part of the step: z + g z + p a(n) + q a(n+1).
        terms: Recurrence = recurrence(
            self._maps.periods[number], self._maps.damping, self._dt / substeps
        )
        # Linear in between: a(begin) = a0 + (a1 - a0) part / parts, and its change is 1 / parts.
        begin = substep / substeps
        share = terms.linear / substeps
        first = -(terms.constant * (1.0 - begin) - share)
        last = -(terms.constant * begin + share)
        return [n for c in (terms.growth, first, last) for n in (c.real, c.imag)]


class PeakMaps:
    """The peaks of all shots of a batch, on the device."""

    def __init__(
        self, sampled: RankFields, reading: MapReading, sets: list[PeakMapSet], clock: Clock
    ) -> None:
        self._sets = [_Peaks(sampled, reading, maps, clock) for maps in sets]

    def launches(self, parity: int) -> list[Launch]:
        """Return the launches that update the peaks after a step, in order."""
        return [launch for peaks in self._sets for launch in peaks.launches(parity)]

    def state(self) -> dict[str, CheckpointArray]:
        """Return the state that later steps depend on."""
        return dict(chain.from_iterable(peaks.state().items() for peaks in self._sets))

    def peaks(self, shot: int) -> dict[str, np.ndarray]:
        """Return the maps of a shot of the batch: ``<set>/<quantity>`` -> array over the axes.

        They are whole a step after the duration, and stay so. All ranks have to ask for them; the
        first gets them.
        """
        peaks = {}
        for set_peaks in self._sets:
            for quantity in set_peaks.maps.quantities:
                array = set_peaks.peaks(quantity, shot)
                if array is not None:
                    peaks[f"{set_peaks.maps.name}/{quantity.name}"] = array
        return peaks


class _Peaks:
    """The running maxima of a set of maps."""

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
        samples = np.stack([self._backend.fetch(array) for array in gathered])
        # Median over the directions (Boore 2010), in blocks of points.
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
        # 2. Oscillators, from the acceleration of the step before to that of this step.
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
