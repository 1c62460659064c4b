"""A kernel with the time loop inside: a plane lives in tiles on all multiprocessors of a card.

A step, each line between two barriers of a block::

    fluxes of the layers, from p(n) of the tile alone
    outer memory of the layers; what they add to second derivatives
    wait for the neighbours; p(n) at their edges
    record p(n); p(n+1) over p(n-1), in registers
    exchange registers and shared memory
    sources
    p(n+1) at the edges, to the card's memory

Layers need nothing of other tiles: those at the edges of the plane, which take longest, update them
while the edges of their neighbours arrive.

All blocks, one on each multiprocessor, run at the same time (a cooperative launch): those of a
shot, and of as many others as have room. Tiles leave their edges in the card's memory, and each
waits for its neighbours alone: for the count of steps whose edges are there (PTX ISA, st.release
and ld.acquire). A tile is at most one step ahead of its neighbours, so that edges of even and of
odd steps need no more than an array each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from llvmlite import ir

from seismo.backends.gpu.resident.clusters.cluster import (
    SHARED,
    ClusterLanes,
    Member,
    SharedAddress,
)
from seismo.backends.gpu.resident.clusters.kernel import (
    CoefficientRows,
    looping,
    named,
)
from seismo.backends.gpu.resident.points import BlockPoints
from seismo.backends.gpu.resident.tiles.block import TileArrays, TileBlock, TileCopies
from seismo.backends.gpu.resident.tiles.layout import TileNumbers, TileShape, tile_numbers
from seismo.backends.gpu.resident.tiles.steps import TileSteps
from seismo.backends.gpu.sweeps.layouts import WARP
from seismo.backends.gpu.sweeps.thread import Thread
from seismo.backends.traced import (
    I32,
    INTEGER,
    ExactArithmetic,
    IRValue,
    compute_exactly,
    declared,
    repeat,
    when,
)
from seismo.equations.framework.formula import Formula

if TYPE_CHECKING:
    from seismo.backends.gpu.compile.code_cache import Tools


LINE_BYTES = 128  # of the cache, from a tile's count of steps to the next one's
AROUND = 9  # tiles around one, itself included
_VOID = ir.VoidType()


class ThreadLanes:
    """Lanes that a thread keeps through all phases, in registers."""

    def __init__(self, builder: ir.IRBuilder, lanes: ClusterLanes, count: int) -> None:
        # Variables whose addresses nobody takes: the compiler makes registers of them.
        self._builder = builder
        self._slots = [_variable(builder, lanes.vector) for _ in range(count)]

    def read(self, member: Member, n: int) -> IRValue:
        """Return the n-th lane."""
        return member.shot.then(self._builder.load(self._slots[n]))

    def write(self, member: Member, n: int, lane: IRValue) -> None:
        """Keep the n-th lane."""
        self._builder.store(lane.value, self._slots[n])


class CardTiles:
    """The blocks of a launch, as one thread sees them.

    Attributes:
        registers: lanes that each thread keeps.
    """

    def __init__(
        self, builder: ir.IRBuilder, lanes: ClusterLanes, plane: TileNumbers, done: IRValue,
        shape: TileShape,
    ) -> None:  # fmt: skip
        """Find the thread's place.

        Args:
            builder: of its code.
            lanes: of the precision.
            plane: numbers of the plane.
            done: address of the steps that tiles have done.
            shape: what is built in of tiles.
        """
        self._builder = builder
        self._plane = plane
        self._done = done
        self._threads = shape.threads
        self.registers = ThreadLanes(builder, lanes, shape.strip)
        # The array of shared memory whose length a launch gives.
        thread = Thread(builder)
        kind = ir.ArrayType(ir.IntType(8), 0)
        array = ir.GlobalVariable(builder.module, kind, "tile_memory", SHARED)
        array.linkage = "external"
        array.align = 16
        start = SharedAddress(builder, builder.ptrtoint(array, INTEGER))
        # Blocks of a shot follow one another.
        block = thread.block("x")
        beside = block // plane.tiles
        rank = block - beside * plane.tiles
        shot = plane.shot + beside.wide()
        self._member = Member(shot, rank, thread.number("x").short(), start)

    def keep(self, find: Callable[[Member], dict[str, IRValue]]) -> None:
        """Let each thread find numbers at the start of each phase: few registers are free."""
        self._find = find

    @property
    def member(self) -> Member:
        """The thread, with what it finds."""
        return replace(self._member, kept=self._find(self._member))

    def phase(self, work: Callable[[Member], None]) -> None:
        """Let each thread do some work, then wait for the threads of its block."""
        work(self.member)
        name = "llvm.nvvm.barrier0"
        kind = ir.FunctionType(_VOID, [])
        self._builder.call(declared(self._builder.module, kind, name), [])

    def publish(self, count: IRValue) -> None:
        """Let neighbours read the edges that the block's threads left, of so many steps."""
        # The barrier of the phase before orders what other threads stored before this.
        # The last thread may have no points: it waits until all stores are there.
        with when(self._member.thread.equals(self._threads - 1)):
            text = "st.release.gpu.global.u32 [$0], $1;"
            self._assemble(text, self._counter(self._member.rank), count)

    def await_neighbours(self, count: IRValue) -> None:
        """Wait until all neighbours have published so many steps, each warp by itself."""
        thread = self._member.thread % WARP
        plane = self._plane
        # Row and column among the tiles.
        row = self._member.rank // plane.tiles_x
        column = self._member.rank - row * plane.tiles_x
        # A thread of each warp for each of the tiles around.
        across = thread // 3
        z = row + across - 1
        x = column + thread - across * 3 - 1
        is_tile = (z >= 0) & (x >= 0) & (x < plane.tiles_x) & (z * plane.tiles_x < plane.tiles)
        # Corners, too: receivers between tiles read them.
        with when((thread < AROUND) & is_tile):
            text = (
                "{\n\t.reg .pred early;\n\t.reg .u32 steps;\n\tagain:\n\t"
                "ld.acquire.gpu.global.u32 steps, [$0];\n\t"
                "setp.lt.s32 early, steps, $1;\n\t@early bra again;\n\t}"
            )
            address = self._counter(z * plane.tiles_x + x)
            self._assemble(text.replace("again", "again_${:uid}"), address, count)
        # Whoever waits holds back the threads of its warp: no barrier of the block.
        kind = ir.FunctionType(_VOID, [])
        code = ir.InlineAsm(kind, "bar.warp.sync 0xffffffff;", "~{memory}", side_effect=True)
        self._builder.call(code, [], attrs=("convergent",))

    def _counter(self, rank: IRValue) -> IRValue:
        """Return the address of a tile's count, in a line of the cache of its own."""
        first = self._member.shot * self._plane.tiles.wide()
        return self._done + (first + rank.wide()) * LINE_BYTES

    def _assemble(self, text: str, address: IRValue, count: IRValue) -> None:
        kind = ir.FunctionType(_VOID, [INTEGER, I32])
        code = ir.InlineAsm(kind, text, "l,r,~{memory}", side_effect=True)
        self._builder.call(code, [address.value, count.short().value])


