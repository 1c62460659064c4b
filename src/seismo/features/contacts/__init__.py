"""Contacts of fluid and solid."""

from seismo.features import Feature

FEATURE = Feature(
    "contacts",
    row_media="rows:adjust_medium",
    launches="rows:corrections",
)
