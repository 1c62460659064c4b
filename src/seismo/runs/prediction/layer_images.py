"""Reflections of absorbing layers by images of sources, over the time of a record.

The reflection by a face is that of all plane waves of a source (`seismo.runs.prediction.
image_fields`), on the way to the face and from it, each with its reflection by the layer of the run
on its grid (`seismo.runs.prediction.layer_waves`); layers that damp the fields convert P and SV
waves into each other, too (`seismo.runs.prediction.layer_equations`). Its energy within the
record counts over that of the straight path. So waves that go through to the outer end of a layer,
as long ones do where its alpha makes it thin for them, count when they are back before the run
ends. A free surface adds images (`seismo.runs.prediction.surface_images`). No rays are bent, nor
are waves guided; the rocks are taken at the face.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from seismo.acquisition.receivers import paths_of, thinned
from seismo.acquisition.sources import PointSource
from seismo.grid.grid import AXES
from seismo.runs.prediction.contacts.directivity import is_isotropic, strengths
from seismo.runs.prediction.image_fields import DECAYED, Reflections, Way, fields
from seismo.runs.prediction.layer_equations import SentBackConverted
from seismo.runs.prediction.layer_waves import LayerWaves, SentBack, goes_along
from seismo.runs.prediction.surface_images import image_factor
from seismo.solver.discretization import Discretization
from seismo.solver.medium.cpml import strength

_MOST_ENDS = 60  # sources, and receivers, between which paths are sought
_MOST_PATHS = 8
_MOST_WAVES = 3e5  # plane waves of all paths by a face; paths of more are none that is known
_SCALES = (0.7, 0.5, 0.35, 0.25)  # of paths with more waves
_DEPTHS = 3  # of rocks along a side
_LATER = 20.0  # dominant periods after the last way by a face: nothing is looked at later
_SAMPLES = 4.0  # in the shortest period
_HIGHEST = 1.0  # frequency over that of the shortest period
_LONGER = 2  # times the time looked at, after which transforms repeat
_GROWTH = 4.0  # exponent, over the time looked at, of the imaginary part of w
_NEAREST = 2.0  # cells: no way to a face and from it is shorter
_UNREACHED = 1e-4  # of the energy that a receiver would have later: the least it counts as having
_MATTERS = 0.1  # of the energy of the worst path: faces above are evaluated again
# Time derivatives of displacement that are recorded, and of a moment that a source is.
_RATES = {"velocity": 1, "acceleration": 2, "strain_rate": 1, "rotation": 1, "divergence": 1}
_SOURCE_RATES = {"pressure": -2, "volume_rate": -1}


_Face = tuple[str, int]  # axis, and 0 for the low side or 1 for the high
_Energies = dict[tuple[int, _Face], float]  # by the number of a path, and the face


@dataclass(frozen=True)
class _Path:
    """A way from a source to a receiver.

    Attributes:
        source: its begin.
        position: (3) m of the receiver.
        quantity: that is recorded.
        scale: length that is looked at, of its own, at the same incidence on each face.
    """

    source: PointSource
    position: np.ndarray
    quantity: str
    scale: float = 1.0

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the source and the receiver are (3) in m."""
        return np.array(self.source.position), self.position

    @property
    def offset(self) -> np.ndarray:
        """From source to receiver (3) in m."""
        return self.scale * (self.position - np.array(self.source.position))

    def ways(self, discretization: Discretization, face: _Face) -> tuple[float, float]:
        """Return the way in m along a face, and that to it and from it."""
        along, away = _ways(discretization, face, *self.ends)
        nearest = _NEAREST * discretization.grid.spacing[AXES.index(face[0])]
        return self.scale * float(along), max(self.scale * float(away), nearest)


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
    during: tuple[float, float] = (0.0, math.inf), damping: float = 0.0,
) -> float | None:  # fmt: skip
    """Return the relative error of the worst trace by reflections of layers.

    None without any path between a local source and a receiver.

    Args:
        discretization: of the run.
        points: of the layers.
        coarser: times as large a spacing as its own.
        during: s, when the layers are such.
        damping: of the fields, as a share of the layers' own d.
    """
    points_now = discretization.scenario.boundaries.layer.points
    present = (points_now, 1.0, (0.0, math.inf), damping)
    changed = (points, coarser, during, damping)
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
    discretization: Discretization, layers: tuple[int, float, tuple[float, float], float],
    pairs: frozenset[tuple[int, _Face]] | None,
) -> _Energies | None:  # fmt: skip
    """Return reflected over direct energy of paths by faces; None without paths.

    Args:
        discretization: of the run.
        layers: their points, times as large a spacing, when they are such, and damping.
        pairs: of path and face, None of all.
    """
    key = (_energies, layers, pairs)
    if key not in discretization.derived_facts:
        discretization.derived_facts[key] = _compute(discretization, *layers, pairs)
    energies: _Energies | None = discretization.derived_facts[key]
    return energies


