"""Receivers: which points of which fields make a channel, and how its record becomes a trace.

A channel is one component at one receiver. Each is a sum of weighted points of fields; divergence
and rotation differentiate the interpolated field with the scheme's own differences. Velocities are
recorded at half steps. Displacement and acceleration follow from them by the scheme's own time
differences (exact once the time dispersion is removed), and stand at whole steps like the stresses;
velocity itself is interpolated to whole steps at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seismo import time_dispersion
from seismo.backends.base import Backend, Launch
from seismo.fields import Fields
from seismo.grid import AXES
from seismo.kernels import points as kernels
from seismo.physics.table import Field, Physics, Term
from seismo.stencils import SurfaceClosure, staggered
from seismo.surroundings import Surroundings

UNITS = {
    "velocity": "m/s", "displacement": "m", "acceleration": "m/s^2", "pressure": "Pa",
    "stress": "Pa", "divergence": "1/s", "rotation": "rad/s",
}  # fmt: skip
MOTIONS = {"displacement": "u", "acceleration": "a"}  # derived from velocity: prefix
HALF_STEP_POINTS = 8
PIECE = 16  # entries that one launch's thread sums


@dataclass(frozen=True)
class ReceiverGroup:
    """The receivers of one set.

    Attributes:
        name: of the set.
        codes: one for each receiver.
        positions: (receivers, 3) x, y, z in m.
        quantities: what to record.
        interval: sampling interval in s, None for every step.
    """

    name: str
    codes: tuple[str, ...]
    positions: np.ndarray
    quantities: tuple[str, ...]
    interval: float | None

    def components(self, physics: Physics) -> dict[str, tuple[str, str, str]]:
        """Give each component's quantity, the base quantity recorded and the base component."""
        found = {}
        for quantity in self.quantities:
            base = "velocity" if quantity in MOTIONS else quantity
            for component in physics.observables[base]:
                name = (
                    MOTIONS.get(quantity, "v") + component[1:] if base == "velocity" else component
                )
                found[name] = (quantity, base, component)
        return found


def _along(around: Surroundings, field: Field, axis: str, order: int, kind: str, points):
    """Replace points of a derivative by the points of the field it differentiates."""
    x, y, z, w = points
    a = AXES.index(axis)
    half, h = axis in field.half, around.grid.spacing[a]
    c = staggered(order, kind) / h
    index = [x, y, z]
    rows = []
    for m, coefficient in enumerate(c, 1):
        # Half-point fields give the derivative on nodes: points n - 1/2 and n + 1/2.
        for sign, shift in ((1, m - 1 if half else m), (-1, -m if half else 1 - m)):
            moved = [i + (shift if n == a else 0) for n, i in enumerate(index)]
            rows.append((*moved, sign * coefficient * w))
    if axis == "z" and around.closure is not None:
        return _along_closed(around.closure, half, h, rows, points)
    return tuple(np.concatenate(part) for part in zip(*rows, strict=True))


def _along_closed(closure: SurfaceClosure, half: bool, h: float, rows, points):
    x, y, z, w = points
    near = z < closure.rows
    table = (closure.down if half else closure.up) / h
    kept = [tuple(part[~near] for part in row) for row in rows]
    for k in range(table.shape[1]):
        kept.append((x[near], y[near], np.full(near.sum(), k), w[near] * table[z[near], k]))
    return tuple(np.concatenate(part) for part in zip(*kept, strict=True))


def term_points(around: Surroundings, term: Term, position, order: int, kind: str):
    """Give x, y, z and weights of the points of a term's field for a position in m."""
    field = around.physics.named(term.field)
    if not term.along:
        x, y, z, w = around.weights(field, position)
        return x, y, z, term.factor * w
    half = "".join(sorted(set(field.half) ^ {term.along}))
    target = Field(field.name, half, field.unit, field.late)
    points = around.weights(target, position)
    x, y, z, w = _along(around, field, term.along, order, kind, points)
    return x, y, z, term.factor * w


@dataclass
class _Channels:
    """The sparse rows of all channels that read one field."""

    starts: list[int]
    channels: list[int]
    owners: list[int]  # shots of the rows
    x: list[np.ndarray]
    y: list[np.ndarray]
    z: list[np.ndarray]
    shot: list[np.ndarray]
    weights: list[np.ndarray]


