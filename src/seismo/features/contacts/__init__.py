"""Contacts of fluid and solid."""

from seismo.features import Feature

FEATURE = Feature("contacts")
