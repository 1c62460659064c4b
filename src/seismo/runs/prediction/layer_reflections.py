"""Reflections of absorbing layers: at grazing incidence, and of layers that damp the fields.

A path from a source to a receiver by way of the layer's outer end has the angle and the length r of
that from the source's image. At grazing incidence the reflection
(`seismo.runs.prediction.layer_waves`) changes much among the plane waves that arrive together, and
is their mean along the path of steepest descent (Aki & Richards 2002, section 6.1). It counts by
how much more than the straight path this path spreads.

Layers that damp the fields, against waves which grow in them, are not perfectly matched: they
reflect long waves most, and alpha, which is larger in them (`seismo.solver.medium.cpml`), lets
slower waves through to their outer end. Plane waves meet the layers of the run on its grid as
scalar P and S waves of the rock at a face: next to nothing comes back of upright ones, and more the
flatter they are, so that here, too, a reflection is the mean of waves that arrive together. A path
by way of a face is that from the source's image behind it, and counts by how much more than the
straight path it spreads, near fields of moments included. By how much more comes back of P and SV
waves, which layers convert, `seismo.runs.prediction.layer_images` says. P and S waves count by the
radiation of a source: explosions P waves alone, far away forces and moments by their velocities

    P / S = (vs / vp)^(n + 1) of forces, (vs / vp)^(n + 3) of moments      in n dimensions

in energy, and by the radiation of both on the way to the face over that straight to a receiver
(Aki & Richards 2002, section 4.2). Waves from the outer end have gone through the stretched layer:
they have spread as much more, and are so late that a run may end before. No rays are bent, nor are
waves guided.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from seismo.acquisition.receivers import paths_of, thinned
from seismo.grid.grid import AXES
from seismo.runs.prediction.contacts.directivity import radiated, wave_shares
from seismo.runs.prediction.layer_waves import SHORT, STEEP, LayerWaves
from seismo.solver.discretization import Discretization
from seismo.solver.medium.cpml import strength

GRAZING = "waves along absorbing layers"
_MOST_ENDS = 200  # sources, and receivers, between which paths are sought
_PATHS = 3  # by a face, the most grazing ones
_QUANTILES = (1e-3, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 0.999)  # of the energy, by frequency
# Plane waves that arrive along a path, as t of exp(-t^2).
_ANGLES = np.linspace(-4.0, 4.0, 17)


def grazing_error(discretization: Discretization) -> float:
    """Return the relative error of the worst trace by waves that go along absorbing layers."""
    if not discretization.groups:
        return 0.0
    sources = np.array(
        [s.position for shot in discretization.shots for s in shot.sources if s.is_local]
    )
    if not sources.size:
        return 0.0
    by_face = [
        _by_face(discretization, axis, side, sources)
        for axis, side in product(discretization.grid.axes, (0, 1))
    ]
    return min(1.0, math.hypot(*by_face))


def _by_face(discretization: Discretization, axis: str, side: int, sources: np.ndarray) -> float:
    """Return the error of the worst trace by a single face."""
    grid = discretization.grid
    a = AXES.index(axis)
    if not (grid.low[a], grid.high[a])[side]:
        return 0.0
    paths = _paths(discretization, axis, side, sources)
    if not len(paths):
        return 0.0
    spectra = discretization.waves.spectra
    below = np.cumsum(spectra.energy.mean(axis=0))
    frequencies = np.interp(_QUANTILES, below, spectra.frequency)
    errors = []
    damping = discretization.layer_phases[0][1]
    matched = replace(strength(discretization, damping), damping=0.0)
    for velocity in _velocities(discretization, sources):
        k = 2.0 * math.pi * frequencies / velocity
        known = k * paths[:, 0].max() >= SHORT
        if not known[len(known) // 2]:
            continue
        layer = LayerWaves(
            discretization, axis, side, velocity, matched, (grid.low[a], grid.high[a])[side]
        )
        back = _along_paths(layer, k[known], paths).max(axis=0)
        logarithms = np.log(spectra.frequency), np.log(frequencies[known])
        errors.append(spectra.error(np.interp(*logarithms, back)))
    return float(np.sqrt(np.mean(np.square(errors or [0.0]))))


def _paths(discretization: Discretization, axis: str, side: int, sources: np.ndarray) -> np.ndarray:
    """Return lengths in m of paths (n, 3): along a face, to it and from it, and straight."""
    grid = discretization.grid
    a = AXES.index(axis)
    columns = [AXES.index(other) for other in grid.axes if other != axis]
    edge = grid.limits(axis)[side]
    outer = abs(float(grid.coordinate(axis, (0, grid.points[a] - 1)[side])) - edge)
    paths = [np.zeros((0, 3))]
    for pair in paths_of(sources, discretization.groups):
        acting, reading = (thinned(ends, _MOST_ENDS) for ends in pair)
        offset = acting[:, None] - reading[None]
        along = np.linalg.norm(offset[..., columns], axis=-1)
        away = np.abs(acting[:, None, a] - edge) + np.abs(reading[None, :, a] - edge)
        straight = np.hypot(along, offset[..., a])
        paths.append(np.stack([along, away, straight], axis=-1).reshape(-1, 3))
    every = np.concatenate(paths)
    through = every[:, 1] + 2.0 * outer
    cosines = through / np.hypot(every[:, 0], through)
    order = np.argsort(cosines)[:_PATHS]
    return every[order[cosines[order] < STEEP]]


def _velocities(discretization: Discretization, sources: np.ndarray) -> list[float]:
    """Return the velocities in m/s of P and S waves where the first source is."""
    medium = discretization.earth.at(sources[:1], discretization.grid.dimensions)
    names = ["vp", "vs"] if discretization.waves.shear else ["vp"]
    speeds = [float(np.ravel(medium[name])[0]) for name in names if name in medium]
    return [speed for speed in speeds if speed] or [discretization.waves.slowest]


def _along_paths(layer: LayerWaves, wavenumbers: np.ndarray, paths: np.ndarray) -> np.ndarray:
    """Return reflected (path, wave) over direct waves.

    Args:
        layer: that they meet.
        wavenumbers: (wave) 1/m.
        paths: as `_paths` returns them.
    """
    along, away, straight = (column[:, None] for column in paths.T)
    distance = away + 2.0 * layer.depth
    r = np.hypot(along, distance)
    past, weights = _arriving_together(wavenumbers * r)
    cosine = np.cos(np.arccos(distance / r)[:, :, None] + past)
    k = np.broadcast_to(wavenumbers[:, None], cosine.shape)
    back = layer.sent_back(k.ravel(), cosine.ravel()).reshape(cosine.shape)
    total = (back * np.exp(-2j * k * cosine * layer.depth) * weights).sum(axis=-1)
    dimensions = layer.discretization.grid.dimensions
    return np.asarray(np.abs(total) * (straight / r) ** (0.5 * dimensions - 0.5))


def _arriving_together(phase: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return incidences (..., angle) past a path's of the waves that arrive along it, and weights.

    Their mean is that along t, exp(i k r cos u) = exp(i k r - t^2), of incidences u past the
    path's: sin(u / 2) = exp(-i pi / 4) t / sqrt(2 k r).

    Args:
        phase: (...) length of the path in radians, k r.
    """
    half_sine = np.exp(-0.25j * math.pi) * _ANGLES / np.sqrt(2.0 * phase)[..., None]
    step = (_ANGLES[1] - _ANGLES[0]) / math.sqrt(math.pi)
    return 2.0 * np.arcsin(half_sine), step * np.exp(-(_ANGLES**2)) / np.sqrt(1.0 - half_sine**2)


