"""Exchange between subdomains: halos next to a cut, and remote points that receivers read.

A neighbour's halo is filled from wherever its points are owned: beside a cut and across a corner
alike, so that no copy waits for another. Between subdomains of a rank, and between large subdomains
of ranks with shared memory, rows are copied from field to field: such copies take no threads from
the core, but start late. All else travels packed, in a message each way. The stage between `start`
and `finish` does not know which link carries them (`seismo.backends.communicator.Link`).

A receiver next to a cut reads points on both sides of it. Rows of the other side are received in
every step, packed, in a message for each field and pair of ranks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from seismo.backends.base import Backend, Group, Launch, Rows, Step
from seismo.backends.communicator import Link, SerialCommunicator
from seismo.backends.point_kernels import gather
from seismo.backends.row_kernels import pack_rows, unpack_rows
from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import Box
from seismo.solver.fields import Fields
from seismo.solver.parallel.partition import Partition

Ends = list[tuple[int, Box]]  # subdomains of this rank, and points of a halo that they own or keep


def _rows(subdomain: Subdomain, box: Box) -> Rows:
    """Return the rows of a box in a subdomain's arrays, for every shot."""
    length, ny, nz = box.shape
    # Rows along x begin at (shot, z, y).
    y_stride, z_stride = subdomain.strides
    strides = (subdomain.volume, z_stride, y_stride)
    return Rows(int(subdomain.flat(*box.lo)), (subdomain.batch, nz, ny), strides, length)


def _each(launches: Iterable[Launch]) -> Step:
    return [Group([launch], "message") for launch in launches]


class Halo:
    """Exchange fields after steps of a parity, across all cuts.

    `start` and `finish` are launched before and after the core is updated.
    """

    def __init__(
        self,
        backend: Backend,
        division: Partition,
        peer_fields: Mapping[int, Mapping[int, Fields]],
        changed: tuple[tuple[str, ...], Box],
        parity: int,
    ) -> None:
        """Bind the exchange.

        Args:
            backend: where the fields are.
            division: all subdomains.
            peer_fields: the fields of ranks that write to this rank's arrays as it does to theirs,
                its own among them, by rank and by number.
            changed: names of the fields to exchange, and the points that may have changed.
            parity: of the steps.
        """
        names, reached = changed
        self._backend = backend
        self._names = names
        self._parity = parity
        self._fields = peer_fields[division.ranks.number]
        self._subdomains = division.subdomains
        copies: list[Launch] = []
        out = defaultdict[int, Ends](list)
        into = defaultdict[int, Ends](list)
        # Each pair of neighbours: the points in a halo that the other owns.
        for to, source, owned in division.neighbour_pairs():
            box = owned & reached
            if not (names and box.size):
                continue
            target_rank = division.owner(to)
            source_rank = division.owner(source)
            # Copies between arrays that see each other; messages else.
            points = min(self._subdomains[n].owned.size for n in (to, source))
            large = points * len(names) >= backend.copied_from
            # Same rank, or large halos of peers: copy from field to field.
            copied = target_rank == source_rank or (
                large and peer_fields.keys() >= {target_rank, source_rank}
            )
            if source in self._fields and copied:
                copies.append(self._copy(peer_fields[target_rank][to], to, source, box))
            # Points to send, and points to receive.
            elif source in self._fields:
                out[target_rank].append((source, box))
            elif to in self._fields and not copied:
                into[source_rank].append((to, box))
        # One message for each rank: pack, exchange, unpack.
        sizes = [
            {rank: self._size(ends) for rank, ends in by_rank.items()} for by_rank in (out, into)
        ]
        link = division.ranks.link(backend, *sizes) if names else Link()
        packing, unpacking = (
            [launch for r, buffer in buffers.items() for launch in self._parcel(ends[r], buffer, p)]
            for buffers, ends, p in ((link.out, out, True), (link.into, into, False))
        )
        sent = [Group(copies, "halo"), Group(packing, "message")]
        self.start = [*_each(link.ready), *sent, *_each(link.start)]
        self.finish = [*_each(link.finish), Group(unpacking, "halo")]

    def _copy(self, target: Fields, to: int, source: int, box: Box) -> Launch:
        rows, to_rows = (_rows(self._subdomains[n], box) for n in (source, to))
        return self._backend.copy(
            self._arrays(self._fields[source]), rows, self._arrays(target), to_rows
        )

    def _size(self, ends: Ends) -> int:
        """Count the numbers of a message."""
        return sum(box.size * self._subdomains[n].batch for n, box in ends) * len(self._names)

    def _parcel(self, ends: Ends, buffer: Any, pack: bool) -> list[Launch]:
        """Return the launches that pack or unpack a message: all fields of a box at once.

        Whatever waits for a launch of another card costs a graph a few microseconds.
        """
        launches = list[Launch]()
        start = 0
        put = self._backend.array
        for n, box in ends:
            rows = _rows(self._subdomains[n], box).starts
            length = box.shape[0]
            fields = self._arrays(self._fields[n])
            # All rows of all fields of a box, back to back in the buffer.
            which = np.repeat(np.arange(len(fields)), rows.size)
            of_rows = (put(which), put(np.tile(rows, len(fields))))
            arguments = (buffer, start, length, *of_rows, *fields)
            written = range(5, len(arguments))
            body, writes = (pack_rows, (0,)) if pack else (unpack_rows, tuple(written))
            launches.append(
                self._backend.each_row(body, which.size, length, arguments, writes=writes)
            )
            start += which.size * length
        return launches

    def _arrays(self, fields: Fields) -> list[Any]:
        return [fields.written(name, self._parity) for name in self._names]


GridPoints = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # x, y, z in the grid, shot


def flat(fields: Fields, points: GridPoints) -> np.ndarray:
    """Return the indices of points in the arrays of a subdomain."""
    x, y, z, shot = points
    return (fields.subdomain.flat(x, y, z) + shot * fields.subdomain.volume).astype(np.int64)


def gathering(
    backend: Backend, name: str, fields: Fields, points: GridPoints, target
) -> list[list[Launch]]:
    """Bind, for both parities, copies of the points that a subdomain has to their slots."""
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
    """Points of a field that this rank sends to others and receives of them; all take part.

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
        # Requests of the others, and a message buffer for each pair.
        requests = ranks.alltoall(wanted)
        out = {r: requests[r][0].size for r in others if requests[r][0].size}
        link = ranks.link(backend, out, {r: s.size for r, s in self._slots.items() if s.size})
        self._got = link.into
        self.pack: list[list[Launch]] = [[*link.ready], [*link.ready]]
        # Pack the points that others requested, from all subdomains of this rank.
        for r, buffer in link.out.items():
            for subdomain_fields in fields:
                for pack, launches in zip(
                    self.pack,
                    gathering(backend, name, subdomain_fields, requests[r], buffer),
                    strict=True,
                ):
                    pack += launches
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
