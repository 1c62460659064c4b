"""Grids of two spacings that meet in a plane."""

from seismo.features import Feature

FEATURE = Feature(
    "refinement",
    applies=lambda scenario: scenario.grid.plane_is_open or bool(scenario.grid.planes),
    rules="section:RULES",
    indirect_reading="operators:indirect_reading",
    exchange="exchange:RefinedExchange",
    settle="plane:with_plane",
    levels="levels:levels",
    grids="grids:discretize_grids",
    refuse_level="levels:refuse_unrefined",
    halo="operators:halo",
    refined_rows="levels:rows_of",
    field_size="levels:field_size",
    assess="error:assess",
    reports="error:REPORTS",
)
