"""Acoustic waves: of constant or variable density, or in anisotropic rock; each with loss, too."""

from __future__ import annotations

from seismo.equations.acoustic import constant_density, tti, variable_density, vti

EQUATIONS = tuple(
    equation
    for module in (constant_density, variable_density, vti, tti)
    for equation in (module.EQUATION, module.LOSSY)
)
