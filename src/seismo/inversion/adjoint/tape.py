"""Arrays that remember their operands: derivatives in reverse mode (Griewank & Walther 2008).

`TapedArray` takes the place of a coefficient in the functions of an equation, which make others of
it by sums, products, quotients, powers and shifts. `propagate` carries the derivatives of a number
with respect to results back to all arrays that they were made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from seismo.grid.grid import AXES

_Back = Callable[[np.ndarray], np.ndarray]  # derivative by a result -> by an operand
# An operand, how a derivative is carried back to it, and how its change is carried on.
_Link = tuple["TapedArray", _Back, _Back]


class TapedArray:
    """An array (z, y, x) and the operands that it was made of.

    Attributes:
        value: the numbers.
        operands: arrays, each with the functions that carry a derivative back to it, and a change
            of it on.
    """

    __array_priority__ = 1000.0  # numpy's operators leave products with it to this class
    __array_ufunc__ = None

    def __init__(
        self, value: np.ndarray, operands: Iterable[tuple[TapedArray, _Back]] = (),
        onwards: _Back | None = None,
    ) -> None:  # fmt: skip
        """Remember the operands of a value.

        Args:
            value: the numbers.
            operands: arrays, each with the function that carries a derivative back to it.
            onwards: function that carries a change on; None where it is the same, as of products.
        """
        self.value = value
        self.operands: tuple[_Link, ...] = tuple(
            (operand, back, onwards or back) for operand, back in operands
        )

    def _with(self, other: Any, value: np.ndarray, first: _Back, second: _Back) -> TapedArray:
        further = [(other, second)] if isinstance(other, TapedArray) else []
        return TapedArray(value, [(self, first), *further])

    def __add__(self, other: Any) -> TapedArray:
        """Return the sum."""
        return self._with(other, self.value + value_of(other), lambda g: g, lambda g: g)

    __radd__ = __add__

    def __neg__(self) -> TapedArray:
        """Return the negative."""
        return TapedArray(-self.value, [(self, lambda g: -g)])

    def __sub__(self, other: Any) -> TapedArray:
        """Return the difference."""
        return self._with(other, self.value - value_of(other), lambda g: g, lambda g: -g)

    def __rsub__(self, other: Any) -> TapedArray:
        """Return the difference from another."""
        return -self + other

    def __mul__(self, other: Any) -> Any:
        """Return the product; that with a sum of operations is such a sum."""
        if not is_number(other):
            return NotImplemented
        a = self.value
        b = value_of(other)
        return self._with(other, a * b, lambda g: g * b, lambda g: g * a)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> TapedArray:
        """Return the quotient."""
        a = self.value
        b = value_of(other)
        return self._with(other, a / b, lambda g: g / b, lambda g: -g * a / b**2)

    def __rtruediv__(self, number: Any) -> TapedArray:
        """Return the quotient of a number, or of an array."""
        a = self.value
        return TapedArray(number / a, [(self, lambda g: -g * number / a**2)])

    def __pow__(self, power: float) -> TapedArray:
        """Return a power."""
        a = self.value
        return TapedArray(a**power, [(self, lambda g: g * power * a ** (power - 1))])

    def __getitem__(self, index: tuple[np.ndarray, ...]) -> TapedArray:
        """Return the values (n) at nodes."""

        def back(g: np.ndarray) -> np.ndarray:
            spread = np.zeros_like(self.value)
            np.add.at(spread, index, g)
            return spread

        return TapedArray(self.value[index], [(self, back)], lambda change: change[index])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the numbers."""
        return self.value.shape

    def clip(self, min: float) -> TapedArray:
        """Return the array where it exceeds a number, and this elsewhere."""
        above = self.value > min
        return TapedArray(self.value.clip(min=min), [(self, lambda g: g * above)])

    def next(self, axes: str) -> TapedArray:
        """Return the values of the next nodes along axes; the last ones stay."""

        def onwards(change: np.ndarray) -> np.ndarray:
            for axis in axes:
                change = shifted(change, axis)
            return change

        def back(g: np.ndarray) -> np.ndarray:
            for axis in axes:
                g = shifted_back(g, axis)
            return g

        return TapedArray(onwards(self.value), [(self, back)], onwards)


def is_number(value: Any) -> bool:
    """Whether a value is a taped array, a number or an array."""
    return (
        isinstance(value, TapedArray) or hasattr(value, "dtype") or isinstance(value, (int, float))
    )


def value_of(value: Any) -> Any:
    """Return the numbers of a taped array, or a number itself."""
    return value.value if isinstance(value, TapedArray) else value


def _at(axis: str, along: slice) -> tuple[slice, ...]:
    """Return the index of a slice along an axis of an array (z, y, x)."""
    return tuple(along if a == axis else slice(None) for a in reversed(AXES))


def shifted(array: np.ndarray, axis: str) -> np.ndarray:
    """Return the values (z, y, x) of the next nodes along an axis; the last ones stay."""
    moved = array.copy()
    moved[_at(axis, slice(None, -1))] = array[_at(axis, slice(1, None))]
    return moved


def shifted_back(array: np.ndarray, axis: str) -> np.ndarray:
    """Return the transpose of `shifted` of an array (z, y, x)."""
    back = array.copy()
    back[_at(axis, slice(1, None))] = array[_at(axis, slice(None, -1))]
    back[_at(axis, slice(None, 1))] = 0.0
    back[_at(axis, slice(-1, None))] += array[_at(axis, slice(-1, None))]
    return back


def propagate(ends: Iterable[tuple[TapedArray, np.ndarray]]) -> Callable[[TapedArray], Any]:
    """Carry derivatives with respect to arrays back to all operands.

    Args:
        ends: arrays, and the derivative of the same number with respect to each.

    Returns:
        A function of an array: the derivative with respect to it, 0.0 where there is none.
    """
    ends = list(ends)
    order: dict[int, TapedArray] = {}

    def visit(array: TapedArray) -> None:
        if id(array) not in order:
            for operand, *_ in array.operands:
                visit(operand)
            order[id(array)] = array

    derivatives: dict[int, Any] = {}

    def add(array: TapedArray, derivative: np.ndarray) -> None:
        derivatives[id(array)] = derivatives.get(id(array), 0.0) + derivative

    for array, derivative in ends:
        visit(array)
        add(array, derivative)
    # Results come before their operands.
    for array in reversed(list(order.values())):
        if id(array) in derivatives:
            for operand, back, _ in array.operands:
                add(operand, back(derivatives[id(array)]))
    return lambda array: derivatives.get(id(array), 0.0)


class Tangents:
    """Changes of arrays to first order, with changes of those that they were made of."""

    def __init__(self, beginnings: Iterable[tuple[TapedArray, np.ndarray]]) -> None:
        """Begin with arrays and their changes, those of others being zero."""
        self._beginnings = list(beginnings)  # so that no other array has the identity of one
        self._known: dict[int, Any] = {id(array): change for array, change in self._beginnings}
        self._arrays: list[TapedArray] = []

    def __call__(self, array: TapedArray) -> Any:
        """Return the change of an array, of its shape."""
        if id(array) not in self._known:
            total = np.zeros(array.shape)
            for operand, _, onwards in array.operands:
                total = total + onwards(self(operand))
            self._known[id(array)] = total
            self._arrays.append(array)
        return self._known[id(array)]
