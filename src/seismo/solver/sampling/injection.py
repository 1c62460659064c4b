"""Sources on the grid: each a few weighted points of fields, times a signal.

A source of strength m acts on a field as ``scale * m * signal(t) * delta``; the delta function is
the transpose of the interpolation that receivers use (so reciprocity holds exactly), divided by the
volume that a point stands for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from seismo.acquisition.slip_rate import SlipRate
from seismo.acquisition.sources import PointSource
from seismo.acquisition.time_dispersion import add_dispersion, add_dispersion_transposed
from seismo.backends.base import Backend, Launch
from seismo.backends.point_kernels import amount, inject
from seismo.equations.framework.memory_variables import relaxed
from seismo.equations.framework.table import Field, SourceTerm
from seismo.errors import ScenarioError
from seismo.grid.grid import AXES
from seismo.grid.interpolation import Points
from seismo.grid.time_step import Clock
from seismo.solver.boundary_images import Face, folded
from seismo.solver.fields import Fields
from seismo.solver.interpolation.point_weights import PointInterpolation

_MARGIN = 32  # steps before and after a signal, in which its transform rings
_EARLIER = 0.25
_MOST_SAMPLES = 1 << 17  # of signals that are kept for the next time that their shots are loaded
_MOST_KNOWN = 64  # such sets of signals


def _mean_at(fields: Fields, field: Field, x, y, z) -> Callable[..., np.ndarray]:
    """Return a function that averages a coefficient over the nodes around the field's points.

    It takes the name, and whether a value for the field's axis counts, in planes that have it.
    """
    nodes = [np.array([x, y, z])]
    # A half point lies between two nodes along each of its axes: 1, 2 or 4 nodes.
    for axis in field.half:
        step = np.zeros((3, 1), int)
        step[AXES.index(axis)] = 1
        nodes += [node + step for node in nodes]

    def mean(name: str, of_component: bool = False) -> np.ndarray:
        average = np.mean([fields.at(node, name) for node in nodes], axis=0)
        if not of_component:
            return average
        # The component's own density where its plane keeps it.
        there = fields.at(nodes[0], f"{name}_{field.half}")
        return np.where(np.isnan(there), average, there)

    return mean


SourcePosition = tuple[float, float, float]
TableKey = tuple[str, bool]  # a field, and whether its points are in the core
# A source of a shot, a way in which it acts, and the points of the field it acts on.
SourceRow = tuple[int, PointSource, SourceTerm, Points]


class InjectionTable(NamedTuple):
    """The arrays of `kernels.points.amount` for a field, by their names there.

    Each shot has as many cells as the largest shot; cells that it does not need have no entry.
    """

    cells: np.ndarray
    starts: np.ndarray
    weights: np.ndarray
    signals: np.ndarray
    begins: np.ndarray
    samples: np.ndarray
    acting: np.ndarray

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the arrays; tables of equal shapes can be loaded without binding anew."""
        return [array.shape for array in self]


class SignalPoints(NamedTuple):
    """Points of a field that signals act on, an entry for each.

    Attributes:
        x: (n) grid index.
        y: (n) grid index.
        z: (n) grid index.
        shot: (n) whose shot of the rank's.
        strengths: (n) by which the signal is multiplied.
        signal: (n) number of the signal.
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    shot: np.ndarray
    strengths: np.ndarray
    signal: np.ndarray


def _distinct(rows: list[SourceRow]) -> tuple[list[int], list[tuple[PointSource, SourceTerm]]]:
    """Return the number of each row's signal, and the source and term of each signal."""
    signals = dict[tuple, tuple[PointSource, SourceTerm]]()
    keys = [
        (id(source.wavelet), source.delay, source.derivative, drive.derivative, drive.rate)
        for _, source, drive, _ in rows
    ]
    for key, (_, source, drive, _) in zip(keys, rows, strict=True):
        signals.setdefault(key, (source, drive))
    numbers = {key: n for n, key in enumerate(signals)}
    return [numbers[key] for key in keys], list(signals.values())


