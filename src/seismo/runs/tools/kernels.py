"""The kernels that a run launches on a GPU, compiled on any machine: their purpose and cost.

The simulation is built as for a run, on a card that only compiles. The least bytes moved are each
array that a formula reads, once, and each that it changes, twice: a kernel whose loads are served
by the cache comes near to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from seismo.backends.base import computed_in
from seismo.backends.gpu import code_cache
from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.gpu.code_cache import CompileRequest, registers
from seismo.backends.gpu.compiling_card import Code, CompilingCard
from seismo.backends.gpu.sweeps.kernels import SweepKernel
from seismo.scenario import Scenario
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation

if TYPE_CHECKING:
    from seismo.backends.gpu.card import Card


@dataclass(frozen=True)
class KernelFacts:
    """The purpose of a kernel, and the cost of a thread.

    Attributes:
        name: of the formula or function.
        where: the points that it updates, or "" where it is no update of the grid.
        layout: threads of a block along x, y, z, and planes of a thread.
        registers: of a thread.
        spilled: bytes of a thread in memory for want of registers.
        loads: instructions in the code that load from memory.
        stores: instructions that store.
        moved: bytes a point that are moved at least, 0 where it is no update of the grid.
    """

    name: str
    where: str
    layout: str
    registers: int
    spilled: int
    loads: int
    stores: int
    moved: int


def launched(scenario: Scenario, capability: tuple[int, int]) -> list[CompileRequest]:
    """Return the kernels of a run's steps, in the order in which they are first bound.

    Args:
        scenario: a checked scenario.
        capability: of the card that they are compiled for, such as (9, 0).
    """
    code_cache.without_card(capability)
    card = CompilingCard(capability)
    backend = GpuBackend(scenario.precision, cast("Card", card))
    Simulation(discretize(scenario), backend)
    return card.take_requests()


def facts_of(request: CompileRequest) -> KernelFacts:
    """Compile a kernel, and return its purpose and cost."""
    code = Code(request.kernel, code_cache.compile_ptx(request))
    kernel = code.kernel
    name = str(kernel).split(" ", 1)[0].rpartition(".")[2]
    where = layout = ""
    moved = 0
    if isinstance(kernel, SweepKernel):
        constants = kernel.constants
        across = ", ".join(constants.stretched)
        where = f"layers across {across}" if across else "interior"
        where += " under the surface" * constants.closed
        layout = f"{' x '.join(map(str, kernel.shape.threads))}, {kernel.shape.planes}"
        size = np.dtype(computed_in(kernel.precision)).itemsize
        sizes = [2 if short else size for short in constants.short]
        changed = sum(sizes[: constants.writes])
        moved = sum(sizes) + changed + 2 * size * constants.memories
    taken = registers(code.text, request.capability)
    return KernelFacts(
        name, where, layout, taken.used, taken.spilled, len(code.instructions(r"ld\.global")),
        len(code.instructions(r"st\.global")), moved,
    )  # fmt: skip
