"""A card made of Numba's CUDA simulator: the GPU backend's own kernels, thread by thread.

Lanes are small NumPy vectors. Where the threads of a block wait for one another each is a thread of
Python's, which the simulator polls; elsewhere they run in turn, several times as fast. Import this
only where NUMBA_ENABLE_CUDASIM=1 is set.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache

import numpy as np
from numba import cuda
from numba.cuda.simulator import kernel as simulator
from numba.cuda.simulator.kernelapi import Dim3

from seismo.backends.base import Copy
from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.gpu.launch_order import merged
from seismo.backends.gpu.layouts import H200, BlockShape


def _small(axes: str, kind: str) -> BlockShape:
    """Give a few threads, that march along z or do one plane each."""
    if "y" in axes:
        return BlockShape((2, 2, 1), 3)
    return BlockShape((2, 1, 2), 1 if kind == "second" else 3)


_SIMULATING = threading.Lock()  # the simulator runs one kernel at a time
SHAPES = {key: _small(*key[:2]) for key in H200}


def _identity(function):
    return function


@cache
def lanes_of(precision: str):
    item = np.dtype(precision).itemsize

    known = {}

    def around(array):
        """Give the whole array that one is part of, with room before and behind, and where."""
        found = known.get(id(array))
        if found is None or found[0] is not array:
            whole = array if array.base is None else array.base
            start = (array.ctypes.data - whole.ctypes.data) // item
            found = known[id(array)] = array, whole, start
        return found

    def read(field, i):
        _, whole, start = around(field[0] if isinstance(field, tuple) else field)
        at = int(i) + start
        assert 0 <= at <= whole.size - Lanes.width
        return whole[at : at + Lanes.width].copy()

    def load(field, i):
        return field[len(field) // 2] if isinstance(field, tuple) else read(field, i)

    def tiled(field) -> bool:
        return isinstance(field, tuple) and isinstance(field[-1], tuple)

    def among(n: int):
        def take(held):
            first = len(held) // 2 * Lanes.width + n
            return np.concatenate(held)[first : first + Lanes.width]

        return take

    def row(n: int):
        def take(field, i, stride):
            if tiled(field):
                tile, at, pitch = field[-1]
                return read(tile, at + n * pitch)
            return read(field, i + n * stride)

        return take

    def beside(n: int):
        def take(field, i):
            if tiled(field):
                tile, at, _ = field[-1]
                return read(tile, at + n)
            return read(field, i + n)

        return take

    def level(n: int):
        def take(field, i, stride):
            if isinstance(field, tuple) and abs(n) < len(field) // 2:
                return field[n + len(field) // 2]
            return read(field, i + n * stride)

        return take

    def store(array, i, value, mask):
        array = array[0] if isinstance(array, tuple) else array
        assert i % Lanes.width == 0  # a card stores whole lanes only where they are aligned
        count = Lanes.width if mask is None else max(0, min(Lanes.width, mask))
        array[i : i + count] = value[:count]

    class Lanes:
        width, index, number = 16 // item, int, np.dtype(precision).type
        jit = staticmethod(_identity)
        part = staticmethod(lambda k: lambda value: value[k])
        integer = staticmethod(lambda array, i: int(array[i]))
        fetch = staticmethod(lambda array, i: None)
        ask = staticmethod(lambda array, i: None)

        tile_number = np.dtype(precision)
        tile_read = staticmethod(read)
        tile_store = staticmethod(lambda tile, at, value: store(tile, at, value, None))
        tile_copy = staticmethod(lambda tile, at, f, i: store(tile, at, read(f, i), None))
        copies_queued = staticmethod(lambda: None)
        copies_done = staticmethod(lambda n: lambda: None)

    Lanes.load, Lanes.read, Lanes.store = map(staticmethod, (load, read, store))
    Lanes.beside, Lanes.row, Lanes.level = map(staticmethod, (beside, row, level))
    Lanes.among = staticmethod(among)
    Lanes.rounded = staticmethod(lambda value: value)
    return Lanes


class _InTurn:
    """Stand in for the simulator's `BlockManager`: the threads of a block, one after the other."""

    def __init__(self, function, grid, block, debug) -> None:
        self._function, self._block = function, block

    def run(self, block_index, *arguments) -> None:
        thread = threading.current_thread()
        thread.blockIdx = Dim3(*block_index)
        for index in np.ndindex(*self._block):
            thread.threadIdx = Dim3(*index)
            self._function(*arguments)


@contextmanager
def threads_in_turn() -> Iterator[None]:
    """Let the simulator run kernels so whose threads do not wait for one another."""
    polling, simulator.BlockManager = simulator.BlockManager, _InTurn
    try:
        yield
    finally:
        simulator.BlockManager = polling


class SimulatedCard:
    """Stand in for `seismo.backends.gpu.card.Card`."""

    name, capability = "simulator", (9, 0)

    def __init__(self, peers: bool = True) -> None:
        self.peers = peers

    def lanes(self, precision: str):
        return lanes_of(precision)

    def device_function(self, body):
        return body

    def zeros(self, size: int, precision: str):
        return np.zeros(size, precision)

    def array(self, values):
        return np.array(values)

    def fetch(self, array):
        return np.asarray(array)

    def fetch_later(self, array):
        copy = np.array(array)
        return lambda: copy

    def host_buffer(self, size: int):
        return np.empty(size, np.uint8)

    def send(self, array, host):
        np.copyto(host, array)
        return Copy(lambda: None, lambda: None)

    def fetching(self, array, host):
        return lambda: np.copyto(host.view(array.dtype), array)

    def putting(self, host, array):
        return lambda: np.copyto(array, host.view(array.dtype))

    def copying(self, given, rows, to, there):
        def run() -> None:
            for a, b in zip(given, to, strict=True):
                np.copyto(there.joined.of(b), rows.joined.of(a))

        return run

    def alone(self, group, clock):
        def run(step: int) -> None:
            clock[0] = step
            for launch in group:
                launch()

        return run

    def moment(self):
        now = time.perf_counter()
        return lambda: now

    def annotated(self, name: str):
        return nullcontext()

    def attend(self) -> None:
        pass

    def wait(self) -> None:
        pass

    def health(self):
        return {"memory": 1e9}

    def describe(self):
        return {"device": self.name}

    def free_memory(self) -> int:
        return 1 << 40

    def bandwidth(self) -> float:
        return 1e9

    def launch(self, kernel, grid, block, arguments, *, addresses, writes, bounds=None):
        function = kernel.write(self)
        compiled = cuda.jit(function)
        in_turn = "syncthreads" not in function.__code__.co_names
        grid, block = (tuple(int(n) for n in size) for size in (grid, block))

        def run() -> None:
            with _SIMULATING, threads_in_turn() if in_turn else nullcontext():
                compiled[grid, block](*arguments)

        return run

    def program(self, members):
        def advance(first: int, count: int) -> None:
            for member in members:
                member.clock[0] = first
            for step in range(first, first + count):
                for group in merged([m.steps[step % len(m.steps)] for m in members]):
                    for launch in group:
                        launch()

        return advance

    def mark(self):
        return lambda: None

    def reaches(self, other) -> bool:
        return self.peers


class SimulatedBackend(GpuBackend):
    """The GPU backend with small blocks."""

    search = (4, 3)


def simulated(precision: str, peers: bool = True) -> GpuBackend:
    return SimulatedBackend(precision, SimulatedCard(peers), SHAPES)
