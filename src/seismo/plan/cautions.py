"""What a seismologist would ask about a scenario that is valid: one line each, with a remedy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from seismo import wavelets
from seismo.grid import AXES
from seismo.plan.resolution import (
    CONTACT_POINTS,
    LayerResolution,
    coarsest_spacing,
    dominant_frequency,
    has_contacts,
    highest_frequency,
    needed_of,
)
from seismo.setup import Setup
from seismo.sources import PointSource

FEW_POINTS = 4.0  # contacts and free surfaces carry such waves badly
LEAST_POINTS = 3.0  # a wave of fewer points per wavelength is noise on any grid
MOST_ERROR = 1.0  # % of phase velocity: a quarter of a period is lost after 25 wavelengths
EDGE_POINTS = 5  # sources and receivers spread over 4 points
CLOSE_POINTS = 4.0
MOST_BEGUN = 0.01  # of its largest value: a wavelet's share before the run begins
_FACES = {"x": ("x_min", "x_max"), "y": ("y_min", "y_max"), "z": ("top", "bottom")}

Lines = Iterator[str]


def cautions(setup: Setup, layers: list[LayerResolution]) -> list[str]:
    """List what is suspicious, nothing where all is well."""
    found = [line for look in _EARTH for line in look(setup, layers)]
    return found + [line for look in _GEOMETRY for line in look(setup)]


def _coarse(setup: Setup, layers: list[LayerResolution]) -> Lines:
    worst = min(layers, key=lambda layer: layer.points_per_wavelength)
    frequency, points = highest_frequency(setup), worst.points_per_wavelength
    kind = "water" if worst.vs == 0.0 else "rock"
    if points < LEAST_POINTS:
        carried = worst.slowest / (LEAST_POINTS * coarsest_spacing(setup))
        wanted = max(LEAST_POINTS, needed_of(setup))
        yield (
            f"grid.spacing: {points:.2g} points per wavelength in the {kind} "
            f"of {worst.slowest:.5g} m/s; the sources reach {frequency:.4g} Hz, the grid carries "
            f"{carried:.3g} Hz there: use {_spacing(setup, worst, wanted)} or a lower frequency"
        )
        return
    largest = max(layers, key=lambda layer: abs(layer.phase_error))
    if abs(largest.phase_error) > MOST_ERROR:
        remedy = f"use a grid.spacing of {_spacing(setup, largest, needed_of(setup))} "
        remedy += "or a higher grid.order"
        if largest.phase_error > 0.0:
            remedy = "set time.dispersion_removal: true, or a smaller time.courant"
        yield (
            f"grid: waves of {frequency:.4g} Hz travel {abs(largest.phase_error):.2g} % too "
            f"{'fast' if largest.phase_error > 0 else 'slowly'} at {largest.slowest:.5g} m/s; "
            f"{remedy}"
        )
    elif points < FEW_POINTS and has_contacts(setup, layers):
        yield (
            f"grid.spacing: {points:.2g} points per wavelength in the {kind} of "
            f"{worst.slowest:.5g} m/s at {frequency:.4g} Hz: contacts and free surfaces leave "
            f"errors of several percent, with {CONTACT_POINTS:g} points "
            f"({_spacing(setup, worst, CONTACT_POINTS)}) of about 0.5 %"
        )


def _spacing(setup: Setup, layer: LayerResolution, points: float) -> str:
    return f"{layer.slowest / (points * highest_frequency(setup)):.3g} m"


def _ratio(setup: Setup, layers: list[LayerResolution]) -> Lines:
    ratio = setup.extremes.ratio_min
    if ratio < math.sqrt(2.0):
        yield (
            f"model: vp/vs falls to {ratio:.3f}, below sqrt(2) (a negative Poisson ratio): "
            "rocks have 1.5 to 2.2, sediments more; check vs"
        )


def _density(setup: Setup, layers: list[LayerResolution]) -> Lines:
    found = setup.extremes
    if found.rho_max and not 900.0 <= found.rho_min <= found.rho_max <= 8000.0:
        value = found.rho_min if found.rho_min < 900.0 else found.rho_max
        yield f"model: a density of {value:.5g} kg/m3 is unusual for the earth; check its unit"


def _thin(setup: Setup, layers: list[LayerResolution]) -> Lines:
    if not setup.earth.layered or setup.scenario.averaging != "point" or len(layers) < 2:
        return
    spacing = setup.grid.spacing[2]
    for layer in layers:
        thickness = layer.bottom - layer.top + spacing
        if thickness < 2.5 * spacing and layer.share < 0.5:
            yield (
                f"model: the layer at {layer.top:.6g} m is {round(thickness / spacing)} points "
                "thick; use averaging: effective, or a finer grid.spacing"
            )


def _edges(setup: Setup) -> Lines:
    places: list[tuple[str, Any]] = [
        (f"source {s.name}", [s.position]) for s in setup.shots[0].sources
    ]
    if len(setup.shots) > 1:
        places = [("shots", [s.position for shot in setup.shots for s in shot.sources])]
    places += [(f"receivers {g.name}", g.positions) for g in setup.groups]
    for name, positions in places:
        near, faces = _near_a_layer(setup, np.asarray(positions, float))
        if near:
            many = f"{near} of {len(positions)} " if len(positions) > 1 else ""
            yield (
                f"{many}{name}: within {EDGE_POINTS} points of the absorbing layer ({faces}), "
                "which takes part of the motion: enlarge grid.extent"
            )


def _near_a_layer(setup: Setup, positions: np.ndarray) -> tuple[int, str]:
    grid, boundaries = setup.grid, setup.scenario.boundaries
    near, named = np.zeros(len(positions), bool), []
    for axis in grid.axes:
        a = AXES.index(axis)
        for face, edge, sign in zip(_FACES[axis], grid.limits(axis), (1, -1), strict=True):
            if getattr(boundaries, face) == "absorbing":
                inside = sign * (positions[:, a] - edge)
                close = inside < (EDGE_POINTS - 0.5) * grid.spacing[a]
                named += [face] if close.any() else []
                near |= close
    return int(near.sum()), ", ".join(named)


def _arrivals(setup: Setup) -> Lines:
    """Compare the duration with when direct waves arrive, and when they have passed."""
    duration = setup.scenario.time.duration
    for group in setup.groups:
        total = len(setup.shots) * len(group.positions)
        first, _ = _passage(setup, group.positions, setup.fastest)
        missed = int((first > duration).sum())
        if missed:
            yield (
                f"time.duration: {duration:.4g} s ends before any wave can reach {missed} of "
                f"{total} traces of receivers {group.name}; the last first arrival comes "
                f"after {first.max():.4g} s at the earliest"
            )
        for name, speed in _direct_waves(setup):
            first, passed = _passage(setup, group.positions, speed)
            cut = (first <= duration) & (passed > duration)
            if cut.any():
                yield (
                    f"time.duration: {duration:.4g} s ends before the direct {name} can have "
                    f"passed {cut.sum()} of {total} traces of receivers {group.name}; it has "
                    f"passed them after {passed[cut].max():.4g} s at the earliest"
                )
                break


def _direct_waves(setup: Setup) -> Iterator[tuple[str, float]]:
    """Name the waves that travel straight from a source, with their largest velocity in m/s."""
    yield "wave", setup.fastest
    kinds = {source.kind for shot in setup.shots for source in shot.sources}
    sheared = {"vp", "vs"} <= set(setup.earth.needs) and setup.extremes.vs_max > 0.0
    if sheared and kinds - {"explosion", "pressure"}:
        yield "S wave", setup.extremes.vs_max


def _passage(setup: Setup, positions: np.ndarray, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """Give when a direct wave of that speed arrives and has passed, (shot, receiver) in s.

    Of several sources the one whose wave comes, or has passed, first.
    """
    axes = [AXES.index(a) for a in setup.grid.axes]
    arrivals, ends = [], []
    for shot in setup.shots:
        places = np.array([s.position for s in shot.sources])[:, axes]
        distance = np.linalg.norm(positions[:, axes] - places[:, None], axis=-1)
        times = distance / speed
        arrivals.append((times + [[s.delay] for s in shot.sources]).min(axis=0))
        ends.append((times + [[_over(s)] for s in shot.sources]).min(axis=0))
    return np.array(arrivals), np.array(ends)


def _over(source: PointSource) -> float:
    """Give the time in s after which a source changes by less than 5 % of its range."""
    times = np.linspace(source.delay, source.end, 500)
    values = wavelets.evaluate(source.wavelet, times - source.delay, source.base)
    acting = np.abs(values - values[-1]) > 0.05 * np.ptp(values)
    return float(times[acting][-1]) if acting.any() else source.end


def _cut_source(setup: Setup) -> Lines:
    duration, period = setup.scenario.time.duration, 1.0 / dominant_frequency(setup)
    for source in setup.shots[0].sources:
        if source.end > duration * (1.0 + 1e-9):
            yield (
                f"time.duration: {duration:.4g} s ends before source {source.name} does "
                f"({source.end:.4g} s)"
            )
        elif not setup.groups and _over(source) + period > duration:
            yield (
                f"time.duration: {duration:.4g} s ends less than a period ({period:.4g} s) after "
                f"source {source.name} has acted ({_over(source):.4g} s): its waves hardly leave it"
            )


def _begun_source(setup: Setup) -> Lines:
    """A source that acts before t = 0 begins with a jump."""
    for source in setup.shots[0].sources:
        times = np.linspace(source.start, source.end, 2000)
        size = np.abs(wavelets.evaluate(source.wavelet, times - source.delay, source.base))
        begun = size[times < 0.0].max(initial=0.0) / size.max()
        if begun > MOST_BEGUN:
            yield (
                f"source {source.name}: acts before the run begins, with {begun:.0%} of its "
                "largest value, which is left out; give it a delay of "
                f"{source.delay - source.start:.4g} s or more, or leave the wavelet's own out"
            )


def _close_receivers(setup: Setup) -> Lines:
    axes = [AXES.index(a) for a in setup.grid.axes]
    least = CLOSE_POINTS * coarsest_spacing(setup)
    for group in setup.groups:
        close = 0
        for shot in setup.shots:
            for source in shot.sources:
                offset = group.positions[:, axes] - np.array(source.position)[axes]
                close += int((np.linalg.norm(offset, axis=1) < least).sum())
        if close:
            yield (
                f"receivers {group.name}: {close} within {CLOSE_POINTS:g} points of a source, "
                "where the grid's source is not yet a point: its field is wrong there"
            )


def _at_the_surface(setup: Setup) -> Lines:
    """Name what acts on, or records, the pressure of a fluid's free surface."""
    if setup.scenario.boundaries.top != "free_surface":
        return
    top = setup.grid.origin[2]
    sources = {s.name: s for shot in setup.shots for s in shot.sources}
    for source in sources.values():
        if source.kind in ("pressure", "explosion") and _on_water(setup, [source.position]):
            yield (
                f"source {source.name}: pressure vanishes on the free surface (z = {top:g} m), "
                "so that it hardly radiates: move it down"
            )
    for group in setup.groups:
        on = _on_water(setup, group.positions)
        if on and "pressure" in group.quantities:
            yield (
                f"receivers {group.name}: {on} record pressure on the free surface "
                f"(z = {top:g} m), where it is zero: move them down"
            )


