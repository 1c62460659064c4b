"""Plane waves added to the fields of a subdomain, and the memory and time that this takes.

They are added after each stage whose differences cross a box. The incident waves need scipy
(`seismo.features.plane_waves.wave`), which is imported for runs that have plane waves only.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seismo.backends.base import Backend, Launch
from seismo.backends.point_kernels import add_retarded, retard
from seismo.features.plane_waves.delays import IncidentTerm
from seismo.features.plane_waves.plane_wave import plane_waves
from seismo.grid.decomposition import Subdomain
from seismo.runs.resources.memory import FeatureMemory
from seismo.runs.resources.speed import Machine
from seismo.solver.discretization import Discretization, derived_once
from seismo.solver.fields import Fields
from seismo.solver.subdomain import AddedLaunches, SubdomainSolver

if TYPE_CHECKING:
    from seismo.features.plane_waves.wave import IncidentWave
    from seismo.solver.discretization import Discretization

_POINT_BYTES = 12  # its index, and that of its signal; its scale is a number
_FILTER_LENGTH = 20  # samples, about
INCIDENT_NANOSECONDS: dict[str, dict[str, float]] = {
    "cpu": {"points": 2.5, "signals": 2.2},
    "gpu": {},
}  # fmt: skip
# Numbers moved for each: its field twice, signal, scale and two indices; signal and samples.
INCIDENT_NUMBERS = {"points": 7.0, "signals": 2.0}


@derived_once
def incident_waves(discretization: Discretization) -> list[IncidentWave]:
    """Return the plane waves on the grid of a run."""
    waves = plane_waves(discretization)
    if not waves:
        return []
    kind = import_module("seismo.features.plane_waves.wave").IncidentWave
    return [kind(discretization, wave) for wave in waves]


@derived_once
def incident_terms(discretization: Discretization) -> list[IncidentTerm]:
    """Return all that the plane waves of a run add to its fields."""
    return [term for wave in incident_waves(discretization) for term in wave.terms()]


class IncidentSize(NamedTuple):
    """How much the plane waves of a run add to, in a step and in memory.

    Attributes:
        points: that are added to.
        signals: that are filtered for them: rows of the delays that differ.
        samples: of signals and filters.
    """

    points: int = 0
    signals: int = 0
    samples: int = 0

    def nbytes(self, item: int) -> int:
        """Return the bytes of all of it, with numbers of `item` bytes."""
        return self.points * (_POINT_BYTES + item) + (self.signals + self.samples) * item


def incident_size(discretization: Discretization) -> IncidentSize:
    """Return the size of a run's plane waves, without finding them."""
    total = IncidentSize()
    for wave in incident_waves(discretization):
        # Each face of the box: columns times rows of points, each column with its delay.
        band = wave.band(wave.spectrum())
        for term in wave.injected:
            rows, _ = wave.shares(term)
            columns = wave.columns(term) if rows.size else None
            if columns is None:
                continue
            # Points are all columns and rows; signals of delays, by their segments.
            segments, references = wave.segments(columns, band)
            sizes = IncidentSize(
                rows.size * columns.numbers.size,
                rows.size * segments.size,
                _FILTER_LENGTH * segments.size + references.size * rows.size * wave.samples,
            )
            total = IncidentSize(*(a + b for a, b in zip(total, sizes, strict=True)))
    return total


def injections(solver: SubdomainSolver, medium: object) -> list[AddedLaunches]:
    """Return the injections of the plane waves of a run into a subdomain."""
    terms = incident_terms(solver.discretization)
    return [IncidentInjection(solver.backend, solver.fields, terms)]


