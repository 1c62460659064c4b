"""Inject faults of many subfaults into one subdomain, window by window of steps.

Launches are bound once, to arrays for the largest number of subfaults that act at a time. Before
each window the subfaults that act in it are sorted by the points that they act on, and their
weights and signals are copied there, while a thread computes the next window.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from seismo.acquisition.sources import PointSource, Shot
from seismo.backends.base import Backend, Launch
from seismo.backends.point_kernels import (
    PIECE,
    ROWS,
    add_spread,
    spread,
    sum_segment,
)
from seismo.features.faults.pieces import FaultPieces, Table, fault_pieces
from seismo.features.faults.signals import WINDOW
from seismo.solver.fields import Fields
from seismo.solver.subdomain import AddedLaunches, SubdomainSolver


def injections(solver: SubdomainSolver, medium: object) -> list[AddedLaunches]:
    """Return the injections of the faults of a run into a subdomain."""
    return [
        FaultInjection(solver.backend, solver.fields, pieces)
        for pieces in fault_pieces(solver.discretization, solver.subdomain)
    ]


class FaultInjection(AddedLaunches):
    """Injection of one fault into one subdomain."""

    window = WINDOW

    def __init__(self, backend: Backend, fields: Fields, pieces: FaultPieces) -> None:
        """Allocate the tables of one window."""
        self._backend = backend
        self._fields = fields
        self._pieces = pieces
        self._kind = np.dtype(backend.precision)
        self._window = backend.array(np.zeros(1, np.int64))
        self._signals = backend.array(np.zeros((WINDOW, pieces.most), self._kind))
        self._sums = backend.array(np.zeros(pieces.sums, self._kind))
        self._tables: list[Table] = []
        self._arrays: list[tuple[Any, ...]] = []  # amounts, pieces, lines, masks
        for field in pieces.fields:
            # Arrays for the most subfaults of any window: launches stay bound to them.
            shapes = field.shapes(pieces.most)
            kinds = [np.dtype(np.int32)] * 5 + [self._kind] * 3
            arrays = [np.zeros(s, t) for s, t in zip(shapes, kinds, strict=True)]
            self._tables.append(Table(*map(backend.array, arrays)))
            amounts = np.zeros((len(field.pieces), PIECE), self._kind)
            arrays = [amounts, field.pieces, field.lines, field.masks]
            self._arrays.append(tuple(map(backend.array, arrays)))
        self._begin = -1
        self._pool = ThreadPoolExecutor(1, "seismo-fault")
        self._next: dict[int, Future[tuple[np.ndarray, list[Table]]]] = {}

    def point_sources(self, shot: Shot) -> Sequence[PointSource]:
        """Return the subfaults at faces, which act as point sources."""
        return self._pieces.subfaults.lone if shot.faults else ()

    def acts_for(self, shots: Sequence[Shot]) -> bool:
        """Whether any of the shots has faults."""
        return any(shot.faults for shot in shots)

    def holds(self, step: int) -> bool:
        """Whether the loaded window contains a step."""
        return self._begin == step - step % WINDOW

    def load(self, step: int, steps: int) -> None:
        """Load the window of a step; start to compute the next one, if any, in a thread."""
        if self.holds(step):
            return
        self._begin = begin = step - step % WINDOW
        if not self._tables:
            return
        # The window computed by the thread, unless the run went elsewhere.
        prepared = {later: future.result() for later, future in self._next.items()}
        signals, tables = prepared.get(begin) or self._pieces.tables(begin, self._kind)
        # Copy into the arrays that launches are bound to.
        self._signals[:] = self._backend.array(signals)
        for bound_table, table in zip(self._tables, tables, strict=True):
            for array, numbers in zip(bound_table, table, strict=True):
                array[:] = self._backend.array(numbers)
        self._window[:] = self._backend.array(np.array([begin]))
        # Work the next window out meanwhile.
        later = begin + WINDOW
        self._next = {}
        if later < steps:
            self._next = {later: self._pool.submit(self._pieces.tables, later, self._kind)}

    def silence(self) -> None:
        """Deactivate all subfaults."""
        for table in self._tables:
            table.spans[:] = 0
            table.segments[:] = 0
        self._begin = -1

    def evaluations(self) -> list[Launch]:
        """Return the launches that sum what a step injects, before any stage needs it."""
        launches = []
        sums = self._sums.ravel()
        for field, arrays, table in zip(
            self._pieces.fields, self._arrays, self._tables, strict=True
        ):
            amounts, pieces, *rows = arrays
            spans, slots, *summed = table
            # Each segment, and each row along z that it acts on.
            levels = range(field.most_segments * field.depth)
            flat = [array.ravel() for array in (*summed, self._signals)]
            arguments = (sums, *flat, self._window, self._backend.clock)
            launches.append(
                self._backend.each_row(
                    sum_segment, len(levels), ROWS, arguments, (0,), _first(levels)
                )
            )
            gathered = (amounts, pieces, spans, *rows, slots, sums)
            launches.append(
                self._backend.each_row(spread, len(pieces), PIECE, gathered, (0,), _first(pieces))
            )
        return launches

    def bound(self, stage: str, core: bool, parity: int) -> list[Launch]:
        """Return the launches after a stage has updated the edges, or the core."""
        subdomain = self._fields.subdomain
        launches = []
        physics = self._fields.physics
        for field, arrays, table in zip(
            self._pieces.fields, self._arrays, self._tables, strict=True
        ):
            name = field.field.name
            (x, y, z) = field.first_points
            # Pieces of the edges, or of the core.
            numbers = np.flatnonzero(subdomain.in_core(y, z) == core)
            if physics.stage_writing(name) != stage or not numbers.size:
                continue
            flat_indices = subdomain.flat(x, y, z)[numbers].astype(np.int64)
            put = self._backend.array
            arguments = (
                self._fields.written(name, parity), arrays[0], put(numbers), put(flat_indices),
                table.spans,
            )  # fmt: skip
            launches.append(
                self._backend.each_row(
                    add_spread, numbers.size, PIECE, arguments, (0,), _first(numbers)
                )
            )
        return launches


def _first(items: Any) -> np.ndarray:
    """Return the shot that each item serves: a fault acts in the only one."""
    return np.zeros(len(items), np.int64)
