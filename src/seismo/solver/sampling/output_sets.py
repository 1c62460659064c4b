"""Sets of snapshots and maps that a scenario asks for: fields, points, and steps.

Quantities of maps of largest values:

    pgv, pga, sa          length of the vector of velocity, acceleration, response of oscillators
    ..._horizontal        of its horizontal components
    ..._x                 of a component alone
    ..._rotd50            median of the peaks along all horizontal directions (Boore 2010)
    ..._rotd100           the largest of these, which is the largest horizontal length

Spectral accelerations (SA) are a map for each period.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from seismo.acquisition.ground_motion import substeps
from seismo.acquisition.locator import level_of
from seismo.equations.framework.table import Physics
from seismo.errors import ScenarioError
from seismo.grid.grid import Grid
from seismo.grid.time_step import Clock
from seismo.scenario import Scenario
from seismo.scenario.sections.output import Maps, Snapshots
from seismo.scenario.units import with_unit
from seismo.solver.sampling.field_sampling import (
    Component,
    Slice,
    components_of,
    make_slice,
)

DIRECTIONS = 90  # of half a turn, along which peaks are kept for RotD50
LEAST_STEPS = 2  # time steps in the shortest period of an oscillator
_UNITS = {"pgv": "m/s", "pga": "m/s^2", "sa": "m/s^2"}
_AXES = {"": "xyz", "horizontal": "xy", "rotd50": "xy", "rotd100": "xy"}


@dataclass(frozen=True)
class MapQuantity:
    """The quantity that a map shows.

    Attributes:
        name: as in the scenario, and the period.
        unit: of its values.
        components: of the vector whose length it is.
        of_change: whether it is that of the rate of change.
        at_nodes: whether the components are interpolated to the nodes.
        period: in s, of the oscillators whose response it is, or None.
        along_directions: whether it is the median of the peaks along directions.
    """

    name: str
    unit: str
    components: tuple[Component, ...]
    of_change: bool = False
    at_nodes: bool = False
    period: float | None = None
    along_directions: bool = False

    @property
    def follows_acceleration(self) -> bool:
        """Whether it is known a step later than fields."""
        return self.of_change or self.period is not None

    @property
    def peaks(self) -> int:
        """Numbers of a point that are raised."""
        return DIRECTIONS if self.along_directions else 1


@dataclass(frozen=True)
class PeakMapSet:
    """The maps of an entry of the scenario; `damping` is that of SA over critical damping."""

    name: str
    quantities: tuple[MapQuantity, ...]
    cut: Slice
    damping: float

    @property
    def channels(self) -> list[tuple[Component, bool]]:
        """The components that are read, and whether at the nodes."""
        # Each once, however many quantities have it.
        return list(dict.fromkeys((c, q.at_nodes) for q in self.quantities for c in q.components))

    @property
    def periods(self) -> list[float]:
        """The periods in s of its oscillators."""
        return list(dict.fromkeys(q.period for q in self.quantities if q.period is not None))

    @property
    def oscillating(self) -> list[int]:
        """Numbers of the channels that drive oscillators."""
        moved = {c for q in self.quantities if q.period is not None for c in q.components}
        return [n for n, (c, at_nodes) in enumerate(self.channels) if at_nodes and c in moved]

    @property
    def changing(self) -> bool:
        """Whether the change of channels from step to step is needed."""
        return any(q.follows_acceleration for q in self.quantities)

    def numbers(self) -> int:
        """Count the numbers that a point takes on the device."""
        # The value of the step; where its change counts, that and the value before, too.
        channel_numbers = len(self.channels) * (3 if self.changing else 1)
        # Real and imaginary part of each oscillator.
        states = 2 * len(self.periods) * len(self.oscillating)
        return channel_numbers + states + sum(q.peaks for q in self.quantities)

    def substeps(self, dt: float) -> list[int]:
        """Return in how many parts of a time step each period's oscillators are stepped."""
        return [substeps(dt, period) for period in self.periods]


def make_all_maps(scenario: Scenario, grid: Grid, physics: Physics, dt: float) -> list[PeakMapSet]:
    """Work out `output.maps` of a scenario for a time step dt (s).

    Raises:
        ScenarioError: a period is too short for the time step.
    """
    entries = scenario.output.maps
    least = LEAST_STEPS * dt
    for number, entry in enumerate(entries):
        for period_number, period in enumerate(entry.periods or ()):
            if period < least:
                problem = (
                    f"is below {LEAST_STEPS} time steps ({with_unit(least, 's')}), between which "
                    "the motion is not known: leave it out, or set a shorter time.step"
                )
                raise scenario.mistake(
                    "output", "maps", number, "periods", period_number, problem=problem
                )
    # Depths of planes count from the ground, which is the first row where it is not flat.
    level = level_of(scenario, grid)
    return [make_maps(entry.on_z(level), grid, physics) for entry in entries]


def make_maps(entry: Maps, grid: Grid, physics: Physics) -> PeakMapSet:
    """Work out an entry of `output.maps`."""
    periods = entry.periods or ()
    quantities = [q for name in entry.quantities for q in _quantities(name, physics, periods)]
    return PeakMapSet(entry.name, tuple(quantities), make_slice(entry, grid), entry.damping)


def _quantities(name: str, physics: Physics, periods: tuple[float, ...]) -> list[MapQuantity]:
    """Return the quantities that a name in the scenario stands for; of SA by period."""
    peak, _, which = name.partition("_")
    if peak not in _UNITS:
        field_components = components_of(name, physics)
        return [MapQuantity(name, field_components[0].unit, tuple(field_components))]
    # Components of the vector: all, the horizontal, or a single component.
    axes = _AXES.get(which, which)
    components = tuple(c for c in components_of("velocity", physics) if c.name[1] in axes)
    unit = _UNITS[peak]
    # RotD100 is the largest length of the horizontal vector: only RotD50 needs directions.
    median = which == "rotd50"
    if peak == "sa":
        return [
            MapQuantity(f"{name}_{p:g}s", unit, components, False, True, p, median) for p in periods
        ]
    return [MapQuantity(name, unit, components, peak == "pga", True, None, median)]


MANTISSA_BITS = 23  # of float32


@dataclass(frozen=True)
class Series:
    """The snapshots of an entry of the scenario.

    Attributes:
        name: of the series.
        components: that are stored.
        cut: where.
        steps: after which steps a snapshot is taken.
        times: (snapshot) s.
        bits: of the mantissa that are kept.
        group: of the results that holds it.
        facts: attributes of it there.
    """

    name: str
    components: tuple[Component, ...]
    cut: Slice
    steps: tuple[int, ...]
    times: np.ndarray = field(compare=False)
    bits: int = MANTISSA_BITS
    group: str = "snapshots"
    facts: Mapping[str, str] = field(default_factory=dict, compare=False)

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
    """Work out an entry of `output.snapshots`.

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
