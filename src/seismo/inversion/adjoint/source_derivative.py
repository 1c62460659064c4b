"""Derivatives by sources: their signals, and the medium that they act by.

The adjoint fields are read where sources act. A term of a source (`SourceTerm`) adds a scale times
a component times a signal to its points; the derivative by the signal of a step is the sum over the
points of the adjoint times the scale and the component. The scale has a derivative by the medium.
Images that are made of changes of a field contain what sources add, as if their scale were
proportional to the coefficient of the field: what is left is the derivative by the scale less that
by the coefficient.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.acquisition.sources import PointSource
from seismo.equations.framework.table import Field, SourceTerm
from seismo.inversion.adjoint.energy_norm import EnergyNorm, mean_at
from seismo.inversion.adjoint.tape import TapedArray, value_of
from seismo.solver.discretization import Discretization
from seismo.solver.sampling.injection import Injection
from seismo.solver.sampling.recording import RecordRows, SparseRows


@dataclass(frozen=True)
class ActingTerm:
    """A term of a source of a shot, on a field.

    Attributes:
        shot: of the batch.
        number: of the source in its shot.
        source: itself.
        term: how it acts.
        field: that it acts on.
        points: (3, n) grid indices x, y, z.
        weights: (n) per volume, without scale and component.
        signal: (step) that it follows.
        channel: the first of the record: of each point where the scale has a derivative, else one.
    """

    shot: int
    number: int
    source: PointSource
    term: SourceTerm
    field: Field
    points: np.ndarray
    weights: np.ndarray
    signal: np.ndarray
    channel: int

    def scale(self, coefficients: Mapping[str, Any], dt: float) -> Any:
        """Return the scale (n) of its points by the coefficients there, taped or not."""
        mean = mean_at(coefficients, *self.points)
        half = self.field.half
        return self.term.scale(lambda name, of_component=False: mean(name, half), dt)


class SourceReading:
    """The channels that read the adjoint of the sources of a batch of shots."""

    def __init__(
        self, discretization: Discretization, injection: Injection,
        shots: Sequence[Sequence[PointSource]], coefficients: Mapping[str, np.ndarray], steps: int,
    ) -> None:  # fmt: skip
        """Find the points that sources act on.

        Args:
            discretization: the run.
            injection: of any subdomain.
            shots: sources of each shot.
            coefficients: (z, y, x) on the nodes of the grid.
            steps: of the forward run.
        """
        self._discretization = discretization
        self._norm = EnergyNorm(discretization)
        self._dt = discretization.clock.dt
        self._steps = steps
        self.terms: list[ActingTerm] = []
        self._channels = 0
        self._fields = {f.name: SparseRows() for f in discretization.physics.fields}
        numbers = {id(s): n for sources in shots for n, s in enumerate(sources)}
        taped = {name: TapedArray(array) for name, array in coefficients.items()}
        for name, rows in injection.rows_of([list(sources) for sources in shots]).items():
            field = discretization.physics.named(name)
            which, begins, signals = injection.signals_of(field, rows, steps)
            for row, number in zip(rows, which, strict=True):
                shot, source, term, points = row
                *at, weights = injection.points_of(field, points)
                index = np.clip(np.arange(steps) - begins[number], 0, signals.shape[1] - 1)
                acting = ActingTerm(
                    shot, numbers[id(source)], source, term, field, np.array(at), weights,
                    signals[number, index], self._channels,
                )  # fmt: skip
                self._read(acting, coefficients, taped)
                self.terms.append(acting)

    @property
    def rows(self) -> RecordRows:
        """The rows of a recorder."""
        return RecordRows(self._fields, {}, {}, {}, self._channels)

    def varies(self, acting: ActingTerm, taped: Mapping[str, TapedArray]) -> bool:
        """Whether the scale of a term has a derivative that images do not contain."""
        scale = acting.scale(taped, self._dt)
        imaged = self._imaged(acting, taped)
        if imaged is None:
            return isinstance(scale, TapedArray)
        return not np.allclose(value_of(scale), imaged.value, rtol=1e-9, atol=0.0)

    def _imaged(self, acting: ActingTerm, taped: Mapping[str, TapedArray]) -> TapedArray | None:
        """Return the coefficient (n) of a field whose changes are imaged, at points of a term."""
        mean = mean_at(taped, *acting.points)
        if self._discretization.physics.previous:
            coefficient: TapedArray = mean("k", acting.field.half)
            return coefficient
        return 1.0 / mean("rho", acting.field.half) if acting.field.late else None

    def _read(
        self, acting: ActingTerm, coefficients: Mapping[str, np.ndarray],
        taped: Mapping[str, TapedArray],
    ) -> None:  # fmt: skip
        """Add the channels of a term."""
        x, y, z = acting.points
        field = acting.field
        mean = mean_at(coefficients, x, y, z)
        group = self._norm.group(field.name)
        row = self._norm.matrix(field.name, mean)[group.index(field.name)]
        sign = 1.0 if field.late else self._norm.sign
        share = self._norm.share(field.name)
        nodes = [n.clip(max=size - 1) for n, size in zip((z, y, x), share.shape, strict=True)]
        weight = sign * acting.weights * share[tuple(nodes)]
        if not self.varies(acting, taped):
            weight = weight * acting.scale(coefficients, self._dt)
        for other, factor in zip(group, row, strict=True):
            weights = weight * factor
            if self.varies(acting, taped):
                for n in range(len(weights)):
                    at = (x[n : n + 1], y[n : n + 1], z[n : n + 1], weights[n : n + 1])
                    self._fields[other].append(acting.channel + n, acting.shot, at)
            else:
                self._fields[other].append(acting.channel, acting.shot, (x, y, z, weights))
        self._channels += len(x) if self.varies(acting, taped) else 1

    def by_signal(
        self, acting: ActingTerm, record: np.ndarray, coefficients: Mapping[str, np.ndarray],
        taped: Mapping[str, TapedArray],
    ) -> np.ndarray:  # fmt: skip
        """Return the derivative (step) by the signal of a term, for a component of 1.

        Args:
            acting: the term.
            record: (step, channel) of the adjoint run.
            coefficients: as the reading was made for.
            taped: the same.
        """
        by_point = self._reversed(acting, record, taped)
        if not self.varies(acting, taped):
            return by_point[:, 0]
        return by_point @ acting.scale(coefficients, self._dt)

    def by_scale(
        self, record: np.ndarray, taped: Mapping[str, TapedArray]
    ) -> Iterator[tuple[TapedArray, np.ndarray]]:
        """Yield scales of terms by their medium, and the derivatives (n) by them."""
        for acting in self.terms:
            if self.varies(acting, taped):
                component = acting.source.strength[acting.term.component]
                by_point = self._reversed(acting, record, taped)
                derivative = component * (acting.signal @ by_point)
                scale = acting.scale(taped, self._dt)
                if isinstance(scale, TapedArray):
                    yield scale, derivative
                imaged = self._imaged(acting, taped)
                if imaged is not None:
                    yield imaged, -derivative * value_of(scale) / imaged.value

    def _reversed(
        self, acting: ActingTerm, record: np.ndarray, taped: Mapping[str, TapedArray]
    ) -> np.ndarray:
        """Return the record (step of the forward run, channel) of a term."""
        count = len(acting.weights) if self.varies(acting, taped) else 1
        # Velocities of a step are recorded in that step, other fields at the end of that before.
        first = int(acting.field.late)
        of_term = record[first : first + self._steps, acting.channel : acting.channel + count]
        return np.asarray(of_term, float)[::-1]
