"""Finite faults: many subfaults with moment rates of their own."""

from seismo.features import Feature

FEATURE = Feature(
    "faults",
    applies=lambda scenario: any(source.type == "finite_fault" for source in scenario.sources),
    source="section:SOURCE",
    source_kind="finite_fault:KIND",
    launches="injection:injections",
    checks="checks:CHECKS",
    memory="pieces:memory",
    reports="checks:REPORTS",
    source_facts="contents:source_facts",
    receiver_facts="contents:receiver_facts",
)
