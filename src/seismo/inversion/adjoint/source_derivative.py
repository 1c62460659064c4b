"""Derivatives by the medium that sources act by.

The adjoint fields are read where sources act. A term of a source (`SourceTerm`) adds a scale times
a component times a signal to its points; the scale has a derivative by the medium. Images that are
made of changes of a field contain what sources add, as if their scale were proportional to the
coefficient of the field: what is left is the derivative by the scale less that by the coefficient.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seismo.acquisition.sources import PointSource
from seismo.inversion.adjoint.energy_norm import EnergyNorm, mean_at
from seismo.inversion.adjoint.tape import TapedArray, value_of
from seismo.solver.discretization import Discretization
from seismo.solver.sampling.injection import Injection, SourceRow
from seismo.solver.sampling.recording import RecordRows, SparseRows


@dataclass(frozen=True)
class ActingTerm:
    """A term of a source whose scale has a derivative that images do not contain.

    Attributes:
        signal: (step) that it adds, times its component.
        late: whether it acts on a velocity.
        channels: of the record, one for each of its n points.
        scale: (n) by the medium; a number where the medium does not count.
        imaged: (n) coefficient whose images contain what it adds, or None.
    """

    signal: np.ndarray
    late: bool
    channels: slice
    scale: TapedArray | float
    imaged: TapedArray | None

    def ends(self, record: np.ndarray) -> Iterator[tuple[TapedArray, np.ndarray]]:
        """Yield coefficients (n), and derivatives by them.

        Args:
            record: (step, channel) of the adjoint run.
        """
        # Velocities of a step are recorded in that step, other fields at the end of that before.
        first = int(self.late)
        of_points = record[first : first + len(self.signal), self.channels]
        derivative = self.signal @ np.asarray(of_points, float)[::-1]
        if isinstance(self.scale, TapedArray):
            yield self.scale, derivative
        if self.imaged is not None:
            yield self.imaged, -derivative * value_of(self.scale) / self.imaged.value


class SourceReading:
    """The channels that read the adjoint where sources of a batch of shots act by the medium."""

    def __init__(
        self, discretization: Discretization, injection: Injection,
        shots: Sequence[Sequence[PointSource]], taped: Mapping[str, TapedArray], steps: int,
    ) -> None:  # fmt: skip
        """Find the points that such sources act on.

        Args:
            discretization: the run.
            injection: of any subdomain.
            shots: sources of each shot.
            taped: coefficients (z, y, x) on the nodes of the grid.
            steps: of the forward run.
        """
        self._discretization = discretization
        self._norm = EnergyNorm(discretization)
        self._taped = taped
        self._channels = 0
        self._fields = {f.name: SparseRows() for f in discretization.physics.fields}
        self.terms: list[ActingTerm] = []
        for name, rows in injection.rows_of([list(sources) for sources in shots]).items():
            field = discretization.physics.named(name)
            which, begins, signals = injection.signals_of(field, rows, steps)
            for row, number in zip(rows, which, strict=True):
                index = np.clip(np.arange(steps) - begins[number], 0, signals.shape[1] - 1)
                self._add(name, row, injection, signals[number, index])

    @property
    def rows(self) -> RecordRows:
        """The rows of a recorder."""
        return RecordRows(self._fields, {}, {}, {}, self._channels)

    def _add(self, name: str, row: SourceRow, injection: Injection, signal: np.ndarray) -> None:
        """Add the term of a source, unless images contain its derivative."""
        shot, source, term, points = row
        field = self._discretization.physics.named(name)
        x, y, z, weights = injection.points_of(field, points)
        mean = mean_at(self._taped, x, y, z)
        scale = term.scale(
            lambda name, of_component=False: mean(name, field.half), self._discretization.clock.dt
        )
        imaged: TapedArray | None = None
        if self._discretization.physics.previous:
            imaged = mean("k", field.half)
        elif field.late:
            imaged = 1.0 / mean("rho", field.half)
        if imaged is None:
            varies = isinstance(scale, TapedArray)
        else:
            varies = not np.allclose(value_of(scale), imaged.value, rtol=1e-9, atol=0.0)
        if not varies:
            return
        channels = slice(self._channels, self._channels + len(x))
        self._channels = channels.stop
        self._read(name, shot, channels, (x, y, z, weights))
        component = source.strength[term.component]
        self.terms.append(ActingTerm(component * signal, field.late, channels, scale, imaged))

    def _read(self, name: str, shot: int, channels: slice, points: tuple[np.ndarray, ...]) -> None:
        """Read the adjoint of a field at points (n), a channel each."""
        x, y, z, weights = points
        group = self._norm.group(name)
        coefficients = {n: array.value for n, array in self._taped.items()}
        row = self._norm.matrix(name, mean_at(coefficients, x, y, z))[group.index(name)]
        late = self._discretization.physics.named(name).late
        sign = 1.0 if late else self._norm.sign
        weight = sign * weights * self._norm.share(name)[z, 0, 0]
        for other, factor in zip(group, row, strict=True):
            for n, w in enumerate(weight * factor):
                at = (x[n : n + 1], y[n : n + 1], z[n : n + 1], np.array([w]))
                self._fields[other].append(channels.start + n, shot, at)