_ISOTROPIC = {"explosion", "pressure"}
_Ways = tuple[np.ndarray, np.ndarray, np.ndarray]  # along a face, across it, and straight [m]
_DAMPED_ENDS = 60  # the same, in layers that damp the fields
_BANDS = np.array([0.0, 0.02, 0.1, 0.3, 0.6, 1.0])  # edges of the bands of the energy, by frequency
_COSINES = np.array([0.05, 0.3, 0.55, 0.8, 1.0])  # of incidences that are evaluated
_DEPTHS = 3  # of rocks along a side
# Share of the energy that arrives after the slowest direct waves: a median over traces in layers,
# well logs and soft ground on rock.
_RINGING = 0.0024


def damped_error(
    discretization: Discretization,
    damping: float,
    points: int,
    coarser: float = 1.0,
    begin: float = 0.0,
) -> float:
    """Return the relative error of the worst trace by layers that damp the fields.

    Args:
        discretization: of the run.
        damping: of the fields, as a share of the layers' own d.
        points: of the layers.
        coarser: times as large a spacing as its own.
        begin: s, when layers begin to damp; waves that have passed them before do not count.
    """
    key = (damped_error, damping, points, coarser, begin)
    if key not in discretization.derived_facts:
        discretization.derived_facts[key] = _damped_error(discretization, *key[1:])
    return float(discretization.derived_facts[key])


