"""Add a plane wave to one subdomain, after each stage whose differences cross its box."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seismo.backends.base import Backend, Launch
from seismo.backends.kernels.retarded import add_retarded
from seismo.solver.fields import Fields
from seismo.solver.incident_terms import IncidentTerm


class IncidentInjection:
    """The terms of a plane wave that act in one subdomain.

    Nothing of it is part of the state: what it adds depends on the step alone.
    """

    def __init__(self, backend: Backend, fields: Fields, terms: Sequence[IncidentTerm]) -> None:
        """Copy signals, filters and points to the machine."""
        self._backend = backend
        self._fields = fields
        self._bound = []
        subdomain = fields.subdomain
        precision = np.dtype(backend.precision)
        put = backend.array
        # Edges that neighbours wait for, and core, have launches of their own.
        for term in terms:
            x, y, z = term.points
            row, iy, ix = (
                a.ravel()
                for a in np.meshgrid(*(np.arange(p.size) for p in (z, y, x)), indexing="ij")
            )
            owned = subdomain.owns(y[iy], z[row])
            core = subdomain.in_core(y[iy], z[row])
            shared = None
            for inner in (False, True):
                acting = np.flatnonzero(owned & (core == inner))
                if not acting.size:
                    continue
                if shared is None:
                    taps = np.ascontiguousarray(term.filters.taps.astype(precision))
                    signals = term.signals.reshape(-1, term.signals.shape[-1])
                    signals = np.ascontiguousarray(signals.astype(precision))
                    shared = tuple(map(put, (signals, taps, term.filters.lags)))
                # Columns (y, x) and signals (segment, z), one behind the other.
                columns = (iy[acting] * x.size + ix[acting]).astype(np.int32)
                signal = (term.segments[columns] * z.size + row[acting]).astype(np.int32)
                points = subdomain.flat(x[ix[acting]], y[iy[acting]], z[row[acting]])
                points = points.astype(np.int64)
                arrays = (put(points), put(signal), put(columns), *shared)
                self._bound.append((term.stage, inner, term.field, acting.size, arrays))

    def bound(self, stage: str, core: bool, parity: int) -> list[Launch]:
        """Return the launches after a stage has updated the edges, or the core."""
        return [
            self._backend.each(
                add_retarded,
                count,
                (self._fields.written(name, parity), *arrays, self._backend.clock),
                writes=(0,),
                shots=np.zeros(count, np.int64),
            )
            for of_stage, inner, name, count, arrays in self._bound
            if of_stage == stage and inner == core
        ]
