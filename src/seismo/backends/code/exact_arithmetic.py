"""Arithmetic of traced formulas whose bits do not depend on what a compiler makes of them.

A compiler fuses a product with one sum or another as its work list comes to them: equal formulas
side by side in one block of code give unequal bits. Where bits have to be those of a formula alone,
whatever stands around it, sums are fused as they are written down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from seismo.backends.code.traced import I32, IRValue


class Product(IRValue):
    """A product that a sum may be fused with."""

    __slots__ = ("factors",)

    def __init__(self, factors: tuple[IRValue, IRValue], flags: Sequence[str]) -> None:
        a, b = factors
        super().__init__(a.builder, a.builder.fmul(a.value, b.value, flags=flags))
        self.factors = factors


@dataclass(frozen=True)
class ExactArithmetic:
    """Sums fused with their last term, if that is a product, else with their first; no others.

    Attributes:
        hide: function(lane) -> the same lane, of which the compiler does not see how it came about.
        divide: function(lane, lane) -> their quotient, None for that of the compiler.
    """

    hide: Callable[[IRValue], IRValue]
    divide: Callable[[IRValue, IRValue], IRValue] | None = None

    def __call__(self, operation: str, a: IRValue, b: IRValue) -> IRValue:
        """Return a sum, difference, product or quotient of numbers or lanes."""
        flags = ("nnan", "ninf", "nsz")
        builder = a.builder
        # A product is kept with its factors; where no sum takes it, it stands rounded.
        if operation == "mul":
            return Product((a, b), flags)
        if operation == "div" and self.divide is not None:
            return self.divide(a, b)
        # a + x y, a - x y = a + (-x) y; x y + b, x y - b = x y + (-b)
        negative = operation == "sub"
        if operation in ("add", "sub") and isinstance(b, Product):
            x, y = (factor.value for factor in b.factors)
            first = self.hide(a) if isinstance(a, Product) else a
            return a.then(_fma(builder, _opposite(builder, x) if negative else x, y, first.value))
        # The first term alone is a product: fma(x, y, +-b).
        if operation in ("add", "sub") and isinstance(a, Product):
            x, y = (factor.value for factor in a.factors)
            return a.then(_fma(builder, x, y, _opposite(builder, b.value) if negative else b.value))
        # Neither is: a plain sum or difference, rounded once.
        return a.then(getattr(builder, f"f{operation}")(a.value, b.value, flags=flags))


def _opposite(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """Return -x, as compilers for cards know it."""
    width = getattr(x.type, "count", 0)
    zero = ir.Constant(x.type, [-0.0] * width if width else -0.0)
    return builder.fsub(zero, x)


def _fma(builder: ir.IRBuilder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """Return x y + z, rounded once; of lanes number by number."""
    if not isinstance(x.type, ir.VectorType):
        return builder.fma(x, y, z)
    # Intrinsics of lanes are not known to all compilers: number by number.
    lane = ir.Constant(x.type, ir.Undefined)
    for n in range(x.type.count):
        numbers = (builder.extract_element(one, I32(n)) for one in (x, y, z))
        lane = builder.insert_element(lane, builder.fma(*numbers), I32(n))
    return lane
