"""Tables of receivers and sources of planes in shared memory, on the host and on the card."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.backends.gpu.resident.block import RecordArrays, SourceArrays, SourceNumbers
from seismo.backends.gpu.resident.plane_steps import FieldRecord, PlaneSteps


@dataclass(frozen=True)
class RecordTables:
    """What a kernel needs to record.

    Attributes:
        channels_of: first channel of each block of each shot of each group, and behind the last.
        channels: columns in the record.
        entries_of: first entry of each channel, and behind the last.
        entry_indices: of the entries in shared memory.
        gains: weights of the entries.
        traces: the record, or None.
        width: channels of a step in it.
    """

    channels_of: np.ndarray
    channels: np.ndarray
    entries_of: np.ndarray
    entry_indices: np.ndarray
    gains: np.ndarray
    traces: Any
    width: int


@dataclass(frozen=True)
class ReceiverSamples:
    """What receivers sample, entry by entry.

    Attributes:
        columns: in the record, of each channel.
        shots: of each channel.
        entries_of: first entry of each channel, and behind the last.
        z: rows of the entries.
        x: of the entries, from the first number of a row.
        gains: weights of the entries.
        fields: of the entries.
    """

    columns: np.ndarray
    shots: np.ndarray
    entries_of: np.ndarray
    z: np.ndarray
    x: np.ndarray
    gains: np.ndarray
    fields: np.ndarray

    @property
    def owners(self) -> np.ndarray:
        """Return the channel of each entry."""
        return np.repeat(np.arange(len(self.columns)), np.diff(self.entries_of))

    @property
    def middles(self) -> tuple[np.ndarray, np.ndarray]:
        """Return row and x of the middle of each channel's entries."""
        firsts = self.entries_of[:-1]
        z, x = (
            (np.minimum.reduceat(n, firsts) + np.maximum.reduceat(n, firsts) + 1) // 2
            for n in (self.z, self.x)
        )
        return z, x

    def _ends(self, reach: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return for each channel the bounds of first rows of blocks that know all its entries.

        Args:
            reach: of each field, rows beside its own that a block knows.

        Returns:
            the largest first row of a block; the smallest last row.
        """
        # A block of rows a ... b - 1 knows rows a - reach ... b - 1 + reach of a field.
        beside = np.asarray(reach)[self.fields]
        latest = np.full(len(self.columns), np.iinfo(np.int64).max)
        earliest = np.full(len(self.columns), -1)
        np.minimum.at(latest, self.owners, self.z + beside)
        np.maximum.at(earliest, self.owners, self.z - beside)
        return latest, earliest

    def known_to(self, first: int, last: int, reach: Sequence[int]) -> np.ndarray:
        """Whether a block of rows first to last knows all entries of each channel."""
        latest, earliest = self._ends(reach)
        return (latest >= first) & (earliest < last)

    def uncut(self, count: int, reach: Sequence[int]) -> np.ndarray:
        """Whether each row must not be the first of a block: neither side would know a channel."""
        latest, earliest = self._ends(reach)
        # A row between the two: changes add up to how many channels forbid it.
        crossed = latest < earliest
        changes = np.zeros(count + 2, np.int64)
        np.add.at(changes, latest[crossed] + 1, 1)
        np.add.at(changes, earliest[crossed] + 1, -1)
        return np.cumsum(changes)[:count] > 0

    def in_rows(self, count: int) -> np.ndarray:
        """Return how many channels of a shot have their first entry in each of so many rows."""
        # Blocks of all shots are cut alike: the mean of the shots.
        shots = len(np.unique(self.shots))
        has_any = np.diff(self.entries_of) > 0
        rows = self.z[self.entries_of[:-1][has_any]]
        return np.bincount(rows, minlength=count) / max(shots, 1)


# The block of each channel and the index of each entry there; None where no block knows an entry.
Locate = Callable[[ReceiverSamples], tuple[np.ndarray, np.ndarray] | None]


def _rows_of(field_record: FieldRecord, fetch: Callable) -> tuple[np.ndarray, ...]:
    """Return the receivers of a field: columns, shots; channel, index, gain, field of entries."""
    _, *tables, _, _ = field_record.record.arguments
    indices, starts, gains, columns = map(fetch, tables)
    counts = np.diff(starts)
    if field_record.sums is not None:
        # Long rows are sums of sums: entries make pieces, and pieces rows.
        _, *tables, _ = field_record.sums.arguments
        indices, pieces, gains = map(fetch, tables)
        counts = np.diff(pieces[starts])
    # Entry by entry: which channel, where, with which weight, of which field.
    channels = np.repeat(columns, counts)
    fields = np.full(len(indices), field_record.field)
    return columns, np.asarray(field_record.record.shots), channels, indices, gains, fields


def samples_of(known: PlaneSteps, x_first: int, fetch: Callable) -> ReceiverSamples | None:
    """Return the receivers' samples; None where their shot is not known.

    Args:
        known: the steps.
        x_first: first number of the rows in the arrays.
        fetch: copies a table from the card.
    """
    if any(field_record.record.shots is None for field_record in known.records):
        return None
    rows = [_rows_of(record, fetch) for record in known.records]
    if not rows:
        no = np.zeros(0, np.int64)
        return ReceiverSamples(no, no, np.zeros(1, np.int64), no, no, no, no)
    columns, shots, channels, indices, gains, fields = map(np.concatenate, zip(*rows, strict=True))
    # Entries of a channel are contiguous, field by field.
    # A channel may have parts from several fields: they are summed together.
    columns, firsts = np.unique(columns, return_index=True)
    shots = shots[firsts]
    order = np.argsort(channels, kind="stable")
    entries_of = np.append(np.searchsorted(channels[order], columns), len(order))
    # Flat index in the shots' array -> row and x of the shot.
    indices = indices[order] - np.repeat(shots, np.diff(entries_of)) * known.volume - x_first
    z, x = np.divmod(indices, known.stride)
    return ReceiverSamples(columns, shots, entries_of, z, x, gains[order], fields[order])


def record_tables(
    known: PlaneSteps, samples: ReceiverSamples, groups: Sequence[int], blocks: int, locate: Locate
) -> RecordTables | None:
    """Return the tables of receivers; None where a channel has points that no block knows.

    Channels come in the order of groups, shots and blocks.

    Args:
        known: the steps.
        samples: of the receivers.
        groups: of each field, that of the channels that sample it.
        blocks: of a shot.
        locate: gives the block of each channel, and the indices of its entries there.
    """
    count = (max(groups) + 1) * known.shots * blocks
    if not len(samples.columns):
        no = np.zeros(1, np.int64)
        return RecordTables(np.zeros(count + 1, np.int64), no, no, no, np.zeros(1), None, 0)
    if (np.diff(samples.entries_of) == 0).any():
        return None
    # Fields of a channel are recorded at the same place of a step.
    group_of = np.asarray(groups)[samples.fields]
    group = group_of[samples.entries_of[:-1]]
    located = locate(samples)
    if located is None or (group_of != group[samples.owners]).any():
        return None
    rank, indices = located
    block = (group * known.shots + samples.shots) * blocks + rank
    order = np.argsort(block, kind="stable")
    counts = np.bincount(block, minlength=count)
    # Entries follow their channels.
    entry_order, entries_of = _gathered(order, samples.entries_of)
    traces = known.records[0].record.arguments[5]
    return RecordTables(
        np.concatenate([[0], np.cumsum(counts)]), samples.columns[order], entries_of,
        indices[entry_order], samples.gains[entry_order], traces, traces.shape[1],
    )  # fmt: skip


def _gathered(order: np.ndarray, firsts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the members of groups taken in another order, and the first of each group then."""
    counts = np.diff(firsts)[order]
    ends = np.concatenate([[0], np.cumsum(counts)])
    members = np.arange(ends[-1]) - np.repeat(ends[:-1] - firsts[:-1][order], counts)
    return members, ends


def source_tables(
    put: Callable[[np.ndarray], Any], known: PlaneSteps, field: int
) -> tuple[SourceArrays, SourceNumbers]:
    """Return the tables of a field's sources, and their numbers.

    Args:
        put: copies a table to the card.
        known: the steps.
        field: its number.
    """
    # The arrays are the solver's own: sources of other shots are loaded into them.
    amount = known.sources.get(field)
    if amount is None:
        # No source acts from step 1 to step 0.
        never = put(np.array([1, 0]))
        tables = (never,) * len(SourceArrays._fields)
        return SourceArrays(*tables), SourceNumbers(0, 0)
    arrays = SourceArrays(*amount.arguments[:7])
    return arrays, SourceNumbers(amount.count // known.shots, int(arrays.samples.shape[1]))


def receiver_tables(put: Callable[[np.ndarray], Any], record: RecordTables) -> RecordArrays:
    """Return the tables of receivers, copied to the card by a function."""
    channels_of = put(record.channels_of)
    return RecordArrays(
        channels_of=channels_of,
        channels=put(record.channels),
        entries_of=put(record.entries_of),
        entry_indices=put(record.entry_indices.astype(np.int32)),
        gains=put(record.gains),
        # Where no channel is recorded any array takes the place of the record.
        record=channels_of if record.traces is None else record.traces,
    )
