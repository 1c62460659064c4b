"""Sources on the grid: each a few weighted points of some fields, times a signal.

A source of strength m acts on a field as ``scale * m * signal(t) * delta``; the delta function is
the transpose of the interpolation that receivers use (so reciprocity holds exactly), divided by the
volume that a point stands for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seismo import time_dispersion, wavelets
from seismo.backends.base import Backend, Launch
from seismo.errors import ScenarioError
from seismo.fields import Fields
from seismo.kernels.points import inject
from seismo.physics.table import Drive, Field
from seismo.surroundings import Surroundings


@dataclass(frozen=True)
class PointSource:
    """One source of one shot.

    Attributes:
        name: for the results.
        kind: type in the scenario: "force", "moment_tensor", ...
        position: x, y, z in m.
        strength: component -> number: {"z": N}, {"xx": N m, ...} or {"": amplitude}.
        wavelet: the scenario's wavelet.
        delay: s, added to the wavelet's own.
        derivative: which time derivative of the moment (or force) the wavelet describes: 1 for a
            moment rate, else 0.
        base: folder of wavelet files.
    """

    name: str
    kind: str
    position: tuple[float, float, float]
    strength: dict[str, float]
    wavelet: object
    delay: float
    derivative: int
    base: Path | None = None

    def signal(self, times: np.ndarray, derivative: int) -> np.ndarray:
        """Evaluate a time derivative (-1: the integral) of the moment or force at times in s."""
        order = derivative - self.derivative
        t = times - self.delay
        if order == 0:
            return wavelets.evaluate(self.wavelet, t, self.base)
        if order == 1:
            return wavelets.derivative(self.wavelet, t, self.base)
        if order < 0:
            return _integral(self, t)
        step = (times[1] - times[0]) / 8
        pair = [wavelets.derivative(self.wavelet, t + s * step, self.base) for s in (-2, -1, 1, 2)]
        return (pair[0] - 8 * pair[1] + 8 * pair[2] - pair[3]) / (12 * step)

    @property
    def start(self) -> float:
        """Time in s before which it is silent."""
        return wavelets.start_time(self.wavelet, self.base) + self.delay

    @property
    def end(self) -> float:
        """Time in s after which it is silent."""
        return wavelets.end_time(self.wavelet, self.base) + self.delay


def _integral(source: PointSource, t: np.ndarray) -> np.ndarray:
    """Integrate the wavelet from before the first time, by 4-point Gauss rule in every step."""
    nodes, weights = np.polynomial.legendre.leggauss(4)
    step = t[1] - t[0]
    steps = max(0, math.ceil((t[0] + source.delay - source.start) / step))
    before = t[0] + step * np.arange(-steps - 1, 0)
    edges = np.concatenate([before, t])
    middle = (edges[1:] + edges[:-1]) / 2
    inside = middle[:, None] + np.diff(edges)[:, None] / 2 * nodes
    values = wavelets.evaluate(source.wavelet, inside, source.base) @ weights
    return np.concatenate([[0.0], np.cumsum(values * np.diff(edges) / 2)])[-t.size :]


def _mean_at(
    backend: Backend, fields: Fields, field: Field, x, y, z
) -> Callable[[str], np.ndarray]:
    """Give a function that averages a coefficient over the nodes around the field's points."""
    subdomain = fields.subdomain
    ends = [subdomain.flat(x, y, z)]
    for axis in field.half:
        step = {"x": 1, "y": subdomain.strides[0], "z": subdomain.strides[1]}[axis]
        ends += [e + step for e in ends]
    arrays = fields.arrays(0)
    return lambda name: np.mean(
        [backend.fetch(arrays[name][e]).astype(float) for e in ends], axis=0
    )


