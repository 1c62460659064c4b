"""Sections of the scenario."""