class Recorder:
    """Record every channel of every shot of a batch, step by step."""

    def __init__(
        self, backend: Backend, around: Surroundings, parts: list[Fields],
        groups: list[ReceiverGroup], order: int, kind: str, shots: int, steps: int,
    ) -> None:  # fmt: skip
        self._backend = backend
        self._index: dict[tuple[int, str, str], slice] = {}
        rows: dict[str, _Channels] = {}
        channel = 0
        for shot in range(shots):
            for group in groups:
                bases = dict.fromkeys(
                    (b, c) for _, b, c in group.components(around.physics).values()
                )
                for base, component in bases:
                    count = len(group.positions)
                    self._index[shot, group.name, component] = slice(channel, channel + count)
                    for position in group.positions:
                        for term in around.physics.observables[base][component]:
                            points = term_points(around, term, position, order, kind)
                            _append(rows, term.field, channel, shot, points)
                        channel += 1
        self.record = backend.array(np.zeros((steps, channel), backend.precision))
        self._reads = [_Reading(backend, name, r, parts) for name, r in rows.items()]

    def launches(self, parity: int) -> list[Launch]:
        """List what records the fields as a step has left them, in order."""
        return [one for r in self._reads for one in r.launches(self.record, parity)]

    def raw(self, shot: int, group: str, component: str) -> np.ndarray:
        """Give the record (receiver, step) of a base component."""
        part = self.record[:, self._index[shot, group, component]]
        return self._backend.fetch(part).T


def _append(rows: dict[str, _Channels], field: str, channel: int, shot: int, points) -> None:
    r = rows.setdefault(field, _Channels([0], [], [], [], [], [], [], []))
    x, y, z, w = points
    r.starts.append(r.starts[-1] + len(w))
    r.channels.append(channel)
    r.owners.append(shot)
    for many, one in ((r.x, x), (r.y, y), (r.z, z), (r.weights, w)):
        many.append(one)
    r.shot.append(np.full(len(w), shot))


class _Reading:
    """Read one field for all channels: the points of each subdomain, then their sums.

    Rows of more than `PIECE` entries are summed in pieces first, side by side.
    """

    def __init__(
        self, backend: Backend, name: str, rows: _Channels, parts: list[Fields]
    ) -> None:  # fmt: skip
        self._backend, put = backend, backend.array
        points = tuple(np.concatenate(part) for part in (rows.x, rows.y, rows.z, rows.shot))
        weights = np.concatenate(rows.weights).astype(backend.precision)
        starts, indices = np.array(rows.starts, np.int64), np.arange(len(weights))
        self._gathers: list[list[tuple]] = []
        if len(parts) == 1:  # the sums read the field itself
            values = [parts[0].written(name, parity) for parity in (0, 1)]
            indices = _flat(parts[0], *points)
        else:
            values = [put(np.zeros(len(weights), backend.precision))] * 2
            self._gathers = [_gather(backend, name, p, points, values[0]) for p in parts]
        self._sums: list[tuple] = []
        self._shots = np.array(rows.owners)
        if np.diff(starts).max() > PIECE:
            pieces, starts = _pieces(starts)
            self._piece_shots = np.repeat(self._shots, np.diff(starts))
            partial = put(np.zeros(len(pieces) - 1, backend.precision))
            held = (put(indices), put(pieces), put(weights), partial)
            self._sums = [(v, *held) for v in values]
            values, indices = [partial] * 2, np.arange(partial.size)
            weights = np.ones(partial.size, backend.precision)
        held = (put(indices), put(starts), put(weights), put(np.array(rows.channels, np.int64)))
        self._rows = [(v, *held) for v in values]

    def launches(self, traces, parity: int) -> list[Launch]:
        """List what adds this field's share to the record of a step."""
        backend, rows = self._backend, self._rows[parity]
        sums = [s[parity] for s in (self._sums,) if s]
        return [
            *(
                backend.each(kernels.gather, g[parity][0], g[parity][1], (3,))
                for g in self._gathers
            ),
            *(backend.each(kernels.sums, s[-1].size, s, (4,), self._piece_shots) for s in sums),
            backend.each(
                kernels.record, rows[-1].size, (*rows, traces, backend.clock), (5,), self._shots
            ),
        ]


def _flat(fields: Fields, x, y, z, shot) -> np.ndarray:
    flat = fields.subdomain.flat(x, y, z) + shot * fields.subdomain.volume
    return flat.astype(np.int64)


