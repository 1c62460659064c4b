"""One NVIDIA card as CuPy drives it: memory, kernels, streams and graphs.

Launches go through CuPy (4 us each, against 16 us through Numba), with the arguments laid out once.
Steps are recorded as graphs and replayed, at less than a microsecond a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

import cupy
import numpy as np
from numba import cuda
from numba.cuda import types as cuda_types
from numba.np.numpy_support import from_dtype

from seismo.backends.base import Launch, Step
from seismo.backends.cuda_code import Request, kept
from seismo.backends.cuda_lanes import cuda_lanes

types: Any = cuda_types
GRAPH_STEPS = 16  # steps of the longer graph


class Card:
    """Own one card's streams and loaded kernels."""

    def __init__(self, number: int = 0) -> None:
        self._device = cupy.cuda.Device(number)
        self._device.use()
        self.capability = divmod(int(self._device.compute_capability), 10)
        self._main = cupy.cuda.Stream(non_blocking=True)
        self._sides: list[Any] = []
        self._functions: dict[Any, Any] = {}

    @cached_property
    def name(self) -> str:
        """The card's name."""
        return cupy.cuda.runtime.getDeviceProperties(self._device.id)["name"].decode()

    def lanes(self, precision: str) -> Any:
        """Give the lanes of a precision."""
        return cuda_lanes(precision)

    def device_function(self, body: Callable) -> Any:
        """Let kernels call a plain function."""
        return cuda.jit(device=True)(body)

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

    def launch(
        self, kernel: Callable[[], Callable], name: str, grid: tuple, block: tuple,
        arguments: tuple, *, addresses: bool, bounds: tuple[int, int] | None = None,
    ) -> Launch:  # fmt: skip
        """Compile and load a kernel, and bind it to its arguments.

        Args:
            kernel: function that gives the kernel.
            name: what tells it from other kernels.
            grid: blocks along x, y, z.
            block: threads along x, y, z.
            arguments: arrays and numbers, in tuples if need be.
            addresses: whether arrays are handed over as addresses.
            bounds: threads of a block and blocks of a multiprocessor.
        """
        signature = tuple(_type(a, addresses) for a in arguments)
        request = Request(kernel, signature, name, bounds, fastmath=addresses)
        function = self._function(request)
        words = tuple(w for a in arguments for w in _words(a, addresses))

        def run(held=arguments) -> None:
            function(grid, block, words)

        return run

    def _function(self, request: Request) -> Any:
        path = kept(request, self.capability)
        if path not in self._functions:
            text = path.read_text()
            module = cupy.cuda.function.Module()
            module.load(text.encode())
            entry = re.search(r"\.visible \.entry (\S+?)\(", text)
            assert entry is not None
            self._functions[path] = (module, module.get_function(entry.group(1)))
        return self._functions[path][1]

    def program(self, steps: tuple[Step, ...], tick: Launch, clock: Any) -> Callable:
        """Record steps as graphs; see `seismo.backends.base.Backend.program`."""
        period = len(steps)

        def take(first: int, count: int) -> None:
            for step in range(first, first + count):
                for group in steps[step % period]:
                    self._beside(group)
                tick()

        graphs = {n: self._record(take, n) for n in (GRAPH_STEPS, period)}
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
                        take(first, 1)
                        first += 1

        return advance

    def _record(self, take: Callable[[int, int], None], count: int) -> Any:
        with self._main:
            self._main.begin_capture()
            take(0, count)
            return self._main.end_capture()

    def _beside(self, group: list[Launch]) -> None:
        """Launch what touches other points each beside one another, and join."""
        if len(group) == 1:
            group[0]()
            return
        while len(self._sides) < len(group) - 1:
            self._sides.append(cupy.cuda.Stream(non_blocking=True))
        start = self._main.record()
        for side, launch in zip(self._sides, group[1:], strict=False):
            side.wait_event(start)
            with side:
                launch()
        group[0]()
        for side, _ in zip(self._sides, group[1:], strict=False):
            self._main.wait_event(side.record())

    def wait(self) -> None:
        """Return when the card has done all that was launched."""
        self._main.synchronize()


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
