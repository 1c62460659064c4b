"""Plane waves that come from below."""

from seismo.features import Feature

FEATURE = Feature(
    "plane_waves",
    applies=lambda scenario: any(source.type == "plane_wave" for source in scenario.sources),
    source="section:SOURCE",
    source_kind="plane_wave:KIND",
    launches="injection:injections",
    fronts="plane_wave:plane_waves",
    refuse="plane_wave:refuse_background",
    checks="checks:CHECKS",
    memory="injection:memory",
    seconds="injection:incident_seconds",
    reports="checks:REPORTS",
)
