"""Launches beside plain kernels: copies, messages, blocks that work together, graphs of steps.

A card's copy engines copy to and from the host, and rows. Messages between cards of different
processes go by NCCL through CuPy: all sends and receives of a message as a group on the stream in
use, so that none waits for another, and can be recorded in a graph. Ranks start their messages in
the same order. Blocks work together in clusters, or all of them.

Steps of one card or several are recorded as CUDA graphs and replayed (`Graphs`). In a graph
each launch waits for no more than it must (`seismo.backends.gpu.launch_order`), on its own card or
on another. A graph over several cards keeps them in step without the host: graphs of single cards
would have to distinguish the events of a step from those of the step before. All launches but those
of cores go on streams of high priority: they are small, and neighbours or the next stage wait for
them. Behind the thousands of blocks of a core they would come last.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import cupy
import numpy as np
from cuda.bindings import driver

from seismo.backends.base import Communicator, Rows
from seismo.backends.gpu.launch_order import (
    CountedSteps,
    GpuLaunch,
    LaunchingCard,
    assign_streams,
    dependencies,
    merged,
)
from seismo.backends.gpu.resident.threads import ClusterError, ClusterSizes, TileSizes
from seismo.errors import DeviceError

# Kinds of copies, as cudaMemcpyKind numbers them.
HOST_TO_DEVICE = 1
DEVICE_TO_HOST = 2
DEVICE_TO_DEVICE = 3

COPIED_BYTES = 512 * 2**20  # to measure the bandwidth, several times the card's cache
COPIES = 8


def measured_bandwidth(card: LaunchingCard) -> float:
    """Measure the bytes a second that copies on a card move, read and written."""
    # Each byte is read and written once; the best of several.
    size = min(COPIED_BYTES, card.free_memory() // 4)
    with card.main:
        source = cupy.zeros(size, np.uint8)
        target = cupy.zeros(size, np.uint8)
        marks = [card.main.record(cupy.cuda.Event())]
        for _ in range(COPIES):
            cupy.copyto(target, source)
            marks.append(card.main.record(cupy.cuda.Event()))
        card.main.synchronize()
        seconds = [cupy.cuda.get_elapsed_time(a, b) / 1e3 for a, b in pairwise(marks)]
    del source, target
    cupy.get_default_memory_pool().free_all_blocks()
    return 2.0 * size / min(seconds)


def to_card(host_array: np.ndarray) -> Any:
    """Copy an array to the card in use by the driver's own buffers; those of a card stay there.

    Pinned ones, which `cupy.asarray` makes for each array, take a millisecond each.
    """
    if isinstance(host_array, cupy.ndarray):
        return host_array
    array = cupy.empty(host_array.shape, host_array.dtype)
    array.set(np.ascontiguousarray(host_array))
    return array


def copy_to_host(card: LaunchingCard, array: Any, host: np.ndarray) -> GpuLaunch:
    """Bind a copy of an array of the card to a pinned buffer of the host."""
    return _flat(card, array, array.data.ptr, host, host.ctypes.data, DEVICE_TO_HOST)


def copy_from_host(card: LaunchingCard, host: np.ndarray, array: Any) -> GpuLaunch:
    """Bind a copy of a pinned buffer of the host to an array of the card."""
    return _flat(card, host, host.ctypes.data, array, array.data.ptr, HOST_TO_DEVICE)


def _flat(
    card: LaunchingCard, source: Any, source_address: int, target: Any, target_address: int,
    kind: int,
) -> GpuLaunch:  # fmt: skip
    def run(keep_alive: Any = (source, target)) -> None:
        stream = cupy.cuda.get_current_stream()
        cupy.cuda.runtime.memcpyAsync(
            target_address, source_address, source.nbytes, kind, stream.ptr
        )

    return GpuLaunch(run, frozenset({source_address}), frozenset({target_address}), card)


def copy_rows(
    card: LaunchingCard, sources: Sequence[Any], source_rows: Rows, targets: Sequence[Any],
    target_rows: Rows,
) -> GpuLaunch:  # fmt: skip
    """Bind a copy of rows of arrays to as many others, of this card or another.

    Arrays are copied in order on a stream: whoever waits for all waits for a single event.
    """
    # Rows joined along y: a strided 2-D copy for each array and shot, (z, y x).
    source_rows = source_rows.joined
    target_rows = target_rows.joined
    shots, height, _ = source_rows.counts
    itemsize = sources[0].itemsize
    width = source_rows.length * itemsize
    source_pitch = source_rows.strides[1] * itemsize
    target_pitch = target_rows.strides[1] * itemsize
    addresses = [
        (_address(target, target_rows, shot), _address(source, source_rows, shot))
        for source, target in zip(sources, targets, strict=True)
        for shot in range(shots)
    ]

    def run(keep_alive: Any = (sources, targets)) -> None:
        stream = cupy.cuda.get_current_stream().ptr
        copy = cupy.cuda.runtime.memcpy2DAsync
        for target, source in addresses:
            copy(
                target, target_pitch, source, source_pitch, width, height, DEVICE_TO_DEVICE, stream
            )

    reads, writes = (frozenset(a.data.ptr for a in arrays) for arrays in (sources, targets))
    return GpuLaunch(run, reads, writes, card)


def _address(array: Any, rows: Rows, shot: int) -> int:
    """Return the address of the first row of a shot."""
    return array.data.ptr + (rows.start + shot * rows.strides[0]) * array.itemsize


_TYPES = {"float32": 7, "float64": 8}  # as NCCL numbers them


class Messages:
    """Own this rank's end of the connections."""

    def __init__(self, ranks: Communicator) -> None:
        """Connect all ranks.

        Raises:
            DeviceError: NCCL is missing, or cannot connect them.
        """
        from cupy.cuda import nccl

        if not nccl.available:
            raise DeviceError(
                "backend gpu: ranks with GPUs need NCCL (libnccl.so.2); pip install 'seismo[nccl]'"
            )
        # A rank makes the key of the communicator and sends it to all.
        key = ranks.allgather(nccl.get_unique_id() if ranks.first else None)[0]
        try:
            self._nccl = nccl
            self._communicator = nccl.NcclCommunicator(ranks.count, key, ranks.number)
        except nccl.NcclError as error:
            raise DeviceError(f"backend gpu: NCCL cannot connect the ranks: {error}") from error

    def send(self, out: dict[int, Any], into: dict[int, Any]) -> None:
        """Exchange the messages of ranks on the stream in use."""
        # NCCL groups sends and receives: none waits for another within the group.
        stream = cupy.cuda.get_current_stream().ptr
        self._nccl.groupStart()
        for rank, array in out.items():
            self._communicator.send(
                array.data.ptr, array.size, _TYPES[array.dtype.name], rank, stream
            )
        for rank, array in into.items():
            self._communicator.recv(
                array.data.ptr, array.size, _TYPES[array.dtype.name], rank, stream
            )
        self._nccl.groupEnd()


