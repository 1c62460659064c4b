"""Rows whose spacing grows with depth: laid out by the scenario, or by the velocities of its earth.

By the velocities a cell is min(3, v / v_min) times as tall as at the top, with v the slowest wave
below and v_min the slowest anywhere: waves have no fewer points in a wavelength than the slowest at
the top.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seismo.equations.framework.registry import EQUATIONS, physics_for
from seismo.equations.framework.table import Physics
from seismo.features.loss.mechanisms import relaxation_of
from seismo.features.topography.ground import (
    ground_of,
    rows_under,
    topography_of,
)
from seismo.features.topography.shape import Ground
from seismo.grid.grid import (
    AXES,
    LARGEST,
    Grid,
    Stretching,
    laid_out,
)
from seismo.model.contacts import SlipContacts
from seismo.model.earth import Earth
from seismo.scenario import Scenario
from seismo.scenario.scenario_facts import remembered
from seismo.solver.accuracy.time_step import Scheme
from seismo.solver.medium.earth_samples import earth_of

_ACROSS = {2: 4001, 3: 101}  # places along x, and along y, that are asked at most
CLEAR = 28  # rows of equal height below a contact of fluid and solid
_FINE = 2  # depths in a cell of the top's height


def rows_laid_out(scenario: Scenario) -> Stretching | None:
    """Return the rows of a scenario whose spacing grows; None where all have the same height.

    Raises:
        ScenarioError: its equation asks for rows of equal height.
    """
    return _rows(scenario) if scenario.grid.grows else None


@remembered()
def _rows(scenario: Scenario) -> Stretching | None:
    """Return the rows of a scenario whose spacing may grow; None where all have the same height."""
    spec = scenario.grid
    options = relaxation_of(scenario) or scenario.options
    ground = ground_of(scenario)
    name = scenario.equation.name
    physics = physics_for(name, scenario.dimensions, options, ground is not None)
    _refuse(scenario, physics)
    even = _even_grid(scenario, ground)
    is_listed = isinstance(spec.spacing.z, tuple)
    wanted = _as_given(scenario) if is_listed else _by_velocities(scenario, physics, even)
    # Over topography down from the row that cells are counted from.
    length = spec.extent.z if ground is None else (even.points[2] - 1) * even.spacing[2]
    return laid_out(even.origin[2], spec.spacing.x, length, wanted)


def _refuse(scenario: Scenario, physics: Physics) -> None:
    """Refuse equations and faces that do not go with rows of several heights."""
    problem = ""
    if physics.differences == "second":
        other = _of_first_order(physics, scenario.dimensions)
        problem = (
            f"grows, and the second differences that drive {scenario.physics} waves need rows of "
            f"one height; use physics {other}, or a length"
        )
    elif physics.interpolates:
        problem = "grows, and rock about tilted axes needs rows of one height; use a length"
    elif scenario.boundaries.top == "periodic":
        problem = "grows, and top and bottom are periodic, where rows meet; use a length"
    if problem:
        raise scenario.mistake("grid", "spacing", "z", problem=problem)


def _of_first_order(physics: Physics, dimensions: int) -> str:
    """Name equations for the same kind of medium that rows of several heights go with."""
    solid = "vs" in physics.needs
    names = [
        name
        for name, equation in EQUATIONS.items()
        if not equation.extends
        and dimensions in equation.dimensions
        and physics_for(name, dimensions).differences == "first"
        and ("vs" in physics_for(name, dimensions).needs) == solid
    ]
    return " or ".join(names) or "another"


def refuse_growing_contacts(scheme: Scheme) -> None:
    """Refuse rows that grow where contacts of fluid and solid, or a surface, close differences.

    Raises:
        ScenarioError: it tells from which depth on rows may grow.
    """
    scenario = scheme.scenario
    grid = scheme.all_rows
    closure = scheme.closure
    slips = scheme.facts.get(SlipContacts) or SlipContacts()
    stretching = grid.stretching
    if stretching is None:
        return
    if closure is not None and closure.rows > stretching.flat:
        raise scenario.mistake(
            "grid", "spacing", "z",
            problem=f"grows within the {closure.rows} rows of the free surface; use a length",
        )  # fmt: skip
    # Rows that contacts close, and rows that their differences read.
    reach = 3 * (scheme.stencil.order // 2) + 2
    ends = [(contact.half + reach, contact.z_index) for contact in slips.corrected]
    last, contact_index = max(ends, default=(0, 0.0))
    if last > stretching.flat + grid.low[2]:
        deepest = float(grid.coordinate("z", contact_index))
        enough = grid.origin[2] + (last + 1 - grid.low[2]) * grid.spacing[2]
        raise scenario.mistake(
            "grid", "spacing", "z",
            problem=f"grows within {last - contact_index:.0f} rows of the contact of fluid and "
            f"solid at {deepest:.6g} m, which needs rows of one height; let it grow below "
            f"{enough:.6g} m, or use a length",
        )  # fmt: skip


def _as_given(scenario: Scenario) -> Callable[[float], float]:
    spec = scenario.grid
    # Steps: the spacing of the last depth that lies above.
    depths = np.array([row.below for row in spec.spacing.z])
    factors = np.array([1.0, *(row.spacing / spec.spacing.x for row in spec.spacing.z)])

    def wanted(z: float) -> float:
        return float(factors[np.searchsorted(depths, z, side="right")])

    return wanted


def _by_velocities(scenario: Scenario, physics: Physics, grid: Grid) -> Callable[[float], float]:
    # Over topography rows are at depths s, and the earth is asked where they stand.
    topography = topography_of(scenario, grid)
    earth = earth_of(scenario, grid, physics, relaxation_of(scenario), topography)
    z = grid.coordinate("z", np.arange(_FINE * (grid.points[2] - 1) + 1) / _FINE)
    slowest, wet = slowest_waves(earth, grid, z)
    # Slowest wave at a depth or below it: waves come back up from there.
    below = np.minimum.accumulate(slowest[::-1])[::-1]
    # As many points in a wavelength as at the top.
    factors = np.minimum(LARGEST, below / below[0])
    if wet.any() and not wet.all():
        # Rows about contacts of fluid and solid have equal height.
        factors[: np.flatnonzero(wet)[-1] + _FINE * CLEAR] = 1.0

    def wanted(depth: float) -> float:
        return float(factors[max(0, int(np.searchsorted(z, depth, side="right")) - 1)])

    return wanted


def _even_grid(scenario: Scenario, ground: Ground | None) -> Grid:
    """Return the points of the extent with the spacing that they have at the top.

    Over topography the first row lies at the level that cells are counted from (`rows_under`).
    """
    spec = scenario.grid
    axes = "xyz" if scenario.dimensions == 3 else "xz"
    spacing = (spec.spacing.x, spec.spacing.y or 1.0, spec.spacing.x)
    counts = [
        1 + round(getattr(spec.extent, a) / h) if a in axes else 1
        for a, h in zip(AXES, spacing, strict=True)
    ]
    top = spec.origin.top
    if ground is not None:
        (top, cells) = rows_under(scenario, ground)
        counts[AXES.index("z")] = cells + 1
    origin = (spec.origin.x, spec.origin.y, top)
    return Grid(axes, (counts[0], counts[1], counts[2]), spacing, origin, (0, 0, 0), (0, 0, 0))


def slowest_waves(earth: Earth, grid: Grid, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slowest wave (n) in m/s at depths z (n), and whether there is any fluid (n)."""
    # Places all over the extent; a single one in an earth that varies with depth only.
    counts = {a: min(grid.points[AXES.index(a)], _ACROSS[grid.dimensions]) for a in grid.axes}
    across = {a: np.linspace(*grid.limits(a), counts[a]) for a in grid.axes if a != "z"}
    if earth.layered:
        across = {a: line[:1] for a, line in across.items()}
    y = across["y"][:, None] if "y" in across else None
    slowest = np.zeros(z.size)
    wet = np.zeros(z.size, bool)
    for n, depth in enumerate(z):
        # S waves in solids, P waves in fluids.
        samples = earth.sample(np.full((1, 1), depth), y, across["x"][None, :])
        fluid = samples["vs"] == 0.0 if "vs" in samples else np.zeros((), bool)
        name = "vs" if "vs" in samples else "vp"
        speeds = np.where(fluid, samples.get("vp", 0.0), samples[name])
        slowest[n] = float(speeds.min())
        wet[n] = bool(fluid.any())
    return slowest, wet
