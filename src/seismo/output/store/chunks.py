"""Compressed chunks written past the HDF5 chunk cache.

HDF5's own path keeps dirty chunks in a cache; on a full disk that cache crashes the process at
exit. A chunk packed here and stored whole is either in the file or an error, and shuffling plus
ISA-L deflate takes a sixth of the processor time of HDF5's gzip filter. The chunks carry the
standard filter ids (shuffle, deflate), so that any HDF5 library reads them without a plug-in.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import h5py
import numpy as np
from isal import isal_zlib

from seismo.backends import machine

LEVEL = 1
LARGEST_CHUNK_BYTES = 4 * 2**20


def chunk_shape(shape: Sequence[int], itemsize: int, *, keep_last: bool = False) -> tuple[int, ...]:
    """Return a chunk of at most 4 MiB that covers a block with little padding.

    The longest side is halved until the chunk fits; `keep_last` spares the last axis (so that a
    seismogram is a single read) for as long as possible.
    """
    divisions = [1] * len(shape)
    chunk = [max(1, length) for length in shape]
    while int(np.prod(chunk, dtype=np.int64)) * itemsize > LARGEST_CHUNK_BYTES:
        keeps_last = keep_last and max(chunk[:-1], default=1) > 1
        axis = max(range(len(chunk) - keeps_last), key=lambda k: chunk[k])
        divisions[axis] *= 2
        chunk[axis] = -(-shape[axis] // divisions[axis])
    return tuple(chunk)


class Frame(NamedTuple):
    """The part of a dataset for a time or a shot: its shape, its chunks and its type."""

    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    dtype: np.dtype


def frame_of(shape: Sequence[int], dtype: Any, *, keep_last: bool = False) -> Frame:
    """Cut a frame into chunks (`chunk_shape`)."""
    kind = np.dtype(dtype)
    return Frame(tuple(shape), chunk_shape(shape, kind.itemsize, keep_last=keep_last), kind)


def create_frames(
    group: h5py.Group, name: str, leading: tuple[int, ...], frame: Frame
) -> h5py.Dataset:
    """Create a float dataset of (*leading, *frame), absent values reading as NaN."""
    return group.create_dataset(
        name,
        shape=leading + frame.shape,
        dtype=frame.dtype,
        chunks=(1,) * len(leading) + frame.chunk,
        compression="gzip",
        compression_opts=1,
        shuffle=True,
        fillvalue=np.nan,
    )


def write_chunked(group: h5py.Group, name: str, array: np.ndarray) -> h5py.Dataset:
    """Store an array of floats; the checksum of the packed bytes tells of damage."""
    if not array.size:
        return group.create_dataset(name, data=array)
    dataset = create_frames(group, name, (), frame_of(array.shape, array.dtype))
    write_block(dataset, (), array)
    return dataset


def stored_chunks(dataset: Any) -> list[tuple[int, ...]]:
    """List where the chunks begin that a low-level dataset of h5py holds; others are absent."""
    chunk_corners: list[tuple[int, ...]] = []
    dataset.chunk_iter(lambda info: chunk_corners.append(info.chunk_offset))
    return chunk_corners


def write_block(dataset: h5py.Dataset, leading: tuple[int, ...], block: np.ndarray) -> float:
    """Store ``dataset[leading] = block`` chunk by chunk and return the largest absolute value.

    Raises:
        ValueError: the block does not have the shape of the rest of the dataset.
        OSError: the disk is full or failing.
    """
    expected = dataset.shape[len(leading) :]
    if block.shape != expected:
        raise ValueError(f"{dataset.name}: a block of shape {block.shape}, expected {expected}")
    if any(not 0 <= k < n for k, n in zip(leading, dataset.shape, strict=False)):
        raise ValueError(f"{dataset.name}: index {leading} outside {dataset.shape}")
    chunk = dataset.chunks[len(leading) :]
    block = np.asarray(block, dataset.dtype)
    peak = 0.0
    for corner, data, largest in packed(block, chunk):
        peak = float(np.maximum(peak, largest))
        dataset.id.write_direct_chunk(leading + corner, data)
    return peak


def completed(array: np.ndarray, frame: Frame) -> np.ndarray:
    """Return an array as its frame has it; NaN where a run ended early."""
    block = np.asarray(array, frame.dtype)
    missing = frame.shape[-1] - block.shape[-1]
    padding = [(0, 0)] * (block.ndim - 1) + [(0, missing)]
    return np.pad(block, padding, constant_values=np.nan) if missing > 0 else block


def packed(
    block: np.ndarray, chunk: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], bytes, float]]:
    """Pack the chunks of a block on all cores: give the corner, the data and the largest value."""
    if all(n <= c for n, c in zip(block.shape, chunk, strict=True)):
        corner = (0,) * block.ndim
        yield corner, *pack_tile(block, corner, chunk)  # a single chunk needs no threads
        return
    at_once = machine.cores()
    waiting = corners(block.shape, chunk)
    with ThreadPoolExecutor(at_once) as pool:
        while group := list(itertools.islice(waiting, at_once)):
            tiles = pool.map(lambda corner: pack_tile(block, corner, chunk), group)
            for corner, tile in zip(group, tiles, strict=True):
                yield corner, *tile


def corners(shape: Sequence[int], chunk: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Return where the chunks of a block begin."""
    return itertools.product(*(range(0, n, c) for n, c in zip(shape, chunk, strict=True)))


def pack_tile(
    block: np.ndarray, corner: Sequence[int], chunk: Sequence[int]
) -> tuple[bytes, float]:
    """Pack the chunk of a block that begins at a corner, and give its largest absolute value.

    It is shuffled and deflated as HDF5's filters 2 and 1 would; other threads run meanwhile.
    """
    tile = _tile(block, corner, chunk)
    planes = np.ascontiguousarray(tile.view(np.uint8).reshape(-1, tile.itemsize).T)
    return isal_zlib.compress(planes, LEVEL), _largest_magnitude(tile)


def _largest_magnitude(tile: np.ndarray) -> float:
    """Return the largest absolute value of floats, NaN if any is.

    Magnitudes are ordered as their bits are, and NaN comes last: a broken run must not look like a
    calm one.
    """
    bits = 8 * tile.itemsize
    words = tile.view(f"u{tile.itemsize}")
    largest = np.max(words & words.dtype.type(2 ** (bits - 1) - 1), keepdims=True)
    return float(largest.view(tile.dtype).item())


def _tile(block: np.ndarray, corner: Sequence[int], chunk: Sequence[int]) -> np.ndarray:
    block_tile = block[tuple(slice(k, k + c) for k, c in zip(corner, chunk, strict=True))]
    if block_tile.shape == tuple(chunk):
        return np.ascontiguousarray(block_tile)
    # HDF5 stores chunks whole; the part outside the dataset is never read back.
    tile = np.zeros(chunk, block.dtype)
    tile[tuple(slice(0, n) for n in block_tile.shape)] = block_tile
    return tile