class Injection:
    """Inject all sources into a subdomain, after the stage that updates a field.

    Arrays are bound once, with room for most shots: other shots are loaded by copying
    their numbers there, and nothing has to be bound again.
    """

    def __init__(
        self, backend: Backend, interpolation: PointInterpolation, fields: Fields,
        faces: list[Face], clock: Clock, removal: bool,
    ) -> None:  # fmt: skip
        self._backend = backend
        self._faces = faces
        self._interpolation = interpolation
        self._fields = fields
        self._clock = clock
        self._removal = removal
        self._bound: dict[TableKey, InjectionTable] = {}
        self._known: dict[tuple, tuple[list, tuple[np.ndarray, np.ndarray, np.ndarray]]] = {}
        self._pending: dict[TableKey, tuple[Any, Any]] = {}  # indices and source values of the step

    def tables(self, shots: list[list[PointSource]], steps: int) -> dict[TableKey, InjectionTable]:
        """Compute the injection tables of the sources of each shot, for a number of steps."""
        physics = self._interpolation.physics
        rows = self.rows_of(shots)
        tables: dict[TableKey, InjectionTable] = {}
        # One table for each field, in the order of the equation.
        for field in physics.fields:
            if field.name in rows:  # which are no longer needed then
                tables |= self._tables(field, rows.pop(field.name), steps)
        return tables

    def rows_of(self, shots: list[list[PointSource]]) -> dict[str, list[SourceRow]]:
        """Return the terms of the sources of each shot, by the field that they act on."""
        physics = self._interpolation.physics
        rows = dict[str, list[SourceRow]]()
        # Expand shots into rows: source, term of the equation, points of the field.
        for shot, sources in enumerate(shots):
            for source in sources:
                for drive in physics.drives.get(source.kind, ()):
                    if not source.strength.get(drive.component):
                        continue
                    field = physics.named(drive.field)
                    acted_on = self._interpolation.spreading(field, source.position)
                    for name, points in acted_on.items():
                        rows.setdefault(name, []).append((shot, source, drive, points))
        return rows

    def load(self, tables: dict[TableKey, InjectionTable]) -> bool:
        """Load tables; return whether the bound launches still fit."""
        fits = True
        bound = self._bound
        for key, table in tables.items():
            # Same shapes: overwrite the numbers that launches are bound to.
            if key in bound and bound[key].shapes == table.shapes:
                for array, numbers in zip(bound[key], table, strict=True):
                    array[:] = self._backend.array(numbers)
            else:
                bound[key] = InjectionTable(*map(self._backend.array, table))
                fits = False
                indices = np.full(table.cells.size, -1)
                amounts = np.zeros(indices.size, table.weights.dtype)
                self._pending[key] = self._backend.array(indices), self._backend.array(amounts)
        # Fields that these shots do not drive: no point has any entry.
        for key in bound.keys() - tables.keys():
            bound[key].starts[:] = 0
        return fits

    def _tables(
        self, field: Field, rows: list[SourceRow], steps: int
    ) -> dict[TableKey, InjectionTable]:
        # Points of all rows, back to back; `row` tells whose each is.
        row_points = [self._points(field, points) for *_, points in rows]
        x, y, z, weights = (np.concatenate(columns) for columns in zip(*row_points, strict=True))
        sizes = np.array([w.size for *_, w in row_points])
        row = np.repeat(np.arange(len(rows)), sizes)
        ends = np.cumsum(sizes)
        # Weight: interpolation weight / volume times the scale of the term, by its medium.
        for (drive, position), numbers in self._alike(rows).items():
            chosen = np.concatenate([np.arange(ends[n] - sizes[n], ends[n]) for n in numbers])
            mean = self._mean(field, position, x[chosen], y[chosen], z[chosen])
            weights[chosen] *= drive.scale(mean, self._clock.dt)
        # Times the strength of the component.
        weights *= np.array([source.strength[d.component] for _, source, d, _ in rows])[row]
        number, begins, signals = self.signals_of(field, rows, steps)
        shot = np.array([shot for shot, *_ in rows], np.int64)[row]
        try:
            return self.tables_of(
                field.name, SignalPoints(x, y, z, shot, weights, number[row]), signals, begins
            )
        except OverflowError as error:
            name = rows[row[error.args[0]]][1].name
            problem = f"too strong for {self._backend.precision} numbers; use a smaller one"
            raise ScenarioError(f"source {name}: {problem}") from None

    def tables_of(
        self,
        name: str,
        entries: SignalPoints,
        signals: np.ndarray,
        begins: np.ndarray | None = None,
    ) -> dict[TableKey, InjectionTable]:
        """Return the tables of signals that act on the points of a field here.

        Args:
            name: of the field.
            entries: points that are here.
            signals: (signal, step) samples.
            begins: (signal) step of the first sample, 0 when None.

        Raises:
            OverflowError: of the run's precision; it has the number of an entry.
        """
        precision = np.dtype(self._backend.precision)
        # A power of two rounds nothing, so that no bit depends on how long the signals last.
        largest = np.maximum(signals.max(axis=1), -signals.min(axis=1))
        scale = np.exp2(np.frexp(np.maximum(largest, 1e-300))[1])
        strengths = entries.strengths * scale[entries.signal]
        too_strong = ~(np.abs(strengths) < np.finfo(precision).max)  # NaN too
        if too_strong.any():
            raise OverflowError(int(np.argmax(too_strong)))
        subdomain = self._fields.subdomain
        x, y, z, shot, _, signal = entries
        columns = (subdomain.flat(x, y, z), shot, strengths.astype(precision), signal)
        samples = np.empty(signals.shape, precision)
        np.divide(signals, scale[:, None], out=samples, casting="same_kind")
        if begins is None:
            begins = np.zeros(len(signals), np.int64)
        # Edges and core are injected after their own updates.
        inner = subdomain.in_core(y, z)
        return {
            (name, core): self._table(
                self._bound.get((name, core)), begins, samples,
                *(column[inner == core] for column in columns),
            )
            for core in np.unique(inner).tolist()
        }  # fmt: skip

    def owned(self, x, y, z, *columns: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the points (n) that are here, with further columns (n)."""
        is_owned = self._fields.subdomain.owns(y, z)
        return tuple(column[is_owned] for column in (x, y, z, *columns))

    def _alike(
        self, rows: list[SourceRow]
    ) -> dict[tuple[SourceTerm, SourcePosition | None], list[int]]:
        """Number the rows by their drive and, where the medium there counts, the source's place.

        Among layers a moment acts by the medium at the source; a force by that of each point.
        """
        groups: dict[tuple[SourceTerm, SourcePosition | None], list[int]] = {}
        for n, (_, source, drive, _) in enumerate(rows):
            position = None
            if drive.field[0] != "v" and self._interpolation.strains(source.position):
                position = source.position
            groups.setdefault((drive, position), []).append(n)
        return groups

    def _mean(
        self, field: Field, position: SourcePosition | None, x, y, z
    ) -> Callable[..., np.ndarray]:
        """Return the function of coefficients at points, or of the medium at a position."""
        strains = self._interpolation.strains(position) if position else None
        if strains is None:
            return _mean_at(self._fields, field, x, y, z)
        # Among layers: coefficients of the rock at the source itself.
        medium = strains.medium | strains.losses
        coefficients = self._interpolation.physics.coefficients(medium, self._clock.dt)
        return lambda name: coefficients[name]

    def _table(
        self, bound: InjectionTable | None, begins: np.ndarray, samples: np.ndarray,
        at: np.ndarray, shot: np.ndarray, weights: np.ndarray, signals: np.ndarray,
    ) -> InjectionTable:  # fmt: skip
        """Sort entries by the cell they act on, with as much room as there is already.

        Args:
            bound: the tables bound now.
            begins: (signal) step of the first sample.
            samples: (signal, step) of the signals.
            at: (entry) the cell in the first shot's array.
            shot: (entry) whose it is.
            weights: (entry) of the signal.
            signals: (entry) which signal.
        """
        volume = self._fields.subdomain.volume
        shots = self._fields.subdomain.batch
        # Compressed rows: entries sorted by the cell that they act on.
        order = np.argsort(at + shot * volume, kind="stable")
        cells, sizes = np.unique((at + shot * volume)[order], return_counts=True)
        # Equal room for each shot.
        counts = np.bincount(cells // volume, minlength=shots)
        each = max(counts.max(), len(bound.cells) // shots if bound else 0)
        # The n-th cell of all is the n-th of its shot but for cells of earlier shots.
        shift = np.arange(shots) * each - np.cumsum(counts) + counts
        slots = np.arange(cells.size) + shift[cells // volume]
        # Cells without entries pad each shot: sizes of 0.
        placed = np.zeros(shots * each, np.int64)
        ends = np.zeros(shots * each + 1, np.int64)
        placed[slots] = cells
        ends[slots + 1] = sizes
        spare = (0, max(0, len(bound.weights) - at.size if bound else 0))
        return InjectionTable(
            placed, np.cumsum(ends), np.pad(weights[order], spare),
            np.pad(signals[order], spare), begins, samples,
            np.array([begins.min(), begins.max() + samples.shape[1] - 1]),
        )  # fmt: skip

    def _points(self, field: Field, points: Points) -> tuple[np.ndarray, ...]:
        """Return x, y, z of the points of a source that are here, and weights per volume."""
        return self.owned(*self.points_of(field, points))

    def points_of(self, field: Field, points: Points) -> tuple[np.ndarray, ...]:
        """Return x, y, z of all points of a source, and weights per volume."""
        # Points beyond faces move to the points that they are images of.
        x, y, z, w = folded(self._faces, self._interpolation.grid, field, points)
        x, y, z, w = (column[w != 0] for column in (x, y, z, w))
        # Discrete delta: weight over the volume that the point stands for.
        share = self._interpolation.norm(field, x, y, z)
        return x, y, z, w / (self._interpolation.grid.cell * share)

    def signals_of(
        self, field: Field, rows: list[SourceRow], steps: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the signals of rows, as `_sampled` does, and keep them for the same sources."""
        sources = [(source, drive) for _, source, drive, _ in rows]
        key = (field.name, steps, *((id(source), id(drive)) for source, drive in sources))
        # Sources are kept with them, so that no others have their identity.
        if key not in self._known:
            signals = self._sampled(field, rows, steps)
            if signals[2].size > _MOST_SAMPLES:
                return signals
            if len(self._known) == _MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[key] = sources, signals
        return self._known[key][1]

    def _sampled(
        self, field: Field, rows: list[SourceRow], steps: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the number of each row's signal, and the first step and samples of all.

        Returns:
            (row) numbers; (signal) steps; (signal, step) samples, zero at the ends of signals that
            do not last as long as the run.
        """
        signal_numbers, sources = _distinct(rows)
        offset = self.offset(field)
        dt = self._clock.dt
        # Window of steps in which each signal acts; signals over the whole run begin at step 0.
        lasting = [self._lasting(source, offset, steps) for source, _ in sources]
        length = max(stop - first for first, stop in lasting)
        begins = np.array([first if length < steps else 0 for first, _ in lasting], np.int64)
        # Samples at (n + offset) dt.
        times = (np.arange(length) + offset) * dt
        samples = np.array(
            [s.signal(times + first * dt, drive.derivative)
             for (s, drive), first in zip(sources, begins.tolist(), strict=True)]
        )  # fmt: skip
        # Transform the signals, so that removing time dispersion from records restores them.
        if self._removal:
            samples = add_dispersion(samples, (offset + begins)[:, None])
        for n, (_, drive) in enumerate(sources):
            # Signals of memory variables relax with their rate.
            if drive.rate:
                samples[n] = relaxed(samples[n], drive.rate, dt)
        # A zero on both sides, at which short signals begin and end.
        if length < steps:
            samples = np.pad(samples, ((0, 0), (1, 1)))
            begins = begins - 1
        return np.array(signal_numbers), begins, samples

    def signal_transposed(
        self, field: Field, source: PointSource, drive: SourceTerm, by_signal: np.ndarray
    ) -> np.ndarray:  # fmt: skip
        """Return the derivative by the samples (n) of a wavelet from that by its signal (step).

        The transpose of `signals_of` for a source whose wavelet is a `SampledWavelet`.
        """
        offset = self.offset(field)
        if drive.rate:
            # The same filter backwards in time.
            by_signal = relaxed(by_signal[::-1], drive.rate, self._clock.dt)[::-1]
        if self._removal:
            by_signal = add_dispersion_transposed(by_signal, offset)
        times = (np.arange(by_signal.size) + offset) * self._clock.dt
        return source.signal_transposed(by_signal, times, drive.derivative)

    def offset(self, field: Field) -> float:
        """Return the time in steps of the first value that drives a field.

        A late field is driven at whole steps; the others, updated after it, at half steps. A
        second-order field is driven at whole steps too.
        """
        driven_late = not field.late and self._interpolation.physics.differences == "first"
        return 0.5 if driven_late else 0.0

    def _lasting(self, source: PointSource, offset: float, steps: int) -> tuple[int, int]:
        """Return the steps in which a source acts: all, but for the short ones of a fault.

        Samples added for `remove_dispersion` come earlier, by `_EARLIER` of its time at most
        for waves of 4.5 steps a period and longer ones.
        """
        if not isinstance(source.wavelet, SlipRate):
            return 0, steps
        # In steps; the transform of time dispersion rings on both sides, and acts early.
        first, last = (t / self._clock.dt - offset for t in (source.start, source.end))
        early = _MARGIN + (_EARLIER * max(first, 0.0) if self._removal else 0.0)
        first = min(max(0, math.floor(first - early)), steps)
        return first, max(first + 1, min(steps, math.ceil(last + _MARGIN)))

    def evaluations(self) -> list[Launch]:
        """Return the launches that evaluate the sources of a step, before any stage needs it."""
        return [
            self._each(amount, key, (*table, self._backend.clock, *self._pending[key]), (8, 9))
            for key, table in self._bound.items()
        ]

    def bound(self, stage: str, core: bool, parity: int) -> list[Launch]:
        """Return the launches after a stage has updated the edges, or the core."""
        return [
            self._each(inject, key, (self._fields.written(name, parity), *pending), (0,))
            for key, pending in self._pending.items()
            for name, inner in [key]
            if inner == core and self._interpolation.physics.stage_writing(name) == stage
        ]

    def _each(
        self, body: Callable, key: TableKey, arguments: tuple, writes: tuple[int, ...]
    ) -> Launch:
        """Launch a body for the cells of a table."""
        count = self._bound[key].cells.size
        shots = np.arange(count) // (count // self._fields.subdomain.batch)
        return self._backend.each(body, count, arguments, writes=writes, shots=shots)
