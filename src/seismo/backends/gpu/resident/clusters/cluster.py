"""Blocks of threads of a card that work together: a cluster, its shared memory and its barriers.

Blocks of a cluster run at the same time on neighbouring multiprocessors and write to each other's
shared memory (compute capability 9.0; CUDA C++ Programming Guide, Thread Block Clusters). A kernel
is written as phases, each of them what one thread does.

A barrier of a whole cluster orders all memory, that of the card included. Blocks that hand each
other rows wait for these alone, counted by their bytes (PTX ISA, mbarrier and st.async): 0.6 us a
step less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from llvmlite import ir

from seismo.backends.gpu.sweeps.lanes import CudaLanes
from seismo.backends.gpu.sweeps.thread import Thread
from seismo.backends.traced import (
    I32,
    INTEGER,
    IRValue,
    declared,
    loop,
    when,
)

SHARED = 3  # LLVM's number of the memory of a block
COUNTER_BYTES = 32  # two counters for each neighbour, for even and odd turns
_VOID = ir.VoidType()


class SharedAddress(IRValue):
    """An address in the shared memory of a thread's own block."""

    __slots__ = ()
    space = SHARED

    def then(self, value: ir.Value) -> SharedAddress:
        """Return another address there."""
        return SharedAddress(self.builder, value)


class UnchangedAddress(IRValue):
    """An address of what no kernel changes as long as it runs: the model."""

    __slots__ = ()


class ClusterLanes(CudaLanes):
    """Lanes in the shared memory of a block, or in the card's; the model alone never changes."""

    def _load(self, address: IRValue, index: IRValue, kind: ir.Type, unchanging: bool) -> IRValue:
        unchanged = isinstance(address, UnchangedAddress)
        return super()._load(address, index, kind, unchanging and unchanged)

    def single(self) -> ClusterLanes:
        """Return lanes of one number each."""
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
            operands = [self.element(one, n).value for one in (a, b)]
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

    def clear(self, member: Member, count: IRValue, threads: int) -> None:
        """Fill the first numbers of a block's memory with zeros: what lies around a grid stays so.

        Args:
            member: the thread.
            count: of the numbers.
            threads: of the block, which take lanes by turns.
        """
        zero = IRValue(member.thread.builder, ir.Constant(self.vector, None))
        with loop(member.thread, count // self.width, threads) as n:
            self.store(member.memory, n * self.width, zero, None)

    def number(self, address: IRValue, index: IRValue) -> IRValue:
        """Read one number."""
        return self._load(address, index, self.kind, False)

    def put_number(self, address: IRValue, index: IRValue, value: IRValue) -> None:
        """Write one number."""
        self._put(address, index, value)

    def add(self, address: IRValue, index: IRValue, amount: IRValue) -> None:
        """Add to one number an amount rounded as it stands."""
        self._put(address, index, self.number(address, index) + self.moved(amount))


@dataclass(frozen=True)
class Member:
    """One thread of a cluster.

    Attributes:
        shot: number of the cluster, 64 bits.
        rank: of the thread's block in it.
        thread: number of the thread in the block.
        memory: the shared memory of its block.
        kept: what it found before the first phase, by name.
    """

    shot: IRValue
    rank: IRValue
    thread: IRValue
    memory: IRValue
    kept: dict[str, IRValue] = field(default_factory=dict)


# What a thread hands to the block before (-1) or behind (1) its own: (member, send), where
# `send(by, address, lane)` writes a lane to the same address of that block, less an offset.
Handing = Callable[[Member, Callable[[int, IRValue, IRValue], None]], None]


class Cluster:
    """The blocks of a launch, some of which make a cluster each, as one thread sees them."""

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
        self._builder = builder
        self._lanes = lanes
        self._sent_bytes = sent_bytes
        thread = Thread(builder)
        block = thread.block("x")
        # The array of shared memory whose length a launch gives.
        kind = ir.ArrayType(ir.IntType(8), 0)
        array = ir.GlobalVariable(builder.module, kind, "cluster_memory", SHARED)
        array.linkage = "external"
        array.align = 16
        start = SharedAddress(builder, builder.ptrtoint(array, INTEGER))
        self._counters = start + size.wide()
        shot = block // blocks
        number = thread.number("x").short()
        self._member = Member(shot.wide(), block - shot * blocks, number, start)
        # Whether there is a block before this one, and one behind it.
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
                self._assemble("mbarrier.init.shared::cta.b64 [$0], 1;", self._counters + 8 * n)
            self._assemble("fence.mbarrier_init.release.cluster;")
            for by in (-1, 1):
                for turn in (0, 1):
                    self._expect(by, zero + turn, turn)
        self.meet()

    def phase(self, work: Callable[[Member], None]) -> None:
        """Let each thread do some work, then wait for the threads of its block."""
        work(self._member)
        name = "llvm.nvvm.barrier0"
        kind = ir.FunctionType(_VOID, [])
        self._builder.call(declared(self._builder.module, kind, name), [])

    def meet(self) -> None:
        """Wait for all threads of the cluster."""
        self._assemble("barrier.cluster.arrive.release.aligned;", convergent=True)
        self._assemble("barrier.cluster.wait.acquire.aligned;", convergent=True)

    def exchange(self, work: Handing, turn: IRValue, kind: int = 0) -> None:
        """Let threads hand rows to the blocks beside theirs, then wait for those handed to it.

        Args:
            work: what a thread hands over.
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
        """Return the counter of what a neighbour hands over in a turn."""
        return self._counters + (turn % 2 * 8 + (0 if by < 0 else 16))

    def _expect(self, by: int, turn: IRValue, kind: int) -> None:
        expected = self._sent_bytes[kind % len(self._sent_bytes)]
        with when(self._neighbours[by]):
            text = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;"
            self._assemble(text, self._counter(by, turn), expected)

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
        kind = ir.FunctionType(_VOID, [I32, *[lanes.kind] * count, I32])
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
        self._assemble(text.replace("again", "again_${:uid}"), counter, parity)

    def _assemble(self, text: str, *operands: IRValue, convergent: bool = False) -> None:
        """Write PTX that takes numbers of 32 bits."""
        kind = ir.FunctionType(_VOID, [I32] * len(operands))
        constraints = ",".join(["r"] * len(operands) + ["~{memory}"])
        code = ir.InlineAsm(kind, text, constraints, side_effect=True)
        attributes: Any = ("convergent",) if convergent else ()
        self._builder.call(code, [operand.short().value for operand in operands], attrs=attributes)
