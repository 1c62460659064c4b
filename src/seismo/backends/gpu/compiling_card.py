"""A card that only compiles: the launches of a simulation on a GPU, as PTX, on any machine.

PTX is the code that an assembler turns into the card's own. It shows which loads and stores there
are, and in which precision a kernel computes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seismo.backends.gpu.code_cache import (
    CompileRequest,
    Tools,
    compile_ptx,
    types_of,
)
from seismo.backends.gpu.sweeps.kernels import SweepKernel


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
