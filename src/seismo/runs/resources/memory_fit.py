"""The fit of a run to the memory and disk that are free.

On a backend with memory of its own (a GPU), fields, model, layers and record live there; the host
prepares them, and takes the results. Elsewhere everything is the host's.
"""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seismo.backends import machine
from seismo.backends.base import Backend
from seismo.backends.communicator import SerialCommunicator
from seismo.errors import InsufficientMemoryError, StorageError
from seismo.output.run_directory.partial_files import run_folder
from seismo.runs.resources.memory import PYTHON_BYTES, Memory, output_of
from seismo.scenario.units import with_unit
from seismo.solver.discretization import Discretization

HOST = "this machine"
KERNEL_BYTES = 384 * 2**20  # code, graphs and lists of blocks, beside the arrays
LIBRARY_BYTES = 800 * 2**20  # of the host, for a device's driver and libraries


class HypotheticalRanks(SerialCommunicator):
    """A communicator that counts ranks of a machine without starting them."""

    def __init__(self, count: int) -> None:
        """Return how many."""
        self.count = self.node_ranks = count


@dataclass(frozen=True)
class MemoryDemand:
    """The demand of a run on a memory.

    Attributes:
        where: whose memory.
        need: bytes.
        have: bytes that are free, None where nothing tells.
    """

    where: str
    need: int
    have: int | None

    @property
    def fits(self) -> bool:
        """Whether there is enough."""
        return self.have is None or self.need <= self.have

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __str__(self) -> str:
        """Describe the bytes that are needed and free."""
        text = f"the run needs {with_unit(self.need, 'B')} of memory on {self.where}"
        return text if self.have is None else f"{text}, {with_unit(self.have, 'B')} are free there"


def demands(
    memory: Memory, backend: Backend, ranks: SerialCommunicator | None = None
) -> list[MemoryDemand]:
    """List the demands of a run on each memory that takes part: of this machine, for its ranks."""
    device_free = backend.free_memory()
    host = machine.available_memory()
    node_ranks, all_ranks = (ranks.node_ranks, ranks.count) if ranks else (1, 1)
    if device_free is None:
        share = memory.host * node_ranks // all_ranks
        return [MemoryDemand(HOST, share + PYTHON_BYTES * node_ranks, host)]
    device = str(backend.describe()["device"])
    return [
        MemoryDemand(device, memory.resident // all_ranks + KERNEL_BYTES, device_free),
        MemoryDemand(
            HOST, memory.beside * node_ranks // all_ranks + PYTHON_BYTES + LIBRARY_BYTES, host
        ),
    ]


def remedy(discretization: Discretization, devices: int | None = None) -> str:
    """Describe how to make a run smaller, and how many devices would hold it, if any do."""
    fewer = "a smaller survey.batch, " * (discretization.batch > 1)
    more = f"{devices} GPUs of this kind (--gpus {devices}), " if devices else ""
    return f"use {more}{fewer}a coarser grid.spacing, a smaller grid.extent, or a larger machine"


def fewest(memory: Memory, backend: Backend, most: int = 1024) -> int | None:
    """Return the smallest number of such devices that hold a run, None if none does."""
    fitting = (
        n for n in range(1, most + 1) if demands(memory, backend, HypotheticalRanks(n))[0].fits
    )
    return next(fitting, None)


def refuse_what_does_not_fit(
    discretization: Discretization,
    memory: Memory,
    backend: Backend,
    path: Path,
    beside: int = 0,
    ranks: SerialCommunicator | None = None,
) -> None:
    """Compare the demands of a run with the memory and disk of the machines.

    Args:
        discretization: the run.
        memory: its bytes.
        backend: where it runs.
        path: the results file; files that its run directory holds already count as room.
        beside: bytes of disk that checkpoints take.
        ranks: that share the run.

    Raises:
        InsufficientMemoryError: too little memory.
        StorageError: too little room in the folder of the results.
    """
    for demand in demands(memory, backend, ranks):
        if not demand.fits:
            devices = fewest(memory, backend) if demand.where != HOST else None
            raise InsufficientMemoryError(f"{demand}; {remedy(discretization, devices)}")
    if lack := lack_of_disk(discretization, path, beside):
        raise StorageError(f"{path}: {lack}; use fewer or decimated snapshots, or write elsewhere")


def _size_of(file: Path) -> int:
    """Return the bytes of a file; 0 of a file that is renamed meanwhile, as the run's state is.

    A link that leads nowhere has none either.
    """
    with contextlib.suppress(OSError):
        return file.stat().st_size
    return 0


def lack_of_disk(discretization: Discretization, path: Path, beside: int) -> str:
    """Describe the lack of room on the disk, "" where there is room; see above."""
    folder = path.parent
    size = output_of(discretization).total
    free = machine.free_disk(folder)
    partial_size = sum(map(_size_of, run_folder(path).glob("*")))
    if free is None or size + beside <= free + partial_size:
        return ""
    checkpoints = f", and checkpoints {with_unit(beside, 'B')}" if beside else ""
    return (
        f"the results take up to {with_unit(size, 'B')}{checkpoints}; {folder} has "
        f"{with_unit(free, 'B')} left"
    )
