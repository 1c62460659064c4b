"""Waves guided by beds beside absorbing layers."""

from seismo.features import Feature

FEATURE = Feature("guided_waves")
