"""Steps of a plane, recognised by the calls that bound their launches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from seismo.backends import point_kernels
from seismo.backends.base import BOX_COLUMNS, FIRST_SPAN, SPAN_COLUMNS, Step
from seismo.backends.gpu.launch_order import BodyCall, SweepCall

PACKED = BOX_COLUMNS.index("packed")
_STAGGERED = ("divergence", "gradient")  # kinds of formulas of first differences


@dataclass(frozen=True)
class FieldRecord:
    """How receivers sample a field.

    Attributes:
        field: its number.
        sums: of long rows of receivers, or None.
        record: of receivers.
    """

    field: int
    sums: BodyCall | None
    record: BodyCall


@dataclass(frozen=True)
class PlaneSteps:
    """What the steps of a plane do.

    Attributes:
        fields: arrays of the fields; of second differences the arrays that even, and odd steps
            write.
        stages: sweeps of each stage of a step; of second differences the sweeps of even steps.
        alternating: whether steps are second differences of two fields that are written by turns.
        sources: of fields, by their number.
        records: of receivers.
    """

    fields: tuple[Any, ...]
    stages: list[list[SweepCall]]
    alternating: bool
    sources: dict[int, BodyCall]
    records: list[FieldRecord]

    @property
    def first(self) -> SweepCall:
        """Return the first of all sweeps."""
        return self.stages[0][0]

    @property
    def offsets(self) -> np.ndarray:
        """Where the fields of the shots begin in their arrays."""
        return np.unique(self.first.boxes[:, BOX_COLUMNS.index("shot")])

    @property
    def shots(self) -> int:
        """Number of the shots that advance together."""
        return self.offsets.size

    @property
    def volume(self) -> int:
        """Numbers from a shot's field to the next shot's; all numbers of a single shot."""
        return int(self.offsets[1]) if self.shots > 1 else int(self.fields[0].size)

    def profile(self, width: int) -> int:
        """Return the numbers of a row of the profile along z, in whole lanes of `width`."""
        return -(-self.first.tables.profiles[2].shape[0] // width) * width

    @property
    def stride(self) -> int:
        """Distance of rows in the arrays."""
        return int(self.first.tables.strides[1])


def _calls(step: Step) -> list[Any]:
    """Return the calls that bound the launches of a step, each once."""
    launches = chain.from_iterable(step)
    return list(
        {id(call): call for call in (getattr(launch, "call", None) for launch in launches)}.values()
    )


def recognised(steps: Sequence[Step]) -> PlaneSteps | None:
    """Return the steps' work, if a kernel with the loop inside can do it."""
    if len(steps) == 2:
        return _second_differences(steps)
    return _staggered_stages(steps[0]) if len(steps) == 1 else None


def _second_differences(steps: Sequence[Step]) -> PlaneSteps | None:
    """Return the work of even and odd steps, if they are second differences of a single field."""
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
    known_bodies = {
        point_kernels.amount,
        point_kernels.inject,
        point_kernels.sums,
        point_kernels.record,
    }
    if not even or len(even) != len(odd) or bodies[0].keys() - known_bodies:
        return None
    if not all(map(_in_plane, even)) or not _alternate(even, odd):
        return None
    sources, sums, record = (
        bodies[0].get(body)
        for body in (point_kernels.amount, point_kernels.sums, point_kernels.record)
    )
    operands = even[0].operands
    return PlaneSteps(
        (operands.writes[0], operands.reads[0]), [even], True, {0: sources} if sources else {},
        [FieldRecord(0, sums, record)] if record else [],
    )  # fmt: skip


def _in_plane(sweep: SweepCall) -> bool:
    """Whether a sweep takes second differences of a field in a plane, with a single coefficient."""
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


def _staggered_stages(step: Step) -> PlaneSteps | None:
    """Return the work of a step, if its stages are staggered first differences in a plane."""
    # Calls in the order of their launches: sweeps, injections behind their stage, records last.
    stages: list[list[SweepCall]] = []
    injected: dict[int, BodyCall] = {}  # by the number of the field's array
    samplers: list[BodyCall] = []
    amounts: dict[int, BodyCall] = {}
    sums: dict[int, BodyCall] = {}
    for call in _calls(step):
        if isinstance(call, SweepCall):
            if samplers or not _staggered_in_plane(call):
                return None
            # Consecutive sweeps that change the same fields make a stage.
            if not stages or _changed(stages[-1][0]) != _changed(call):
                stages.append([])
            stages[-1].append(call)
        elif not isinstance(call, BodyCall):
            return None
        elif call.body is point_kernels.amount:
            amounts[id(call.arguments[8])] = call
        elif call.body is point_kernels.sums:
            sums[id(call.arguments[4])] = call
        elif call.body is point_kernels.record:
            samplers.append(call)
        elif call.body is point_kernels.inject:
            field, at, _ = call.arguments
            # What is injected was computed before, into the array of places given here.
            amount = amounts.get(id(at))
            if not stages or id(field) not in _changed(stages[-1][0]) or id(field) in injected:
                return None
            if amount is None:
                return None
            injected[id(field)] = amount
        else:
            return None
    return _of_fields(stages, injected, samplers, sums)


