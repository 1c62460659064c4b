"""Checkpoints: the state of a run in a file, complete or absent.

The file is a zip archive without compression, with a CRC-32 of every member: `header.json`, which
has its own checksum, then the arrays, split along their first axis into members of about `BLOCK`
bytes. The header has the global indices of each array, so that another decomposition can read it.
It is written under a hidden name, flushed to disk and renamed; the previous checkpoint is kept in
case the newest is damaged.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np

from seismo.errors import StorageError
from seismo.formats.reading import no_file
from seismo.grid.decomposition import CheckpointArray, GlobalBlock
from seismo.output.run_directory import HiddenFile, refusal, sealed, unsealed

FORMAT = "seismo checkpoint"
BEGINNING = "beginning.json"  # in the folder of several runs: the facts of their beginning
VERSION = 4
KEPT = 2
BLOCK = 64 << 20  # bytes fetched, summed and written at once
_HEADER = "header.json"
_MOST_RANKS = 1 << 20
_DAMAGE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, ValueError, LookupError,
           NotImplementedError, RuntimeError)  # fmt: skip

BackendArrays = Mapping[str, Any]  # of the backend's, contiguous along their first axis
State = Mapping[str, CheckpointArray]


class DamagedError(StorageError):
    """A checkpoint cannot be read, or is not as it was written."""


def write(folder: Path, done: int, facts: Mapping[str, Any], state: State, fetch: Callable) -> None:
    """Store a checkpoint and remove all before the last.

    Args:
        folder: where checkpoints of the run are.
        done: steps taken, over all batches of shots.
        facts: that the run has to know besides, as JSON holds them.
        state: arrays by name, and their global blocks.
        fetch: gives a part of an array to NumPy.

    Raises:
        StorageError: the disk is full or failing; earlier checkpoints are as they were.
    """
    final = folder / f"checkpoint-{done:012d}.zip"
    header = {"format": FORMAT, "version": VERSION, "done": done, **_layout(state), **facts}
    file = HiddenFile(final)
    try:
        with zipfile.ZipFile(cast(Any, file), "w") as archive:
            archive.writestr(zipfile.ZipInfo(_HEADER), sealed(header))
            for name, rows in _blocks({name: entry.array for name, entry in state.items()}):
                data = np.ascontiguousarray(fetch(rows))
                with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
                    member.write(data.data)
                if file.error is not None:
                    raise file.error
        if file.error is not None:
            raise file.error
        file.publish()
    except OSError as error:
        file.discard()
        raise StorageError(str(refusal(final, error))) from error
    except BaseException:
        file.discard()
        raise
    for old in checkpoint_files(folder)[KEPT:]:
        old.unlink(missing_ok=True)


def checkpoint_files(folder: Path) -> list[Path]:
    """List the checkpoint files in a folder, newest first."""
    paths = sorted(folder.glob("checkpoint-*.zip"), reverse=True)
    return [path for path in paths if path.is_symlink() or not path.is_dir()]


def can_resume(folder: Path) -> bool:
    """Whether a run directory has something to go on from: a checkpoint, or finished runs."""
    return bool(checkpoint_files(folder)) or (folder / BEGINNING).is_file()


def header_of(path: Path) -> dict[str, Any]:
    """Read the header of a checkpoint.

    Raises:
        DamagedError: it is damaged, or of another format.
    """
    try:
        if problem := no_file(path):
            raise ValueError(problem)
        with zipfile.ZipFile(path) as archive:
            _refuse_packed(archive, path)
            header = unsealed(archive.read(_HEADER))
    except _DAMAGE as error:
        raise _damaged(path, error) from error
    if header.get("format") != FORMAT:
        raise DamagedError(f"{path}: is not a checkpoint of seismo")
    if header.get("ranks", 1) not in range(1, _MOST_RANKS):
        raise DamagedError(f"{path}: is damaged: it is of {header['ranks']!r:.60} ranks")
    if header.get("version") != VERSION:
        raise DamagedError(
            f"{path}: is of format {header.get('version')}, this version reads {VERSION}"
        )
    return header


def _refuse_packed(archive: zipfile.ZipFile, path: Path) -> None:
    """Raise ValueError for members that take more room than the file: ours are not compressed."""
    if sum(member.file_size for member in archive.infolist()) > path.stat().st_size:
        raise ValueError("its members are larger than the file")


def verify(path: Path) -> None:
    """Read all of a checkpoint and compare the sums of its blocks.

    Raises:
        DamagedError: it is not as it was written.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _refuse_packed(archive, path)
            wrong = archive.testzip()
    except _DAMAGE as error:
        raise _damaged(path, error) from error
    if wrong is not None:
        raise DamagedError(f"{path}: is damaged: wrong sum of {wrong}")


