"""Snapshots of a forward run: all that images need, or checkpoints to compute it again.

Snapshots are taken every m steps, in the numbers of the run or in 16 bits times a power of two of
their own. Where they take more memory than there is, the steps are cut in segments: the forward
run keeps the state at the beginning of each, and each is run again, with its snapshots, when the
adjoint run comes to it::

    forward    |------------|---------|------|  a checkpoint at each bar
    adjoint                           <------   snapshots of the last segment, then of those before

A checkpoint is freed as its segment is run again: earlier segments have room for more snapshots.
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
        lengths: snapshots of each segment of the run, in order.
        bytes: of snapshots and checkpoints, where they are most, of a batch of shots.
    """

    names: tuple[str, ...]
    every: int
    short: bool
    lengths: tuple[int, ...]
    bytes: int

    @property
    def count(self) -> int:
        """Snapshots of the run."""
        return sum(self.lengths)

    @property
    def segments(self) -> int:
        """Segments of the run."""
        return len(self.lengths)


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
            return SnapshotPlan(tuple(names), every, short, (count,), count * each)
    state = sum(array.nbytes for array in _state(simulation).values())
    lengths = _segments(count, each, state, allowed)
    if not lengths:
        raise InsufficientMemoryError(
            f"the gradient needs {_least(count, each, state) / _GIGABYTE:.3g} GB for snapshots and "
            f"checkpoints of {simulation.division.shots.stop} shots, and may take "
            f"{allowed / _GIGABYTE:.3g} GB; set survey.batch to fewer shots, give the propagator "
            "more `memory` where there is more, or take a larger machine"
        )
    largest = max(n * each + k * state for k, n in enumerate(lengths))
    return SnapshotPlan(tuple(names), every, short, lengths, largest)


def _segments(count: int, each: int, state: int, allowed: float) -> tuple[int, ...]:
    """Return the fewest segments of so many snapshots in a memory, the last as long as it can be.

    Args:
        count: of the snapshots of the run.
        each: bytes of a snapshot.
        state: bytes of a checkpoint.
        allowed: bytes.

    Returns:
        Snapshots of each segment, in order; none where no segments fit.
    """
    lengths: list[int] = []
    # Beside the snapshots of a segment there is a checkpoint for each segment before it.
    while sum(lengths) < count:
        length = int((allowed - len(lengths) * state) // each)
        if length < 1:
            return ()
        lengths.append(length)
    lengths[0] -= sum(lengths) - count
    return tuple(lengths)


def _least(count: int, each: int, state: int) -> float:
    """Return the bytes with which segments fit (`_segments`)."""
    # n segments of (m - k state) / each snapshots, k = 0 .. n - 1, with the least m.
    return math.sqrt(2.0 * count * each * state) + each


def allowed_memory(backend: Backend, memory: int | None) -> float:
    """Return the bytes that snapshots may take: those given, or a share of those that are free."""
    on_device = backend.free_memory()
    free = available_memory() if on_device is None else on_device
    # Where nothing tells how much is free, all is kept.
    return memory or (math.inf if free is None else _SHARE * free)


class KeptFields:
    """The snapshots of consecutive steps, which are taken back from the last one on."""

    def __init__(self, plan: SnapshotPlan) -> None:
        self._plan = plan
        # Of each the steps taken before it, and the fields of each subdomain.
        self._kept: list[tuple[int, list[dict[str, tuple[Any, Any]]]]] = []

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._kept)

    def take(self, simulation: Simulation) -> None:
        """Keep the fields as the last step left them; of second order in time their change."""
        parity = simulation.last_parity
        previous = simulation.discretization.physics.previous
        fields = [
            {
                name: self._packed(
                    solver.fields.written(name, parity),
                    solver.fields.arrays(parity)[name] if name in previous else None,
                )
                for name in self._plan.names
            }
            for solver in simulation.solvers
        ]
        self._kept.append((simulation.step, fields))

    def pop(self, targets: Sequence[dict[str, Any]]) -> int:
        """Write the last snapshot to arrays by name, of each subdomain, and free its memory.

        Returns:
            The steps taken before it.
        """
        step, fields = self._kept.pop()
        for arrays, kept in zip(targets, fields, strict=True):
            for name, (numbers, scale) in kept.items():
                if scale is None:
                    arrays[name][:] = numbers
                else:
                    np.multiply(numbers, scale, out=arrays[name])
        return step

    def _packed(self, field: Any, before: Any) -> tuple[Any, Any]:
        """Return a copy of a field, less that before the step, and what it is multiplied by."""
        array = field if before is None else field - before
        if not self._plan.short:
            return (array.copy() if before is None else array), None
        # A power of two, found on the device, which nothing waits for.
        largest = np.maximum(array.max(), -array.min())
        exponent = _EXPONENT - np.frexp(largest)[1]
        ones = np.ones_like(largest)
        packed = (array * np.ldexp(ones, exponent)).astype(SHORT)
        return packed, np.ldexp(ones, -exponent)


class KeptRun:
    """The forward run of a batch of shots, as it was kept."""

    def __init__(self, simulation: Simulation, plan: SnapshotPlan) -> None:
        """Take all steps of the loaded shots."""
        self._simulation = simulation
        self._plan = plan
        self._checkpoints: list[tuple[int, dict[str, Any]]] = []
        for length in plan.lengths[:-1]:
            self._checkpoints.append((simulation.step, _copied(simulation)))
            simulation.advance(length * plan.every)
        self._last: KeptFields | None = self._run(plan.lengths[-1])
        simulation.advance(simulation.total_steps - simulation.step)

    def segments(self) -> Iterator[KeptFields]:
        """Yield the snapshots of segments, the last first; earlier ones are run again."""
        if self._last is not None:
            yield self._last
            self._last = None
        while self._checkpoints:
            _restore(self._simulation, *self._checkpoints.pop())
            yield self._run(self._plan.lengths[len(self._checkpoints)])

    def _run(self, count: int) -> KeptFields:
        """Take the steps of so many snapshots, and return these."""
        snapshots = KeptFields(self._plan)
        for _ in range(count):
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
