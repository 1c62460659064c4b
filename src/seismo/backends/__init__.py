"""The machines that steps run on.

Threads meet several times a step. The first to arrive spins for a few microseconds, within which
the others arrive on a quiet machine, and then sleeps: where OpenMP spins for milliseconds, as is
its default, a waiting thread keeps the core from the thread it waits for. It has to be said before
the first threads are made; who has set it keeps it.

Numba colours its messages where Colorama is installed, which then ends every program with a code on
its standard output: paths that `seismo run` prints for scripts would end in it.
"""

import os

os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")

if "OMP_WAIT_POLICY" not in os.environ:
    os.environ["OMP_WAIT_POLICY"] = "passive"
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # GNU's; others sleep at once
