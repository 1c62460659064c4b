"""Snapshots cut from a wavefield that is stepping: which points, at which steps, at honest times.

A snapshot at t = n dt is taken after n steps. Fields on whole steps (stress, pressure) stand there;
velocities, which stand half a step later, are the mean of those at (n - 1/2) dt and (n + 1/2) dt: a
copy is kept for one step. For a motion of angular frequency w the mean is cos(w dt / 2) of the true
value. In space nothing is interpolated: a field that stands half a cell further along an axis is
given at the coordinate of its node (`half_cell` in the results says which).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from seismo.grid import AXES, Box, Grid
from seismo.output.results_file import ResultsWriter

# Owned points, and what gives arrays (shot, z, y, x) of them where it is indexed, for every part.
Pieces = Iterable[tuple[Box, Any]]
Reader = Callable[[str], Pieces]
_FROM_FIELDS = ("velocity", "pressure")


@dataclass(frozen=True)
class Component:
    """One dataset of a series: its unit, the weighted fields that make it, and when they stand."""

    name: str
    unit: str
    terms: tuple[tuple[str, float], ...]
    late: bool


@dataclass(frozen=True)
class Series:
    """The snapshots of one entry of the scenario.

    Attributes:
        name: of the series.
        components: what is stored.
        index: grid indices kept along x, y, z, as ranges.
        axes: coordinates in m by name, in the order of the stored axes.
        steps: after which steps a snapshot is taken.
        dt: time step in s.
        plane: coordinate in m of the axis that was cut.
    """

    name: str
    components: tuple[Component, ...]
    index: tuple[range, range, range]
    axes: dict[str, np.ndarray]
    steps: tuple[int, ...]
    dt: float
    plane: dict[str, float]

    @property
    def times(self) -> np.ndarray:
        """Times (time) s of the snapshots."""
        return np.array(self.steps, float) * self.dt

    @property
    def points(self) -> int:
        """Points of one snapshot of one component."""
        return int(np.prod([len(r) for r in self.index]))

    @cached_property
    def order(self) -> dict[int, int]:
        """The number of the snapshot taken after a step."""
        return {step: number for number, step in enumerate(self.steps)}

    @property
    def events(self) -> set[int]:
        """Steps after which something is to be read."""
        late = any(c.late for c in self.components)
        return set(self.steps) | ({s + 1 for s in self.steps} if late else set())

    def shaped(self, block: np.ndarray) -> np.ndarray:
        """Drop the axes of a cut block (z, y, x) that the series does not have."""
        return block[tuple(slice(None) if a in self.axes else 0 for a in "zyx")]


def make_series(entry: Any, grid: Grid, physics: Any, clock: Any) -> Series:
    """Work out one entry of `output.snapshots`.

    Args:
        entry: the entry.
        grid: the grid.
        physics: the wave equation.
        clock: time step and number of steps.
    """
    plane = _plane(entry.plane, grid)
    x, y, z = (_kept(grid, a, entry.decimate, plane) for a in AXES)
    index = (x, y, z)
    axes = {
        a: grid.coordinate(a, np.array(index[AXES.index(a)]))
        for a in "zyx"
        if a in grid.axes and a not in plane
    }
    components = tuple(dict.fromkeys(c for f in entry.fields for c in _components(f, physics)))
    cut = {a: float(grid.coordinate(a, n)) for a, n in plane.items()}
    return Series(entry.name, components, index, axes, _steps(entry, clock), clock.dt, cut)


def _components(name: str, physics: Any) -> list[Component]:
    fields = {f.name: f for f in physics.fields}
    if name not in _FROM_FIELDS:
        field = fields[name]
        return [Component(name, field.unit, ((name, 1.0),), field.late)]
    found = []
    for component, terms in physics.observables[name].items():
        first = fields[terms[0].field]
        weights = tuple((t.field, t.factor) for t in terms)
        found.append(Component(component, first.unit, weights, first.late))
    return found


def _plane(plane: Any, grid: Grid) -> dict[str, int]:
    given = {} if plane is None else {a: getattr(plane, a) for a in AXES}
    return {a: round(float(grid.index(a, v))) for a, v in given.items() if v is not None}


def _kept(grid: Grid, axis: str, decimate: int, plane: Mapping[str, int]) -> range:
    a = AXES.index(axis)
    if axis in plane:
        return range(plane[axis], plane[axis] + 1)
    step = decimate if axis in grid.axes else 1
    return range(grid.extent.lo[a], grid.extent.hi[a], step)


def _steps(entry: Any, clock: Any) -> tuple[int, ...]:
    every = clock.steps_between(entry.interval)
    slack = 1e-6 * clock.dt
    start = 0.0 if entry.start is None else entry.start - slack
    stop = clock.steps * clock.dt if entry.stop is None else entry.stop + slack
    return tuple(n for n in range(0, clock.steps + 1, every) if start <= n * clock.dt <= stop)


def cut(series: Series, component: Component, read: Reader, shots: int) -> np.ndarray:
    """Read a component (shot, z, y, x) at the points of a series as it stands now."""
    whole = np.zeros((shots, *(len(r) for r in series.index[::-1])), np.float32)
    for field, factor in component.terms:
        for owned, array in read(field):
            pairs = [_overlap(r, *ends) for r, ends in zip(
                series.index, zip(owned.lo, owned.hi, strict=True), strict=True)]  # fmt: skip
            to = tuple(p[0] for p in pairs[::-1])
            source = tuple(p[1] for p in pairs[::-1])
            part = array[(slice(0, shots), *source)]
            whole[(slice(None), *to)] += part if factor == 1.0 else factor * part
    return whole


def _overlap(kept: range, low: int, high: int) -> tuple[slice, slice]:
    """Give the places in `kept` and in low .. high of the indices that both hold."""
    first = max(0, -(-(low - kept.start) // kept.step))
    stop = min(len(kept), -(-(high - kept.start) // kept.step))
    if first >= stop:
        return slice(0, 0), slice(0, 0)
    start = kept[first] - low
    return slice(first, stop), slice(start, kept[stop - 1] - low + 1, kept.step)


class SnapshotTaker:
    """Take the due snapshots of a batch of shots and hand them to the writer."""

    def __init__(self, writer: ResultsWriter, series: list[Series], shots: list[str]) -> None:
        """Lay out the datasets of all shots."""
        self._writer, self._series, self._several = writer, series, len(shots) > 1
        self.events = set[int]().union(*(s.events for s in series))
        self._before: dict[tuple[str, str], np.ndarray] = {}
        for one in series:
            for shot in shots if self._several else [None]:
                writer.create_snapshots(
                    one.name,
                    shot=shot,
                    axes=one.axes,
                    times=one.times,
                    fields={c.name: c.unit for c in one.components},
                    plane=one.plane,
                )

    def take(self, step: int, read: Reader, shots: list[str]) -> None:
        """Store what is due after a step for these shots."""
        for one in self._series:
            for component in one.components:
                if component.late:
                    self._take_late(one, component, step, read, shots)
                elif step in one.order:
                    now = cut(one, component, read, len(shots))
                    self._write(one, component, one.order[step], now, shots)

    def _take_late(
        self, one: Series, component: Component, step: int, read: Reader, shots: list[str]
    ) -> None:
        due = step in one.order
        before = self._before.pop((one.name, component.name), None)
        if not due and before is None:
            return
        now = cut(one, component, read, len(shots))
        if before is not None:
            before += now
            before *= 0.5
            self._write(one, component, one.order[step - 1], before, shots)
        if due:
            self._before[one.name, component.name] = now

    def _write(
        self, one: Series, component: Component, number: int, blocks: np.ndarray, shots: list[str]
    ) -> None:
        for shot, block in zip(shots, blocks, strict=True):
            self._writer.write_snapshot(
                one.name, shot if self._several else None, number,
                {component.name: one.shaped(block)},
            )  # fmt: skip