def _variable(builder: ir.IRBuilder, kind: ir.Type) -> ir.Value:
    """Return the address of a variable of the whole function."""
    with builder.goto_entry_block():
        return builder.alloca(kind)


@dataclass(frozen=True)
class TileKernel:
    """The steps of a formula in a plane; planes share it, their sizes are arguments.

    Attributes:
        formula: that updates points.
        precision: of the numbers.
        shape: built in.
        rows: of the coefficients (`cluster_kernel.listed`).
    """

    formula: Formula
    precision: str
    shape: TileShape
    rows: CoefficientRows

    def __str__(self) -> str:
        """Identify it among all kernels."""
        return f"tiles {self.formula} {self.precision} {astuple(self.shape)} {self.rows}"

    def write(self, tools: Tools) -> Callable:
        """Write the kernel."""
        lanes = ClusterLanes(self.precision)

        def together(
            builder: ir.IRBuilder, addresses: Sequence[IRValue], plane: Sequence[IRValue]
        ) -> CardTiles:
            numbers, _ = tile_numbers(plane)
            done = TileArrays.of(addresses).done
            return CardTiles(builder, lanes, numbers, done, self.shape)

        return looping(lanes, together, self.trace)

    def trace(
        self, lanes: ClusterLanes, tiles: CardTiles, addresses: Sequence[IRValue],
        plane: Sequence[IRValue], coefficients: Sequence[IRValue], first: IRValue, count: IRValue,
    ) -> None:  # fmt: skip
        """Write the code of a thread.

        Args:
            lanes: the lanes.
            tiles: the blocks that work together (`CardTiles`).
            addresses: those that `TileArrays` names.
            plane: numbers that `TileNumbers` names, then `SourceNumbers`.
            coefficients: of the differences, and scalars of the run, as `listed`.
            first: number of the first step.
            count: of the steps.
        """
        # Bits of a point do not depend on the rows beside which it is written out.
        compute_exactly(first.builder, ExactArithmetic(lanes.hidden, lanes.quotient))
        numbers, sources = tile_numbers(plane)
        block = TileBlock(lanes, TileArrays.of(addresses), numbers, self.shape)
        copies = TileCopies(block, tiles.registers)
        named_coefficients = named(self.rows, coefficients)
        steps = TileSteps(block, self.formula, named_coefficients, tiles.registers)
        points = BlockPoints(block, [(block.arrays.sources, sources)])
        tiles.keep(block.find)
        _TileLoop(tiles, block, copies, steps, points, first).trace(first + count)