def _damped_error(
    discretization: Discretization, damping: float, points: int, coarser: float, begin: float
) -> float:
    # Of plane waves only scattered waves reach the layers.
    sources = [
        source for shot in discretization.shots for source in shot.sources if source.is_local
    ]
    if not (discretization.groups and sources):
        return 0.0
    spectra = discretization.waves.spectra
    below = np.cumsum(spectra.energy.mean(axis=0))
    frequencies = np.interp(0.5 * (_BANDS[1:] + _BANDS[:-1]), below, spectra.frequency)
    positions = np.array([source.position for source in sources])
    ends = [
        [thinned(ends_of_kind, _DAMPED_ENDS) for ends_of_kind in pair]
        for pair in paths_of(positions, discretization.groups)
    ]
    acting, reading = (
        np.concatenate(positions_of_kind) for positions_of_kind in zip(*ends, strict=True)
    )
    kinds = {source.kind for source in sources}
    power = (
        discretization.grid.dimensions + (1 if "force" in kinds else 3)
        if kinds - _ISOTROPIC
        else None
    )
    offset = acting[:, None] - reading[None]
    duration = discretization.waves.duration - min(source.start for source in sources)
    since = begin - max(source.end for source in sources)
    arrivals = partial(
        _arriving, discretization.grid.dimensions, "force" not in kinds, (since, duration)
    )
    profile = strength(discretization, damping, points)
    squares = np.zeros(offset.shape[:-1])
    for axis, side, paths, towards, rocks in _by_way_of_faces(discretization, acting, reading):
        for rock, count in rocks.items():
            waves = wave_shares(*rock, power)
            direct = radiated(sources[0], waves, offset).sum(axis=0)
            for (speed, _), sent in zip(waves, radiated(sources[0], waves, towards), strict=True):
                layer = LayerWaves(discretization, axis, side, speed, profile, points, coarser)
                back = arrivals(layer, frequencies, *paths, direct)
                squares += sent * count / rocks.total() * np.tensordot(np.diff(_BANDS), back, 1)
    return math.sqrt(min(1.0, float(squares.max())))


def _by_way_of_faces(
    discretization: Discretization, acting: np.ndarray, reading: np.ndarray
) -> Iterator[tuple[str, int, _Ways, np.ndarray, Counter[tuple[float, float]]]]:
    """Yield axis and side of each absorbing face, with the paths by way of it and its rocks.

    Paths (acting, reading) are their lengths along and across the face and straight, in m, and
    their offsets (acting, reading, 3) from the images behind it.
    """
    grid = discretization.grid
    offset = acting[:, None] - reading[None]
    distance = np.linalg.norm(offset, axis=-1)
    for axis, side in product(grid.axes, (0, 1)):
        a = AXES.index(axis)
        if not (grid.low[a], grid.high[a])[side]:
            continue
        edge = grid.limits(axis)[side]
        away = np.abs(acting[:, None, a] - edge) + np.abs(reading[None, :, a] - edge)
        along = np.sqrt(np.maximum(distance**2 - offset[..., a] ** 2, 0.0))
        towards = offset.copy()
        towards[..., a] = away * (1.0 - 2.0 * side)  # acting less the image of the receiver
        paths = along, away, np.maximum(distance, grid.spacing[0])
        yield (
            axis,
            side,
            paths,
            towards,
            _rocks(discretization, axis, edge, acting[0], reading[:, 2]),
        )


