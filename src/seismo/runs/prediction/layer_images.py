"""Reflections of absorbing layers by images of sources, over the time of a record.

In the plane through a source, a receiver and the normal of a face, with w complex (Aki & Richards
2002, sections 6.1 and 6.5), the displacement of a force F and a moment M in a single rock is the
sum of plane waves k = (kx, kz), including evanescent waves and near fields::

    u = integral [ k (k.s) / w^2 e_P / kz_P + (s / vs^2 - k (k.s) / w^2) e_S / kz_S ] dkx,
    s = F + i M k,    e = exp(i kx x + i kz z),    kz = sqrt((w / c)^2 - kx^2)

The reflection by a face has the paths z to it and from it, with each wave times its reflection by
the layer of the run on its grid (`seismo.runs.prediction.layer_waves`). Its energy within the
record counts over that of the straight path. So waves that go through to the outer end of a layer,
as long ones do where its alpha makes it thin for them, count when they are back before the run
ends. A free surface adds images (`seismo.runs.prediction.surface_images`). No rays are bent, nor
are waves guided or converted; the rocks are taken at the face.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from seismo.acquisition.receivers import paths_of, thinned
from seismo.acquisition.sources import PointSource
from seismo.grid.grid import AXES
from seismo.grid.spline import interpolated
from seismo.runs.prediction.contacts.radiation import is_isotropic, strengths
from seismo.runs.prediction.layer_waves import LayerWaves, goes_along
from seismo.runs.prediction.surface_images import image_factor
from seismo.solver.discretization import Discretization
from seismo.solver.medium.cpml import strength

_MOST_ENDS = 60  # sources, and receivers, between which paths are sought
_MOST_PATHS = 8
_MOST_WAVES = 3e5  # plane waves of all paths by a face; paths of more are none that is known
_DEPTHS = 3  # of rocks along a side
_LATER = 20.0  # dominant periods after the last way by a face: nothing is looked at later
_SAMPLES = 4.0  # in the shortest period
_HIGHEST = 1.0  # frequency over that of the shortest period
_LONGER = 2  # times the time looked at, after which transforms repeat
_GROWTH = 4.0  # exponent, over the time looked at, of the imaginary part of w
_DECAYED = 8.0  # exponent of evanescent waves that are left out
_NEAREST = 2.0  # cells: no way to a face and from it is shorter
_FREQUENCIES = 60  # at which layers are sampled, where there are more
_TOWARDS_ZERO = 1.5  # power by which these crowd there
_INCIDENCES = 10  # of waves that travel, and
_EVANESCENT = 5  # of such that decay
_UNREACHED = 1e-4  # of the energy that a receiver would have later: the least it counts as having
_NOTHING = 1e-30  # sent back at most, for a logarithm
_MATTERS = 0.1  # of the energy of the worst path: faces above are evaluated again
# Time derivatives of displacement that are recorded, and of a moment that a source is.
_RATES = {"velocity": 1, "acceleration": 2, "strain_rate": 1, "rotation": 1, "divergence": 1}
_SOURCE_RATES = {"pressure": -2, "volume_rate": -1}


_Face = tuple[str, int]  # axis, and 0 for the low side or 1 for the high
_Energies = dict[tuple[int, _Face], float]  # by the number of a path, and the face


@dataclass(frozen=True)
class _Path:
    """A source, a receiver's position (3) in m, and its quantity."""

    source: PointSource
    position: np.ndarray
    quantity: str

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the source and the receiver are (3) in m."""
        return np.array(self.source.position), self.position

    @property
    def offset(self) -> np.ndarray:
        """From source to receiver (3) in m."""
        return self.position - np.array(self.source.position)


@dataclass(frozen=True)
class _Times:
    """Times of a record, and the frequencies that stand for them.

    Attributes:
        t: (n) s.
        angular: (frequency) w in 1/s, all with the same imaginary part.
        most: length of the transform.
    """

    t: np.ndarray
    angular: np.ndarray
    most: int

    def spectrum(self, path: _Path) -> np.ndarray:
        """Return the spectrum (frequency) of the record of a source."""
        rate = _RATES.get(path.quantity, 0) + _SOURCE_RATES.get(path.source.kind, 0)
        decaying = np.exp(-self.angular[0].imag * self.t)
        signal = path.source.signal(self.t, max(rate, 0)) * decaying
        transformed = np.fft.rfft(signal, self.most).conj()[: len(self.angular)]
        return np.asarray(transformed * self.angular ** min(rate, 0))

    def energy(
        self, spectra: np.ndarray, during: tuple[float, float] = (0.0, math.inf),
        later: bool = False,
    ) -> float:  # fmt: skip
        """Return the energy between two times [s] of components (component, frequency).

        Where it is that of `later`, too, within all that a transform holds.
        """
        count = self.most if later else len(self.t)
        t = self.t[1] * np.arange(count)
        traces = np.fft.irfft(spectra.conj(), self.most)[:, :count]
        traces = traces * np.exp(self.angular[0].imag * t)
        return float((traces[:, (t >= during[0]) & (t <= during[1])] ** 2).sum())


def images_error(
    discretization: Discretization, points: int, coarser: float = 1.0,
    during: tuple[float, float] = (0.0, math.inf),
) -> float | None:  # fmt: skip
    """Return the relative error of the worst trace by reflections of matched layers.

    None without any path between a local source and a receiver.

    Args:
        discretization: of the run.
        points: of the layers.
        coarser: times as large a spacing as its own.
        during: s, when the layers are such.
    """
    points_now = discretization.scenario.boundaries.layer.points
    present = (points_now, 1.0, (0.0, math.inf))
    changed = (points, coarser, during)
    energies = _energies(discretization, present, None)
    if energies and changed != present:
        # Of other layers the worst path is followed, by the faces that matter to it.
        totals = _totals(energies)
        worst = max(totals, key=lambda n: totals[n])
        least = _MATTERS * totals[worst]
        pairs = frozenset(
            pair for pair, share in energies.items() if pair[0] == worst and share >= least
        )
        energies = _energies(discretization, changed, pairs)
    if energies is None:
        return None
    return math.sqrt(min(1.0, max(_totals(energies).values(), default=0.0)))


def _totals(energies: _Energies) -> dict[int, float]:
    """Return the energies that come back by all faces, by path."""
    totals: dict[int, float] = dict.fromkeys((n for n, _ in energies), 0.0)
    for (n, _), energy in energies.items():
        totals[n] += energy
    return totals


def _energies(
    discretization: Discretization, layers: tuple[int, float, tuple[float, float]],
    pairs: frozenset[tuple[int, _Face]] | None,
) -> _Energies | None:  # fmt: skip
    """Return reflected over direct energy of paths by faces; None without paths.

    Args:
        discretization: of the run.
        layers: their points, times as large a spacing, and when they are such.
        pairs: of path and face, None of all.
    """
    key = (_energies, layers, pairs)
    if key not in discretization.derived_facts:
        discretization.derived_facts[key] = _compute(discretization, *layers, pairs)
    energies: _Energies | None = discretization.derived_facts[key]
    return energies


def _compute(
    discretization: Discretization, points: int, coarser: float, during: tuple[float, float],
    pairs: frozenset[tuple[int, _Face]] | None,
) -> _Energies | None:  # fmt: skip
    paths = _paths(discretization)
    if not paths:
        return None
    times = _times_of(discretization, paths)
    paths = paths[: int(_MOST_WAVES / _waves_of(discretization, times))]
    if not paths:
        return None
    nearest = _nearest(discretization, paths)
    profile = strength(discretization, 0.0, points)
    energies: _Energies = {}
    tables: dict[tuple[float, ...], _SentBack] = {}
    straight: dict[tuple[float, ...], float] = {}
    for axis, side in _absorbing(discretization):
        rocks = _rocks(discretization, axis, side, paths)
        for (rock, count), (n, path) in product(rocks.items(), enumerate(paths)):
            pair = (n, (axis, side))
            energies.setdefault(pair, 0.0)
            along, away = _ways(discretization, (axis, side), *path.ends)
            # Not in a fluid beside SH waves.
            if (pairs and pair not in pairs) or not any(rock):
                continue
            if goes_along(discretization, float(along), float(away)):
                continue
            layers = []
            for speed in rock:
                layer = LayerWaves(discretization, axis, side, speed, profile, points, coarser)
                if speed and (layer.spacing, speed) not in tables:
                    tables[layer.spacing, speed] = _SentBack(layer, times.angular, nearest)
                layers.append(tables.get((layer.spacing, speed)))
            if (n, *rock) not in straight:
                straight[n, *rock] = _straight(discretization, times, path, rock)
            if straight[n, *rock]:
                back = _by_face(discretization, times, path, rock, axis, side, layers, during)
                energies[pair] += count / rocks.total() * back / straight[n, *rock]
    return energies


def _paths(discretization: Discretization) -> list[_Path]:
    """List paths of the most grazing incidence on a face, and of the shortest reflected way.

    The latter in straight ways. None where no local source is recorded anywhere.
    """
    sources = {
        tuple(s.position): s for shot in discretization.shots for s in shot.sources if s.is_local
    }
    faces = _absorbing(discretization)
    if not (discretization.groups and sources and faces):
        return []
    candidates: list[tuple[PointSource, np.ndarray, tuple[str, ...]]] = []
    ranks: list[tuple[float, float]] = []
    for group in discretization.groups:
        for pair in paths_of(np.array(list(sources)), [group]):
            acting, reading = (thinned(ends, _MOST_ENDS) for ends in pair)
            ways = [_ways(discretization, face, acting[:, None], reading[None]) for face in faces]
            grazing = np.max([along / away for along, away in ways], axis=0)
            straight = np.linalg.norm(acting[:, None] - reading[None], axis=-1)
            shorter = np.max([straight / np.hypot(*way) for way in ways], axis=0)
            for n, m in np.argwhere(straight > 0.0).tolist():
                source = sources.get(tuple(acting[n].tolist()))
                if source is not None:
                    candidates.append((source, reading[m], group.quantities))
                    ranks.append((float(grazing[n, m]), float(shorter[n, m])))
    orders = np.argsort(-np.array(ranks).reshape(-1, 2), axis=0)[:_MOST_PATHS]
    chosen = list(dict.fromkeys(orders.ravel().tolist()))[:_MOST_PATHS]
    return [
        _Path(source, position, quantity)
        for source, position, quantities in (candidates[n] for n in chosen)
        for quantity in quantities
    ]


def _waves_of(discretization: Discretization, times: _Times) -> float:
    """Return the number of plane waves of a path by a face, of all frequencies."""
    waves = discretization.waves
    shortest = abs(times.angular[-1]) / waves.slowest
    return float(len(times.angular) * shortest * waves.fastest * times.t[-1] / math.pi)


def _absorbing(discretization: Discretization) -> list[tuple[str, int]]:
    """List the faces that have layers: axis, and 0 for the low side or 1 for the high."""
    grid = discretization.grid
    layers = {axis: (grid.low[AXES.index(axis)], grid.high[AXES.index(axis)]) for axis in grid.axes}
    return [(axis, side) for axis, side in product(grid.axes, (0, 1)) if layers[axis][side]]


def _ways(
    discretization: Discretization, face: tuple[str, int], acting: np.ndarray, reading: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the way in m along a face of paths by it, and that to it and from it."""
    axis, side = face
    a = AXES.index(axis)
    edge = discretization.grid.limits(axis)[side]
    away = np.abs(acting[..., a] - edge) + np.abs(reading[..., a] - edge)
    along = np.delete(np.broadcast_to(acting - reading, (*away.shape, 3)), a, axis=-1)
    return np.linalg.norm(along, axis=-1), np.maximum(
        away, _NEAREST * discretization.grid.spacing[a]
    )


