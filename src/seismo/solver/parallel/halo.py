"""Halo exchange: points updated next to a cut are copied to the halos of the neighbours.

A neighbour's halo is filled from wherever its points are owned: beside a cut and across a corner
alike, so that no copy waits for another. Between subdomains of one rank rows are copied from field
to field, and so they are between large ones of ranks that see one another's memory: such copies
take no threads from the core, but start late. All else travels packed, in one message each way.
What carries it (`seismo.backends.communicator.Link`) the stage that stands between `start`
and `finish` does not know.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from seismo.backends.base import Backend, Group, Launch, Rows, Step
from seismo.backends.communicator import Link
from seismo.backends.kernels.rows import pack_rows, unpack_rows
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
    """Exchange some fields after steps of a parity, across all cuts.

    `start` and `finish` are what to launch before and after the core is updated.
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
            peer_fields: the fields of ranks that write to this one's arrays as it does to theirs,
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
        # Each pair of neighbours: the points of the halo of one that the other owns.
        for to, source, owned in division.neighbour_pairs():
            box = owned & reached
            if not (names and box.size):
                continue
            target_rank = division.owner(to)
            source_rank = division.owner(source)
            # Copies between arrays that see one another; messages else.
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
        sizes = [{rank: self._size(ends) for rank, ends in some.items()} for some in (out, into)]
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
        """Return the launches that pack or unpack a message: all fields of a box in one launch.

        Whatever waits for a launch of another card costs a graph some microseconds.
        """
        launches = list[Launch]()
        start = 0
        put = self._backend.array
        for n, box in ends:
            rows = _rows(self._subdomains[n], box).starts
            length = box.shape[0]
            fields = self._arrays(self._fields[n])
            # All rows of all fields of a box, one behind the other in the buffer.
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
