"""The plan of an image or a kernel before it runs."""

from __future__ import annotations

from seismo.inversion.imaging.kernels import PreparedKernel
from seismo.inversion.imaging.migration import PreparedMigration
from seismo.inversion.survey.plan import (
    PlanLines,
    gradient_text,
    lines_of_waves,
    nodes_text,
    shots_text,
    traces_text,
)


def migration_lines(prepared: PreparedMigration) -> PlanLines:
    """Return facts of a migration, a name and a text each."""
    settings = prepared.settings
    propagator = prepared.propagator
    shots = len(prepared.shots)
    lines = [
        ("image", f"{', '.join(settings.conditions)} at {nodes_text(propagator)}"),
        ("traces", f"{traces_text(prepared.observed)}, {settings.migrate}"),
        ("shots", shots_text(propagator, shots)),
        *lines_of_waves(propagator),
        ("time", gradient_text(propagator, shots, others=1)),
        *(("note", remark) for remark in prepared.traces.remarks),
    ]  # fmt: skip
    if settings.migrate == "recorded" and settings.window.after is None:
        lines.append(("note", "no `window.after`: direct waves of the traces are migrated, too"))
    return lines


def kernel_lines(prepared: PreparedKernel) -> PlanLines:
    """Return facts of sensitivity kernels, a name and a text each."""
    propagator = prepared.propagator
    shots = len(prepared.shots)
    receivers = len(prepared.rows)
    return [
        ("kernels", f"by {', '.join(prepared.parameters)} at {nodes_text(propagator)}"),
        ("of", f"{prepared.settings.kind} of {prepared.group.name}.{prepared.component}, "
         f"{receivers} receiver{'s' * (receivers > 1)}"),
        ("shots", shots_text(propagator, shots)),
        *lines_of_waves(propagator),
        ("time", gradient_text(propagator, shots)),
        *(("note", remark) for remark in prepared.remarks),
    ]  # fmt: skip
