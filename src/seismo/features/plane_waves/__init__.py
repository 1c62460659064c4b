"""Plane waves that come from below."""

from seismo.features import Feature

FEATURE = Feature(
    "plane_waves",
    applies=lambda scenario: any(source.type == "plane_wave" for source in scenario.sources),
    source="section:SOURCE",
    source_kind="plane_wave:KIND",
    launches="injection:injections",
    fronts="background:plane_waves",
    refuse="background:refuse_background",
    checks="checks:CHECKS",
    memory="cost:memory",
    seconds="cost:incident_seconds",
    reports="checks:REPORTS",
)
