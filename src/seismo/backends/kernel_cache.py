"""The kernel cache: compiled code on disk, in a folder that nobody else can write to.

Code that is loaded runs. Each file therefore begins with the SHA-256 of its name and of the code: a
file that was cut, damaged or exchanged for another is as if it were missing, and missing code is
compiled again. A digest is no defence against somebody who writes files on purpose, so a folder of
another user, or with write access for others, is not used; code is then kept in a temporary folder
of this process, and `problem` says so. Files are opened in the folder that was looked at, wherever
its name leads later.

Formulas, grids and versions change, and each leaves files behind that nobody asks for again. When a
file was last used is told by its time of modification, to a day. Whoever has compiled something
looks through the folder afterwards, once a day: only then it grows, and next to compiling a look
costs nothing. Several processes may do so at once, on several machines, and others read
meanwhile: a file is there as a whole or it is missing.

The key of a file names all that its code depends on, the text of modules too: `source_digest` of
sweeps, `body_digest` of bodies.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
import uuid
import weakref
from collections.abc import Callable
from functools import cache
from pathlib import Path

import seismo.backends
import seismo.equations
import seismo.grid

DAY = 86400.0  # s
UNUSED = 30 * DAY
MOST_BYTES = 2**30  # beyond that, the most recently used stay
_EVICTION_MARK = ".tidied"
# A folder may hold files of others: ours are named by a hash.
_CACHE_FILE = re.compile(r"(^|\.)[0-9a-f]{32,40}\.(ptx|cubin|obj|nbi|txt|\d+\.nbc)")
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_ANEW = "so kernels are compiled anew in every run; name a folder of your own by SEISMO_CACHE_DIR"


def cache_folder() -> Path:
    """Return where compiled code belongs: $SEISMO_CACHE_DIR, else the user's cache."""
    named = os.environ.get("SEISMO_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(named) if named else (Path(base) if base else _home() / ".cache") / "seismo"


def kernel_cache() -> KernelCache:
    """Return the compiled code that is kept for this process."""
    return _opened(cache_folder().absolute())


def cache_file_name(key: str, suffix: str) -> str:
    """Return the file name of an object that a text describes completely."""
    return f"{hashlib.sha256(key.encode()).hexdigest()[:40]}.{suffix}"


class KernelCache:
    """Own a folder of compiled code.

    Attributes:
        folder: where it is.
        problem: why nothing can be kept for another process, on one line; empty if it can.
    """

    def __init__(self, wanted: Path) -> None:
        """Open a folder, which is made where there is none, or else a temporary one."""
        self.problem = ""
        try:
            self.folder = wanted
            self._descriptor = _private(wanted)
        # Fall back to a temporary folder of this process where the wanted one cannot be used.
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            self.problem = f"kernel cache {wanted}: {why}, {_ANEW}"
            self.folder = Path(tempfile.mkdtemp(prefix="seismo-kernels-"))
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
            self._descriptor = _private(self.folder)
        weakref.finalize(self, os.close, self._descriptor)

    def load(self, name: str) -> bytes | None:
        """Return the data stored under a name; None if missing or damaged."""
        # O_NOFOLLOW refuses symbolic links, O_NONBLOCK avoids waiting for a FIFO of that name.
        try:
            file = os.open(
                name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._descriptor
            )
            with os.fdopen(file, "rb") as stream:
                digest = stream.readline(80)
                data = stream.read()
                # The time of modification counts as the time of last use.
                if time.time() - os.fstat(file).st_mtime > DAY:
                    with contextlib.suppress(OSError):  # it is somebody else's
                        os.utime(file)
        except OSError:
            return None
        # A file that fails its checksum counts as missing.
        return data if digest == _digest_line(name, data) else None

    def has(self, name: str) -> bool:
        """Whether something is kept under a name, sound or not."""
        return (self.folder / name).exists()

    def store(self, name: str, data: bytes) -> None:
        """Keep data under a name, and note why if that cannot be."""
        # Write under a temporary name and rename: readers see all of a file or none (POSIX rename).
        temporary = f"{name}.{uuid.uuid4().hex}"
        try:
            # O_EXCL and mode 0600: nobody else can have opened the file before.
            file = os.open(
                temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=self._descriptor
            )
            try:
                with os.fdopen(file, "wb") as stream:
                    stream.write(_digest_line(name, data) + data)
                os.replace(
                    temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor
                )
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=self._descriptor)
                raise
        except OSError as error:
            why = f"cannot be written: {os.strerror(error.errno or 0)}"
            self.problem = self.problem or f"kernel cache {self.folder}: {why}, {_ANEW}"

    def evict(self) -> None:
        """Remove files that were not used for long, at most once a day."""
        with contextlib.suppress(OSError):  # it is not ours to write to, or another tidies at once
            # Once a day, whichever process comes first: the mark's time of modification decides.
            mark = self.folder / _EVICTION_MARK
            if mark.exists() and abs(time.time() - mark.stat().st_mtime) < DAY:
                return
            mark.touch()
            now = mark.stat().st_mtime  # by the clock that stamps the files
            size = 0
            # Most recently used first; remove files that are too old, or beyond the size limit
            # (LRU).
            for used, path, bytes_of_it in sorted(_cached_files(self.folder), reverse=True):
                size += bytes_of_it
                if now - used > UNUSED or size > MOST_BYTES:
                    with contextlib.suppress(OSError):  # gone already, or somebody else's
                        path.unlink()


