"""Arrays that remember their operands: derivatives in reverse mode (Griewank & Walther 2008).

`TapedArray` takes the place of an array in the functions of an equation and of effective media,
which make others of it by sums, products, quotients, powers, shifts, and NumPy's functions of
`tape_functions`. `propagate` carries the derivatives of a number with respect to results back to
all arrays that they were made of.

Comparisons give plain arrays: the derivative of a choice between values (`numpy.where`) is that of
the value chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from seismo.grid.grid import AXES
from seismo.inversion.adjoint import tape_functions

_Back = Callable[[np.ndarray], np.ndarray]  # derivative by a result -> by an operand
_Onwards = Callable[[Any], Any]  # change of an operand -> of a result
_Link = tuple["TapedArray", _Back, _Onwards]


class TapedArray:
    """An array and the operands that it was made of.

    Attributes:
        value: the numbers.
        operands: arrays, each with the functions that carry a derivative back to it, and a change
            of it on.
    """

    __hash__ = object.__hash__
    __array_priority__ = 1000.0  # above that of CuPy's arrays, whose operators ask for it

    def __init__(self, value: np.ndarray, operands: Iterable[_Link] = ()) -> None:
        self.value = value
        self.operands = tuple(operands)
        self._is_operand = False
        for operand, *_ in self.operands:
            operand._is_operand = True

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        """Return a NumPy function of arrays, element by element."""
        if method != "__call__" or options:
            return NotImplemented
        numbers = [value_of(operand) for operand in operands]
        if not all(map(is_number, operands)):
            return NotImplemented
        value = ufunc(*numbers)
        if ufunc in tape_functions.PLAIN:
            return value
        if ufunc not in tape_functions.PARTIAL:
            return NotImplemented
        links = []
        for n, operand in enumerate(operands):
            if isinstance(operand, TapedArray):
                # A factor, element by element, acts alike in both directions.
                times = tape_functions.times_partial(ufunc, n, value, numbers)
                links.append((operand, times, times))
        return TapedArray(value, links)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        """Return a NumPy function of whole arrays."""
        if function in tape_functions.LINEAR:
            return self._linear(tape_functions.LINEAR[function](*arguments, **options))
        if function in tape_functions.PLAIN:
            return function(*map(value_of, arguments), **options)
        return NotImplemented

    @staticmethod
    def _linear(terms: tape_functions.LinearResult) -> TapedArray:
        value, links = terms
        return TapedArray(value, [link for link in links if isinstance(link[0], TapedArray)])

    def __add__(self, other: Any) -> Any:
        """Return the sum."""
        return _applied(np.add, self, other)

    def __radd__(self, other: Any) -> Any:
        """Return the sum."""
        return _applied(np.add, other, self)

    def __neg__(self) -> Any:
        """Return the negative."""
        return _applied(np.negative, self)

    def __sub__(self, other: Any) -> Any:
        """Return the difference."""
        return _applied(np.subtract, self, other)

    def __rsub__(self, other: Any) -> Any:
        """Return the difference from another."""
        return _applied(np.subtract, other, self)

    def __mul__(self, other: Any) -> Any:
        """Return the product; that with a sum of operations is such a sum."""
        return _applied(np.multiply, self, other)

    def __rmul__(self, other: Any) -> Any:
        """Return the product."""
        return _applied(np.multiply, other, self)

    def __truediv__(self, other: Any) -> Any:
        """Return the quotient."""
        return _applied(np.true_divide, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        """Return the quotient of a number, or of an array."""
        return _applied(np.true_divide, other, self)

    def __pow__(self, power: float) -> Any:
        """Return a power."""
        return _applied(np.power, self, power)

    def __lt__(self, other: Any) -> Any:
        """Return where it is less."""
        return self.value < value_of(other)

    def __le__(self, other: Any) -> Any:
        """Return where it is no greater."""
        return self.value <= value_of(other)

    def __gt__(self, other: Any) -> Any:
        """Return where it is greater."""
        return self.value > value_of(other)

    def __ge__(self, other: Any) -> Any:
        """Return where it is no less."""
        return self.value >= value_of(other)

    def __eq__(self, other: Any) -> Any:
        """Return where it is equal."""
        return self.value == value_of(other)

    def __len__(self) -> int:
        """Return the length of the first axis."""
        return len(self.value)

    def __iter__(self) -> Any:
        """Iterate over the first axis."""
        return (self[n] for n in range(len(self)))

    def __getitem__(self, index: Any) -> TapedArray:
        """Return the values at an index."""

        def back(g: np.ndarray) -> np.ndarray:
            spread = np.zeros_like(self.value)
            np.add.at(spread, index, g)
            return spread

        return TapedArray(self.value[index], [(self, back, lambda change: change[index])])

    def __setitem__(self, index: Any, array: Any) -> None:
        """Put values at an index.

        Raises:
            RuntimeError: something was made of the array before.
        """
        if self._is_operand:
            raise RuntimeError("an array that others were made of is changed")
        before = TapedArray(self.value, self.operands)
        kept = np.ones_like(self.value)
        kept[index] = 0.0
        put = self.value.copy()
        put[index] = value_of(array)

        def onwards(change: Any) -> np.ndarray:
            spread = np.zeros_like(put)
            spread[index] = change
            return spread

        operands: list[_Link] = [(before, lambda g: g * kept, lambda change: change * kept)]
        if isinstance(array, TapedArray):
            operands.append((array, lambda g: g[index], onwards))
        self.__init__(put, operands)  # type: ignore[misc]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the numbers."""
        return self.value.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.value.ndim

    def copy(self) -> TapedArray:
        """Return a copy."""
        return TapedArray(self.value.copy(), [(self, lambda g: g, lambda change: change)])

    def reshape(self, *shape: Any) -> TapedArray:
        """Return the array in another shape."""
        return TapedArray(
            self.value.reshape(*shape),
            [(self, lambda g: np.asarray(g).reshape(self.shape), lambda c: c.reshape(*shape))],
        )

    def sum(self, axis: Any = None, keepdims: bool = False) -> TapedArray:
        """Return the sum along axes."""

        def back(g: np.ndarray) -> np.ndarray:
            if axis is not None and not keepdims:
                g = np.expand_dims(g, axis)
            return np.broadcast_to(g, self.shape)

        def onwards(change: np.ndarray) -> np.ndarray:
            return np.asarray(change.sum(axis, keepdims=keepdims))

        return TapedArray(onwards(self.value), [(self, back, onwards)])

    def mean(self, axis: Any = None) -> Any:
        """Return the mean along axes."""
        total = self.sum(axis)
        result = total * (total.value.size / self.value.size)
        result.value = np.asarray(self.value.mean(axis))
        return result

    def clip(self, min: float) -> TapedArray:
        """Return the array where it exceeds a number, and this elsewhere."""
        above = self.value > min
        return TapedArray(
            self.value.clip(min=min), [(self, lambda g: g * above, lambda c: c * above)]
        )

    def next(self, axes: str) -> TapedArray:
        """Return the values (z, y, x) of the next nodes along axes; the last ones stay."""

        def onwards(change: np.ndarray) -> np.ndarray:
            for axis in axes:
                change = shifted(change, axis)
            return change

        def back(g: np.ndarray) -> np.ndarray:
            for axis in axes:
                g = shifted_back(g, axis)
            return g

        return TapedArray(onwards(self.value), [(self, back, onwards)])


