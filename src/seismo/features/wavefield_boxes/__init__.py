"""Wavefields in and out of boxes: fields recorded about the faces of a box, and injected again."""

from seismo.features import Feature

FEATURE = Feature(
    "wavefield_boxes",
    applies=lambda scenario: (
        bool(scenario.output.boxes)
        or any(source.type == "wavefield" for source in scenario.sources)
    ),
    output_key="section:KEY",
    rules="section:RULES",
    source="section:SOURCE",
    source_kind="source:KIND",
    series="recording:series",
    stencil="differences:recorded_stencil",
    launches="injection:injections",
    fronts="source:recorded_wavefields",
    refuse="checks:refuse",
    checks="checks:CHECKS",
    reports="checks:REPORTS",
    memory="injection:memory",
    seconds="injection:injection_seconds",
)
