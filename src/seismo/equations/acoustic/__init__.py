"""Acoustic waves: of constant and of variable density, and in transversely isotropic rock."""

from __future__ import annotations

from seismo.equations.acoustic import constant_density, tti, variable_density, vti

EQUATIONS = (constant_density.EQUATION, variable_density.EQUATION, vti.EQUATION, tti.EQUATION)
