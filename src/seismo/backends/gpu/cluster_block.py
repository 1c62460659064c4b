"""What a thread sees of its block of a cluster: addresses, places, and its share of the work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from seismo.backends.gpu.cluster import ClusterLanes, Member
from seismo.backends.gpu.cluster_layout import (
    RANK_COLUMNS,
    ROUND_COLUMNS,
    SHORT_COLUMNS,
    WARP,
    X_BITS,
    ClusterShape,
    PlaneNumbers,
    quotient,
)
from seismo.backends.traced import I32, IRArray, IRValue, loop, when


class Arrays(NamedTuple):
    """Addresses of what a kernel works with; tables of integers unless said otherwise.

    Attributes:
        even: the field that even steps write.
        odd: that which odd steps write.
        model: the coefficient.
        outer: memory of the outer derivatives.
        even_flux: of the fluxes, as even steps find them.
        odd_flux: as odd steps find them.
        x_table: profiles along x.
        z_table: profiles along z.
        ranks: `RANK_COLUMNS` of each block.
        flux_rounds: first round of the fluxes of each warp of each block, and behind the last.
        rounds_of: the same of updates.
        rounds: `ROUND_COLUMNS` of what a warp does together.
        points: of the threads of a round; -1 for none.
        cells: of the sources (`seismo.backends.kernels.points.amount`), with what follows.
        starts: first entries of the cells.
        weights: of the entries, numbers.
        signals: of the entries.
        begins: first steps of the signals.
        samples: of the signals, numbers.
        acting: first and last step of all signals.
        channels_of: first channel of each block of each shot, and behind the last.
        channels: their columns in the record.
        pieces_of: first piece of each channel, and behind the last.
        pieces: first entry of each piece, and behind the last.
        entry_indices: of the entries in shared memory.
        gains: weights of the entries, numbers.
        record: samples (step, channel), numbers.
    """

    even: IRValue
    odd: IRValue
    model: IRValue
    outer: IRValue
    even_flux: IRValue
    odd_flux: IRValue
    x_table: IRValue
    z_table: IRValue
    ranks: IRValue
    flux_rounds: IRValue
    rounds_of: IRValue
    rounds: IRValue
    points: IRValue
    cells: IRValue
    starts: IRValue
    weights: IRValue
    signals: IRValue
    begins: IRValue
    samples: IRValue
    acting: IRValue
    channels_of: IRValue
    channels: IRValue
    pieces_of: IRValue
    pieces: IRValue
    entry_indices: IRValue
    gains: IRValue
    record: IRValue


class ClusterBlock:
    """A block's rows, as one of its threads works with them.

    Attributes:
        lanes: of the precision.
        arrays: what the kernel works with.
        plane: numbers of the plane and its layout.
        shape: what is built in of it.
        lane_count: lanes of a row.
    """

    def __init__(
        self, lanes: ClusterLanes, arrays: Arrays, plane: PlaneNumbers, shape: ClusterShape
    ) -> None:
        self.lanes = lanes
        self.arrays = arrays
        self.plane = plane
        self.shape = shape
        self.lane_count = plane.row // lanes.width

    def find(self, member: Member) -> dict[str, IRValue]:
        """Return what a thread keeps: the columns of its block, and its warp's rounds."""
        arrays = self.arrays
        start = member.rank * len(RANK_COLUMNS)
        columns = {
            name: IRArray(arrays.ranks)[start + n].short() for n, name in enumerate(RANK_COLUMNS)
        }
        warp = member.rank * (self.shape.threads // WARP) + member.thread // WARP
        for name, table in (("flux", arrays.flux_rounds), ("update", arrays.rounds_of)):
            columns[f"{name}_begin"] = IRArray(table)[warp].short()
            columns[f"{name}_end"] = IRArray(table)[warp + 1].short()
        block = member.shot * self.plane.blocks.wide() + member.rank.wide()
        columns["channel_begin"] = IRArray(arrays.channels_of)[block]
        columns["channel_end"] = IRArray(arrays.channels_of)[block + 1]
        return columns

    def shared(self, member: Member, start: IRValue) -> IRValue:
        """Return the address of number `start` of the block's memory."""
        return member.memory + start.wide() * self.lanes.size

    def field(self, member: Member, step: IRValue, written: bool) -> IRValue:
        """Return the address of the field that a step writes, or of that which it reads."""
        odd = (step % 2).short()
        return self.shared(member, (odd if written else 1 - odd) * member.kept["size"])

    @contextmanager
    def each(self, member: Member, rows: IRValue) -> Iterator[tuple[IRValue, IRValue]]:
        """Loop over the lanes of some rows: give row and x by turns to the block's threads."""
        with loop(member.thread, rows * self.lane_count, self.shape.threads) as n:
            row = quotient(n, self.plane.lane_reciprocal)
            yield row, (n - row * self.lane_count) * self.lanes.width + self.plane.x_first

    def lane_index(self, row: IRValue, x: IRValue) -> IRValue:
        """Return the index of a lane in a field of the block, of one of the rows that it keeps."""
        # Number of the row, and along it, behind the zeros of the margin.
        along = (x - self.plane.x_first).wide() + self.shape.margin
        return row.wide() * self.plane.pitch + along

    def mask(self, x: IRValue, end: IRValue) -> IRValue | None:
        """Return the numbers of a lane before the end of its row; None where all lanes are full."""
        return end - x if self.shape.masked else None

    def rounds(self, member: Member, name: str, work: Callable) -> None:
        """Do some work (kind, row, x, z) for each of the thread's points in its warp's rounds."""
        columns = IRArray(self.arrays.rounds)
        with loop(member.kept[f"{name}_begin"], member.kept[f"{name}_end"]) as n:
            start = n * len(ROUND_COLUMNS)
            row = {column: columns[start + k] for k, column in enumerate(ROUND_COLUMNS)}
            row = {
                column: number.short() if column in SHORT_COLUMNS else number
                for column, number in row.items()
            }
            point = IRArray(self.arrays.points, I32)[n * WARP + member.thread % WARP]
            x = point % X_BITS
            z = point // X_BITS
            for number, stretched in enumerate(self.shape.kinds):
                if stretched or name == "update":
                    with when((point >= 0) & row["kind"].equals(number)):
                        work(number, row, x, z)

    def start(self, member: Member, x: IRValue, z: IRValue) -> IRValue:
        """Return the same of a row z of the plane."""
        return self.lane_index(z - member.kept["first"] + member.kept["above"], x)

    def memory(self, number: int, member: Member, row: dict[str, IRValue], x: IRValue,
                z: IRValue) -> dict[str, dict[str, Any]]:  # fmt: skip
        """Return where the layer memory along each stretched axis is."""
        # Rows of memory along x, columns of lanes of that along z.
        x = x.wide()
        z = z.wide()
        width = self.lanes.width
        indices = {"x": z * self.plane.x_pitch + x, "z": x * self.plane.z_pitch + z * width}
        strides = {"x": self.plane.x_pitch, "z": width}
        return {
            axis: {
                "memory": self.shared(member, member.kept[f"{axis}_memory"]),
                "flux": None,
                "j": indices[axis] + row[f"{axis}_memory"],
                "memory_z": strides[axis],
                "slot": row[f"{axis}_slot"],
            }
            for axis in self.shape.kinds[number]
        }
