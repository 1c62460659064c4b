"""Copies of a plane between the card's memory and that of the blocks of a cluster."""

from __future__ import annotations

from llvmlite import ir

from seismo.backends.gpu.cluster import Member
from seismo.backends.gpu.cluster_block import ClusterBlock
from seismo.backends.gpu.cluster_layout import quotient
from seismo.backends.traced import IRValue, choose, loop, smaller, when


class BlockCopies:
    """Fill the memory of a block before the first step, and keep what it has after the last."""

    def __init__(self, block: ClusterBlock) -> None:
        self._block = block

    def clear(self, member: Member) -> None:
        """Fill the memory of the block with zeros: what lies around the grid stays so."""
        lanes = self._block.lanes
        zero = IRValue(member.thread.builder, ir.Constant(lanes.vector, None))
        end = self._block.plane.numbers // lanes.width
        with loop(member.thread, end, self._block.shape.threads) as n:
            lanes.store(member.memory, n * lanes.width, zero, None)

    def load(self, member: Member, step: IRValue) -> None:
        """Copy what the block has, and the rows around that it sees, from the card's memory."""
        plane = self._block.plane
        lanes = self._block.lanes
        kept = member.kept
        shot = member.shot * plane.volume
        for number, source in enumerate((self._block.arrays.even, self._block.arrays.odd)):
            target = self._block.shared(member, number * kept["size"])
            with self._block.each(member, kept["held"]) as (row, x):
                z = row + kept["first"] - kept["above"]
                with when((z >= plane.z_first) & (z < plane.z_end)):
                    lane = lanes.load(source, shot + z.wide() * plane.stride + x.wide())
                    lanes.store(target, self._block.lane_index(row, x), lane, None)
        # The model, without its part in layers along x, where it goes on as it is at their edge.
        width = plane.model_row.short() // lanes.width
        model = self._block.shared(member, kept["model"])
        with loop(member.thread, kept["model_rows"] * width, self._block.shape.threads) as n:
            row = quotient(n, plane.model_reciprocal)
            x = (n - row * width) * lanes.width
            z = row + kept["model_first"]
            index = z.wide() * plane.stride + (x + plane.model_first).wide()
            lane = lanes.load(self._block.arrays.model, index)
            lanes.store(model, row.wide() * plane.model_row + x.wide(), lane, None)
        self._copy_memory(member, step, inwards=True)

    def store(self, member: Member, step: IRValue) -> None:
        """Copy the rows of the block, and its layer memory, to the card's memory."""
        plane = self._block.plane
        lanes = self._block.lanes
        kept = member.kept
        shot = member.shot * plane.volume
        for number, target in enumerate((self._block.arrays.even, self._block.arrays.odd)):
            source = self._block.shared(member, number * kept["size"])
            with self._block.each(member, kept["rows"]) as (row, x):
                lane = lanes.load(source, self._block.lane_index(row + kept["above"], x))
                index = shot + (row + kept["first"]).wide() * plane.stride + x.wide()
                mask = self._block.mask(x, plane.x_first + plane.row)
                lanes.store(target, index, lane, mask)
        self._copy_memory(member, step, inwards=False)

    def _copy_memory(self, member: Member, step: IRValue, inwards: bool) -> None:
        """Copy outer variables and fluxes, as a step finds them, from or to the card's memory."""
        arrays = self._block.arrays
        lanes = self._block.lanes
        # Even and odd steps find the fluxes in different arrays; here they have one.
        flux = choose((step % 2).equals(0), arrays.even_flux, arrays.odd_flux)

        def copy(number: int, row: dict[str, IRValue], x: IRValue, z: IRValue) -> None:
            at = z.wide() * row["memory_z"] + x.wide() + row["memory"] + member.shot * row["shot"]
            memory = self._block.memory(number, member, row, x, z)
            for n, axis in enumerate(self._block.shape.kinds[number]):
                axis_memory = memory[axis]
                for k, array in enumerate((flux, arrays.outer)):
                    shared = (axis_memory["memory"], axis_memory["j"] + k * axis_memory["slot"])
                    device = (array, at + n * row["slot"])
                    source, target = (device, shared) if inwards else (shared, device)
                    lane = lanes.load(*source)
                    lanes.store(target[0], target[1], lane, self._block.mask(x, row["x_end"]))

        strips = self._block.shape.strips

        def copy_rows(number: int, row: dict[str, IRValue], x: IRValue, z: IRValue) -> None:
            with loop(z, smaller(z + strips[number], row["z_end"])) as each:
                copy(number, row, x, each)

        self._block.rounds(member, "flux", copy_rows)
