"""Contacts of fluid and solid."""

from seismo.features import Feature

FEATURE = Feature(
    "contacts",
    point_rules="interpolation:point_rule",
    row_media="rows:adjust_medium",
    launches="rows:corrections",
    limits="time_step:limits",
    uneven_rows="rows:own_rows",
    uncut_rows="operators:uncut_rows",
    prepare="time_step:prepared",
    causes="checks:CAUSES",
    checks="checks:CHECKS",
)
