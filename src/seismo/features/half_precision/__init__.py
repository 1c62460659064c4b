"""Fields in 16 bits."""

from seismo.features import Feature

FEATURE = Feature(
    "half_precision",
    applies=lambda scenario: scenario.in_16_bits,
    physics="table:halved",
    causes="table:CAUSES",
    reports="table:REPORTS",
)
