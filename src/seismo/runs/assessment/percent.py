"""How errors are worded: nobody needs three digits of what makes traces useless."""

from __future__ import annotations

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
