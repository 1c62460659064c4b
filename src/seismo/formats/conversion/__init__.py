"""Conversion of runs of other programs to scenarios."""
