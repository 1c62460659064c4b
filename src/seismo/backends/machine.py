"""The host machine: its processor, memory bandwidth, free memory, free disk.

A run is planned against these numbers and judged by them. The bandwidth is the yardstick of speed:
a stencil code that reuses every loaded value still has to move each field once a step.

A process forked from a process with threads (`multiprocessing` by "fork") has none of these, and
neither GNU's OpenMP nor TBB starts any there: a parallel loop waits for ever, or ends the process.
Work on a single thread goes on as ever.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np

REMEDY = (
    "this process was forked from one that had started threads, of which it has none: one thread "
    'steps; for more, start processes by "spawn" or "forkserver"'
)
_lost = threading.Event()


def has_lost_threads() -> bool:
    """Whether this process, or one that it was forked from, left Numba's threads behind."""
    return _lost.is_set()


def _look() -> None:
    # Private: Numba has no public word for whether its threads have been started.
    numba = sys.modules.get("numba.np.ufunc.parallel")
    if getattr(numba, "_is_initialized", False):
        _lost.set()


os.register_at_fork(after_in_child=_look)


BANDWIDTH_BYTES = 128 * 2**20  # several times the caches of most machines
LANE_BYTES = 64  # of the widest vectors of a processor, and of a line of its caches
_REPEATS = 4
_UNLIMITED = 1 << 60  # control groups write huge numbers where there is no limit
_CGROUP = Path("/sys/fs/cgroup")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_LIMITS = (  # (limit, use) in bytes, of the two versions of control groups
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
)


def cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def most_threads() -> int:
    """Return the threads that Numba has: NUMBA_NUM_THREADS, or a thread for each core."""
    # As Numba decides when it is imported; an import takes 0.2 s.
    if numba := sys.modules.get("numba"):
        return numba.config.NUMBA_NUM_THREADS
    named = os.environ.get("NUMBA_NUM_THREADS", "")
    return int(named) if named.isdecimal() else cores()


def threads() -> int:
    """Return the threads that Numba runs on, which need not be imported for that (0.2 s)."""
    if has_lost_threads():
        return 1
    numba = sys.modules.get("numba")
    return numba.get_num_threads() if numba else most_threads()


def processor() -> str:
    """Return the processor's name as the operating system gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@cache
def second_level_cache() -> int:
    """Return the bytes of a core's second-level cache, 1 MiB where nothing tells."""
    for index in _CACHES.glob("index*"):
        try:
            level, size = ((index / name).read_text().strip() for name in ("level", "size"))
            if level == "2" and size.endswith("K"):
                return int(size[:-1]) << 10
        except (OSError, ValueError):
            pass
    return 1 << 20


@cache
def bandwidth(threads: int | None = None) -> float:
    """Measure the bytes a second that `a *= s` in place moves, read and written (0.2 s).

    NumPy in threads needs no compiler and is as fast as compiled loops. Measured once for a
    process.
    """
    # Arrays beyond the caches, one per thread; each pass reads and writes every byte once.
    count = threads or cores()
    arrays = [np.ones(BANDWIDTH_BYTES // 4 // count, np.float32) for _ in range(count)]
    scale = np.float32(1.0)

    def update(array: np.ndarray) -> None:
        np.multiply(array, scale, out=array)

    # The best of several passes: others include interruptions.
    best = float("inf")
    with ThreadPoolExecutor(count) as pool:
        for _ in range(_REPEATS):
            start = time.perf_counter()
            list(pool.map(update, arrays))
            best = min(best, time.perf_counter() - start)
    return 2.0 * sum(array.nbytes for array in arrays) / best


def available_memory() -> int | None:
    """Return the bytes of memory this process may still take, None where nothing tells."""
    # The smaller of free memory and the limit of the control group (containers, batch jobs).
    limits = [value for value in (_free_memory(), *_group_limits()) if value is not None]
    return min(limits, default=None)


def peak_memory() -> int | None:
    """Return the largest memory of this process so far in bytes, None where nothing tells."""
    try:
        import resource
    except ImportError:
        return None
    # ru_maxrss is in bytes on macOS, in KiB on Linux.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def release_freed_memory() -> None:
    """Return memory that was freed to the operating system, where the C library can (glibc).

    It keeps freed arrays of up to 32 MB for itself: all averages of a model, beside fields that
    take pages of their own.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


class ExternalLoad:
    """What programs use of the processor from now on that this process has not started."""

    def __init__(self) -> None:
        self._start = _used()

    def share(self) -> float | None:
        """Return their part of all cores so far, None where nothing tells."""
        if self._start is None or (now := _used()) is None:
            return None
        # Busy share of all cores less this process's own.
        all_processes, process, wall = (b - a for a, b in zip(self._start, now, strict=True))
        return max(0.0, all_processes - process) / (wall * (os.cpu_count() or 1))


def _used() -> tuple[float, float, float] | None:
    """Return the processor's seconds of all programs and of this program, and the wall time.

    Its own seconds include programs that it has started and waited for, such as compilers.
    """
    try:
        # /proc/stat: user, nice and system time of all cores, in clock ticks.
        words = Path("/proc/stat").read_text(encoding="ascii").split(maxsplit=4)[1:4]
        all_processes = sum(map(int, words)) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return None
    return all_processes, sum(os.times()[:4]), time.perf_counter()


def running_threads() -> int | None:
    """Return how many threads of all programs run or want to at the moment; None if unknown."""
    try:
        # /proc/loadavg: the fourth word is running/all.
        return int(Path("/proc/loadavg").read_text(encoding="ascii").split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return None


def resident_memory() -> int | None:
    """Return the bytes of memory that this process has now, None where nothing tells."""
    try:
        # /proc/self/statm: the second number is the resident set in pages.
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def free_disk(folder: Path) -> int | None:
    """Return the bytes that a user may still write to a folder, None where nothing tells."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _free_memory() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


def _group_limits() -> list[int | None]:
    # Memory of the control group: version 2 first, then version 1.
    return [_group_memory(_CGROUP / limit, _CGROUP / use) for limit, use in _LIMITS]


def _group_memory(limit: Path, use: Path) -> int | None:
    try:
        most = int(limit.read_text(encoding="ascii"))
        # What the group counts includes files cached in memory, which give way.
        used = int(use.read_text(encoding="ascii")) - _cached(limit.parent / "memory.stat")
    except (OSError, ValueError):
        return None
    return max(0, most - used) if most < _UNLIMITED else None


def _cached(statistics: Path) -> int:
    for line in statistics.read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(" ")
        if name in ("file", "cache"):
            return int(value)
    return 0
