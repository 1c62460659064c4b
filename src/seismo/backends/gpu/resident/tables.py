"""Tables of sources and receivers, on the card, of planes whose steps a kernel takes."""

from __future__ import annotations

import numpy as np

from seismo.backends.gpu.arrays import GpuArrays
from seismo.backends.gpu.resident.clusters.block import RecordArrays, SourceArrays
from seismo.backends.gpu.resident.clusters.layout import SourceNumbers
from seismo.backends.gpu.resident.plane_steps import PlaneSteps
from seismo.backends.gpu.resident.record import RecordTables


def source_tables(
    backend: GpuArrays, known: PlaneSteps, field: int
) -> tuple[SourceArrays, SourceNumbers]:
    """Return the tables of what is injected into a field, and their numbers."""
    # The arrays are the solver's own: those of other shots are loaded into them.
    amount = known.sources.get(field)
    if amount is None:
        # No source acts from step 1 to step 0.
        never = backend.array(np.array([1, 0]))
        tables = (never,) * len(SourceArrays._fields)
        return SourceArrays(*tables), SourceNumbers(0, 0)
    arrays = SourceArrays(*amount.arguments[:7])
    return arrays, SourceNumbers(amount.count // known.shots, int(arrays.samples.shape[1]))


def receiver_tables(backend: GpuArrays, record: RecordTables) -> RecordArrays:
    """Return the tables of receivers."""
    put = backend.array
    channels_of = put(record.channels_of)
    return RecordArrays(
        channels_of=channels_of,
        channels=put(record.channels),
        entries_of=put(record.entries_of),
        entry_indices=put(record.entry_indices.astype(np.int32)),
        gains=put(record.gains),
        # Where no channel is recorded any array takes the place of the record.
        record=channels_of if record.traces is None else record.traces,
    )
