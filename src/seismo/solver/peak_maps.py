"""Maps of largest values: peaks over the whole run at every point of a cut, found as it steps.

    fields -> values of the components -> rates of change -> length of the vector -> peak

Nothing is stored in between. Peak ground velocity (PGV) and acceleration (PGA) are lengths of
vectors, of all components, of the horizontal ones, or of one alone. Their components stand on
different points of the staggered grid and are interpolated to the nodes by the polynomial through
as many half points as the differences have (8 at most). Acceleration is the change of velocity
from step to step. Peaks of fields are taken where the field stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from seismo.backends.base import Backend, Launch
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.kernels import slices as kernels
from seismo.equations.table import Physics
from seismo.grid.global_index import CheckpointArray
from seismo.grid.grid import Grid
from seismo.grid.interpolation import axis_weights, midpoint_weights, slope_share
from seismo.solver.field_sampling import (
    Component,
    FieldSampler,
    Slice,
    StencilOffsets,
    components_of,
    make_slice,
)
from seismo.solver.fields import Fields
from seismo.solver.point_weights import PointInterpolation

MOST_REACH = kernels.POINTS // 2  # half points on either side of a node
_UNITS = {"pgv": "m/s", "pga": "m/s^2"}


@dataclass(frozen=True)
class MapQuantity:
    """What one map shows.

    Attributes:
        name: as in the scenario.
        unit: of its values.
        components: of the vector whose length it is.
        of_change: whether it is that of the rate of change.
        at_nodes: whether the components are interpolated to the nodes.
    """

    name: str
    unit: str
    components: tuple[Component, ...]
    of_change: bool = False
    at_nodes: bool = False


@dataclass(frozen=True)
class PeakMapSet:
    """The maps of one entry of the scenario."""

    name: str
    quantities: tuple[MapQuantity, ...]
    cut: Slice

    @property
    def channels(self) -> list[tuple[Component, bool]]:
        """The components that are read, and whether at the nodes."""
        return list(dict.fromkeys((c, q.at_nodes) for q in self.quantities for c in q.components))

    def numbers(self) -> int:
        """Count the numbers that a point takes on the device."""
        changing = any(q.of_change for q in self.quantities)
        return len(self.channels) * (3 if changing else 1) + len(self.quantities)


def make_maps(entry: Any, grid: Grid, physics: Physics) -> PeakMapSet:
    """Work out one entry of `output.maps`."""
    quantities = tuple(_quantity(name, physics) for name in entry.quantities)
    return PeakMapSet(entry.name, quantities, make_slice(entry, grid))


def _quantity(name: str, physics: Physics) -> MapQuantity:
    peak, _, which = name.partition("_")
    if peak not in _UNITS:
        found = components_of(name, physics)
        return MapQuantity(name, found[0].unit, tuple(found))
    # Components of the vector: all, the horizontal ones, or one.
    axes = {"": "xyz", "horizontal": "xy"}.get(which, which)
    components = (c for c in components_of("velocity", physics) if c.name[1] in axes)
    return MapQuantity(name, _UNITS[peak], tuple(components), peak == "pga", at_nodes=True)


class PeakMaps:
    """The peaks of all shots of a batch, on the device."""

    def __init__(
        self, backend: Backend, around: PointInterpolation, sets: list[PeakMapSet],
        parts: list[Fields],
        shots: int, dt: float, ranks: SerialCommunicator,
    ) -> None:  # fmt: skip
        self._dt = dt
        self._sets = [_Peaks(backend, around, one, parts, shots, ranks) for one in sets]

    def launches(self, parity: int) -> list[Launch]:
        """List what raises the peaks as a step has left the fields, in order."""
        return [launch for one in self._sets for launch in one.launches(parity)]

    def state(self) -> dict[str, CheckpointArray]:
        """Return what has to survive from step to step."""
        return dict(chain.from_iterable(one.state().items() for one in self._sets))

    def peaks(self, shot: int) -> dict[str, np.ndarray]:
        """Return the maps of one shot of the batch: ``<set>/<quantity>`` -> array over the axes.

        All ranks have to ask for them; the first gets them.
        """
        found = {}
        for one in self._sets:
            for quantity in one.maps.quantities:
                values = one.peaks(quantity.name, shot)
                # Change per step over dt: acceleration in m/s^2.
                scale = 1.0 / self._dt if quantity.of_change else 1.0
                if values is not None:
                    found[f"{one.maps.name}/{quantity.name}"] = scale * values
        return found


class _Peaks:
    """The running maxima of one set of maps."""

    def __init__(
        self, backend: Backend, around: PointInterpolation, maps: PeakMapSet, parts: list[Fields],
        shots: int, ranks: SerialCommunicator,
    ) -> None:  # fmt: skip
        self.maps = maps
        self._backend = backend
        self._reader = FieldSampler(backend, maps.cut, parts, shots, ranks)
        size = self._reader.size
        # Values of the step, their change, and the values before it.
        count = len(maps.channels)
        zeros = np.zeros(count * size, backend.precision)
        self._values = backend.array(zeros)
        self._changing = any(q.of_change for q in maps.quantities)
        kept = zeros if self._changing else zeros[:1]
        self._rates = backend.array(kept)
        self._before = backend.array(kept)
        self._found = {q.name: backend.array(np.zeros(size, np.float32)) for q in maps.quantities}
        self._around = around
        self._rows = np.arange(0, size, self._reader.length)
        self._shots = self._rows // max(1, self._reader.points)

    def peaks(self, name: str, shot: int) -> np.ndarray | None:
        """Return the largest values of a shot over the axes; None but on the first rank."""
        whole = self._reader.whole(self._found[name], range(shot, shot + 1))
        return None if whole is None else self._backend.fetch(whole).reshape(self.maps.cut.shape)

    def state(self) -> dict[str, CheckpointArray]:
        """Return the peaks by name, and the values before the next step."""
        before = {"before": self._before} if self._changing else {}
        return {
            (whole := f"{self.maps.name}/{name}"): CheckpointArray(
                array, [self._reader.place(whole, array.size // max(1, self._reader.size))]
            )
            for name, array in (self._found | before).items()
        }

    def launches(self, parity: int) -> list[Launch]:
        """List what raises the peaks after steps of a parity, in order."""
        size = self._reader.size
        channels = self.maps.channels
        found = list[Launch]()
        if not size:
            return found
        # 1. Read the components, interpolated to the nodes where they form a vector.
        for n, (component, at_nodes) in enumerate(channels):
            added = False
            for name, factor in component.terms:
                sums = beside(self._around, name) if at_nodes else {name: None}
                for field, points in sums.items():
                    found += self._reader.launches(
                        field, parity, self._values, factor, added=added, first=n * size,
                        beside=points,
                    )  # fmt: skip
                    added = True
        # 2. Change since the step before.
        if self._changing:
            starts = np.arange(len(channels))[:, None] * size
            rows = (starts + self._rows).ravel()
            held = (self._rates, self._before, self._values)
            found.append(self._rowwise(kernels.change, held, rows, (0, 1)))
        # 3. Length of the vector, and its maximum so far.
        for quantity in self.maps.quantities:
            which = [channels.index((c, quantity.at_nodes)) for c in quantity.components]
            first = self._backend.array(np.array(which, np.int64) * size)
            values = self._rates if quantity.of_change else self._values
            both = (self._found[quantity.name], values)
            found.append(self._rowwise(kernels.raise_peaks, both, self._rows, (0,), first))
        return found

    def _rowwise(self, body: Any, held: tuple, rows: np.ndarray, writes, *more: Any) -> Launch:
        arguments = (*held, self._backend.array(rows), *more)
        shots = np.resize(self._shots, rows.size)
        length = self._reader.length
        return self._backend.each_row(body, rows.size, length, arguments, writes, shots)


def beside(around: PointInterpolation, name: str) -> dict[str, StencilOffsets | None]:
    """Return, by field, the half points that read a field at the nodes; None where it stands there.

    Under a closed free surface there are none above; the polynomial through those below is used,
    with the slope that the surface prescribes, which other fields tell.
    """
    field = around.physics.named(name)
    slope = around.slope
    if not field.half:
        return {name: None}
    # Mean of half points on both sides of the node.
    rows, some = midpoint_weights(min(MOST_REACH, around.halo))
    steps, weights = _tables(around, rows, some)
    surface = around.surface(field)
    if field.half != "z" or surface is None or surface.sign:
        return {name: StencilOffsets(field.half, steps, weights)}
    # Near a closed surface: one-sided rows of vz, and the slope that szz = 0 prescribes.
    shares = np.array([slope_share(float(z), True, surface) for z in range(MOST_REACH)])
    for z in range(MOST_REACH):
        rows, some = axis_weights(float(z), True, 0, surface)
        steps[z] = 0
        weights[z] = 0.0
        steps[z, : rows.size] = rows - z
        weights[z, : rows.size] = some
    found: dict[str, StencilOffsets | None] = {name: StencilOffsets("z", steps, weights)}
    if slope is None:
        return found
    # d_z vz = -r (d_x vx + d_y vy), as reads of vx and vy.
    for axis in slope.across:
        rows, some = slope.derivative(axis)
        steps, weights = _tables(around, rows, some)
        weights[MOST_REACH:] = 0.0
        weights[:MOST_REACH] *= -around.grid.spacing[2] * shares[:, None]
        found[f"v{axis}"] = StencilOffsets(axis, steps, weights, slope.ratio)
    return found


def _tables(around: PointInterpolation, rows: np.ndarray, some: np.ndarray):
    """Return steps and weights (points along z, POINTS) that are the same for every z."""
    size = (around.grid.points[2], kernels.POINTS)
    steps = np.zeros(size, np.int64)
    weights = np.zeros(size)
    # The same stencil in every row.
    steps[:, : rows.size] = rows
    weights[:, : rows.size] = some
    return steps, weights
