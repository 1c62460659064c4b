"""Timelines of runs."""
