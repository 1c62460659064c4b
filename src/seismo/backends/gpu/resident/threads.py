"""Threads of blocks that step a plane together: their memory, lanes, barriers and transports.

A kernel is written as phases, each of them the work of a thread; a barrier of its block ends a
phase. Rows travel between blocks in either of two ways:

`Cluster`: blocks of a cluster run at the same time on neighbouring multiprocessors and write to
each other's shared memory (compute capability 9.0; CUDA C++ Programming Guide, Thread Block
Clusters). A barrier of the whole cluster orders all memory; blocks that exchange rows wait for
these alone, counted by their bytes (PTX ISA, mbarrier and st.async).

`CardTiles`: all blocks of a card run at the same time (a cooperative launch) and leave their edges
in the card's memory. Each waits for its neighbours alone: for the count of steps whose edges are
there (PTX ISA, st.release and ld.acquire).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from llvmlite import ir

from seismo.backends.gpu.sweeps.blocks import Thread
from seismo.backends.gpu.sweeps.lanes import CudaLanes
from seismo.backends.gpu.sweeps.layouts import WARP
from seismo.backends.traced import (
    I32,
    INTEGER,
    IRValue,
    declared,
    when,
)

SHARED = 3  # LLVM's number of the memory of a block
SHARED_BYTES = 227 * 1024  # of a block, says CUDA of compute capability 9.0
COUNTER_BYTES = 32  # two counters for each neighbour, for even and odd turns
LINE_BYTES = 128  # of the cache, from a tile's count of steps to the next tile's
AROUND = 9  # tiles around a tile, itself included
VOID = ir.VoidType()


class ClusterError(RuntimeError):
    """A card, or a process's share of a card, does not run clusters of this size."""


class ClusterSizes(NamedTuple):
    """Sizes of a launch whose blocks make clusters.

    Attributes:
        clusters: of the launch.
        blocks: of a cluster.
        threads: of a block.
        shared: bytes of its shared memory.
    """

    clusters: int
    blocks: int
    threads: int
    shared: int


class TileSizes(NamedTuple):
    """Sizes of a launch whose blocks all run at the same time.

    Attributes:
        blocks: of the launch.
        threads: of a block.
        shared: bytes of its shared memory.
    """

    blocks: int
    threads: int
    shared: int


class SharedAddress(IRValue):
    """An address in the shared memory of a thread's own block."""

    __slots__ = ()
    space = SHARED

    def then(self, value: ir.Value) -> SharedAddress:
        """Return another address there."""
        return SharedAddress(self.builder, value)


class UnchangedAddress(IRValue):
    """An address of data that no kernel changes as it runs: the model."""

    __slots__ = ()


class SharedLanes(CudaLanes):
    """Lanes in the shared memory of a block, or in the card's; only the model never changes."""

    def _load(self, address: IRValue, index: IRValue, kind: ir.Type, unchanging: bool) -> IRValue:
        unchanged = isinstance(address, UnchangedAddress)
        return super()._load(address, index, kind, unchanging and unchanged)

    def single(self) -> SharedLanes:
        """Return lanes of a single number each."""
        lanes = copy(self)
        lanes.width = 1
        lanes.vector = self.kind
        return lanes

    def hidden(self, value: IRValue) -> IRValue:
        """Return a number or a lane of which the compiler does not see how it came about."""
        return self.rounded(value) if value.value.type == self.vector else self.moved(value)

    def quotient(self, a: IRValue, b: IRValue) -> IRValue:
        """Divide lanes; of single precision by an approximate reciprocal, good to two last bits.

        What is divided by is a sum of model coefficients: neither 0 nor as large as 2^126, for
        which the compiler would take five more instructions.
        """
        builder = a.builder
        if self.size > 4:
            return a.then(builder.fdiv(a.value, b.value))
        kind = ir.FunctionType(self.kind, [self.kind] * 2)
        quotients = a.value
        for n in range(self.width):
            operands = [self.element(lane, n).value for lane in (a, b)]
            text = "div.approx.ftz.f32 $0, $1, $2;"
            number = builder.asm(kind, text, "=f,f,f", operands, False)
            quotients = builder.insert_element(quotients, number, I32(n))
        return a.then(quotients)

    def any_of_warp(self, condition: IRValue) -> IRValue:
        """Whether a condition holds for any thread of a warp, all of which ask."""
        builder = condition.builder
        kind = ir.FunctionType(ir.IntType(1), [I32, ir.IntType(1)])
        vote = declared(builder.module, kind, "llvm.nvvm.vote.any.sync")
        return condition.then(builder.call(vote, [I32(-1), condition.value]))

    def begun(self, lane: IRValue, count: IRValue) -> IRValue:
        """Return the first numbers of a lane, and 0 for the others."""
        builder = lane.builder
        numbers = ir.Constant(self.vector, None)
        for n in range(self.width):
            number = self.element(lane, n).value
            zero = ir.Constant(self.kind, 0.0)
            number = builder.select((count > n).value, number, zero)
            numbers = builder.insert_element(numbers, number, I32(n))
        return lane.then(numbers)

    def number(self, address: IRValue, index: IRValue) -> IRValue:
        """Read a number."""
        return self._load(address, index, self.kind, False)

    def put_number(self, address: IRValue, index: IRValue, value: IRValue) -> None:
        """Write a number."""
        self._put(address, index, value)

    def add(self, address: IRValue, index: IRValue, amount: IRValue) -> None:
        """Add to a number an amount rounded as it stands."""
        self._put(address, index, self.number(address, index) + self.moved(amount))


