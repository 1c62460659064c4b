"""Blocks of a cluster as a thread works with them: addresses, places, rounds, and copies.

Copies go between the card's memory and that of blocks of a cluster, and among these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from seismo.backends.gpu.resident.block import Arrays, ResidentBlock, context_of, march, quotient
from seismo.backends.gpu.resident.cluster_layout import (
    RANK_COLUMNS,
    ROUND_COLUMNS,
    SHORT_COLUMNS,
    X_BITS,
    ClusterShape,
    PlaneNumbers,
)
from seismo.backends.gpu.resident.threads import Member, SharedLanes
from seismo.backends.gpu.sweeps.lanes import Column
from seismo.backends.gpu.sweeps.layouts import WARP
from seismo.backends.operators.derivatives import KernelContext
from seismo.backends.traced import (
    I32,
    IRArray,
    IRValue,
    loop,
    smaller,
    when,
)


class ClusterBlock(ResidentBlock):
    """A block's rows, as one of its threads works with them.

    Attributes:
        lane_count: lanes of a row.
    """

    plane: PlaneNumbers
    shape: ClusterShape

    def __init__(
        self, lanes: SharedLanes, arrays: Arrays, plane: PlaneNumbers, shape: ClusterShape
    ) -> None:
        super().__init__(lanes, arrays, plane, shape)
        # First round of each warp in each pass; all rounds; points of their threads.
        *self._rounds_of, self._rounds, self._points = arrays.work
        self.lane_count = plane.row // lanes.width

    def find(self, member: Member) -> dict[str, IRValue]:
        """Return a thread's constants: the columns of its block, and its warp's rounds."""
        arrays = self.arrays
        # Columns of the block, from the host's table.
        start = member.rank * len(RANK_COLUMNS)
        columns = {
            name: IRArray(arrays.blocks)[start + n].short() for n, name in enumerate(RANK_COLUMNS)
        }
        warp = member.rank * (self.shape.threads // WARP) + member.thread // WARP
        for n, table in enumerate(self._rounds_of):
            columns[f"begin_{n}"] = IRArray(table)[warp].short()
            columns[f"end_{n}"] = IRArray(table)[warp + 1].short()
        block = member.shot * self.plane.blocks.wide() + member.rank.wide()
        # Channels of each group that the block records.
        channels_of = IRArray(arrays.receivers.channels_of)
        for n in range(self.shape.groups):
            first = block + self.plane.group_blocks * n if n else block
            columns[f"channel_begin_{n}"] = channels_of[first]
            columns[f"channel_end_{n}"] = channels_of[first + 1]
        return columns

    def shared(self, member: Member, start: IRValue) -> IRValue:
        """Return the address of number `start` of the block's memory."""
        # A field without rows of neighbours may begin before all memory (`ClusterShape.rows_less`).
        at = start.wide() if self.shape.alternating else start.signed_wide()
        return member.memory + at * self.lanes.size

    def number(self, field: int, step: IRValue) -> IRValue:
        """Return a field's place in shared memory; if they alternate, 0 is the one written."""
        if not self.shape.alternating:
            return step.short().constant(field)
        # Two fields by turns: even steps write the first.
        odd = (step % 2).short()
        return 1 - odd if field else odd

    def field_start(self, field: int, step: IRValue, size: IRValue) -> IRValue:
        """Return the number that a field begins at in a block with fields of `size`."""
        # Fields are contiguous; without rows of neighbours they are shorter by these.
        start = self.number(field, step) * size
        less = self.shape.rows_less(field)
        return start - self.plane.pitch.short() * less if less else start

    def field(self, member: Member, field: int, step: IRValue) -> IRValue:
        """Return the address of a field; by turns, 0 is that written in a step, 1 that read."""
        return self.shared(member, self.field_start(field, step, member.kept["size"]))

    def kept_model(self, member: Member, number: int) -> IRValue:
        """Return the address of a coefficient in shared memory."""
        start = member.kept["model"]
        return self.shared(member, start + member.kept["model_size"] * number if number else start)

    @contextmanager
    def each(self, member: Member, rows: IRValue) -> Iterator[tuple[IRValue, IRValue]]:
        """Loop over the lanes of rows, dealing (row, x) round robin to the block's threads."""
        with loop(member.thread, rows * self.lane_count, self.shape.threads) as n:
            row = quotient(n, self.plane.lane_reciprocal)
            yield row, (n - row * self.lane_count) * self.lanes.width + self.plane.x_first

    def lane_index(self, row: IRValue, x: IRValue) -> IRValue:
        """Return the index of a lane in a field of the block, of a row that it keeps."""
        # Number of the row, and along it, behind the zeros of the margin.
        along = (x - self.plane.x_first).wide() + self.shape.margin
        return row.wide() * self.plane.pitch + along

    def mask(self, x: IRValue, end: IRValue) -> IRValue | None:
        """Return the numbers of a lane before the end of its row; None where all lanes are full."""
        return end - x if self.shape.masked else None

    def rounds(self, member: Member, number: int, work: Callable) -> None:
        """Do work (kind, row, x, z) for the points of a thread in its warp's rounds of a pass.

        Args:
            member: the thread.
            number: of the pass.
            work: function(number of the kind, columns of the round, x, z).
        """
        columns = IRArray(self._rounds)
        with loop(member.kept[f"begin_{number}"], member.kept[f"end_{number}"]) as n:
            start = n * len(ROUND_COLUMNS)
            row = {column: columns[start + k] for k, column in enumerate(ROUND_COLUMNS)}
            row = {
                column: number.short() if column in SHORT_COLUMNS else number
                for column, number in row.items()
            }
            # Each thread's first point, x and z packed; less than 0 where it has none.
            point = IRArray(self._points, I32)[n * WARP + member.thread % WARP]
            x = point % X_BITS
            z = point // X_BITS
            row["z_end"] = smaller(row["z_end"], z + row["height"])
            # A warp's points are of one kind: a single branch is taken.
            for kind in self.shape.passes[number].kinds:
                with when((point >= 0) & row["kind"].equals(kind)):
                    work(kind, row, x, z)

    def owns(self, member: Member, x: IRValue, z: IRValue) -> IRValue:
        """Whether a point of the plane is in the block's own rows."""
        # A block has all columns of its rows.
        row = z - member.kept["first"]
        return (row >= 0) & (row < member.kept["rows"])

    def start(self, member: Member, x: IRValue, z: IRValue) -> IRValue:
        """Return the same of a row z of the plane."""
        return self.lane_index(z - member.kept["first"] + member.kept["above"], x)

    def inner_node(
        self, number: int, x: IRValue, z: IRValue
    ) -> tuple[IRValue, IRValue]:  # fmt: skip
        """Return x and z of the node whose medium a point of a kind has."""
        # The medium of a layer goes on as it is at its inner edge.
        plane = self.plane
        stretched = self.shape.kinds[number].stretched
        return (
            x.clip(plane.inner_x, plane.inner_x_last) if "x" in stretched else x,
            z.clip(plane.inner_z, plane.inner_z_last) if "z" in stretched else z,
        )

    def kept_node(self, member: Member, inner_x: IRValue, inner_z: IRValue) -> IRValue:
        """Return the index of a node in shared memory's shorter rows of the model."""
        row = (inner_z - member.kept["model_first"]).wide() * self.plane.model_row
        return row + (inner_x - self.plane.model_first).wide()

    def context(
        self, coefficients: dict[str, list], number: int, x: IRValue, z: IRValue, profile: int = 6,
        **of_lane: Any,
    ) -> KernelContext:  # fmt: skip
        """Return the operators' context of a lane.

        Args:
            coefficients: as in `KernelContext`.
            number: of the kind of the points.
            x: of the lane.
            z: of the lane.
            profile: numbers of a row of the profile along z.
            of_lane: its mask, medium and layer memory.
        """
        return context_of(
            coefficients,
            self.plane.pitch,
            x=x.wide(),
            x_table=self.arrays.x_table,
            x_length=self.plane.x_length,
            z_row=self.z_profile(z, profile) if "z" in self.shape.kinds[number].stretched else None,
            **of_lane,
        )

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
            for axis in self.shape.kinds[number].stretched
        }

    def march(
        self, number: int, row: dict[str, IRValue], z: IRValue, start: IRValue, field: IRValue,
        work: Callable[[int, IRValue, Column], None],
    ) -> None:  # fmt: skip
        """Do work (row, index, column of the field) in consecutive rows.

        Args:
            number: of the kind of the points.
            row: columns of the round.
            z: first row.
            start: index of the thread's lane in it.
            field: its address.
            work: of each row.
        """
        pitch = self.plane.pitch
        half = self.shape.half

        def read(n: int) -> IRValue:
            # The address of a row's last neighbour comes from that of the row.
            beside = half if n >= half else 0
            return self.lanes.read(field, start + (n - beside) * pitch + beside * pitch)

        march(
            self.shape.strips[number],
            half,
            read,
            lambda n: z + n < row["z_end"],
            lambda n, lanes: work(n, start + n * pitch, Column(field, lanes)),
        )

    def z_profile(self, z: IRValue, count: int = 6) -> list[IRValue]:
        """Read the beginning of a row's profile: b, a, 1/kappa at nodes and half points, m."""
        row = z.wide() * self.shape.profile
        return self.lanes.numbers(self.arrays.z_table, row, count)

    def hand_over(
        self, member: Member, step: IRValue, send: Callable, fields: Sequence[int]
    ) -> None:  # fmt: skip
        """Send first rows of fields to the previous block, and last rows to the next block."""
        plane = self.plane
        halo = self.shape.halo
        kept = member.kept
        # First own rows to the previous block, last own rows to the next.
        sides = (
            (-1, member.rank > 0, kept["above"], "up"),
            (1, member.rank < plane.blocks - 1, kept["above"] + kept["rows"] - halo, "down"),
        )
        rows = plane.row.constant(halo)
        for by, has_neighbour, first, name in sides:
            with when(has_neighbour), self.each(member, rows) as (row, x):
                index = self.lane_index(row + first, x)
                # `st.async` counts the bytes of all fields at the receiver.
                for field in fields:
                    start = self.field_start(field, step, kept[f"{name}_size"])
                    target = start + index.short() + kept[name]
                    lane = self.lanes.load(self.field(member, field, step), index)
                    send(by, self.shared(member, target), lane)


