"""Snapshots of a forward run: all that images need, or checkpoints to compute it again.

Snapshots are taken every m steps, in the numbers of the run or in 16 bits times a power of two of
their own. Where they take more memory than there is, the steps are cut in segments: the forward
run keeps the state at the beginning of each, and each is run again, with its snapshots, when the
adjoint run comes to it::

    forward    |--------|--------|--------|      a checkpoint at each bar
    adjoint                      <-------        snapshots of the last segment, then of those before

Any cut gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.backends.base import SHORT, Backend
from seismo.backends.machine import available_memory
from seismo.errors import InsufficientMemoryError
from seismo.solver.simulation import Simulation

_SHARE = 0.8  # of the free memory that snapshots may take
_EXPONENT = 12  # of the largest number in 16 bits: small ones keep all their bits
_GIGABYTE = 1e9


@dataclass(frozen=True)
class SnapshotPlan:
    """How the fields of a forward run are kept.

    Attributes:
        names: fields that are kept.
        every: steps between snapshots.
        short: whether they are kept in 16 bits.
        count: snapshots of the run.
        segment: snapshots of a segment; all where there is a single one.
        bytes: of the snapshots of a segment and of all checkpoints, of a batch of shots.
    """

    names: tuple[str, ...]
    every: int
    short: bool
    count: int
    segment: int
    bytes: int

    @property
    def segments(self) -> int:
        """Segments of the run."""
        return math.ceil(self.count / self.segment)


def plan_snapshots(
    simulation: Simulation, names: Sequence[str], every: int, memory: int | None = None
) -> SnapshotPlan:
    """Return how the fields of a run are kept in a memory.

    Args:
        simulation: the forward run.
        names: fields to keep.
        every: steps between snapshots; 1 for the exact derivative.
        memory: in bytes, a share of the free memory when None.

    Raises:
        InsufficientMemoryError: there is too little for any cut.
    """
    backend = simulation.backend
    allowed = allowed_memory(backend, memory)
    arrays = [s.fields.written(name, 0) for s in simulation.solvers for name in names]
    count = simulation.total_steps // every
    kinds = [np.dtype(backend.precision)]
    if every > 1 and backend.has_float16 and kinds[0] == np.float32:
        kinds.append(np.dtype(SHORT))
    # In 16 bits where they do not fit otherwise.
    for kind in kinds:
        each = sum(array.size for array in arrays) * kind.itemsize
        short = kind == np.dtype(SHORT)
        if count * each <= allowed:
            return SnapshotPlan(tuple(names), every, short, count, count, count * each)
    # The least of s snapshots and count / s checkpoints.
    state = sum(array.nbytes for array in _state(simulation).values())
    segment = max(1, round(math.sqrt(count * state / each)))
    needed = segment * each + math.ceil(count / segment) * state
    if needed > allowed:
        raise InsufficientMemoryError(
            f"the gradient needs {needed / _GIGABYTE:.3g} GB for snapshots and checkpoints of "
            f"{simulation.division.shots.stop} shots, and may take {allowed / _GIGABYTE:.3g} GB; "
            "set survey.batch to fewer shots, give the propagator more `memory` where there is "
            "more, or take a larger machine"
        )
    return SnapshotPlan(tuple(names), every, short, count, segment, needed)


def allowed_memory(backend: Backend, memory: int | None) -> float:
    """Return the bytes that snapshots may take: those given, or a share of those that are free."""
    on_device = backend.free_memory()
    free = available_memory() if on_device is None else on_device
    # Where nothing tells how much is free, all is kept.
    return memory or (math.inf if free is None else _SHARE * free)


class KeptFields:
    """The snapshots of consecutive steps.

    Attributes:
        steps: steps taken before each of them.
    """

    def __init__(self, plan: SnapshotPlan) -> None:
        self._plan = plan
        self.steps: list[int] = []
        self._kept: list[list[dict[str, tuple[Any, Any]]]] = []

    def take(self, simulation: Simulation) -> None:
        """Keep the fields as the last step left them; of second order in time their change."""
        parity = simulation.last_parity
        previous = simulation.discretization.physics.previous
        self.steps.append(simulation.step)
        self._kept.append([
            {
                name: self._packed(
                    solver.fields.written(name, parity),
                    solver.fields.arrays(parity)[name] if name in previous else None,
                )
                for name in self._plan.names
            }
            for solver in simulation.solvers
        ])  # fmt: skip

    def put(self, number: int, targets: Sequence[dict[str, Any]]) -> None:
        """Write a snapshot to arrays by name, of each subdomain."""
        for arrays, kept in zip(targets, self._kept[number], strict=True):
            for name, (numbers, scale) in kept.items():
                if scale is None:
                    arrays[name][:] = numbers
                else:
                    np.multiply(numbers, scale, out=arrays[name])

    def _packed(self, field: Any, before: Any) -> tuple[Any, Any]:
        """Return a copy of a field, less that before the step, and what it is multiplied by."""
        array = field if before is None else field - before
        if not self._plan.short:
            return (array.copy() if before is None else array), None
        # A power of two, found on the device, which nothing waits for.
        largest = np.maximum(array.max(), -array.min())
        exponent = _EXPONENT - np.frexp(largest)[1]
        one = np.ones_like(largest)
        packed = (array * np.ldexp(one, exponent)).astype(SHORT)
        return packed, np.ldexp(one, -exponent)


class KeptRun:
    """The forward run of a batch of shots, as it was kept."""

    def __init__(self, simulation: Simulation, plan: SnapshotPlan) -> None:
        """Take all steps of the loaded shots."""
        self._simulation = simulation
        self._plan = plan
        self._checkpoints: list[tuple[int, dict[str, Any]]] = []
        self._last: KeptFields | None = None
        for first in range(0, plan.count, plan.segment):
            if plan.segments > 1:
                self._checkpoints.append((simulation.step, _copied(simulation)))
            is_last = first + plan.segment >= plan.count
            if is_last:
                self._last = self._run(first)
            else:
                simulation.advance(plan.segment * plan.every)
        simulation.advance(simulation.total_steps - simulation.step)

    def segments(self) -> Iterator[KeptFields]:
        """Yield the snapshots of segments, the last first; earlier ones are run again."""
        plan = self._plan
        if self._last is not None:
            yield self._last
            self._last = None
        while len(self._checkpoints) > 1:
            self._checkpoints.pop()
            step, state = self._checkpoints[-1]
            _restore(self._simulation, step, state)
            yield self._run(step // plan.every)

    def _run(self, first: int) -> KeptFields:
        """Take the steps of the segment that begins with a snapshot, and return its snapshots."""
        snapshots = KeptFields(self._plan)
        for _ in range(first, min(first + self._plan.segment, self._plan.count)):
            self._simulation.advance(self._plan.every)
            snapshots.take(self._simulation)
        return snapshots


def _state(simulation: Simulation) -> dict[str, Any]:
    """Return the arrays that later steps depend on, by name."""
    outputs = ("record", "maps/")
    return {
        name: saved.array
        for name, saved in simulation.state().items()
        if not name.startswith(outputs)
    }


def _copied(simulation: Simulation) -> dict[str, Any]:
    return {name: array.copy() for name, array in _state(simulation).items()}


def _restore(simulation: Simulation, step: int, state: dict[str, Any]) -> None:
    """Take a run back to a step; its record, which steps add to, is cleared."""
    simulation.step = step
    for name, array in _state(simulation).items():
        array[:] = state[name]
    simulation.recorder.record[:] = 0
