"""The run directory: locks, partial files, checkpoints, and files that are hidden until complete.

HDF5 keeps blocks that it failed to write, retries at exit and crashes the process. Here a failed
write is stored as `error` and reported as successful to HDF5, which then closes normally; the
caller checks `error` after every operation and discards the file.

Sealed JSON carries the SHA-256 of its contents, so that no flipped bit of it is believed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from seismo.errors import ScenarioError, SeismoError, StorageError, printable

_REMEDIES = {
    errno.ENOSPC: "; free some space or write elsewhere",
    errno.EDQUOT: "; free some space or write elsewhere",
    errno.EACCES: "; choose a folder you may write to",
    errno.EROFS: "; choose a folder you may write to",
    errno.ENAMETOOLONG: "; choose a shorter name",
}
_LONGEST_NAME = 200  # characters
_SHOWN = 60  # of them in a message
# The request cannot be met; everything else is the disk's fault.
_USER_ERRORS = (
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.EROFS,
    errno.ENAMETOOLONG,
)  # fmt: skip
_SEAL = "sha256"
_MOST = 64 << 20  # bytes


class HiddenFile:
    """A new file under a hidden name, with the methods h5py asks for."""

    def __init__(self, final: Path, folder: Path | None = None) -> None:
        """Create the hidden file, beside its final name or in a folder on the same disk.

        Raises:
            ScenarioError: the folder cannot be written to.
            StorageError: the disk is full or failing.
        """
        self.final = final
        self.path = (folder or final.parent) / f".{final.name[:80]}.{uuid.uuid4().hex}.partial"
        self.error: OSError | None = None
        self._position = 0
        try:
            self._descriptor = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        except OSError as error:
            raise refusal(final, error) from error

    @property
    def size(self) -> int:
        """Bytes it has by now."""
        return os.fstat(self._descriptor).st_size

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place in the file."""
        if whence == os.SEEK_END:
            offset += self.size
        elif whence == os.SEEK_CUR:
            offset += self._position
        self._position = offset
        return offset

    def tell(self) -> int:
        """Return the place in the file."""
        return self._position

    def write(self, data: memoryview) -> int:
        """Write all of `data` here, or remember why not."""
        view = memoryview(data).cast("B")
        done = 0
        try:
            while done < len(view) and self.error is None:
                done += os.pwrite(self._descriptor, view[done:], self._position + done)
        except OSError as error:
            self.error = error
        self._position += len(view)
        return len(view)

    def readinto(self, target: memoryview) -> int:
        """Fill `target` from here."""
        view = memoryview(target).cast("B")
        data = os.pread(self._descriptor, len(view), self._position)
        view[: len(data)] = data
        self._position += len(data)
        return len(data)

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes from here (h5py takes this for the mark of a file)."""
        length = self.size - self._position if size < 0 else size
        data = os.pread(self._descriptor, max(0, length), self._position)
        self._position += len(data)
        return data

    def truncate(self, size: int) -> int:
        """Set the length of the file, or remember why not."""
        try:
            if self.error is None:
                os.ftruncate(self._descriptor, size)
        except OSError as error:
            self.error = error
        return size

    def flush(self) -> None:
        """Do nothing: every write goes to the operating system at once."""

    def publish(self) -> None:
        """Flush the file to disk and rename it to its final name.

        Raises:
            OSError: the disk is full or failing.
        """
        os.fsync(self._descriptor)
        self.close()
        self.path.replace(self.final)
        sync_folder(self.final.parent)

    def discard(self) -> None:
        """Remove the file."""
        self.close()
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file; further calls do nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


def sync_folder(path: Path) -> None:
    """Flush the entries of a folder to disk, where the file system supports it."""
    with contextlib.suppress(OSError):
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_file(path: Path, data: bytes) -> None:
    """Write a small file atomically.

    Raises:
        OSError: the disk is full or failing.
    """
    write_hidden(path, lambda hidden: hidden.write(memoryview(data)))


def write_hidden(path: Path, write: Callable[[HiddenFile], object]) -> None:
    """Write a file atomically by a function of the hidden file.

    Raises:
        OSError: the disk is full or failing.
    """
    hidden = HiddenFile(path)
    try:
        write(hidden)
        if hidden.error is not None:
            raise hidden.error
        hidden.publish()
    finally:
        hidden.discard()


def write_new(path: Path, content: str | bytes, replace: bool = False) -> None:
    """Write a small file; an existing file with other content, possibly edited, is kept.

    Raises:
        ScenarioError: a file with other content exists, and `replace` is not set; or as
            `final_path` does.
        StorageError: the disk is full or failing.
    """
    final = final_path(path)
    data = content if isinstance(content, bytes) else content.encode()
    try:
        if not replace and final.exists() and final.read_bytes() != data:
            raise ScenarioError(f"{path}: exists with other content; use --force to replace it")
        write_file(final, data)
    except OSError as error:
        raise refusal(path, error) from error


def make_folder(path: Path) -> None:
    """Make a folder, and its parents, where it is not there.

    Raises:
        ScenarioError: something else has its name, or nothing may be made there.
        StorageError: the disk is full or failing.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ScenarioError(f"{path}: is no folder; choose another name") from None
    except OSError as error:
        raise refusal(path, error) from error


