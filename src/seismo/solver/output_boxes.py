"""Boxes of snapshots and maps that hold no point of the grid, which are refused together."""

from __future__ import annotations

from seismo.acquisition.locator import level_of
from seismo.errors import ScenarioError
from seismo.grid.grid import AXES, Grid
from seismo.scenario import Scenario
from seismo.solver.field_sampling import kept_points


def refuse_empty_boxes(scenario: Scenario, grid: Grid) -> None:
    """Refuse boxes of snapshots and maps that hold no point.

    Args:
        scenario: the scenario.
        grid: the grid, of two the coarser one, which has rows of all depths.

    Raises:
        ScenarioError: with all of them.
    """
    # Depths count from the ground: the first row where it is not flat.
    level = level_of(scenario, grid)
    errors = [
        scenario.mistake(
            "output", key, number, "box", "depth" if axis == "z" and entry.box.depth else axis,
            problem=f"from {ends[0]:g} m to {ends[1]:g} m holds no point of the grid, whose "
            f"spacing is {grid.spacing[AXES.index(axis)]:g} m; make it wider",
        )
        for key in ("snapshots", "maps")
        for number, entry in enumerate(getattr(scenario.output, key))
        for axis, ends in entry.on_z(level).box or ()
        if ends and axis in grid.axes and not kept_points(grid, axis, entry.on_z(level), {})
    ]  # fmt: skip
    if errors:
        raise ScenarioError(*(text for error in errors for text in error.messages))
