"""Remote receiver points: those of a field that a rank reads and another rank has.

A receiver next to a cut reads points on both sides of it. Those of the other side are received in
every step, packed, in one message for each field and pair of ranks.
"""

from __future__ import annotations

import numpy as np

from seismo.backends.base import Backend, Launch
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.kernels.points import gather
from seismo.solver.fields import Fields

GridPoints = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # x, y, z in the grid, shot


def flat(fields: Fields, points: GridPoints) -> np.ndarray:
    """Return the indices of points in the arrays of a subdomain."""
    x, y, z, shot = points
    return (fields.subdomain.flat(x, y, z) + shot * fields.subdomain.volume).astype(np.int64)


def gathering(
    backend: Backend, name: str, fields: Fields, points: GridPoints, target
) -> list[list[Launch]]:
    """Bind, for both parities, what copies the points that a subdomain has to their slots."""
    _, y, z, _ = points
    subdomain = fields.subdomain
    # Images beyond a face belong to the subdomain at that face.
    inside = [
        np.clip(i, lo, hi - 1)
        for i, lo, hi in zip(
            (y, z), subdomain.grid.box.lo[1:], subdomain.grid.box.hi[1:], strict=True
        )
    ]
    # Slots of the points that this subdomain owns.
    slots = np.flatnonzero(subdomain.owns(*inside))
    indices = backend.array(flat(fields, points)[slots])
    target_slots = backend.array(slots)
    return [
        [backend.each(gather, slots.size, (array, indices, target_slots, target), (3,))]
        if slots.size else []
        for array in (fields.written(name, parity) for parity in (0, 1))
    ]  # fmt: skip


class RemotePoints:
    """Points of one field that this rank sends to others and receives of them; all take part.

    Attributes:
        pack: by parity, launches that pack the messages.
        start: launches that start them.
        finish: launches that wait for them.
    """

    def __init__(
        self, backend: Backend, ranks: SerialCommunicator, name: str, fields: list[Fields],
        points: GridPoints,
        owners: np.ndarray,
    ) -> None:  # fmt: skip
        """Exchange requests for points, and bind the messages that carry them.

        Args:
            backend: where the fields are.
            ranks: all of them.
            name: of the field.
            fields: its subdomains on this rank.
            points: that are read here.
            owners: the ranks that have them.
        """
        self._backend = backend
        others = [r for r in range(ranks.count) if r != ranks.number]
        self._slots = {r: np.flatnonzero(owners == r) for r in others}
        wanted: list = [None] * ranks.count
        # Request: the points that each other rank owns.
        for r, slots in self._slots.items():
            wanted[r] = tuple(p[slots] for p in points)
        # Requests of the others, and one message buffer for each pair.
        requests = ranks.alltoall(wanted)
        out = {r: requests[r][0].size for r in others if requests[r][0].size}
        link = ranks.link(backend, out, {r: s.size for r, s in self._slots.items() if s.size})
        self._got = link.into
        self.pack: list[list[Launch]] = [[*link.ready], [*link.ready]]
        # Pack what others requested, from all subdomains of this rank.
        for r, buffer in link.out.items():
            for subdomain_fields in fields:
                for pack, some in zip(
                    self.pack,
                    gathering(backend, name, subdomain_fields, requests[r], buffer),
                    strict=True,
                ):
                    pack += some
        self.start = link.start
        self.finish = link.finish

    @property
    def has_points(self) -> bool:
        """Whether this rank receives any points."""
        return bool(self._got)

    def unpack(self, target) -> list[Launch]:
        """Bind the copies of received points to their slots."""
        put = self._backend.array
        return [
            self._backend.each(
                gather, self._slots[r].size,
                (buffer, put(np.arange(self._slots[r].size)), put(self._slots[r]), target), (3,),
            )
            for r, buffer in self._got.items()
        ]  # fmt: skip
