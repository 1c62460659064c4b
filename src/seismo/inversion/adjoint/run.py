"""Adjoint run: the forward kernels on residuals reversed in time.

Receivers become sources. A residual r of a step, of a channel that reads a field with weights w,
adds W^-1 w r to the field, W the norm of the energy (`seismo.inversion.adjoint.energy_norm`); what
is read where a source acts is the derivative by its signal. With N steps, step k of an adjoint run
belongs to step n of the forward run::

    first order in time     velocities n = N - k,  stresses before step k:  n = N - k
    second order            n = N - 1 - k
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from seismo.acquisition.sources import Shot
from seismo.inversion.adjoint.energy_norm import EnergyNorm, mean_at
from seismo.inversion.adjoint.memory import adding
from seismo.inversion.adjoint.source_derivative import SourceReading
from seismo.inversion.adjoint.tape import TapedArray, at_points
from seismo.solver.boundary_images import folded
from seismo.solver.discretization import Discretization
from seismo.solver.parallel.active_region import reversed_phases
from seismo.solver.sampling.injection import Injection, InjectionTable, SignalPoints, TableKey
from seismo.solver.sampling.recording import Recorder, RecordRows
from seismo.solver.simulation import Prepared, Simulation

# (shot of the batch, receiver set, base component) -> residuals (receiver, step) of the record
Residuals = Mapping[tuple[int, str, str], np.ndarray]


def lengthened(discretization: Discretization) -> Discretization:
    """Return a run with a step more: stresses of the last step act before the first."""
    clock = replace(discretization.clock, steps=discretization.clock.steps + 1)
    return replace(discretization, clock=clock)


def _at(response: Any, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Any:
    """Return a number, or the values (n) of an array (z, y, x) at points."""
    return response if isinstance(response, float) else at_points(response, (z, y, x))


class AdjointRun:
    """A simulation of adjoint fields, of a batch of shots."""

    def __init__(self, forward: Simulation) -> None:
        """Allocate and bind it like the forward run, with a medium of its own."""
        self.steps = forward.total_steps
        run = lengthened(adding(forward.discretization))
        # The forward fields are zero where it took no steps: there nothing is made of the adjoint.
        backwards = reversed_phases(forward.phases, self.steps)
        self.simulation = Simulation(
            run, forward.backend, ranks=forward.ranks, run_phases=backwards
        )
        self.norm = EnergyNorm(run)
        self._rows: dict[int, RecordRows] = {}  # by the number of shots
        self._coefficients: Mapping[str, Any] = {}
        self._responses: dict[str, dict[str, Any]] = {}  # to strains, by stress

    def load(
        self, shots: Sequence[Shot], residuals: Residuals, factor: float,
        coefficients: Mapping[str, Any], reading: SourceReading | None = None,
    ) -> None:  # fmt: skip
        """Load the residuals of shots, and reset the time to the end of the record.

        Args:
            shots: of the batch.
            residuals: derivatives by their records.
            factor: that these are multiplied by.
            coefficients: (z, y, x) on the nodes of the grid.
            reading: of the sources, or None.
        """
        self._coefficients = coefficients
        if self.norm.memory is not None:
            self._responses = self.norm.memory.responses(coefficients)
        simulation = self.simulation
        rows = self._rows_of(shots)
        tables = [
            self._tables(solver.injection, rows, residuals, factor) for solver in simulation.solvers
        ]
        simulation.start(Prepared(tables, None if reading is None else reading.rows))

    def reading_of(
        self, shots: Sequence[Shot], taped: Mapping[str, TapedArray], every_term: bool
    ) -> SourceReading:
        """Return the reading of the adjoint where the sources of shots act (`SourceReading`)."""
        simulation = self.simulation
        return SourceReading(
            simulation.discretization, simulation.solvers[0].injection,
            [shot.points for shot in shots], taped, self.steps, every_term,
        )  # fmt: skip

    def step_of(self, step: int) -> int:
        """Return the steps before the one that belongs to the last of so many forward steps."""
        return self.steps - step + (not self.simulation.discretization.physics.previous)

    @property
    def record(self) -> np.ndarray:
        """The record (step, channel) of the last reading."""
        return self.simulation.backend.fetch(self.simulation.recorder.record)

    def _rows_of(self, shots: Sequence[Shot]) -> RecordRows:
        """Return the rows that read the receivers; the same for as many other shots."""
        if len(shots) not in self._rows:
            simulation = self.simulation
            reader = Recorder(simulation.discretization, simulation.division, simulation.sampled)
            rows = reader.rows_of(shots)
            assert rows is not None  # the first ones of a recorder
            self._rows[len(shots)] = rows
        return self._rows[len(shots)]

    def _tables(
        self, injection: Injection, rows: RecordRows, residuals: Residuals, factor: float
    ) -> dict[TableKey, InjectionTable]:
        """Return the tables of residuals that act on a subdomain."""
        # Zero before the first step, and behind the last.
        signals = np.zeros((rows.channels, self.steps + 2))
        for key, channels in rows.index.items():
            if key in residuals:
                of_receivers = residuals[key][rows.receivers[key[:2]]]
                signals[channels, 1:-1] = factor * of_receivers[:, ::-1]
        physics = self.simulation.discretization.physics
        entries: dict[str, list[SignalPoints]] = {}
        for name, reading in rows.fields.items():
            if len(reading):
                for field, acting in self._acting(injection, name, reading).items():
                    entries.setdefault(field, []).append(acting)
        tables: dict[TableKey, InjectionTable] = {}
        for field, of_field in entries.items():
            # Velocities of a step act in that step, other fields at the end of the step before.
            samples = signals[:, :-1] if physics.named(field).late else signals[:, 1:]
            joined = SignalPoints(
                *(np.concatenate(column) for column in zip(*of_field, strict=True))
            )
            tables |= injection.tables_of(field, joined, samples)
        return tables

    def _acting(self, injection: Injection, name: str, channels: Any) -> dict[str, SignalPoints]:
        """Return what channels that read a field add to the fields of its group."""
        norm = self.norm
        discretization = self.simulation.discretization
        field = discretization.physics.named(name)
        x, y, z, shot = channels.points
        numbers = np.repeat(channels.channels, np.diff(channels.starts))
        faces = discretization.image_faces
        x, y, z, weights = folded(faces, discretization.grid, field, (x, y, z, channels.weights))
        x, y, z, shot, numbers, weights = injection.owned(x, y, z, shot, numbers, weights)
        weights = weights / discretization.interpolation.norm(field, x, y, z)
        if norm.memory is not None and not field.late:
            # As a strain within a step, which memory variables remember.
            return {
                other: SignalPoints(
                    x, y, z, shot,
                    norm.sign * norm.memory.sign(name) * weights * _at(response, x, y, z), numbers,
                )
                for other, response in self._responses[name].items()
            }  # fmt: skip
        mean = mean_at(self._coefficients, x, y, z)
        group = norm.group(name)
        columns = norm.inverse(name, mean)[:, :, group.index(name)]
        sign = 1.0 if field.late else norm.sign
        return {
            other: SignalPoints(x, y, z, shot, sign * weights * columns[:, k], numbers)
            for k, other in enumerate(group)
        }