def _times_of(discretization: Discretization, paths: Sequence[_Path]) -> _Times:
    """Return the times that are looked at: all of the run where it is short."""
    waves = discretization.waves
    farthest = max(
        float(np.hypot(*_ways(discretization, face, *path.ends)))
        for path, face in product(paths, _absorbing(discretization))
    )
    later = farthest / waves.slowest + _LATER / discretization.dominant_frequency
    # Of sources that have acted before the run, a period is looked at.
    last = min(waves.duration, max(path.source.end for path in paths) + later)
    last = max(last, waves.shortest_period)
    count = math.ceil(_SAMPLES * last / waves.shortest_period) + 1
    t = np.linspace(0.0, last, count)
    most = _LONGER * count
    angular = 2.0 * math.pi * np.fft.rfftfreq(most, t[1])
    below = angular <= 2.0 * math.pi * _HIGHEST / waves.shortest_period
    return _Times(t, angular[below] + 1j * _GROWTH / last, most)


def _nearest(discretization: Discretization, paths: Sequence[_Path]) -> float:
    """Return the shortest way in m of paths to a face and from it."""
    return min(
        float(_ways(discretization, face, *path.ends)[1])
        for path, face in product(paths, _absorbing(discretization))
    )


def _rocks(
    discretization: Discretization, axis: str, side: int, paths: Sequence[_Path]
) -> Counter[tuple[float, float]]:
    """Count vp and vs at a face; for a face across x or y between source and receivers in depth.

    Of isotropic sources vs counts as 0.
    """
    source = np.array(paths[0].source.position)
    depth = float(np.mean([path.position[2] for path in paths]))
    position = np.repeat(source[:, None], 1 if axis == "z" else _DEPTHS, axis=1)
    position[2] = np.linspace(source[2], depth, position.shape[1])
    position[AXES.index(axis)] = discretization.grid.limits(axis)[side]
    shears = any(not is_isotropic(path.source) for path in paths)
    rocks: Counter[tuple[float, float]] = Counter()
    for point in position.T[:, None]:
        medium = discretization.earth.at(point, discretization.grid.dimensions)
        vp, vs = (float(np.ravel(medium.get(name, 0.0))[0]) for name in ("vp", "vs"))
        rocks[vp, vs if shears or not vp else 0.0] += 1
    return rocks