def _applied(ufunc: np.ufunc, *operands: Any) -> Any:
    """Return a function of operands; NotImplemented where one is no number."""
    if not all(map(is_number, operands)):
        return NotImplemented
    return ufunc(*operands)


def is_number(value: Any) -> bool:
    """Whether a value is a taped array, a number or an array."""
    return (
        isinstance(value, TapedArray) or hasattr(value, "dtype") or isinstance(value, (int, float))
    )


def value_of(value: Any) -> Any:
    """Return the numbers of a taped array, or a number itself."""
    return value.value if isinstance(value, TapedArray) else value


def at_points(array: Any, index: tuple[np.ndarray, ...]) -> Any:
    """Return the values (n) at points, on the host; of a taped array such.

    Args:
        array: (z, y, x), on the host or a card.
        index: z, y and x (n) of the points.
    """
    if not isinstance(array, TapedArray):
        points = array[index]
        return points if isinstance(points, np.ndarray) else points.get()

    def back(g: np.ndarray) -> Any:
        # Points may coincide.
        flat, inverse = np.unique(np.ravel_multi_index(index, array.shape), return_inverse=True)
        spread = np.zeros_like(array.value)
        summed = np.bincount(inverse, np.broadcast_to(g, inverse.shape), len(flat))
        spread[np.unravel_index(flat, array.shape)] = np.asarray(summed, like=spread)
        return spread

    points = at_points(array.value, index)
    return TapedArray(points, [(array, back, lambda change: change[index])])


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


def propagate(
    ends: Iterable[tuple[TapedArray, np.ndarray]], beginnings: Iterable[TapedArray]
) -> Callable[[TapedArray], Any]:
    """Carry derivatives with respect to arrays back to those that they are made of.

    Ends are taken one after the other: what is between them and the beginnings need not exist at
    once.

    Args:
        ends: arrays, and the derivative of the same number with respect to each.
        beginnings: arrays that derivatives are wanted with respect to; nothing before them counts.

    Returns:
        A function of a beginning: the derivative with respect to it, 0.0 where there is none.
    """
    wanted: dict[int, Any] = {id(array): 0.0 for array in beginnings}
    for end in ends:
        _carry_back(*end, wanted)
    return lambda array: wanted[id(array)]


def _carry_back(end: TapedArray, by_end: np.ndarray, wanted: dict[int, Any]) -> None:
    """Add the derivatives by beginnings, that are known by identity, of one by an array."""
    order: dict[int, TapedArray] = {}

    def visit(array: TapedArray) -> None:
        if id(array) not in order:
            for operand, *_ in array.operands if id(array) not in wanted else ():
                visit(operand)
            order[id(array)] = array

    visit(end)
    derivatives: dict[int, Any] = {id(end): by_end}
    # Results come before their operands.
    for array in reversed(list(order.values())):
        if id(array) not in derivatives:
            continue
        derivative = tape_functions.summed_to(array.shape, derivatives.pop(id(array)))
        if id(array) in wanted:
            wanted[id(array)] = wanted[id(array)] + derivative
            continue
        for operand, back, _ in array.operands:
            by_operand = tape_functions.summed_to(operand.shape, back(derivative))
            earlier = derivatives.get(id(operand))
            derivatives[id(operand)] = by_operand if earlier is None else earlier + by_operand


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
