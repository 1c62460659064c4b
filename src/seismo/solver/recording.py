"""Receivers, and the record of their channels, step by step.

A channel is one component at one receiver, a sum of weighted points of fields
(`seismo.solver.channels`).

A channel belongs to the rank that has the receiver's nearest node. Points of it that other ranks
have come from there in every step (`seismo.solver.remote_points`), and are added up in the same
order as on one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.backends.base import Backend, Launch
from seismo.backends.kernels import points as kernels
from seismo.grid.coefficients import Stencil
from seismo.grid.global_index import CheckpointArray, GlobalBlock, index_range, index_ranges
from seismo.grid.grid import AXES
from seismo.solver.channels import receiver_points
from seismo.solver.fields import Fields
from seismo.solver.partition import Partition
from seismo.solver.point_weights import PointInterpolation
from seismo.solver.remote_points import Points, RemotePoints, flat, gathering
from seismo.solver.surface_slope import Points as WeightedPoints

PIECE = 16  # entries that one launch's thread sums


class _Channels:
    """The sparse rows of all channels that read one field.

    Attributes:
        starts: first entries of the rows, and behind the last.
        channels: of the rows.
        owners: shots of the rows.
    """

    def __init__(self) -> None:
        self.starts = [0]
        self.channels = list[int]()
        self.owners = list[int]()
        self._points = [(*([np.zeros(0, np.int64)] * 4), np.zeros(0))]

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.channels)

    def append(self, channel: int, shot: int, points) -> None:
        """Add a row."""
        x, y, z, w = points
        self.starts.append(self.starts[-1] + len(w))
        self.channels.append(channel)
        self.owners.append(shot)
        self._points.append((x, y, z, np.full(len(w), shot), w))

    @property
    def longest(self) -> int:
        """Points of the longest row."""
        return int(np.diff(self.starts).max(initial=0))

    @property
    def points(self) -> Points:
        """Their points, one row behind the other."""
        x, y, z, shot, _ = zip(*self._points, strict=True)
        return np.concatenate(x), np.concatenate(y), np.concatenate(z), np.concatenate(shot)

    @property
    def weights(self) -> np.ndarray:
        """The weights of the points."""
        return np.concatenate([w for *_, w in self._points])


class Recorder:
    """Record every channel of this rank, of every shot of a batch, step by step."""

    def __init__(
        self, backend: Backend, around: PointInterpolation, division: Partition,
        fields: Mapping[int, Fields], groups: list[ReceiverGroup], stencil: Stencil,
        steps: int,
    ) -> None:  # fmt: skip
        self._backend = backend
        self._ranks = division.ranks
        self._index: dict[tuple[int, str, str], slice] = {}
        # Receivers of this rank, and of all, to put the record together.
        self._own = own = {group.name: _own(group, around, division) for group in groups}
        self._numbers = {name: division.ranks.gather(own[name]) for name in own}
        self._shapes = {group.name: (len(group.positions), steps) for group in groups}
        rows = {field.name: _Channels() for field in around.physics.fields}
        channel = 0
        points = dict[tuple[str, str], list[dict[str, WeightedPoints]]]()
        # Channels in the order shot, group, component, receiver; points once for all shots.
        for shot in division.shots:
            for group in groups:
                bases = dict.fromkeys(
                    (b, c) for _, b, c in group.components(around.physics).values()
                )
                positions = group.positions[own[group.name]]
                for base, component in bases:
                    self._index[shot, group.name, component] = slice(
                        channel, channel + len(positions)
                    )
                    key = (group.name, component)
                    if key not in points:  # the same for all shots
                        points[key] = [
                            receiver_points(around, group, n, base, component, stencil)
                            for n in own[group.name]
                        ]
                    for found in points[key]:
                        for name, some in found.items():
                            rows[name].append(channel, shot - division.shots.start, some)
                        channel += 1
        self.record = backend.array(np.zeros((steps, channel), backend.precision))
        parts = list(fields.values())
        # Points that other ranks update travel in each step.
        self._loans = {
            name: RemotePoints(
                backend, division.ranks, name, parts, r.points, division.owners(*r.points[1:3])
            )
            for name, r in rows.items()
        }
        # The order of additions follows from the longest row, so that it must be that of all ranks.
        lengths = division.ranks.allgather({name: r.longest for name, r in rows.items()})
        longest = {name: max(some[name] for some in lengths) for name in rows}
        self._reads = [
            _Reading(backend, name, r, parts, self._loans[name], longest[name])
            for name, r in rows.items()
            if r
        ]

    def launches(self, parity: int) -> list[Launch]:
        """List what records the fields as a step has left them, in order."""
        loans = self._loans.values()
        return [
            *(one for loan in loans for one in loan.pack[parity]),
            *(one for loan in loans for one in loan.start),
            *(one for loan in loans for one in loan.finish),
            *(one for r in self._reads for one in r.launches(self.record, parity)),
        ]

    def state(self, step: int) -> CheckpointArray:
        """Return what is recorded by a step."""
        # Record (step, channel) by its global indices.
        strides = (self.record.shape[1], 1)
        places = [
            GlobalBlock(f"record.{shot}.{group}.{component}", own.start, strides,
                  (index_range(0, step), index_ranges(self._own[group])))
            for (shot, group, component), own in self._index.items()
            if own.stop > own.start
        ]  # fmt: skip
        return CheckpointArray(self.record[:step], places)

    def raw(self, shot: int, group: str, component: str) -> np.ndarray | None:
        """Copy the record (receiver, step) of a base component; None but on the first rank.

        The shot is one of those that advance together; some ranks may have nothing of it.
        """
        part = self.record[:, self._index.get((shot, group, component), slice(0))]
        found = self._ranks.gather_arrays(self._backend.fetch(part).T)
        numbers = self._numbers[group]
        if found is None or numbers is None:
            return None
        if len(found) == 1:
            return np.array(found[0])
        # Rank 0 puts the receivers of all ranks in their order.
        here = [(own, record) for own, record in zip(numbers, found, strict=True) if record.size]
        if len(here) == 1:
            return here[0][1]
        whole = np.empty(self._shapes[group], part.dtype)
        for own, record in here:
            whole[own] = record
        return whole


def _own(group: ReceiverGroup, around: PointInterpolation, division: Partition) -> np.ndarray:
    """Number the receivers whose nearest nodes this rank has."""
    # The owner of the nearest node has the receiver.
    y, z = (np.rint(around.grid.index(a, group.positions[:, AXES.index(a)])) for a in "yz")
    return np.flatnonzero(division.owners(y, z) == division.ranks.number)


class _Reading:
    """Read one field for all channels: the points of each subdomain, then their sums.

    Where rows have more than `PIECE` entries all are summed in pieces first, side by side.
    """

    def __init__(
        self, backend: Backend, name: str, rows: _Channels, parts: list[Fields], loan: RemotePoints,
        longest: int,
    ) -> None:  # fmt: skip
        self._backend = backend
        put = backend.array
        points = rows.points
        weights = rows.weights.astype(backend.precision)
        starts = np.array(rows.starts, np.int64)
        indices = np.arange(len(weights))
        self._gathers: list[list[Launch]] = [[], []]
        # One subdomain: sum over the field itself; else gather the points first.
        if len(parts) == 1 and not loan.borrows:  # the sums read the field itself
            values = [parts[0].written(name, parity) for parity in (0, 1)]
            indices = flat(parts[0], points)
        else:
            values = [put(np.zeros(len(weights), backend.precision))] * 2
            some = [gathering(backend, name, part, points, values[0]) for part in parts]
            borrowed = loan.unpack(values[0])
            self._gathers = [
                [*borrowed, *(one for part in some for one in part[p])] for p in (0, 1)
            ]
        self._sums: list[tuple] = []
        self._shots = np.array(rows.owners)
        # Long sums in two passes: pieces of rows, then the pieces.
        if longest > PIECE:
            pieces, starts = _pieces(starts)
            self._piece_shots = np.repeat(self._shots, np.diff(starts))
            partial = put(np.zeros(len(pieces) - 1, backend.precision))
            held = (put(indices), put(pieces), put(weights), partial)
            self._sums = [(v, *held) for v in values]
            values = [partial] * 2
            indices = np.arange(partial.size)
            weights = np.ones(partial.size, backend.precision)
        # Channel = sum of weights times values, by compressed rows.
        held = (put(indices), put(starts), put(weights), put(np.array(rows.channels, np.int64)))
        self._rows = [(v, *held) for v in values]

    def launches(self, traces, parity: int) -> list[Launch]:
        """List what adds this field's share to the record of a step."""
        backend = self._backend
        rows = self._rows[parity]
        sums = [s[parity] for s in (self._sums,) if s]
        return [
            *self._gathers[parity],
            *(backend.each(kernels.sums, s[-1].size, s, (4,), self._piece_shots) for s in sums),
            backend.each(
                kernels.record, rows[-1].size, (*rows, traces, backend.clock), (5,), self._shots
            ),
        ]


def _pieces(starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut rows of entries in pieces: first entries of the pieces, first pieces of the rows."""
    # Pieces of each row, and where each begins.
    counts = -(-np.diff(starts) // PIECE)
    firsts = np.concatenate([[0], np.cumsum(counts)])
    number = np.arange(firsts[-1]) - np.repeat(firsts[:-1], counts)
    pieces = np.repeat(starts[:-1], counts) + PIECE * number
    return np.append(pieces, starts[-1]), firsts
