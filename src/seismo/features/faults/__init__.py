"""Finite faults: many subfaults with moment rates of their own."""

from seismo.features import Feature

FEATURE = Feature(
    "faults",
    applies=lambda scenario: any(source.type == "finite_fault" for source in scenario.sources),
    source="section:SOURCE",
    source_kind="finite_fault:KIND",
    launches="injection:injections",
    checks="report:CHECKS",
    memory="injection:memory",
    reports="report:REPORTS",
    source_facts="report:source_facts",
    receiver_facts="report:receiver_facts",
)
