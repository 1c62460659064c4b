"""Asynchronous output: a ring of buffers, a pool of threads that compress, a thread that writes.

    time loop       device buffer -> copy on its own stream -> ring of (pinned) host memory
    pool            chunk by chunk: round, shuffle, deflate, outside HDF5
    writer thread   write_direct_chunk, in order; the only thread that calls HDF5 meanwhile

The time loop waits only for space in the ring; the number and time of such waits are reported.
Errors in a thread are raised in the time loop, by the next `check`.
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
from seismo.backends.timeline import SpanRecorder, no_span
from seismo.errors import DiskSpaceError
from seismo.output.results_file import ResultsWriter
from seismo.output.store.chunks import (
    LARGEST_CHUNK_BYTES,
    corners,
    pack_tile,
)
from seismo.scenario.units import with_unit

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