def _gather(backend: Backend, name: str, fields: Fields, points, values) -> list[tuple]:
    """Give what `kernels.gather` needs for the points that a subdomain has, for both parities."""
    _, y, z, _ = points
    subdomain = fields.subdomain
    # Images beyond a face belong to the subdomain at that face.
    inside = [
        np.clip(i, lo, hi - 1)
        for i, lo, hi in zip(
            (y, z), subdomain.grid.box.lo[1:], subdomain.grid.box.hi[1:], strict=True
        )
    ]
    slots = np.flatnonzero(subdomain.owns(*inside))
    indices = backend.array(_flat(fields, *points)[slots])
    held = backend.array(slots)
    return [
        (slots.size, (fields.written(name, parity), indices, held, values)) for parity in (0, 1)
    ]


def _pieces(starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut rows of entries in pieces: first entries of the pieces, first pieces of the rows."""
    counts = -(-np.diff(starts) // PIECE)
    firsts = np.concatenate([[0], np.cumsum(counts)])
    number = np.arange(firsts[-1]) - np.repeat(firsts[:-1], counts)
    pieces = np.repeat(starts[:-1], counts) + PIECE * number
    return np.append(pieces, starts[-1]), firsts


def extra_steps(steps: int, removal: bool) -> int:
    """Give how many steps more to run so that the last trace samples are complete."""
    return HALF_STEP_POINTS // 2 + (time_dispersion.margin(steps) if removal else 0)


def complete_steps(recorded: int, removal: bool) -> int:
    """Give the duration in steps that so many recorded ones complete, 0 where there is none."""
    steps = max(0, recorded - extra_steps(0, False))
    while steps and steps + extra_steps(steps, removal) > recorded:
        steps -= 1
    return steps


def _to_whole_steps(velocity: np.ndarray) -> np.ndarray:
    """Interpolate samples at (n + 1/2) dt to n dt by the polynomial through 8 of them."""
    half = HALF_STEP_POINTS // 2
    points = np.arange(HALF_STEP_POINTS) - half + 0.5
    weights = np.linalg.solve(points[None, :] ** np.arange(8)[:, None], np.eye(8)[0])
    padded = np.pad(velocity.astype(float), ((0, 0), (half, 0)))
    count = velocity.shape[1] - half
    return sum(w * padded[:, k : k + count + 1] for k, w in enumerate(weights))


def finish(
    raw: np.ndarray, quantity: str, late: bool, dt: float, steps: int, every: int, removal: bool
) -> np.ndarray:
    """Turn a record into traces at t = 0, dt * every, ...

    Args:
        raw: (receiver, step) recorded after each step.
        quantity: what the trace shall be.
        late: whether the recorded field stands at half steps.
        dt: time step in s.
        steps: steps of the wanted duration.
        every: steps between samples.
        removal: whether to remove the time dispersion.

    Returns:
        (receiver, sample) of the dtype of raw.
    """
    series = raw.astype(float)
    if quantity == "acceleration":
        series, late = np.diff(series, axis=1, prepend=0.0) / dt, False
    elif quantity == "displacement":
        series, late = np.pad(np.cumsum(series, axis=1) * dt, ((0, 0), (1, 0))), False
    elif not late:
        series = np.pad(series, ((0, 0), (1, 0)))
    if removal:
        series = time_dispersion.remove(series, dt, 0.5 if late else 0.0)
    if late:
        series = _to_whole_steps(series)
    return decimate(series[:, : steps + 1], every).astype(raw.dtype)


def decimate(series: np.ndarray, every: int) -> np.ndarray:
    """Keep every n-th sample after a zero-phase low-pass filter (Kaiser-windowed sinc).

    The filter passes 80 % of the new Nyquist frequency and stops (-80 dB) above it.
    """
    if every == 1:
        return series
    cutoff, width = 0.9 / every, 0.2 / every  # in units of the old Nyquist frequency
    half = int(np.ceil(5.0 / width))
    n = np.arange(-half, half + 1)
    taps = cutoff * np.sinc(cutoff * n) * np.kaiser(2 * half + 1, 8.0)
    taps /= taps.sum()
    padded = np.pad(series, ((0, 0), (half, half)), mode="edge")
    size = 1 << (padded.shape[1] + taps.size).bit_length()
    spectrum = np.fft.rfft(padded, size) * np.fft.rfft(taps, size)
    return np.fft.irfft(spectrum, size)[:, 2 * half : 2 * half + series.shape[1] : every]
