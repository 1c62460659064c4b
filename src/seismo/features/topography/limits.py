"""What does not go with topography: some waves, records, faces and planes, cliffs, and water."""

from __future__ import annotations

import math

import numpy as np

from seismo.equations.framework.registry import VARIANTS, physics_for
from seismo.errors import ScenarioError
from seismo.features.topography.heights.shape import BLEND, Ground
from seismo.features.topography.rows import Topography
from seismo.features.topography.section import STEEPEST
from seismo.model.earth import Earth
from seismo.model.effective.cells import GridCells
from seismo.model.extremes import Extremes
from seismo.scenario import Scenario

_EVEN = 1e-6  # spacings, by which ground beside a rigid or periodic face may be off


def refuse_waves(scenario: Scenario) -> None:
    """Refuse topography for equations that do not know it.

    Raises:
        ScenarioError: it names the key, and what to write there.
    """
    if scenario.precision == "float16":
        problem = "does not go with topography; use float32, or leave topography out"
        raise scenario.mistake("precision", problem=problem)
    dimensions = scenario.dimensions
    physics = physics_for(scenario.equation.name, dimensions, scenario.options, True)
    if not physics.gradients:
        names = (name for name, n in VARIANTS if n == dimensions)
        known = [n for n in names if physics_for(n, dimensions, None, True).gradients]
        why = (
            "since neither of their two fields vanishes on ground that slopes"
            if physics.differences == "second"
            else "since their strains are interpolated along rows that are flat"
        )
        raise scenario.mistake(
            "topography",
            problem=f"{scenario.equation.name} waves do not go with it, {why}; those of "
            f"{', '.join(known)} do: use these, or leave it out",
        )  # fmt: skip


def refuse_records(scenario: Scenario) -> None:
    """Raise ScenarioError for receivers that need differences at constant z.

    Fields are read along s, x, y of the grid.
    """
    errors = []
    for number, group in enumerate(scenario.receivers):
        if group.type == "fibre":
            problem = "strains along fibres are not read under topography yet; use points"
            errors.append(scenario.mistake("receivers", number, "type", problem=problem))
        elif group.moves:
            problem = "receivers do not move over topography yet; list them"
            errors.append(scenario.mistake("receivers", number, "relative_to", problem=problem))
    if errors:
        raise ScenarioError.of(errors)


def refuse_faces(scenario: Scenario, ground: Ground) -> None:
    """Refuse ground that is not level along the normal of a rigid or periodic face."""
    for axis, line in (("x", ground.x), ("y", ground.y)):
        if line is None:
            continue
        # The axis in question last.
        z = ground.z if axis == "x" or ground.y is None else ground.z.swapaxes(0, 1)
        count = min(BLEND, line.size)
        tolerance = _EVEN * float(line[1] - line[0])
        # Beside a face whose outside is an image of the inside, or the other end.
        for face, strip in ((f"{axis}_min", z[..., :count]), (f"{axis}_max", z[..., -count:])):
            kind = getattr(scenario.boundaries, face)
            if kind == "absorbing":
                continue
            differs = kind == "periodic" and np.abs(z[..., 0] - z[..., -1]).max() > tolerance
            if differs or float(np.ptp(strip, axis=-1).max()) > tolerance:
                raise scenario.mistake(
                    "boundaries", face,
                    problem=f"{kind} needs ground that is level beside it"
                    + " and alike at both ends" * (kind == "periodic")
                    + "; make it absorbing, or the ground level there",
                )  # fmt: skip


def refuse_planes(scenario: Scenario, topography: Topography) -> None:
    """Raise ScenarioError for planes of output among the rows that follow the ground."""
    errors = []
    # To a millimetre, as told.
    flat_from = math.ceil(topography.flat_from * 1e3 - 0.5) / 1e3
    flat = f"z: {flat_from:.9g} m or more, where rows are flat, or a section x"
    for key in ("snapshots", "maps"):
        for number, entry in enumerate(getattr(scenario.output, key)):
            plane = entry.plane
            if plane is None:
                continue
            # Rows of constant s: planes of constant z where rows are flat, and the ground.
            path = ("output", key, number, "plane")
            if plane.z is not None and plane.z < flat_from - 1e-3:
                problem = f"cuts rows that follow the ground; use depth: 0 m, the ground, {flat}"
                errors.append(scenario.mistake(*path, "z", problem=problem))
            elif plane.depth:
                problem = f"is no row of the grid under topography; use 0 m, the ground, {flat}"
                errors.append(scenario.mistake(*path, "depth", problem=problem))
    if errors:
        raise ScenarioError.of(errors)


def refuse_cliffs(scenario: Scenario, topography: Topography) -> None:
    """Raise ScenarioError for ground that is too steep, with the place."""
    # The dip of the steepest ground at a node.
    steepest = math.degrees(math.atan(topography.steepest))
    if steepest <= STEEPEST:
        return
    x, y = steepest_place(topography)
    raise scenario.mistake(
        "topography",
        problem=f"is {steepest:.1f} degrees steep at {position_text(scenario, x, y)}, "
        f"{STEEPEST:g} is the limit; give smoother ground, or a coarser grid.spacing, which "
        "smooths it",
    )  # fmt: skip


def refuse_water(
    scenario: Scenario, earth: Earth, extremes: Extremes, topography: Topography | None
) -> None:
    """Refuse fluid among the rows that follow the ground.

    Raises:
        ScenarioError: it names the first place.
    """
    if topography is None or not extremes.fluid or "vs" not in earth.needs:
        return
    # Row by row of nodes, down to where rows are flat.
    cells = GridCells.of(topography.grid)
    for row in range(topography.rows):
        # Fluids have no S waves.
        slow = earth.sample(*cells.rows(slice(row, row + 1)))["vs"] == 0.0
        if slow.any():
            index = np.unravel_index(int(slow.argmax()), slow.shape)
            x = float(cells.x[index[-1]])
            y = 0.0 if cells.y is None else float(cells.y[index[1]])
            z = float(topography.z(cells.z[row], y, x))
            raise scenario.mistake(
                "topography",
                problem=f"goes with solid ground alone, and there is a fluid at "
                f"{position_text(scenario, x, y)}, z = {z:.6g} m; leave the fluid out, or "
                "topography",
            )  # fmt: skip


def steepest_place(topography: Topography) -> tuple[float, float]:
    """Return x, y in m where the ground is steepest."""
    grid = topography.grid
    # tan^2 of the dip at nodes: f_x^2 + f_y^2.
    across = [a for a in grid.axes if a != "z"]
    squares = np.broadcast_arrays(*(topography.slope(a, "") ** 2 for a in across))
    row, column = np.unravel_index(int(np.sum(squares, axis=0).argmax()), squares[0].shape)
    y = float(grid.coordinate("y", row)) if "y" in across else 0.0
    return float(grid.coordinate("x", column)), y


def position_text(scenario: Scenario, x: float, y: float) -> str:
    """Format a place in m."""
    return f"x = {x:.6g} m" + f", y = {y:.6g} m" * (scenario.dimensions == 3)
