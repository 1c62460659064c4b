"""Contacts of fluid and solid."""

from seismo.features import Feature

FEATURE = Feature(
    "contacts",
    point_rules="interpolation:point_rule",
    row_media="rows:adjust_medium",
    launches="rows:corrections",
    causes="thin_solids:CAUSES",
    checks="checks:CHECKS",
)
