"""Stencils that allow longer time steps."""

from seismo.features import Feature

FEATURE = Feature(
    "long_steps",
    applies=lambda scenario: scenario.grid.stencil == "long_steps",
    stencil="stencil:long_stencil",
    checks="stencil:CHECKS",
    findings="stencil:FINDINGS",
)
