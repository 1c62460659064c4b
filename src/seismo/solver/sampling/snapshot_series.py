"""Which fields an entry of `output.snapshots` takes, at which points and steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from seismo.acquisition.locator import level_of
from seismo.equations.framework.table import Physics
from seismo.errors import ScenarioError
from seismo.grid.grid import Grid
from seismo.grid.time_step import Clock
from seismo.scenario import Scenario
from seismo.scenario.sections.output import Snapshots
from seismo.solver.sampling.field_sampling import (
    Component,
    Slice,
    components_of,
    make_slice,
)

MANTISSA_BITS = 23  # of float32


@dataclass(frozen=True)
class Series:
    """The snapshots of one entry of the scenario.

    Attributes:
        name: of the series.
        components: what is stored.
        cut: where.
        steps: after which steps a snapshot is taken.
        times: (snapshot) s.
        bits: of the mantissa that are kept.
    """

    name: str
    components: tuple[Component, ...]
    cut: Slice
    steps: tuple[int, ...]
    times: np.ndarray = field(compare=False)
    bits: int = MANTISSA_BITS

    @cached_property
    def order(self) -> dict[int, int]:
        """The number of the snapshot taken after a step."""
        return {step: number for number, step in enumerate(self.steps)}

    @property
    def events(self) -> set[int]:
        """Steps after which something is to be read."""
        # Fields at half steps are read after the next step, too.
        has_half_step = any(c.late for c in self.components)
        return set(self.steps) | ({s + 1 for s in self.steps} if has_half_step else set())


def make_all_series(scenario: Scenario, grid: Grid, physics: Physics, clock: Clock) -> list[Series]:
    """Work out `output.snapshots` of a scenario.

    Raises:
        ScenarioError: entries have no time.
    """
    _refuse_no_steps(scenario, clock)
    # Depths of planes count from the ground, which is the first row where it is not flat.
    level = level_of(scenario, grid)
    entries = (entry.on_z(level) for entry in scenario.output.snapshots)
    return [make_series(entry, grid, physics, clock) for entry in entries]


def _refuse_no_steps(scenario: Scenario, clock: Clock) -> None:
    """Raise ScenarioError with all entries that have no time step within their times."""
    # The last of the steps that are asked for.
    end = clock.steps * clock.dt
    errors = [
        scenario.mistake(
            "output", "snapshots", number, "start",
            problem=f"there is no multiple of {_every(entry, clock)} steps of {clock.dt:g} s from "
            f"{entry.start or 0.0:g} s to {end if entry.stop is None else min(entry.stop, end):g} "
            "s; begin earlier",
        )
        for number, entry in enumerate(scenario.output.snapshots)
        if not _steps(entry, clock)
    ]  # fmt: skip
    if errors:
        raise ScenarioError.of(errors)


def _every(entry: Snapshots, clock: Clock) -> int:
    """Return the steps between two snapshots."""
    return entry.steps or clock.steps_between(entry.interval)


def make_series(entry: Snapshots, grid: Grid, physics: Physics, clock: Clock) -> Series:
    """Work out one entry of `output.snapshots`.

    Args:
        entry: the entry.
        grid: the grid.
        physics: the wave equation.
        clock: time step and number of steps.
    """
    components = dict.fromkeys(c for name in entry.fields for c in components_of(name, physics))
    bits = MANTISSA_BITS if entry.relative_error is None else kept_bits(entry.relative_error)
    steps = _steps(entry, clock)
    times = clock.times(steps, entry.interval)
    return Series(entry.name, tuple(components), make_slice(entry, grid), steps, times, bits)


def kept_bits(error: float) -> int:
    """Return the fewest bits of a mantissa whose rounding changes no number by more, relatively."""
    # Rounding to b bits changes a number by 2^-(b + 1) of itself at most.
    return min(MANTISSA_BITS, max(0, math.ceil(-math.log2(error)) - 1))


def _steps(entry: Snapshots, clock: Clock) -> tuple[int, ...]:
    every = _every(entry, clock)
    tolerance = 1e-6 * clock.dt
    start = 0.0 if entry.start is None else entry.start - tolerance
    stop = clock.steps * clock.dt if entry.stop is None else entry.stop + tolerance
    # Multiples of the interval between start and stop.
    return tuple(n for n in range(0, clock.steps + 1, every) if start <= n * clock.dt <= stop)
