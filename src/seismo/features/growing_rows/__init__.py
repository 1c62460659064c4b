"""Rows whose spacing grows with depth."""

from seismo.features import Feature

FEATURE = Feature(
    "growing_rows",
    applies=lambda scenario: scenario.grid.grows,
    stretching="layout:rows_laid_out",
    refuse_scheme="layout:refuse_growing_contacts",
)
