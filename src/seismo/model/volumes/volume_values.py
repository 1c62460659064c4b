"""Values of files with several parameters: their units, and what some lack."""

from __future__ import annotations

import numpy as np

from seismo.equations.framework.registry import PARAMETERS
from seismo.model.volumes.sample_limits import (
    FACTORS,
    check_values,
    factor_of,
)
from seismo.scenario.earth.arrays import SPELLINGS


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