def _on_water(setup: Setup, positions: Any) -> int:
    """Count the places on a free surface, under which is a fluid."""
    x, y, z = np.array(positions).T
    on = z - setup.grid.origin[2] < 0.5 * setup.grid.spacing[2]
    if "vs" in setup.earth.needs:
        on &= setup.earth.sample(z, y if setup.grid.dimensions == 3 else None, x)["vs"] == 0.0
    return int(on.sum())


def _layer_strength(setup: Setup) -> Lines:
    boundaries = setup.scenario.boundaries
    kinds = {a: [getattr(boundaries, face) for face in _FACES[a]] for a in setup.grid.axes}
    axes = [a for a, faces in kinds.items() if "absorbing" in faces]
    if not axes:
        return
    spacing = min(setup.grid.spacing[AXES.index(a)] for a in axes)
    thickness = boundaries.layer.points * spacing
    longest = setup.fastest / dominant_frequency(setup)
    if boundaries.layer.points < 10 or thickness < 0.1 * longest:
        points = max(10, math.ceil(0.1 * longest / spacing))
        yield (
            f"boundaries.layer.points: {boundaries.layer.points} points are {thickness:.4g} m, "
            f"{thickness / longest:.2g} of the longest dominant wavelength: use {points} or more"
        )


def _small_step(setup: Setup) -> Lines:
    share = setup.clock.dt / setup.clock.limit
    wanted = setup.scenario.time.courant
    if share < 0.6 * wanted:
        reason = "time.step" if setup.scenario.time.step else "the output intervals"
        yield (
            f"time: the step is {share:.2f} of the stability limit because of {reason}; "
            f"the run takes {wanted / share:.1f} times as many steps as it needs"
        )