@dataclass(frozen=True)
class Member:
    """A thread of the blocks that step a shot's plane.

    Attributes:
        shot: number of the shot, 64 bits.
        rank: of the thread's block in the shot.
        thread: number of the thread in the block.
        memory: the shared memory of its block.
        kept: numbers that it found, by name (`BlockThreads.keep`).
    """

    shot: IRValue
    rank: IRValue
    thread: IRValue
    memory: IRValue
    kept: dict[str, IRValue] = field(default_factory=dict)


# What a thread hands to the block before (-1) or behind (1) its own: (member, send), where
# `send(by, address, lane)` writes a lane to the same address of that block, less an offset.
Handing = Callable[[Member, Callable[[int, IRValue, IRValue], None]], None]


def _shared_memory(builder: ir.IRBuilder) -> SharedAddress:
    """Return the address of the array of shared memory whose length a launch gives."""
    kind = ir.ArrayType(ir.IntType(8), 0)
    array = ir.GlobalVariable(builder.module, kind, "shared_memory", SHARED)
    array.linkage = "external"
    array.align = 16
    return SharedAddress(builder, builder.ptrtoint(array, INTEGER))


class BlockThreads:
    """The blocks of a launch, as a thread sees them: its place, its memory, its block's barrier."""

    def __init__(self, memory: SharedAddress, blocks: IRValue) -> None:
        """Find the thread's place.

        Args:
            memory: that of its block.
            blocks: that step a shot; the blocks of a shot are contiguous.
        """
        self._builder = memory.builder
        thread = Thread(self._builder)
        block = thread.block("x")
        self._group = block // blocks
        shot = self._group.wide()
        rank = block - self._group * blocks
        self._member = Member(shot, rank, thread.number("x").short(), memory)

    @property
    def member(self) -> Member:
        """The thread, with the numbers that it keeps."""
        return self._member

    def phase(self, work: Callable[[Member], None]) -> None:
        """Let each thread do its work, then wait for the threads of its block."""
        work(self.member)
        kind = ir.FunctionType(VOID, [])
        self._builder.call(declared(self._builder.module, kind, "llvm.nvvm.barrier0"), [])

    def _assemble(self, text: str, *operands: IRValue, convergent: bool = False) -> None:
        """Write PTX that takes integers of 32 and of 64 bits."""
        integers = [operand.value for operand in operands]
        letters = ["r" if value.type == I32 else "l" for value in integers]
        kind = ir.FunctionType(VOID, [value.type for value in integers])
        code = ir.InlineAsm(kind, text, ",".join([*letters, "~{memory}"]), side_effect=True)
        attributes: Any = ("convergent",) if convergent else ()
        self._builder.call(code, integers, attrs=attributes)


