"""Add a plane wave to one subdomain, after each stage whose differences cross its box."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from seismo.backends.base import Backend, Launch
from seismo.backends.point_kernels import add_retarded, retard
from seismo.features.plane_waves.filters import IncidentTerm
from seismo.features.plane_waves.terms import incident_terms
from seismo.solver.fields import Fields
from seismo.solver.subdomain import AddedLaunches, SubdomainSolver


def injections(solver: SubdomainSolver, medium: object) -> list[AddedLaunches]:
    """Return what the plane waves of a run add to a subdomain."""
    terms = incident_terms(solver.discretization)
    return [IncidentInjection(solver.backend, solver.fields, terms)]


class IncidentInjection(AddedLaunches):
    """The terms of a plane wave that act in one subdomain.

    Nothing of it is part of the state: what it adds depends on the step alone.
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
        # Points in the order of memory, those of this subdomain alone.
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
