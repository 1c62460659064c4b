"""Boxes of snapshots and maps that reach out of the grid or hold no point, told together."""

from __future__ import annotations

from collections.abc import Iterator

from seismo.acquisition.locator import level_of
from seismo.errors import KeyPath, ScenarioError
from seismo.grid.grid import AXES, Grid
from seismo.scenario import Scenario
from seismo.solver.sampling.field_sampling import kept_points


def refuse_empty_boxes(scenario: Scenario, grid: Grid) -> None:
    """Refuse boxes of snapshots and maps that end below the grid, or hold no point.

    Args:
        scenario: the scenario.
        grid: the grid, of two the coarser one, which has rows of all depths.

    Raises:
        ScenarioError: with all of them.
    """
    errors = [scenario.mistake(*key, problem=problem) for key, problem in _empty(scenario, grid)]
    if errors:
        raise ScenarioError.of(errors)


def _empty(scenario: Scenario, grid: Grid) -> Iterator[tuple[KeyPath, str]]:
    """Yield the keys of such boxes, and what is wrong with each."""
    # Depths count from the ground: the first row where it is not flat.
    level = level_of(scenario, grid)
    entries = [
        (("output", key, number, "box"), entry, entry.on_z(level))
        for key in ("snapshots", "maps")
        for number, entry in enumerate(getattr(scenario.output, key))
    ]
    sides = [(*of, placed, *side) for *of, placed in entries for side in placed.box or ()]
    for path, entry, placed, axis, ends in sides:
        if ends is None or axis not in grid.axes:
            continue
        key = (*path, "depth" if axis == "z" and entry.box.depth else axis)
        bottom = grid.limits(axis)[1]
        spacing = grid.spacing[AXES.index(axis)]
        if ends[1] > bottom + 1e-6 * spacing:
            yield key, f"to {axis} = {ends[1]:g} m, and the grid ends at {bottom:g} m; end it there"
        elif not kept_points(grid, axis, placed, {}):
            yield (
                key, f"from {ends[0]:g} m to {ends[1]:g} m holds no point of the grid, whose "
                f"spacing is {spacing:g} m; make it wider",
            )  # fmt: skip
