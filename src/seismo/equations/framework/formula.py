"""An update formula with the names of its operands, and facts found by calling it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

# Second differences, or these and first ones on the nodes, or these alone; else staggered ones: a
# divergence of more fields than change, a gradient of fewer.
Kind = Literal["second", "mixed", "centred", "divergence", "gradient", "memory"]
SECOND_SLOTS = 2  # layer memory variables of a second derivative: of flux and outer derivative


Derivatives = tuple[tuple[str, str], ...]  # axes and fields of derivatives that are added up


def slope_name(derivatives: Derivatives) -> str:
    """Return the name of the slopes' contribution to a sum of derivatives."""
    return "_".join(["slope", *(word for pair in derivatives for word in pair)])


def is_slope_name(name: str) -> bool:
    """Whether a field is a contribution of slopes."""
    return name.startswith("slope_")


def sloping(name: str) -> Derivatives:
    """Return the derivatives that it adds to."""
    words = name.split("_")
    return tuple(zip(words[1::2], words[2::2], strict=True))


def half_of_derivative(half: str, axis: str) -> str:
    """Return the axes along which a derivative stands half a cell further, of a field's."""
    return "".join(sorted(set(half) ^ {axis}))


@dataclass(frozen=True)
class Formula:
    """An update with the names of the arrays that it takes, as backends bind it.

    Attributes:
        update: function(cell), cell giving access to the points that it updates
            (`seismo.backends.operators.cell.Cell`).
        axes: "xz" or "xyz".
        fields: fields that it changes, then fields that it differentiates.
        half: of each of them, the axes along which it stands half a cell further.
        coefficients: model arrays.
        packed: coefficients kept for a range of planes z only.
        numbers: scalars of the run.
        short: fields and coefficients kept in 16 bits.
        gradients: fields whose gradient is taken, where rows follow the ground; of the others the
            divergence.
        on_surface: fields that have the row of the surface alone.
        marched: contributions of slopes (`slope_name`) that marching threads compute on the way, in
            registers; others have arrays, among the fields.
    """

    update: Callable
    axes: str
    fields: tuple[str, ...]
    half: tuple[str, ...]
    coefficients: tuple[str, ...]
    packed: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    gradients: tuple[str, ...] = ()
    on_surface: tuple[str, ...] = ()
    marched: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """See that its name and its module's text tell all that it is: kernels are kept by these.

        Raises:
            TypeError: it is a closure, a lambda or the like.
        """
        # Invariant: module and qualified name find the function again.
        name = getattr(self.update, "__qualname__", "")
        if getattr(sys.modules[self.update.__module__], name, None) is not self.update:
            raise TypeError(
                f"{self.update}: a formula is a function of a module; options go into coefficients"
            )

    def __str__(self) -> str:
        """Identify it among all formulas."""
        named = f"{self.update.__module__}.{self.update.__qualname__}"
        arrays = f"{self.fields} {self.half} {self.coefficients} {self.packed}"
        text = f"{named} {self.axes} {arrays} {self.numbers} {self.short} {self.gradients}"
        return f"{text} {self.on_surface} {self.marched}" if self.gradients else text

    @cached_property
    def staggered(self) -> dict[str, str]:
        """Field -> the axes along which it stands half a cell further."""
        return dict(zip(self.fields, self.half, strict=True))

    @property
    def is_short(self) -> tuple[bool, ...]:
        """Whether each of its arrays is kept in 16 bits."""
        return tuple(name in self.short for name in (*self.fields, *self.coefficients))

    @cached_property
    def _counted(self) -> _DerivativeCounter:
        # Run the formula once on a cell that counts its operands.
        counted = _DerivativeCounter(self.axes, self.numbers, self.fields)
        self.update(counted)
        return counted

    @property
    def slots(self) -> int:
        """Layer memory variables that its derivatives take along an axis."""
        return max(self._counted.memories.values(), default=0)

    @property
    def across(self) -> tuple[Derivatives, ...]:
        """Return the first derivatives along x and y that it adds up, once each."""
        return tuple(dict.fromkeys(self._counted.across))

    @property
    def interpolates(self) -> bool:
        """Whether it takes fields half a cell from where they stand."""
        return self._counted.means

    def reads_of(self, name: str) -> int:
        """Return how often it reads a coefficient, on the node or beside it."""
        return self._counted.reads[name]

    def along(self, axis: str) -> tuple[int, ...]:
        """Return the numbers of the arrays that it differentiates along an axis."""
        names = self._counted.along[axis]
        arrays = (*self.fields, *self.coefficients)
        return tuple(n for n, name in enumerate(arrays) if name in names)

    @property
    def read_back(self) -> tuple[int, ...]:
        """Numbers of the fields that it changes and reads on the spot."""
        return self._changed(self._counted.read)

    @property
    def unread(self) -> tuple[int, ...]:
        """Numbers of fields that it overwrites without reading."""
        return self._changed(self._counted.written - self._counted.read)

    @property
    def read_late(self) -> tuple[int, ...]:
        """Numbers of fields that it reads after changing others."""
        return self._changed(self._counted.read_late)

    def _changed(self, names: set[str]) -> tuple[int, ...]:
        """Return the numbers of fields among `names` that it changes."""
        written = names & self._counted.written
        return tuple(n for n, name in enumerate(self.fields) if name in written)

    @property
    def kind(self) -> Kind:
        """What kind of formula it is, of which backends lay out threads alike."""
        if self._counted.centred_ones:
            return "mixed" if self._counted.second else "centred"
        if self._counted.second:
            return "second"
        # Staggered first differences: fields written against fields read.
        writes = len(self._counted.written)
        reads = len(self.fields) - writes
        if writes >= 4 * reads > 0:
            return "memory"
        return "divergence" if writes < reads else "gradient"