def _compute(
    discretization: Discretization, points: int, coarser: float, during: tuple[float, float],
    damping: float, pairs: frozenset[tuple[int, _Face]] | None,
) -> _Energies | None:  # fmt: skip
    paths = _paths(discretization)
    if not paths:
        return None
    times = _times_of(discretization, paths)
    paths = paths[: int(_MOST_WAVES / _waves_of(discretization, times))] or (
        _shortened(discretization, paths[0]) if damping else []
    )
    if not paths:
        return None
    times = _times_of(discretization, paths) if paths[0].scale < 1.0 else times
    nearest = _nearest(discretization, paths)
    profile = strength(discretization, damping, points)
    energies: _Energies = {}
    tables: dict[tuple[float, ...], Reflections] = {}
    straight: dict[tuple[float, ...], float] = {}
    for axis, side in _absorbing(discretization):
        rocks = _rocks(discretization, axis, side, paths, bool(damping))
        for (rock, count), (n, path) in product(rocks.items(), enumerate(paths)):
            pair = (n, (axis, side))
            energies.setdefault(pair, 0.0)
            along, away = path.ways(discretization, (axis, side))
            # Not in a fluid beside SH waves.
            if (pairs and pair not in pairs) or not any(rock):
                continue
            if not damping and goes_along(discretization, along, away):
                continue
            layer = LayerWaves(discretization, axis, side, max(rock), profile, points, coarser)
            if (layer.spacing, *rock) not in tables:
                tables[layer.spacing, *rock] = _reflections(
                    layer, rock, times.angular, DECAYED / nearest
                )
            back_from = tables[layer.spacing, *rock]
            if (n, *rock) not in straight:
                straight[n, *rock] = _straight(discretization, times, path, rock, bool(damping))
            if straight[n, *rock]:
                back = _by_face(discretization, times, path, rock, (axis, side), back_from, during)
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


def _shortened(discretization: Discretization, path: _Path) -> list[_Path]:
    """List a path so much shorter that its waves are no more than `_MOST_WAVES`; none if none is.

    Far from a source what layers that damp the fields send back of direct waves goes by the
    incidence alone.
    """
    for scale in _SCALES:
        shorter = replace(path, scale=scale)
        if _waves_of(discretization, _times_of(discretization, [shorter])) <= _MOST_WAVES:
            return [shorter]
    return []


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
        math.hypot(*path.ways(discretization, face))
        for path, face in product(paths, _absorbing(discretization))
    )
    periods = _LATER * paths[0].scale
    later = farthest / waves.slowest + periods / discretization.dominant_frequency
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
        path.ways(discretization, face)[1]
        for path, face in product(paths, _absorbing(discretization))
    )


def _rocks(
    discretization: Discretization, axis: str, side: int, paths: Sequence[_Path], converted: bool
) -> Counter[tuple[float, float]]:
    """Count vp and vs at a face; for a face across x or y between source and receivers in depth.

    Of isotropic sources vs counts as 0, unless P waves are converted.
    """
    source = np.array(paths[0].source.position)
    depth = float(np.mean([path.position[2] for path in paths]))
    position = np.repeat(source[:, None], 1 if axis == "z" else _DEPTHS, axis=1)
    position[2] = np.linspace(source[2], depth, position.shape[1])
    position[AXES.index(axis)] = discretization.grid.limits(axis)[side]
    shears = converted or any(not is_isotropic(path.source) for path in paths)
    rocks: Counter[tuple[float, float]] = Counter()
    for point in position.T[:, None]:
        medium = discretization.earth.at(point, discretization.grid.dimensions)
        vp, vs = (float(np.ravel(medium.get(name, 0.0))[0]) for name in ("vp", "vs"))
        rocks[vp, vs if shears or not vp else 0.0] += 1
    return rocks


