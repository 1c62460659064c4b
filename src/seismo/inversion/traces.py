"""Traces of all shots in memory, by receiver set and component."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import Shot
from seismo.errors import UnstableError
from seismo.solver.discretization import Discretization
from seismo.solver.sampling.recording import traces_of
from seismo.solver.simulation import Simulation

Traces = dict[str, dict[str, np.ndarray]]  # (shot, receiver, sample) by set and component


def empty_traces(discretization: Discretization, precision: str, shots: int) -> Traces:
    """Allocate the traces of so many shots; those of receivers that do not record are NaN."""
    traces: Traces = {}
    for group in discretization.groups:
        shape = section_shape(discretization, group, shots)
        names = group.components(discretization.physics)
        traces[group.name] = {name: np.full(shape, np.nan, precision) for name in names}
    return traces


def section_shape(
    discretization: Discretization, group: ReceiverGroup, shots: int
) -> tuple[int, int, int]:
    """Return the numbers of shots, receivers and samples of a component of a set."""
    clock = discretization.clock
    samples = clock.steps // clock.steps_between(group.interval) + 1
    return shots, len(group), samples


def read_traces(simulation: Simulation, first: int, shots: Sequence[Shot], traces: Traces) -> None:
    """Write the traces of a batch of shots, that have taken all steps.

    Args:
        simulation: that has recorded them.
        first: number of the first of the shots.
        shots: of the batch.
        traces: of all shots.

    Raises:
        UnstableError: a trace is not finite.
    """
    discretization = simulation.discretization
    steps = discretization.clock.steps
    for number, shot in enumerate(shots):
        sections = traces_of(discretization, simulation.recorder, number, shot.name, steps)
        for group, name, finish in sections:
            section = finish()
            if not np.isfinite(section).all():
                raise UnstableError(
                    f"{group}: {name} of {shot.name} is not finite: the wavefield blew up; lower "
                    "time.courant"
                )
            recorded = ~np.ma.getmaskarray(section)
            np.copyto(traces[group][name][first + number], np.ma.getdata(section), where=recorded)
