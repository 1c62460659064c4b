"""Terms of a stage: coefficients times operations on fields, found by calling its formula.

A formula called with a `TracingCell` leaves behind, for each field that it changes, a sum::

    new field = sum over terms of  coefficient * operation(field)

An operation is a value on the spot, a sum of first derivatives, or a second derivative; a
coefficient is a number or a `seismo.inversion.adjoint.tape.TapedArray`. So the text of a formula
tells the derivative of its result with respect to the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from seismo.inversion.adjoint.tape import TapedArray


class Operation(NamedTuple):
    """An operation on fields.

    Attributes:
        kind: "value", "first" or "second".
        operands: pairs of an axis, "" of a value, and a field; first derivatives are added up.
    """

    kind: str
    operands: tuple[tuple[str, str], ...]


class Terms(dict[Operation, Any]):
    """A sum of operations, by the coefficient of each."""

    def __add__(self, other: Any) -> Terms:
        """Return the sum."""
        merged = Terms(self)
        for operation, coefficient in other.items() if isinstance(other, Terms) else ():
            merged[operation] = (
                merged[operation] + coefficient if operation in merged else coefficient
            )
        return merged

    __radd__ = __add__  # sums begin with 0

    def __mul__(self, factor: Any) -> Terms:
        """Return the product with a coefficient."""
        return Terms({operation: by * factor for operation, by in self.items()})

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Terms:
        """Return the quotient by a coefficient."""
        return self * (1.0 / divisor)

    def __neg__(self) -> Terms:
        """Return the negative."""
        return self * -1.0

    def __sub__(self, other: Terms) -> Terms:
        """Return the difference."""
        return self + -other


class TracingCell:
    """A cell whose fields are terms, and whose coefficients are taped arrays."""

    def __init__(
        self, axes: str, fields: Iterable[str], coefficients: Mapping[str, TapedArray],
        puts: Mapping[str, Terms] | None = None, numbers: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        """Trace a formula.

        Args:
            axes: "xz" or "xyz".
            fields: names of all fields.
            coefficients: by name.
            puts: terms of fields that an earlier stage of the same step has changed.
            numbers: scalars of the run, by name.
        """
        self.numbers = dict(numbers or {})
        self.axes = axes
        self.fields = tuple(fields)
        self.puts = dict(puts or {})
        self._coefficients = coefficients

    def __getitem__(self, name: str) -> Any:
        """Return a coefficient, or the terms of a field."""
        if name not in self.fields:
            return self._coefficients[name]
        return self.puts.get(name) or Terms({Operation("value", (("", name),)): 1.0})

    def number(self, name: str) -> float:
        """Return a scalar of the run."""
        return self.numbers[name]

    def next(self, name: str, axes: str) -> TapedArray:
        """Return a coefficient at the next node along axes."""
        return self._coefficients[name].next(axes)

    def d(self, axis: str, name: str) -> Terms:
        """Return a first derivative."""
        return self.total((axis, name))

    def total(self, *pairs: tuple[str, str]) -> Terms:
        """Return a sum of first derivatives."""
        return Terms({Operation("first", pairs): 1.0})

    def dd(self, axis: str, name: str) -> Terms:
        """Return a second derivative."""
        return Terms({Operation("second", ((axis, name),)): 1.0})

    def sum(self, terms: Iterable[Any]) -> Any:
        """Return the sum of terms, or of coefficients."""
        first, *further = terms
        for term in further:
            first = first + term
        return first

    def rounded(self, value: Any) -> Any:
        """Return a value."""
        return value

    def put(self, name: str, value: Terms) -> None:
        """Note the terms of a field."""
        self.puts[name] = value


def traced(
    update: Callable[[Any], None], axes: str, fields: Iterable[str],
    coefficients: Mapping[str, TapedArray], puts: Mapping[str, Terms] | None = None,
    numbers: Mapping[str, float] | None = None,
) -> dict[str, Terms]:  # fmt: skip
    """Return the terms of each field that a formula changes; see `TracingCell`."""
    cell = TracingCell(axes, fields, coefficients, puts, numbers)
    update(cell)
    return cell.puts
