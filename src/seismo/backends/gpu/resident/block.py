"""Blocks that step part of a plane in shared memory: a kernel's arguments, and a thread's work.

Blocks of clusters (`cluster_block`) have rows, tiles (`tile_block`) a rectangle. A kernel takes the
addresses of arrays (`Arrays`), whole numbers, and coefficients, each flat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from operator import or_
from typing import Any, NamedTuple

from llvmlite import ir

from seismo.backends.gpu.resident.threads import Member, SharedLanes, UnchangedAddress
from seismo.backends.operators.derivatives import KernelContext
from seismo.backends.traced import I32, IRArray, IRValue, choose, loop, repeat, smaller, when
from seismo.equations.framework.formula import Formula

TOGETHER = 8  # entries of a receiver that are read at once


@dataclass(frozen=True)
class BoundFormula:
    """A formula, and which arrays it takes.

    Attributes:
        formula: of the equation.
        fields: numbers of the fields that it changes, then of the fields that it differentiates.
        coefficients: numbers of the arrays of the model.
        memory: number of the array of layer memory.
        damped: whether layers damp the fields that it changes.
    """

    formula: Formula
    fields: tuple[int, ...]
    coefficients: tuple[int, ...]
    memory: int
    damped: bool = False

    def __str__(self) -> str:
        """Identify the kernel."""
        return f"{self.formula} {self.fields} {self.coefficients} {self.memory} {self.damped}"


class SourceArrays(NamedTuple):
    """Addresses of a field's source signals (`seismo.backends.point_kernels.amount`).

    Attributes:
        cells: their flat indices in the field's array.
        starts: first entries of the cells.
        weights: of the entries, numbers.
        signals: of the entries.
        begins: first steps of the signals.
        samples: of the signals, numbers.
        acting: first and last step of all signals.
    """

    cells: Any
    starts: Any
    weights: Any
    signals: Any
    begins: Any
    samples: Any
    acting: Any


class RecordArrays(NamedTuple):
    """Addresses of the receivers' samples.

    Attributes:
        channels_of: first channel of each block of each shot of each group, and behind the last.
        channels: their columns in the record.
        entries_of: first entry of each channel, and behind the last.
        entry_indices: of the entries in shared memory.
        gains: weights of the entries, numbers.
        record: samples (step, channel), numbers.
    """

    channels_of: Any
    channels: Any
    entries_of: Any
    entry_indices: Any
    gains: Any
    record: Any


class Arrays(NamedTuple):
    """Addresses that a kernel works with; tables of integers unless said otherwise.

    Attributes:
        fields: of second differences the fields that even, and odd steps write.
        coefficients: of the model.
        memory: of layers: that of each stage; of second differences that of the outer derivatives,
            the fluxes as even steps find them, and as odd ones do.
        x_table: profiles along x.
        z_table: profiles along z.
        blocks: numbers of each block, by the columns of its transport.
        work: tables of the transport.
        sources: of each field that is injected to.
        receivers: all of them.
    """

    fields: tuple[Any, ...]
    coefficients: tuple[Any, ...]
    memory: tuple[Any, ...]
    x_table: Any
    z_table: Any
    blocks: Any
    work: tuple[Any, ...]
    sources: tuple[SourceArrays, ...]
    receivers: RecordArrays

    def flat(self) -> tuple[Any, ...]:
        """Return all in a flat list, as a kernel takes them."""
        return (
            *self.fields, *self.coefficients, *self.memory, self.x_table, self.z_table,
            self.blocks, *self.work, *chain.from_iterable(self.sources), *self.receivers,
        )  # fmt: skip

    @classmethod
    def of(cls, flat: Sequence[IRValue], shape: Any) -> Arrays:
        """Return the arrays that `flat` laid out, for a kernel's shape."""
        following = iter(flat)

        def taken(count: int, name: str = "") -> tuple[IRValue, ...]:
            addresses = islice(following, count)
            if name not in shape.unchanging:
                return tuple(addresses)
            # Loads of constant data may be moved above stores, if their addresses say so.
            return tuple(UnchangedAddress(address.builder, address.value) for address in addresses)

        # In the order of `flat`.
        return cls(
            fields=taken(shape.fields),
            coefficients=taken(shape.coefficients, "model"),
            memory=taken(shape.memories),
            x_table=taken(1, "profiles")[0],
            z_table=taken(1, "profiles")[0],
            blocks=next(following),
            work=taken(shape.tables),
            sources=tuple(SourceArrays(*taken(len(SourceArrays._fields))) for _ in shape.injected),
            receivers=RecordArrays(*taken(len(RecordArrays._fields))),
        )


