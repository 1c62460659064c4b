"""The time step of a run: the stability limit, and the share that operators and medium leave.

A scheme is stable for dt <= 2 / sqrt(L), with L the largest eigenvalue of inv(M) B^T C B: C the
stiffness where stresses stand, M the density where velocities do, B the differences. By the theorem
of Gershgorin for the matrix scaled with the largest symbols S_a of the differences along axes, L is
at most the largest, over all velocities v_a, of

    [ S_a^2 A_a(c_aa) + sum over b of S_b^2 (A_a(c_ab) + 2 A_b(mu_ab)) ] / rho_a

where A_a averages over the points that the difference along a reads, by the size of its weights.
In a uniform medium that is vp^2 (S_x^2 + S_y^2 + S_z^2), the exact value. At a contact of light and
heavy rock it is more: stresses of the heavy rock act on velocities of the light rock. Symbols: vp,
vs (m/s), rho (kg/m3), moduli (Pa); the density of a velocity is the mean of two nodes, mu_ab the
harmonic mean of four.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from seismo.equations.framework.table import Physics
from seismo.equations.rock.elastic_constants import named
from seismo.errors import KeyPath, ScenarioError
from seismo.features import acting
from seismo.grid.coefficients import Stencil, largest_second_symbol
from seismo.grid.grid import AXES, Grid
from seismo.grid.surface_closure import SurfaceClosure
from seismo.grid.time_step import Clock, as_fraction, choose_clock, stability_limit
from seismo.model.earth import Earth
from seismo.model.effective import GridCells
from seismo.model.effective.averaging import cell_average, without_losses
from seismo.model.effective.column import NODES
from seismo.model.extremes import Extremes
from seismo.scenario import Scenario
from seismo.solver.discretization import Facts
from seismo.solver.medium.earth_samples import rows_of

ORDINARY = 3.0  # contrast of density below which the sideways variation of an earth is not sampled
_SLAB = 1 << 21  # nodes sampled at a time

MediumArrays = Mapping[str, np.ndarray]
_AVERAGED = 4  # rows on either side whose rock averages have
_ROUNDING = 1e-9  # by which a rock may exceed its own eigenvalue
MOST_STEPS = 20_000_000  # outputs that are due are listed step by step


def largest_eigenvalue(
    earth: Earth,
    grid: Grid,
    stencil: Stencil,
    parameters: tuple[str, ...],
    averaging: Literal["effective", "point"],
    extremes: Extremes,
    bounded: Sequence[tuple[float, float]] = (),
) -> float:
    """Return a bound of L in 1/s^2.

    It is 0 where L is that of the fastest rock alone.

    Args:
        earth: the earth, with rho.
        grid: the grid.
        stencil: of the differences.
        parameters: of the effective medium that the equation takes (`Physics.medium`).
        averaging: "effective" or "point".
        extremes: of the earth on the grid.
        bounded: z (from, to) of rows of an earth that varies with depth only, which have operators
            and a bound of their own.
    """
    if extremes.uniform:
        return 0.0
    nodes = GridCells.of(grid)
    if earth.layered:
        nodes = nodes.column
    elif extremes.rho_max < ORDINARY * extremes.rho_min:
        return 0.0
    if not earth.layered:
        parameters = (*parameters, *(f"rho_{a}" for a in grid.axes))
    reach = stencil.order // 2 + 1
    heights = least_heights(grid, reach)
    largest = 0.0
    plane = nodes.x.size * (1 if nodes.y is None else nodes.y.size)
    slab_rows = max(1, _SLAB // plane)
    for start in range(0, nodes.z.size, slab_rows):
        rows = slice(max(0, start - reach), start + slab_rows + reach)
        slab = replace(nodes, z=nodes.z[rows])
        medium = cell_average(earth, slab, parameters, averaging, dtype=np.float64)
        bounds = _bounds(medium, grid, stencil, varied_axes(earth, grid, extremes), heights[rows])
        for low, high in bounded:
            bounds[(low <= slab.z) & (slab.z <= high)] = 0.0
        largest = max(largest, float(bounds[start - rows.start :][:slab_rows].max()))
    return largest


def _bounds(
    m: MediumArrays, grid: Grid, stencil: Stencil, varied: str, heights: np.ndarray
) -> np.ndarray:
    """Return the bound in 1/s^2, largest of a node's velocities.

    Args:
        m: averages (z, [y,] x) of the medium, as `Physics.medium` names them, and where it varies
            sideways `rho_x`, ... of cells that are all fluid.
        grid: the grid.
        stencil: of the differences.
        varied: axes along which rock varies.
        heights: (z) least of the cells that differences read, in cells at the top.
    """
    axes = {a: n for n, a in enumerate("zyx" if grid.dimensions == 3 else "zx")}
    sizes = {a: np.abs(stencil.along(a)) for a in axes}
    weights = {a: size / size.sum() for a, size in sizes.items()}
    squares: dict[str, Any] = {a: square_of(stencil, grid, a, varied) for a in axes}
    if grid.stretching is not None:
        squares["z"] = squares["z"] * heights.reshape(-1, *[1] * (len(axes) - 1)) ** -2
    rho = m["rho"]
    bound = np.zeros_like(m["rho"])
    if "mu_yz" in m:
        for a, n in axes.items():
            shear = _harmonic(m["mu_xy" if a == "x" else "mu_yz"], n)
            bound += squares[a] * _average(shear, weights[a], n, -1) / rho
        return bound
    lightness = _lightness(m, list(axes))
    for a, n in axes.items():
        total = squares[a] * _average(normal_stiffness(m, a, a), weights[a], n, 0)
        for b, k in axes.items():
            if b != a:
                shear = _harmonic(_harmonic(shear_stiffness(m, a, b), n), k)
                along = _average(np.abs(normal_stiffness(m, a, b)), weights[a], n, 0)
                total = total + squares[b] * (along + 2 * _average(shear, weights[b], k, -1))
        inverse = 2.0 / (rho + _shifted(rho, n, 1))
        inverse = np.maximum(inverse, np.maximum(lightness, _shifted(lightness, n, 1)))
        bound = np.maximum(bound, total * inverse)
    return bound


def varied_axes(earth: Earth, grid: Grid, extremes: Extremes) -> str:
    """Return the axes along which the rock of an earth varies."""
    if extremes.uniform:
        return ""
    return "z" if earth.layered else "".join(grid.axes)


def square_of(stencil: Stencil, grid: Grid, axis: str, varied: str) -> float:
    """Return S_a^2 / h_a^2 of the differences along an axis, in 1/m^2.

    `varied`: axes along which rock varies.
    """
    return (stencil.symbol(axis, axis in varied) / grid.spacing[AXES.index(axis)]) ** 2


def least_heights(grid: Grid, reach: int) -> np.ndarray:
    """Return the least height (nz) of cells within `reach` rows, in cells at the top."""
    return np.asarray(grid.heights(np.arange(grid.points[2]) - reach))


def normal_stiffness(m: MediumArrays, a: str, b: str) -> np.ndarray:
    """Return c_ab of a medium, by default transversely isotropic about z."""
    if "p_modulus" in m:
        return m["p_modulus"]
    if "c55" in m:
        return m[named("c", a, b)]
    if a == b:
        return m["c33" if a == "z" else "c11"]
    return m["c13"] if "z" in (a, b) else m["c11"] - 2 * m["c66"]


def _lightness(m: MediumArrays, axes: list[str]) -> np.ndarray:
    """Return <1 / rho> of cells in which fluids meet, 0 elsewhere.

    It is the largest eigenvalue of the tensor B (`seismo.model.effective.density`), whose other
    eigenvalues equal it, except a single 1 / <rho>.
    """
    if "rho_x" not in m:
        return np.zeros_like(m["rho"])
    trace = sum(1.0 / m[f"rho_{a}"] for a in axes)
    return np.nan_to_num((trace - 1.0 / m["rho"]) / (len(axes) - 1))


def shear_stiffness(m: MediumArrays, a: str, b: str) -> np.ndarray:
    """Return mu_ab on the nodes."""
    if "mu_yz" in m:
        return m["mu_yz" if "z" in (a, b) else "mu_xy"]
    if "p_modulus" in m:
        return np.zeros_like(m["p_modulus"])
    if "c55" in m:
        pair = min(a, b) + max(a, b)
        return m[named("c", pair, pair)]
    return m["c44" if "z" in (a, b) else "c66"]


def _shifted(array: np.ndarray, axis: int, by: int) -> np.ndarray:
    """Return an array shifted by `by` nodes along an axis; its ends are repeated."""
    indices = np.clip(np.arange(array.shape[axis]) + by, 0, array.shape[axis] - 1)
    return array.take(indices, axis)


def _average(array: np.ndarray, weights: np.ndarray, axis: int, offset: int) -> np.ndarray:
    """Return the weighted mean about half a node further up (offset 0), or down (-1)."""
    total = np.zeros_like(array)
    for m, weight in enumerate(weights):
        ahead = _shifted(array, axis, m + 1 + offset)
        total += 0.5 * weight * (ahead + _shifted(array, axis, offset - m))
    return total


def _harmonic(array: np.ndarray, axis: int) -> np.ndarray:
    """Return the harmonic mean of a node's value and the next node's, 0 beside 0."""
    with np.errstate(divide="ignore"):
        return 2.0 / (1.0 / array + 1.0 / _shifted(array, axis, 1))


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

    Contacts of light and heavy rock leave shares of their own (`largest_eigenvalue`). Sharp
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
