"""The plan of a task before it runs: what it reads, and memory and time of a gradient.

The time is that of some forward steps here, times the steps of an evaluation. A gradient takes
about as long as three forward runs: forwards, backwards, and the images; a fourth is taken where
the forward run is computed twice, as its fields do not fit the memory.
"""

from __future__ import annotations

import time

import numpy as np

from seismo.inversion.survey.traces import Sections, ShotPropagator
from seismo.runs.progress import clock_time
from seismo.scenario.units import with_unit

_FORWARD_RUNS = 3
_MEASURED = 0.5  # s of steps
_STEPS = 10  # at once
_LONG = 10.0  # s

PlanLines = list[tuple[str, str]]


def lines_of_waves(propagator: ShotPropagator) -> PlanLines:
    """Return facts of the waves, a name and a text each: steps, and the fields that are kept."""
    run = propagator.discretization
    plan = propagator.plan
    kept = f"every {plan.every}. step" if plan.every > 1 else "every step"
    words = [f"fields {', '.join(plan.names)} of {kept}", with_unit(plan.bytes, "B")]
    if plan.short:
        words.append("in 16 bits")
    if plan.segments > 1:
        words.append(f"in {plan.segments} segments, which are run twice")
    waves = (
        f"{run.clock.steps} steps of {with_unit(run.clock.dt, 's')}, up to "
        f"{run.highest_frequency:.4g} Hz"
    )
    return [("waves", waves), ("kept", ", ".join(words))]


def nodes_text(propagator: ShotPropagator) -> str:
    """Return the nodes of a model along each axis, in words."""
    return f"{' x '.join(map(str, propagator.shape))} nodes"


def shots_text(propagator: ShotPropagator, shots: int) -> str:
    """Return how many shots there are, and the runs that they take."""
    run = propagator.discretization
    batches = -(-shots // run.batch)
    return f"{shots} of {len(run.shots)}, {run.batch} together: {batches} run{'s' * (batches > 1)}"


def traces_text(sections: Sections) -> str:
    """Return sets, components and how many traces there are."""
    counts = (
        f"{name}.{component} ({int(np.isfinite(section).any(axis=-1).sum()):,} traces)"
        for name, of_set in sections.items()
        for component, section in of_set.items()
    )
    return ", ".join(counts)


def gradient_text(propagator: ShotPropagator, shots: int, others: int = 0) -> str:
    """Return how long a gradient takes, and so many forward runs beside it, from some steps."""
    seconds = _seconds(propagator, -(-shots // propagator.discretization.batch), others)
    return f"about {clock_time(seconds) if seconds >= _LONG else with_unit(seconds, 's')}"


def _seconds(propagator: ShotPropagator, batches: int, others: int) -> float:
    """Return the estimated seconds of a gradient, from some steps of the first shots."""
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
    runs = _FORWARD_RUNS + others + (propagator.plan.segments > 1)
    return runs * batches * each * total
