"""One NVIDIA card as CuPy drives it: memory, kernels, streams and graphs.

Launches go through CuPy (4 us each, against 16 us through Numba), with the arguments laid out once.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from importlib.metadata import version
from typing import Any

import cupy
import numpy as np

from seismo.backends.base import Communicator, Copy, Group, Rows
from seismo.backends.gpu.code_cache import (
    CompiledKernel,
    CompileRequest,
    KernelCode,
    Tools,
    WantedKernels,
    arrays,
    load_or_compile,
    types_of,
    words,
)
from seismo.backends.gpu.detect import cuda_version, driver_release, health_of
from seismo.backends.gpu.launch_order import (
    BodyCall,
    CountedSteps,
    GpuLaunch,
    LaunchingCard,
    SweepCall,
)
from seismo.backends.gpu.launches import (
    Graphs,
    LaidArguments,
    Messages,
    copy_from_host,
    copy_rows,
    copy_to_host,
    launch_clusters,
    launch_together,
    measured_bandwidth,
    to_card,
)
from seismo.backends.gpu.resident.threads import ClusterSizes, TileSizes

FIRST = -5  # a stream's highest priority; CUDA takes the nearest that the card has


class Card(Tools):
    """Own a card's streams and loaded kernels."""

    def __init__(self, number: int = 0) -> None:
        self.device = cupy.cuda.Device(number)
        self.device.use()
        self.capability = divmod(int(self.device.compute_capability), 10)
        self.multiprocessors = self.device.attributes["MultiProcessorCount"]
        # One that waits for CuPy's default stream and makes it wait: whoever touches an array by
        # CuPy's means (`array[:] = 0`), in any thread, comes in order with the launches.
        self.main = cupy.cuda.Stream(non_blocking=False)
        self._copies = cupy.cuda.Stream(non_blocking=True)  # in order with nothing but itself
        self._sides: tuple[list[Any], list[Any]] = ([], [])
        self._messages: Messages | None = None
        self._functions: dict[Any, Any] = {}
        self._wanted = WantedKernels()

    @cached_property
    def name(self) -> str:
        """The card's name."""
        return cupy.cuda.runtime.getDeviceProperties(self.device.id)["name"].decode()

    @property
    def slot(self) -> str:
        """Where it sits in its machine, whatever number it has for this process."""
        return self.device.pci_bus_id

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

    def health(self) -> dict[str, float]:
        """Describe its load, memory, temperature and power."""
        return self._health()

    @cached_property
    def _health(self) -> Callable[[], dict[str, float]]:
        return health_of(self.device.pci_bus_id)

    def free_memory(self) -> int:
        """Return the bytes that can still be allocated."""
        return self.device.mem_info[0] + cupy.get_default_memory_pool().free_bytes()

    def bandwidth(self) -> float:
        """Measure the bytes a second that copies on the card move, read and written."""
        return measured_bandwidth(self)

    def zeros(self, size: int, precision: str) -> Any:
        """Allocate zeros."""
        # Allocations and copies are ordered on the main stream.
        with self.main:
            return cupy.zeros(size, precision)

    def array(self, host_array: np.ndarray) -> Any:
        """Copy an array to the card."""
        with self.main:
            return to_card(host_array)

    def fetch(self, array: Any) -> np.ndarray:
        """Copy an array, or a view, from the card."""
        with self.main:
            return cupy.asnumpy(array)

    def fetch_later(self, array: Any) -> Callable[[], np.ndarray]:
        """Start to copy an array from the card; the result waits for the copy and gives it."""
        # Pinned memory lets the copy run beside the host.
        host = _pinned(array.size, array.dtype).reshape(array.shape)
        with self.main:
            array.get(out=host, blocking=False)
            copied = self.main.record(cupy.cuda.Event(disable_timing=True))

        def wait(keep_alive: Any = array) -> np.ndarray:
            copied.synchronize()
            return host

        return wait

    def host_buffer(self, size: int) -> np.ndarray:
        """Allocate pinned bytes."""
        return _pinned(size, np.uint8)

    def send(self, array: Any, host: np.ndarray) -> Copy:
        """Copy an array from the card on a stream of its own."""
        # Events order the copy after the main stream's launches, without the host.
        stream = cupy.cuda.get_current_stream()  # the stream of single launches
        self._copies.wait_event(stream.record(cupy.cuda.Event(disable_timing=True)))
        array.get(stream=self._copies, out=host, blocking=False)
        copied = self._copies.record(cupy.cuda.Event(block=True, disable_timing=True))

        def wait(keep_alive: Any = array) -> None:
            self.use_in_thread()
            copied.synchronize()

        return Copy(wait, lambda: cupy.cuda.get_current_stream().wait_event(copied))

    def mark(self) -> Callable[[], None]:
        """Record an event; the result makes single launches of any card wait for it."""
        reached = cupy.cuda.get_current_stream().record(cupy.cuda.Event(disable_timing=True))
        return lambda: cupy.cuda.get_current_stream().wait_event(reached)

    def launch(
        self, kernel: CompiledKernel, grid: tuple, block: tuple, arguments: tuple, *,
        addresses: bool, writes: tuple, bounds: tuple[int, int] | None = None,
        call: SweepCall | BodyCall | None = None,
    ) -> GpuLaunch:  # fmt: skip
        """Bind a kernel to its arguments; it is compiled and loaded before it first runs.

        Args:
            kernel: its definition.
            grid: blocks along x, y, z.
            block: threads along x, y, z.
            arguments: arrays and numbers, in tuples if need be.
            addresses: whether arrays are handed over as addresses.
            writes: arrays that the kernel changes.
            bounds: threads of a block and blocks of a multiprocessor.
            call: the call of the backend that it is for.
        """
        # Arguments are laid out once: a launch passes pointers to the same words.
        signature = types_of(arguments, addresses, cupy.ndarray)
        request = CompileRequest(kernel, signature, bounds, addresses, self.capability)
        name = request.name
        laid = tuple(words(arguments, addresses, cupy.ndarray))
        self._wanted.add(request)

        def run(keep_alive: Any = arguments) -> None:
            self._function(name)(grid, block, laid)

        # Hazards are derived from the addresses of the arrays (`launch_order`).
        touched = frozenset(a.data.ptr for a in arrays(arguments, cupy.ndarray))
        changed = frozenset(a.data.ptr for a in writes)
        return GpuLaunch(run, touched - changed, changed, self, call, name)

    def clustered(
        self, kernel: CompiledKernel, sizes: ClusterSizes | TileSizes, arguments: tuple,
        beside: Sequence[CompiledKernel] = (),
    ) -> Callable[[int, int], None]:  # fmt: skip
        """Bind a kernel with the loop inside (`launches`), and compile others `beside` it."""
        signature = types_of((*arguments, 0, 0), True, cupy.ndarray)
        launch: Callable = launch_clusters if isinstance(sizes, ClusterSizes) else launch_together
        request, *others = (
            CompileRequest(member, signature, (sizes.threads, 1), True, self.capability)
            for member in (kernel, *beside)
        )
        self._wanted.add(request, *others)
        name = request.name
        laid = LaidArguments(words((*arguments, 0, 0), True, cupy.ndarray))

        def run(first: int, count: int, keep_alive: Any = arguments) -> None:
            laid.end_with(first, count)
            with self.device:
                launch(self._function(name), self.main, sizes, laid)

        return run

    def postpone(self, launches: Iterable[GpuLaunch]) -> None:
        """Defer compilation of launches' kernels until the first of them is launched."""
        self._wanted.postpone({launch.kernel for launch in launches})

    def _function(self, name: str) -> Any:
        # Compile all kernels that were bound since the last load together, side by side.
        if name not in self._functions:
            load_together([self])
        # Not among them: it was postponed, and so comes with all that was.
        if name not in self._functions:
            load_together([self], postponed=True)
        return self._functions[name][1]

    def take_requests(self) -> list[CompileRequest]:
        """Return the kernels that were bound since the last time; whoever asks sees to them."""
        return self._wanted.take()

    def missing(self, postponed: bool) -> list[CompileRequest]:
        """Return the kernels that were bound since the last time and are not loaded."""
        if postponed:
            self._wanted.want_all()
        return [request for request in self.take_requests() if request.name not in self._functions]

    def load_code(self, codes: dict[str, KernelCode]) -> None:
        """Load compiled kernels."""
        with self.device:
            for name, kernel in codes.items():
                module = cupy.cuda.function.Module()
                module.load(kernel.code)
                self._functions[name] = (module, module.get_function(kernel.entry))

    def program(self, members: list[CountedSteps]) -> Callable[[int, int], None]:
        """Record steps of this card, the first of the members, and others (`Backend.program`)."""
        load_together([member.card for member in members], postponed=True)
        return Graphs(members).advance

    def side(self, number: int, urgent: bool) -> Any:
        """Return one of the streams that record a graph; urgent launches run first."""
        streams = self._sides[urgent]
        while len(streams) <= number:
            priority = FIRST if urgent else None
            streams.append(cupy.cuda.Stream(non_blocking=True, priority=priority))
        return streams[number]

    def reaches(self, other: Card) -> bool:
        """Whether launches here may use another card's memory, and see to it."""
        # Peer access is one-way: each card enables its own.
        own_id = self.device.id
        peer_id = other.device.id
        runtime = cupy.cuda.runtime
        if own_id != peer_id and not runtime.deviceCanAccessPeer(own_id, peer_id):
            return False
        with contextlib.suppress(runtime.CUDARuntimeError), self.device:
            runtime.deviceEnablePeerAccess(peer_id)  # refused where it is there already
        return True

    def fetching(self, array: Any, host: np.ndarray) -> GpuLaunch:
        """Bind a copy of an array to a pinned buffer of the host."""
        return copy_to_host(self, array, host)

    def putting(self, host: np.ndarray, array: Any) -> GpuLaunch:
        """Bind the copy from there."""
        return copy_from_host(self, host, array)

    def copying(
        self, sources: Sequence[Any], source_rows: Rows, targets: Sequence[Any], target_rows: Rows
    ) -> GpuLaunch:
        """Bind a copy of rows to arrays of this card or another; no threads are needed for it."""
        return copy_rows(self, sources, source_rows, targets, target_rows)

    def exchange(self, ranks: Communicator, out: dict[int, Any], into: dict[int, Any]) -> GpuLaunch:
        """Bind messages to and from the cards of other processes."""
        # Connect the communicator on first use: all ranks take part.
        if self._messages is None:
            self._messages = Messages(ranks)
        run = partial(self._messages.send, out, into)
        with self.main:
            run()  # connections are made by the first messages
        self.wait()
        # A message of NCCL is ordered with the others by the communicator that it changes.
        changed = frozenset({id(self._messages), *(a.data.ptr for a in into.values())})
        return GpuLaunch(run, frozenset(a.data.ptr for a in out.values()), changed, self)

    def alone(self, group: Group, clock: Any) -> Callable[[int], None]:
        """Launch a group of a step by itself; see `seismo.backends.base.Backend.alone`."""

        def run(step: int) -> None:
            # Set the counter, then launch the group by itself, in order on the main stream.
            with self.device, self.main:
                clock.fill(step)
                for work in group:
                    work()

        return run

    def moment(self) -> Callable[[], float]:
        """Record an event in order with the steps; see `seismo.backends.base.Backend.moment`."""
        start, begin = self._started
        # Event times are relative: this origin relates them to the host's clock.
        with self.device:
            reached = self.main.record(cupy.cuda.Event())
        # cudaEventElapsedTime is in ms.
        return lambda: begin + cupy.cuda.get_elapsed_time(start, reached) / 1e3

    @cached_property
    def _started(self) -> tuple[Any, float]:
        """An event, and when the card reached it by the host's clock."""
        with self.device:
            event = self.main.record(cupy.cuda.Event())
        event.synchronize()
        return event, time.perf_counter()

    @contextmanager
    def annotated(self, name: str) -> Iterator[None]:
        """Open a range of NVTX, which NVIDIA's profilers show."""
        cupy.cuda.nvtx.RangePush(name)
        try:
            yield
        finally:
            cupy.cuda.nvtx.RangePop()

    def use_in_thread(self) -> None:
        """Let the thread that calls it use this card: each thread has its own current card."""
        self.device.use()

    def wait(self) -> None:
        """Return when the card has done all that was launched."""
        self.main.synchronize()


def load_together(cards: Sequence[LaunchingCard], postponed: bool = False) -> None:
    """Compile missing kernels of cards, and postponed ones on request, concurrently; load them."""
    missing = [card.missing(postponed) for card in cards]
    codes = load_or_compile([request for requests in missing for request in requests])
    for card, requests in zip(cards, missing, strict=True):
        card.load_code({request.name: codes[request.name] for request in requests})


def _pinned(size: int, kind: Any) -> np.ndarray:
    """Allocate numbers of the host that cards reach; cupyx, which can, takes 0.2 s to import."""
    memory = cupy.cuda.alloc_pinned_memory(size * np.dtype(kind).itemsize)
    return np.ndarray(size, kind, memory)
