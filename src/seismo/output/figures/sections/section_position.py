"""Where a section cuts an axis: what was asked for, and where points stand next to it."""

from __future__ import annotations

import warnings

import numpy as np

from seismo.errors import ScenarioError, ScenarioWarning
from seismo.output.figures.style import length_unit
from seismo.output.store.ground import GroundRecord
from seismo.scenario import units

_SAME = 1e-6  # of a spacing: rounding of a position


def limits_of(axis: str, along: np.ndarray, ground: GroundRecord | None) -> tuple[float, float]:
    """Return the ends in m of an axis; z begins at the highest ground."""
    is_curved = axis == "z" and ground is not None and ground.is_on({"z": along[0]})
    low = float(ground.z.min()) if ground is not None and is_curved else float(along[0])
    return low, float(along[-1])


def requested_position(
    text: str, axis: str, position_text: str, along: np.ndarray, ground: GroundRecord | None
) -> float:
    """Read where to cut an axis: the grid point next to it, or z among rows that are curved.

    Warns:
        ScenarioWarning: points do not stand there, but beside.
    """
    try:
        position = units.to_si(position_text.strip(), units.LENGTH)
    except units.UnitError as error:
        raise ScenarioError(f"section {text!r}: {error}") from None
    reach = 0.5 * float(np.ptp(along[:2]))
    low, high = limits_of(axis, along, ground)
    if not low - reach <= position <= high + reach:
        raise ScenarioError(f"section {text!r}: {axis} is from {low:.6g} to {high:.6g} m here")
    drawn = drawn_position(axis, max(position, low), along, ground)
    factor, unit = length_unit([0.0, drawn])
    words = f"{axis} = {drawn * factor:.6g} {unit}"
    note = ""
    if axis == "z" and ground is not None and drawn < ground.flat_from:
        if not ground.is_on({"z": drawn}):
            note = f"the points of rows nearest to {words} are drawn: rows follow the ground"
    elif abs(drawn - position) > _SAME * reach:
        note = f"{words} is drawn, the plane of points next to it"
    if note:
        warnings.warn(f"section {text!r}: {note}", ScenarioWarning, stacklevel=2)
    return drawn


def drawn_position(
    axis: str, position: float, along: np.ndarray, ground: GroundRecord | None
) -> float:
    """Return where points stand next to a position in m; itself among rows that are curved."""
    if axis == "z" and ground is not None and position < ground.flat_from:
        return position
    return float(along[np.abs(along - position).argmin()])