class _SentBack:
    """Reflection of plane waves by a layer, interpolated between samples."""

    def __init__(self, layer: LayerWaves, angular: np.ndarray, away: float) -> None:
        """Ask a layer of waves of frequencies w (frequency) in 1/s, and a way to it in m."""
        sampled = angular
        if len(angular) > _FREQUENCIES:
            share = np.linspace(0.0, 1.0, _FREQUENCIES) ** _TOWARDS_ZERO
            sampled = angular[0] + (angular[-1] - angular[0]) * share
        k = sampled / layer.velocity
        self.decay = _DECAYED / away
        # Incidences of waves that travel, and decay of others (`_ranks`).
        travelling = np.arange(_INCIDENCES) / _INCIDENCES
        self.rank = np.append(travelling, 1.0 + np.arange(1, _EVANESCENT + 1) / _EVANESCENT)
        size = np.abs(k)[:, None]
        sine = np.sin(0.5 * math.pi * np.minimum(self.rank, 1.0))
        kx = np.hypot(size * sine, self.decay * np.maximum(self.rank - 1.0, 0.0) ** 2)
        cosine = np.sqrt(1.0 - (kx / k[:, None]) ** 2)
        back = layer.sent_back(np.repeat(k, len(self.rank)), cosine.ravel()).reshape(cosine.shape)
        # The logarithm, steady from wave to wave.
        turn = np.unwrap(np.angle(back), axis=1)
        turn += (np.unwrap(turn[:, 0]) - turn[:, 0])[:, None]
        every = np.log(np.maximum(np.abs(back), _NOTHING)) + 1j * turn
        if sampled is not angular:
            every = interpolated(sampled.real, every, angular.real)
        self.logarithm = every
        self.size = np.abs(angular / layer.velocity)[:, None]

    def of(self, kx: np.ndarray) -> np.ndarray:
        """Return it (frequency, wave) of waves of kx in 1/m."""
        sine = np.minimum(np.abs(kx) / self.size, 1.0)
        decay = np.sqrt(np.maximum(kx**2 - self.size**2, 0.0))
        rank = np.arcsin(sine) / (0.5 * math.pi) + np.sqrt(decay / self.decay)
        return np.exp([
            np.interp(ranks, self.rank, row.real) + 1j * np.interp(ranks, self.rank, row.imag)
            for ranks, row in zip(rank, self.logarithm, strict=True)
        ])  # fmt: skip


