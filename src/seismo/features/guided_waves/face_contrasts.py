"""Contrasts of the shear modulus on a face of the region, down it (z, the first axis) and along it.

They tell which waves an earth may guide along absorbing layers
(`seismo.features.guided_waves.guides`).
"""

from __future__ import annotations

from itertools import product

import numpy as np

INVERSION = 2.0  # times as stiff as what lies below it
ENCLOSED = 2.0  # times as stiff, or as soft, as what lies on either side
WINDOW = 40  # nodes over which jumps are averaged
_CAPPED = 9.0  # largest jump that counts, as beside a fluid


def jump(shear: np.ndarray, axis: int) -> float:
    """Return the mean jump of its logarithm from node to node, the largest of all windows.

    Nothing jumps beside what is not a number.
    """
    largest = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        jumps = np.abs(np.diff(np.log(shear), axis=axis))
    jumps = np.moveaxis(np.nan_to_num(jumps).clip(max=_CAPPED), axis, 0)  # two fluids: none
    for first in range(0, max(1, len(jumps) - WINDOW // 2), WINDOW // 2):
        window = jumps[first : first + WINDOW]
        largest = max(largest, float(window.mean(0).max())) if window.size else largest
    return largest


def without_small_turns(shear: np.ndarray) -> np.ndarray:
    """Return a face that keeps its extreme modulus down to where it has turned by `INVERSION`.

    Beds that differ by less guide nothing that grows. What is not a number stays so.
    """
    kept = shear[0]
    rising = np.ones(kept.shape, bool)
    rows = []
    for row in shear:
        with np.errstate(invalid="ignore"):
            turns = np.where(rising, kept / row, row / kept) > INVERSION
        rising = rising ^ turns
        extreme = np.where(rising, np.fmax(kept, row), np.fmin(kept, row))
        kept = np.where(turns, row, extreme)
        rows.append(kept)
    return np.where(np.isnan(shear), np.nan, np.array(rows))


def rise(shear: np.ndarray) -> float:
    """Return how many times as stiff a face is below as anything solid above."""
    softest = np.minimum.accumulate(np.where(shear > 0.0, shear, np.inf), 0)
    return float((shear / softest).max())


def inverted(shear: np.ndarray) -> float:
    """Return by how much a face has stiff above soft; 1 where that is less than `INVERSION`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return _largest(np.maximum.accumulate(shear, 0) / shear, INVERSION)


def enclosed(shear: np.ndarray) -> float:
    """Return by how much a face has something stiffer or softer than what lies on either side.

    1 where no modulus is `ENCLOSED` times as large.
    """
    ratios = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for axis, extremum in product(range(1, shear.ndim), (np.maximum, np.minimum)):
            before = extremum.accumulate(shear, axis)
            after = np.flip(extremum.accumulate(np.flip(shear, axis), axis), axis)
            if extremum is np.maximum:
                ratios.append(np.minimum(before, after) / shear)
            else:
                ratios.append(shear / np.maximum(before, after))
    return max((_largest(ratio, ENCLOSED) for ratio in ratios), default=1.0)


def _largest(ratios: np.ndarray, least: float) -> float:
    """Return the largest ratio, 1 where it is not the least that counts; of two fluids it is 1."""
    largest = float(np.nan_to_num(ratios, nan=1.0).max())
    return largest if largest > least else 1.0