@dataclass(frozen=True)
class _TileLoop:
    """The steps of a thread.

    Attributes:
        tiles: the blocks that work together.
        block: the thread's tile.
        copies: between the card's memory and that of the tile.
        steps: updates of layers and points.
        points: sources and receivers.
        first: number of the first step.
    """

    tiles: CardTiles
    block: TileBlock
    copies: TileCopies
    steps: TileSteps
    points: BlockPoints
    first: IRValue

    def trace(self, last: IRValue) -> None:
        """Write the code of all steps before `last`."""
        # What the card's memory has comes to the tiles.
        self.tiles.phase(self.copies.clear)
        self.tiles.phase(self.block.share)
        self.tiles.phase(partial(self.copies.load, step=self.first))
        repeat(self.first, last, [], self._step)
        self._receive(last)

        # The last step's record; then all goes back to the card's memory.
        def finish(member: Member) -> None:
            self.points.record(member, last - 1, 0)
            self.copies.store(member, last)

        self.tiles.phase(finish)

    def _receive(self, n: IRValue) -> None:
        """Take the edges that neighbours have left in step n - 1."""
        self.tiles.await_neighbours(n - self.first)
        self.tiles.phase(partial(self.copies.load_edges, step=n - 1))

    def _step(self, n: IRValue, _: list[IRValue]) -> list[IRValue]:
        """Take step n."""
        tiles = self.tiles
        # CPML: fluxes, then what they and the outer memory add to second derivatives.
        tiles.phase(self.steps.update_fluxes)
        tiles.phase(self.steps.update_layers)
        self._receive(n)

        def update(member: Member) -> None:
            # What the step before left is recorded as this one reads it.
            with when(n > self.first):
                self.points.record(member, n - 1, 0)
            self.steps.update(member)

        tiles.phase(update)
        # p(n+1) to shared memory, where neighbours and the next step read it.
        tiles.phase(self.steps.exchange)
        with when(self.block.sources_act(tiles.member, n)):
            tiles.phase(partial(self.points.inject, (0,), step=n))
        tiles.phase(partial(self.copies.store_edges, step=n))
        tiles.publish(n - self.first + 1)
        return []
