"""The run directory: what a run has written so far, as closed parts that a manifest names.

    quickstart.h5.run/manifest.json    the parts that count, and after how many steps each ended
    quickstart.h5.run/part-000.h5      closed, on the disk for good, never opened for writing again
    quickstart.h5.run/.….partial       the one being written

HDF5 may crash on a file that a dead process was appending to. A part is therefore written under a
hidden name, closed, synchronised and renamed before the manifest names it; what the manifest does
not name is removed. Every part has the layout of the whole results file and holds some of its
chunks: one part alone becomes the results file by a rename, several by copying their chunks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py

from seismo.errors import ScenarioError, StorageError
from seismo.output.arrays import AGAIN
from seismo.output.atomic_file import HiddenFile, refusal, sync_folder, write_whole
from seismo.output.chunks import stored_chunks
from seismo.output.sealed_json import sealed, unsealed
from seismo.output.verify import verified

MANIFEST = "manifest.json"
_FORMAT = {"format": "seismo parts", "version": 3}
UNFINISHED = "unfinished"  # the `status` of a part
BOUNDS = ("v110", "v110")  # HDF5 of 2016: since then what describes data carries checksums


def run_folder(final: Path) -> Path:
    """Return the run directory of a results file."""
    return final.with_name(f"{final.name[:200]}.run")


def remove_parts(folder: Path, but: Collection[str] = ()) -> None:
    """Remove the parts of a run but for some; the manifest too, where none is left."""
    if not but:
        (folder / MANIFEST).unlink(missing_ok=True)
    for path in (*folder.glob("part-*.h5"), *folder.glob(".*.partial")):
        if path.name not in but:
            path.unlink()


class Parts:
    """The parts of one run, in a folder beside its results file, and the one that is open.

    Attributes:
        final: the results file.
        folder: the run directory.
        sealed: the parts that count, as in the manifest: `file`, `until` (steps), `bytes`, and what
            was said of them.
    """

    def __init__(self, final: Path, lay_out: Callable[[h5py.File], None]) -> None:
        """Name the folder; nothing is touched before `begin`.

        Args:
            final: the results file.
            lay_out: makes the groups, datasets and attributes of a new file.
        """
        self.final = final
        self._lay_out = lay_out
        self.folder = run_folder(final)
        self.sealed: list[dict[str, Any]] = []
        self._hidden: HiddenFile | None = None
        self._file: h5py.File | None = None

    def begin(self, done: int | None = None) -> None:
        """Make the folder; keep the parts that ended after at most `done` steps, remove the others.

        Raises:
            StorageError: the folder cannot be made, or a part that counts is missing or damaged.
                One ends with every checkpoint at the latest.
        """
        with self.storing():
            self.folder.mkdir(exist_ok=True)
            found = [] if done is None else self._read()
            self.sealed = [row for row in found if row["until"] <= (done or 0)]
            if done is not None and not self.sealed:
                raise self._damaged(f"it names no part of the first {done} steps")
            for row in self.sealed:
                _verify(self.folder / row["file"])
            if self.sealed:
                self._write()
            remove_parts(self.folder, {row["file"] for row in self.sealed})

    @property
    def is_open(self) -> bool:
        """Whether a part is being written."""
        return self._file is not None

    @property
    def file(self) -> h5py.File:
        """The part being written; the next one is made where there is none."""
        if self._file is None:
            self._create(self.folder / _part(len(self.sealed)))
        return self._file

    def seal(
        self, until: int, marks: Mapping[str, Any] | None = None, **said: Mapping[str, Any]
    ) -> None:
        """Close the open part and name it: all of it is on the disk for good.

        Args:
            until: the steps that were taken by then.
            marks: attributes of its root, which say how far the run had come.
            said: of what is in it, as JSON holds it.

        Raises:
            StorageError: the disk is full or failing.
        """
        with self.storing():
            self.file.attrs.update({"status": UNFINISHED, **(marks or {})})
        final = self._publish()
        with self.storing():
            size = final.stat().st_size
            self.sealed.append({"file": final.name, "until": until, "bytes": size, **said})
            self._write()

    def publish(self, names: Iterable[str]) -> None:
        """Make the results file of the open part, or of all parts; the folder goes.

        Args:
            names: the datasets whose chunks are in the parts.

        Raises:
            StorageError: the disk is full or failing.
        """
        if self.sealed:
            if self._file is not None:
                self.seal(self.sealed[-1]["until"])
            self._create(self.final)
            with self.storing():
                for row in self.sealed:
                    with h5py.File(self.folder / row["file"], "r") as part:
                        for name in names:
                            _copy_chunks(part[name].id, self.file[name].id)
        elif self._hidden is not None:
            self._hidden.final = self.final
        self._publish()
        self.remove()

    def discard(self) -> None:
        """Remove what is not sealed, and the folder if that leaves it empty."""
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            self._close()
        if self._hidden is not None:
            self._hidden.discard()
            self._hidden = None
        self._remove_folder()

    def remove(self) -> None:
        """Remove the parts and their manifest, and the folder if that leaves it empty."""
        self.sealed = []
        remove_parts(self.folder)
        self._remove_folder()

    @property
    def joining(self) -> int:
        """Bytes of disk that it takes to join the parts; one alone is renamed."""
        written = self._hidden.size if self._hidden is not None else 0
        return sum(row["bytes"] for row in self.sealed) + written if self.sealed else 0

    @contextlib.contextmanager
    def storing(self) -> Iterator[None]:
        """Turn what the operating system refuses into one line."""
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
            self._file = h5py.File(self._hidden, "w", libver=BOUNDS)
            self._lay_out(self._file)

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
            found = unsealed((self.folder / MANIFEST).read_bytes())
            if {key: found.get(key) for key in _FORMAT} != _FORMAT:
                raise ValueError("not of this version")
            for number, row in enumerate(found["parts"]):
                size = (self.folder / _part(number)).stat().st_size
                if (row["file"], row["bytes"]) != (_part(number), size):
                    raise ValueError(f"{row['file']} has {size} bytes instead of {row['bytes']}")
        except (ValueError, LookupError, TypeError, AttributeError, OSError) as error:
            raise self._damaged(error) from error
        return found["parts"]

    def _damaged(self, reason: object) -> StorageError:
        path = self.folder / MANIFEST
        return StorageError(f"{path}: is damaged: {reason}; start over with --no-resume")

    def _write(self) -> None:
        text = sealed({**_FORMAT, "parts": self.sealed})
        write_whole(self.folder / MANIFEST, text.encode())
        sync_folder(self.folder.parent)


def _part(number: int) -> str:
    return f"part-{number:03d}.h5"


def _verify(path: Path) -> None:
    """Read all of a part through the checksums: results are not published over a damaged one."""
    try:
        with h5py.File(path, "r") as part:
            verified(part)
    except ScenarioError as error:
        raise StorageError(f"{error} with --no-resume") from error
    except (OSError, RuntimeError) as error:
        raise StorageError(
            f"{path}: is damaged: {' '.join(str(error).split())}; {AGAIN} with --no-resume"
        ) from error


def _copy_chunks(source: Any, target: Any) -> None:
    for place in stored_chunks(source):
        mask, data = source.read_direct_chunk(place)
        target.write_direct_chunk(place, data, mask)
