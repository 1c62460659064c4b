"""Acoustic waves that attenuate, in place of those of `seismo.equations.acoustic`."""

from __future__ import annotations

from seismo.equations.viscoacoustic import constant_density, variable_density, vti

EQUATIONS = (constant_density.EQUATION, variable_density.EQUATION, vti.EQUATION, vti.TTI)
