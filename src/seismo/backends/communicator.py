"""The processes of a run: a single one, or *ranks* started by a launcher (mpiexec, srun).

MPI joins them, through mpi4py, which is imported where several were started and nowhere else. A
launcher that does not fit the MPI starts as many independent runs, which would all write the same
file. So the launcher's count of processes is compared with that of MPI.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from seismo.errors import DeviceError

# NumPy takes 0.1 s to import.
if TYPE_CHECKING:
    import numpy as np

    from seismo.backends.base import Backend

_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")  # as Open MPI, and MPICH and its kin, tell them
_FAILURE_GRACE = 1.0  # s in which all ranks have arrived, if all fail
_FINALIZE_LIMIT = 2.0  # s that leaving MPI may take
_EXIT_PAUSE = 0.1  # s for the others to leave: at the first that ends badly a launcher ends all
_READ_LIMIT = 2.0  # s that a launcher may take to read a rank's message before it aborts
_FORWARD_PAUSE = 0.2  # s for it to pass that on, which an abort ends, too
_TASKS = "SLURM_STEP_NUM_TASKS"
T = TypeVar("T")
Buffers = dict[int, Any]  # by rank, where the backend has its arrays


def rank_barrier() -> None:
    """Stand in a step where all ranks of a process have come, before any of them goes on."""


@dataclass(frozen=True)
class Link:
    """Messages that go from rank to rank in every step, and the launches of a step for them.

    Attributes:
        out: send buffer of each rank.
        into: receive buffer of each rank.
        ready: launches before packing.
        start: launches that send.
        finish: launches before unpacking.
    """

    out: Buffers = field(default_factory=dict)
    into: Buffers = field(default_factory=dict)
    ready: tuple[Callable[[], None], ...] = ()
    start: tuple[Callable[[], None], ...] = ()
    finish: tuple[Callable[[], None], ...] = ()


class SerialCommunicator:
    """One process, which has nobody to talk to.

    Attributes:
        number: of this rank, from 0.
        count: of all ranks.
        processes: that they are in.
        node_ranks: ranks on this machine, itself included.
        node_rank: its number among these.
        is_throttled: whether it queues steps by itself, and must limit how many are queued.
        threads: its share of the cores, None for all that Numba takes by itself.
    """

    number = 0
    count = 1
    processes = 1
    node_ranks = 1
    node_rank = 0
    is_throttled = True
    threads: int | None = None

    @property
    def first(self) -> bool:
        """Whether this rank writes files and messages."""
        return self.number == 0

    @property
    def has_others(self) -> bool:
        """Whether there are others."""
        return self.count > 1

    def gather(self, value: Any) -> list[Any] | None:
        """Return the values of all ranks to the first, None to the others."""
        return [value]

    def gather_arrays(self, array: np.ndarray) -> list[np.ndarray] | None:
        """Gather arrays of equal type, which may be large."""
        return [array]

    def allgather(self, value: Any) -> list[Any]:
        """Return the values of all ranks to all."""
        return [value]

    def alltoall(self, values_by_rank: list[Any]) -> list[Any]:
        """Send the n-th value to rank n; return the values received."""
        return values_by_rank

    def same(self, make: Callable[[], T]) -> T:
        """Return a value that all ranks would make alike."""
        return make()

    def peers(self, backend: Backend, value: T) -> dict[int, T]:
        """Return the values of ranks with shared memory, including this rank."""
        return {self.number: value}

    def share_memory(self, backend: Backend) -> bool:
        """Whether launches of each rank may write to arrays of all others."""
        return all(self.allgather(len(self.peers(backend, None)) == self.count))

    def detour(self, backend: Backend) -> str:
        """Describe the path of halos where memory could be shared and is not."""
        return ""

    def wait_for_peers(self, backend: Backend) -> None:
        """Let later launches wait for earlier launches of ranks that share memory."""

    def wait(self) -> None:
        """Return when all ranks are here."""

    def link(self, backend: Backend, out: Mapping[int, int], into: Mapping[int, int]) -> Link:
        """Bind a repeated exchange between the backends of all ranks, which all ask for it.

        Args:
            backend: of this rank.
            out: how many numbers go to which rank.
            into: and come from there.
        """
        return Link()

    def exchange(self, out: Buffers, into: Buffers) -> tuple[Callable[[], None], ...]:
        """Bind a repeated exchange of arrays of this machine; return (start, finish)."""
        return rank_barrier, rank_barrier

    def program(self, backend: Backend, steps: tuple) -> Callable[[int, int], None]:
        """Let a backend make the function that takes steps; see `Backend.program`."""
        return backend.program(steps)


class MpiCommunicator(SerialCommunicator):
    """One of several ranks, joined by MPI."""

    def __init__(self, mpi: Any) -> None:
        """Join the others; all have to do so.

        Args:
            mpi: the module `mpi4py.MPI`.
        """
        self._mpi = mpi
        self._world = mpi.COMM_WORLD.Dup()
        self.number = self._world.rank
        self.count = self._world.size
        self.processes = self.count
        # Ranks of a machine share its memory: their communicator numbers them.
        node = self._world.Split_type(mpi.COMM_TYPE_SHARED)
        # Ranks bound to the same cores divide them; bound to different ones each has its own.
        cores = sorted(os.sched_getaffinity(0))
        core_sets = node.allgather(cores)
        self.node_ranks = len(core_sets)
        self.node_rank = node.rank
        if "NUMBA_NUM_THREADS" not in os.environ:
            self.threads = max(1, len(cores) // core_sets.count(cores))

    def gather(self, value: Any) -> list[Any] | None:
        """See `SerialCommunicator.gather`."""
        return self._world.gather(value)

    def gather_arrays(self, array: np.ndarray) -> list[np.ndarray] | None:
        """Send arrays separately: their total may exceed MPI's counts."""
        import numpy as np

        # Shapes first, so that the root can allocate; then a message per rank.
        contiguous = np.ascontiguousarray(array)
        shapes = self._world.gather(contiguous.shape)
        if shapes is None:
            self._world.Send(contiguous, 0)
            return None
        arrays = [contiguous, *(np.empty(shape, contiguous.dtype) for shape in shapes[1:])]
        for rank, buffer in enumerate(arrays[1:], 1):
            self._world.Recv(buffer, rank)
        return arrays

    def allgather(self, value: Any) -> list[Any]:
        """See `SerialCommunicator.allgather`."""
        return self._world.allgather(value)

    def alltoall(self, values_by_rank: list[Any]) -> list[Any]:
        """See `SerialCommunicator.alltoall`."""
        return self._world.alltoall(values_by_rank)

    def wait(self) -> None:
        """See `SerialCommunicator.wait`."""
        self._world.Barrier()

    def link(self, backend: Backend, out: Mapping[int, int], into: Mapping[int, int]) -> Link:
        """Bind the backend's messages; see `SerialCommunicator.link`."""
        if not out and not into:
            return Link()
        outbox, inbox = ({r: backend.zeros(n)[:n] for r, n in s.items()} for s in (out, into))
        start, finish = backend.exchange(self, outbox, inbox)
        return Link(outbox, inbox, (), start, finish)

    def exchange(self, out: Buffers, into: Buffers) -> tuple[Callable[[], None], ...]:
        """See `SerialCommunicator.exchange`."""
        # Persistent requests: buffers are bound once, and each step starts and completes them.
        requests = [self._world.Recv_init(buffer, rank) for rank, buffer in into.items()]
        requests += [self._world.Send_init(buffer, rank) for rank, buffer in out.items()]
        mpi = self._mpi
        return (
            lambda: mpi.Prequest.Startall(requests),
            lambda: mpi.Request.Waitall(requests),
        )


