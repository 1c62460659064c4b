"""A card that only compiles: what a simulation would launch on a GPU, as PTX, on any machine.

PTX is the code that the driver's assembler turns into the card's own. How many registers that takes
is not known here; which loads and stores there are, and in which precision it computes, is.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba.cuda import types
from numba.np.numpy_support import from_dtype

from seismo.backends.gpu.code_cache import CompileRequest, Tools, compile_ptx
from seismo.backends.gpu.kernels import SweepKernel


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
    """Tell whether a kernel is a sweep over one box without layers."""
    return isinstance(kernel, SweepKernel) and kernel.box is not None


@dataclass
class CompilingCard(Tools):
    """Stand in for `seismo.backends.gpu.card.Card`; `codes` compiles what was launched."""

    capability: tuple[int, int]
    wanted: Callable[[Any], bool] = lambda kernel: True
    requests: dict[Any, CompileRequest] = field(default_factory=dict)
    name = "a compiler"
    memory = 1 << 40

    def zeros(self, size: int, precision: str):
        return np.zeros(size, precision)

    def array(self, values):
        return np.array(values)

    def fetch(self, array):
        return np.asarray(array)

    def launch(self, kernel, grid, block, arguments, *, addresses, writes, bounds=None, call=None):
        assert np.prod(block) <= 1024
        assert all(n <= 64 for n in block[2:])
        assert all(n <= 65535 for n in grid[1:])
        signature = tuple(_type(a, addresses) for a in arguments)
        if self.wanted(kernel):
            request = CompileRequest(kernel, signature, bounds, addresses, self.capability)
            self.requests[request.name] = request
        return lambda: None

    def take_requests(self) -> list[CompileRequest]:
        rotated, self.requests = self.requests, {}
        return list(rotated.values())

    def wait(self) -> None:
        pass

    def free_memory(self) -> int:
        return self.memory

    def describe(self) -> dict[str, str]:
        return {"device": self.name}

    def program(self, members):
        return lambda first, count: None

    def codes(self) -> list[Code]:
        """Compile everything."""
        return [Code(r.kernel, compile_ptx(r)) for r in self.requests.values()]


def _type(argument, addresses: bool):
    """Give the type that `seismo.backends.gpu.card` gives."""
    if isinstance(argument, tuple):
        return types.Tuple([_type(a, addresses) for a in argument])
    number = from_dtype(np.asarray(argument).dtype)
    if not isinstance(argument, np.ndarray):
        return number
    return types.uint64 if addresses else types.Array(number, argument.ndim, "C")
