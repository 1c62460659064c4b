"""Snapshots of a wavefield that is stepping: which fields, at which steps, at honest times.

    field -> cut, decimated, as float32, rounded if asked -> buffer on the device -> pipeline

A snapshot at t = n dt is taken after n steps. Fields on whole steps (stress, pressure) stand there;
velocities, which stand half a step later, are the mean of the values at (n - 1/2) dt and (n + 1/2)
dt: the first half waits in the buffer for one step. For a motion of angular frequency w the mean is
cos(w dt / 2) of the true value. In space nothing is interpolated (`half_cell` in the results).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from seismo.backends.base import Copy
from seismo.backends.row_kernels import shorten
from seismo.grid.decomposition import CheckpointArray
from seismo.output.pipeline import Pipeline
from seismo.output.results_file import NullWriter, ResultsWriter
from seismo.solver.fields import RankFields
from seismo.solver.sampling.field_sampling import Component, FieldSampler
from seismo.solver.sampling.output_sets import MANTISSA_BITS, Series


class _SnapshotBuffer:
    """A component of a series: its buffer on the device and the launches that fill it."""

    def __init__(self, series: Series, component: Component, reader: FieldSampler) -> None:
        self.series = series
        self.component = component
        self.reader = reader
        self.buffer = reader.buffer(np.float32)
        self._copy: Copy | None = None
        share = 0.5 if component.late else 1.0

        def launches(parity: int, added: bool) -> list:
            return [
                launch
                for n, (field, factor) in enumerate(component.terms)
                for launch in reader.launches(
                    field, parity, self.buffer, share * factor, added=added or n > 0
                )
            ]

        self._set, self._add = ([launches(p, added) for p in (0, 1)] for added in (False, True))
        self._rounding = list(_rounding(reader, self.buffer, series.bits))

    def begin(self, parity: int) -> None:
        """Read the field; of velocities, half a step later, half of it."""
        if self._copy is not None:
            self._copy.hold()
        self.reader.wait_for_all()
        for launch in self._set[parity]:
            launch()

    def complete(self, parity: int) -> None:
        """Add the other half."""
        for launch in self._add[parity]:
            launch()

    def hand_over(self, pipeline: Pipeline | NullWriter, names: list[str], step: int) -> None:
        """Send the frame to the datasets of shots."""
        for launch in self._rounding:
            launch()
        self.reader.wait_for_all()
        gathered = self.reader.gathered(self.buffer, range(len(names)))
        if gathered is not None:
            self._copy = pipeline.send(gathered, names, self.series.order[step])


def _rounding(reader: FieldSampler, buffer: Any, bits: int) -> Any:
    if bits == MANTISSA_BITS:
        return
    for row_group, (to, _) in zip(reader.rows, reader.bound_rows, strict=True):
        arguments = (buffer.view(np.uint32), to, *masks(bits))
        yield reader.each_row(shorten, row_group, arguments)


def masks(bits: int) -> tuple[np.uint32, np.uint32, np.uint32]:
    """Return the masks of `shorten` for so many bits, fewer than all: half, kept, special."""
    last = np.uint32(1 << (MANTISSA_BITS - bits))
    return last >> np.uint32(1), ~(last - np.uint32(1)), np.uint32(0x7F800000)


class SnapshotRecorder:
    """Take the due snapshots of a batch of shots and send them on their way to the disk."""

    def __init__(
        self,
        writer: ResultsWriter | NullWriter,
        series: list[tuple[Series, RankFields]],
        shots: list[str],
    ) -> None:
        """Lay out the datasets of all shots; bind the cuts of a batch, each of its fields."""
        self._folders = {
            (s.name, k): _lay_out(writer, s, k, shots) for s, _ in series for k in shots
        }
        self.events = set[int]().union(*(s.events for s, _ in series))
        readers = [FieldSampler(sampled, entry.cut, at_first=True) for entry, sampled in series]
        self._buffers = [
            _SnapshotBuffer(entry, component, reader)
            for (entry, _), reader in zip(series, readers, strict=True)
            for component in entry.components
        ]

    def state(self) -> dict[str, CheckpointArray]:
        """Return the state between two steps: first halves of velocities."""
        half_step_buffers = [
            snapshot_buffer
            for snapshot_buffer in self._buffers
            if snapshot_buffer.component.late and snapshot_buffer.reader.takes_points
        ]
        return {
            (
                array_name := f"{snapshot_buffer.series.name}/{snapshot_buffer.component.name}"
            ): CheckpointArray(
                snapshot_buffer.buffer, [snapshot_buffer.reader.global_block(array_name)]
            )
            for snapshot_buffer in half_step_buffers
        }

    def take(
        self, step: int, parity: int, pipeline: Pipeline | NullWriter, shots: list[str]
    ) -> None:
        """Take the snapshots due after a step of this parity, for these shots."""
        for snapshot_buffer in self._buffers:
            order = snapshot_buffer.series.order
            half_step = snapshot_buffer.component.late
            folders = (
                f"{self._folders[snapshot_buffer.series.name, k]}/{snapshot_buffer.component.name}"
                for k in shots
            )
            if half_step and step - 1 in order:
                snapshot_buffer.complete(parity)
                snapshot_buffer.hand_over(pipeline, list(folders), step - 1)
            if step in order:
                snapshot_buffer.begin(parity)
                if not half_step:
                    snapshot_buffer.hand_over(pipeline, list(folders), step)


def _lay_out(
    writer: ResultsWriter | NullWriter, series: Series, shot: str, shots: list[str]
) -> str:
    return writer.create_snapshots(
        series.name,
        shot=shot if len(shots) > 1 else None,
        axes=series.cut.axes,
        times=series.times,
        fields={c.name: c.unit for c in series.components},
        plane=series.cut.plane,
        error=0.0 if series.bits == MANTISSA_BITS else 2.0 ** -(series.bits + 1),
    )