@cache
def _opened(wanted: Path) -> KernelCache:
    return KernelCache(wanted)


def _home() -> Path:
    """Return the user's home; a missing folder for a nameless user, as in containers."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/nonexistent")


def _private(folder: Path) -> int:
    """Open a folder that nobody but its owner can write to; raises OSError."""
    folder.mkdir(0o700, parents=True, exist_ok=True)
    # Check the open descriptor, not the path: the folder cannot be exchanged in between.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    status = os.fstat(descriptor)
    problem = ""
    if status.st_uid not in (0, os.geteuid()):  # root could change the program as well
        problem = f"is a folder of another user (number {status.st_uid})"
    elif status.st_mode & _WRITABLE_BY_OTHERS:
        problem = (
            f"others may write to it (mode {stat.S_IMODE(status.st_mode):o}; empty it, chmod 700)"
        )
    if problem:
        os.close(descriptor)
        raise OSError(problem)
    return descriptor


def _digest_line(name: str, data: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + data).hexdigest().encode() + b"\n"


def _cached_files(folder: Path) -> list[tuple[float, Path, int]]:
    """List when each kept file was last used, and its size."""
    entries = []
    for path in folder.iterdir():
        if _CACHE_FILE.search(path.name):
            with contextlib.suppress(OSError):  # another has removed it
                status = path.stat()
                entries.append((status.st_mtime, path, status.st_size))
    return entries


def function_name(function: Callable) -> str:
    """Return the name of a function of a module, which with its text tells all that it is."""
    return f"{function.__module__}.{function.__qualname__}"


def source_digest() -> str:
    """Hash the name and text of every module that a compiled sweep or body can contain.

    Those are formulas, their operators, and the weights of interpolations that these have built in.
    """
    folders = (*seismo.backends.__path__, *seismo.equations.__path__)
    return _digest(*map(Path, folders), Path(seismo.grid.__path__[0]) / "coefficients.py")


def body_digest() -> str:
    """Hash the same of what a body can contain: no equation, whoever adds one."""
    return _digest(*map(Path, seismo.backends.__path__))


@cache
def _digest(*sources: Path) -> str:
    """Hash the modules of folders, and single modules."""
    digest = hashlib.sha256()
    for source in sources:
        # Sorted walk: the digest does not depend on the order of the file system.
        walked = sorted(os.walk(source, followlinks=True))  # as imports do
        files = [Path(at, name) for at, _, names in walked for name in sorted(names)]
        for file in files if source.is_dir() else [source]:
            if file.suffix == ".py":
                # Names and lengths delimit the texts: two different trees cannot give the same
                # bytes.
                text = file.read_bytes()
                digest.update(f"{file.relative_to(source)} {len(text)}\n".encode() + text)
    return digest.hexdigest()
