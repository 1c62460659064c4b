"""The processes of a run: one alone, or *ranks* that a launcher (mpiexec, srun) started together.

MPI joins them, through mpi4py, which is imported where several were started and nowhere else. A
launcher that does not fit the MPI starts as many runs that know nothing of one another; they would
all write the same file. So what it says it has started is compared with what MPI knows of.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from seismo.errors import DeviceError

_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")  # as Open MPI, and MPICH and its kin, tell them
_GRACE = 1.0  # s in which the first rank may say what befell all
_TASKS = "SLURM_STEP_NUM_TASKS"


class Alone:
    """One process, which has nobody to talk to.

    Attributes:
        number: of this rank, from 0.
        count: of all ranks.
        beside: ranks on this machine, itself included.
        threads: its share of the cores, None for all that Numba takes by itself.
    """

    number, count, beside = 0, 1, 1
    threads: int | None = None

    @property
    def first(self) -> bool:
        """Whether it is the one that writes and talks."""
        return self.number == 0

    @property
    def several(self) -> bool:
        """Whether there are others."""
        return self.count > 1

    def gather(self, value: Any) -> list[Any] | None:
        """Give the values of all ranks to the first, None to the others."""
        return [value]

    def collect(self, array: np.ndarray) -> list[np.ndarray] | None:
        """Do the same with arrays of one type, which may be large."""
        return [array]

    def share(self, value: Any) -> list[Any]:
        """Give the values of all ranks to all."""
        return [value]

    def swap(self, values: list[Any]) -> list[Any]:
        """Hand the n-th value to rank n; give what they have handed over."""
        return values

    def wait(self) -> None:
        """Return when all ranks are here."""

    def exchange(
        self, out: Mapping[int, np.ndarray], into: Mapping[int, np.ndarray]
    ) -> tuple[Callable[[], None], Callable[[], None]]:
        """Bind a repeated exchange of buffers, by rank: give what starts it and what finishes it.

        Args:
            out: what goes to each.
            into: where comes what each one sends.
        """
        raise ValueError("one process alone exchanges nothing")


class Joined(Alone):
    """One of several ranks, joined by MPI."""

    def __init__(self, mpi: Any) -> None:
        """Join the others; all have to do so.

        Args:
            mpi: the module `mpi4py.MPI`.
        """
        self._mpi, self._all = mpi, mpi.COMM_WORLD.Dup()
        self.number, self.count = self._all.rank, self._all.size
        here = self._all.Split_type(mpi.COMM_TYPE_SHARED)
        own = sorted(os.sched_getaffinity(0))
        sets = here.allgather(own)
        self.beside = len(sets)
        if "NUMBA_NUM_THREADS" not in os.environ:
            self.threads = max(1, len(own) // sets.count(own))

    def gather(self, value: Any) -> list[Any] | None:
        """See `Alone.gather`."""
        return self._all.gather(value)

    def collect(self, array: np.ndarray) -> list[np.ndarray] | None:
        """Send them one by one: all together may exceed what MPI can count; see `Alone.collect`."""
        own = np.ascontiguousarray(array)
        shapes = self._all.gather(own.shape)
        if shapes is None:
            self._all.Send(own, 0)
            return None
        found = [own, *(np.empty(shape, own.dtype) for shape in shapes[1:])]
        for rank, buffer in enumerate(found[1:], 1):
            self._all.Recv(buffer, rank)
        return found

    def share(self, value: Any) -> list[Any]:
        """See `Alone.share`."""
        return self._all.allgather(value)

    def swap(self, values: list[Any]) -> list[Any]:
        """See `Alone.swap`."""
        return self._all.alltoall(values)

    def wait(self) -> None:
        """See `Alone.wait`."""
        self._all.Barrier()

    def exchange(
        self, out: Mapping[int, np.ndarray], into: Mapping[int, np.ndarray]
    ) -> tuple[Callable[[], None], Callable[[], None]]:
        """Make persistent requests; see `Alone.exchange`."""
        requests = [self._all.Recv_init(buffer, rank) for rank, buffer in into.items()]
        requests += [self._all.Send_init(buffer, rank) for rank, buffer in out.items()]
        mpi = self._mpi
        return (
            lambda: mpi.Prequest.Startall(requests),
            lambda: mpi.Request.Waitall(requests),
        )


def join() -> Alone:
    """Find out whether this process is one of several, and join them.

    Raises:
        DeviceError: several were started, and MPI is missing or does not know of them.
    """
    tasks = started(os.environ)
    if tasks <= 1:
        return Alone()
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise DeviceError(
            f"{tasks} tasks were started, and MPI is not there ({reason}); "
            "pip install 'seismo[mpi]', or start one"
        ) from error
    known = MPI.COMM_WORLD.size
    if known != tasks:
        raise DeviceError(
            f"{tasks} tasks were started, and MPI ({MPI.Get_library_version().split(',')[0]}) "
            f"knows of {known}: launcher and MPI do not fit together; take the mpiexec of that "
            "MPI, or with srun the --mpi that it speaks (srun --mpi=list)"
        )
    return Joined(MPI)


def started(environment: Mapping[str, str]) -> int:
    """Give the number of tasks that a launcher has started, as its variables tell.

    Within a batch job mpiexec may itself have been started by srun: its own variables count first.
    """
    for name in _SIZES:
        if name in environment:
            return int(environment[name])
    return int(environment.get(_TASKS, 1)) if "SLURM_STEP_ID" in environment else 1


def end_all(say: Callable[[], int]) -> int:
    """Say what went wrong on this rank, and end the others too: they would wait for it for ever.

    Args:
        say: function that says it and gives the exit code.

    Returns:
        The exit code, where there are no others.
    """
    world = getattr(sys.modules.get("mpi4py.MPI"), "COMM_WORLD", None)
    if world is None or world.size == 1:
        return say()
    if world.rank:
        time.sleep(_GRACE)
        print(f"rank {world.rank}: ", end="", file=sys.stderr)
    code = say()
    sys.stderr.flush()
    return world.Abort(code)
