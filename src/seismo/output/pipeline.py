"""Asynchronous output: a ring of buffers, a pool of threads that compress, a thread that writes.

    time loop       device buffer -> copy on its own stream -> ring of (pinned) host memory
    pool            chunk by chunk: round, shuffle, deflate, outside HDF5
    writer thread   write_direct_chunk, in order; the only thread that calls HDF5 meanwhile

The time loop waits only for space in the ring; the number and time of such waits are reported.
Errors in a thread are raised in the time loop, by the next `check`.

**Snapshots** of a wavefield that is stepping: which fields, at which steps, at honest times.

    field -> cut, decimated, as float32, rounded if asked -> buffer on the device -> pipeline

A snapshot at t = n dt is taken after n steps. Fields on whole steps (stress, pressure) stand there;
velocities, which stand half a step later, are the mean of the values at (n - 1/2) dt and (n + 1/2)
dt: the first half waits in the buffer for one step. For a motion of angular frequency w the mean is
cos(w dt / 2) of the true value. In space nothing is interpolated (`half_cell` in the results).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType
from typing import Any

import numpy as np

from seismo.backends import machine
from seismo.backends.base import Backend, Copy
from seismo.backends.row_kernels import shorten
from seismo.backends.timeline import SpanRecorder, no_span
from seismo.errors import DiskSpaceError
from seismo.grid.decomposition import CheckpointArray
from seismo.output.results_file import NullWriter, ResultsWriter
from seismo.output.store.chunks import (
    LARGEST_CHUNK_BYTES,
    corners,
    pack_tile,
)
from seismo.scenario.units import with_unit
from seismo.solver.fields import RankFields
from seismo.solver.sampling.field_sampling import Component, FieldSampler
from seismo.solver.sampling.output_sets import MANTISSA_BITS, Series

RING_BYTES = 256 * 2**20  # and at least four of the largest frame
SMALL_BYTES = 2**16
MARGIN_BYTES = 4 * 2**20  # of disk, for metadata of HDF5 and the file system
MOST_THREADS = 16
_ALIGNMENT = 128


def ring_bytes(largest: int, all_together: int) -> int:
    """Return a size for the ring, from the bytes of the largest frame and of all of a run's."""
    return min(max(RING_BYTES, 4 * largest), 2 * all_together) + SMALL_BYTES


def packing_bytes(all_together: int) -> int:
    """Return the memory of packing threads: a chunk, its shuffled and its deflated bytes."""
    return min(_threads() * 3 * LARGEST_CHUNK_BYTES, 3 * all_together)


def _threads() -> int:
    return min(MOST_THREADS, machine.cores())


