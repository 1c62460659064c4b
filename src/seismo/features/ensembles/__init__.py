"""Ensembles: many runs of a scenario, with values drawn from distributions."""

from seismo.features import Feature

FEATURE = Feature(
    "ensembles",
    applies=lambda scenario: scenario.section("ensemble") is not None,
    key="section:KEY",
    rules="section:RULES",
    runs="run:RUNS",
    results="file_format:ENSEMBLES",
    findings="checks:FINDINGS",
)
