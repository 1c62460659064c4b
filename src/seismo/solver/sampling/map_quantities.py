"""Quantities of maps of largest values: components, motion and points.

    pgv, pga, sa          length of the vector of velocity, acceleration, response of oscillators
    ..._horizontal        of its horizontal components
    ..._x                 of one alone
    ..._rotd50            median of the peaks along all horizontal directions (Boore 2010)
    ..._rotd100           the largest of these, which is the largest horizontal length

Spectral accelerations (SA) are one map for each period.
"""

from __future__ import annotations

from dataclasses import dataclass

from seismo.acquisition.locator import level_of
from seismo.acquisition.traces.ground_motion import substeps
from seismo.equations.framework.table import Physics
from seismo.grid.grid import Grid
from seismo.scenario import Scenario
from seismo.scenario.sections.output import Maps
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
    """What one map shows.

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
        """Whether it is known a step later than what fields show."""
        return self.of_change or self.period is not None

    @property
    def peaks(self) -> int:
        """Numbers of a point that are raised."""
        return DIRECTIONS if self.along_directions else 1


@dataclass(frozen=True)
class PeakMapSet:
    """The maps of one entry of the scenario; `damping` is the share of the critical one of SA."""

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
    """Work out one entry of `output.maps`."""
    periods = entry.periods or ()
    quantities = [q for name in entry.quantities for q in _quantities(name, physics, periods)]
    return PeakMapSet(entry.name, tuple(quantities), make_slice(entry, grid), entry.damping)


def _quantities(name: str, physics: Physics, periods: tuple[float, ...]) -> list[MapQuantity]:
    """Return what a name in the scenario stands for; of SA, one of each period."""
    peak, _, which = name.partition("_")
    if peak not in _UNITS:
        field_components = components_of(name, physics)
        return [MapQuantity(name, field_components[0].unit, tuple(field_components))]
    # Components of the vector: all, the horizontal ones, or one.
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
