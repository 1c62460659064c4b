"""Samples of parameters from files and arrays: units, limits, gaps, and exchanged axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping

import numpy as np

from seismo.equations.framework.registry import PARAMETERS
from seismo.errors import ModelError
from seismo.model.gridded import GridField, Limits
from seismo.scenario.python_data import SPELLINGS
from seismo.scenario.quantities import impossible

FACTORS = {  # by unit of SI, of the units that values may have
    "m/s": {"m/s": 1.0, "km/s": 1e3},
    "kg/m3": {"kg/m3": 1.0, "g/cm3": 1e3},
    "Pa": {"Pa": 1.0, "GPa": 1e9},
}


def check_values(
    array: np.ndarray,
    factor: float,
    name: str,
    where: str,
    remedy: Callable[[], str],
    key: tuple[str, ...],
    otherwise: str,
) -> None:
    """Check the values of a parameter.

    Args:
        array: its values.
        factor: by which they are in SI.
        name: of the parameter.
        where: they are from, for messages.
        remedy: function() -> remedy of wrong values, "" if not known.
        key: below that of the parameter, for messages.
        otherwise: default remedy of values too small or large.

    Raises:
        ModelError: values are no numbers, or no medium has them.
    """
    low = float(array.min())
    high = float(array.max())
    may_be_inf = math.isinf(PARAMETERS[name].limits[1])
    if np.isnan([low, high]).any() or not (may_be_inf or np.isfinite([low, high]).all()):
        is_bad = np.isnan(array) if may_be_inf else ~np.isfinite(array)
        kind = "no numbers" if may_be_inf else "not finite"
        raise ModelError(
            f"{where} holds {is_bad.sum()} of {array.size} values that are {kind}, the first at "
            f"index {_first(is_bad)}; {remedy() or 'fill the gaps'}",
            *key,
        )
    for extreme, value in (("smallest", low), ("largest", high)):
        if problem := impossible(PARAMETERS[name], value * factor):
            is_bad = array == value
            count = f"{is_bad.sum()} of {array.size} values, the first " if is_bad.sum() > 1 else ""
            last = "fill the gaps" if value <= 0.0 else otherwise
            raise ModelError(
                f"{where}: its {extreme} value ({count}at index {_first(is_bad)}): {problem}; "
                f"{remedy() or last}",
                *key,
            )


def factor_of(unit: str | None, name: str) -> float:
    """Return the factor from the unit of labelled values of a parameter to SI.

    Raises:
        ModelError: it is none of the parameter's.
    """
    si_unit = PARAMETERS[name].unit
    known = FACTORS.get(si_unit, {si_unit: 1.0})
    if unit is not None and unit not in known:
        allowed = " or ".join(filter(None, known)) or "none"
        raise ModelError(f"has the unit {unit!r} by its attributes; {name} has {allowed}")
    return 1.0 if unit is None else known[unit]


def _first(bad: np.ndarray) -> list[int]:
    return [int(k) for k in np.unravel_index(int(np.argmax(bad)), bad.shape)]


def in_si(samples: np.ndarray, name: str, unit: str, written: str | None, where: str) -> np.ndarray:
    """Return values of a parameter in SI; NaN stays.

    Args:
        samples: the values.
        name: of the parameter.
        unit: that the file says, "" if it says none.
        written: unit that the scenario says, which counts more.
        where: they are from, for messages.

    Raises:
        ModelError: the unit is none of the parameter's, or no medium has the values.
    """
    unit = SPELLINGS.get(unit.strip(), unit.strip())
    factor = factor_of(written or unit or None, name)
    lacking = np.isnan(samples)
    if not lacking.all():
        si_unit = PARAMETERS[name].unit
        units = " or ".join(FACTORS.get(si_unit, [si_unit or "none"]))
        present = np.where(lacking, samples[~lacking][0], samples)
        check_values(present, factor, name, where, lambda: "", (name,), f"give its units ({units})")
    return samples * factor


def fill_columns(samples: np.ndarray) -> np.ndarray:
    """Return values (z, y, x) that are missing taken from the nearest above, or else below."""
    known = ~np.isnan(samples)
    number = np.arange(len(samples)).reshape(-1, *(1,) * (samples.ndim - 1))
    above = np.maximum.accumulate(np.where(known, number, -1), 0)
    below = np.minimum.accumulate(np.where(known, number, len(samples))[::-1], 0)[::-1]
    take_below = (above < 0) | ((below < len(samples)) & (below - number < number - above))
    nearest = np.clip(np.where(take_below, below, above), 0, len(samples) - 1)
    return np.take_along_axis(samples, nearest, 0)


def turned_round(field: GridField, region: Mapping[str, Limits]) -> str:
    """Return a warning where a file has the shape that a region needs, but transposed.

    Args:
        field: the file, its axes in the order of "zyx".
        region: limits of the region in m by axis.
    """
    needed = tuple(
        round((region[axis][1] - region[axis][0]) / step) + 1
        for axis, step in zip(field.axes, field.spacing, strict=True)
    )
    shape = field.samples.shape
    if shape == needed or shape[::-1] != needed:
        return ""
    return (
        f"{field.source} has the shape {list(shape)}, the region needs {list(needed)} along "
        f"{field.axes}: save its transpose, or give axes: {field.axes[::-1]} (axes: {field.axes} "
        "takes it as it is)"
    )


def turned(grids: Mapping[str, GridField], least: float) -> str:
    """Name the file of vp or vs that seems transposed: exchanging its axes gives valid vp / vs.

    Args:
        grids: files by the parameters they hold.
        least: of vp / vs, which the files as they are fall below.
    """
    vp, vs, rho = (grids.get(name) for name in ("vp", "vs", "rho"))
    if vp is None or vs is None or vp.axes != vs.axes:
        return ""
    for order in list(itertools.permutations(range(len(vp.axes))))[1:]:
        transposed = vp.samples.transpose(order)
        if transposed.shape != vs.samples.shape:
            continue
        if (transposed * vp.factor < least * vs.factor * vs.samples).any():
            continue
        names = " or ".join(grid.source for grid in _unlike([vp, vs], rho))
        return f"{names} seems transposed: exchange its axes, or give their order by `axes`"
    return ""


def _unlike(suspects: list[GridField], reference: GridField | None) -> list[GridField]:
    """Return the file of two that correlates less with a reference, or both."""
    if reference is None or np.ptp(reference.samples) == 0.0:
        return suspects
    misshapen = [grid for grid in suspects if grid.samples.shape != reference.samples.shape]
    if misshapen:
        return misshapen
    correlations = [
        np.corrcoef(grid.samples.ravel(), reference.samples.ravel())[0, 1] for grid in suspects
    ]
    return [suspects[int(np.argmin(correlations))]]
