"""Checks of a results file: one hash of all traces, and a pass through all checksums.

The hash is that of the hashes of frames, which are stored in any order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

import h5py
import numpy as np

from seismo.output.store.arrays import (
    children,
    read,
    reading,
)
from seismo.output.store.chunks import stored_chunks


def hash_of_frame(traces: np.ndarray) -> str:
    """Return the hash of the traces (receiver, time) of one shot, as they are on disk."""
    return hashlib.sha256(traces.tobytes()).hexdigest()


def hash_of_all(frames: Mapping[str, str]) -> str:
    """Return the hash of all frames, given theirs by ``traces/<set>/<quantity>/<shot>``."""
    return hashlib.sha256(json.dumps(frames, sort_keys=True).encode()).hexdigest()


def hash_of_file(file: h5py.File) -> str:
    """Read all traces of a file and return their hash."""
    sets = children(dict(children(file, h5py.Group)).get("traces"), h5py.Group)
    arrays = (array for _, one in sets for array in children(one, h5py.Dataset))
    return hash_of_all(dict(frame for _, array in arrays for frame in _frames(array)))


def _frames(array: h5py.Dataset) -> Iterator[tuple[str, str]]:
    """Return the names and hashes of what was stored; a run given up leaves out its last shots."""
    with reading(array):
        if array.ndim != 3:
            return
        for shot in range(array.shape[0]):
            if array.id.get_chunk_info_by_coord((shot, 0, 0)).byte_offset is not None:
                yield f"{array.name.lstrip('/')}/{shot}", hash_of_frame(read(array, shot))


def verified(item: h5py.HLObject) -> int:
    """Read all of a dataset or a group, through the checksums; count the numbers."""
    with reading(item):
        dict(item.attrs)
        if isinstance(item, h5py.Dataset):
            for block in _blocks(item) if item.chunks else [...]:
                read(item, block)
            return int(item.size) if item.dtype.kind in "fiu" else 0
    return sum(verified(member) for _, member in children(item, h5py.HLObject))


def _blocks(dataset: h5py.Dataset) -> Iterator[tuple[slice, ...]]:
    for corner in stored_chunks(dataset.id):
        yield tuple(slice(k, k + n) for k, n in zip(corner, dataset.chunks, strict=True))