def _sampling(setup: Setup) -> Lines:
    highest = highest_frequency(setup)
    for group in setup.groups:
        if group.interval and 0.4 / group.interval < highest:
            yield (
                f"receivers {group.name}: an interval of {group.interval:g} s keeps frequencies up "
                f"to {0.4 / group.interval:.4g} Hz, the sources reach {highest:.4g} Hz; "
                "the rest is filtered out"
            )


def _seldom(setup: Setup) -> Lines:
    """Snapshots and samples that come but once, at t = 0, hold nothing."""
    duration = setup.scenario.time.duration
    named = [(f"receivers {g.name}", g.interval) for g in setup.groups]
    named += [(f"output.snapshots {s.name}", s.interval) for s in setup.scenario.output.snapshots]
    for name, interval in named:
        if interval and interval > duration * (1.0 + 1e-9):
            yield (
                f"{name}: the interval of {interval:g} s is longer than time.duration "
                f"({duration:g} s): only t = 0 is kept, when nothing moves"
            )


def _nothing_recorded(setup: Setup) -> Lines:
    if not setup.groups and not setup.scenario.output.snapshots:
        yield "receivers: there are none, nor snapshots: nothing of the waves will be recorded"


_EARTH: tuple[Callable[[Setup, list[LayerResolution]], Lines], ...] = (
    _coarse, _ratio, _density, _thin,
)  # fmt: skip
_GEOMETRY: tuple[Callable[[Setup], Lines], ...] = (
    _edges, _arrivals, _cut_source, _begun_source, _close_receivers, _at_the_surface,
    _layer_strength, _small_step, _sampling, _seldom, _nothing_recorded,
)  # fmt: skip
