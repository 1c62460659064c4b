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

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from numba.cuda import types
from numba.cuda.extending import intrinsic

from seismo.backends.base import KernelConstants
from seismo.backends.gpu.cluster import Cluster, ClusterLanes, Member
from seismo.backends.gpu.cluster_block import Arrays, ClusterBlock
from seismo.backends.gpu.cluster_copies import BlockCopies
from seismo.backends.gpu.cluster_layout import ClusterLayout
from seismo.backends.gpu.cluster_points import BlockPoints
from seismo.backends.gpu.cluster_steps import ClusterSteps
from seismo.backends.gpu.march import digest_of
from seismo.backends.traced import IRValue, keep_order, repeat, when
from seismo.equations.formula import Formula


@dataclass(frozen=True)
class ClusterKernel:
    """The steps of a formula of second differences in a plane.

    Attributes:
        formula: that changes one field and differentiates one.
        precision: of the numbers.
        tables: built in, but for the profiles.
        layout: built in.
        kinds: axes that are stretched, of each kind of round.
        masked: whether rows may end within a lane.
        source_cells: of a shot.
        samples: of a signal.
        channels: of the record; 0 without receivers.
    """

    formula: Formula
    precision: str
    tables: KernelConstants
    layout: ClusterLayout
    kinds: tuple[str, ...]
    masked: bool
    source_cells: int
    samples: int
    channels: int

    def __str__(self) -> str:
        """Identify it among all kernels."""
        t = self.tables
        built_in = (self.precision, astuple(self.layout), self.kinds, self.masked)
        counts = (self.source_cells, self.samples, self.channels)
        shapes = [profile.shape for profile in t.profiles]
        return f"{self.formula} {digest_of(t)} {shapes} {t.inside} {built_in} {counts}"

    def write(self, tools: Any) -> Callable:
        """Write the kernel."""
        lanes = ClusterLanes(self.precision)

        @intrinsic
        def code(context, addresses, first, count):
            def generate(context, builder, signature, args):
                words = [IRValue(builder, builder.extract_value(args[0], n))
                         for n in range(len(Arrays._fields))]  # fmt: skip
                steps = (IRValue(builder, one) for one in args[1:])
                layout = self.layout
                cluster = Cluster(
                    builder, lanes, layout.blocks, layout.numbers * lanes.size,
                    layout.halo * layout.row * lanes.size,
                )  # fmt: skip
                self.trace(lanes, cluster, words, *steps)
                return context.get_dummy_value()

            return types.void(addresses, first, count), generate

        def kernel(addresses, first, count):
            code(addresses, first, count)

        return kernel

    def trace(
        self, lanes: ClusterLanes, cluster: Any, addresses: Sequence[IRValue], first: IRValue,
        count: IRValue,
    ) -> None:  # fmt: skip
        """Write the code of a thread.

        Args:
            lanes: the lanes.
            cluster: the blocks that work together (`Cluster`).
            addresses: those that `Arrays` names.
            first: number of the first step.
            count: of the steps.
        """
        keep_order(first.builder)
        stride = int(self.tables.strides[1])
        block = ClusterBlock(
            lanes, Arrays(*addresses), self.layout, self.kinds, stride, self.masked
        )  # fmt: skip
        copies = BlockCopies(block)
        steps = ClusterSteps(block, self.formula, self.tables)
        points = BlockPoints(block, self.source_cells, self.samples, self.channels)
        last = first + count
        cluster.keep(block.find)
        cluster.phase(copies.clear)
        cluster.phase(lambda member: copies.load(member, first))
        cluster.begin()

        def step(n: IRValue, _: list[IRValue]) -> list[IRValue]:
            def prepare(member: Member) -> None:
                if self.channels:
                    with when(n > first):
                        points.record(member, n - 1)
                steps.fluxes(member, n)

            cluster.phase(prepare)
            cluster.phase(lambda member: steps.update(member, n))
            if self.source_cells:
                with when(points.sources_act(n)):
                    cluster.phase(lambda member: points.inject(member, n))
            cluster.exchange(lambda member, send: steps.hand_over(member, n, send), n - first)
            return []

        repeat(first, last, [], step)

        def finish(member: Member) -> None:
            if self.channels:
                points.record(member, last - 1)
            copies.store(member, last)

        cluster.phase(finish)
        cluster.meet()
