"""Receivers, the record of their channels, step by step, and the traces made of it.

A channel is a component at a receiver, a sum of weighted points of fields
(`seismo.solver.interpolation.channels`).

A channel belongs to the rank that has the receiver's nearest node. Points of it that other ranks
have come from there in every step (`seismo.solver.parallel.halo`), and are added up in the
same order as on a single rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition import trace_processing
from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import Shot
from seismo.backends import point_kernels as kernels
from seismo.backends.base import Backend, Launch
from seismo.grid.decomposition import (
    CheckpointArray,
    GlobalBlock,
    index_range,
    index_ranges,
)
from seismo.grid.grid import AXES
from seismo.grid.interpolation import Points
from seismo.solver.discretization import Discretization
from seismo.solver.fields import Fields, RankFields
from seismo.solver.interpolation.channels import FURTHER, reading_of
from seismo.solver.parallel.halo import (
    GridPoints,
    RemotePoints,
    flat,
    gathering,
)
from seismo.solver.parallel.partition import Partition

_MOST_KNOWN = 1 << 18  # channels whose points are kept for the next batch
PIECE = 16  # entries that a thread of a launch sums
_BLOCK = 1 << 17  # samples of traces finished at once


class SparseRows:
    """The sparse rows of all channels that read a field.

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
    def points(self) -> GridPoints:
        """Their points, row by row."""
        x, y, z, shot, _ = zip(*self._points, strict=True)
        return np.concatenate(x), np.concatenate(y), np.concatenate(z), np.concatenate(shot)

    @property
    def weights(self) -> np.ndarray:
        """The weights of the points."""
        return np.concatenate([w for *_, w in self._points])


@dataclass(frozen=True)
class RecordRows:
    """The sparse rows that read the channels of this rank, for the shots of a batch.

    Attributes:
        fields: the sparse rows that read each field.
        receivers: (shot, set) -> the numbers of its receivers that this rank has.
        index: (shot, set, component) -> its channels.
        indirect: (shot, set) -> which receivers read other quantities (`indirect_reading`).
        channels: in all.
    """

    fields: dict[str, SparseRows]
    receivers: dict[tuple[int, str], np.ndarray]
    index: dict[tuple[int, str, str], slice]
    indirect: dict[tuple[int, str], np.ndarray]
    channels: int


