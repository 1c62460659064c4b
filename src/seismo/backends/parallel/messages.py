"""Messages between cards of different processes, by NCCL through CuPy.

All sends and receives of a message go as one group on the stream in use, so that none waits for
another, and can be recorded in a graph. Ranks start their messages in the same order.
"""

from __future__ import annotations

from typing import Any

import cupy
from cupy.cuda import nccl

from seismo.backends.parallel.communicator import SerialCommunicator
from seismo.errors import DeviceError

_TYPES = {"float32": 7, "float64": 8}  # as NCCL numbers them


class Messages:
    """Own this rank's end of the connections."""

    def __init__(self, ranks: SerialCommunicator) -> None:
        """Connect all ranks.

        Raises:
            DeviceError: NCCL is missing, or cannot connect them.
        """
        if not nccl.available:
            raise DeviceError(
                "backend gpu: ranks with GPUs need NCCL (libnccl.so.2); pip install 'seismo[nccl]'"
            )
        # The key of the communicator is made by one rank and sent to all.
        key = ranks.allgather(nccl.get_unique_id() if ranks.first else None)[0]
        try:
            self._communicator = nccl.NcclCommunicator(ranks.count, key, ranks.number)
        except nccl.NcclError as error:
            raise DeviceError(f"backend gpu: NCCL cannot connect the ranks: {error}") from error

    def send(self, out: dict[int, Any], into: dict[int, Any]) -> None:
        """Send and receive, on the stream in use, what ranks have for one another."""
        # NCCL groups sends and receives: none waits for another within the group.
        stream = cupy.cuda.get_current_stream().ptr
        nccl.groupStart()
        for rank, array in out.items():
            self._communicator.send(
                array.data.ptr, array.size, _TYPES[array.dtype.name], rank, stream
            )
        for rank, array in into.items():
            self._communicator.recv(
                array.data.ptr, array.size, _TYPES[array.dtype.name], rank, stream
            )
        nccl.groupEnd()