class BlockCopies:
    """Fill the memory of a block before the first step, and store it after the last."""

    def __init__(self, block: ClusterBlock) -> None:
        self._block = block

    def load(self, member: Member, step: IRValue) -> None:
        """Copy the block's rows, and the rows around that it sees, from the card's memory."""
        plane = self._block.plane
        lanes = self._block.lanes
        kept = member.kept
        shot = member.shot * plane.volume
        shape = self._block.shape
        for number, source in enumerate(self._block.arrays.fields):
            target = self._physical(member, number)
            # Rows of neighbours, too, where the block has them.
            has_all = shape.alternating or number in shape.sent
            rows = kept["held"] if has_all else kept["rows"]
            before = 0 if has_all else kept["above"]
            with self._block.each(member, rows) as (first, x):
                row = first + before
                z = row + kept["first"] - kept["above"]
                with when((z >= plane.z_first) & (z < plane.z_end)):
                    lane = lanes.load(source, shot + z.wide() * plane.stride + x.wide())
                    lanes.store(target, self._block.lane_index(row, x), lane, None)
        # The model comes once, and stays.
        for number, coefficient in enumerate(self._block.shape.kept):
            self._load_model(member, number, self._block.arrays.coefficients[coefficient])
        if self._block.shape.alternating:
            self._copy_memory(member, step, inwards=True)

    def _physical(self, member: Member, number: int) -> IRValue:
        """Return the address of a field, of alternating fields that of even steps first."""
        return self._block.field(member, number, member.shot.constant(0))

    def _load_model(self, member: Member, number: int, coefficient: IRValue) -> None:
        """Copy a coefficient, without its part in layers: it goes on there as it is at their edge.

        Args:
            member: the thread.
            number: of the coefficient in shared memory.
            coefficient: its address in the card's.
        """
        plane = self._block.plane
        lanes = self._block.lanes
        kept = member.kept
        width = plane.model_row.short() // lanes.width
        model = self._block.kept_model(member, number)
        with loop(member.thread, kept["model_rows"] * width, self._block.shape.threads) as n:
            row = quotient(n, plane.model_reciprocal)
            x = (n - row * width) * lanes.width
            z = row + kept["model_first"]
            index = z.wide() * plane.stride + (x + plane.model_first).wide()
            lane = lanes.load(coefficient, index)
            lanes.store(model, row.wide() * plane.model_row + x.wide(), lane, None)

    def store(self, member: Member, step: IRValue) -> None:
        """Copy the rows of the block, and its layer memory, to the card's memory."""
        plane = self._block.plane
        lanes = self._block.lanes
        kept = member.kept
        shot = member.shot * plane.volume
        for number, target in enumerate(self._block.arrays.fields):
            source = self._physical(member, number)
            with self._block.each(member, kept["rows"]) as (row, x):
                lane = lanes.load(source, self._block.lane_index(row + kept["above"], x))
                index = shot + (row + kept["first"]).wide() * plane.stride + x.wide()
                mask = self._block.mask(x, plane.x_first + plane.row)
                lanes.store(target, index, lane, mask)
        if self._block.shape.alternating:
            self._copy_memory(member, step, inwards=False)

    def _copy_memory(self, member: Member, step: IRValue, inwards: bool) -> None:
        """Copy outer variables and fluxes, as a step finds them, from or to the card's memory."""
        outer = self._block.arrays.memory[0]
        lanes = self._block.lanes
        flux = self._block.fluxes(step)

        def copy(number: int, row: dict[str, IRValue], x: IRValue, z: IRValue) -> None:
            at = z.wide() * row["memory_z"] + x.wide() + row["memory"] + member.shot * row["shot"]
            memory = self._block.memory(number, member, row, x, z)
            for n, axis in enumerate(self._block.shape.kinds[number].stretched):
                axis_memory = memory[axis]
                for k, array in enumerate((flux, outer)):
                    shared = (axis_memory["memory"], axis_memory["j"] + k * axis_memory["slot"])
                    device = (array, at + n * row["slot"])
                    source, target = (device, shared) if inwards else (shared, device)
                    lane = lanes.load(*source)
                    lanes.store(target[0], target[1], lane, self._block.mask(x, row["x_end"]))

        strips = self._block.shape.strips

        def copy_rows(number: int, row: dict[str, IRValue], x: IRValue, z: IRValue) -> None:
            with loop(z, smaller(z + strips[number], row["z_end"])) as each:
                copy(number, row, x, each)

        self._block.rounds(member, 0, copy_rows)
