"""Grids of two spacings that meet in a plane."""