def join() -> SerialCommunicator:
    """Join the other processes of the run, if there are any.

    Raises:
        DeviceError: several were started, and MPI is missing or does not know of them.
    """
    # Without a launcher there is a single process, and mpi4py is not imported.
    tasks = started(os.environ)
    if tasks <= 1:
        return SerialCommunicator()
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise DeviceError(
            f"{tasks} tasks were started, and MPI is not there ({reason}); "
            "pip install 'seismo[mpi]', or start one"
        ) from error
    # Under the launcher of another MPI each process sees a world of size 1.
    world_size = MPI.COMM_WORLD.size
    if world_size != tasks:
        raise DeviceError(
            f"{tasks} tasks were started, and MPI ({MPI.Get_library_version().split(',')[0]}) "
            f"knows of {world_size}: launcher and MPI do not fit together; take the mpiexec of "
            "that MPI, or with srun the --mpi that it speaks (srun --mpi=list)"
        )
    return MpiCommunicator(MPI)


def started(environment: Mapping[str, str]) -> int:
    """Return the number of tasks that a launcher has started, as its variables tell.

    Within a batch job mpiexec may itself have been started by srun: its own variables count first.
    """
    # Variables of the launcher, the innermost first: Open MPI, PMI, then SLURM's step.
    for name in _SIZES:
        if name in environment:
            return int(environment[name])
    return int(environment.get(_TASKS, 1)) if "SLURM_STEP_ID" in environment else 1


