"""One NVIDIA card as CuPy drives it: memory, kernels, streams and graphs.

Launches go through CuPy (4 us each, against 16 us through Numba), with the arguments laid out once.
Steps are recorded as graphs and replayed, at less than a microsecond a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import cupy
import cupyx
import numpy as np
from numba.cuda import types as cuda_types
from numba.np.numpy_support import from_dtype

from seismo.backends.base import Copy
from seismo.backends.cuda_code import Kernel, Request, Tools, keep
from seismo.backends.cuda_facts import cuda_version, driver_release
from seismo.backends.order import Work, dependencies, lines

types: Any = cuda_types
GRAPH_STEPS = 16  # steps of the longer graph
MOST_LINES = 24  # streams that record one
COPIED_BYTES = 512 * 2**20  # to measure the bandwidth, several times the card's cache
COPIES = 8


class Card(Tools):
    """Own one card's streams and loaded kernels."""

    def __init__(self, number: int = 0) -> None:
        self._device = cupy.cuda.Device(number)
        self._device.use()
        self.capability = divmod(int(self._device.compute_capability), 10)
        # One that waits for CuPy's default stream and makes it wait: whoever touches an array by
        # CuPy's means (`array[:] = 0`), in any thread, comes in order with the launches.
        self._main = cupy.cuda.Stream(non_blocking=False)
        self._copies = cupy.cuda.Stream(non_blocking=True)  # in order with nothing but itself
        self._sides: list[Any] = []
        self._functions: dict[Any, Any] = {}
        self._wanted: list[Request] = []

    @cached_property
    def name(self) -> str:
        """The card's name."""
        return cupy.cuda.runtime.getDeviceProperties(self._device.id)["name"].decode()

    def describe(self) -> dict[str, Any]:
        """Name the card, its driver and the libraries in use."""
        runtime = cupy.cuda.runtime
        return {
            "device": self.name,
            "driver": driver_release(),
            "cuda_driver": cuda_version(runtime.driverGetVersion()),
            "cuda_runtime": cuda_version(runtime.runtimeGetVersion()),
            "cupy": cupy.__version__,
            "numba_cuda": version("numba-cuda"),
        }

    def free_memory(self) -> int:
        """Give the bytes that can still be allocated."""
        return self._device.mem_info[0] + cupy.get_default_memory_pool().free_bytes()

    def bandwidth(self) -> float:
        """Measure the bytes a second that copies on the card move, read and written."""
        size = min(COPIED_BYTES, self.free_memory() // 4)
        with self._main:
            source, target = cupy.zeros(size, np.uint8), cupy.zeros(size, np.uint8)
            marks = [self._main.record(cupy.cuda.Event())]
            for _ in range(COPIES):
                cupy.copyto(target, source)
                marks.append(self._main.record(cupy.cuda.Event()))
            self._main.synchronize()
            seconds = [cupy.cuda.get_elapsed_time(a, b) / 1e3 for a, b in pairwise(marks)]
        del source, target
        cupy.get_default_memory_pool().free_all_blocks()
        return 2.0 * size / min(seconds)

    @cached_property
    def multiprocessors(self) -> int:
        """How many blocks run truly side by side."""
        return int(self._device.attributes["MultiProcessorCount"])

    def zeros(self, size: int, precision: str) -> Any:
        """Allocate zeros."""
        with self._main:
            return cupy.zeros(size, precision)

    def array(self, values: np.ndarray) -> Any:
        """Copy an array to the card."""
        with self._main:
            return cupy.asarray(np.ascontiguousarray(values))

    def fetch(self, array: Any) -> np.ndarray:
        """Copy an array, or a view of one, from the card."""
        with self._main:
            return cupy.asnumpy(array)

    def fetch_later(self, array: Any) -> Callable[[], np.ndarray]:
        """Start to copy an array from the card; the result waits for the copy and gives it."""
        host = cupyx.empty_pinned(array.shape, array.dtype)
        with self._main:
            array.get(out=host, blocking=False)
            copied = self._main.record(cupy.cuda.Event(disable_timing=True))

        def wait(held: Any = array) -> np.ndarray:
            copied.synchronize()
            return host

        return wait

    def host_buffer(self, size: int) -> np.ndarray:
        """Allocate pinned bytes."""
        return cupyx.empty_pinned(size, np.uint8)

    def send(self, array: Any, host: np.ndarray) -> Copy:
        """Copy an array from the card on a stream of its own."""
        stream = cupy.cuda.get_current_stream()  # the one that single launches go to
        self._copies.wait_event(stream.record(cupy.cuda.Event(disable_timing=True)))
        array.get(stream=self._copies, out=host, blocking=False)
        copied = self._copies.record(cupy.cuda.Event(block=True, disable_timing=True))

        def wait(held: Any = array) -> None:
            self._device.use()  # each thread has a device of its own
            copied.synchronize()

        return Copy(wait, lambda: cupy.cuda.get_current_stream().wait_event(copied))

    def launch(
        self, kernel: Kernel, grid: tuple, block: tuple, arguments: tuple, *, addresses: bool,
        writes: tuple, bounds: tuple[int, int] | None = None,
    ) -> Work:  # fmt: skip
        """Bind a kernel to its arguments; it is compiled and loaded before it first runs.

        Args:
            kernel: what it is made of.
            grid: blocks along x, y, z.
            block: threads along x, y, z.
            arguments: arrays and numbers, in tuples if need be.
            addresses: whether arrays are handed over as addresses.
            writes: those of the arrays that the kernel changes.
            bounds: threads of a block and blocks of a multiprocessor.
        """
        signature = tuple(_type(a, addresses) for a in arguments)
        request = Request(kernel, signature, bounds, addresses, self.capability)
        path, words = request.path, tuple(w for a in arguments for w in _words(a, addresses))
        self._wanted.append(request)

        def run(held: Any = arguments) -> None:
            self._function(path)(grid, block, words)

        changed = frozenset(a.data.ptr for a in writes)
        touched = frozenset(a.data.ptr for a in _arrays(arguments))
        return Work(run, touched, changed)

    def _function(self, path: Any) -> Any:
        if path not in self._functions:
            self._load()
        return self._functions[path][1]

    def _load(self) -> None:
        """Compile and load all kernels that were bound since the last time."""
        wanted, self._wanted = self._wanted, []
        keep(wanted)
        for path in {request.path for request in wanted} - self._functions.keys():
            text = path.read_text()
            module = cupy.cuda.function.Module()
            module.load(text.encode())
            entry = re.search(r"\.visible \.entry (\S+?)\(", text)
            assert entry is not None
            self._functions[path] = (module, module.get_function(entry.group(1)))

    def program(self, steps: tuple[list[list[Work]], ...], tick: Work, clock: Any) -> Callable:
        """Record steps as graphs; see `seismo.backends.base.Backend.program`."""
        period = len(steps)
        self._load()

        def groups(count: int) -> list[list[Work]]:
            return [group for n in range(count) for group in [*steps[n % period], [tick]]]

        graphs = {n: self._record(groups(n)) for n in (GRAPH_STEPS, period)}
        at = -1

        def advance(first: int, count: int) -> None:
            nonlocal at
            with self._main:
                if first != at:
                    clock.fill(first)
                at = last = first + count
                while first < last:
                    sizes = [n for n in graphs if first % period == 0 and first + n <= last]
                    if sizes:
                        graphs[sizes[0]].launch(self._main)
                        first += sizes[0]
                    else:
                        for group in [*steps[first % period], [tick]]:
                            for work in group:
                                work()
                        first += 1

        return advance

    def _record(self, groups: list[list[Work]]) -> Any:
        """Record launches as a graph in which each waits for no more than it must."""
        needed = dependencies(groups)
        chosen = lines(needed, MOST_LINES)
        while len(self._sides) <= max(chosen):
            self._sides.append(cupy.cuda.Stream(non_blocking=True))
        with self._main:
            self._main.begin_capture()
            start, done, opened = self._main.record(), list[Any](), set[int]()
            every = [work for group in groups for work in group]
            for work, waits, line in zip(every, needed, chosen, strict=True):
                stream = self._sides[line]
                if line not in opened:
                    stream.wait_event(start)
                    opened.add(line)
                for n in waits:
                    if chosen[n] != line:
                        stream.wait_event(done[n])
                with stream:
                    work()
                done.append(stream.record())
            for line in opened:
                self._main.wait_event(self._sides[line].record())
            return self._main.end_capture()

    def wait(self) -> None:
        """Return when the card has done all that was launched."""
        self._main.synchronize()


def _arrays(argument: Any) -> list:
    if isinstance(argument, tuple):
        return [found for a in argument for found in _arrays(a)]
    return [argument] if isinstance(argument, cupy.ndarray) else []


def _type(argument: Any, addresses: bool) -> Any:
    if isinstance(argument, tuple):
        return types.Tuple([_type(a, addresses) for a in argument])
    if isinstance(argument, cupy.ndarray):
        number = from_dtype(argument.dtype)
        return types.uint64 if addresses else types.Array(number, argument.ndim, "C")
    return from_dtype(np.asarray(argument).dtype)


def _words(argument: Any, addresses: bool) -> list:
    """Lay an argument out as Numba's kernels expect it."""
    if isinstance(argument, tuple):
        return [w for a in argument for w in _words(a, addresses)]
    if not isinstance(argument, cupy.ndarray):
        return [np.asarray(argument)[()]]
    address = np.uint64(argument.data.ptr)
    if addresses:
        return [address]
    numbers = (argument.size, argument.itemsize)
    layout = (*argument.shape, *argument.strides)
    return [np.uint64(0), np.uint64(0), *map(np.int64, numbers), address, *map(np.int64, layout)]
