"""Heights of the ground from text: lines of x, y and height, at the points of a regular grid."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seismo.errors import ModelError
from seismo.scenario.text_files import read_lines

_NEAR = 0.02  # of the spacing, by which points may be off a regular grid: degrees of 32 bits
_ONE = 1e-6  # of the extent, by which coordinates are apart that are one
_SPARSE = 1000  # points of a regular grid along an axis, for each line


def read_height_lines(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows (n), columns (m), both rising, and heights (n, m), NaN where none is given.

    Raises:
        ModelError: it is no such text, or its points stand on no regular grid.
    """
    lines = read_lines(path, "expected lines of x, y, height")
    table = []
    for number, line in lines:
        words = line.replace(",", " ").replace(";", " ").split()
        try:
            table.append([float(word) for word in words])
        except ValueError:
            if table or number > lines[0][0]:
                raise ModelError(
                    f"{path}:{number}: not a line of numbers: x, y, height", "path"
                ) from None
    if len({len(row) for row in table}) != 1 or len(table[0]) != 3:
        raise ModelError(f"{path} needs lines of three numbers each: x, y, height", "path")
    x, y, heights = np.array(table).T
    least = _ONE * max(np.ptp(x), np.ptp(y))
    columns, rows = (_ticks(c, least, path, name) for c, name in ((x, "x"), (y, "y")))
    samples = np.full((rows.size, columns.size), np.nan)
    nodes = _numbers(rows, y), _numbers(columns, x)
    samples[nodes] = heights
    unlike = (samples[nodes] != heights) & np.isfinite(heights)
    if unlike.any():
        number = lines[len(lines) - len(table) + int(unlike.argmax())][0]
        raise ModelError(f"{path}:{number}: another line has another height there", "path")
    return rows, columns, samples


def _ticks(numbers: np.ndarray, least: float, path: Path, name: str) -> np.ndarray:
    """Return the even coordinates of a regular grid that points stand on, `least` apart."""
    rising = _separated(np.unique(numbers), least)
    step, count = _steps(rising)
    if count > numbers.size:
        # Rounding may be larger; a text may have gaps, too.
        rising = _separated(rising, _NEAR * float(np.diff(rising).max()))
        step, count = _steps(rising)
    if rising.size == 1:
        return rising
    if count > _SPARSE * numbers.size:
        raise ModelError(
            f"{path}: its {name} make a regular grid of {count} points, {step:g} apart, of which "
            f"the file has {numbers.size} at most; grid it, by GMT surface, say",
            "path",
        )
    even = np.linspace(rising[0], rising[-1], count)
    off = np.abs(numbers - even[_numbers(even, numbers)]).max()
    if off > _NEAR * (even[1] - even[0]):
        raise ModelError(
            f"{path}: its {name} are {off:g} off a regular grid of {step:g}; grid it, by GMT "
            "surface, say",
            "path",
        )
    return even


def _separated(rising: np.ndarray, least: float) -> np.ndarray:
    """Return the first of rising coordinates that are no more than `least` apart."""
    return rising[np.append(True, np.diff(rising) > least)]


def _steps(rising: np.ndarray) -> tuple[float, int]:
    """Return the median step of rising coordinates, and the points of a grid with that."""
    if rising.size == 1:
        return 0.0, 1
    step = float(np.median(np.diff(rising)))
    return step, 1 + round(float(rising[-1] - rising[0]) / step)


def _numbers(ticks: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the numbers of the ticks that are nearest."""
    if ticks.size == 1:
        return np.zeros(numbers.size, int)
    step = (ticks[-1] - ticks[0]) / (ticks.size - 1)
    return np.rint((numbers - ticks[0]) / step).astype(int)