def plain_name(name: str, source: object) -> str:
    """Return a name that a file has for something, if it may become part of a path.

    Args:
        name: such as that of a shot.
        source: the file that has it, for messages.

    Raises:
        ScenarioError: it would lead to another folder, be hidden, or steer a terminal.
    """
    if not name.isprintable() or "/" in name or name.startswith(".") or len(name) > _LONGEST_NAME:
        raise ScenarioError(
            f"{source}: {printable(name)[:_SHOWN]!r} is no name that a file can have; the file was "
            "changed or is damaged: copy it again, or run again"
        )
    return name


def final_path(path: str | os.PathLike[str]) -> Path:
    """Return the file that `path` stands for, links followed.

    Raises:
        ScenarioError: it is a folder, no ordinary file, or in a folder that does not exist.
    """
    try:
        final = Path(os.path.realpath(path))
        mode = _mode(final)
        folder = _mode(final.parent)
    except OSError as error:
        raise refusal(Path(path), error) from error
    except ValueError as error:
        raise ScenarioError(f"{os.fspath(path)!r}: {error}") from error
    if stat.S_ISDIR(mode):
        raise ScenarioError(f"{final}: is a folder; name a file, such as results.h5")
    if mode and not stat.S_ISREG(mode):
        raise ScenarioError(f"{final}: is not an ordinary file; choose another name")
    if not stat.S_ISDIR(folder):
        raise ScenarioError(f"{final}: the folder does not exist; create it first")
    return final


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def refusal(path: Path, error: OSError) -> SeismoError:
    """Return the single-line error for a failure of the operating system."""
    reason = os.strerror(error.errno) if error.errno else " ".join(str(error).split())
    kind = ScenarioError if error.errno in _USER_ERRORS else StorageError
    remedy = _REMEDIES.get(error.errno or 0, "")
    return kind(f"{path}: cannot be written: {reason}{remedy}")


def sealed(data: Mapping[str, Any]) -> str:
    """Return the JSON text of a mapping, with its digest, a line for each of its keys."""
    # Python's encoder of indented text takes ten times as long as that of lines.
    lines = (
        f"{json.dumps(key)}: {json.dumps(value)}"
        for key, value in {**data, _SEAL: _digest(data)}.items()
    )
    return "{\n " + ",\n ".join(lines) + "\n}"


def read_sealed(path: Path, most: int = _MOST) -> dict[str, Any]:
    """Return the mapping in a file of such a text of at most so many bytes.

    Raises:
        OSError: there is no file, or it is a link.
        ValueError: it is a pipe or a device, longer, or as `unsealed` does.
    """
    # A pipe opens at once, and is refused before it is read.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is a pipe or a device, not a file")
        if status.st_size > most:
            raise ValueError(f"it has {status.st_size} bytes, more than {most}")
        return unsealed(file.read(most))


def unsealed(text: str | bytes) -> dict[str, Any]:
    """Return the mapping of such a text.

    Raises:
        ValueError: it is not JSON, or differs from the text that was written.
    """
    try:
        data = json.loads(text)
    except RecursionError as error:
        raise ValueError(str(error)) from None
    if not isinstance(data, dict) or _SEAL not in data:
        raise ValueError("it has no checksum: it was cut, or is of another version")
    if data.pop(_SEAL) != _digest(data):
        raise ValueError("it does not have its checksum")
    return data


def _digest(data: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
