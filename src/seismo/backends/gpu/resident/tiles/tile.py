"""Blocks of a card that step the tiles of a plane together, one on each multiprocessor.

All blocks run at the same time (a cooperative launch): those of a shot, and of as many others as
have room. Tiles leave their edges in the card's memory, and each waits for its neighbours alone:
for the count of steps whose edges are there (PTX ISA, st.release and ld.acquire). A tile is at most
one step ahead of its neighbours, so that edges of even and of odd steps need no more than an array
each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from llvmlite import ir

from seismo.backends.gpu.resident.clusters.cluster import (
    SHARED,
    ClusterLanes,
    Member,
    SharedAddress,
)
from seismo.backends.gpu.resident.tiles.layout import TileNumbers, TileShape
from seismo.backends.gpu.sweeps.layouts import WARP
from seismo.backends.gpu.sweeps.thread import Thread
from seismo.backends.traced import (
    I32,
    INTEGER,
    IRValue,
    declared,
    when,
)

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
