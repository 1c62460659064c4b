"""Derivatives on staggered grids, with and without absorbing layers, as formulas see them."""