class _DerivativeCounter:
    """A cell that counts derivatives, of no numbers."""

    def __init__(self, axes: str, numbers: tuple[str, ...], fields: tuple[str, ...]) -> None:
        self.axes = axes
        self.numbers = numbers
        self.fields = fields
        self.memories = Counter[str]()
        self.along: dict[str, set[str]] = {axis: set() for axis in axes}
        self.written: set[str] = set()
        self.read: set[str] = set()
        self.read_late: set[str] = set()
        self.across = list[Derivatives]()
        self.reads = Counter[str]()
        self.centred_ones = 0
        self.means = False
        self._kinds: dict[str, str] = {}

    @property
    def second(self) -> bool:
        """Whether any is a second derivative."""
        return any(kind != "first" for kind in self._kinds.values())

    def _note(self, axis: str, kind: str) -> None:
        if self._kinds.setdefault(axis, kind) != kind:
            raise TypeError(
                f"a formula takes first derivatives along {axis}, or second ones of one field"
            )

    def total(self, *pairs: tuple[str, str]) -> Nothing:
        kept = list(self.across)
        for pair in pairs:
            self.d(*pair)
        # Together, in place of singly.
        across = tuple(pair for pair in pairs if pair[0] != "z")
        self.across = [*kept, *([across] if across else [])]
        return Nothing()

    def d(self, axis: str, name: str) -> Nothing:
        self._note(axis, "first")
        if axis != "z":
            self.across.append(((axis, name),))
        # One memory variable for each first derivative (CPML).
        self.along[axis].add(name)
        self.memories[axis] += 1
        return Nothing()

    def dd(self, axis: str, name: str) -> Nothing:
        self._note(axis, f"second of {name}")
        # Two for each second derivative: the flux, and the outer derivative.
        self.along[axis].add(name)
        if self.centred_ones:
            raise TypeError("a formula takes second derivatives first, then centred ones")
        self.memories[axis] = SECOND_SLOTS
        return Nothing()

    flux = dd

    def centred(self, axis: str, name: str, of: str = "") -> Nothing:
        self.along[axis] |= {name, of} - {""}
        self.memories[axis] += 1
        self.centred_ones += 1
        return Nothing()

    def mean(self, axes: str, name: str) -> Nothing:
        self.means = True
        return Nothing()

    def __getitem__(self, name: str) -> Nothing:
        """Note the field read, and whether a field was written before."""
        if self.written and name not in self.read:
            self.read_late.add(name)
        self.read.add(name)
        self.reads[name] += 1
        return Nothing()

    def next(self, name: str, axes: str) -> Nothing:
        self.reads[name] += 1
        return Nothing()

    def number(self, name: str) -> Nothing:
        return Nothing()

    @property
    def curved(self) -> _Curved:
        return _Curved()

    def put(self, name: str, value: Nothing) -> None:
        """Write nothing."""
        self.written.add(name)

    def sum(self, terms: Iterable[Nothing]) -> Nothing:
        for _ in terms:
            pass
        return Nothing()

    def rounded(self, value: Nothing) -> Nothing:
        return value


class _Curved:
    """What a formula takes of rows that follow the ground, of no numbers."""

    of_surface = property(lambda self: Nothing())

    def plane(self, name: str) -> Nothing:
        """Return no number; the rest likewise."""
        return Nothing()

    height = plane
    sloped = plane

    def between(self, axis: str, name: str, *planes: str) -> Nothing:
        """Return no number; the rest likewise."""
        return Nothing()

    through = between

    def above(self, axis: str, name: str, weights: Any) -> Nothing:
        """Return no number."""
        return Nothing()


class Nothing:
    """No number: a formula's results of it are none, either."""

    def __add__(self, other: Any) -> Nothing:
        """Return no number."""
        return self

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__
