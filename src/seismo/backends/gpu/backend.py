"""The GPU backend: the same formulas on 16-byte lanes, everything resident on the card.

Fields, model, wavelets, record and step counter stay on the card from the first step to the last.
The host queues graphs of steps and waits for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from seismo.backends.base import (
    PML_COST,
    Communicator,
    Group,
    KernelConstants,
    KernelFields,
    Launch,
    Rows,
    Search,
    Step,
    Variant,
)
from seismo.backends.gpu.arrays import GpuArrays
from seismo.backends.gpu.launch_order import BodyCall, CountedSteps, SweepCall
from seismo.backends.gpu.reduction import BLOCKS, THREADS, bind_largest
from seismo.backends.gpu.resident.program import resident_program
from seismo.backends.gpu.sweeps import blocks
from seismo.backends.gpu.sweeps.binding import SweepBinding
from seismo.backends.gpu.sweeps.kernels import BodyKernel
from seismo.equations.framework.formula import Formula

BODY_THREADS = 128
ROW_THREADS = (64, 2)
YZ_SWAPPED = [2, 3, 0, 1, 4, 5, 6, 7, 8, 10, 9, 11]  # columns of a box of one span, y and z swapped


def _tick(n, clock) -> None:
    clock[n] += 1


class GpuBackend(GpuArrays):
    """Numba kernels on one NVIDIA card."""

    name = "gpu"
    batch_points = 32 << 20  # 64 shots of 340^2 run 8 times as fast together as alone
    at_once = True
    has_float16 = True
    pml_costs = PML_COST["gpu"]
    copied_from = 8 << 20
    looks_ahead = 1
    measured_from = 0.2
    search = (THREADS, BLOCKS)

    def largest(self, field: Any, plane: int) -> Search:
        """Search all of a field on the card; see `Backend.largest`."""
        return bind_largest(self.card, field, field.dtype.name, *self.search)

    def sweep(
        self, formula, variant: Variant, tables: KernelConstants, boxes, operands: KernelFields,
        back: bool = False, whole_boxes: np.ndarray | None = None,
    ) -> list[Launch]:  # fmt: skip
        """Bind a formula; see `Backend.sweep`. Parts of boxes have the layout of the whole ones.

        A volume does not fit the card's cache: there, the way back won nothing. In volumes threads
        march across a layer, along what they call z: where it lies across y, the two are swapped,
        as second derivatives are the same along all axes. So are corners: they share a layout.
        """
        back = back and "y" not in variant.axes
        call = SweepCall(formula, variant, tables, boxes, operands)
        bind = partial(SweepBinding, self, call, back=back)
        launches = []
        # Segments without points launch nothing.
        alike = blocks.by_operators(variant, boxes if whole_boxes is None else whole_boxes)
        for stretched, filled in blocks.by_operators(variant, boxes).items():
            if not len(filled):
                continue
            like = None if whole_boxes is None else alike[stretched]
            # Layers across y march along y: exchange the columns of y and z, and the tables with
            # them.
            if variant.at_once and stretched.endswith("y"):
                across = stretched.replace("y", "z")
                sweep = bind(tables=tables.turned, turned=True)
                turned = None if like is None else like[:, YZ_SWAPPED]
                launches.append(sweep.launch(across, filled[:, YZ_SWAPPED], turned))
            else:
                launches.append(bind(tables=tables).launch(stretched, filled, like))
        return launches

    def marches_slopes(self, formula: Formula, reach: int) -> bool:
        """See `Backend.marches_slopes`."""
        return blocks.marches_slopes(self.shapes, formula, reach)

    def each(
        self, body: Callable, count: int, arguments: tuple, writes: tuple[int, ...], shots=None
    ) -> Launch:
        """Bind a body; see `Backend.each`."""
        # One thread for each n.
        grid = (-(-count // BODY_THREADS), 1, 1)
        return self.card.launch(
            BodyKernel(body, rows=False), grid, (BODY_THREADS, 1, 1), (count, 1, arguments),
            addresses=False,
            writes=tuple(arguments[n] for n in writes),
            call=BodyCall(body, count, arguments, shots),
        )  # fmt: skip

    def each_row(
        self, body: Callable, count: int, length: int, arguments: tuple, writes: tuple[int, ...],
        shots=None,
    ) -> Launch:  # fmt: skip
        """Bind a body; see `Backend.each_row`."""
        # Rows along the grid's x, which counts to 2^31 - 1; points of a row along y.
        tx, ty = ROW_THREADS
        return self.card.launch(
            BodyKernel(body, rows=True),
            (-(-count // ty), min(-(-length // tx), blocks.MOST_BLOCKS), 1), (tx, ty, 1),
            (count, length, arguments),
            addresses=False, writes=tuple(arguments[n] for n in writes),
        )  # fmt: skip

    def program(
        self, steps: tuple[Step, ...], others: Sequence[tuple[GpuBackend, tuple[Step, ...]]] = ()
    ) -> Callable[[int, int], None]:
        """Record what steps launch; see `Backend.program`.

        Planes that fit the card are stepped by one kernel with the time loop inside.
        """
        members = ((self, steps), *others)

        def launches() -> Callable[[int, int], None]:
            return self.card.program([b.clocked(selected) for b, selected in members])

        return (None if others else resident_program(self, steps, launches)) or launches()

    def clocked(self, steps: tuple[Step, ...]) -> CountedSteps:
        """Let steps count themselves."""
        # The step counter is incremented on the card, as the last launch of a step.
        tick = Group([self.each(_tick, 1, (self.clock,), (0,))])
        return CountedSteps(self.card, tuple([*step, tick] for step in steps), self.clock)

    def exchange(self, ranks: Communicator, out: dict[int, Any], into: dict[int, Any]) -> tuple:
        """Let cards of different processes send to one another; see `Backend.exchange`."""
        return (self.card.exchange(ranks, out, into),), ()

    def mark(self) -> Launch:
        """See `Backend.mark`."""
        return self.card.mark()

    def reaches(self, other: GpuBackend) -> bool:
        """Whether the card sees the memory of another; see `Backend.reaches`."""
        return self.card.reaches(other.card)

    def copy(
        self, sources: Sequence[Any], source_rows: Rows, targets: Sequence[Any], target_rows: Rows
    ) -> Launch:
        """Let a copy engine do it; see `Backend.copy`."""
        return self.card.copying(sources, source_rows, targets, target_rows)

    def staged_copy(self, source: Any, other: GpuBackend, target: Any) -> tuple[Launch, ...]:
        """Copy through the host's memory; see `Backend.staged_copy`."""
        host = self.card.host_buffer(source.nbytes)
        return self.card.fetching(source, host), other.card.putting(host, target)
