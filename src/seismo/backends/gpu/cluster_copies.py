"""Copies of a plane between the card's memory and that of the blocks of a cluster."""

from __future__ import annotations

from llvmlite import ir

from seismo.backends.gpu.cluster import Member
from seismo.backends.gpu.cluster_block import ClusterBlock
from seismo.backends.traced import IRValue, choose, loop, smaller, when


class BlockCopies:
    """Fill the memory of a block before the first step, and keep what it has after the last."""

    def __init__(self, block: ClusterBlock) -> None:
        self._block = block

    def clear(self, member: Member) -> None:
        """Fill the memory of the block with zeros: what lies around the grid stays so."""
        lanes = self._block.lanes
        zero = IRValue(member.thread.builder, ir.Constant(lanes.vector, None))
        end = self._block.count(self._block.layout.numbers // lanes.width)
        with loop(member.thread, end, self._block.layout.threads) as n:
            lanes.store(member.memory, n * lanes.width, zero, None)

    def load(self, member: Member, step: IRValue) -> None:
        """Copy what the block has, and the rows around that it sees, from the card's memory."""
        layout = self._block.layout
        lanes = self._block.lanes
        kept = member.kept
        shot = member.shot * layout.volume
        z0, z1 = layout.z
        for number, source in enumerate((self._block.arrays.even, self._block.arrays.odd)):
            target = self._block.shared(member, number * kept["size"])
            with self._block.each(member, kept["held"]) as n:
                row = n // self._block.lane_count
                x = n % self._block.lane_count * lanes.width + layout.x[0]
                z = row + kept["first"] - kept["above"]
                with when((z >= z0) & (z < z1)):
                    lane = lanes.load(source, shot + z * self._block.stride + x)
                    lanes.store(target, self._block.lane_index(row, x), lane, None)
        # The model, without its part in layers along x, where it goes on as it is at their edge.
        first, last = layout.model
        width = (last - first) // lanes.width
        model = self._block.shared(member, kept["model"])
        with loop(member.thread, kept["model_rows"] * width, layout.threads) as n:
            row = n // width
            x = n % width * lanes.width
            z = row + kept["model_first"]
            lane = lanes.load(self._block.arrays.model, z * self._block.stride + x + first)
            lanes.store(model, row * (last - first) + x, lane, None)
        self._copy_memory(member, step, inwards=True)

    def store(self, member: Member, step: IRValue) -> None:
        """Copy the rows of the block, and its layer memory, to the card's memory."""
        layout = self._block.layout
        lanes = self._block.lanes
        kept = member.kept
        for number, target in enumerate((self._block.arrays.even, self._block.arrays.odd)):
            source = self._block.shared(member, number * kept["size"])
            with self._block.each(member, kept["rows"]) as n:
                row = n // self._block.lane_count
                x = n % self._block.lane_count * lanes.width + layout.x[0]
                lane = lanes.load(source, self._block.lane_index(row + kept["above"], x))
                index = member.shot * layout.volume + (row + kept["first"]) * self._block.stride + x
                lanes.store(target, index, lane, self._block.mask(x, layout.x[1]))
        self._copy_memory(member, step, inwards=False)

    def _copy_memory(self, member: Member, step: IRValue, inwards: bool) -> None:
        """Copy outer variables and fluxes, as a step finds them, from or to the card's memory."""
        arrays = self._block.arrays
        lanes = self._block.lanes
        # Even and odd steps find the fluxes in different arrays; here they have one.
        flux = choose((step % 2).equals(0), arrays.even_flux, arrays.odd_flux)

        def copy(number: int, row: dict[str, IRValue], x: IRValue, z: IRValue) -> None:
            at = z * row["memory_z"] + x + row["memory"] + member.shot * row["shot"]
            memory = self._block.memory(number, member, row, x, z)
            for n, axis in enumerate(self._block.kinds[number]):
                axis_memory = memory[axis]
                for k, array in enumerate((flux, arrays.outer)):
                    shared = (axis_memory["memory"], axis_memory["j"] + k * axis_memory["slot"])
                    device = (array, at + n * row["slot"])
                    source, target = (device, shared) if inwards else (shared, device)
                    lane = lanes.load(*source)
                    lanes.store(target[0], target[1], lane, self._block.mask(x, row["x_end"]))

        def copy_rows(number: int, row: dict[str, IRValue], x: IRValue, z: IRValue) -> None:
            with loop(z, smaller(z + self._block.layout.strips[number], row["z_end"])) as each:
                copy(number, row, x, each)

        self._block.rounds(member, "flux", copy_rows)
