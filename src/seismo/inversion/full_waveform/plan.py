"""The plan of an inversion before it runs: what it compares, and memory and time of a gradient.

The time is that of some forward steps here, times the steps of an evaluation. A gradient takes
about as long as three forward runs: forwards, backwards, and the images; a fourth is taken where
the forward run is computed twice, as its fields do not fit the memory.
"""

from __future__ import annotations

import time

import numpy as np

from seismo.inversion.full_waveform.preparation import PreparedInversion, gradient_runs
from seismo.runs.progress import clock_time
from seismo.scenario.units import with_unit

_FORWARD_RUNS = 3
_MEASURED = 0.5  # s of steps
_STEPS = 10  # at once
_LONG = 10.0  # s


def plan_lines(prepared: PreparedInversion) -> list[tuple[str, str]]:
    """Return facts of an inversion, a name and a text each."""
    inversion = prepared.inversion
    run = prepared.propagator.discretization
    plan = prepared.propagator.plan
    shape = " x ".join(map(str, prepared.propagator.shape))
    free = int((prepared.mask > 0.0).sum())
    names = ", ".join(inversion.parameters.by_name)
    batches = gradient_runs(prepared)
    kept = f"every {plan.every}. step" if plan.every > 1 else "every step"
    words = [f"fields {', '.join(plan.names)} of {kept}", with_unit(plan.bytes, "B")]
    if plan.short:
        words.append("in 16 bits")
    if plan.segments > 1:
        words.append(f"in {plan.segments} segments, which are run twice")
    shots = len(run.shots) if inversion.shots is None else inversion.shots.each
    lines = [
        ("unknown", f"{names} at {free:,} of {shape} nodes"),
        ("waves", f"{run.clock.steps} steps of {with_unit(run.clock.dt, 's')}, up to "
         f"{run.highest_frequency:.4g} Hz"),
        ("compared", _compared(prepared)),
        ("shots", f"{shots} of {len(run.shots)} for a gradient, {run.batch} together: {batches} "
         f"run{'s' * (batches > 1)}"),
        ("kept", ", ".join(words)),
        ("gradient", f"about {_duration(_seconds(prepared, batches))}"),
        ("iterations", f"at most {inversion.optimiser.iterations} of {inversion.optimiser.method} "
         f"in each of {len(inversion.bands)} band{'s' * (len(inversion.bands) > 1)}"),
    ]  # fmt: skip
    return lines + [("note", remark) for remark in prepared.observed.remarks]


def _duration(seconds: float) -> str:
    return clock_time(seconds) if seconds >= _LONG else with_unit(seconds, "s")


def _compared(prepared: PreparedInversion) -> str:
    sections = prepared.observed.sections
    counts = [
        f"{name}.{component} ({int(np.isfinite(section).any(axis=-1).sum()):,} traces)"
        for name, of_set in sections.items()
        for component, section in of_set.items()
    ]
    return f"{', '.join(counts)} by {prepared.inversion.misfit.kind}"


def _seconds(prepared: PreparedInversion, batches: int) -> float:
    """Return the estimated seconds of a gradient, from some steps of the first shots."""
    propagator = prepared.propagator
    propagator.select()
    total = propagator.discretization.total_steps
    began = 0.0
    counted = 0
    for step, fields in propagator.steps(every=min(_STEPS, total)):
        # What is fetched is complete; kernels are compiled before the first steps end.
        _ = fields[next(iter(fields))]
        if not counted:
            began = time.monotonic()
            counted = step
        elif time.monotonic() - began > _MEASURED or step == total:
            each = (time.monotonic() - began) / (step - counted)
            break
    else:
        return 0.0
    runs = _FORWARD_RUNS + (propagator.plan.segments > 1)
    return runs * batches * each * total
