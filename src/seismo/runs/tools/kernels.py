"""The kernels that a run launches on a GPU, compiled on any machine: their purpose and cost.

The simulation is built as for a run, on a card that only compiles. The least bytes moved are each
array that a formula reads, once, and each that it changes, twice: a kernel whose loads are served
by the cache comes near to it.

`CompilingCard` gives the launches of a simulation on a GPU, as PTX, on any machine. PTX is the code
that an assembler turns into the card's own. It shows which loads and stores there are, and in which
precision a kernel computes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seismo.backends.base import computed_in
from seismo.backends.gpu import code_cache
from seismo.backends.gpu.backend import GpuBackend
from seismo.backends.gpu.code_cache import (
    CompileRequest,
    Tools,
    compile_ptx,
    registers,
    types_of,
)
from seismo.backends.gpu.sweeps.kernels import SweepKernel
from seismo.scenario import Scenario
from seismo.solver.discretize import discretize
from seismo.solver.simulation import Simulation

if TYPE_CHECKING:
    from seismo.backends.gpu.card import Card


@dataclass(frozen=True)
class Code:
    """A kernel and its PTX."""

    kernel: Any
    text: str

    def instructions(self, pattern: str) -> list[str]:
        """List the instructions that match from their first letter on."""
        return re.findall(rf"^\s*(?:@!?%p\d+\s+)?({pattern}\S*)", self.text, re.MULTILINE)

    @property
    def is_sweep(self) -> bool:
        """Whether it is a formula over boxes, its arrays being addresses."""
        return isinstance(self.kernel, SweepKernel)


def is_interior(kernel: Any) -> bool:
    """Whether a kernel is a sweep over a single box without layers."""
    return isinstance(kernel, SweepKernel) and kernel.box is not None


@dataclass
class CompilingCard(Tools):
    """Stand in for `seismo.backends.gpu.card.Card`; `codes` compiles the launched kernels."""

    capability: tuple[int, int]
    wanted: Callable[[Any], bool] = lambda kernel: True
    requests: dict[Any, CompileRequest] = field(default_factory=dict)
    name = "a compiler"
    multiprocessors = 132  # of an H200
    memory = 1 << 40

    def zeros(self, size: int, precision: str) -> np.ndarray:
        """Return zeros on the host."""
        return np.zeros(size, precision)

    def array(self, host_array: np.ndarray) -> np.ndarray:
        """Return a copy on the host."""
        return np.array(host_array)

    def fetch(self, array: np.ndarray) -> np.ndarray:
        """Return an array that is on the host already."""
        return np.asarray(array)

    def launch(
        self, kernel: Any, grid: tuple[int, ...], block: tuple[int, ...], arguments: Any, *,
        addresses: bool, writes: Any, bounds: Any = None, call: Any = None,
    ) -> Callable[[], None]:  # fmt: skip
        """Note a kernel, whose launch is within the limits of CUDA."""
        # CUDA's limits: threads of a block, planes of a block, blocks along y and z.
        assert np.prod(block) <= 1024
        assert all(n <= 64 for n in block[2:])
        assert all(n <= 65535 for n in grid[1:])
        # Numba compiles by types alone: no array is touched.
        signature = types_of(arguments, addresses, np.ndarray)
        if self.wanted(kernel):
            request = CompileRequest(kernel, signature, bounds, addresses, self.capability)
            self.requests[request.name] = request
        return lambda: None

    def take_requests(self) -> list[CompileRequest]:
        """Return the launches since the last call."""
        rotated, self.requests = self.requests, {}
        return list(rotated.values())

    def wait(self) -> None:
        """Return at once: nothing runs."""
        pass

    def free_memory(self) -> int:
        """Return as many bytes as no simulation needs."""
        return self.memory

    def describe(self) -> dict[str, str]:
        """Return the name of the device."""
        return {"device": self.name}

    def program(self, members: Any) -> Callable[[int, int], None]:
        """Return a function that takes no steps."""
        return lambda first, count: None

    def codes(self) -> list[Code]:
        """Compile everything."""
        return [Code(r.kernel, compile_ptx(r)) for r in self.requests.values()]


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