def _of_fields(
    stages: list[list[SweepCall]], injected: dict[int, BodyCall], samplers: list[BodyCall],
    sums: dict[int, BodyCall],
) -> PlaneSteps | None:  # fmt: skip
    """Number the fields of the stages; None where they are not two that take turns."""
    if len(stages) != 2:
        return None
    fields = [field for stage in stages for field in stage[0].operands.writes]
    numbers = {id(field): n for n, field in enumerate(fields)}
    # Each stage differentiates the fields that the other changes, and nothing else.
    velocity, stress = stages
    for stage, other in ((velocity, stress), (stress, velocity)):
        reads = {id(field) for sweep in stage for field in sweep.operands.reads}
        if not reads <= set(_changed(other[0])):
            return None
    sweeps = velocity + stress
    # One grid, one order: all sweeps share their tables.
    if len({(id(sweep.tables), sweep.variant.order) for sweep in sweeps}) > 1:
        return None
    records = []
    for record in samplers:
        # Long rows are summed first: the record then reads the sums.
        source = record.arguments[0]
        known = sums.get(id(source))
        sampled = id(known.arguments[0] if known else source)
        if sampled not in numbers:
            return None
        records.append(FieldRecord(numbers[sampled], known, record))
    sources = {numbers[field]: amount for field, amount in injected.items()}
    return PlaneSteps(tuple(fields), stages, False, sources, records)


def _changed(sweep: SweepCall) -> tuple[int, ...]:
    """Return the numbers of the arrays that a sweep changes."""
    return tuple(map(id, sweep.operands.writes))


def _staggered_in_plane(sweep: SweepCall) -> bool:
    """Whether a sweep takes staggered first differences in a plane, layers included."""
    variant = sweep.variant
    formula = sweep.formula
    plain = not (variant.closed or variant.scaled or formula.short)
    return (
        variant.axes == "xz" and formula.kind in _STAGGERED and bool(sweep.operands.reads)
        and plain and not formula.interpolates and len(sweep.operands.memory) == 1
    )  # fmt: skip


@dataclass(frozen=True, order=True)
class PointKind:
    """Points that are updated by the same code.

    Attributes:
        formula: number of the formula in the kernel.
        stretched: axes that pass through layer memory.
    """

    formula: int
    stretched: str


@dataclass(frozen=True)
class PlaneRegion:
    """Points that are updated alike, in array indices of the first shot.

    Attributes:
        kind: of the points.
        x: first point, and behind the last.
        z: first row, and behind the last.
        memory: index of (0, 0) in layer memory; distances of rows, variables and shots there.
        packed: offset of coefficients kept for a range of rows only.
    """

    kind: PointKind
    x: tuple[int, int]
    z: tuple[int, int]
    memory: tuple[int, int, int, int]
    packed: int

    @property
    def stretched(self) -> str:
        """Axes that pass through layer memory."""
        return self.kind.stretched


def regions_of(
    sweeps: Iterable[SweepCall], numbers: Iterable[int], shots: int
) -> list[PlaneRegion]:
    """Return the regions that sweeps in a plane update, alike in all shots.

    Args:
        sweeps: the sweeps.
        numbers: of their formulas.
        shots: that each of them has boxes of, in turn.

    Raises:
        ValueError: boxes of the shots differ by more than the offset of their fields and memory.
    """
    regions = []
    for sweep, formula in zip(sweeps, numbers, strict=True):
        # Boxes of each shot in turn.
        boxes = sweep.boxes.reshape(-1, shots, sweep.boxes.shape[1])
        for box in boxes:
            z0, z1 = box[0, :2].tolist()
            # Coefficients of a range of rows have an offset, alike for all shots.
            packed = int(box[0, PACKED])
            for span in range(3):
                start = FIRST_SPAN + span * SPAN_COLUMNS
                columns = box[:, start : start + SPAN_COLUMNS]
                x0, x1, memory, _, memory_z, slot = columns[0].tolist()
                if x1 <= x0:
                    continue
                step = int(columns[1, 2] - memory) if shots > 1 else 0
                expected = memory + step * np.arange(shots)
                others = np.delete(columns, 2, axis=1)
                differ = (columns[:, 2] != expected).any() or (others != others[0]).any()
                if differ or (box[:, PACKED] != packed).any():
                    raise ValueError("shots differ")
                stretched = sweep.variant.middle if span == 1 else sweep.variant.ends
                kind = PointKind(formula, stretched)
                of_memory = (memory, memory_z, slot, step)
                regions.append(PlaneRegion(kind, (x0, x1), (z0, z1), of_memory, packed))
    return regions
