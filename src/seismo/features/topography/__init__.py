"""Ground that is not flat: rows of the grid that follow it."""

from seismo.features import Feature

FEATURE = Feature(
    "topography",
    applies=lambda scenario: scenario.has_topography,
    key="section:KEY",
    rules="section:RULES",
    point_rules="interpolation:point_rule",
    indirect_reading="stresses:indirect_reading",
    planes="differences:planes",
    limits="differences:limits",
    points_a_step="differences:points_a_step",
    uncut_rows="differences:uncut_rows",
    row_costs="differences:row_costs",
    refuse_media="ground:refuse_water",
    ground="ground:topography_of",
    first_row="ground:first_row",
    halo="differences:halo",
    curved_rows="differences:weights_of",
    physics="differences:curved",
    causes="checks:CAUSES",
    checks="checks:CHECKS",
    reports="checks:REPORTS",
    memory="checks:memory",
)
