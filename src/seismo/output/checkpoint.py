"""A checkpoint: the numbers a run goes on from, in one file that exists whole or not at all.

It is a zip archive without compression, so that any tool can look inside. The archive keeps a
CRC-32 of every member; `header.json` comes first, then the arrays, cut along their first axis into
members of about `BLOCK` bytes. It is written under a hidden name, synchronised to the disk and
renamed; the one before is kept, should the newest turn out to be damaged.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from seismo.errors import StorageError
from seismo.output.hidden_file import HiddenFile, refusal

FORMAT = "seismo checkpoint"
VERSION = 1
KEPT = 2
BLOCK = 64 << 20  # bytes fetched, summed and written at once
_HEADER = "header.json"
_DAMAGE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, ValueError, LookupError,
           NotImplementedError, RuntimeError)  # fmt: skip

Arrays = Mapping[str, Any]  # of the backend's, contiguous along their first axis


class DamagedError(StorageError):
    """A checkpoint cannot be read, or is not what was written."""


def write(
    folder: Path, done: int, facts: Mapping[str, Any], arrays: Arrays, fetch: Callable
) -> None:
    """Store a checkpoint and remove those before the last.

    Args:
        folder: where checkpoints of the run are.
        done: steps taken, over all batches of shots.
        facts: what else the run has to know, as JSON holds it.
        arrays: by name.
        fetch: gives a part of an array to NumPy.

    Raises:
        StorageError: the disk is full or failing; earlier checkpoints are as they were.
    """
    final = folder / f"checkpoint-{done:012d}.zip"
    shapes = {name: [str(a.dtype), list(a.shape)] for name, a in arrays.items()}
    header = {"format": FORMAT, "version": VERSION, "done": done, "arrays": shapes, **facts}
    file = HiddenFile(final)
    try:
        with zipfile.ZipFile(cast(Any, file), "w") as archive:
            archive.writestr(zipfile.ZipInfo(_HEADER), json.dumps(header, indent=1))
            for name, part in _blocks(arrays):
                data = np.ascontiguousarray(fetch(part))
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
    for old in found(folder)[KEPT:]:
        old.unlink(missing_ok=True)


def found(folder: Path) -> list[Path]:
    """List the checkpoints in a folder, newest first."""
    return sorted(folder.glob("checkpoint-*.zip"), reverse=True)


def header_of(path: Path) -> dict[str, Any]:
    """Read what a checkpoint says of itself.

    Raises:
        DamagedError: it is damaged, or of another format.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read(_HEADER))
    except _DAMAGE as error:
        raise _damaged(path, error) from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise DamagedError(f"{path}: is not a checkpoint of seismo")
    if header.get("version") != VERSION:
        raise DamagedError(
            f"{path}: is of format {header.get('version')}, this version reads {VERSION}"
        )
    return header


def verify(path: Path) -> None:
    """Read all of a checkpoint and compare the sums of its blocks.

    Raises:
        DamagedError: it is not what was written.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            wrong = archive.testzip()
    except _DAMAGE as error:
        raise _damaged(path, error) from error
    if wrong is not None:
        raise DamagedError(f"{path}: is damaged: wrong sum of {wrong}")


def fill(path: Path, arrays: Arrays, put: Callable) -> None:
    """Put the numbers of a checkpoint in arrays of the same names, types and shapes.

    Raises:
        DamagedError: it does not hold these arrays.
    """
    stored = header_of(path)["arrays"]
    shapes = {name: [str(a.dtype), list(a.shape)] for name, a in arrays.items()}
    if stored != shapes:
        other = sorted(n for n in stored.keys() | shapes if stored.get(n) != shapes.get(n))
        raise DamagedError(f"{path}: holds other arrays than the run has: {', '.join(other)}")
    try:
        with zipfile.ZipFile(path) as archive:
            for name, part in _blocks(arrays):
                data = np.frombuffer(archive.read(name), part.dtype)
                part[:] = put(data.reshape(part.shape))
    except _DAMAGE as error:
        raise _damaged(path, error) from error


def _blocks(arrays: Arrays) -> Iterator[tuple[str, Any]]:
    """Cut arrays along their first axis; give each piece with the name of its member."""
    for name, array in arrays.items():
        rows = max(1, BLOCK * len(array) // max(1, array.nbytes))
        for first in range(0, len(array), rows):
            yield f"{name}/{first}", array[first : first + rows]


def _damaged(path: Path, error: Exception) -> DamagedError:
    return DamagedError(f"{path}: is damaged: {' '.join(str(error).split()) or 'ends too early'}")