class Recorder:
    """Record every channel of this rank, of every shot of a batch, step by step."""

    def __init__(
        self, discretization: Discretization, division: Partition, sampled: RankFields,
        fine: Recorder | None = None,
    ) -> None:  # fmt: skip
        """Bind nothing yet: `load` sets the shots.

        Args:
            discretization: the run.
            division: of its grid.
            sampled: the fields that are read.
            fine: records the receivers of the finer grid above, or None.
        """
        self._discretization = discretization
        self._fine = fine
        self._backend = sampled.backend
        self._interpolation = discretization.interpolation
        self._reading = reading_of(discretization)
        self._division = division
        self._ranks = division.ranks
        self._subdomain_fields = sampled.fields
        self._groups = discretization.groups
        self._steps = discretization.total_steps
        self._shapes = {group.name: (len(group), self._steps) for group in self._groups}
        self._moves = any(group.motion is not None for group in self._groups)
        self._known: dict[tuple, dict[str, Points]] = {}
        self._rows: RecordRows | None = None

    def rows_of(self, shots: Sequence[Shot]) -> RecordRows | None:
        """Return the rows that read the receivers of shots; None if bound already.

        Any thread may call it. A batch has as many shots as the first: where there are fewer,
        the last is repeated.
        """
        if self._rows is not None and not self._moves:
            return None
        fields = {f.name: SparseRows() for f in self._interpolation.physics.fields}
        rows = RecordRows(fields, {}, {}, self._reading.beside(self._groups, shots), 0)
        known = dict[tuple, dict[str, Points]]()
        channel = 0
        # Channels in the order shot, group, component, receiver.
        for number in self._division.shots:
            shot = shots[min(number, len(shots) - 1)].name
            for group in self._groups:
                receivers = _receivers_on_rank(group, shot, self._discretization, self._division)
                rows.receivers[number, group.name] = receivers
                for base in self._reading.bases(group):
                    rows.index[number, group.name, base[1]] = slice(
                        channel, channel + receivers.size
                    )
                    for points in self._points(group, shot, receivers, base, known):
                        for name, field_points in points.items():
                            rows.fields[name].append(
                                channel, number - self._division.shots.start, field_points
                            )
                        channel += 1
        # Points of the batch before are kept where receivers move on to places of each other.
        self._known = known if self._moves and len(known) <= _MOST_KNOWN else {}
        return replace(rows, channels=channel)

    def _points(
        self, group: ReceiverGroup, shot: str, receivers: np.ndarray, base: tuple[str, str],
        known: dict[tuple, dict[str, Points]],
    ) -> Iterator[dict[str, Points]]:  # fmt: skip
        """Yield the points that read a component at each of these receivers, once for all shots.

        Args:
            group: the receivers.
            shot: name of the shot.
            receivers: numbers of receivers that are read.
            base: quantity and component.
            known: points that were computed for this batch, which is added to.
        """
        positions = group.at(shot)
        for n in receivers.tolist():
            key = (*base, *positions[n].tolist()) if group.fibre is None else (group.name, *base, n)
            if key not in known:
                known[key] = self._known.get(key) or self._reading.points(
                    group, n, positions[n], base
                )
            yield known[key]

    def load(self, rows: RecordRows) -> None:
        """Allocate and bind the record of other shots; collective over all ranks."""
        backend = self._backend
        division = self._division
        self._rows = replace(rows, fields={})  # points are bound below, and needed no more
        # What was bound is freed before as much is allocated anew.
        self._reads: list[_Reading] = []
        self._remotes: dict[str, RemotePoints] = {}
        self.record: Any = None
        # Receivers of all ranks, to put the record together.
        self._numbers = division.ranks.gather(rows.receivers)
        self.record = backend.array(np.zeros((self._steps, rows.channels), backend.precision))
        # Points that other ranks update are received in each step.
        self._remotes = {
            name: RemotePoints(
                backend, division.ranks, name, self._subdomain_fields, r.points,
                division.owners(*r.points[1:3]),
            )
            for name, r in rows.fields.items()
        }  # fmt: skip
        # The order of additions follows from the longest row, so that it must be that of all ranks.
        own_lengths = {name: r.longest for name, r in rows.fields.items()}
        lengths = division.ranks.allgather(own_lengths)
        longest = {name: max(length[name] for length in lengths) for name in own_lengths}
        self._reads = [
            _Reading(backend, name, r, self._subdomain_fields, self._remotes[name], longest[name])
            for name, r in rows.fields.items()
            if r
        ]

    def launches(self, parity: int) -> list[Launch]:
        """Return the launches that record the fields after a step, in order."""
        remotes = self._remotes.values()
        return [
            *(launch for remote in remotes for launch in remote.pack[parity]),
            *(launch for remote in remotes for launch in remote.start),
            *(launch for remote in remotes for launch in remote.finish),
            *(launch for r in self._reads for launch in r.launches(self.record, parity)),
        ]

    def state(self, step: int) -> CheckpointArray:
        """Return the record up to a step, for a checkpoint."""
        # Record (step, channel) by its global indices.
        strides = (self.record.shape[1], 1)
        rows = self._loaded
        blocks = [
            GlobalBlock(f"record.{shot}.{group}.{component}", channels.start, strides,
                  (index_range(0, step), index_ranges(rows.receivers[shot, group])))
            for (shot, group, component), channels in rows.index.items()
            if channels.stop > channels.start
        ]  # fmt: skip
        return CheckpointArray(self.record[:step], blocks)

    @property
    def _loaded(self) -> RecordRows:
        assert self._rows is not None  # `load` comes first
        return self._rows

    def raw(self, shot: int, group: str, component: str) -> np.ndarray | None:
        """Copy the record (receiver, step) of a base component; None but on the first rank.

        The shot is of the batch; ranks may have nothing of it. Receivers that do not record in it
        are NaN.
        """
        above = self._fine.raw(shot, group, component) if self._fine is not None else None
        gathered = self._gathered(shot, group, component)
        adds = self._reading.adds_further(group, component)
        further = self._gathered(shot, group, component + FURTHER) if adds else None
        if gathered is None:
            return None
        beside = self._loaded.indirect.get((shot, group))
        gathered = self._reading.converted(group, component, gathered, further, beside)
        return gathered if above is None else np.where(np.isnan(gathered), above, gathered)

    def _gathered(self, shot: int, group: str, component: str) -> np.ndarray | None:
        """Return the records of this grid's channels (receiver, step); None but on rank 0."""
        local_record = self.record[:, self._loaded.index.get((shot, group, component), slice(0))]
        records = self._ranks.gather_arrays(self._backend.fetch(local_record).T)
        if records is None or self._numbers is None:
            return None
        # Rank 0 puts the receivers of all ranks in their order.
        gathered = np.full(self._shapes[group], np.nan, local_record.dtype)
        for receivers, record in zip(self._numbers, records, strict=True):
            gathered[receivers.get((shot, group), np.zeros(0, int))] = record
        return gathered


def _receivers_on_rank(
    group: ReceiverGroup, shot: str, discretization: Discretization, division: Partition
) -> np.ndarray:
    """Number the receivers of a grid that record in a shot, whose nearest nodes this rank has."""
    # The owner of the nearest node has the receiver.
    positions = group.at(shot)
    y, z = (np.rint(discretization.grid.index(a, positions[:, AXES.index(a)])) for a in "yz")
    owned = division.owners(y, z) == division.ranks.number
    return np.flatnonzero(owned & group.recording(shot) & discretization.reads(positions))


