"""The lock of a run directory: two runs never write into one.

The operating system holds the lock, and lets go of it when the process dies, however that happens:
a file that a dead run left behind locks nothing. On file systems without locks the file counts as
long as the process that it names lives; of one on another machine only the user can tell.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

from seismo.errors import ScenarioError
from seismo.output.hidden_file import refusal

NAME = "lock"
_WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, 524)  # 524: some network disks


class Lock:
    """The right to write into a folder; use as a context manager."""

    def __init__(self, folder: Path) -> None:
        """Take a folder, which is made when the lock is taken."""
        self._folder, self._path = folder, folder / NAME

    def __enter__(self) -> Lock:
        """Take the lock.

        Raises:
            ScenarioError: another process has it, or the folder cannot be written to.
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
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        with contextlib.suppress(OSError):
            self._folder.rmdir()

    def _taken(self) -> bool:
        self._folder.mkdir(exist_ok=True)
        try:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:
            return False
        try:
            self._hold()
            if os.fstat(self._descriptor).st_nlink:
                os.ftruncate(self._descriptor, 0)
                os.pwrite(self._descriptor, json.dumps(_own_name()).encode(), 0)
                return True
        except BaseException:
            os.close(self._descriptor)
            raise
        os.close(self._descriptor)
        return False

    def _hold(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._held("wait for it, stop it, or write elsewhere") from None
        except OSError as error:
            if error.errno not in _WITHOUT_LOCKS:
                raise
            if self._path.stat().st_size and not _is_dead(self._holder()):
                raise self._held(f"if it is dead, remove {self._path}") from None

    def _holder(self) -> dict[str, object]:
        try:
            return dict(json.loads(os.pread(self._descriptor, 1000, 0)))
        except (ValueError, TypeError):  # it has just been made
            return {}

    def _held(self, remedy: str) -> ScenarioError:
        holder = {"pid": "unknown", "host": "unknown", "since": "now"} | self._holder()
        job = f", job {holder['job']}" if holder.get("job") else ""
        return ScenarioError(
            f"{self._folder}: another run writes here: process {holder['pid']} on "
            f"{holder['host']}{job}, since {holder['since']}; {remedy}"
        )


def _own_name() -> dict[str, object]:
    """Say who holds the lock."""
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "job": os.environ.get("SLURM_JOB_ID", ""),
        "life": os.environ.get("SLURM_RESTART_COUNT", "0"),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _is_dead(holder: dict[str, object]) -> bool:
    """Tell whether a process is known to be gone: of this machine, or of this very batch job."""
    own = _own_name()
    if holder.get("job") and holder["job"] == own["job"] and holder.get("life") != own["life"]:
        return True  # a requeued job: its first process ended before this one began
    if holder.get("host") != own["host"]:
        return False
    try:
        os.kill(int(str(holder["pid"])), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, ValueError, KeyError):
        return False
    return False
