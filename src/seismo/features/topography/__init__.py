"""Ground that is not flat: rows of the grid that follow it."""

from seismo.features import Feature

FEATURE = Feature(
    "topography",
    applies=lambda scenario: scenario.has_topography,
    key="section:KEY",
    rules="section:RULES",
    point_rules="interpolation:point_rule",
    indirect_reading="stresses:indirect_reading",
    planes="curved_runs:planes",
    limits="symbol:limits",
    points_a_step="symbol:points_a_step",
    uncut_rows="row_weights:uncut_rows",
    row_costs="row_weights:row_costs",
    refuse_media="ground:refuse_water",
    ground="ground:topography_of",
    first_row="ground:first_row",
    halo="row_weights:halo",
    curved_rows="row_weights:weights_of",
    physics="curved_runs:curved",
    causes="error:CAUSES",
    checks="checks:CHECKS",
    reports="checks:REPORTS",
    memory="checks:memory",
)
