"""The time step of a run: what its operators and its medium leave of the stability limit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from seismo.equations.fluid_solid_contact import Contact
from seismo.equations.fluid_solid_operators import stable_share
from seismo.equations.table import Physics
from seismo.errors import ScenarioError
from seismo.grid.coefficients import Stencil, largest_second_symbol, largest_symbol
from seismo.grid.grid import AXES, Grid
from seismo.grid.surface_closure import SurfaceClosure
from seismo.grid.time_step import Clock, choose_clock, stability_limit
from seismo.model import Earth, Extremes
from seismo.model.column import NODES
from seismo.model.loss import without_losses
from seismo.model.stiffness import excess
from seismo.scenario import Scenario

MOST_STEPS = 20_000_000  # what is due when is listed step by step


def stable_part(
    scenario: Scenario, physics: Physics, grid: Grid, stencil: Stencil, earth: Earth,
    extremes: Extremes, contacts: Sequence[Contact],
) -> float:  # fmt: skip
    """Return the share of the limit of a uniform medium that contacts and averages leave.

    Contacts of fluid and solid (`seismo.equations.fluid_solid_operators`) leave shares of their
    own, as those of light and heavy rock do (`seismo.model.stiffness`). Sharp averages
    (`seismo.model.column`) are stiffer than any medium by their room at most.
    """
    fastest = physics.fastest(extremes)
    shares = [stable_share(k, stencil.first, grid) * fastest / k.fastest for k in contacts]
    if physics.differences == "first":
        averages = without_losses(physics.medium)
        rule = scenario.averaging
        more = excess(earth, grid, stencil.first, averages, rule, extremes, fastest)
        # dt <= 2 / sqrt(L), with L the largest eigenvalue: `more` times that of one rock.
        shares.append(more**-0.5)
    if scenario.averaging == "effective" and earth.layered and not extremes.uniform:
        # Sharp averages of layers undershoot the values on both sides.
        shares.append(1.0 - NODES.undershoot)
    return min(shares, default=1.0)


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
        # Largest symbol of the differences: sqrt of that of second ones.
        symbol = math.sqrt(largest_second_symbol(stencil.second))
    else:
        symbol = largest_symbol(stencil.first)
    fastest = physics.fastest(extremes)
    factors = {a: of(extremes) / fastest for a, of in physics.fastest_along.items()}
    if closure is not None:
        # Closed rows have a larger one along z.
        factors["z"] = factors.get("z", 1.0) * closure.growth
    return stability_limit(
        fastest, [(symbol * factors.get(a, 1.0), grid.spacing[AXES.index(a)]) for a in grid.axes]
    )