def _arriving(
    dimensions: int, moment: bool, during: tuple[float, float], layer: LayerWaves,
    frequencies: np.ndarray, along: np.ndarray, away: np.ndarray, straight: np.ndarray,
    direct: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return the energy (frequency, path) that comes back over that of straight paths.

    What comes from the outer end has spread on its way through the layer, too, and is late.

    Args:
        dimensions: of the grid.
        moment: whether sources are moments.
        during: s, of travel time: from the begin of damping to the end of the record. A wave counts
            by its periods between, up to a period at either end.
        layer: that the waves meet.
        frequencies: Hz.
        along: way along the face in m.
        away: way to the face and from it in m.
        straight: m.
        direct: energy that is radiated along these; there is no less than in the near field, which
            has no nodes.
    """
    wavenumbers = 2.0 * math.pi * frequencies / layer.velocity
    length = np.maximum(np.hypot(along, away), straight)
    cosine = np.clip(away / length, _COSINES[0], 1.0)
    arriving = []
    of_waves = layer.sent_back(
        np.repeat(wavenumbers, len(_COSINES)), np.tile(_COSINES, len(wavenumbers))
    ).reshape(-1, len(_COSINES))
    averaged = layer.discretization.field_damping.averaged
    depths = layer.stretched_depth(wavenumbers)
    for f, k, depth, back in zip(frequencies, wavenumbers, depths, of_waves, strict=True):
        total = _mean_sent_back(back, averaged, cosine, k * length)
        outer = np.minimum(total, np.exp(-4.0 * k * cosine * depth.imag))
        energy = 0.0
        for plane_energy, beyond in ((total - outer, 0.0), (outer, depth)):
            spread = np.maximum(np.hypot(along, np.abs(away + 2.0 * beyond)), straight)
            late = np.hypot(along, away + 2.0 * np.real(beyond)) / layer.velocity
            recorded = np.clip(f * (during[1] - late), 0.0, 1.0)
            recorded = recorded * np.clip(f * (late - during[0]), _RINGING, 1.0)
            energy = energy + plane_energy * recorded * _spread(dimensions, moment, k * spread)
        least = np.maximum(direct, np.minimum((k * straight) ** -2.0, 1.0))
        arriving.append(energy / (least * _spread(dimensions, moment, k * straight)))
    return np.array(arriving)


def _mean_sent_back(
    back: np.ndarray, averaged: bool, cosine: np.ndarray, phase: np.ndarray
) -> np.ndarray:
    """Return the energy (path) that comes back along paths over that of waves from their images.

    Motion along the path and across it is that of all plane waves R (cos u, sin u) that arrive
    together, near the source, too. Between incidences that are evaluated c^2 R / (1 + R) is a
    polynomial of their cosine c: damping sends back about -a tan^2 / (1 + a tan^2), and nothing
    passes a face along it.

    Args:
        back: R of the incidences `_COSINES`.
        averaged: whether beds have their mean in the layer.
        cosine: (path) of the incidence.
        phase: (path) length in radians.
    """
    if averaged:
        # Beds guide waves of each incidence by themselves.
        return np.asarray(np.interp(cosine, _COSINES, np.abs(back) ** 2))
    powers = np.vander(_COSINES, len(_COSINES))
    coefficients = np.linalg.solve(powers, _COSINES**2 * back / (1.0 + back))
    past, weights = _arriving_together(phase)
    cosines = np.cos(np.arccos(cosine)[..., None] + past)
    ratio = np.polyval(coefficients, cosines) / cosines**2
    arriving = ratio / (1.0 - ratio) * weights
    along, across, image = (
        np.abs(waves.sum(axis=-1)) ** 2
        for waves in (arriving * np.cos(past), arriving * np.sin(past), weights * np.cos(past))
    )
    return np.asarray((along + across) / image)


def _spread(dimensions: int, moment: bool, phase: np.ndarray) -> np.ndarray:
    """Return the energy of a wave so many radians from its source, with a moment's near field."""
    if dimensions == 2:  # |H_1|^2 of a moment
        return 1.0 / phase + moment * 2.0 / (math.pi * phase**2)
    return phase**-2.0 + moment * phase**-4.0


def _rocks(
    discretization: Discretization, axis: str, edge: float, source: np.ndarray, depths: np.ndarray
) -> Counter[tuple[float, float]]:
    """Count vp and vs at a face; for a face across x or y between source and receivers in depth.

    Of SH waves vs counts as the only velocity.
    """
    position = np.repeat(source[:, None], 1 if axis == "z" else _DEPTHS, axis=1)
    position[2] = np.linspace(source[2], depths.mean(), position.shape[1])
    position[AXES.index(axis)] = edge
    rocks: Counter[tuple[float, float]] = Counter()
    for point in position.T[:, None]:
        medium = discretization.earth.at(point, discretization.grid.dimensions)
        vp, vs = (float(np.ravel(medium.get(name, 0.0))[0]) for name in ("vp", "vs"))
        rocks[(vp, vs) if vp else (vs, 0.0)] += 1
    return rocks
