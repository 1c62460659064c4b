"""Where a thread of a launch stands, asked of the card's registers."""

from __future__ import annotations

from llvmlite import ir

from seismo.backends.code.traced import (
    I32,
    IRValue,
    declared,
)


class Thread:
    """Where a thread of a launch stands: its own number in its block, and that of the block."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self._builder = builder

    def number(self, axis: str) -> IRValue:
        """Return its number along an axis."""
        return self._register("tid", axis).wide()

    def block(self, axis: str) -> IRValue:
        """Return the number of its block, in 32 bits."""
        return self._register("ctaid", axis)

    def share(self, threads: tuple[int, int, int]) -> tuple[IRValue, int]:
        """Return its number in a block of one thread along z, and how many share its work."""
        x, y, _ = threads
        return self.number("y") * x + self.number("x"), x * y

    def _register(self, name: str, axis: str) -> IRValue:
        # Special registers: %tid, the thread's number in the block, and %ctaid, the block's in the
        # grid.
        kind = ir.FunctionType(I32, [])
        register = f"llvm.nvvm.read.ptx.sreg.{name}.{axis}"
        function = declared(self._builder.module, kind, register)
        return IRValue(self._builder, self._builder.call(function, []))
