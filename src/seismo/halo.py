"""Halo exchange: what a stage has written next to a cut goes into the halos of the neighbours.

A neighbour's halo is filled from wherever its points are owned: beside a cut and across a corner
alike, so that no copy waits for another. Between subdomains of one process rows are copied; to
another rank they travel packed, in one message each way. The stage that stands between `start`
and `finish` does not know what carries the copy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from seismo.backends.base import Backend, Launch, Step
from seismo.decomposition import Division, Subdomain
from seismo.fields import Fields
from seismo.grid import Box
from seismo.kernels.rows import copy_rows

Ends = list[tuple[int, Box]]  # subdomains of this rank, and points of a halo that they own or keep


def _rows(subdomain: Subdomain, box: Box) -> np.ndarray:
    """Give the flat indices where the rows of a box begin, for every shot."""
    (x, y0, z0), (_, y1, z1) = box.lo, box.hi
    shot, z, y = np.ix_(range(subdomain.batch), range(z0, z1), range(y0, y1))
    return (subdomain.flat(x, y, z) + shot * subdomain.volume).ravel()


class Halo:
    """Exchange some fields after steps of a parity, across all cuts.

    `start` and `finish` are what to launch before and after the core is updated.
    """

    def __init__(
        self, backend: Backend, division: Division, fields: Mapping[int, Fields],
        names: tuple[str, ...], parity: int,
    ) -> None:  # fmt: skip
        """Bind the exchange.

        Args:
            backend: where the fields are.
            division: all subdomains.
            fields: of those that this rank has, by number.
            names: what to exchange.
            parity: of the steps.
        """
        self._backend, self._fields, self._names, self._parity = backend, fields, names, parity
        self._subdomains = division.subdomains
        copies: list[Launch] = []
        out, into = defaultdict[int, Ends](list), defaultdict[int, Ends](list)
        for to, given, box in division.meetings():
            there, here = division.owner(to), division.owner(given)
            if to in fields and given in fields:
                copies += self._copies(to, given, box)
            elif given in fields:
                out[there].append((given, box))
            elif to in fields:
                into[here].append((to, box))
        self.start: Step = [copies]
        self.finish: Step = []
        if out:
            packed = {rank: self._parcel(ends, pack=True) for rank, ends in out.items()}
            opened = {rank: self._parcel(ends, pack=False) for rank, ends in into.items()}
            start, finish = division.ranks.exchange(
                *({r: buffer for r, (buffer, _) in p.items()} for p in (packed, opened))
            )
            self.start += [[launch for _, some in packed.values() for launch in some], [start]]
            self.finish = [[finish], [launch for _, some in opened.values() for launch in some]]

    def _copies(self, to: int, given: int, box: Box) -> list[Launch]:
        rows = [_rows(self._subdomains[n], box) for n in (to, given)]
        return [
            self._copy(box, self._array(to, name), self._array(given, name), *rows)
            for name in self._names
        ]

    def _parcel(self, ends: Ends, pack: bool) -> tuple[np.ndarray, list[Launch]]:
        """Give the buffer of a message, and what packs it, or unpacks it."""
        size = sum(box.size * self._subdomains[n].batch for n, box in ends) * len(self._names)
        buffer, launches, start = self._backend.zeros(size), list[Launch](), 0
        for n, box in ends:
            rows = _rows(self._subdomains[n], box)
            for name in self._names:
                places = start + np.arange(rows.size) * box.shape[0]
                both = ((buffer, places), (self._array(n, name), rows))
                (to, to_rows), (given, from_rows) = both if pack else both[::-1]
                launches.append(self._copy(box, to, given, to_rows, from_rows))
                start += rows.size * box.shape[0]
        return self._backend.fetch(buffer)[:size], launches

    def _array(self, number: int, name: str) -> Any:
        return self._fields[number].written(name, self._parity)

    def _copy(self, box: Box, to: Any, given: Any, to_rows, from_rows) -> Launch:
        put = self._backend.array
        held = (to, given, put(to_rows), put(from_rows))
        return self._backend.each_row(copy_rows, to_rows.size, box.shape[0], held, writes=(0,))