class Injection:
    """Inject all sources into one subdomain, after the stage that updates a field."""

    def __init__(
        self, backend: Backend, around: Surroundings, fields: Fields, clock, removal: bool
    ) -> None:
        self._backend = backend
        self._around, self._fields = around, fields
        self._clock, self._removal = clock, removal
        self._calls: dict[tuple[str, bool], list[tuple]] = {}

    def load(self, shots: list[list[PointSource]], steps: int) -> None:
        """Prepare the sources of each shot of the batch for a number of steps."""
        self._calls = {}
        physics = self._around.physics
        for field in physics.fields:
            rows = [
                (shot, source, drive)
                for shot, sources in enumerate(shots)
                for source in sources
                for drive in physics.drives.get(source.kind, ())
                if drive.field == field.name and source.strength.get(drive.component)
            ]
            if rows:
                stage = physics.stage_writing(field.name)
                at, inner, weights, owners, samples = self._bind(field, rows, steps)
                held = self._backend.array(samples)
                for core in (False, True):
                    part = inner == core
                    if part.any():
                        cells = self._by_cell(at[part], weights[part], owners[part])
                        entry = (field.name, *cells, held)
                        self._calls.setdefault((stage, core), []).append(entry)

    def _by_cell(self, at: np.ndarray, weights: np.ndarray, owners: np.ndarray) -> tuple:
        """Sort entries by the cell they act on: shots, cells, first entries, weights, owners."""
        order = np.argsort(at, kind="stable")
        cells, starts = np.unique(at[order], return_index=True)
        numbers = (cells, np.append(starts, at.size), weights[order], owners[order])
        shots = cells // self._fields.subdomain.volume
        return shots, *(self._backend.array(a) for a in numbers)

    def _bind(self, field: Field, rows, steps: int) -> tuple:
        precision = self._fields.arrays(0)[field.name].dtype
        indices: list[np.ndarray] = []
        inner: list[np.ndarray] = []
        weights: list[np.ndarray] = []
        owners: list[np.ndarray] = []
        samples: list[np.ndarray] = []
        for shot, source, drive in rows:
            at, w, in_core = self._points(field, source, drive)
            inner.append(in_core)
            indices.append(at + shot * self._fields.subdomain.volume)
            weights.append(w * source.strength[drive.component])
            owners.append(np.full(at.size, len(samples)))
            samples.append(self._samples(field, source, drive, steps))
        signals = np.array(samples)
        scale = np.maximum(np.abs(signals).max(axis=1), 1e-300)
        joined = np.concatenate(owners).astype(np.int64)
        strengths = np.concatenate(weights) * scale[joined]
        too_strong = ~(np.abs(strengths) < np.finfo(precision).max)  # NaN too
        if too_strong.any():
            name = rows[joined[np.argmax(too_strong)]][1].name
            raise ScenarioError(
                f"source {name}: too strong for {precision} numbers; use a smaller one"
            )
        return (
            np.concatenate(indices).astype(np.int64),
            np.concatenate(inner),
            strengths.astype(precision),
            joined,
            (signals / scale[:, None]).astype(precision),
        )

    def _points(self, field: Field, source: PointSource, drive: Drive):
        around, fields = self._around, self._fields
        x, y, z, w = around.weights(field, source.position)
        own = fields.subdomain.owns(y, z) & (w != 0)
        x, y, z, w = x[own], y[own], z[own], w[own]
        w = w / (around.grid.cell * around.norm(field, z))
        scale = drive.scale(_mean_at(self._backend, fields, field, x, y, z), self._clock.dt)
        return fields.subdomain.flat(x, y, z), w * scale, fields.subdomain.in_core(y, z)

    def _samples(self, field: Field, source: PointSource, drive: Drive, steps: int) -> np.ndarray:
        # A late field is driven at whole steps; the others, updated after it, at half steps. A
        # second-order field is driven at whole steps too.
        driven_late = not field.late and not self._around.physics.second_order
        offset = 0.5 if driven_late else 0.0
        dt = self._clock.dt
        signal = source.signal((np.arange(steps) + offset) * dt, drive.derivative)
        return time_dispersion.add(signal, dt, offset) if self._removal else signal

    def bound(self, stage: str, core: bool, parity: int) -> list[Launch]:
        """Give what to launch once a stage has updated the edges, or the core."""
        backend = self._backend
        return [
            backend.each(
                inject, cells.size,
                (self._fields.written(name, parity), cells, *entries, backend.clock),
                writes=(0,), shots=shots,
            )
            for name, shots, cells, *entries in self._calls.get((stage, core), ())
        ]  # fmt: skip
