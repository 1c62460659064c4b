"""Sources and receivers of a plane that lives in the memory of a cluster."""

from __future__ import annotations

from seismo.backends.gpu.cluster import Member
from seismo.backends.gpu.cluster_block import ClusterBlock
from seismo.backends.gpu.cluster_layout import quotient
from seismo.backends.traced import IRArray, IRValue, loop, repeat, when


class BlockPoints:
    """Inject into points of a block, and record them."""

    def __init__(self, block: ClusterBlock) -> None:
        self._block = block

    def sources_act(self, step: IRValue) -> IRValue:
        """Whether any source acts in a step."""
        acting = IRArray(self._block.arrays.acting)
        return (step >= acting[0]) & (acting[1] >= step)

    def inject(self, member: Member, step: IRValue) -> None:
        """Add what sources inject to the points of the block.

        The sum over the entries of a cell is that of `seismo.backends.kernels.points.amount`.
        """
        arrays = self._block.arrays
        plane = self._block.plane
        cells = plane.cells
        kept = member.kept
        field = self._block.field(member, step, written=True)
        with loop(member.thread.wide(), cells, self._block.shape.threads) as n:
            cell = member.shot * cells + n
            first, last = (IRArray(arrays.starts)[cell + k] for k in (0, 1))
            # Flat index in the shot's array -> row of the block, and x.
            first_cell = member.shot * plane.volume + plane.x_first.wide()
            at = (IRArray(arrays.cells)[cell] - first_cell).short()
            z = quotient(at, plane.stride_reciprocal)
            row = z - kept["first"]
            is_own = (first < last) & (row >= 0) & (row < kept["rows"])
            with when(is_own):
                total = self._term(first, step)
                (total,) = repeat(
                    first + 1, last, [total], lambda k, sums: [sums[0] + self._term(k, step)]
                )
                x = at - z * plane.stride.short() + plane.x_first
                index = self._block.lane_index(row + kept["above"], x)
                self._block.lanes.add(field, index, total)

    def _term(self, entry: IRValue, step: IRValue) -> IRValue:
        """Return weight times sample of an entry in a step."""
        arrays = self._block.arrays
        lanes = self._block.lanes
        samples = self._block.plane.samples
        signal = IRArray(arrays.signals)[entry]
        sample = (step - IRArray(arrays.begins)[signal]).clip(0, samples - 1)
        at = signal * samples + sample
        return lanes.number(arrays.weights, entry) * lanes.number(arrays.samples, at)

    def record(self, member: Member, step: IRValue) -> None:
        """Record the channels of the block as a step left them.

        Sums are those of `seismo.backends.kernels.points.sums` and `record`: pieces, then rows.
        """
        arrays = self._block.arrays
        lanes = self._block.lanes
        field = self._block.field(member, step, written=True)

        def entry(k: IRValue) -> IRValue:
            value = lanes.number(field, IRArray(arrays.entry_indices)[k])
            return lanes.number(arrays.gains, k) * value

        def piece(p: IRValue) -> IRValue:
            first, last = (IRArray(arrays.pieces)[p + k] for k in (0, 1))
            (total,) = repeat(first + 1, last, [entry(first)], lambda k, sums: [sums[0] + entry(k)])
            return total

        begin = member.kept["channel_begin"] + member.thread.wide()
        with loop(begin, member.kept["channel_end"], self._block.shape.threads) as n:
            first, last = (IRArray(arrays.pieces_of)[n + k] for k in (0, 1))
            (total,) = repeat(first + 1, last, [piece(first)], lambda p, sums: [sums[0] + piece(p)])
            column = IRArray(arrays.channels)[n]
            lanes.put_number(arrays.record, step * self._block.plane.channels + column, total)
