"""Traces of receivers in their units, from the records of the steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition import receivers, trace_processing
from seismo.solver.discretization import Discretization
from seismo.solver.sampling.recording import Recorder

_BLOCK = 1 << 17  # samples finished at once


def traces_of(
    discretization: Discretization, recorder: Recorder, shot: int, shot_name: str, steps: int
) -> Iterator[tuple[str, str, Callable[[], np.ndarray]]]:
    """Yield set and component of each section of a shot, and a function that finishes its traces.

    All ranks have to ask for them; the first gets them: (receiver, time), of so many steps.

    Args:
        discretization: the run.
        recorder: that has recorded the steps.
        shot: its number in the batch.
        shot_name: its name.
        steps: of the traces.
    """
    for group in discretization.groups:
        for name, (quantity, base, component) in group.components(discretization.physics).items():
            raw = recorder.raw(shot, group.name, component)
            if raw is not None:
                finish = partial(_traces, discretization, group, quantity, base, component, steps)
                made = partial(_with_dropped, finish, raw, group.recording(shot_name))
                yield group.name, name, made


def _with_dropped(
    finish: Callable[[np.ndarray], np.ndarray], raw: np.ndarray, recording: np.ndarray
) -> np.ndarray:
    """Finish the traces (receiver, time) of recording receivers; others are masked."""
    if recording.all():
        return finish(raw)
    finished = finish(raw[recording] if recording.any() else np.zeros_like(raw[:1]))
    traces = np.ma.masked_all((len(raw), finished.shape[1]), finished.dtype)
    traces[recording] = finished[: recording.sum()]
    return traces


def _traces(
    discretization: Discretization,
    group: receivers.ReceiverGroup,
    quantity: str,
    base: str,
    component: str,
    steps: int,
    raw: np.ndarray,
) -> np.ndarray:
    """Finish the traces (receiver, time) of a component, in blocks of receivers."""
    how = processing_of(discretization, group, quantity, base, component)
    recorded = steps + trace_processing.extra_steps(steps, how["removal"])
    finish = partial(trace_processing.finish, steps=steps, **how)
    raw = raw[:, :recorded]
    return in_blocks(finish, raw, raw.shape[1])


def processing_of(
    discretization: Discretization,
    group: receivers.ReceiverGroup,
    quantity: str,
    base: str,
    component: str,
) -> dict[str, Any]:
    """Return the arguments of `trace_processing.finish` of a component, but the steps."""
    clock = discretization.clock
    terms = group.terms(discretization.physics, base, component)
    return {
        "quantity": quantity,
        "half_step": discretization.physics.named(terms[0].field).late,
        "dt": clock.dt,
        "every": clock.steps_between(group.interval),
        "removal": discretization.scenario.time.dispersion_removal,
    }


def in_blocks(
    process: Callable[[np.ndarray], np.ndarray], rows: np.ndarray, steps: int
) -> np.ndarray:
    """Process rows (receiver, ...) of so many recorded steps in blocks that bound the memory."""
    count = max(1, _BLOCK // steps)
    return np.concatenate([process(rows[k : k + count]) for k in range(0, len(rows), count)])
