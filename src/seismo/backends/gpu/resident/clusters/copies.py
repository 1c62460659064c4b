"""Copies of a plane between the card's memory and that of blocks of a cluster, and among these."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from seismo.backends.gpu.resident.clusters.block import ClusterBlock
from seismo.backends.gpu.resident.clusters.cluster import Member
from seismo.backends.gpu.resident.clusters.layout import quotient
from seismo.backends.traced import (
    IRValue,
    choose,
    loop,
    smaller,
    when,
)


class BlockCopies:
    """Fill the memory of a block before the first step, and keep what it has after the last."""

    def __init__(self, block: ClusterBlock) -> None:
        self._block = block

    def clear(self, member: Member) -> None:
        """Fill the memory of the block with zeros."""
        block = self._block
        block.lanes.clear(member, block.plane.numbers, block.shape.threads)

    def load(self, member: Member, step: IRValue) -> None:
        """Copy what the block has, and the rows around that it sees, from the card's memory."""
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
        """Return the address of a field, of those written by turns that of even steps first."""
        return self._block.field(member, number, member.shot.constant(0))

    def _load_model(self, member: Member, number: int, coefficient: IRValue) -> None:
        """Copy a coefficient, without its part in layers: it goes on there as it is at their edge.

        Args:
            member: the thread.
            number: of the coefficient among those in shared memory.
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

    def hand_over(
        self, member: Member, step: IRValue, send: Callable, fields: Sequence[int]
    ) -> None:  # fmt: skip
        """Hand first rows of some fields to the block before, and last ones to that behind."""
        plane = self._block.plane
        halo = self._block.shape.halo
        kept = member.kept
        # First own rows to the block before, last own rows to the one behind.
        sides = (
            (-1, member.rank > 0, kept["above"], "up"),
            (1, member.rank < plane.blocks - 1, kept["above"] + kept["rows"] - halo, "down"),
        )
        rows = plane.row.constant(halo)
        for by, has_neighbour, first, name in sides:
            with when(has_neighbour), self._block.each(member, rows) as (row, x):
                index = self._block.lane_index(row + first, x)
                # `st.async` counts the bytes of all fields at the receiver.
                for field in fields:
                    start = self._block.field_start(field, step, kept[f"{name}_size"])
                    target = start + index.short() + kept[name]
                    lane = self._block.lanes.load(self._block.field(member, field, step), index)
                    send(by, self._block.shared(member, target), lane)

    def _copy_memory(self, member: Member, step: IRValue, inwards: bool) -> None:
        """Copy outer variables and fluxes, as a step finds them, from or to the card's memory."""
        arrays = self._block.arrays
        lanes = self._block.lanes
        # Even and odd steps find the fluxes in different arrays; here they have one.
        outer, even_flux, odd_flux = arrays.memory
        flux = choose((step % 2).equals(0), even_flux, odd_flux)

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