def _by_face(
    discretization: Discretization, times: _Times, path: _Path, rock: tuple[float, float],
    axis: str, side: int, layers: Sequence[_SentBack | None], during: tuple[float, float],
) -> float:  # fmt: skip
    """Return the energy of a path by a face."""
    along, away = _ways(discretization, (axis, side), *path.ends)
    a = AXES.index(axis)
    normal = np.eye(3)[a] * (2.0 * side - 1.0)
    across = path.offset * (np.arange(3) != a)
    if not across.any():
        across[next(n for n in (0, 2, 1) if n != a)] = 1.0
    fields = _fields(times, path, rock, (across, normal), (float(along), float(away)), layers)
    fields = fields * _images(discretization, times, path, rock, (axis, side))
    energy = times.energy(fields, during)
    if discretization.grid.dimensions == 3:
        energy *= float(np.linalg.norm(path.offset) / np.hypot(along, away))
    return energy


def _straight(
    discretization: Discretization, times: _Times, path: _Path, rock: tuple[float, float]
) -> float:
    """Return the energy of a straight path: in an earth of a single rock the recorded energy."""
    offset = path.offset
    other = np.array([-offset[2], 0.0, offset[0]])
    if discretization.grid.dimensions == 3:
        other = np.cross(offset, np.eye(3)[np.argmin(np.abs(offset))])
    length = max(float(np.linalg.norm(offset)), _NEAREST * min(discretization.waves.spacing))
    fields = _fields(times, path, rock, (other, offset), (0.0, length), (None, None))
    fields = fields * _images(discretization, times, path, rock, None)
    ever = times.energy(fields, later=True)
    if len(discretization.waves.passages) > 1:
        return ever
    return max(times.energy(fields), _UNREACHED * ever)


