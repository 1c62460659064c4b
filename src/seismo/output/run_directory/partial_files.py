"""The run directory: partial files of an unfinished run, listed in a manifest.

    quickstart.h5.run/manifest.json    the valid partial files, and the steps after which each ended
    quickstart.h5.run/part-000.h5      closed, flushed to disk, never opened for writing again
    quickstart.h5.run/.….partial       being written

HDF5 may crash on a file that a dead process was appending to. A partial file is therefore written
under a hidden name, closed, flushed and renamed before it is added to the manifest; files that are
not listed are removed. Each has the layout of the results file and a share of its chunks: a single
file becomes the results file by a rename, several are merged by copying their chunks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py

from seismo.errors import ScenarioError, StorageError
from seismo.formats.reading.arrays import open_hdf5
from seismo.output.run_directory import (
    HiddenFile,
    read_sealed,
    refusal,
    sealed,
    sync_folder,
    write_file,
)
from seismo.output.store.arrays import AGAIN, verified
from seismo.output.store.chunks import stored_chunks
from seismo.output.store.layout import BOUNDS

MANIFEST = "manifest.json"
_FORMAT = {"format": "seismo parts", "version": 3}
UNFINISHED = "unfinished"  # the `status` of a part


def run_folder(final: Path) -> Path:
    """Return the run directory of a results file."""
    return final.with_name(f"{final.name[:200]}.run")


def remove_parts(folder: Path, but: Collection[str] = ()) -> None:
    """Remove the partial files of a run except `but`; if none remains, the manifest too."""
    if not but:
        (folder / MANIFEST).unlink(missing_ok=True)
    for path in (*folder.glob("part-*.h5"), *folder.glob(".*.partial")):
        if path.name not in but:
            path.unlink()


class PartialFiles:
    """The partial files of a run, in a folder beside its results file, and the open file.

    Attributes:
        final: the results file.
        folder: the run directory.
        sealed: the closed ones, as in the manifest: `file`, `until` (steps), `bytes`, and further
            entries.
    """

    def __init__(self, final: Path, image: Callable[[], bytes]) -> None:
        """Name the folder; nothing is touched before `begin`.

        Args:
            final: the results file.
            image: returns the bytes of a new file, with its groups, datasets and attributes.
        """
        self.final = final
        self._image = image
        self.folder = run_folder(final)
        self.sealed: list[dict[str, Any]] = []
        self._hidden: HiddenFile | None = None
        self._file: h5py.File | None = None

    def begin(self, done: int | None = None) -> None:
        """Create the folder; keep partial files that ended after at most `done` steps only.

        Raises:
            StorageError: the folder cannot be created, or a listed partial file is missing or
                damaged. Every checkpoint closes the open file.
        """
        with self.storing():
            self.folder.mkdir(exist_ok=True)
            entries = [] if done is None else self._read()
            self.sealed = [entry for entry in entries if entry["until"] <= (done or 0)]
            if done is not None and not self.sealed:
                raise self._damaged(f"it names no part of the first {done} steps")
            for entry in self.sealed:
                _verify(self.folder / entry["file"])
            if self.sealed:
                self._write()
            remove_parts(self.folder, {entry["file"] for entry in self.sealed})

    @property
    def is_open(self) -> bool:
        """Whether a partial file is being written."""
        return self._file is not None

    @property
    def file(self) -> h5py.File:
        """The partial file being written; it is created where none is open."""
        if self._file is None:
            self._create(self.folder / _partial_name(len(self.sealed)))
        return self._file

    def seal(
        self, until: int, marks: Mapping[str, Any] | None = None, **contents: Mapping[str, Any]
    ) -> None:
        """Close the open partial file, flush it to disk and add it to the manifest.

        Args:
            until: steps taken so far.
            marks: attributes of its root with the state of the run.
            contents: further entries of the manifest, as JSON.

        Raises:
            StorageError: the disk is full or failing.
        """
        with self.storing():
            self.file.attrs.update({"status": UNFINISHED, **(marks or {})})
        final = self._publish()
        with self.storing():
            size = final.stat().st_size
            self.sealed.append({"file": final.name, "until": until, "bytes": size, **contents})
            self._write()

    def publish(self, names: Iterable[str]) -> None:
        """Make the results file from the partial files and remove the folder.

        Args:
            names: the datasets whose chunks are in the partial files.

        Raises:
            StorageError: the disk is full or failing.
        """
        if self.sealed:
            if self._file is not None:
                self.seal(self.sealed[-1]["until"])
            self._create(self.final)
            with self.storing():
                for entry in self.sealed:
                    with open_hdf5(self.folder / entry["file"], is_ours=True) as partial:
                        for name in names:
                            _copy_chunks(partial[name].id, self.file[name].id)
        elif self._hidden is not None:
            self._hidden.final = self.final
        self._publish()
        self.remove()

    def discard(self) -> None:
        """Remove the open partial file, and the folder if it is empty then."""
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            self._close()
        if self._hidden is not None:
            self._hidden.discard()
            self._hidden = None
        self._remove_folder()

    def remove(self) -> None:
        """Remove all partial files and the manifest, and the folder if it is empty then."""
        self.sealed = []
        remove_parts(self.folder)
        self._remove_folder()

    @property
    def joining(self) -> int:
        """Bytes of disk needed to merge the partial files; a single file is renamed."""
        written = self._hidden.size if self._hidden is not None else 0
        return sum(entry["bytes"] for entry in self.sealed) + written if self.sealed else 0

    @contextlib.contextmanager
    def storing(self) -> Iterator[None]:
        """Turn errors of the operating system into a line."""
        try:
            yield
        except OSError as error:
            raise self._storage_error(self._failure or error) from error
        if self._failure is not None:
            raise self._storage_error(self._failure)

    @property
    def _failure(self) -> OSError | None:
        return self._hidden.error if self._hidden is not None else None

    def _storage_error(self, error: OSError) -> StorageError:
        return StorageError(str(refusal(self.final, error)))

    def _create(self, final: Path) -> None:
        self._hidden = HiddenFile(final, self.folder)
        with self.storing():
            self._hidden.write(memoryview(self._image()))
        with self.storing():  # all of the image is there
            self._file = h5py.File(self._hidden, "r+", libver=BOUNDS)

    def _publish(self) -> Path:
        """Close the open file and give it its name."""
        assert self._hidden is not None
        with self.storing():
            self._close()
        with self.storing():
            self._hidden.publish()
        final = self._hidden.final
        self._hidden = None
        return final

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _remove_folder(self) -> None:
        with contextlib.suppress(OSError):  # not empty, or not there
            self.folder.rmdir()

    def _read(self) -> list[dict[str, Any]]:
        try:
            manifest = read_sealed(self.folder / MANIFEST)
            if {key: manifest.get(key) for key in _FORMAT} != _FORMAT:
                raise ValueError("not of this version")
            for number, entry in enumerate(manifest["parts"]):
                size = (self.folder / _partial_name(number)).stat().st_size
                if (entry["file"], entry["bytes"]) != (_partial_name(number), size):
                    raise ValueError(
                        f"{entry['file']} has {size} bytes instead of {entry['bytes']}"
                    )
        except (ValueError, LookupError, TypeError, AttributeError, OSError) as error:
            raise self._damaged(error) from error
        return manifest["parts"]

    def _damaged(self, reason: object) -> StorageError:
        path = self.folder / MANIFEST
        return StorageError(f"{path}: is damaged: {reason}; start over with --no-resume")

    def _write(self) -> None:
        text = sealed({**_FORMAT, "parts": self.sealed})
        write_file(self.folder / MANIFEST, text.encode())
        sync_folder(self.folder.parent)


def _partial_name(number: int) -> str:
    return f"part-{number:03d}.h5"


def _verify(path: Path) -> None:
    """Read all of a partial file through the checksums; raise for a damaged file."""
    try:
        with open_hdf5(path, is_ours=True) as partial:
            verified(partial)
    except ScenarioError as error:
        raise StorageError(f"{error} with --no-resume") from error
    except (OSError, RuntimeError) as error:
        raise StorageError(
            f"{path}: is damaged: {' '.join(str(error).split())}; {AGAIN} with --no-resume"
        ) from error


def _copy_chunks(source: Any, target: Any) -> None:
    for corner in stored_chunks(source):
        mask, data = source.read_direct_chunk(corner)
        target.write_direct_chunk(corner, data, mask)
