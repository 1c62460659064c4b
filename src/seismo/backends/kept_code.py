"""Compiled code on disk: what nobody has used for a month is removed.

Formulas, grids and versions change, and each leaves files behind that nobody asks for again. When a
file was last used is told by its time of modification, to a day. Whoever has compiled something
looks through the folder afterwards, once a day: only then it grows, and next to compiling a look
costs nothing. Several processes may do so at once, on several machines, and others read
meanwhile: a file is there as a whole or it is missing, and what is missing is compiled again.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

DAY = 86400.0  # s
UNUSED = 30 * DAY
MOST_BYTES = 2**30  # beyond that, what was used last stays
_MARK = ".tidied"
# A folder may hold files of others: ours are named by a hash.
_OURS = re.compile(r"(^|\.)[0-9a-f]{32,40}\.(ptx|nbi|\d+\.nbc)")


def in_use(path: Path) -> None:
    """Note that a kept file is in use, where there is one."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > DAY:
            os.utime(path)


def tidy(folder: Path) -> None:
    """Remove what was not used for long, unless somebody has looked within a day."""
    with contextlib.suppress(OSError):  # it is not ours to write to, or another tidies at once
        mark = folder / _MARK
        if mark.exists() and abs(time.time() - mark.stat().st_mtime) < DAY:
            return
        mark.touch()
        now, size = mark.stat().st_mtime, 0  # by the clock that stamps the files
        for used, path, bytes_of_it in sorted(_kept(folder), reverse=True):
            size += bytes_of_it
            if now - used > UNUSED or size > MOST_BYTES:
                with contextlib.suppress(OSError):  # gone already, or somebody else's
                    path.unlink()


def _kept(folder: Path) -> list[tuple[float, Path, int]]:
    """List when each kept file was last used, and its size."""
    found = []
    for path in folder.iterdir():
        if _OURS.search(path.name):
            with contextlib.suppress(OSError):  # another has removed it
                facts = path.stat()
                found.append((facts.st_mtime, path, facts.st_size))
    return found
