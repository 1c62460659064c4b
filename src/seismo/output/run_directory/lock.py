"""The lock of a run directory: two runs never share it.

The operating system holds the lock, and lets go of it when the process dies, however that happens:
a file that a dead run left behind locks nothing. On file systems without locks the file counts as
long as the process that it names lives; of a process on another machine only the user can tell.

Results may go to a folder that others write to as well. A link that somebody has left there, in
place of the run directory or of the lock, is not followed, and a directory of another user's is
refused.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import stat
import uuid
from datetime import UTC, datetime
from pathlib import Path

from seismo.errors import ScenarioError, printable
from seismo.output.run_directory import refusal

NAME = "lock"
_OTHER_KINDS = (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO)
_SHOWN = 60  # characters of a lock's description of its holder
_WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, 524)  # 524: of network disks


class Lock:
    """The right to write into a folder; use as a context manager."""

    def __init__(self, folder: Path) -> None:
        """Take a folder, which is made when the lock is taken."""
        self._folder = folder
        self._path = folder / NAME

    def __enter__(self) -> Lock:
        """Take the lock.

        Raises:
            ScenarioError: another process has it, the folder cannot be written to, or either is a
                link, of another kind, or another user's.
            StorageError: the disk is full or failing.
        """
        try:
            while not self._taken():
                pass  # whoever had it removed the file, or the folder, in the meantime
        except OSError as error:
            raise refusal(self._folder, error) from error
        return self

    def __exit__(self, *exception: object) -> None:
        """Let go of it; a folder that holds nothing else goes too."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(NAME, dir_fd=self._inside)
        self._opened.close()
        with contextlib.suppress(OSError):
            self._folder.rmdir()

    def _taken(self) -> bool:
        with contextlib.suppress(FileExistsError):
            self._folder.mkdir(0o755)
        with contextlib.ExitStack() as opened:
            try:
                self._inside = _opened(self._folder, os.O_RDONLY | os.O_DIRECTORY)
                opened.callback(os.close, self._inside)
                self._refuse_folder_of_another()
                self._descriptor = _opened(self._path, os.O_RDWR | os.O_CREAT, self._inside)
                opened.callback(os.close, self._descriptor)
            except FileNotFoundError:
                return False
            self._hold()
            facts = os.fstat(self._descriptor)
            if facts.st_nlink > 1 or not stat.S_ISREG(facts.st_mode):
                raise _of_another_kind(self._path, "file")
            if not facts.st_nlink:
                return False
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, json.dumps(process_name()).encode(), 0)
            self._opened = opened.pop_all()
        return True

    def _refuse_folder_of_another(self) -> None:
        """Raise ScenarioError for a directory that belongs to another user.

        On network disks a user's files may be owned by another: a file made there tells by whom.
        """
        owner = os.fstat(self._inside).st_uid
        if owner == os.geteuid():
            return
        name = f".{uuid.uuid4().hex}"
        probe = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=self._inside)
        own_user = os.fstat(probe).st_uid
        os.close(probe)
        os.unlink(name, dir_fd=self._inside)
        if owner != own_user:
            raise ScenarioError(
                f"{self._folder}: belongs to another user (number {owner}); write elsewhere, or go "
                "on from a copy of your own"
            )

    def _hold(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._lock_error("wait for it, stop it, or write elsewhere") from None
        except OSError as error:
            if error.errno not in _WITHOUT_LOCKS:
                raise
            if self._path.stat().st_size and not _is_dead(_read_holder(self._descriptor)):
                raise self._lock_error(f"if it is dead, remove {self._path}") from None

    def _lock_error(self, remedy: str) -> ScenarioError:
        unknown = {"pid": "unknown", "host": "unknown", "since": "now", "job": ""}
        entries = unknown | _read_holder(self._descriptor)
        holder = {key: printable(value)[:_SHOWN] for key, value in entries.items()}
        job = f", job {holder['job']}" if holder["job"] else ""
        return ScenarioError(
            f"{self._folder}: another run writes here: process {holder['pid']} on "
            f"{holder['host']}{job}, since {holder['since']}; {remedy}"
        )


def is_held(folder: Path) -> bool:
    """Whether a process that this machine can see holds the lock of a folder.

    Of a process on another machine that depends on the file system: not all share their locks.
    """
    try:
        descriptor = os.open(folder / NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        holder = _read_holder(descriptor)
        return bool(holder) and holder.get("host") == socket.gethostname() and not _is_dead(holder)
    finally:
        os.close(descriptor)
    return False


def lock_holder(folder: Path) -> dict[str, object]:
    """Return the process that the lock of a folder names, dead or alive; empty without a lock."""
    try:
        descriptor = os.open(folder / NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return {}
    try:
        return _read_holder(descriptor)
    finally:
        os.close(descriptor)


def _read_holder(descriptor: int) -> dict[str, object]:
    try:
        return dict(json.loads(os.pread(descriptor, 1000, 0)))
    except (OSError, ValueError, TypeError, RecursionError):  # it has just been made
        return {}


def _opened(path: Path, how: int, inside: int | None = None) -> int:
    """Open a file or folder, but no link.

    Args:
        path: of it.
        how: flags.
        inside: descriptor of its folder, if that is open.

    Raises:
        ScenarioError: it is a link, or of another kind.
    """
    try:
        name = path if inside is None else path.name
        return os.open(name, how | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644, dir_fd=inside)
    except OSError as error:
        if error.errno not in _OTHER_KINDS:
            raise
        raise _of_another_kind(path, "folder" if how & os.O_DIRECTORY else "file") from None


def _of_another_kind(path: Path, kind: str) -> ScenarioError:
    return ScenarioError(
        f"{path}: is a link, or no {kind}, where a run keeps what it has so far; remove it, or "
        "write elsewhere"
    )


def process_name() -> dict[str, object]:
    """Return the name of this process, as in the lock: pid, host, job, when it began."""
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "job": os.environ.get("SLURM_JOB_ID", ""),
        "life": os.environ.get("SLURM_RESTART_COUNT", "0"),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _is_dead(holder: dict[str, object]) -> bool:
    """Whether a process is known to be gone: of this machine, or of this very batch job."""
    own_entries = process_name()
    if (
        holder.get("job")
        and holder["job"] == own_entries["job"]
        and holder.get("life") != own_entries["life"]
    ):
        return True  # a requeued job: its first process ended before this process began
    if holder.get("host") != own_entries["host"]:
        return False
    try:
        os.kill(int(str(holder["pid"])), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, ValueError, KeyError, OverflowError):
        return False
    return False
