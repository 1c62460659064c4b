"""Copies that a card's copy engines do, beside its kernels: to and from the host, and of rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from seismo.backends.gpu.launch_order import GpuLaunch
from seismo.backends.rows import Rows

# A module that imports this one.
if TYPE_CHECKING:
    from seismo.backends.gpu.card import Card

# Kinds of copies, as cudaMemcpyKind numbers them.
HOST_TO_DEVICE = 1
DEVICE_TO_HOST = 2
DEVICE_TO_DEVICE = 3

COPIED_BYTES = 512 * 2**20  # to measure the bandwidth, several times the card's cache
COPIES = 8


def bandwidth(card: Card) -> float:
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


def to_host(card: Card, array: Any, host: np.ndarray) -> GpuLaunch:
    """Bind a copy of an array of the card to a pinned buffer of the host."""
    return _flat(card, array, array.data.ptr, host, host.ctypes.data, DEVICE_TO_HOST)


def from_host(card: Card, host: np.ndarray, array: Any) -> GpuLaunch:
    """Bind a copy of a pinned buffer of the host to an array of the card."""
    return _flat(card, host, host.ctypes.data, array, array.data.ptr, HOST_TO_DEVICE)


def _flat(
    card: Card, source: Any, source_address: int, target: Any, target_address: int, kind: int
) -> GpuLaunch:  # fmt: skip
    def run(keep_alive: Any = (source, target)) -> None:
        stream = cupy.cuda.get_current_stream()
        cupy.cuda.runtime.memcpyAsync(
            target_address, source_address, source.nbytes, kind, stream.ptr
        )

    return GpuLaunch(run, frozenset({source_address}), frozenset({target_address}), card)


def of_rows(
    card: Card, sources: Sequence[Any], source_rows: Rows, targets: Sequence[Any], target_rows: Rows
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