def _images(
    discretization: Discretization, times: _Times, path: _Path, rock: tuple[float, float],
    face: _Face | None,
) -> np.ndarray | float:  # fmt: skip
    """Return the share (frequency) that a free surface adds to a path by a face, or straight."""
    velocity = rock[1] or rock[0]
    return image_factor(discretization, path.source, path.position, velocity, face, times.angular)


def _fields(
    times: _Times, path: _Path, rock: tuple[float, float], axes: tuple[np.ndarray, np.ndarray],
    way: tuple[float, float], layers: Sequence[_SentBack | None],
) -> np.ndarray:  # fmt: skip
    """Return the components (component, frequency) of a receiver's record.

    Args:
        times: of the record.
        path: source, and recorded quantity.
        rock: vp and vs in m/s, 0 without such waves.
        axes: directions x and z of the plane.
        way: along x and z in m.
        layers: reflect P and S waves; None for direct waves.
    """
    x, z = (direction / np.linalg.norm(direction) for direction in axes)
    turned = np.array([x, np.cross(z, x), z])
    force, moment = strengths(path.source)
    force, moment = turned @ force, turned @ moment @ turned.T
    w = times.angular[:, None]
    speeds = [speed for speed in rock if speed]
    # Waves of all kinds have the same kx, since their near fields cancel.
    step = 2.0 * math.pi / (max(speeds) * times.t[-1] + 2.0 * (way[0] + way[1]))
    most = math.ceil(math.hypot(abs(w[-1, 0]) / min(speeds), _DECAYED / way[1]) / step)
    kx = step * (np.arange(-most, most) + 0.5)
    back = _together(layers, kx, abs(w) / min(speeds))
    total: np.ndarray | float = 0.0
    for n, (speed, sent) in enumerate(zip(rock, back, strict=True)):
        if not speed:
            continue
        kz = np.sqrt((w / speed) ** 2 - kx**2)
        wave = 1j * sent * np.exp(1j * (kx * way[0] + kz * way[1])) / kz * step
        k = np.array([np.broadcast_to(kx, kz.shape), np.zeros_like(kz), kz])
        acting = force[:, None, None] + 1j * np.einsum("ij,jwk->iwk", moment, k)
        pushed = k * (k * acting).sum(axis=0) / w**2
        motion = acting / speed**2 - pushed if n else pushed
        total = total + (_recorded(path.quantity, motion, k) * wave).sum(axis=-1)
    return np.asarray(total * times.spectrum(path))


def _together(
    layers: Sequence[_SentBack | None], kx: np.ndarray, shortest: np.ndarray
) -> list[np.ndarray | float]:
    """Return the reflection of P and S waves, 1 for direct waves.

    The faster both decay towards a layer, the less may these differ: the reflection of near fields,
    which cancel, would else be the error of their difference.

    Args:
        layers: that P and S waves meet.
        kx: (wave) 1/m.
        shortest: wavenumbers (frequency, 1) of S waves in 1/m.
    """
    back: list[np.ndarray | float] = [1.0 if layer is None else layer.of(kx) for layer in layers]
    if None not in layers:
        back[0] = back[1] + (back[0] - back[1]) * np.minimum(1.0, (shortest / kx) ** 2)
    return back


def _recorded(quantity: str, motion: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the record (component, frequency, wave) of displacements of waves k."""
    if quantity in ("displacement", "velocity", "acceleration"):
        return motion
    if quantity in ("pressure", "divergence"):
        return (k * motion).sum(axis=0)[None]
    if quantity == "rotation":
        return np.cross(k, motion, axis=0)
    return np.concatenate([k[0] * motion, k[2] * motion])
