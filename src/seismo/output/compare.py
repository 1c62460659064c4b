"""Two results files beside each other: identical to the last bit, or how far apart.

Of every array of traces, snapshots and maps: the relative L2 difference |b - a| / |a|, and the
largest difference of two numbers. NaN in both (what a broken run left out) is no difference. The
rest is read for damage only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.output.run_results import RunResults
from seismo.output.store.arrays import NamedArrays
from seismo.scenario.units import with_unit

_COMPARED = ("traces", "snapshots", "maps")
_ROUNDING = 1e-9  # of the step of an axis, by which equal places may differ


@dataclass(frozen=True)
class Comparison:
    """One array of two files.

    Attributes:
        name: of the array, with its group.
        identical: whether all bits are the same.
        relative: L2 norm of the difference over that of the first one.
        largest: difference of two numbers.
        unit: of the latter.
        obstacle: why there is nothing to compare, if so.
    """

    name: str
    identical: bool = False
    relative: float = np.nan
    largest: float = np.nan
    unit: str = ""
    obstacle: str = ""

    def __str__(self) -> str:
        """Describe it in a few words."""
        if self.obstacle or self.identical:
            return f"{self.name}: {self.obstacle or 'identical'}"
        most = with_unit(self.largest, self.unit)
        return f"{self.name}: differ by {self.relative:.3g} (relative L2), {most} at most"


def compare(first: RunResults, second: RunResults) -> Iterator[Comparison]:
    """Compare all arrays of two files, one by one."""
    for results in (first, second):
        results.verify(without=_COMPARED)
    for kind in _COMPARED:
        one = getattr(first, kind)
        other = getattr(second, kind)
        for name in dict.fromkeys([*one, *other]):
            yield from _compare_sets(f"{kind}/{name}", dict(one).get(name), dict(other).get(name))


def _compare_sets(
    name: str, one: NamedArrays | None, other: NamedArrays | None
) -> Iterator[Comparison]:
    if one is None or other is None:
        yield Comparison(name, obstacle=_only(other is None))
        return
    different_columns = [
        c for c in one.columns if not _same_axis(_column(one, c), _column(other, c))
    ]
    for array in dict.fromkeys([*one, *other]):
        path = f"{name}/{array}"
        if array not in one or array not in other:
            yield Comparison(path, obstacle=_only(array in one))
        elif one.shape(array) != other.shape(array):
            shapes = f"{one.shape(array)} and {other.shape(array)}"
            yield Comparison(path, obstacle=f"have the shapes {shapes}")
        elif different_columns:
            yield Comparison(
                path, obstacle=f"stand at other places: {', '.join(different_columns)}"
            )
        else:
            yield _compare(path, array, one, other)


def _only(first: bool) -> str:
    return f"only in the {'first' if first else 'second'} file"


def _same_axis(one: Any, other: Any) -> bool:
    """Whether two coordinates are equal, numbers but for rounding."""
    if one is None or other is None or np.shape(one) != np.shape(other):
        return one is other
    first = np.asarray(one)
    second = np.asarray(other)
    if not (first.dtype.kind in "fiu" and second.dtype.kind in "fiu") or not first.size:
        return np.array_equal(first, second)
    largest = float(np.nanmax(np.abs(first), initial=0.0))
    steps = np.abs(np.diff(first.astype(float)))
    step = min(steps[steps > _ROUNDING * largest], default=largest)
    return np.allclose(first, second, rtol=0.0, atol=_ROUNDING * step, equal_nan=True)


def _column(arrays: NamedArrays, name: str) -> Any:
    return arrays.column(name) if name in arrays.columns else None


def _compare(path: str, name: str, one: NamedArrays, other: NamedArrays) -> Comparison:
    """Compare two arrays, a frame at a time."""
    identical = True
    difference_energy = 0.0
    energy = 0.0
    largest = 0.0
    for index in range(one.shape(name)[0]):
        a, b = (arrays.values_of(name, index) for arrays in (one, other))
        identical &= a.tobytes() == b.tobytes()
        difference = np.subtract(b, a, dtype=float)
        difference[np.isnan(a) & np.isnan(b)] = 0.0
        difference_energy += float(np.sum(difference**2))
        energy += float(np.nansum(np.square(a, dtype=float)))
        largest = float(np.maximum(largest, np.abs(difference).max(initial=0.0)))
    relative = (
        float(np.sqrt(difference_energy / energy))
        if energy
        else (np.inf if difference_energy else 0.0)
    )
    return Comparison(path, identical, relative, largest, one.unit(name))
