"""Rows whose spacing grows with depth."""

from seismo.features import Feature

FEATURE = Feature("growing_rows", applies=lambda scenario: scenario.grid.spacing.grows)
