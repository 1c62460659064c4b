"""Ground that is not flat: rows of the grid that follow it."""

from seismo.features import Feature

FEATURE = Feature(
    "topography",
    applies=lambda scenario: scenario.topography is not None,
    planes="curved_runs:planes",
)