def end_all(report: Callable[[], int]) -> int:
    """Report this rank's error, and end the others, which would wait for ever.

    Args:
        report: function that says it and gives the exit code.

    Returns:
        The exit code, where there are no others.
    """
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or mpi.COMM_WORLD.size == 1:
        return report()
    # Rank 0 reports. A non-blocking barrier then shows whether all ranks have failed alike.
    world = mpi.COMM_WORLD
    code = None if world.rank else report()
    # All ranks fail alike: rank 0's exit code counts.
    if _all_fail(world.Ibarrier()):
        _leave(mpi, world.bcast(code))
    # Ranks that failed alone report for themselves, and abort the others, which wait in messages.
    if world.rank:
        print(f"rank {world.rank}: ", end="", file=sys.stderr)
        code = report()
    _deliver()
    return world.Abort(code)


def _deliver() -> None:
    """Wait until messages are read, and a little longer: an aborting launcher drops them."""
    sys.stderr.flush()
    end = time.monotonic() + _READ_LIMIT
    with contextlib.suppress(OSError):  # an abort has to come, whatever stands for stderr
        while _unread(sys.stderr.fileno()) and time.monotonic() < end:
            time.sleep(0.01)
    time.sleep(_FORWARD_PAUSE)


def _unread(descriptor: int) -> int:
    """Return the bytes in a pipe that its reader has not taken yet; 0 if it is no pipe."""
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return 0
    count = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
    return int.from_bytes(count, sys.byteorder)


def _all_fail(barrier: Any) -> bool:
    """Whether all ranks end by themselves: an error of all is reported once, without an abort.

    The barrier is of MPI's world, in which nothing else is said.
    """
    # Test repeatedly: a rank that is in a message never comes to a blocking barrier.
    end = time.monotonic() + _FAILURE_GRACE
    while not (all_failed := barrier.Test()) and time.monotonic() < end:
        time.sleep(0.01)
    return all_failed


def _leave(mpi: Any, code: int) -> NoReturn:
    """Leave MPI and the process, even if a message that nobody takes any more is in the way."""
    # A timer ends the process if MPI_Finalize waits for a message that nobody receives.
    sys.stderr.flush()
    watch = threading.Timer(_FINALIZE_LIMIT, os._exit, (code,))
    watch.daemon = True
    watch.start()
    mpi.Finalize()
    time.sleep(_EXIT_PAUSE)
    os._exit(code)
