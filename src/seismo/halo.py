"""Halo exchange: what a stage has written next to a cut goes into the halos of the neighbours.

A neighbour's halo is filled from wherever its points are owned: beside a cut and across a corner
alike, so that no copy waits for another. Between subdomains of one rank rows are copied; to
another rank they travel packed, in one message each way. What carries it (`seismo.ranks.Link`) the
stage that stands between `start` and `finish` does not know.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from seismo.backends.base import Backend, Group, Launch, Step
from seismo.decomposition import Subdomain
from seismo.division import Division
from seismo.fields import Fields
from seismo.grid import Box
from seismo.kernels.rows import copy_rows, pack_rows, unpack_rows
from seismo.ranks import Link

Ends = list[tuple[int, Box]]  # subdomains of this rank, and points of a halo that they own or keep


def _rows(subdomain: Subdomain, box: Box) -> np.ndarray:
    """Give the flat indices where the rows of a box begin, for every shot."""
    (x, y0, z0), (_, y1, z1) = box.lo, box.hi
    shot, z, y = np.ix_(range(subdomain.batch), range(z0, z1), range(y0, y1))
    return (subdomain.flat(x, y, z) + shot * subdomain.volume).ravel()


def _each(launches: Iterable[Launch]) -> Step:
    return [Group([launch], "halo") for launch in launches]


class Halo:
    """Exchange some fields after steps of a parity, across all cuts.

    `start` and `finish` are what to launch before and after the core is updated.
    """

    def __init__(
        self, backend: Backend, division: Division, fields: Mapping[int, Fields],
        names: tuple[str, ...], parity: int, reached: Box,
    ) -> None:  # fmt: skip
        """Bind the exchange.

        Args:
            backend: where the fields are.
            division: all subdomains.
            fields: of those that this rank has, by number.
            names: what to exchange.
            parity: of the steps.
            reached: points that may have changed.
        """
        self._backend, self._fields, self._names, self._parity = backend, fields, names, parity
        self._subdomains = division.subdomains
        copies: list[Launch] = []
        out, into = defaultdict[int, Ends](list), defaultdict[int, Ends](list)
        for to, given, held in division.meetings():
            box = held & reached
            if not box.size:
                continue
            there, here = division.owner(to), division.owner(given)
            if to in fields and given in fields:
                copies += self._copies(to, given, box)
            elif given in fields:
                out[there].append((given, box))
            elif to in fields:
                into[here].append((to, box))
        sizes = [{rank: self._size(ends) for rank, ends in some.items()} for some in (out, into)]
        link = division.ranks.link(backend, *sizes) if names else Link()
        packing, unpacking = (
            [launch for r, buffer in buffers.items() for launch in self._parcel(ends[r], buffer, p)]
            for buffers, ends, p in ((link.out, out, True), (link.into, into, False))
        )
        halo = partial(Group, where="halo")
        self.start = [halo(copies), *_each(link.ready), halo(packing), *_each(link.start)]
        self.finish = [*_each(link.finish), halo(unpacking)]

    def _copies(self, to: int, given: int, box: Box) -> list[Launch]:
        put = self._backend.array
        to_rows, rows = (_rows(self._subdomains[n], box) for n in (to, given))
        return [
            self._backend.each_row(
                copy_rows, rows.size, box.shape[0],
                (self._array(to, name), self._array(given, name), put(to_rows), put(rows)),
                writes=(0,),
            )
            for name in self._names
        ]  # fmt: skip

    def _size(self, ends: Ends) -> int:
        """Count the numbers of a message."""
        return sum(box.size * self._subdomains[n].batch for n, box in ends) * len(self._names)

    def _parcel(self, ends: Ends, buffer: Any, pack: bool) -> list[Launch]:
        """List what packs the buffer of a message, or unpacks it: all fields of a box in one go.

        Whatever waits for a launch of another card costs a graph some microseconds.
        """
        launches, start, put = list[Launch](), 0, self._backend.array
        for n, box in ends:
            rows, length = _rows(self._subdomains[n], box), box.shape[0]
            fields = [self._array(n, name) for name in self._names]
            which = np.repeat(np.arange(len(fields)), rows.size)
            held = (buffer, start, length, put(which), put(np.tile(rows, len(fields))), *fields)
            body, writes = (pack_rows, (0,)) if pack else (unpack_rows, tuple(range(5, len(held))))
            launches.append(self._backend.each_row(body, which.size, length, held, writes=writes))
            start += which.size * length
        return launches

    def _array(self, number: int, name: str) -> Any:
        return self._fields[number].written(name, self._parity)
