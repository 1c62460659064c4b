"""Derivatives by records from those by finished traces: the transpose of trace processing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.sources import Shot
from seismo.acquisition.trace_processing import finish_transposed
from seismo.errors import ScenarioError
from seismo.inversion.adjoint.run import Residuals
from seismo.inversion.traces import section_shape
from seismo.solver.discretization import Discretization
from seismo.solver.sampling.recording import in_blocks, processing_of


def residuals_of(
    discretization: Discretization, first: int, shots: Sequence[Shot],
    by_traces: Mapping[str, Mapping[str, np.ndarray]], count: int,
) -> Residuals:  # fmt: skip
    """Return derivatives by the records of a batch of shots.

    Args:
        discretization: the run.
        first: number of the first of the shots.
        shots: of the batch.
        by_traces: derivatives by the traces of all shots: set -> component -> (shot, receiver,
            sample); those that are left out are zero, and those of receivers that do not record
            do not count.
        count: of all shots.

    Raises:
        ScenarioError: there is no such set or component, a derivative has another shape, or is not
            finite.
    """
    _refuse_unknown(discretization, by_traces, count)
    residuals: dict[tuple[int, str, str], np.ndarray] = {}
    for group in discretization.groups:
        components = group.components(discretization.physics)
        for name, by_trace in by_traces.get(group.name, {}).items():
            component = components[name][2]
            for number, shot in enumerate(shots):
                recording = group.recording(shot.name)
                of_shot = np.where(recording[:, None], by_trace[first + number], 0.0)
                if not np.isfinite(of_shot).all():
                    raise ScenarioError(
                        f"{group.name}: {name}: the derivative by the traces of {shot.name} is not "
                        "finite"
                    )
                record = _by_record(discretization, group, components[name], of_shot)
                key = (number, group.name, component)
                residuals[key] = residuals[key] + record if key in residuals else record
    return residuals


def _refuse_unknown(
    discretization: Discretization, by_traces: Mapping[str, Mapping[str, np.ndarray]], count: int
) -> None:
    groups = {group.name: group for group in discretization.groups}
    for name, sections in by_traces.items():
        if name not in groups:
            raise ScenarioError(f"{name}: no receiver set has this name; choose {_listed(groups)}")
        group = groups[name]
        known = group.components(discretization.physics)
        shape = section_shape(discretization, group, count)
        for component, section in sections.items():
            if component not in known:
                raise ScenarioError(
                    f"{name}: {component}: is not recorded; choose {_listed(known)}"
                )
            if np.shape(section) != shape:
                raise ScenarioError(
                    f"{name}: {component}: has the shape {list(np.shape(section))}; give "
                    f"{list(shape)}, that of the traces: shots, receivers, samples"
                )


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(names)


def _by_record(
    discretization: Discretization, group: ReceiverGroup, component: tuple[str, str, str],
    by_trace: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return the derivative by a record (receiver, step) from that by traces (receiver, sample)."""
    transpose = partial(
        finish_transposed, steps=discretization.clock.steps, recorded=discretization.total_steps,
        **processing_of(discretization, group, *component),
    )  # fmt: skip
    return in_blocks(transpose, np.asarray(by_trace, float), discretization.total_steps)
