"""A kernel with the time loop inside: a shot of a plane lives in the shared memory of a cluster.

Each block of the cluster has some rows of both fields, of the model and of layer memory. A step
moves nothing but samples through the card's memory::

    record what the step before left; fluxes of the layers
    update own rows
    add the sources
    hand the outer rows to the blocks beside; wait for theirs

The formula and its operators are those of all backends; layers take two passes, as on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from itertools import islice
from typing import TYPE_CHECKING

from numba.cuda import types
from numba.cuda.extending import intrinsic

from seismo.backends.gpu.cluster import Cluster, ClusterLanes, Member
from seismo.backends.gpu.cluster_block import Arrays, ClusterBlock
from seismo.backends.gpu.cluster_copies import BlockCopies
from seismo.backends.gpu.cluster_layout import ClusterShape, PlaneNumbers, shortened
from seismo.backends.gpu.cluster_points import BlockPoints
from seismo.backends.gpu.cluster_steps import ClusterSteps
from seismo.backends.traced import IRValue, keep_order, repeat, when
from seismo.equations.formula import Formula

if TYPE_CHECKING:
    from seismo.backends.gpu.code_cache import Tools

CoefficientRows = tuple[tuple[str, tuple[int, ...]], ...]  # name, and the lengths of its lists


def listed(coefficients: dict[str, list]) -> tuple[CoefficientRows, list[float]]:
    """Return how long the lists of coefficients are, and all their numbers, one after the other.

    Args:
        coefficients: as `seismo.backends.gpu.march.built_in` returns them.
    """
    # Differences have a list for each axis, the scalars of the run are one alone.
    tables = {name: some if some and isinstance(some[0], list) else [some]
              for name, some in coefficients.items()}  # fmt: skip
    rows = tuple((name, tuple(map(len, some))) for name, some in tables.items())
    return rows, [number for some in tables.values() for row in some for number in row]


def _named(rows: CoefficientRows, numbers: Iterable[IRValue]) -> dict[str, list]:
    """Return coefficients by name, as they were before they were `listed`."""
    # Numbers follow one another as `listed` put them.
    following = iter(numbers)
    tables = {name: [list(islice(following, n)) for n in lengths] for name, lengths in rows}
    return tables | {"numbers": tables["numbers"][0]}


@dataclass(frozen=True)
class ClusterKernel:
    """The steps of a formula of second differences in a plane.

    Grids and layouts share it: their sizes and coefficients are arguments.

    Attributes:
        formula: that changes one field and differentiates one.
        precision: of the numbers.
        shape: built in.
        rows: of the coefficients (`listed`).
    """

    formula: Formula
    precision: str
    shape: ClusterShape
    rows: CoefficientRows

    def __str__(self) -> str:
        """Identify it among all kernels."""
        return f"{self.formula} {self.precision} {astuple(self.shape)} {self.rows}"

    def write(self, tools: Tools) -> Callable:
        """Write the kernel."""
        lanes = ClusterLanes(self.precision)

        @intrinsic
        def code(context, addresses, plane, coefficients, first, count):
            def generate(context, builder, signature, args):
                tuples = [
                    [IRValue(builder, builder.extract_value(argument, n)) for n in range(len(kind))]
                    for argument, kind in zip(args[:3], signature.args, strict=False)
                ]
                steps = (IRValue(builder, one) for one in args[3:])
                numbers = shortened(PlaneNumbers(*tuples[1]))
                cluster = Cluster(
                    builder, lanes, numbers.blocks, numbers.numbers * lanes.size,
                    numbers.row * (self.shape.halo * lanes.size),
                )  # fmt: skip
                self.trace(lanes, cluster, *tuples, *steps)
                return context.get_dummy_value()

            return types.void(addresses, plane, coefficients, first, count), generate

        def kernel(addresses, plane, coefficients, first, count):
            code(addresses, plane, coefficients, first, count)

        return kernel

    def trace(
        self, lanes: ClusterLanes, cluster: Cluster, addresses: Sequence[IRValue],
        plane: Sequence[IRValue], coefficients: Sequence[IRValue], first: IRValue, count: IRValue,
    ) -> None:  # fmt: skip
        """Write the code of a thread.

        Args:
            lanes: the lanes.
            cluster: the blocks that work together (`Cluster`).
            addresses: those that `Arrays` names.
            plane: numbers that `PlaneNumbers` names.
            coefficients: of the differences, and scalars of the run, as `listed`.
            first: number of the first step.
            count: of the steps.
        """
        keep_order(first.builder)
        block = ClusterBlock(lanes, Arrays(*addresses), shortened(PlaneNumbers(*plane)), self.shape)
        copies = BlockCopies(block)
        steps = ClusterSteps(block, self.formula, _named(self.rows, coefficients))
        points = BlockPoints(block)
        last = first + count
        cluster.keep(block.find)
        cluster.phase(copies.clear)
        cluster.phase(lambda member: copies.load(member, first))
        cluster.begin()

        def step(n: IRValue, _: list[IRValue]) -> list[IRValue]:
            def prepare(member: Member) -> None:
                with when(n > first):
                    points.record(member, n - 1)
                steps.fluxes(member, n)

            cluster.phase(prepare)
            cluster.phase(lambda member: steps.update(member, n))
            with when(points.sources_act(n)):
                cluster.phase(lambda member: points.inject(member, n))
            cluster.exchange(lambda member, send: steps.hand_over(member, n, send), n - first)
            return []

        repeat(first, last, [], step)

        def finish(member: Member) -> None:
            points.record(member, last - 1)
            copies.store(member, last)

        cluster.phase(finish)
        cluster.meet()
