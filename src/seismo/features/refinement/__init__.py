"""Grids of two spacings that meet in a plane."""

from seismo.features import Feature

FEATURE = Feature(
    "refinement",
    applies=lambda scenario: scenario.grid.plane_is_open or bool(scenario.grid.planes),
    indirect_reading="plane_strains:indirect_reading",
    exchange="exchange:RefinedExchange",
    assess="error:assess",
    reports="report:REPORTS",
)
