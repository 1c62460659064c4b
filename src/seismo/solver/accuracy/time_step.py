"""The time step of a run: the stability limit, and the share that operators and medium leave."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from seismo.equations.framework.table import Physics
from seismo.errors import KeyPath, ScenarioError
from seismo.features import acting
from seismo.grid.coefficients import Stencil, largest_second_symbol
from seismo.grid.grid import AXES, Grid
from seismo.grid.surface_closure import SurfaceClosure
from seismo.grid.time_step import Clock, as_fraction, choose_clock, stability_limit
from seismo.model.earth import Earth
from seismo.model.effective.averaging import without_losses
from seismo.model.effective.column import NODES
from seismo.model.extremes import Extremes
from seismo.model.stiffness import largest_eigenvalue, least_heights, square_of, varied_axes
from seismo.scenario import Scenario
from seismo.solver.discretization import Facts
from seismo.solver.medium.earth_samples import rows_of

_AVERAGED = 4  # rows on either side whose rock averages have
_ROUNDING = 1e-9  # by which a rock may exceed its own eigenvalue
MOST_STEPS = 20_000_000  # outputs that are due are listed step by step


@dataclass(frozen=True)
class RowLimit:
    """The share of the stability limit that rows with operators of their own leave.

    Attributes:
        share: of the limit of other rows.
        growth: largest derivative over that of other rows.
        step: longest stable step in s of their own.
        bounded: z in m of the first and the last node row that `step` is of.
    """

    share: float = 1.0
    growth: float = 1.0
    step: float = math.inf
    bounded: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True)
class Scheme:
    """The difference equations of a run.

    Attributes:
        scenario: of the run.
        physics: the wave equation.
        grid: the rows that are updated.
        all_rows: of the grid.
        earth: the medium.
        stencil: of the differences.
        closure: closed operators under a free surface, or None.
        facts: that features give.
        growth: of the largest eigenvalue by rows beside another spacing.
        varied: axes along which rock varies.
        share: of the limit that rows with operators of their own leave.
        steepness: largest derivative of such rows over that of others.
    """

    scenario: Scenario
    physics: Physics
    grid: Grid
    all_rows: Grid
    earth: Earth
    stencil: Stencil
    closure: SurfaceClosure | None = None
    facts: Facts = field(default_factory=Facts)
    growth: float = 1.0
    varied: str = ""
    share: float = 1.0
    steepness: float = 1.0


def limits_of(scheme: Scheme, extremes: Extremes) -> tuple[float, float]:
    """Return the stability limit in s of a uniform medium, and the share that a run leaves of it.

    See `limit_of` and `stable_part`, and `RowLimit` of rows with operators of their own.
    """
    earth = scheme.earth
    averaging = scheme.scenario.averaging
    special = [limits(scheme) for limits in acting("limits", scheme.scenario)]
    scheme = replace(
        scheme, varied=varied_axes(earth, scheme.grid, extremes),
        share=math.prod(rows.share for rows in special),
        steepness=math.prod(rows.growth for rows in special),
    )  # fmt: skip
    rows = rows_of(earth, scheme.grid, scheme.physics, averaging, extremes)
    limit = limit_of(scheme, extremes, rows)
    bounded = [ends for special_rows in special for ends in special_rows.bounded]
    share = stable_part(scheme, extremes, rows, bounded)
    return limit, min([share, *(special_rows.step / limit for special_rows in special)])


def stable_part(
    scheme: Scheme,
    extremes: Extremes,
    rows: Sequence[Extremes] | None = None,
    bounded: Sequence[tuple[float, float]] = (),
) -> float:
    """Return the share of the limit of a uniform medium that averages leave.

    Averages of closed rows (`bounded`, z from and to) are not counted: no difference reads across
    their contact, and they have a limit of their own (`RowLimit.step`).

    Where cells grow with depth (`rows`, see `limit_of`) it is that of the limit that they leave.

    Contacts of light and heavy rock leave shares of their own (`seismo.model.stiffness`). Sharp
    averages (`seismo.model.effective.column`) are stiffer than any medium by their room at most.
    """
    physics = scheme.physics
    grid = scheme.grid
    stencil = scheme.stencil
    earth = scheme.earth
    averaging = scheme.scenario.averaging
    fastest = physics.fastest(extremes)
    limit = limit_of(replace(scheme, closure=None), extremes, rows)
    shares = []
    # In constant density, L is that of the fastest medium.
    if physics.differences == "first" and "rho" in physics.medium:
        averages = without_losses(physics.medium)
        largest = largest_eigenvalue(earth, grid, stencil, averages, averaging, extremes, bounded)
        # Of rows that grow the limit is that of the worst pair of rock and cell height.
        if rows is None:
            squares = sum(square_of(stencil, grid, axis, scheme.varied) for axis in grid.axes)
        else:
            # dt = 2 / (c sqrt(sum S_a^2 / h_a^2)) of the rock and the cells that the limit is of.
            squares = (2.0 / (limit * fastest)) ** 2
        # dt <= 2 / sqrt(L): `more` times the eigenvalue of a single rock.
        more = largest / (fastest**2 * squares)
        shares.append(more**-0.5 if more > 1.0 + _ROUNDING else 1.0)
    if averaging == "effective" and earth.layered and not extremes.uniform:
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


def limit_of(scheme: Scheme, extremes: Extremes, rows: Sequence[Extremes] | None = None) -> float:
    """Return the stability limit in s of a uniform medium.

    Where cells grow with depth it is the least of the rows': of the fastest medium (`rows`) and the
    lowest cell that the differences of each read.
    """
    if rows is not None:
        reach = scheme.stencil.order // 2 + _AVERAGED
        heights = least_heights(scheme.grid, reach)
        speeds = np.array([scheme.physics.fastest(row) for row in rows])
        # Fastest rock among the rows that differences and averages of each row read.
        windows = np.lib.stride_tricks.sliding_window_view(
            np.pad(speeds, reach, "edge"), 2 * reach + 1
        )
        fastest_rows = windows.argmax(axis=1) + np.arange(len(rows)) - reach
        fastest_rows = np.clip(fastest_rows, 0, len(rows) - 1)
        pairs = set(zip(fastest_rows.tolist(), heights.tolist(), strict=True))
        return min(_limit(scheme, rows[n], height) for n, height in pairs)
    return _limit(scheme, extremes, 1.0)


def _limit(scheme: Scheme, extremes: Extremes, height: float) -> float:
    """Return the stability limit in s of a uniform medium and cells of equal height."""
    physics = scheme.physics
    grid = scheme.grid
    stencil = scheme.stencil
    if physics.differences == "second":
        # Largest symbol of the differences: sqrt of that of second ones.
        upright = math.sqrt(largest_second_symbol(stencil.second))
        symbols = dict.fromkeys(grid.axes, upright)
    else:
        upright = stencil.symbol("z")
        symbols = {a: stencil.symbol(a, a in scheme.varied) for a in grid.axes}
    fastest = physics.fastest(extremes)
    factors = {a: of(extremes) / fastest for a, of in physics.fastest_along.items()}
    if scheme.closure is None:
        symbols["z"] = max(symbols["z"], upright * scheme.growth)
    elif height == 1.0:
        # Closed rows, of cells of that height, have a larger symbol along z.
        symbols["z"] = max(symbols["z"], upright * max(scheme.closure.growth, scheme.growth))
    if height > 1.0:
        factors["z"] = factors.get("z", 1.0) / height
    flat_limit = stability_limit(
        fastest,
        [(s * factors.get(a, 1.0), grid.spacing[AXES.index(a)]) for a, s in symbols.items()],
    )
    return scheme.share * flat_limit / scheme.steepness
