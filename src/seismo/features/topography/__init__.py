"""Ground that is not flat: rows of the grid that follow it."""

from seismo.features import Feature

FEATURE = Feature(
    "topography",
    applies=lambda scenario: scenario.topography is not None,
    point_rules="surface.point_rule:point_rule",
    indirect_reading="surface.stresses:indirect_reading",
    planes="curved_runs:planes",
    causes="checks.causes:CAUSES",
    checks="checks.ground:CHECKS",
    reports="checks.report:REPORTS",
    memory="checks.report:memory",
)
