"""The time step of a run: what its operators and its medium leave of the stability limit."""

from __future__ import annotations

import math

from seismo.equations.table import Physics
from seismo.errors import ScenarioError
from seismo.grid.coefficients import Stencil, largest_second_symbol, largest_symbol
from seismo.grid.grid import AXES, Grid
from seismo.grid.surface_closure import SurfaceClosure
from seismo.grid.time_step import Clock, choose_clock, stability_limit
from seismo.model import Earth, Extremes
from seismo.model.column import NODES
from seismo.scenario import Scenario

MOST_STEPS = 20_000_000  # what is due when is listed step by step


def stable_part(
    scenario: Scenario, earth: Earth, extremes: Extremes, contacts: list[float]
) -> float:
    """Return the share of the limit of a uniform medium that the averages of this one leave.

    Sharp averages (`seismo.model.column`) are stiffer than any medium by their room at most, and
    contacts of fluid and solid leave shares of their own
    (`seismo.equations.fluid_solid_operators`).
    """
    found = list(contacts)
    if scenario.averaging == "effective" and earth.layered and not extremes.uniform:
        found.append(1.0 - NODES.undershoot)
    return min(found, default=1.0)


def make_clock(
    scenario: Scenario, limit: float, safe: float, intervals: list[float], faster: float = 1.0
) -> Clock:
    """Choose the time step below a limit in s, of which so much is safe, and count the steps.

    `faster`: times as fast as the limit knows are the waves.
    """
    limit = limit / faster
    spec = scenario.time
    share = min(1.0, spec.courant / safe)
    try:
        clock = choose_clock(spec.duration, safe * limit, share, spec.step, intervals)
    except ScenarioError as error:
        raise scenario.mistake("time", "step", problem=str(error)) from None
    if clock.steps > MOST_STEPS:
        raise scenario.mistake(
            "time", "duration",
            problem=f"takes {clock.steps:.3g} steps of {clock.dt:.3g} s, more than "
            f"{MOST_STEPS:.0e}; shorten it, or check its unit",
        )  # fmt: skip
    return clock


def limit_of(
    physics: Physics, grid: Grid, stencil: Stencil, closure: SurfaceClosure | None,
    extremes: Extremes,
) -> float:  # fmt: skip
    """Return the stability limit in s of a uniform medium."""
    if physics.differences == "second":
        symbol = math.sqrt(largest_second_symbol(stencil.second))
    else:
        symbol = largest_symbol(stencil.first)
    fastest = physics.fastest(extremes)
    factors = {a: of(extremes) / fastest for a, of in physics.fastest_along.items()}
    if closure is not None:
        factors["z"] = factors.get("z", 1.0) * closure.growth
    return stability_limit(
        fastest, [(symbol * factors.get(a, 1.0), grid.spacing[AXES.index(a)]) for a in grid.axes]
    )
