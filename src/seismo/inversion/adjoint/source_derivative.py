"""Derivatives by sources, and by the medium that they act by.

The adjoint fields are read where sources act. A term of a source (`SourceTerm`) adds a scale times
a component times a signal to its points: what is read, times two of these, is the derivative by the
third, which for signals is carried on to the samples of wavelets. The scale has a derivative by the
medium. Images that are
made of changes of a field contain what sources add, as if their scale were proportional to the
coefficient of the field: what is left is the derivative by the scale less that by the coefficient.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seismo.acquisition.sources import PointSource
from seismo.acquisition.wavelets import SampledWavelet
from seismo.equations.framework.table import Field, SourceTerm
from seismo.grid.interpolation import Points
from seismo.inversion.adjoint.energy_norm import EnergyNorm, mean_at
from seismo.inversion.adjoint.tape import TapedArray, at_points, value_of
from seismo.inversion.adjoint.tracing import traced
from seismo.solver.discretization import Discretization
from seismo.solver.sampling.injection import Injection, SourceRow
from seismo.solver.sampling.recording import RecordRows, SparseRows


@dataclass(frozen=True)
class ActingTerm:
    """A term of a source, and the channels that read the adjoint where it acts.

    Attributes:
        shot: number in the batch.
        source: number in the shot.
        drive: the term.
        field: that it acts on.
        strength: of its component.
        signal: (step) that it adds, times the strength.
        acts_on: name of the field, or of that which the surface stage adds it to.
        points: x, y, z and weights (n) of its points, per volume.
        channels: of the record, one for each of its points.
        scale: (n) by the medium; numbers where images contain its derivative.
        imaged: (n) coefficient whose images contain what it adds otherwise, or None.
    """

    shot: int
    source: int
    drive: SourceTerm
    field: Field
    strength: float
    signal: np.ndarray
    acts_on: str
    points: Points
    channels: slice
    scale: Any
    imaged: TapedArray | None

    def _by_points(self, record: np.ndarray) -> np.ndarray:
        """Return derivatives (step, n) by what is added to its points."""
        # Velocities of a step are recorded in that step, other fields at the end of that before.
        first = int(self.field.late)
        of_points = record[first : first + len(self.signal), self.channels]
        return np.asarray(of_points, float)[::-1]

    def ends(self, record: np.ndarray) -> Iterator[tuple[TapedArray, np.ndarray]]:
        """Yield coefficients (n), and derivatives by them.

        Args:
            record: (step, channel) of the adjoint run.
        """
        derivative = self.strength * self.signal @ self._by_points(record)
        if isinstance(self.scale, TapedArray):
            yield self.scale, derivative
        if self.imaged is not None:
            yield self.imaged, -derivative * value_of(self.scale) / self.imaged.value

    def by_signal(self, record: np.ndarray) -> np.ndarray:
        """Return the derivative (step) by the signal times the strength, from the same record."""
        by_points = self._by_points(record)
        scale: np.ndarray = np.broadcast_to(value_of(self.scale), by_points.shape[1:])
        return by_points @ scale


class SourceDerivative:
    """The derivative by the strength and the signals of a source."""

    def __init__(self, injection: Injection, source: PointSource) -> None:
        self._injection = injection
        self._source = source
        self.by_strength: dict[str, float] = {}
        self._by_signals: dict[tuple[float, int, float], tuple[ActingTerm, np.ndarray]] = {}

    def add(self, term: ActingTerm, record: np.ndarray) -> None:
        """Add a term of it, and the record that its channels are of."""
        by_signal = term.by_signal(record)
        component = term.drive.component
        by_component = float(term.signal @ by_signal)
        self.by_strength[component] = self.by_strength.get(component, 0.0) + by_component
        # Terms of the same signal are made of the wavelet once.
        key = (self._injection.offset(term.field), term.drive.derivative, term.drive.rate)
        earlier = self._by_signals.get(key, (term, 0.0))[1]
        self._by_signals[key] = term, earlier + term.strength * by_signal

    def by_samples(self, wavelet: SampledWavelet) -> np.ndarray:
        """Return the derivative (n) by the samples of a wavelet."""
        source = replace(self._source, wavelet=wavelet)
        by_samples = np.zeros(wavelet.samples.time.size)
        for term, by_signal in self._by_signals.values():
            by_samples += self._injection.signal_transposed(
                term.field, source, term.drive, by_signal
            )
        return by_samples


class SourceReading:
    """The channels that read the adjoint where sources of a batch of shots act.

    Attributes:
        terms: of the sources.
        surface_terms: what those that act on a free surface add there to other fields.
    """

    def __init__(
        self, discretization: Discretization, injection: Injection,
        shots: Sequence[Sequence[PointSource]], taped: Mapping[str, TapedArray], steps: int,
        every_term: bool, linearised: bool = False,
    ) -> None:  # fmt: skip
        """Find the points that such sources act on.

        Args:
            discretization: the run.
            injection: of any subdomain.
            shots: sources of each shot.
            taped: coefficients (z, y, x) on the nodes of the grid.
            steps: of the forward run.
            every_term: whether all terms count, those of components that are zero included, or
                those alone whose derivative by the medium images do not contain.
            linearised: whether terms are to act on a linearised run, each on its own field.
        """
        self._linearised = linearised
        self._discretization = discretization
        self._injection = injection
        self._shots = [list(sources) for sources in shots]
        self._norm = EnergyNorm(discretization)
        self._taped = taped
        self._channels = 0
        self._every_term = every_term
        self._fields = {f.name: SparseRows() for f in discretization.physics.fields}
        self.terms: list[ActingTerm] = []
        self.surface_terms: list[ActingTerm] = []
        memory = self._norm.memory
        # Recorded strains have what the surface adds.
        self._on_surface = {} if memory else _surface_coefficients(discretization, taped)
        self._at_once = {
            term.stress: term.at_once
            for term in (memory.terms(taped) if memory else ())
            if term.stress == term.strain
        }
        read = self._shots
        if every_term:
            # Components that are zero have terms, too.
            read = [[_of_all_components(discretization, s) for s in of_shot] for of_shot in read]
        numbers = {id(s): n for of_shot in read for n, s in enumerate(of_shot)}
        for name, rows in injection.rows_of(read).items():
            field = discretization.physics.named(name)
            which, begins, signals = injection.signals_of(field, rows, steps)
            for row, number in zip(rows, which, strict=True):
                index = np.clip(np.arange(steps) - begins[number], 0, signals.shape[1] - 1)
                self._add(name, row, numbers[id(row[1])], signals[number, index])

    @property
    def rows(self) -> RecordRows:
        """The rows of a recorder."""
        return RecordRows(self._fields, {}, {}, {}, self._channels)

    def ends(self, record: np.ndarray) -> Iterator[tuple[TapedArray, np.ndarray]]:
        """Yield coefficients (n), and derivatives by them that images do not contain.

        Args:
            record: (step, channel) of the adjoint run.
        """
        for term in (*self.terms, *self.surface_terms):
            yield from term.ends(record)

    def by_sources(self, record: np.ndarray) -> list[SourceDerivative]:
        """Return the derivatives by the sources of all shots, from a record of the adjoint run."""
        derivatives = [[SourceDerivative(self._injection, s) for s in of] for of in self._shots]
        for term in self.terms:
            derivatives[term.shot][term.source].add(term, record)
        return [derivative for of_shot in derivatives for derivative in of_shot]

    def signal_of(self, term: ActingTerm, source: PointSource) -> np.ndarray:
        """Return the signal (step) of a term whose source has another wavelet."""
        row = (term.shot, source, term.drive, term.points)
        _, begins, signals = self._injection.signals_of(term.field, [row], len(term.signal))
        index = np.clip(np.arange(len(term.signal)) - begins[0], 0, signals.shape[1] - 1)
        return signals[0, index]

    def _add(self, name: str, row: SourceRow, number: int, signal: np.ndarray) -> None:
        """Add the term of a source, unless images contain all that counts of it."""
        shot, _, drive, points = row
        field = self._discretization.physics.named(name)
        strength = self._shots[shot][number].strength.get(drive.component, 0.0)
        x, y, z, weights = self._injection.points_of(field, points)
        mean = mean_at(self._taped, x, y, z)
        scale = drive.scale(
            lambda name, of_component=False: mean(name, field.half, of_component),
            self._discretization.clock.dt,
        )
        imaged: TapedArray | None = None
        memory = self._norm.memory
        is_strain = memory is not None and memory.is_driven(row[1].kind)
        if (
            memory is not None
            and is_strain
            and not self._linearised
            and name not in memory.recorded
        ):
            return  # the adjoint stress tells all that a strain adds
        previous = self._discretization.physics.previous
        if memory is not None and is_strain and not field.remembers:
            imaged = at_points(self._at_once[name], (z, y, x))
        elif len(previous) == 1:
            imaged = mean("k", field.half)
        elif field.late:
            imaged = 1.0 / mean("rho", field.half, of_component=True)
        if previous and (memory is not None or len(previous) > 1):
            varies = False  # images contain all that a pressure source adds to all fields
        elif imaged is None:
            varies = isinstance(scale, TapedArray)
        else:
            varies = not np.allclose(value_of(scale), imaged.value, rtol=1e-9, atol=0.0)
        if not varies:
            scale = value_of(scale)
            imaged = None
        at = Points(x, y, z, weights)
        term = ActingTerm(
            shot, number, drive, field, strength, signal, name, at, slice(0), scale, imaged
        )  # fmt: skip
        if varies or self._every_term:
            channels = self._read(name, shot, at)
            self.terms.append(replace(term, channels=channels))
        top = z == 0
        if strength and top.any():
            at_top = Points(x[top], y[top], z[top], weights[top])
            scale = np.broadcast_to(value_of(scale), z.shape)[top]
            for other, coefficient in self._on_surface.get(name, {}).items():
                by_coefficient = at_points(coefficient, (z[top], y[top], x[top])) * scale
                channels = self._read(other, shot, at_top)
                self.surface_terms.append(replace(
                    term, acts_on=other, points=at_top, channels=channels, scale=by_coefficient,
                    imaged=None,
                ))  # fmt: skip

    def _read(self, name: str, shot: int, points: tuple[np.ndarray, ...]) -> slice:
        """Read the adjoint of a field at points (n); return their channels."""
        x, y, z, weights = points
        channels = slice(self._channels, self._channels + len(x))
        self._channels = channels.stop
        memory = self._norm.memory
        field = self._discretization.physics.named(name)
        if memory is not None and field.remembers:
            stress = memory.stress_of(field)
            sign = self._norm.sign * memory.sign(stress)
            for n, w in enumerate(sign * weights * self._norm.share(stress)[z, 0, 0]):
                at = (x[n : n + 1], y[n : n + 1], z[n : n + 1], np.array([w]))
                self._fields[stress].append(channels.start + n, shot, at)
            return channels
        coefficients = {n: array.value for n, array in self._taped.items()}
        entries = self._norm.entries(name, mean_at(coefficients, x, y, z))
        late = self._discretization.physics.named(name).late
        sign = 1.0 if late else self._norm.sign
        weight = sign * weights * self._norm.share(name)[z, 0, 0]
        for other in self._norm.group(name):
            for n, w in enumerate(weight * entries[name, other]):
                at = (x[n : n + 1], y[n : n + 1], z[n : n + 1], np.array([w]))
                self._fields[other].append(channels.start + n, shot, at)
        return channels


def _of_all_components(discretization: Discretization, source: PointSource) -> PointSource:
    """Return a source whose components are all 1."""
    return replace(
        source, strength=dict.fromkeys(discretization.physics.components(source.kind), 1.0)
    )


def _surface_coefficients(
    discretization: Discretization, taped: Mapping[str, TapedArray]
) -> dict[str, dict[str, TapedArray]]:
    """Return by which coefficients the stage of a free surface adds a field to others.

    Sources act before it. The adjoint fields are as it left them: in the norm of the energy it is
    its own transpose, so that only its coefficients have derivatives of their own.
    """
    physics = discretization.physics
    added: dict[str, dict[str, TapedArray]] = {}
    for stage in physics.stages:
        if stage.where == "surface" and discretization.closure is not None:
            names = tuple(field.name for field in physics.fields)
            puts = traced(stage.update, physics.axes, names, taped)
            for name in stage.writes:
                for operation, coefficient in puts[name].items():
                    ((_, other),) = operation.operands
                    if isinstance(coefficient, TapedArray):
                        added.setdefault(other, {})[name] = coefficient
    return added
