"""Derivatives of NumPy's functions by their arguments, as the tape takes them.

A function that acts element by element has a partial derivative by each of its arguments; one that
is linear has a transpose for each. Functions whose results do not change with small changes of
their arguments are plain: their results have no derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

Transpose = Callable[[np.ndarray], np.ndarray]
# A result, and of each argument the functions that carry a derivative by the result back to it, and
# a change of it on to the result.
LinearResult = tuple[np.ndarray, list[tuple[Any, Transpose, Transpose]]]


def _product(n: int, result: Any, *factors: Any) -> Any:
    return factors[1 - n]


def _quotient(n: int, result: Any, numerator: Any, denominator: Any) -> Any:
    return 1.0 / denominator if n == 0 else -result / denominator


def _power(n: int, result: Any, base: Any, power: Any) -> Any:
    if n:
        raise TypeError("a power that varies has no derivative here")
    return power * base ** (power - 1)


def _greater(n: int, result: Any, *operands: Any) -> Any:
    return (operands[n] > operands[1 - n]) if n == 0 else (operands[1] >= operands[0])


def _less(n: int, result: Any, *operands: Any) -> Any:
    return (operands[n] < operands[1 - n]) if n == 0 else (operands[1] <= operands[0])


# function(number of the argument, result, *arguments) -> derivative by that argument
PARTIAL: dict[Any, Callable[..., Any]] = {
    np.add: lambda n, result, *terms: 1.0,
    np.subtract: lambda n, result, *terms: -1.0 if n else 1.0,
    np.multiply: _product,
    np.true_divide: _quotient,
    np.power: _power,
    np.negative: lambda n, result, operand: -1.0,
    np.log: lambda n, result, operand: 1.0 / operand,
    # At 0, in branches that are not chosen, it counts as constant.
    np.sqrt: lambda n, result, operand: 0.5 / np.where(result > 0.0, result, np.inf),
    np.maximum: _greater,
    np.minimum: _less,
    np.absolute: lambda n, result, operand: np.sign(operand),
}
PLAIN = {
    np.isnan, np.isfinite, np.isclose, np.zeros_like, np.ones_like, np.full_like, np.round, np.rint,
    np.shape, np.ndim, np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
}  # fmt: skip


def times_partial(ufunc: Any, n: int, result: Any, arguments: Sequence[Any]) -> Transpose:
    """Return the function that multiplies by the partial derivative by argument n."""
    return lambda factor: factor * PARTIAL[ufunc](n, result, *arguments)


def _where(chosen: np.ndarray, first: Any, second: Any) -> LinearResult:
    result = np.where(chosen, _numbers(first), _numbers(second))
    links = (lambda g: np.where(chosen, g, 0.0)), (lambda g: np.where(chosen, 0.0, g))
    return result, [(first, links[0], links[0]), (second, links[1], links[1])]


def _stack(arrays: Sequence[Any], axis: int = 0) -> LinearResult:
    result = np.stack([_numbers(array) for array in arrays], axis)
    return result, [
        (a, partial(_taken, n, axis), partial(_put, n, axis, result.shape))
        for n, a in enumerate(arrays)
    ]


def _taken(n: int, axis: int, derivative: np.ndarray) -> np.ndarray:
    return np.take(derivative, n, axis)


def _put(n: int, axis: int, shape: tuple[int, ...], change: np.ndarray) -> np.ndarray:
    stacked = np.zeros(shape)
    np.moveaxis(stacked, axis, 0)[n] = change
    return stacked


def _moveaxis(array: Any, source: Any, destination: Any) -> LinearResult:
    result = np.moveaxis(_numbers(array), source, destination)
    return result, [
        (
            array,
            lambda g: np.moveaxis(g, destination, source),
            lambda change: np.moveaxis(change, source, destination),
        )
    ]


def _interp(array: Any, points: np.ndarray, samples: np.ndarray) -> LinearResult:
    number = _numbers(array)
    last = np.searchsorted(points, number, "right").clip(1, len(points) - 1)
    slope = np.diff(samples)[last - 1] / np.diff(points)[last - 1]
    slope = np.where((number < points[0]) | (number > points[-1]), 0.0, slope)
    times = lambda g: slope * g  # noqa: E731
    return np.interp(number, points, samples), [(array, times, times)]


def _tensordot(weights: np.ndarray, array: Any, axes: int) -> LinearResult:
    if axes != 1 or np.ndim(weights) != 1:
        raise TypeError("only sums along the first axis have a derivative here")
    return np.tensordot(weights, _numbers(array), 1), [
        (
            array,
            lambda g: np.multiply.outer(weights, g),
            lambda change: np.tensordot(weights, change, 1),
        )
    ]


LINEAR: dict[Any, Callable[..., LinearResult]] = {
    np.where: _where,
    np.stack: _stack,
    np.moveaxis: _moveaxis,
    np.interp: _interp,
    np.tensordot: _tensordot,
}


def _numbers(array: Any) -> Any:
    return getattr(array, "value", array)


def summed_to(shape: tuple[int, ...], derivative: Any) -> Any:
    """Return a derivative by an array of a shape, of one by what it was broadcast to."""
    derived = np.shape(derivative)
    if len(derived) < len(shape) or derived == shape:
        return derivative
    extra = len(derived) - len(shape)
    axes = tuple(range(extra)) + tuple(
        n + extra for n, size in enumerate(shape) if size == 1 and derived[n + extra] > 1
    )
    return derivative.sum(axes, keepdims=True).reshape(
        tuple(d if s > 1 else 1 for s, d in zip(shape, derived[extra:], strict=True))
    )
