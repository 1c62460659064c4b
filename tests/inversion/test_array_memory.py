"""Coefficients and their derivatives on a card: no array of the host comes between those there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from seismo.inversion.adjoint import gradient
from seismo.inversion.adjoint.extent import ArrayMemory
from seismo.inversion.adjoint.imaging import Images
from seismo.inversion.adjoint.tape import TapedArray
from test_pullback import PARAMETERS, SOURCES, derivative_of_misfit, model, propagator, scenario


class CardArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that, like CuPy's, takes none of NumPy's beside it, and never becomes such."""

    __array_priority__ = 100

    def __init__(self, host: np.ndarray) -> None:
        self._host = host

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        """Refuse to become one of the host."""
        raise TypeError("an array of a card becomes one of the host")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        """Return a function element by element."""
        assert method == "__call__"
        if any(isinstance(operand, TapedArray) for operand in operands):
            return NotImplemented
        result = ufunc(*map(_here, operands))
        for target in options.get("out", ()):
            target[:] = result
        return _there(result)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        """Return a function of whole arrays."""
        if TapedArray in types:
            return NotImplemented
        if function is np.asarray:  # like one of these
            (host,) = arguments
            return CardArray(np.array(host))
        return _there(function(*map(_here, arguments), **options))

    def __getattr__(self, name: str) -> Any:
        """Return an attribute, or a method, of the numbers."""
        if name.startswith("__"):
            raise AttributeError(name)
        attribute = getattr(self._host, name)
        if not callable(attribute):
            return _there(attribute)
        return lambda *arguments, **options: _there(attribute(*arguments, **options))

    def __getitem__(self, index: Any) -> CardArray:
        """Return the numbers at an index."""
        return CardArray(self._host[index])

    def __setitem__(self, index: Any, array: Any) -> None:
        """Put numbers at an index."""
        self._host[index] = _here(array) if isinstance(array, CardArray) else array

    def __len__(self) -> int:
        """Return the length of the first axis."""
        return len(self._host)

    def get(self) -> np.ndarray:
        """Return the array on the host."""
        return self._host.copy()


def _here(operand: Any) -> Any:
    if isinstance(operand, (list, tuple)):
        return [_here(member) for member in operand]
    if isinstance(operand, np.ndarray) and operand.ndim:
        raise TypeError("an array of the host beside one of a card")
    return operand._host if isinstance(operand, CardArray) else operand


def _there(result: Any) -> Any:
    return CardArray(result) if isinstance(result, np.ndarray) else result


class Card:
    """The copies of a backend."""

    array = staticmethod(CardArray)

    @staticmethod
    def fetch(array: CardArray) -> np.ndarray:
        """Return an array on the host."""
        return array.get()


class OfCard(ArrayMemory):
    """The memory of such a card, whatever a simulation runs on."""

    @classmethod
    def of(cls, *_: Any) -> ArrayMemory:
        return ArrayMemory(Card())  # type: ignore[arg-type]


@pytest.mark.parametrize("averaging", ["point", "effective"])
@pytest.mark.parametrize(("equation", "dimensions"), [
    *((name, 2) for name in PARAMETERS), ("acoustic", 3),
    pytest.param("elastic", 3, marks=pytest.mark.slow),
])  # fmt: skip
def test_the_same_gradient(equation: str, dimensions: int, averaging: str, monkeypatch) -> None:
    """On a card as on the host, to the bit; sources whose points have derivatives of their own."""
    document = scenario(equation, dimensions, averaging=averaging, source=SOURCES[equation][-1])
    document["time"]["duration"] = 0.06
    arrays = model(equation, dimensions)

    def derivatives() -> dict[str, np.ndarray]:
        wave = propagator(document, threads=1)
        traces = wave(**arrays)
        weights = {s: {c: np.ones_like(t) for c, t in of.items()} for s, of in traces.items()}
        return wave.pullback(derivative_of_misfit(traces, weights))

    on_host = derivatives()
    sums = Images.sums
    monkeypatch.setattr(gradient, "ArrayMemory", OfCard)
    monkeypatch.setattr(Images, "sums", lambda images, name: CardArray(sums(images, name)))
    on_card = derivatives()
    for name, array in on_host.items():
        assert np.abs(array).max() > 0.0
        np.testing.assert_array_equal(on_card[name], array)
