"""Waves guided by beds beside absorbing layers."""
