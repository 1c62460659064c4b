"""Forms that steps of a plane take in a kernel with the time loop inside, and what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from seismo.backends.gpu.launch_order import SweepCall
from seismo.backends.gpu.resident.block import BoundFormula
from seismo.backends.gpu.resident.cluster_layout import PassShape
from seismo.backends.gpu.resident.cluster_plan import PassPlan
from seismo.backends.gpu.resident.plane_steps import PlaneRegion, PlaneSteps, PointKind, regions_of

READ = 4  # rows beside a receiver's own that it is read from


@dataclass(frozen=True)
class StepCosts:
    """What was measured of a form, on an H100 or H200.

    Attributes:
        barriers: us of a step that barriers and samples take.
        lane: us of a lane of the interior and warp.
        layers: by the axes that are stretched, time of a lane over that of one of the interior.
        strips: rows of a column at most: interior, layers.
        launches: us of a step launch by launch, at least.
        launched: us of that of a million points.
        threads: of a block.
        exact: whether all columns have so many rows, the last ones in vain.
        channel: what a receiver's channel takes, in lanes of the interior.
        absent: how much longer a step is for each coefficient that is not in shared memory.
    """

    barriers: float
    lane: float
    layers: dict[str, float]
    strips: tuple[int, int]
    launches: float
    launched: float
    threads: int = 512
    exact: bool = False
    channel: float = 0.0
    absent: float = 0.0

    @property
    def heights(self) -> list[tuple[int, int]]:
        """Return the rows that columns may have: interior, layers."""
        shortest = self.strips if self.exact else (1, 1)
        inside, in_layers = (
            range(most, least - 1, -1) for most, least in zip(self.strips, shortest, strict=True)
        )
        return list(product(inside, in_layers))

    def strip(self, kind: PointKind) -> int:
        """Return the rows of a column of some points."""
        return self.strips[bool(kind.stretched)]

    def of_stages(self, fields: int, coefficients: int, half: int) -> StepCosts:
        """Return the costs of two stages, where they are those of P-SV waves of order 4.

        Launches move three numbers of a field and one of a coefficient (measured of SH waves: 0.58
        of those of P-SV). What blocks do goes with the fields and their derivatives (0.36); that it
        goes with the order is an estimate.

        Args:
            fields: of both stages.
            coefficients: that most points read.
            half: half the order of the differences.
        """
        # Bytes: each field is read twice and written once.
        moved = (3 * fields + coefficients) / (3 * 5 + 3)
        lane = self.lane * (fields / 5) ** 2 * (1.0 + 0.15 * max(half - 2, 0))
        return replace(self, lane=lane, launched=self.launched * moved)


SECOND = StepCosts(
    barriers=1.0, lane=0.21, layers={"": 1.0, "x": 2.0, "z": 1.5, "xz": 3.0}, strips=(6, 3),
    launches=6.5, launched=6.0,
)  # fmt: skip
STAGGERED = StepCosts(
    barriers=1.5, lane=0.37, layers={"": 1.0, "x": 1.5, "z": 1.5, "xz": 2.0}, strips=(2, 2),
    launches=9.5, launched=20.0, threads=384, exact=True, channel=0.7, absent=0.15,
)  # fmt: skip


@dataclass(frozen=True)
class StepForm:
    """How a kernel takes the steps of a plane.

    Attributes:
        formulas: with the numbers of their arrays.
        coefficients: arrays of the model.
        memory: arrays of layer memory.
        passes: of a step.
        shapes: what the kernel has built in of these.
        kinds: of points.
        halo: rows of its neighbours that a block keeps.
        groups: of each field, that of the channels that sample it.
        reach: of each field, rows of its neighbours that a block knows.
        costs: measured.
        kept: coefficients that blocks may keep in shared memory, as many as fit first.
    """

    formulas: tuple[BoundFormula, ...]
    coefficients: tuple[Any, ...]
    memory: tuple[Any, ...]
    passes: list[PassPlan]
    shapes: tuple[PassShape, ...]
    kinds: tuple[PointKind, ...]
    halo: int
    groups: tuple[int, ...]
    reach: tuple[int, ...]
    costs: StepCosts
    kept: tuple[tuple[int, ...], ...]


def forms_of(known: PlaneSteps) -> list[StepForm]:
    """Return the forms that steps may take, the cheapest first.

    Raises:
        ValueError: shots differ by more than where their fields are.
    """
    return [_second_form(known)] if known.alternating else _staggered_forms(known)


def _second_form(known: PlaneSteps) -> StepForm:
    """Return the form of second differences: fluxes of layers, then all points."""
    sweeps = known.stages[0]
    operands = known.first.operands
    regions = regions_of(sweeps, [0] * len(sweeps), known.shots)
    kinds = _kinds_of(regions)
    half = known.first.variant.order // 2
    halo = max(half, READ)
    # Fluxes exist in layers alone.
    layers = [region for region in regions if region.stretched]
    stretched = tuple(n for n, kind in enumerate(kinds) if kind.stretched)
    fluxes = {axes: 0.5 * cost for axes, cost in SECOND.layers.items()}
    return StepForm(
        (BoundFormula(known.first.formula, (0, 1), (0,), 0),), operands.coefficients,
        operands.memory, [PassPlan(layers, fluxes), PassPlan(regions, SECOND.layers)],
        (PassShape(stretched, recorded=0, late=True),
         PassShape(tuple(range(len(kinds))), injected=(0,), sent=(0,))),
        kinds, halo, (0, 0), (halo, 0), SECOND, ((0,),),
    )  # fmt: skip


def _staggered_forms(known: PlaneSteps) -> list[StepForm]:
    """Return the forms of two stages: with few rows of neighbours, or those receivers read."""
    numbers = {id(array): n for n, array in enumerate(known.fields)}
    sweeps = [sweep for stage in known.stages for sweep in stage]
    coefficients = _distinct(array for one in sweeps for array in one.operands.coefficients)
    memory = _distinct(array for one in sweeps for array in one.operands.memory)

    def bound(sweep: SweepCall) -> BoundFormula:
        operands = sweep.operands
        fields = tuple(numbers[id(array)] for array in (*operands.writes, *operands.reads))
        of_model = tuple(_index_of(coefficients, array) for array in operands.coefficients)
        of_layers = _index_of(memory, operands.memory[0])
        return BoundFormula(sweep.formula, fields, of_model, of_layers, sweep.variant.damped)

    # Each formula once, whatever the number of its sweeps.
    formulas = tuple(dict.fromkeys(map(bound, sweeps)))
    stages = [
        regions_of(stage, [formulas.index(bound(one)) for one in stage], known.shots)
        for stage in known.stages
    ]
    kinds = _kinds_of([region for regions in stages for region in regions])
    changed = [
        tuple(numbers[id(array)] for array in stage[0].operands.writes) for stage in known.stages
    ]
    # Fields of which the other stage takes derivatives along z.
    # Exactly these need rows of neighbours.
    across = {formula.fields[n] for formula in formulas for n in formula.formula.along("z")}
    kept = _most_read(formulas, [region for regions in stages for region in regions])
    half = known.first.variant.order // 2
    costs = STAGGERED.of_stages(len(known.fields), len(kept[0]), half)
    groups = tuple(n for n, fields in enumerate(changed) for _ in fields)

    def form(halo: int, sent: set[int]) -> StepForm:
        # Velocities are recorded as stresses are updated, and stresses as the next velocities are.
        shapes = tuple(
            PassShape(
                tuple(k for k, kind in enumerate(kinds) if kind in {r.kind for r in regions}),
                recorded=1 - n, late=n == 0, injected=fields,
                sent=tuple(field for field in fields if field in sent),
            )
            for n, (regions, fields) in enumerate(zip(stages, changed, strict=True))
        )  # fmt: skip
        # Receivers see as far as blocks know.
        reach = tuple(halo if n in sent else 0 for n in range(len(known.fields)))
        passes = [PassPlan(regions, costs.layers) for regions in stages]
        return StepForm(
            formulas, coefficients, memory, passes, shapes, kinds, halo, groups, reach, costs, kept,
        )  # fmt: skip

    # Receivers may need more rows, and of all fields: that is the second form.
    return [form(half, across), form(max(half, READ), set(range(len(known.fields))))]


def _most_read(
    formulas: Sequence[BoundFormula], regions: Sequence[PlaneRegion]
) -> tuple[tuple[int, ...], ...]:
    """Return which coefficients may be kept: all that most points read, one less, ... none.

    Args:
        formulas: with the numbers of their arrays.
        regions: of all stages.
    """
    # Reads of each coefficient by all points.
    reads = Counter[int]()
    points = sum((r.x[1] - r.x[0]) * (r.z[1] - r.z[0]) for r in regions)
    for region in regions:
        one = formulas[region.kind.formula]
        count = (region.x[1] - region.x[0]) * (region.z[1] - region.z[0])
        for name, number in zip(one.formula.coefficients, one.coefficients, strict=True):
            # Those that are kept for some rows only have rows of their own.
            if name not in one.formula.packed:
                reads[number] += count * one.formula.reads_of(name)
    # Coefficients of a few rows, at contacts, are not worth a kernel of its own.
    chosen = [number for number, count in reads.most_common() if count > 0.1 * points]
    return tuple(tuple(chosen[:n]) for n in range(len(chosen), -1, -1))


def _kinds_of(regions: list) -> tuple[PointKind, ...]:
    """Return the kinds of points of some regions, in a fixed order."""
    return tuple(sorted({region.kind for region in regions}))


def _distinct(arrays: Any) -> tuple[Any, ...]:
    """Return arrays, each once."""
    return tuple({id(array): array for array in arrays}.values())


def _index_of(arrays: tuple[Any, ...], array: Any) -> int:
    """Return the number of an array among others."""
    return next(n for n, one in enumerate(arrays) if one is array)