class _Reading:
    """Read a field for all channels: the points of each subdomain, then their sums.

    Where rows have more than `PIECE` entries all are summed in pieces first, side by side.
    """

    def __init__(
        self, backend: Backend, name: str, rows: SparseRows, fields: list[Fields],
        remote: RemotePoints, longest: int,
    ) -> None:  # fmt: skip
        self._backend = backend
        put = backend.array
        points = rows.points
        weights = rows.weights.astype(backend.precision)
        starts = np.array(rows.starts, np.int64)
        indices = np.arange(len(weights))
        self._gathers: list[list[Launch]] = [[], []]
        # One subdomain: sum over the field itself; else gather the points first.
        if len(fields) == 1 and not remote.has_points:  # the sums read the field itself
            arrays = [fields[0].written(name, parity) for parity in (0, 1)]
            indices = flat(fields[0], points)
        else:
            arrays = [put(np.zeros(len(weights), backend.precision))] * 2
            gathers = [gathering(backend, name, source, points, arrays[0]) for source in fields]
            received = remote.unpack(arrays[0])
            self._gathers = [
                [*received, *(launch for source in gathers for launch in source[p])] for p in (0, 1)
            ]
        self._sums: list[tuple] = []
        self._shots = np.array(rows.owners)
        # Long sums in two passes: pieces of rows, then the pieces.
        if longest > PIECE:
            pieces, starts = _pieces(starts)
            self._piece_shots = np.repeat(self._shots, np.diff(starts))
            partial = put(np.zeros(len(pieces) - 1, backend.precision))
            arguments = (put(indices), put(pieces), put(weights), partial)
            self._sums = [(v, *arguments) for v in arrays]
            arrays = [partial] * 2
            indices = np.arange(partial.size)
            weights = np.ones(partial.size, backend.precision)
        # Channel = sum of weights times values, by compressed rows.
        channels = np.array(rows.channels, np.int64)
        arguments = (put(indices), put(starts), put(weights), put(channels))
        self._rows = [(v, *arguments) for v in arrays]

    def launches(self, traces, parity: int) -> list[Launch]:
        """Return the launches that add this field's terms to the record of a step."""
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


def traces_of(
    discretization: Discretization, recorder: Recorder, shot: int, shot_name: str, steps: int
) -> Iterator[tuple[str, str, Callable[[], np.ndarray]]]:
    """Yield set and component of each section of a shot, and a function that finishes its traces.

    All ranks have to ask for them; the first gets them: (receiver, time), of so many steps.

    Args:
        discretization: the run.
        recorder: that has recorded the steps.
        shot: its number in the batch.
        shot_name: its name.
        steps: of the traces.
    """
    for group in discretization.groups:
        for name, (quantity, base, component) in group.components(discretization.physics).items():
            raw = recorder.raw(shot, group.name, component)
            if raw is not None:
                how = processing_of(discretization, group, quantity, base, component)
                finish = partial(_processed, how, steps)
                made = partial(_with_dropped, finish, raw, group.recording(shot_name))
                yield group.name, name, made


def _with_dropped(
    finish: Callable[[np.ndarray], np.ndarray], raw: np.ndarray, recording: np.ndarray
) -> np.ndarray:
    """Finish the traces (receiver, time) of recording receivers; others are masked."""
    if recording.all():
        return finish(raw)
    finished = finish(raw[recording] if recording.any() else np.zeros_like(raw[:1]))
    traces = np.ma.masked_all((len(raw), finished.shape[1]), finished.dtype)
    traces[recording] = finished[: recording.sum()]
    return traces


def _processed(how: dict[str, Any], steps: int, raw: np.ndarray) -> np.ndarray:
    """Finish the traces (receiver, time) of a component, in blocks of receivers."""
    recorded = steps + trace_processing.extra_steps(steps, how["removal"])
    finish = partial(trace_processing.finish, steps=steps, **how)
    raw = raw[:, :recorded]
    return in_blocks(finish, raw, raw.shape[1])


def processing_of(
    discretization: Discretization,
    group: ReceiverGroup,
    quantity: str,
    base: str,
    component: str,
) -> dict[str, Any]:
    """Return the arguments of `trace_processing.finish` of a component, but the steps."""
    clock = discretization.clock
    terms = group.terms(discretization.physics, base, component)
    return {
        "quantity": quantity,
        "half_step": discretization.physics.named(terms[0].field).late,
        "dt": clock.dt,
        "every": clock.steps_between(group.interval),
        "removal": discretization.scenario.time.dispersion_removal,
    }


def in_blocks(
    process: Callable[[np.ndarray], np.ndarray], rows: np.ndarray, steps: int
) -> np.ndarray:
    """Process rows (receiver, ...) of so many recorded steps in blocks that bound the memory."""
    count = max(1, _BLOCK // steps)
    return np.concatenate([process(rows[k : k + count]) for k in range(0, len(rows), count)])
