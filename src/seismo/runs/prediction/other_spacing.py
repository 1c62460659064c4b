"""The scenario of a run with another spacing, as trials of finer and coarser grids have it."""

from __future__ import annotations

from typing import Any

from seismo.grid.grid import AXES
from seismo.scenario import Scenario
from seismo.solver.discretization import Discretization


def of_spacing(discretization: Discretization, factor: float) -> Scenario:
    """Return the scenario with a spacing so many times as large."""
    grid = discretization.grid
    spacing: dict[str, Any] = {a: factor * grid.spacing[AXES.index(a)] for a in grid.axes}
    along_z = discretization.scenario.grid.spacing.z
    if along_z == "auto":
        spacing["z"] = along_z
    elif isinstance(along_z, tuple):
        spacing["z"] = [{"below": r.below, "spacing": factor * r.spacing} for r in along_z]
    changes: dict[str, Any] = {"grid.spacing": spacing}
    # Where no plane was found another spacing has none, either: each is judged as one grid.
    if discretization.scenario.grid.plane_is_open:
        changes["grid.refinement"] = []
    return discretization.scenario.changed(changes)
