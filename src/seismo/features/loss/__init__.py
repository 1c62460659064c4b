"""Attenuation: mechanisms of a run, effective losses, storage and checks."""

from seismo.features import Feature

FEATURE = Feature(
    "loss",
    applies=lambda scenario: scenario.equation.attenuates,
    key="section:KEY",
    rules="section:RULES",
    relaxation="mechanisms:relaxation_of",
    stepping="mechanisms:stepping",
    physics="mechanisms:relaxing",
    causes="checks:CAUSES",
    checks="checks:CHECKS",
    findings="checks:FINDINGS",
)
