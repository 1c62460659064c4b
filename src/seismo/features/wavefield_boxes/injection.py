"""The incident field of a recorded box, added to the fields of a subdomain, window by window.

The terms that cross the faces (`crossing`) are rows of a sparse matrix: entries of a point of a
field, a weight and the number of a signal each, the incident field where the term takes it. Point
kernels of sources evaluate and add them (`seismo.backends.point_kernels.amount`, `inject`). Signals
of a window of steps are on the device; a thread reads the next window meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from seismo.backends.base import Backend, Launch
from seismo.backends.point_kernels import add_taken
from seismo.features.wavefield_boxes.crossing import Crossings, crossings
from seismo.features.wavefield_boxes.recording import has_all_rows, recorded_fields
from seismo.features.wavefield_boxes.signals import IncidentPoints, IncidentSignals
from seismo.features.wavefield_boxes.source import RecordedWavefield, reach, recorded_wavefields
from seismo.grid.decomposition import Subdomain
from seismo.runs.resources.memory import FeatureMemory
from seismo.runs.resources.speed import Machine
from seismo.solver.discretization import Discretization
from seismo.solver.subdomain import AddedLaunches, SubdomainSolver

WINDOW_NUMBERS = 1 << 24  # of signals, on the device at a time
LONGEST_WINDOW = 64  # steps
_NUMBERS_OF_TERM = 4.0  # moved for a term: two indices of 64 bits, and two numbers of 32


def injections(solver: SubdomainSolver, medium: object) -> list[AddedLaunches]:
    """Return the injections of the recorded wavefields of a run into a subdomain."""
    return [
        BoxInjection(solver, wavefield) for wavefield in recorded_wavefields(solver.discretization)
    ]


@dataclass(frozen=True)
class _Table:
    """Entries of a field that a stage writes, in the core or the edges, sorted by point."""

    stage: str
    target: str
    core: bool
    arguments: tuple[Any, ...]  # points, starts, weights, signals


class BoxInjection(AddedLaunches):
    """A recorded wavefield in a subdomain.

    Nothing of it is part of the state: its amounts depend on the step alone.
    """

    def __init__(self, solver: SubdomainSolver, wavefield: RecordedWavefield) -> None:
        """Find the terms that cross the faces of the box, and the signals that they take."""
        discretization = solver.discretization
        self._backend = solver.backend
        self._fields = solver.fields
        # Terms that cross the faces, and the points whose incident field they take.
        width = reach(discretization)
        physics = discretization.physics
        has_rows = partial(has_all_rows, physics)
        terms = list(crossings(solver.bindings[0], physics, wavefield.box, width, has_rows))
        points, numbers = _signal_points(terms)
        self._signals = IncidentSignals(discretization, wavefield, points)
        self.window = _window(discretization)
        # Arrays of a window, to which launches are bound.
        put = self._backend.array
        precision = np.dtype(self._backend.precision)
        self._samples = put(np.zeros((self.window, len(points)), precision))
        self._first = put(np.zeros(1, np.int64))
        self._tables = _tables(self._backend, solver.subdomain, terms, numbers)
        self._begin = -1
        self._pool = ThreadPoolExecutor(1, "seismo-box")
        self._next: dict[int, Future[np.ndarray]] = {}

    def holds(self, step: int) -> bool:
        """Whether the loaded window contains a step."""
        return self._begin == step - step % self.window

    def load(self, step: int, steps: int) -> None:
        """Load the window of a step; start to read the next, if any, in a thread."""
        if self.holds(step):
            return
        # The window that the thread has read, unless the run went elsewhere.
        self._begin = begin = step - step % self.window
        ready = self._next.pop(begin, None)
        samples = ready.result() if ready else self._signals.window(begin, self.window)
        self._samples[:] = self._backend.array(samples.astype(self._samples.dtype))
        self._first[:] = begin
        # The next one is read meanwhile.
        later = begin + self.window
        if later < steps:
            self._next = {later: self._pool.submit(self._signals.window, later, self.window)}

    def bound(self, stage: str, core: bool, parity: int) -> list[Launch]:
        """Return the launches after a stage has updated the edges, or the core."""
        arrays = self._fields.arrays(parity)
        launches = []
        for table in self._tables:
            if table.stage == stage and table.core == core:
                count = table.arguments[0].size
                arguments = (
                    arrays[table.target], *table.arguments, self._samples, self._first,
                    self._backend.clock,
                )  # fmt: skip
                shots = np.zeros(count, np.int64)
                launches.append(self._backend.each(add_taken, count, arguments, (0,), shots))
        return launches


def _signal_points(terms: list[Crossings]) -> tuple[IncidentPoints, list[np.ndarray]]:
    """Return where the incident field is taken, each point once, and the numbers (n) of terms."""
    # A signal for each field, its age and its point.
    kinds = sorted({(term.source, term.shift) for term in terms})
    if not terms:
        return IncidentPoints(kinds, np.zeros(0, int), np.zeros((0, 3), int)), []
    origins = np.concatenate([term.origins for term in terms])
    of_term = [kinds.index((term.source, term.shift)) for term in terms]
    kind = np.repeat(of_term, [len(term.weights) for term in terms])
    # By a single number for each: kind, z, y, x.
    low = origins.min(axis=0)
    nx, ny, nz = origins.max(axis=0) - low + 1
    x, y, z = (origins - low).T
    keys = ((kind * nz + z) * ny + y) * nx + x
    _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    # Numbers of the entries of each term again.
    ends = np.cumsum([len(term.weights) for term in terms])
    return (
        IncidentPoints(kinds, kind[first], origins[first]),
        np.split(numbers, ends[:-1]),
    )


def _tables(
    backend: Backend, subdomain: Subdomain, terms: list[Crossings], numbers: list[np.ndarray]
) -> list[_Table]:
    """Return the tables of terms, whose signals have these numbers (n)."""
    put = backend.array
    precision = np.dtype(backend.precision)
    tables = []
    for stage, target in dict.fromkeys((term.stage, term.target) for term in terms):
        # All terms that a stage adds to a field.
        chosen = [k for k, term in enumerate(terms) if term[:2] == (stage, target)]
        points = np.concatenate([terms[k].points for k in chosen])
        weights = np.concatenate([terms[k].weights for k in chosen])
        signals = np.concatenate([numbers[k] for k in chosen])
        x, y, z = points.T
        # Edges that neighbours wait for, and core, have launches of their own.
        inner = subdomain.in_core(y, z)
        for core in np.unique(inner).tolist():
            acting = inner == core
            at = subdomain.flat(x[acting], y[acting], z[acting])
            # By point, then by signal, so that sums have one order however the grid is cut.
            order = np.lexsort((signals[acting], at))
            cells, sizes = np.unique(at, return_counts=True)
            arrays = (
                cells, np.concatenate([[0], np.cumsum(sizes)]),
                weights[acting][order].astype(precision), signals[acting][order],
            )  # fmt: skip
            tables.append(_Table(stage, target, core, tuple(map(put, arrays))))
    return tables


def memory(
    discretization: Discretization, subdomain: Subdomain, plane_size: int, item: int
) -> FeatureMemory:
    """Count the bytes of terms and of a window of signals, with numbers of `item` bytes."""
    # Each point of a slab takes so many values across the face.
    terms = signals = 0
    for slab, fields in _slab_sizes(discretization):
        signals += slab * fields
        terms += slab * fields * discretization.stencil.order
    window = _window(discretization) if signals else 0
    return FeatureMemory(sources=terms * (8 + item) + signals * window * item)


def _window(discretization: Discretization) -> int:
    """Return the steps of a window, the same on all ranks: as many as there is room for."""
    signals = sum(slab * fields for slab, fields in _slab_sizes(discretization))
    return min(LONGEST_WINDOW, max(2, WINDOW_NUMBERS // max(1, signals)))


def injection_seconds(discretization: Discretization, backend: Machine) -> float:
    """Estimate the time in s that adding the incident field takes."""
    number = np.dtype(discretization.scenario.arithmetic).itemsize / backend.bandwidth()
    moved = sum(
        slab * fields * (discretization.stencil.order * _NUMBERS_OF_TERM + 2.0)
        for slab, fields in _slab_sizes(discretization)
    )
    return moved * number * discretization.total_steps


def _slab_sizes(discretization: Discretization) -> Iterator[tuple[int, int]]:
    """Yield the points about each face of each wavefield, and the fields that are taken there."""
    fields = len(recorded_fields(discretization.physics))
    for wavefield in recorded_wavefields(discretization):
        for slab in wavefield.box.slabs(reach(discretization)).values():
            yield slab.size, fields
