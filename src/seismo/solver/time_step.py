"""The time step of a run: what its operators and its medium leave of the stability limit."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from seismo.equations.fluid_solid_contact import Contact
from seismo.equations.fluid_solid_operators import stable_share
from seismo.equations.table import Physics
from seismo.errors import KeyPath, ScenarioError
from seismo.grid.coefficients import Stencil, largest_second_symbol, largest_symbol
from seismo.grid.grid import AXES, Grid
from seismo.grid.surface_closure import SurfaceClosure
from seismo.grid.time_step import Clock, as_fraction, choose_clock, stability_limit
from seismo.model import Earth, Extremes
from seismo.model.column import NODES
from seismo.model.loss import without_losses
from seismo.model.stiffness import excess, least_heights
from seismo.scenario import Scenario
from seismo.solver.medium import rows_of

_AVERAGED = 4  # rows on either side whose rock averages have
MOST_STEPS = 20_000_000  # what is due when is listed step by step


def limits_of(
    scenario: Scenario, physics: Physics, grid: Grid, stencil: Stencil,
    closure: SurfaceClosure | None, earth: Earth, extremes: Extremes, contacts: Sequence[Contact],
) -> tuple[float, float]:  # fmt: skip
    """Return the stability limit in s of a uniform medium, and the share that a run leaves of it.

    See `limit_of` and `stable_part`.
    """
    rows = rows_of(earth, grid, physics, scenario.averaging, extremes)
    limit = limit_of(physics, grid, stencil, closure, extremes, rows)
    return limit, stable_part(scenario, physics, grid, stencil, earth, extremes, contacts, rows)


def stable_part(
    scenario: Scenario, physics: Physics, grid: Grid, stencil: Stencil, earth: Earth,
    extremes: Extremes, contacts: Sequence[Contact], rows: Sequence[Extremes] | None = None,
) -> float:  # fmt: skip
    """Return the share of the limit of a uniform medium that contacts and averages leave.

    Where cells grow with depth (`rows`, see `limit_of`) it is that of the limit that they leave.

    Contacts of fluid and solid (`seismo.equations.fluid_solid_operators`) leave shares of their
    own, as those of light and heavy rock do (`seismo.model.stiffness`). Sharp averages
    (`seismo.model.column`) are stiffer than any medium by their room at most.
    """
    fastest = physics.fastest(extremes)
    # Contacts lie among cells of the height at the top, in which the limit may be another one.
    uniform = limit_of(physics, grid, stencil, None, extremes)
    limit = limit_of(physics, grid, stencil, None, extremes, rows)
    share = uniform / limit
    shares = [stable_share(k, stencil.first, grid) * fastest / k.fastest * share for k in contacts]
    if physics.differences == "first":
        averages = without_losses(physics.medium)
        rule = scenario.averaging
        # Of rows that grow the limit is that of some rock in cells of some height.
        squares = None
        if rows is not None:
            # dt = 2 / (c S sqrt(sum 1 / h^2)) of the rock and the cells that the limit is of.
            squares = (2.0 / (limit * fastest * largest_symbol(stencil.first))) ** 2
        more = excess(earth, grid, stencil.first, averages, rule, extremes, fastest, squares)
        # dt <= 2 / sqrt(L), with L the largest eigenvalue: `more` times that of one rock.
        shares.append(more**-0.5)
    if scenario.averaging == "effective" and earth.layered and not extremes.uniform:
        # Sharp averages of layers undershoot the values on both sides.
        shares.append(1.0 - NODES.undershoot)
    return min(shares, default=1.0)


def make_clock(scenario: Scenario, limit: float, safe: float, faster: float = 1.0) -> Clock:
    """Choose the time step below a limit in s, of which so much is safe, and count the steps.

    `faster`: times as fast as the limit knows are the waves.
    """
    limit = limit / faster
    spec = scenario.time
    share = min(1.0, spec.courant / safe)
    intervals = _intervals(scenario)
    try:
        clock = choose_clock(
            spec.duration, safe * limit, share, spec.step, list(intervals.values())
        )
    except ScenarioError as error:
        path: KeyPath = ("time", "step")
        if spec.step is None:  # no step fits: named is the interval of the finest fraction
            path = max(intervals, key=lambda key: as_fraction(intervals[key]).denominator)
        raise scenario.mistake(*path, problem=str(error)) from None
    if clock.steps > MOST_STEPS:
        raise scenario.mistake(
            "time", "duration",
            problem=f"takes {clock.steps:.3g} steps of {clock.dt:.3g} s, more than "
            f"{MOST_STEPS:.0e}; shorten it, or check its unit",
        )  # fmt: skip
    return clock


def _intervals(scenario: Scenario) -> dict[KeyPath, float]:
    """Return the output intervals in s by their keys."""
    timed: dict[KeyPath, float | None] = {
        ("receivers", n, "interval"): group.interval for n, group in enumerate(scenario.receivers)
    }
    for n, series in enumerate(scenario.output.snapshots):
        timed["output", "snapshots", n, "interval"] = series.interval
    return {path: interval for path, interval in timed.items() if interval is not None}


def limit_of(
    physics: Physics, grid: Grid, stencil: Stencil, closure: SurfaceClosure | None,
    extremes: Extremes, rows: Sequence[Extremes] | None = None,
) -> float:  # fmt: skip
    """Return the stability limit in s of a uniform medium.

    Where cells grow with depth it is the least of the rows': of the fastest medium (`rows`) and the
    lowest cell that the differences of each read.
    """
    if rows is not None:
        reach = stencil.order // 2 + _AVERAGED
        heights = least_heights(grid, reach)
        speeds = np.array([physics.fastest(row) for row in rows])
        # Fastest rock among the rows that differences and averages of each row read.
        windows = np.lib.stride_tricks.sliding_window_view(
            np.pad(speeds, reach, "edge"), 2 * reach + 1
        )
        fastest_rows = windows.argmax(axis=1) + np.arange(len(rows)) - reach
        fastest_rows = np.clip(fastest_rows, 0, len(rows) - 1)
        pairs = set(zip(fastest_rows.tolist(), heights.tolist(), strict=True))
        return min(
            _limit(physics, grid, stencil, closure if height == 1.0 else None, rows[n], height)
            for n, height in pairs
        )
    return _limit(physics, grid, stencil, closure, extremes, 1.0)


def _limit(
    physics: Physics, grid: Grid, stencil: Stencil, closure: SurfaceClosure | None,
    extremes: Extremes, height: float,
) -> float:  # fmt: skip
    """Return the stability limit in s of a uniform medium and cells of one height."""
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
    if height > 1.0:
        factors["z"] = factors.get("z", 1.0) / height
    return stability_limit(
        fastest, [(symbol * factors.get(a, 1.0), grid.spacing[AXES.index(a)]) for a in grid.axes]
    )
