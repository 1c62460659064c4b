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
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import TYPE_CHECKING

from llvmlite import ir

from seismo.backends.gpu.resident.clusters.cluster import ClusterLanes, Member
from seismo.backends.gpu.resident.clusters.kernel import (
    CoefficientRows,
    looping,
    named,
)
from seismo.backends.gpu.resident.points import BlockPoints
from seismo.backends.gpu.resident.tiles.block import TileArrays, TileBlock
from seismo.backends.gpu.resident.tiles.copies import TileCopies
from seismo.backends.gpu.resident.tiles.layout import TileShape, tile_numbers
from seismo.backends.gpu.resident.tiles.steps import TileSteps
from seismo.backends.gpu.resident.tiles.tile import CardTiles
from seismo.backends.traced import (
    ExactArithmetic,
    IRValue,
    compute_exactly,
    repeat,
    when,
)
from seismo.equations.framework.formula import Formula

if TYPE_CHECKING:
    from seismo.backends.gpu.compile.code_cache import Tools


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