class LaidArguments:
    """The arguments of a kernel, laid out once; the driver copies them at each launch.

    Attributes:
        pointers: addresses of the arguments.
    """

    def __init__(self, arguments: Sequence[Any]) -> None:
        """Lay NumPy scalars out."""
        self._scalars = [np.array([value]) for value in arguments]
        self.pointers = np.array([scalar.ctypes.data for scalar in self._scalars], np.uint64)

    def end_with(self, *numbers: int) -> None:
        """Set the last arguments."""
        for scalar, number in zip(self._scalars[-len(numbers) :], numbers, strict=True):
            scalar[0] = number


PORTABLE = 8  # blocks of a cluster that every card of compute capability 9.0 and later runs


def launch_clusters(
    function: Any, stream: Any, sizes: ClusterSizes, arguments: LaidArguments
) -> None:
    """Launch a kernel of clusters.

    Args:
        function: the kernel, as CuPy loaded it.
        stream: CuPy's stream.
        sizes: of the launch.
        arguments: of the kernel.

    Raises:
        ClusterError: the driver refuses; nothing was launched.
    """
    clusters, blocks, threads, shared = sizes
    attributes = driver.CUfunction_attribute
    if blocks > PORTABLE:
        name = attributes.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        _done(driver.cuFuncSetAttribute(driver.CUfunction(function.ptr), name, 1))
    dimension = driver.CUlaunchAttribute()
    dimension.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    dimension.value.clusterDim.x = blocks
    dimension.value.clusterDim.y = 1
    dimension.value.clusterDim.z = 1
    _launch(function, stream, TileSizes(clusters * blocks, threads, shared), dimension, arguments)


