"""Launches beside plain kernels: copies, messages, and kernels whose blocks work together.

A card's copy engines copy to and from the host, and rows. Messages between cards of different
processes go by NCCL through CuPy: all sends and receives of a message as one group on the stream in
use, so that none waits for another, and can be recorded in a graph. Ranks start their messages in
the same order. Blocks work together in clusters, or all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import cupy
import numpy as np
from cuda.bindings import driver

from seismo.backends.base import Communicator, Rows
from seismo.backends.gpu.launch_order import GpuLaunch, LaunchingCard
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
    """Copy an array to the card in use by the driver's own buffers.

    Pinned ones, which `cupy.asarray` makes for each array, take a millisecond each.
    """
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
    """Bind a copy of rows of some arrays to as many others, of this card or another.

    Arrays follow one another: a launch that waits for all of them waits for one thing.
    """
    # Rows joined along y: one strided 2-D copy for each array and shot, (z, y x).
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
        # The key of the communicator is made by one rank and sent to all.
        key = ranks.allgather(nccl.get_unique_id() if ranks.first else None)[0]
        try:
            self._nccl = nccl
            self._communicator = nccl.NcclCommunicator(ranks.count, key, ranks.number)
        except nccl.NcclError as error:
            raise DeviceError(f"backend gpu: NCCL cannot connect the ranks: {error}") from error

    def send(self, out: dict[int, Any], into: dict[int, Any]) -> None:
        """Send and receive, on the stream in use, what ranks have for one another."""
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


PORTABLE = 8  # blocks of a cluster that every card of compute capability 9.0 and later runs


def launch_clusters(
    function: Any, stream: Any, sizes: ClusterSizes, arguments: Sequence[Any]
) -> None:
    """Launch a kernel of clusters.

    Args:
        function: the kernel, as CuPy loaded it.
        stream: CuPy's stream.
        sizes: of the launch.
        arguments: NumPy scalars.

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


def launch_together(function: Any, stream: Any, sizes: TileSizes, arguments: Sequence[Any]) -> None:
    """Launch a kernel whose blocks all run at the same time.

    Args:
        function: the kernel, as CuPy loaded it.
        stream: CuPy's stream.
        sizes: of the launch.
        arguments: NumPy scalars.

    Raises:
        ClusterError: the card has no room for all; nothing was launched.
    """
    cooperative = driver.CUlaunchAttribute()
    cooperative.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
    cooperative.value.cooperative = 1
    _launch(function, stream, sizes, cooperative, arguments)


def _launch(
    function: Any, stream: Any, sizes: TileSizes, attribute: Any,
    arguments: Sequence[Any],
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
    # The driver copies the arguments from where these pointers point.
    scalars = [np.array([value]) for value in arguments]
    pointers = np.array([scalar.ctypes.data for scalar in scalars], np.uint64)
    _done(driver.cuLaunchKernelEx(configuration, handle, pointers.ctypes.data, 0))


def _done(result: tuple[Any, ...]) -> None:
    status = result[0]
    if int(status):
        raise ClusterError(
            f"the driver refuses a launch of blocks that work together: {status.name}"
        )
