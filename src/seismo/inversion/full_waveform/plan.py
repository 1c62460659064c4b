"""The plan of an inversion before it runs: what it compares, and memory and time of a gradient."""

from __future__ import annotations

from seismo.inversion.full_waveform.preparation import PreparedInversion
from seismo.inversion.survey.plan import (
    PlanLines,
    gradient_text,
    lines_of_waves,
    nodes_text,
    shots_text,
    traces_text,
)


def plan_lines(prepared: PreparedInversion) -> PlanLines:
    """Return facts of an inversion, a name and a text each."""
    inversion = prepared.settings
    propagator = prepared.propagator
    free = int((prepared.mask > 0.0).sum())
    names = ", ".join(inversion.parameters.by_name)
    every_shot = len(propagator.discretization.shots)
    shots = every_shot if inversion.shots is None else inversion.shots.each
    bands = len(inversion.bands)
    return [
        ("unknown", f"{names} at {free:,} of {nodes_text(propagator)}"),
        ("compared", f"{traces_text(prepared.observed.sections)} by {inversion.misfit.kind}"),
        ("shots", f"for a gradient {shots_text(propagator, shots)}"),
        *lines_of_waves(propagator),
        ("gradient", gradient_text(propagator, shots)),
        ("iterations", f"at most {inversion.optimiser.iterations} of {inversion.optimiser.method} "
         f"in each of {bands} band{'s' * (bands > 1)}"),
        *(("note", remark) for remark in prepared.observed.remarks),
    ]  # fmt: skip