class IncidentInjection(AddedLaunches):
    """The terms of a plane wave that act in a subdomain.

    Nothing of it is part of the state: its amounts depend on the step alone.
    """

    def __init__(self, backend: Backend, fields: Fields, terms: Sequence[IncidentTerm]) -> None:
        """Copy signals, filters and points to the machine."""
        self._backend = backend
        self._fields = fields
        self._filtered: list[tuple[Any, ...]] = []
        self._bound: list[tuple[str, bool, str, int, tuple]] = []
        for term in terms:
            self._bind(term)

    def _bind(self, term: IncidentTerm) -> None:
        """Copy a term's delays and points."""
        subdomain = self._fields.subdomain
        put = self._backend.array
        precision = np.dtype(self._backend.precision)
        # What differences lack where they cross the box: scale times signal (t - delay).
        x, y, z = term.points
        # Points in the order of memory, of this subdomain alone.
        row, iy, ix = (
            a.ravel() for a in np.meshgrid(*(np.arange(p.size) for p in (z, y, x)), indexing="ij")
        )
        owned = subdomain.owns(y[iy], z[row])
        if not owned.any():
            return
        row, iy, ix = row[owned], iy[owned], ix[owned]
        # Of its delays and rows signals are filtered once a step.
        rows = slice(row.min(), row.max() + 1)
        delays, delay = np.unique(term.numbers[iy, ix], return_inverse=True)
        depth = rows.stop - rows.start
        filtered = put(np.zeros((delays.size, depth), precision))
        signals = np.ascontiguousarray(term.signals[..., rows].astype(precision))
        taps = np.ascontiguousarray(term.filters.taps[delays].astype(precision))
        segments = term.segments[delays]
        self._filtered.append(
            (filtered, *map(put, (segments, term.filters.lags[delays], taps, signals)))
        )
        # Edges that neighbours wait for, and core, have launches of their own.
        core = subdomain.in_core(y[iy], z[row])
        for inner in (False, True):
            acting = np.flatnonzero(core == inner)
            if not acting.size:
                continue
            points = subdomain.flat(x[ix[acting]], y[iy[acting]], z[row[acting]])
            # Where the signal of each stands, in rows of a delay.
            at = (delay[acting] * depth + row[acting] - rows.start).astype(np.int32)
            scales = term.scales[iy[acting], ix[acting]].astype(precision)
            arrays = (put(points.astype(np.int64)), put(at), put(scales), filtered.ravel())
            self._bound.append((term.stage, inner, term.field, acting.size, arrays))

    def evaluations(self) -> list[Launch]:
        """Return the launches that filter the signals of a step, before any stage needs them."""
        launches = []
        for filtered, *others in self._filtered:
            count, depth = filtered.shape
            arguments = (filtered, *others, self._backend.clock)
            shots = np.zeros(count, np.int64)
            launches.append(self._backend.each_row(retard, count, depth, arguments, (0,), shots))
        return launches

    def bound(self, stage: str, core: bool, parity: int) -> list[Launch]:
        """Return the launches after a stage has updated the edges, or the core."""
        return [
            self._backend.each(
                add_retarded,
                count,
                (self._fields.written(name, parity), *arrays),
                writes=(0,),
                shots=np.zeros(count, np.int64),
            )
            for of_stage, inner, name, count, arrays in self._bound
            if of_stage == stage and inner == core
        ]


def memory(
    discretization: Discretization, subdomain: Subdomain, plane_size: int, item: int
) -> FeatureMemory:
    """Count the bytes of points, signals and filters, with numbers of `item` bytes."""
    return FeatureMemory(sources=incident_size(discretization).nbytes(item))


def incident_seconds(discretization: Discretization, backend: Machine) -> float:
    """Estimate the time in s that adding plane waves about their boxes takes."""
    size = incident_size(discretization)
    threads = int(backend.describe().get("threads", 1))
    number = np.dtype(discretization.scenario.arithmetic).itemsize / backend.bandwidth()
    counts = {"points": size.points, "signals": size.signals}
    known = INCIDENT_NANOSECONDS[backend.name]
    step = sum(
        count * max(INCIDENT_NUMBERS[kind] * number, known.get(kind, 0.0) * 1e-9 / threads)
        for kind, count in counts.items()
    )
    return step * discretization.total_steps