class Cluster(BlockThreads):
    """The blocks of a launch, of which so many make a cluster each."""

    def __init__(
        self, builder: ir.IRBuilder, lanes: CudaLanes, blocks: IRValue, size: IRValue,
        sent_bytes: Sequence[IRValue],
    ) -> None:  # fmt: skip
        """Find the thread's place.

        Args:
            builder: of its code.
            lanes: of the precision.
            blocks: of a cluster.
            size: bytes of shared memory, behind which the counters stand.
            sent_bytes: that neighbours hand each other in a turn; of two, in even and in odd ones.
        """
        memory = _shared_memory(builder)
        self._counters = memory + size.wide()
        super().__init__(memory, blocks)
        self._lanes = lanes
        self._sent_bytes = sent_bytes
        # Whether there is a block before this block, and behind it.
        rank = self._member.rank
        self._neighbours = {-1: rank > 0, 1: rank < blocks - 1}

    def keep(self, find: Callable[[Member], dict[str, IRValue]]) -> None:
        """Let each thread find numbers that it keeps through all phases."""
        self._member = replace(self._member, kept=find(self._member))

    def begin(self) -> None:
        """Set up the counters; all blocks are there then."""
        zero = self._member.shot.constant(0)
        with when(self._member.thread.equals(0)):
            for n in range(COUNTER_BYTES // 8):
                self._assemble(
                    "mbarrier.init.shared::cta.b64 [$0], 1;", (self._counters + 8 * n).short()
                )
            self._assemble("fence.mbarrier_init.release.cluster;")
            for by in (-1, 1):
                for turn in (0, 1):
                    self._expect(by, zero + turn, turn)
        self.synchronize()

    def synchronize(self) -> None:
        """Wait for all threads of the cluster."""
        self._assemble("barrier.cluster.arrive.release.aligned;", convergent=True)
        self._assemble("barrier.cluster.wait.acquire.aligned;", convergent=True)

    def exchange(self, work: Handing, turn: IRValue, kind: int = 0) -> None:
        """Let threads send rows to the blocks beside theirs, then wait for the rows sent to them.

        Args:
            work: sends a thread's rows.
            turn: number of the exchange; all blocks count alike.
            kind: the turn's remainder, where even and odd ones differ.
        """
        work(self._member, lambda by, address, lane: self._send(by, address, lane, turn))
        # Each counter counts every other turn: its phase is how many it has counted.
        parity = turn // 2 % 2
        for by, has_neighbour in self._neighbours.items():
            with when(has_neighbour):
                self._await(self._counter(by, turn), parity)
        with when(self._member.thread.equals(0)):
            for by in self._neighbours:
                self._expect(by, turn + 2, kind)

    def _counter(self, by: int, turn: IRValue) -> IRValue:
        """Return the address, of 32 bits, of the counter of the rows from a neighbour in a turn."""
        return (self._counters + (turn % 2 * 8 + (0 if by < 0 else 16))).short()

    def _expect(self, by: int, turn: IRValue, kind: int) -> None:
        expected = self._sent_bytes[kind % len(self._sent_bytes)]
        with when(self._neighbours[by]):
            text = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;"
            self._assemble(text, self._counter(by, turn), expected.short())

    def _send(self, by: int, address: IRValue, lane: IRValue, turn: IRValue) -> None:
        """Write a lane to the neighbour's memory, which counts it as from this side."""
        lanes = self._lanes
        rank = self._member.rank + by
        target = self._remote(address, rank)
        counter = self._remote(self._counter(-by, turn), rank)
        letter = "f" if lanes.size == 4 else "d"
        count = lanes.width
        listed = ", ".join(f"${n + 1}" for n in range(count))
        text = (
            f"st.async.shared::cluster.mbarrier::complete_tx::bytes.v{count}.f{8 * lanes.size} "
            f"[$0], {{{listed}}}, [${count + 1}];"
        )
        numbers = [lanes.element(lane, n).value for n in range(count)]
        kind = ir.FunctionType(VOID, [I32, *[lanes.kind] * count, I32])
        constraints = ",".join(["r", *[letter] * count, "r", "~{memory}"])
        code = ir.InlineAsm(kind, text, constraints, side_effect=True)
        self._builder.call(code, [target, *numbers, counter])

    def _remote(self, address: IRValue, rank: IRValue) -> ir.Value:
        """Return the address, of 32 bits, of the same place in another block's memory."""
        kind = ir.FunctionType(I32, [I32, I32])
        code = ir.InlineAsm(kind, "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r")
        return self._builder.call(code, [address.short().value, rank.short().value])

    def _await(self, counter: IRValue, parity: IRValue) -> None:
        text = (
            "{\n\t.reg .pred done;\n\tagain:\n\t"
            "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n\t@!done bra again;\n\t}"
        )
        self._assemble(text.replace("again", "again_${:uid}"), counter, parity.short())


class ThreadLanes:
    """Lanes that a thread keeps through all phases, in registers."""

    def __init__(self, builder: ir.IRBuilder, lanes: SharedLanes, count: int) -> None:
        # Variables whose addresses nobody takes: the compiler makes registers of them.
        self._builder = builder
        with builder.goto_entry_block():
            self._slots = [builder.alloca(lanes.vector) for _ in range(count)]

    def read(self, member: Member, n: int) -> IRValue:
        """Return the n-th lane."""
        return member.shot.then(self._builder.load(self._slots[n]))

    def write(self, member: Member, n: int, lane: IRValue) -> None:
        """Keep the n-th lane."""
        self._builder.store(lane.value, self._slots[n])


class CardTiles(BlockThreads):
    """The blocks of a launch that all run at the same time, a tile each.

    Attributes:
        registers: lanes that each thread keeps.
    """

    def __init__(
        self, builder: ir.IRBuilder, registers: ThreadLanes, done: IRValue, threads: int,
        tiles: tuple[IRValue, IRValue], first: IRValue,
    ) -> None:  # fmt: skip
        """Find the thread's place.

        Args:
            builder: of its code.
            registers: lanes that each thread keeps.
            done: address of the steps that tiles have done.
            threads: of a block.
            tiles: their number, and their number along x.
            first: number of the first shot.
        """
        super().__init__(_shared_memory(builder), tiles[0])
        self._member = replace(self._member, shot=first + self._group.wide())
        self.registers = registers
        self._done = done
        self._threads = threads
        self._tiles, self._columns = tiles

    def keep(self, find: Callable[[Member], dict[str, IRValue]]) -> None:
        """Let each thread find numbers at the start of each phase: few registers are free."""
        self._find = find

    @property
    def member(self) -> Member:
        """The thread, with its numbers."""
        return replace(self._member, kept=self._find(self._member))

    def publish(self, count: IRValue) -> None:
        """Let neighbours read the edges that the block's threads left, of so many steps."""
        # The previous phase's barrier orders earlier stores of other threads before this.
        # The last thread may have no points: it waits until all stores are there.
        with when(self._member.thread.equals(self._threads - 1)):
            text = "st.release.gpu.global.u32 [$0], $1;"
            self._assemble(text, self._counter(self._member.rank), count.short())

    def await_neighbours(self, count: IRValue) -> None:
        """Wait until all neighbours have published so many steps, each warp by itself."""
        thread = self._member.thread % WARP
        # Row and column among the tiles.
        row = self._member.rank // self._columns
        column = self._member.rank - row * self._columns
        # A thread of each warp for each of the tiles around.
        across = thread // 3
        z = row + across - 1
        x = column + thread - across * 3 - 1
        is_tile = (z >= 0) & (x >= 0) & (x < self._columns) & (z * self._columns < self._tiles)
        # Corners, too: receivers between tiles read them.
        with when((thread < AROUND) & is_tile):
            text = (
                "{\n\t.reg .pred early;\n\t.reg .u32 steps;\n\tagain:\n\t"
                "ld.acquire.gpu.global.u32 steps, [$0];\n\t"
                "setp.lt.s32 early, steps, $1;\n\t@early bra again;\n\t}"
            )
            address = self._counter(z * self._columns + x)
            self._assemble(text.replace("again", "again_${:uid}"), address, count.short())
        # Whoever waits holds back the threads of its warp: no barrier of the block.
        self._assemble("bar.warp.sync 0xffffffff;", convergent=True)

    def _counter(self, rank: IRValue) -> IRValue:
        """Return the address of a tile's count, in a line of the cache of its own."""
        first = self._member.shot * self._tiles.wide()
        return self._done + (first + rank.wide()) * LINE_BYTES
