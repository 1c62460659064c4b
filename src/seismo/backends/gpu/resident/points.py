"""Sources and receivers of a plane that lives in shared memory, of clusters or of tiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from llvmlite import ir

from seismo.backends.gpu.resident.clusters.block import ClusterBlock, SourceArrays
from seismo.backends.gpu.resident.clusters.cluster import Member
from seismo.backends.gpu.resident.clusters.layout import SourceNumbers, quotient
from seismo.backends.gpu.resident.tiles.block import TileBlock
from seismo.backends.traced import (
    I32,
    IRArray,
    IRValue,
    choose,
    loop,
    repeat,
    smaller,
    when,
)

TOGETHER = 8  # entries of a receiver that are read at once


class BlockPoints:
    """Inject into points of a block, and record them."""

    def __init__(
        self, block: ClusterBlock | TileBlock, sources: Iterable[tuple[SourceArrays, SourceNumbers]]
    ) -> None:
        """Bind to a block.

        Args:
            block: the block.
            sources: addresses and numbers of those of each field that is injected to.
        """
        self._block = block
        self._sources = dict(zip(block.shape.injected, sources, strict=True))

    def sources_act(self, fields: Sequence[int], step: IRValue) -> IRValue:
        """Whether any source of some fields acts in a step."""
        # Sources of each field have a window of steps of their own.
        acts = []
        for field in fields:
            arrays, _ = self._sources[field]
            acting = IRArray(arrays.acting)
            acts.append((step >= acting[0]) & (acting[1] >= step))
        return reduce(or_, acts)

    def inject(self, fields: Sequence[int], member: Member, step: IRValue) -> None:
        """Add what sources inject into some fields to the points of the block."""
        for field in fields:
            self._inject(field, member, step)

    def _inject(self, target: int, member: Member, step: IRValue) -> None:
        """Add what sources inject into a field to the points of the block.

        The sum over the entries of a cell is that of `seismo.backends.kernels.points.amount`.
        """
        arrays, numbers = self._sources[target]
        plane = self._block.plane
        cells = numbers.cells
        field = self._block.field(member, target, step)
        with loop(member.thread.wide(), cells, self._block.shape.threads) as n:
            cell = member.shot * cells + n
            first, last = (IRArray(arrays.starts)[cell + k] for k in (0, 1))
            # Flat index in the shot's array -> z and x.
            first_cell = member.shot * plane.volume + plane.x_first.wide()
            at = (IRArray(arrays.cells)[cell] - first_cell).short()
            z = quotient(at, plane.stride_reciprocal)
            x = at - z * plane.stride.short() + plane.x_first
            with when((first < last) & self._block.owns(member, x, z)):
                total = self._term(target, first, step)
                (total,) = repeat(
                    first + 1, last, [total],
                    lambda k, sums: [sums[0] + self._term(target, k, step)],
                )  # fmt: skip
                self._block.lanes.add(field, self._block.start(member, x, z), total)

    def _term(self, target: int, entry: IRValue, step: IRValue) -> IRValue:
        """Return weight times sample of an entry in a step."""
        arrays, numbers = self._sources[target]
        lanes = self._block.lanes
        samples = numbers.samples
        signal = IRArray(arrays.signals)[entry]
        sample = (step - IRArray(arrays.begins)[signal]).clip(0, samples - 1)
        at = signal * samples + sample
        return lanes.number(arrays.weights, entry) * lanes.number(arrays.samples, at)

    def record(self, member: Member, step: IRValue, group: int) -> None:
        """Record a group of channels of the block as a step left them.

        Sums are those of `seismo.backends.kernels.points.record`, entry by entry.
        """
        arrays = self._block.arrays.receivers
        lanes = self._block.lanes
        # Entries count from the beginning of the field that was written, or of all fields.
        is_written = self._block.shape.alternating
        fields = self._block.field(member, 0, step) if is_written else member.memory

        zero = fields.then(ir.Constant(lanes.kind, 0.0))

        def together(first: IRValue, last: IRValue, total: IRValue) -> IRValue:
            # Several entries are read at once, and added one after the other.
            entries = [smaller(first + n, last - 1).wide() for n in range(TOGETHER)]
            indices = [IRArray(arrays.entry_indices, I32)[k].wide() for k in entries]
            gains = [lanes.number(arrays.gains, k) for k in entries]
            # Entries behind the last have no weight.
            for n, (index, gain) in enumerate(zip(indices, gains, strict=True)):
                weight = choose(first + n < last, gain, zero) if n else gain
                total = total + weight * lanes.number(fields, index)
            return total

        begin = member.kept[f"channel_begin_{group}"] + member.thread.wide()
        end = member.kept[f"channel_end_{group}"]
        with loop(begin, end, self._block.shape.threads) as n:
            first, last = (IRArray(arrays.entries_of)[n + k].short() for k in (0, 1))
            # Sum entry by entry, some of them in flight at a time.
            turns = (last - first + (TOGETHER - 1)) // TOGETHER
            (total,) = repeat(
                first.constant(0), turns, [zero],
                lambda k, sums: [together(first + k * TOGETHER, last, sums[0])],
            )  # fmt: skip
            column = IRArray(arrays.channels)[n]
            lanes.put_number(arrays.record, step * self._block.plane.channels + column, total)