def launch_together(function: Any, stream: Any, sizes: TileSizes, arguments: LaidArguments) -> None:
    """Launch a kernel whose blocks all run at the same time.

    Args:
        function: the kernel, as CuPy loaded it.
        stream: CuPy's stream.
        sizes: of the launch.
        arguments: of the kernel.

    Raises:
        ClusterError: the card has no room for all; nothing was launched.
    """
    cooperative = driver.CUlaunchAttribute()
    cooperative.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
    cooperative.value.cooperative = 1
    _launch(function, stream, sizes, cooperative, arguments)


def _launch(
    function: Any, stream: Any, sizes: TileSizes, attribute: Any, arguments: LaidArguments,
) -> None:  # fmt: skip
    blocks, threads, shared = sizes
    handle = driver.CUfunction(function.ptr)
    size = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    _done(driver.cuFuncSetAttribute(handle, size, shared))
    configuration = driver.CUlaunchConfig()
    configuration.gridDimX = blocks
    configuration.gridDimY = configuration.gridDimZ = 1
    configuration.blockDimX = threads
    configuration.blockDimY = configuration.blockDimZ = 1
    configuration.sharedMemBytes = shared
    configuration.hStream = driver.CUstream(stream.ptr)
    configuration.attrs = [attribute]
    configuration.numAttrs = 1
    _done(driver.cuLaunchKernelEx(configuration, handle, arguments.pointers.ctypes.data, 0))


def _done(result: tuple[Any, ...]) -> None:
    status = result[0]
    if int(status):
        raise ClusterError(
            f"the driver refuses a launch of blocks that work together: {status.name}"
        )


SIZES = (16, 4)  # steps of the longer graphs
MOST_STREAMS = 24  # streams of a kind that record a graph on a card
BY_PRIORITY = 8  # CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY


class Graphs:
    """Own the graphs of some members' steps, all of the same number."""

    def __init__(self, members: list[CountedSteps]) -> None:
        """Record them; all after the first go along with it."""
        self._members = members
        self._first, *self._others = [member.card for member in members]
        self._period = len(members[0].steps)
        # Long graphs amortise the launch of a graph; single steps fill up the rest.
        self._graphs = {(0, size): self._record(0, size) for size in SIZES}
        self._graphs |= {(n, 1): self._record(n, 1) for n in range(self._period)}

    def advance(self, first: int, count: int) -> None:
        """Take steps."""
        last = first + count
        main = self._first.main
        # What other cards' streams hold comes before the first step.
        for card in self._others:
            with card.device:
                for stream in _streams(card):
                    main.wait_event(stream.record(_event()))
        with self._first.device, main:
            # The clocks on the cards count by themselves within these steps; another simulation of
            # the same backend may have set them since the last ones.
            self._set_clocks(first)
            while first < last:
                # The largest graph that begins at the right time level and does not overshoot.
                parity = first % self._period
                size = next((n for n in SIZES if not parity and first + n <= last), 1)
                self._graphs[parity, size].launch(main)
                first += size
            done = main.record(_event())
        # And launches after the steps, on any card, wait for the last step.
        for card in self._others:
            with card.device:
                for stream in _streams(card):
                    stream.wait_event(done)

    def _set_clocks(self, step: int) -> None:
        for member in self._members:
            card = member.card
            with card.device, card.main:
                member.clock.fill(step)
                self._first.main.wait_event(card.main.record(_event()))

    def _record(self, first: int, count: int) -> Any:
        # Merge the members' groups step by step, and derive the dependencies of all their launches.
        groups = merged([
            [group for n in range(first, first + count) for group in m.steps[n % self._period]]
            for m in self._members
        ])  # fmt: skip
        works: list[Any] = [work for group in groups for work in group]
        # Cores have low priority; edges, halos and sources, which others wait for, high priority.
        urgent = [group.where != "core" for group in groups for _ in group]
        kinds = [(work.card, soon) for work, soon in zip(works, urgent, strict=True)]
        needed = dependencies(groups)
        chosen = assign_streams(needed, kinds, MOST_STREAMS)
        main = self._first.main
        streams = dict[Any, Any]()
        done = list[Any]()
        with self._first.device, main, _capturing(main) as captured:
            # Fork: streams join the capture by an event of the main stream.
            start = main.record(_event())
            for work, waits, stream_key in zip(works, needed, chosen, strict=True):
                with work.card.device:
                    # Highest priority for launches that others wait for: CUDA would run a core's
                    # blocks before them.
                    if stream_key not in streams:
                        streams[stream_key] = _stream_of(stream_key)
                        streams[stream_key].wait_event(start)
                    # Predecessors on the same stream are ordered by it; others need an event.
                    for n in waits:
                        if chosen[n] != stream_key:
                            streams[stream_key].wait_event(done[n])
                    with streams[stream_key]:
                        work()
                    done.append(streams[stream_key].record(_event()))
            # Join: a capture ends when all its streams have come back to the first.
            for ((card, _), _), stream in streams.items():
                with card.device:
                    end = stream.record(_event())
                main.wait_event(end)
        with self._first.device:
            return _Graph(captured[0])


class _Graph:
    """A recorded graph that is launched by the priorities of the streams that recorded it.

    CuPy's own class launches a graph of a single stream.
    """

    def __init__(self, captured: Any) -> None:
        """Make it executable; a driver that refuses priorities takes CuPy's own."""
        # Node priorities come from the capturing streams, and survive with this flag only.
        status, executable = driver.cuGraphInstantiate(captured.graph, BY_PRIORITY)
        if int(status):
            self._handle = captured.graphExec
            self._captured = captured
            return
        # An executable graph from the captured graph.
        self._handle = int(executable)
        destroy = weakref.finalize(self, cupy.cuda.runtime.graphExecDestroy, self._handle)
        destroy.atexit = False  # the driver is gone by then

    def launch(self, stream: Any) -> None:
        """Launch it on a stream."""
        cupy.cuda.runtime.graphLaunch(self._handle, stream.ptr)


@contextmanager
def _capturing(stream: Any) -> Iterator[list[Any]]:
    """Record a stream's launches; the list has the graph in the end.

    If a launch is refused, the stream goes on without a graph.
    """
    graphs: list[Any] = []
    stream.begin_capture()
    try:
        yield graphs
    except BaseException:
        with contextlib.suppress(RuntimeError):  # streams that did not join in yet
            stream.end_capture()
        raise
    graphs.append(stream.end_capture())


def _streams(card: LaunchingCard) -> tuple[Any, Any]:
    """Return the streams of launches outside graphs."""
    return card.main, cupy.cuda.Stream.null


def _stream_of(stream_key: Any) -> Any:
    (card, urgent), number = stream_key
    return card.side(number, urgent)


def _event() -> Any:
    """Make an event on the card in use."""
    return cupy.cuda.Event(disable_timing=True)
