"""Formulas as code: Python that runs once, on values that write LLVM instructions.

An update formula is plain Python without branches. Called with `IRValue` in place of numbers it
leaves behind the instructions it stands for, in the kernel of a CPU and of a GPU alike: a sum over
axes becomes the sum of its terms, a list of numbers becomes registers. Compiling a formula's
hundred small functions by type inference takes ten times as long.

A compiler fuses a product with either sum in the order of its work list: equal formulas in the same
block of code give unequal bits. Where bits must not depend on the surrounding code,
`ExactArithmetic` fuses sums as they are written down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from llvmlite import ir

I32 = ir.IntType(32)
INTEGER = ir.IntType(64)


def _operator(name: str) -> tuple[Callable[..., IRValue], Callable[..., IRValue]]:
    """Return the methods of an operator: this and that, that and this."""
    # Operands of both orders: this + that, and that + this where `that` is a Python number.
    return (
        lambda this, that: _arithmetic(name, this, that),
        lambda this, that: _arithmetic(name, this.constant(that), this),
    )


class IRValue:
    """An LLVM value: an integer, a truth value, a number or a lane, at the end of a builder."""

    __slots__ = ("builder", "pointers", "value")

    def __init__(self, builder: ir.IRBuilder, value: ir.Value) -> None:
        self.builder = builder
        self.value = value
        self.pointers: dict[ir.Type, ir.Instruction] = {}  # that were made of it, by their type

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("sub")
    __mul__, __rmul__ = _operator("mul")
    __truediv__, __rtruediv__ = _operator("div")
    __and__, __rand__ = _operator("and_")
    __or__, __ror__ = _operator("or_")

    def __floordiv__(self, other: IRValue | int) -> IRValue:
        """Divide an integer that is not negative."""
        # Unsigned division by a constant compiles to a multiplication and a shift.
        return self.then(self.builder.udiv(self.value, self._like(other).value))

    def __mod__(self, other: int) -> IRValue:
        """Return the remainder of that."""
        return self.then(self.builder.urem(self.value, self.constant(other).value))

    def __lt__(self, other: IRValue | int) -> IRValue:
        """Whether an integer, or each of a lane of them, is less than another."""
        return self._compared("<", other)

    def __ge__(self, other: IRValue | int) -> IRValue:
        """Whether an integer, or each of a lane of them, is at least another."""
        return self._compared(">=", other)

    def __gt__(self, other: IRValue | int) -> IRValue:
        """Whether an integer is more than another."""
        return self._compared(">", other)

    def equals(self, other: IRValue | int) -> IRValue:
        """Whether an integer has a value."""
        return self._compared("==", other)

    def _compared(self, how: str, other: IRValue | int) -> IRValue:
        return self.then(self.builder.icmp_signed(how, self.value, self._like(other).value))

    def _like(self, other: IRValue | float) -> IRValue:
        return other if isinstance(other, IRValue) else self.constant(other)

    def constant(self, number: float) -> IRValue:
        """Return a Python number as a value of the same kind."""
        # A number of the element's type; arithmetic repeats it in a lane where needed.
        kind = self.value.type
        kind = kind.element if isinstance(kind, ir.VectorType) else kind
        return self.then(ir.Constant(kind, number))

    def then(self, value: ir.Value) -> IRValue:
        """Return a new value at the end of the same builder."""
        return IRValue(self.builder, value)

    def opaque(self) -> IRValue:
        """Return the same integer opaque to LLVM, which then computes its uses anew.

        Inside a loop an addition costs less than another address in a register.
        """
        # Empty assembler text that returns its operand: an optimisation barrier.
        kind = self.value.type
        same = ir.InlineAsm(ir.FunctionType(kind, [kind]), "", "=r,0", side_effect=True)
        return self.then(self.builder.call(same, [self.value]))

    def wide(self) -> IRValue:
        """Return a 32-bit integer that is not negative in 64 bits."""
        # Zero extension: indices are not negative.
        return self.then(self.builder.zext(self.value, INTEGER))

    def signed_wide(self) -> IRValue:
        """Return a 32-bit integer in 64 bits."""
        return self.then(self.builder.sext(self.value, INTEGER))

    def short(self) -> IRValue:
        """Return the lower 32 bits of an integer: all of one that fits them."""
        narrow = self.value.type == I32
        return self if narrow else self.then(self.builder.trunc(self.value, I32))

    def converted(self, kind: ir.Type) -> IRValue:
        """Return floating-point numbers, or lanes of them, in a wider or a narrower kind.

        To nearest, ties to even; overflow becomes infinite.
        """
        element = getattr(kind, "element", kind)
        narrower = isinstance(element, ir.HalfType)
        convert = self.builder.fptrunc if narrower else self.builder.fpext
        return self.then(convert(self.value, kind))

    def clip(self, low: IRValue | int, high: IRValue | int) -> IRValue:
        """Return the integer, at least `low` and at most `high`."""
        return smaller(choose(self < low, low, self), high)


class ShortArray(IRValue):
    """An address of numbers of 16 bits, which lanes widen as they load and round as they store."""

    __slots__ = ()


def kept_in(addresses: Sequence[IRValue], short: Sequence[bool]) -> list[IRValue]:
    """Return addresses of arrays, partly kept in 16 bits."""
    return [
        ShortArray(address.builder, address.value) if is_short else address
        for address, is_short in zip(addresses, short, strict=True)
    ]


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """Return one of two integers; of Python's, where the condition is Python's, too."""
    # The condition is known while the formula runs: no code.
    if not isinstance(condition, IRValue):
        return yes if condition else no
    # Both values are computed; select has no branch, which would diverge within a warp.
    kind = next(v for v in (yes, no) if isinstance(v, IRValue))
    pair = [kind._like(v).value for v in (yes, no)]
    return condition.then(condition.builder.select(condition.value, *pair))


def smaller(first: Any, second: Any) -> Any:
    """Return the smaller of two integers."""
    return choose(second < first, second, first)


def _arithmetic(operation: str, a: IRValue, other: IRValue | float) -> IRValue:
    # Integers have exact arithmetic; floating-point numbers may be contracted and reordered (fast).
    b = a._like(other)
    if isinstance(a.value.type, ir.IntType):
        return a.then(getattr(a.builder, operation)(a.value, b.value))
    # A scalar that meets a lane is repeated in it.
    if a.value.type != b.value.type:
        a, b = spread(a, b.value.type), spread(b, a.value.type)
    if exact := getattr(a.builder, "exact", None):
        return exact(operation, a, b)
    flags = getattr(a.builder, "flags", ("fast",))
    return a.then(getattr(a.builder, f"f{operation}")(a.value, b.value, flags=flags))


def keep_order(builder: ir.IRBuilder) -> None:
    """Let sums keep their order from now on, so that equal formulas give equal bits.

    How LLVM orders terms again depends on where they are loaded. Products are still fused.
    """
    builder.flags = ("nnan", "ninf", "nsz", "arcp", "contract", "afn")


def compute_exactly(
    builder: ir.IRBuilder, arithmetic: Callable[[str, IRValue, IRValue], IRValue]
) -> None:
    """Let numbers have another arithmetic from now on: function(operation, this, that)."""
    builder.exact = arithmetic


def spread(lane: IRValue, kind: ir.Type) -> IRValue:
    """Repeat a number in every place of a lane; leave a lane as it is."""
    if not isinstance(kind, ir.VectorType):
        return lane
    # insertelement into position 0, then a shuffle by 0, 0, 0, ...: LLVM's splat.
    undefined, position, order = _splat(kind)
    first = lane.builder.insert_element(undefined, lane.value, position)
    return lane.then(lane.builder.shuffle_vector(first, undefined, order))


@lru_cache
def _splat(kind: ir.VectorType) -> tuple[ir.Constant, ...]:
    """Return an undefined lane, its first place, and that place for all: as text only once."""
    lane = ir.VectorType(I32, kind.count)
    order = _Lane(lane, [0] * kind.count, "zeroinitializer")
    return _Lane(kind, ir.Undefined, "undef"), ir.Constant(I32, 0), order


class _Lane(ir.Constant):
    """A lane that LLVM has a word for: its places would be half of the text of a kernel."""

    def __init__(self, kind: ir.VectorType, of_places: Any, word: str) -> None:
        super().__init__(kind, of_places)
        self._word = word

    def _get_reference(self) -> str:
        return self._word


@lru_cache
def _pointer_type(kind: ir.Type, space: int) -> ir.PointerType:
    return kind.as_pointer(space)


class IRArray:
    """Numbers behind an address, read singly."""

    def __init__(self, address: IRValue, kind: ir.Type = INTEGER) -> None:
        self._address = address
        self._kind = kind

    def __getitem__(self, index: IRValue | int) -> IRValue:
        """Read a number."""
        at = index if isinstance(index, IRValue) else self._address.constant(index)
        return at.then(at.builder.load(pointer(self._address, at, self._kind)))

    def offset_by(self, count: IRValue) -> IRArray:
        """Return the table of integers from an offset on."""
        return IRArray(self._address + count * (INTEGER.width // 8))


def pointer(
    address: IRValue, index: IRValue, kind: ir.Type, space: int = 0, of: ir.Type | None = None
) -> ir.Value:  # fmt: skip
    """Point to the number or lane that begins at number `index` behind an integer address.

    Args:
        address: of the array.
        index: of a number.
        kind: type of the target.
        space: LLVM's number of the memory, as GPUs have several.
        of: kind of the array's numbers, where that of a lane is another.
    """
    builder = index.builder
    element = of or getattr(kind, "element", kind)
    type_of_first = _pointer_type(element, space)
    first = address.pointers.get(type_of_first)
    # Once in each block: the more instructions there are, the longer they take to compile.
    if first is None or first.parent is not builder.block:
        first = builder.inttoptr(address.value, type_of_first)
        address.pointers[type_of_first] = first
    return builder.bitcast(builder.gep(first, [index.value]), _pointer_type(kind, space))


def declared(module: ir.Module, kind: ir.FunctionType, name: str) -> ir.Function:
    """Return a function defined elsewhere, such as an LLVM intrinsic."""
    return module.globals.get(name) or ir.Function(module, kind, name)


@contextmanager
def loop(first: IRValue, last: IRValue, step: int = 1) -> Iterator[IRValue]:
    """Write a loop over first, first + step, ... < last around the code of the block."""
    from numba.core import cgutils

    stride = ir.Constant(first.value.type, step)
    with cgutils.for_range_slice(first.builder, first.value, last.value, stride) as (n, _):
        yield first.then(n)


def repeat(
    first: IRValue, last: IRValue, carried: Sequence[IRValue],
    body_of: Callable[[IRValue, list[IRValue]], Sequence[IRValue]],
) -> list[IRValue]:  # fmt: skip
    """Write a loop that hands values from turn to turn, in registers; return the last ones.

    Args:
        first: number of the first turn.
        last: behind the last one.
        carried: argument of the first turn.
        body_of: function (number, carried) -> argument of the next turn.
    """
    # SSA form: each carried value is a phi of the value before the loop and that of the last turn.
    builder = first.builder
    start = first.builder.block
    head, body, end = (builder.append_basic_block(f"turn.{n}") for n in ("head", "body", "end"))
    builder.branch(head)
    builder.position_at_end(head)
    phis = [builder.phi(v.value.type) for v in (first, *carried)]
    for value, incoming in zip(phis, (first, *carried), strict=True):
        value.add_incoming(incoming.value, start)
    n, *loop_values = (first.then(value) for value in phis)
    builder.cbranch((n < last).value, body, end)
    # The body may end in another block than it began in (nested branches): its edge comes from
    # there.
    builder.position_at_end(body)
    following = (n + 1, *body_of(n, loop_values))
    for value, incoming in zip(phis, following, strict=True):
        value.add_incoming(incoming.value, builder.block)
    builder.branch(head)
    # The loop's exit: its values are the phis at the head.
    builder.position_at_end(end)
    return loop_values


def either(condition: IRValue, yes: Callable[[], None], no: Callable[[], None]) -> None:
    """Write two ways to go on, of which a condition chooses."""
    with condition.builder.if_else(condition.value) as (then, otherwise):
        with then:
            yes()
        with otherwise:
            no()


@contextmanager
def when(condition: IRValue) -> Iterator[None]:
    """Write the code of the block for where a condition holds."""
    with condition.builder.if_then(condition.value):
        yield


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
        numbers = (builder.extract_element(operand, I32(n)) for operand in (x, y, z))
        lane = builder.insert_element(lane, builder.fma(*numbers), I32(n))
    return lane
