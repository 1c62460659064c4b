"""Sources that act twice: an echo of each after a delay. A feature that is no part of seismo."""

from seismo.features import Feature

FEATURE = Feature(
    "echoes",
    applies=lambda scenario: scenario.section("echo") is not None,
    key="section:KEY",
    rules="section:RULES",
    launches="sources:launches",
    point_rules="reading:point_rule",
    causes="error:CAUSES",
    checks="error:CHECKS",
    reports="error:REPORTS",
)