def fill(paths: Sequence[Path], own_path: Path, state: State, put: Callable) -> None:
    """Read a checkpoint into arrays.

    If the file of this rank has the same layout, its arrays are copied; else their blocks are
    collected from the files of all ranks.

    Raises:
        DamagedError: numbers are missing.
    """
    layout = json.loads(json.dumps(_layout(state)))
    try:
        header = header_of(own_path) if own_path in paths else {}
        if all(header.get(key) == value for key, value in layout.items()):
            _fill_same_layout(own_path, {name: entry.array for name, entry in state.items()}, put)
        else:
            _fill_by_index(paths, state, put)
    except _DAMAGE as error:
        raise _damaged(paths[0], error) from error


def _layout(state: State) -> dict[str, Any]:
    """Return types, shapes and global blocks of arrays."""
    return {
        "arrays": {name: [str(a.dtype), list(a.shape)] for name, (a, *_) in state.items()},
        "places": {name: [dict(vars(p)) for p in entry.blocks] for name, entry in state.items()},
    }


def _fill_same_layout(path: Path, arrays: BackendArrays, put: Callable) -> None:
    with zipfile.ZipFile(path) as archive:
        for name, rows in _blocks(arrays):
            data = np.frombuffer(archive.read(name), rows.dtype)
            rows[:] = put(data.reshape(rows.shape))


def _fill_by_index(paths: Sequence[Path], state: State, put: Callable) -> None:
    """Fill the arrays in turn from the blocks in all files."""
    sources = [_BlockSource(path) for path in paths]
    for name, entry in state.items():
        array = entry.array
        blocks = entry.filled
        numbers = np.zeros(array.size, array.dtype)
        is_filled = np.zeros(array.size, bool)
        for source in sources:
            source.copy_to(blocks, numbers, is_filled)
        if not all(block.block(is_filled).all() for block in blocks):
            raise ValueError(f"some values of {name} are missing")
        array[:] = put(numbers.reshape(array.shape))


class _BlockSource:
    """The file of a rank, read array by array."""

    def __init__(self, path: Path) -> None:
        self._path = path
        header = header_of(path)
        self._arrays = header["arrays"]
        self._blocks_of = {
            name: [GlobalBlock.read(p) for p in entries]
            for name, entries in header["places"].items()
        }

    def copy_to(
        self, blocks: list[GlobalBlock], numbers: np.ndarray, is_filled: np.ndarray
    ) -> None:
        """Copy the numbers common to blocks, and mark them as filled."""
        for name, stored_blocks in self._blocks_of.items():
            overlaps = [
                (own_block, stored_block, common)
                for own_block, stored_block in product(blocks, stored_blocks)
                if (common := own_block.common(stored_block)) is not None
            ]
            data = self._read(name) if overlaps else np.zeros(0)
            for own_block, stored_block, (own_index, stored_index) in overlaps:
                own_block.block(numbers)[own_index] = stored_block.block(data)[stored_index]
                own_block.block(is_filled)[own_index] = True

    def _read(self, name: str) -> np.ndarray:
        dtype, shape = self._arrays[name]
        array = np.empty(shape, dtype)
        with zipfile.ZipFile(self._path) as archive:
            for member, rows in _blocks({name: array}):
                rows[:] = np.frombuffer(archive.read(member), dtype).reshape(rows.shape)
        return array.ravel()


def _blocks(arrays: BackendArrays) -> Iterator[tuple[str, Any]]:
    """Yield members of arrays, split along their first axis: name and rows.

    An empty array, such as the record of a rank without receivers, has none.
    """
    for name, array in ((n, a) for n, a in arrays.items() if a.size):
        row_count = max(1, BLOCK * len(array) // array.nbytes)
        for first in range(0, len(array), row_count):
            yield f"{name}/{first}", array[first : first + row_count]


def _damaged(path: Path, error: Exception) -> DamagedError:
    return DamagedError(f"{path}: is damaged: {' '.join(str(error).split()) or 'ends too early'}")