def _reflections(
    layer: LayerWaves, rock: tuple[float, float], angular: np.ndarray, decay: float
) -> Reflections:
    """Return the reflections of waves of w (frequency) in 1/s, and of a decay up to 1/m."""
    if layer.layer.damping and all(rock):
        converted = SentBackConverted(layer, rock[1], angular, decay)
        sideways = layer.discretization.grid.dimensions == 3  # SH waves
        s = SentBack(replace(layer, velocity=rock[1]), angular, decay) if sideways else None
        return Reflections(None, s, converted)
    p, s = (
        SentBack(replace(layer, velocity=speed), angular, decay) if speed else None
        for speed in rock
    )
    return Reflections(p, s)


def _by_face(
    discretization: Discretization, times: _Times, path: _Path, rock: tuple[float, float],
    face: _Face, layer: Reflections, during: tuple[float, float],
) -> float:  # fmt: skip
    """Return the energy of a path by a face."""
    axis, side = face
    along, away = path.ways(discretization, face)
    a = AXES.index(axis)
    to_face = path.scale * abs(path.ends[0][a] - discretization.grid.limits(axis)[side])
    way = Way(along, min(to_face, away), max(away - to_face, 0.0))
    normal = np.eye(3)[a] * (2.0 * side - 1.0)
    across = path.offset * (np.arange(3) != a)
    if not across.any():
        across[next(n for n in (0, 2, 1) if n != a)] = 1.0
    spectra = _spectra(times, path, rock, (across, normal), way, layer)
    spectra = spectra * _images(discretization, times, path, rock, face)
    energy = times.energy(spectra, during)
    if discretization.grid.dimensions == 3:
        energy *= float(np.linalg.norm(path.offset) / math.hypot(along, away))
    return energy


def _straight(
    discretization: Discretization, times: _Times, path: _Path, rock: tuple[float, float],
    damped: bool,
) -> float:  # fmt: skip
    """Return the energy of a straight path: in an earth of a single rock the recorded energy.

    And beside layers that damp the fields: what they send back arrives with the direct waves.
    """
    offset = path.offset
    other = np.array([-offset[2], 0.0, offset[0]])
    if discretization.grid.dimensions == 3:
        other = np.cross(offset, np.eye(3)[np.argmin(np.abs(offset))])
    length = max(float(np.linalg.norm(offset)), _NEAREST * min(discretization.waves.spacing))
    way = Way(0.0, length, 0.0)
    spectra = _spectra(times, path, rock, (other, offset), way, Reflections())
    spectra = spectra * _images(discretization, times, path, rock, None)
    ever = times.energy(spectra, later=True)
    if len(discretization.waves.passages) > 1 and not damped:
        return ever
    return max(times.energy(spectra), _UNREACHED * ever)


def _images(
    discretization: Discretization, times: _Times, path: _Path, rock: tuple[float, float],
    face: _Face | None,
) -> np.ndarray | float:  # fmt: skip
    """Return the share (frequency) that a free surface adds to a path by a face, or straight."""
    velocity = rock[1] or rock[0]
    return image_factor(discretization, path.source, path.position, velocity, face, times.angular)


def _spectra(
    times: _Times, path: _Path, rock: tuple[float, float], axes: tuple[np.ndarray, np.ndarray],
    way: Way, layer: Reflections,
) -> np.ndarray:  # fmt: skip
    """Return the components (component, frequency) of a receiver's record.

    Args:
        times: of the record.
        path: source, and recorded quantity.
        rock: vp and vs in m/s, 0 without such waves.
        axes: directions x and z of the plane.
        way: of the path.
        layer: that reflects.
    """
    x, z = (direction / np.linalg.norm(direction) for direction in axes)
    turned = np.array([x, np.cross(z, x), z])
    force, moment = strengths(path.source)
    acting = turned @ force, turned @ moment @ turned.T
    longest = max(rock) * times.t[-1]
    unit = fields(times.angular, acting, path.quantity, rock, way, layer, longest)
    return unit * times.spectrum(path)
