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
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from seismo.backends.exact_arithmetic import ExactArithmetic
from seismo.backends.gpu.cluster import ClusterLanes, Member
from seismo.backends.gpu.cluster_kernel import CoefficientRows, looping, named
from seismo.backends.gpu.cluster_points import BlockPoints
from seismo.backends.gpu.tile import CardTiles
from seismo.backends.gpu.tile_block import TileArrays, TileBlock
from seismo.backends.gpu.tile_copies import TileCopies
from seismo.backends.gpu.tile_layout import TileShape, tile_numbers
from seismo.backends.gpu.tile_steps import TileSteps
from seismo.backends.traced import IRValue, compute_exactly, repeat, when
from seismo.equations.formula import Formula

if TYPE_CHECKING:
    from seismo.backends.gpu.code_cache import Tools


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
            return CardTiles(builder, lanes, numbers, done, self.shape.strip)

        return looping(lanes, together, self.trace)

    def trace(
        self, lanes: ClusterLanes, tiles: Any, addresses: Sequence[IRValue],
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
        compute_exactly(first.builder, ExactArithmetic(lanes.hidden, lanes.quotient))
        # Bits of a point do not depend on the rows beside which it is written out.
        numbers, sources = tile_numbers(plane)
        block = TileBlock(lanes, TileArrays.of(addresses), numbers, self.shape)
        copies = TileCopies(block, tiles.registers)
        named_coefficients = named(self.rows, coefficients)
        steps = TileSteps(block, self.formula, named_coefficients, tiles.registers)
        points = BlockPoints(block, [(block.arrays.sources, sources)])
        last = first + count
        tiles.keep(block.find)
        # What the card's memory has comes to the tiles.
        tiles.phase(copies.clear)
        tiles.phase(block.share)
        tiles.phase(partial(copies.load, step=first))

        def receive(n: IRValue) -> None:
            # Edges that step n - 1 has left, counted from the first step.
            tiles.await_neighbours(n - first)
            tiles.phase(partial(copies.load_edges, step=n - 1))

        def step(n: IRValue, _: list[IRValue]) -> list[IRValue]:
            # CPML: fluxes, then what they and the outer memory add to second derivatives.
            tiles.phase(steps.update_fluxes)
            tiles.phase(steps.update_layers)
            receive(n)

            def update(member: Member) -> None:
                # What the step before left is recorded as this one reads it.
                with when(n > first):
                    points.record(member, n - 1, 0)
                steps.update(member)

            tiles.phase(update)
            # p(n+1) to shared memory, where neighbours and the next step read it.
            tiles.phase(steps.exchange)
            with when(block.sources_act(tiles.member, n)):
                tiles.phase(partial(points.inject, (0,), step=n))
            tiles.phase(partial(copies.store_edges, step=n))
            tiles.publish(n - first + 1)
            return []

        repeat(first, last, [], step)
        receive(last)

        # The last step's record; then all goes back to the card's memory.
        def finish(member: Member) -> None:
            points.record(member, last - 1, 0)
            copies.store(member, last)

        tiles.phase(finish)