class SourceNumbers(NamedTuple):
    """Whole numbers of the sources of a field.

    Attributes:
        cells: of a shot.
        samples: of a signal.
    """

    cells: Any
    samples: Any


def numbers_of(
    kind: Any, short: Sequence[str], flat: Sequence[Any]
) -> tuple[Any, list[SourceNumbers]]:
    """Return the numbers of a plane, the numbers compared in 32 bits, and of its sources.

    Args:
        kind: class of the plane's numbers.
        short: names of the numbers of 32 bits.
        flat: both, in the order of a kernel's arguments.
    """
    count = len(kind._fields)
    plane = kind(*flat[:count])
    compared = {name: getattr(plane, name).short() for name in short}
    sources = [SourceNumbers(*flat[n : n + 2]) for n in range(count, len(flat), 2)]
    return plane._replace(**compared), sources


_ONE = 1 << 32  # the numerator of reciprocals


def reciprocal(divisor: int) -> int:
    """Return the reciprocal for `quotient`: 2^32 over the divisor, rounded up."""
    return -(-_ONE // divisor)


def quotient(n: Any, of: Any) -> Any:
    """Divide 32 bits, n >= 0, given a `reciprocal`; exact where n times the divisor fits them."""
    return (n.wide() * of // _ONE).short()


def context_of(coefficients: dict[str, list], pitch: Any, **of_lane: Any) -> KernelContext:
    """Return the operators' context of a lane of a plane in shared memory.

    Args:
        coefficients: as in `KernelContext`.
        pitch: distance of rows.
        of_lane: all else that is known of the lane.
    """
    unknown = dict.fromkeys(KernelContext._fields)
    common = {
        "y_stride": pitch,
        "z_stride": pitch,
        "shot": 0,
        "packed": 0,
        "memory_y": 0,
        "ahead": 0,
    }
    return KernelContext(**(unknown | common | coefficients | of_lane))


class NotedLanes:
    """Lanes whose stores are noted and done later, or never: the values stay in registers."""

    def __init__(self, lanes: SharedLanes) -> None:
        self._lanes = lanes
        self._stores: list[tuple] = []

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the lanes."""
        return getattr(self._lanes, name)

    def store(self, *operands: Any) -> None:
        """Note a store: address, index, value, mask."""
        self._stores.append(operands)

    def taken(self) -> list[tuple]:
        """Return the stores since the last time."""
        stores = self._stores
        self._stores = []
        return stores


def march(
    count: int, half: int, read: Callable[[int], Any], exists: Callable[[int], IRValue],
    work: Callable[[int, list[Any]], None],
) -> None:  # fmt: skip
    """Do work (row, lanes of the rows around it) in consecutive rows.

    The loop is unrolled: rows around a row along z stay in a thread's registers.

    Args:
        count: of the rows at most, the first of which exists.
        half: rows on either side of a row that are around it.
        read: function(row) that reads its lanes, also of the rows around.
        exists: function(row): whether there is such a row.
        work: of each row.
    """

    def further(n: int, rows: list[Any]) -> None:
        # Half the order behind the row, and the row that completes its stencil.
        rows = [*rows, read(n + half)]
        work(n, rows)
        if n + 1 < count:
            with when(exists(n + 1)):
                further(n + 1, rows[1:])

    # The next row only where there is one: nested branches.
    further(0, [read(n) for n in range(-half, half)])


class ResidentBlock:
    """A block's part of a plane, as one of its threads works with it.

    Attributes:
        lanes: of the precision.
        arrays: that the kernel works with.
        plane: numbers of the plane and its layout.
        shape: its compile-time constants.
    """

    def __init__(self, lanes: SharedLanes, arrays: Arrays, plane: Any, shape: Any) -> None:
        self.lanes = lanes
        self.arrays = arrays
        self.plane = plane
        self.shape = shape

    def clear(self, member: Member) -> None:
        """Fill the memory of the block with zeros, which remain around its points."""
        zero = IRValue(member.thread.builder, ir.Constant(self.lanes.vector, None))
        lanes = self.plane.numbers // self.lanes.width
        with loop(member.thread, lanes, self.shape.threads) as n:
            self.lanes.store(member.memory, n * self.lanes.width, zero, None)

    def fluxes(self, step: IRValue) -> IRValue:
        """Return the array of the fluxes of layers as a step of second differences finds them."""
        # Even and odd steps read different arrays; shared memory has a single one.
        _, even, odd = self.arrays.memory
        return choose((step % 2).equals(0), even, odd)

    def field(self, member: Member, field: int, step: IRValue) -> IRValue:
        """Return the address of a field in shared memory; by turns, 0 is that written in a step."""
        raise NotImplementedError

    def start(self, member: Member, x: IRValue, z: IRValue) -> IRValue:
        """Return the index of a point of the plane in a field of the block."""
        raise NotImplementedError

    def owns(self, member: Member, x: IRValue, z: IRValue) -> IRValue:
        """Whether a point of the plane is the block's own."""
        raise NotImplementedError


class BlockPoints:
    """Inject into points of a block, and record them."""

    def __init__(self, block: ResidentBlock, numbers: Sequence[SourceNumbers]) -> None:
        """Bind to a block.

        Args:
            block: the block.
            numbers: of the sources of each field that is injected to.
        """
        self._block = block
        sources = zip(block.arrays.sources, numbers, strict=True)
        self._sources = dict(zip(block.shape.injected, sources, strict=True))

    def sources_act(self, fields: Sequence[int], step: IRValue) -> IRValue:
        """Whether any source of the fields acts in a step."""
        # Sources of each field have a window of steps of their own.
        acts = []
        for field in fields:
            arrays, _ = self._sources[field]
            acting = IRArray(arrays.acting)
            acts.append((step >= acting[0]) & (acting[1] >= step))
        return reduce(or_, acts)

    def inject(self, fields: Sequence[int], member: Member, step: IRValue) -> None:
        """Inject the sources of fields at the points of the block."""
        for field in fields:
            self._inject(field, member, step)

    def _inject(self, target: int, member: Member, step: IRValue) -> None:
        """Inject the sources of a field at the points of the block.

        The sum over the entries of a cell is that of `seismo.backends.point_kernels.amount`.
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

        Sums run entry by entry, as in `seismo.backends.point_kernels.record`.
        """
        arrays = self._block.arrays.receivers
        lanes = self._block.lanes
        # Entries count from the beginning of the field that was written, or of all fields.
        is_written = self._block.shape.alternating
        fields = self._block.field(member, 0, step) if is_written else member.memory

        zero = fields.then(ir.Constant(lanes.kind, 0.0))

        def together(first: IRValue, last: IRValue, total: IRValue) -> IRValue:
            # Several entries are read at once, and added in order.
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
            # Sum entry by entry, with several loads in flight.
            turns = (last - first + (TOGETHER - 1)) // TOGETHER
            (total,) = repeat(
                first.constant(0), turns, [zero],
                lambda k, sums: [together(first + k * TOGETHER, last, sums[0])],
            )  # fmt: skip
            column = IRArray(arrays.channels)[n]
            lanes.put_number(arrays.record, step * self._block.plane.channels + column, total)
