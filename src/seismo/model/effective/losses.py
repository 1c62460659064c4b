"""The loss of effective media: the number y of each of their stiffnesses.

Media that attenuate have complex moduli M (1 - sum Y_l w_l / (w_l + i w)), with Y_l nearly
proportional to y (`seismo.equations.loss.relaxation`). What a cell of several media has follows
from the averages of `seismo.model.effective.averaging` by the correspondence principle. To first
order in 1/Q that is

    y of c = d ln c / d eps,  every modulus M of the earth being M (1 + eps y)

which is y itself where one medium fills the cell. Symbols as in `seismo.model.effective.averaging`.

In anisotropic rock a constant relaxes with both y. The loss of two sums of constants that turning
does not change tells them, nine times Voigt's bulk modulus and 15 times his shear modulus::

    dilation = c11 + c22 + c33 + 2 (c12 + c13 + c23),
    distortion = c11 + c22 + c33 - c12 - c13 - c23 + 3 (c44 + c55 + c66)

and those of strains in the plane of x and z: c11 + c33 + 2 c13, and c11 + c33 - 2 c13 + 4 c55.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from seismo.equations.loss.anisotropic import STIFFER
from seismo.model.effective.averaging import cell_average
from seismo.model.effective.cells import AveragedEarth, GridCells, Samples

PREFIX = "y_"

_NORMAL = ("c11", "c22", "c33")
_MIXED = ("c12", "c13", "c23")
_SHEAR = ("c44", "c55", "c66")
_PLANE = ("c11", "c33", "c13", "c55")


def _sum(m: Samples, names: Sequence[str]) -> np.ndarray:
    return sum((m[name] for name in names[1:]), m[names[0]])


# What is averaged, and the modulus, of those whose loss is asked for that are no average.
_MODULI: dict[str, tuple[tuple[str, ...], Callable[[Samples], np.ndarray]]] = {
    "slack": (("c11", "c33", "c13"), lambda m: np.sqrt(m["c11"] * m["c33"]) - m["c13"]),
    "vp": (("vp",), lambda m: m["vp"] ** 2),
    "dilation": (
        (*_NORMAL, *_MIXED),
        lambda m: _sum(m, _NORMAL) + 2.0 * _sum(m, _MIXED),
    ),
    "distortion": (
        (*_NORMAL, *_MIXED, *_SHEAR),
        lambda m: _sum(m, _NORMAL) - _sum(m, _MIXED) + 3.0 * _sum(m, _SHEAR),
    ),
    "plane_dilation": (_PLANE[:3], lambda m: m["c11"] + m["c33"] + 2.0 * m["c13"]),
    "plane_distortion": (
        _PLANE,
        lambda m: m["c11"] + m["c33"] - 2.0 * m["c13"] + 4.0 * m["c55"],
    ),
}


def _modulus(name: str) -> tuple[tuple[str, ...], Callable[[Samples], np.ndarray]]:
    return _MODULI.get(name, ((name,), lambda m: m[name]))


def without_losses(parameters: Sequence[str]) -> tuple[str, ...]:
    """Return those of the averages that are no losses."""
    return tuple(name for name in parameters if not name.startswith(PREFIX))


def effective_medium(
    earth: AveragedEarth,
    points: GridCells,
    parameters: Sequence[str],
    averaging: Literal["effective", "point"] = "effective",
    change: Callable[[Samples], dict[str, np.ndarray]] | None = None,
    **how: Any,
) -> dict[str, np.ndarray]:
    """Return averages and losses ("y_c33", ...) at the points of a grid, in float64.

    Arguments are those of `seismo.model.effective.averaging.cell_average`, and what averages are
    changed to (of all constants, whose losses change with them).
    """
    plain = without_losses(parameters)
    lossy = tuple(name for name in parameters if name.startswith(PREFIX))

    def average(earth: AveragedEarth, names: Sequence[str]) -> dict[str, np.ndarray]:
        averages = cell_average(earth, points, names, averaging, dtype=np.float64, **how)
        return averages if change is None else change(averages)

    if not lossy:
        return average(earth, plain)
    moduli = [_modulus(name.removeprefix(PREFIX)) for name in lossy]
    needed = tuple(dict.fromkeys(name for names, _ in moduli for name in names))
    everything = tuple(dict.fromkeys((*plain, *needed)))
    before = average(earth, everything)
    after = average(earth.stiffer, everything if change else needed)
    return {name: before[name] for name in plain} | losses_between(lossy, before, after)


def losses_between(names: Sequence[str], soft: Samples, hard: Samples) -> dict[str, np.ndarray]:
    """Return losses ("y_c33", ...) of constants and of those with moduli `STIFFER` times y larger.

    Args:
        names: of the losses.
        soft: the constants that their moduli take [Pa].
        hard: the same of the stiffer earth (`Earth.stiffer`).
    """
    moduli = {name: _modulus(name.removeprefix(PREFIX))[1] for name in names}
    return {name: _growth(modulus(soft), modulus(hard)) for name, modulus in moduli.items()}


def _growth(soft: np.ndarray, hard: np.ndarray) -> np.ndarray:
    """Return the relative change for a whole eps, 0 where there is no modulus.

    It is none but rounding where media lose nothing.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = np.where(soft > 0.0, (hard / soft - 1.0) / STIFFER, 0.0)
    return np.where(np.abs(growth) < 1e-9, 0.0, growth)
