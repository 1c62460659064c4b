"""Processes that were forked from one with threads, such as those of `multiprocessing` by "fork".

A fork has none of its parent's threads, and neither GNU's OpenMP nor TBB starts any there: a
parallel loop waits for ever, or ends the process. What needs no other thread works as ever.
"""

from __future__ import annotations

import os
import sys
import threading

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
