"""Steps of a plane, recognised by what their launches were bound from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from seismo.backends.base import BOX_COLUMNS, Step
from seismo.backends.gpu.launch_order import BodyCall, SweepCall
from seismo.backends.kernels import points


@dataclass(frozen=True)
class PlaneSteps:
    """What the steps of a plane do.

    Attributes:
        even: sweeps of even steps.
        odd: sweeps of odd steps.
        sources: what is injected, or None.
        sums: of long rows of receivers, or None.
        record: of receivers, or None.
    """

    even: list[SweepCall]
    odd: list[SweepCall]
    sources: BodyCall | None
    sums: BodyCall | None
    record: BodyCall | None

    @property
    def offsets(self) -> np.ndarray:
        """Where the fields of the shots begin in their arrays."""
        return np.unique(self.even[0].boxes[:, BOX_COLUMNS.index("shot")])

    @property
    def shots(self) -> int:
        """Number of the shots that advance together."""
        return self.offsets.size

    @property
    def volume(self) -> int:
        """Numbers from the field of one shot to that of the next; all of one shot alone."""
        first = self.even[0]
        return int(self.offsets[1]) if self.shots > 1 else int(first.operands.reads[0].size)

    @property
    def stride(self) -> int:
        """Distance of rows in the arrays."""
        return int(self.even[0].tables.strides[1])


def _calls(step: Step) -> list[Any]:
    """Return the calls that bound the launches of a step, each once."""
    launches = chain.from_iterable(step)
    return list(
        {id(call): call for call in (getattr(one, "call", None) for one in launches)}.values()
    )


def recognised(steps: Sequence[Step]) -> PlaneSteps | None:
    """Return what even and odd steps do, if that is all that a kernel with the loop inside does."""
    if len(steps) != 2:
        return None
    sweeps: list[list[SweepCall]] = []
    bodies: list[dict[Any, BodyCall]] = []
    for calls in map(_calls, steps):
        sweeps.append([call for call in calls if isinstance(call, SweepCall)])
        others = [call for call in calls if isinstance(call, BodyCall)]
        bodies.append({call.body: call for call in others})
        known = len(sweeps[-1]) + len(bodies[-1])
        if known < len(calls) or len(bodies[-1]) < len(others):
            return None
    even, odd = sweeps
    known_bodies = {points.amount, points.inject, points.sums, points.record}
    if not even or len(even) != len(odd) or bodies[0].keys() - known_bodies:
        return None
    if not all(map(_in_plane, even)) or not _alternate(even, odd):
        return None
    sources, sums, record = (
        bodies[0].get(body) for body in (points.amount, points.sums, points.record)
    )
    return PlaneSteps(even, odd, sources, sums, record)


def _in_plane(sweep: SweepCall) -> bool:
    """Whether a sweep is one of second differences of one field in a plane, by one coefficient."""
    operands = sweep.operands
    counts = tuple(map(len, (operands.writes, operands.reads, operands.coefficients)))
    formula = sweep.formula
    plain = not (sweep.variant.weighted or sweep.variant.damped or formula.packed or formula.short)
    return (
        sweep.variant.axes == "xz" and formula.kind == "second" and counts == (1, 1, 1)
        and sweep.variant.at_once and plain and len(operands.memory) == 3
    )  # fmt: skip


def _alternate(even: list[SweepCall], odd: list[SweepCall]) -> bool:
    """Whether all sweeps are of the same arrays, which odd steps exchange."""
    arrays = [
        tuple(map(id, (o.writes[0], o.reads[0], *o.memory))) for o in (s.operands for s in even)
    ]
    others = [
        tuple(map(id, (o.reads[0], o.writes[0], o.memory[0], *o.memory[:0:-1])))
        for o in (s.operands for s in odd)
    ]
    shared = [(str(s.formula), id(s.tables), id(s.operands.coefficients[0])) for s in even + odd]
    return len(set(arrays + others)) == 1 and len(set(shared)) == 1
