"""Kernels with the time loop inside: a plane lives in shared memory, of a cluster or of tiles.

A step of a cluster, each of whose blocks has a range of rows of all fields. It moves nothing
through the card's memory but samples, the model and the memory of layers; of second differences not
even these::

    second differences                        staggered first differences
    ------------------                        ---------------------------
    record what the step before left;         record the stresses that the step before left;
    fluxes of the layers                      velocities
    own rows                                  sources of these; outer rows to the blocks beside
    sources                                   record the velocities; stresses
    outer rows to the blocks beside           sources of these; outer rows to the blocks beside

A step of tiles, one for each multiprocessor of a card::

    fluxes of the layers, from p(n) of the tile alone
    outer memory of the layers; terms of second derivatives
    wait for the neighbours; p(n) at their edges
    record p(n); p(n+1) over p(n-1), in registers
    exchange registers and shared memory
    sources
    p(n+1) at the edges, to the card's memory

What stands in a line lies between two barriers of a block. Layers of tiles need nothing of other
tiles: tiles at the edges of the plane, which take longest, update them while the edges of their
neighbours arrive. A tile is at most one step ahead of its neighbours: an array each for edges of
even and of odd steps suffices.

The formulas and their operators are shared by all backends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from seismo.backends.gpu.resident.block import Arrays, BlockPoints, BoundFormula
from seismo.backends.gpu.resident.cluster_block import BlockCopies, ClusterBlock
from seismo.backends.gpu.resident.cluster_layout import ClusterShape, PassShape, plane_numbers
from seismo.backends.gpu.resident.cluster_steps import ClusterStages, ClusterSteps
from seismo.backends.gpu.resident.threads import (
    CardTiles,
    Cluster,
    Member,
    SharedLanes,
    ThreadLanes,
)
from seismo.backends.gpu.resident.tile_block import TileBlock, TileCopies
from seismo.backends.gpu.resident.tile_layout import TileShape, tile_numbers
from seismo.backends.gpu.resident.tile_steps import TileSteps
from seismo.backends.traced import (
    ExactArithmetic,
    IRValue,
    compute_exactly,
    keep_order,
    repeat,
    when,
)

if TYPE_CHECKING:
    from seismo.backends.gpu.code_cache import Tools

CoefficientRows = tuple[tuple[str, tuple[int, ...]], ...]  # name, and the lengths of its lists


def listed(coefficients: dict[str, list]) -> tuple[CoefficientRows, list[float]]:
    """Return the lengths of the lists of coefficients, and their numbers in a flat list.

    Args:
        coefficients: as `seismo.backends.gpu.sweeps.layouts.built_in` returns them.
    """
    # Differences have a list for each axis, the scalars of the run are a single list.
    tables = {name: lists if lists and isinstance(lists[0], list) else [lists]
              for name, lists in coefficients.items()}  # fmt: skip
    rows = tuple((name, tuple(map(len, lists))) for name, lists in tables.items())
    return rows, [number for table in tables.values() for row in table for number in row]


def named(rows: CoefficientRows, numbers: Iterable[IRValue]) -> dict[str, list]:
    """Return coefficients by name, as they were before they were `listed`."""
    # Numbers lie as `listed` put them.
    following = iter(numbers)
    tables = {name: [list(islice(following, n)) for n in lengths] for name, lengths in rows}
    return tables | {"numbers": tables["numbers"][0]}


@dataclass(frozen=True)
class ResidentKernel:
    """The steps of formulas in a plane.

    Grids and layouts share it: their sizes and coefficients are arguments.

    Attributes:
        formulas: that update points of each kind.
        precision: of the numbers.
        shape: built in.
        rows: of the coefficients (`listed`).
    """

    formulas: tuple[BoundFormula, ...]
    precision: str
    shape: Any
    rows: CoefficientRows = ()

    def __str__(self) -> str:
        """Identify it among all kernels."""
        formulas = [str(formula) for formula in self.formulas]
        return f"{formulas} {self.precision} {astuple(self.shape)} {self.rows}"

    def write(self, tools: Tools) -> Callable:
        """Write the kernel, for Numba to compile."""
        from numba.cuda import types
        from numba.cuda.extending import intrinsic

        lanes = SharedLanes(self.precision)

        @intrinsic
        def code(context, addresses, plane, coefficients, first, count):
            def generate(context, builder, signature, args):
                tuples = [
                    [IRValue(builder, builder.extract_value(argument, n)) for n in range(len(kind))]
                    for argument, kind in zip(args[:3], signature.args, strict=False)
                ]
                steps = (IRValue(builder, arg) for arg in args[3:])
                self.trace(lanes, self._threads(builder, lanes, *tuples[:2]), *tuples, *steps)
                return context.get_dummy_value()

            return types.void(addresses, plane, coefficients, first, count), generate

        def kernel(addresses, plane, coefficients, first, count):
            code(addresses, plane, coefficients, first, count)

        return kernel

    def trace(
        self, lanes: SharedLanes, threads: Any, addresses: Sequence[IRValue],
        plane: Sequence[IRValue], coefficients: Sequence[IRValue], first: IRValue, count: IRValue,
    ) -> None:  # fmt: skip
        """Write the code of a thread.

        Args:
            lanes: the lanes.
            threads: the blocks that work together (`Cluster`, `CardTiles`).
            addresses: as in `Arrays`.
            plane: numbers of the plane, then `SourceNumbers`.
            coefficients: of the differences, and scalars of the run, as `listed`.
            first: number of the first step.
            count: of the steps.
        """
        arrays = Arrays.of(addresses, self.shape)
        by_name = named(self.rows, coefficients)
        self._loop(lanes, threads, arrays, plane, by_name, first).trace(first + count)

    def _threads(
        self, builder: ir.IRBuilder, lanes: SharedLanes, addresses: Sequence[IRValue],
        plane: Sequence[IRValue],
    ) -> Any:  # fmt: skip
        """Return the blocks that work together."""
        raise NotImplementedError

    def _loop(
        self, lanes: SharedLanes, threads: Any, arrays: Arrays, plane: Sequence[IRValue],
        coefficients: dict[str, list], first: IRValue,
    ) -> Any:  # fmt: skip
        """Return the steps of a thread."""
        raise NotImplementedError


@dataclass(frozen=True)
class ClusterKernel(ResidentKernel):
    """The steps of a plane in a cluster, a shot each."""

    shape: ClusterShape

    def _threads(
        self, builder: ir.IRBuilder, lanes: SharedLanes, addresses: Sequence[IRValue],
        plane: Sequence[IRValue],
    ) -> Cluster:  # fmt: skip
        numbers, _ = plane_numbers(plane)
        row_bytes = numbers.row * (self.shape.halo * lanes.size)
        return Cluster(
            builder, lanes, numbers.blocks, numbers.numbers * lanes.size,
            [row_bytes * len(exchange.sent) for exchange in self.shape.exchanges],
        )  # fmt: skip

    def _loop(
        self, lanes: SharedLanes, threads: Cluster, arrays: Arrays, plane: Sequence[IRValue],
        coefficients: dict[str, list], first: IRValue,
    ) -> _ClusterLoop:  # fmt: skip
        if self.shape.alternating:
            keep_order(first.builder)
        else:
            compute_exactly(first.builder, ExactArithmetic(lanes.hidden, lanes.quotient))
        numbers, sources = plane_numbers(plane)
        block = ClusterBlock(lanes, arrays, numbers, self.shape)
        # Second differences have fluxes and two fields by turns, stages have neither.
        steps: ClusterSteps | ClusterStages
        if self.shape.alternating:
            steps = ClusterSteps(block, self.formulas[0].formula, coefficients)
        else:
            steps = ClusterStages(block, self.formulas, coefficients)
        threads.keep(block.find)
        return _ClusterLoop(threads, block, steps, BlockPoints(block, sources), first)


@dataclass(frozen=True)
class _ClusterLoop:
    """The steps of a thread.

    Attributes:
        cluster: the blocks that work together.
        block: the thread's rows.
        steps: updates of the points, pass by pass.
        points: sources and receivers.
        first: number of the first step.
    """

    cluster: Cluster
    block: ClusterBlock
    steps: ClusterSteps | ClusterStages
    points: BlockPoints
    first: IRValue

    def trace(self, last: IRValue) -> None:
        """Write the code of all steps before `last`."""
        cluster = self.cluster
        copies = BlockCopies(self.block)
        cluster.phase(self.block.clear)
        cluster.phase(lambda member: copies.load(member, self.first))
        cluster.begin()
        repeat(self.first, last, [], self._step)

        def finish(member: Member) -> None:
            # What the last step left is recorded by nobody else.
            for pass_ in self.block.shape.passes:
                if pass_.late and pass_.recorded is not None:
                    self.points.record(member, last - 1, pass_.recorded)
            copies.store(member, last)

        cluster.phase(finish)
        cluster.synchronize()

    def _step(self, n: IRValue, _: list[IRValue]) -> list[IRValue]:
        """Take step n."""
        # A barrier behind each pass and its sources; rows of neighbours before the next pass.
        for number, pass_ in enumerate(self.block.shape.passes):
            self.cluster.phase(partial(self._advance, number, n=n))
            if pass_.injected:
                with when(self.points.sources_act(pass_.injected, n)):
                    self.cluster.phase(partial(self.points.inject, pass_.injected, step=n))
            if pass_.sent:
                self._exchange(pass_, n)
        return []

    def _advance(self, number: int, member: Member, n: IRValue) -> None:
        """Do a pass of step n."""
        # Record the result of an earlier pass: nothing in this pass changes it.
        pass_ = self.block.shape.passes[number]
        if pass_.recorded is not None and pass_.late:
            with when(n > self.first):
                self.points.record(member, n - 1, pass_.recorded)
        elif pass_.recorded is not None:
            self.points.record(member, n, pass_.recorded)
        self.steps.advance(number, member, n)

    def _exchange(self, pass_: PassShape, n: IRValue) -> None:
        """Hand over the rows of a pass in step n."""
        # Exchanges of a step are counted through all steps: even and odd turns have own counters.
        exchanges = self.block.shape.exchanges
        kind = exchanges.index(pass_)
        turn = n - self.first
        if len(exchanges) > 1:
            turn = turn * len(exchanges) + kind
        self.cluster.exchange(
            lambda member, send: self.block.hand_over(member, n, send, pass_.sent), turn, kind
        )


@dataclass(frozen=True)
class TileKernel(ResidentKernel):
    """The steps of a plane in tiles, of second differences."""

    shape: TileShape

    def __str__(self) -> str:
        """Identify it among all kernels."""
        return f"tiles {super().__str__()}"

    def _threads(
        self, builder: ir.IRBuilder, lanes: SharedLanes, addresses: Sequence[IRValue],
        plane: Sequence[IRValue],
    ) -> CardTiles:  # fmt: skip
        numbers, _ = tile_numbers(plane)
        (done,) = Arrays.of(addresses, self.shape).work
        registers = ThreadLanes(builder, lanes, self.shape.strip)
        tiles = (numbers.tiles, numbers.tiles_x)
        return CardTiles(builder, registers, done, self.shape.threads, tiles, numbers.shot)

    def _loop(
        self, lanes: SharedLanes, threads: CardTiles, arrays: Arrays, plane: Sequence[IRValue],
        coefficients: dict[str, list], first: IRValue,
    ) -> _TileLoop:  # fmt: skip
        # Bits of a point do not depend on the rows beside which it is written out.
        compute_exactly(first.builder, ExactArithmetic(lanes.hidden, lanes.quotient))
        numbers, sources = tile_numbers(plane)
        block = TileBlock(lanes, arrays, numbers, self.shape)
        steps = TileSteps(block, self.formulas[0].formula, coefficients, threads.registers)
        threads.keep(block.find)
        copies = TileCopies(block, threads.registers)
        return _TileLoop(threads, block, copies, steps, BlockPoints(block, sources), first)


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
        self.tiles.phase(self.block.clear)
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
        # CPML: fluxes, then the terms of fluxes and outer memory in second derivatives.
        tiles.phase(self.steps.update_fluxes)
        tiles.phase(self.steps.update_layers)
        self._receive(n)

        def update(member: Member) -> None:
            # The previous step's result is recorded as this step reads it.
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
