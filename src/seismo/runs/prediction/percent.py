"""Errors and lengths as messages word them: few digits, and none of useless traces."""

from __future__ import annotations

import math

_USELESS = 0.7  # relative error of traces that have little to do with the true ones


def in_percent(share: float) -> str:
    """Format a share to two digits."""
    return f"{100.0 * share:.2g} %"


def percent(error: float) -> str:
    """Format a relative error."""
    return "more than 70 %" if error > _USELESS else in_percent(error)


def up_to(error: float) -> str:
    """Format a relative error that is a bound."""
    return percent(error) if error > _USELESS else f"up to about {percent(error)}"


def rounded_down(value: float) -> float:
    """Return a number rounded down to two digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / unit * (1.0 + 1e-9)) * unit:.2g}")
