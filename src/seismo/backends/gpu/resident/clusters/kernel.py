"""A kernel with the time loop inside: a shot of a plane lives in the shared memory of a cluster.

Each block of the cluster has some rows of all fields. A step moves nothing through the card's
memory but samples, the model and the memory of layers; of second differences not even these::

    second differences                        staggered first differences
    ------------------                        ---------------------------
    record what the step before left;         record the stresses that the step before left;
    fluxes of the layers                      velocities
    own rows                                  sources of these; outer rows to the blocks beside
    sources                                   record the velocities; stresses
    outer rows to the blocks beside           sources of these; outer rows to the blocks beside

What stands in a line lies between two barriers of a block. The formulas and their operators are
those of all backends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from seismo.backends.gpu.resident.clusters.block import Arrays, BlockCopies, ClusterBlock
from seismo.backends.gpu.resident.clusters.cluster import (
    Cluster,
    ClusterLanes,
    Member,
)
from seismo.backends.gpu.resident.clusters.layout import (
    ClusterShape,
    PassShape,
    plane_numbers,
)
from seismo.backends.gpu.resident.clusters.stages import BoundFormula, ClusterStages
from seismo.backends.gpu.resident.clusters.steps import ClusterSteps
from seismo.backends.gpu.resident.points import BlockPoints
from seismo.backends.traced import (
    ExactArithmetic,
    IRValue,
    compute_exactly,
    keep_order,
    repeat,
    when,
)

if TYPE_CHECKING:
    from seismo.backends.gpu.compile.code_cache import Tools

CoefficientRows = tuple[tuple[str, tuple[int, ...]], ...]  # name, and the lengths of its lists


def listed(coefficients: dict[str, list]) -> tuple[CoefficientRows, list[float]]:
    """Return how long the lists of coefficients are, and all their numbers, one after the other.

    Args:
        coefficients: as `seismo.backends.gpu.sweeps.constants.built_in` returns them.
    """
    # Differences have a list for each axis, the scalars of the run are one alone.
    tables = {name: some if some and isinstance(some[0], list) else [some]
              for name, some in coefficients.items()}  # fmt: skip
    rows = tuple((name, tuple(map(len, some))) for name, some in tables.items())
    return rows, [number for table in tables.values() for row in table for number in row]


def named(rows: CoefficientRows, numbers: Iterable[IRValue]) -> dict[str, list]:
    """Return coefficients by name, as they were before they were `listed`."""
    # Numbers follow one another as `listed` put them.
    following = iter(numbers)
    tables = {name: [list(islice(following, n)) for n in lengths] for name, lengths in rows}
    return tables | {"numbers": tables["numbers"][0]}


def looping(
    lanes: ClusterLanes, together: Callable[..., Any], trace: Callable[..., None]
) -> Callable:
    """Return a kernel with the time loop inside, for Numba to compile.

    Args:
        lanes: of the precision.
        together: gives the blocks that work together; takes the builder, the addresses and the
            numbers of a plane.
        trace: writes the code of a thread (`ClusterKernel.trace`).
    """
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    @intrinsic
    def code(context, addresses, plane, coefficients, first, count):
        def generate(context, builder, signature, args):
            tuples = [
                [IRValue(builder, builder.extract_value(argument, n)) for n in range(len(kind))]
                for argument, kind in zip(args[:3], signature.args, strict=False)
            ]
            steps = (IRValue(builder, arg) for arg in args[3:])
            trace(lanes, together(builder, *tuples[:2]), *tuples, *steps)
            return context.get_dummy_value()

        return types.void(addresses, plane, coefficients, first, count), generate

    def kernel(addresses, plane, coefficients, first, count):
        code(addresses, plane, coefficients, first, count)

    return kernel


@dataclass(frozen=True)
class ClusterKernel:
    """The steps of some formulas in a plane.

    Grids and layouts share it: their sizes and coefficients are arguments.

    Attributes:
        formulas: that update points of each kind.
        precision: of the numbers.
        shape: built in.
        rows: of the coefficients (`listed`).
    """

    formulas: tuple[BoundFormula, ...]
    precision: str
    shape: ClusterShape
    rows: CoefficientRows

    def __str__(self) -> str:
        """Identify it among all kernels."""
        formulas = [str(formula) for formula in self.formulas]
        return f"{formulas} {self.precision} {astuple(self.shape)} {self.rows}"

    def write(self, tools: Tools) -> Callable:
        """Write the kernel."""
        lanes = ClusterLanes(self.precision)

        def together(builder: ir.IRBuilder, _: Any, plane: Sequence[IRValue]) -> Cluster:
            numbers, _ = plane_numbers(plane)
            row_bytes = numbers.row * (self.shape.halo * lanes.size)
            return Cluster(
                builder, lanes, numbers.blocks, numbers.numbers * lanes.size,
                [row_bytes * len(exchange.sent) for exchange in self._exchanges],
            )  # fmt: skip

        return looping(lanes, together, self.trace)

    def trace(
        self, lanes: ClusterLanes, cluster: Cluster, addresses: Sequence[IRValue],
        plane: Sequence[IRValue], coefficients: Sequence[IRValue], first: IRValue, count: IRValue,
    ) -> None:  # fmt: skip
        """Write the code of a thread.

        Args:
            lanes: the lanes.
            cluster: the blocks that work together (`Cluster`).
            addresses: those that `Arrays` names.
            plane: numbers that `PlaneNumbers` names, then `SourceNumbers`.
            coefficients: of the differences, and scalars of the run, as `listed`.
            first: number of the first step.
            count: of the steps.
        """
        shape = self.shape
        if shape.alternating:
            keep_order(first.builder)
        else:
            compute_exactly(first.builder, ExactArithmetic(lanes.hidden, lanes.quotient))
        numbers, sources = plane_numbers(plane)
        block = ClusterBlock(lanes, Arrays.of(addresses, shape), numbers, shape)
        copies = BlockCopies(block)
        coefficients_by_name = named(self.rows, coefficients)
        # Second differences have fluxes and two fields by turns, stages have neither.
        steps: ClusterSteps | ClusterStages
        if shape.alternating:
            steps = ClusterSteps(block, self.formulas[0].formula, coefficients_by_name)
        else:
            steps = ClusterStages(block, self.formulas, coefficients_by_name)
        points = BlockPoints(block, zip(block.arrays.sources, sources, strict=True))
        cluster.keep(block.find)
        loop = _ClusterLoop(cluster, shape, copies, steps, points, self._exchanges, first)
        loop.trace(first + count)

    @property
    def _exchanges(self) -> list[PassShape]:
        """Passes after which blocks hand rows to one another; at most two."""
        return [pass_ for pass_ in self.shape.passes if pass_.sent]


@dataclass(frozen=True)
class _ClusterLoop:
    """The steps of a thread.

    Attributes:
        cluster: the blocks that work together.
        shape: built in.
        copies: between the card's memory and that of the block, and to its neighbours.
        steps: updates of the points, pass by pass.
        points: sources and receivers.
        exchanges: passes after which blocks hand rows to one another.
        first: number of the first step.
    """

    cluster: Cluster
    shape: ClusterShape
    copies: BlockCopies
    steps: ClusterSteps | ClusterStages
    points: BlockPoints
    exchanges: list[PassShape]
    first: IRValue

    def trace(self, last: IRValue) -> None:
        """Write the code of all steps before `last`."""
        cluster = self.cluster
        cluster.phase(self.copies.clear)
        cluster.phase(lambda member: self.copies.load(member, self.first))
        cluster.begin()
        repeat(self.first, last, [], self._step)

        def finish(member: Member) -> None:
            # What the last step left is recorded by nobody else.
            for pass_ in self.shape.passes:
                if pass_.late and pass_.recorded is not None:
                    self.points.record(member, last - 1, pass_.recorded)
            self.copies.store(member, last)

        cluster.phase(finish)
        cluster.meet()

    def _step(self, n: IRValue, _: list[IRValue]) -> list[IRValue]:
        """Take step n."""
        # A barrier behind each pass and its sources; rows of neighbours before the next one.
        for number, pass_ in enumerate(self.shape.passes):
            self.cluster.phase(partial(self._advance, number, n=n))
            if pass_.injected:
                with when(self.points.sources_act(pass_.injected, n)):
                    self.cluster.phase(partial(self.points.inject, pass_.injected, step=n))
            if pass_.sent:
                self._exchange(pass_, n)
        return []

    def _advance(self, number: int, member: Member, n: IRValue) -> None:
        """Do a pass of step n."""
        # Record what an earlier pass has left: nothing in this pass changes it.
        one = self.shape.passes[number]
        if one.recorded is not None and one.late:
            with when(n > self.first):
                self.points.record(member, n - 1, one.recorded)
        elif one.recorded is not None:
            self.points.record(member, n, one.recorded)
        self.steps.advance(number, member, n)

    def _exchange(self, one: PassShape, n: IRValue) -> None:
        """Hand over the rows of a pass in step n."""
        # Exchanges of a step are counted through all steps: even and odd turns have own counters.
        kind = self.exchanges.index(one)
        turn = n - self.first
        if len(self.exchanges) > 1:
            turn = turn * len(self.exchanges) + kind
        self.cluster.exchange(
            lambda member, send: self.copies.hand_over(member, n, send, one.sent), turn, kind
        )