class Ring:
    """Ring buffer: memory segments are taken and released in the same order.

    Attributes:
        stalls: number of waits for space.
        stalled: their total time in s.
    """

    def __init__(self, memory: np.ndarray) -> None:
        """Use an array of bytes as the ring."""
        self._memory = memory
        self._taken: deque[tuple[int, int]] = deque()
        self._changed = threading.Condition()
        self.stalls = 0
        self.stalled = 0.0

    def take(self, size: int) -> np.ndarray:
        """Return `size` contiguous bytes, waiting until they are free."""
        aligned = -(-size // _ALIGNMENT) * _ALIGNMENT
        if aligned > self._memory.size:
            raise ValueError(f"a frame of {size} bytes in a ring of {self._memory.size}")
        with self._changed:
            start = self._free_start(aligned)
            if start is None:
                self.stalls += 1
                begin = time.perf_counter()
                while start is None:
                    self._changed.wait()
                    start = self._free_start(aligned)
                self.stalled += time.perf_counter() - begin
            self._taken.append((start, start + aligned))
            return self._memory[start : start + size]

    def give_back(self) -> None:
        """Release the segment that was taken first."""
        with self._changed:
            self._taken.popleft()
            self._changed.notify()

    @property
    def used(self) -> int:
        """Bytes in use."""
        with self._changed:
            return sum(end - start for start, end in self._taken)

    def _free_start(self, size: int) -> int | None:
        if not self._taken:
            return 0
        first = self._taken[0][0]
        last = self._taken[-1][1]
        if last > first:  # free: from the last to the end, and from the beginning to the first
            if last + size <= self._memory.size:
                return last
            last = 0
        return last if last + size <= first else None


Job = Callable[[], None]


class Pipeline:
    """Own ring, pool and writer thread while a run steps; use as a context manager."""

    def __init__(
        self, writer: ResultsWriter, backend: Backend, ring: int, reserve: int = 0,
        noted: SpanRecorder = no_span,
    ) -> None:  # fmt: skip
        """Allocate the ring and start the threads.

        Args:
            writer: where everything goes, open.
            backend: where it comes from.
            ring: bytes of the ring (`ring_bytes`).
            reserve: bytes of disk that the end of the run will need.
            noted: receives the threads' spans.
        """
        self._writer = writer
        self._backend = backend
        self._reserve = reserve + MARGIN_BYTES
        self.ring = Ring(backend.host_buffer(ring))
        self._stored = 0
        self._noted = noted
        self._error: BaseException | None = None
        self._low = ""
        self._pool = ThreadPoolExecutor(_threads(), thread_name_prefix="seismo-pack")
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="seismo-write", daemon=True)
        self._thread.start()

    def __enter__(self) -> Pipeline:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write all queued frames and stop the threads; after an error drop the frames."""
        if kind is not None:
            self._error = self._error or error
            self._pool.shutdown(cancel_futures=True)
        self._jobs.put(None)
        self._thread.join()
        self._pool.shutdown()
        if kind is None:
            self._raise()

    def send(self, array: Any, names: Sequence[str], index: int) -> Copy:
        """Queue frame `index` of datasets for writing, from a flat array of the backend."""
        shape, chunk, dtype = self._writer.frame(names[0])
        memory = self.ring.take(array.size * dtype.itemsize)
        host = memory.view(dtype)
        copy = self._backend.send(array, host)
        frames = host.reshape(len(names), *shape)

        def packed(frame: np.ndarray, corner: tuple[int, ...]) -> tuple[bytes, float]:
            copy.wait()
            with self._noted("compress"):
                return pack_tile(frame, corner, chunk)

        chunks = [
            (name, (index, *corner), self._pool.submit(packed, frame, corner))
            for name, frame in zip(names, frames, strict=True)
            for corner in corners(shape, chunk)
        ]
        self._jobs.put(lambda: self._store(chunks))
        return copy

    def write(self, name: str, index: int, make: Callable[[], np.ndarray]) -> None:
        """Compute and compress a frame in a thread of the pool, and queue it for writing."""

        def packed() -> Callable[[], None]:
            with self._noted("compress"):
                return self._writer.pack(name, index, make())

        frame = self._pool.submit(packed)

        def store() -> None:
            if self._error is None:
                frame.result()()

        self._jobs.put(store)

    def drain(self) -> None:
        """Wait until all queued frames are written."""
        stored = threading.Event()
        self._jobs.put(stored.set)
        stored.wait()
        self._raise()

    def check(self) -> None:
        """Raise errors of the threads; a nearly full disk is raised once.

        Raises:
            DiskSpaceError: the free space suffices only to end the run.
            StorageError: a frame could not be written.
        """
        self._raise()
        low = self._low
        self._low = ""
        if low:
            raise DiskSpaceError(low)

    def seal(self, until: int, marks: Mapping[str, object]) -> None:
        """Wait until all queued frames are written, and close the partial file.

        Args:
            until: steps taken so far, over all batches.
            marks: see `ResultsWriter.seal`.

        Raises:
            StorageError: writing failed.
        """
        self.drain()
        self._writer.seal(until, marks)

    def waiting(self) -> dict[str, float]:
        """Return the bytes queued for writing and the number of waits of the time loop."""
        return {"output_waiting": self.ring.used, "output_stalls": self.ring.stalls}

    def describe(self) -> dict[str, Any]:
        """Return the bytes written, and the number and time of waits of the time loop."""
        return {
            "snapshot_bytes": self._stored,
            "output_stalls": self.ring.stalls,
            "output_stalled_s": self.ring.stalled,
        }

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        """Run the jobs in order; after a failure only release their memory."""
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except BaseException as error:
                self._error = self._error or error

    def _store(self, chunks: list[tuple[str, tuple[int, ...], Future]]) -> None:
        try:
            for name, corner, packed in chunks if self._error is None else ():
                data, peak = packed.result()
                with self._noted("store"):
                    self._writer.store(name, corner, data, peak)
                self._stored += len(data)
            self._check_disk()
        finally:
            self.ring.give_back()

    def _check_disk(self) -> None:
        folder = self._writer.path.parent
        needed = self._reserve + self.ring.used + self._writer.parts.joining
        free = machine.free_disk(folder)
        if free is not None and free < needed:
            self._low = (
                f"{self._writer.path}: {folder} has {with_unit(free, 'B')} left, and "
                f"{with_unit(needed, 'B')} are needed to end the run; free some space"
            )


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
            (s.group, s.name, k): _lay_out(writer, s, k, shots) for s, _ in series for k in shots
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
            series = snapshot_buffer.series
            order = series.order
            half_step = snapshot_buffer.component.late
            folders = (
                f"{self._folders[series.group, series.name, k]}/{snapshot_buffer.component.name}"
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
        group=series.group,
        facts=series.facts,
    )
