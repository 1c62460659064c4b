"""Grids and layers that are chosen for the wanted accuracy."""

from seismo.features import Feature

FEATURE = Feature(
    "chosen_grids",
    applies=lambda scenario: scenario.grid.is_open or scenario.boundaries.layer.is_open,
    completed="choice:with_grid",
    least_error="budget:least_error",
    prices="prices:prices",
)
