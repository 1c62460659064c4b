"""What a seismologist would ask about a scenario that is valid: one line each, with a remedy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition.locator import level_of
from seismo.acquisition.traces.spectra import derivatives_of
from seismo.acquisition.wavelets import wavelet as wavelets
from seismo.features.contacts.checks import sea_bed
from seismo.features.long_steps.advice import no_longer_steps
from seismo.features.loss.checks import follows_loosely, short_of_bits
from seismo.features.plane_waves.checks import outside_box
from seismo.features.topography.checks.ground import GROUND
from seismo.grid.grid import AXES
from seismo.grid.surface_closure import MOMENT_ROWS
from seismo.runs.prediction.accuracy import Expected
from seismo.runs.prediction.checks.coverage import (
    bodies_outside,
    otherwise,
    outside,
    uncovered,
)
from seismo.runs.prediction.checks.dropped_properties import dropped
from seismo.runs.prediction.checks.geography import (
    depths,
    depths_over_ground,
    directions,
    off_the_plane,
)
from seismo.runs.prediction.checks.hidden_parts import hidden_parts
from seismo.runs.prediction.checks.kept_properties import kept
from seismo.runs.prediction.checks.moments import MOMENTS
from seismo.runs.prediction.checks.odd_media import ODD_MEDIA
from seismo.runs.prediction.checks.outlines import outlines
from seismo.runs.prediction.checks.spectral_maps import unlike_the_motion
from seismo.runs.prediction.checks.timing import TIMING, WarningLines
from seismo.runs.prediction.checks.tiny_lengths import tiny_lengths
from seismo.runs.prediction.checks.weak_sources import weak_sources
from seismo.runs.prediction.checks.weakened_coupling import weakened_coupling
from seismo.runs.prediction.contacts.near_contacts import near_contacts, near_maps
from seismo.runs.prediction.kept_dispersion import kept_dispersion
from seismo.runs.prediction.layers.thicker import (
    absorbing_spacing,
    advised_points,
    longest_wavelength,
)
from seismo.runs.prediction.remedy import inaccurate, uncarried
from seismo.runs.prediction.resolution import LayerResolution
from seismo.runs.prediction.surface_strains import surface_strains
from seismo.solver.discretization import Discretization
from seismo.solver.grid_layout import FACES

LEAST_POINTS = 3.0  # a wave of fewer points per wavelength is noise on any grid
_SMOOTH = {"ricker", "ricker_derivative", "gaussian", "gaussian_derivative", "gaussian_rate"}
MOST_LOST = 3e-5  # of the energy: what rings then is half a percent of the waves (rms)
EDGE_POINTS = 5  # sources and receivers spread over 4 points
ABOVE_POINTS = 3.0  # of an epicentre: see `_above_sources`
FORCE_ROWS = (0.25, 5.1)  # of a depth: see `_above_sources`
CLOSE_POINTS = 5.0  # from here on the grid's source is a point, to 2 % of the motion


def cautions(
    discretization: Discretization, layers: list[LayerResolution], expected: Expected,
    run: Discretization | None = None,
) -> list[str]:  # fmt: skip
    """List what is suspicious of a run, or of one of the grids of a `run`."""
    lines = [*uncarried(discretization, layers)]
    if not discretization.scenario.grid.planes:
        lines += inaccurate(discretization, layers, expected)
    lines += [line for look in _EARTH for line in look(discretization, layers)]
    lines += [line for look in _OF_RUN for line in look(run or discretization)]
    lines += _layer_strength(run or discretization, expected)
    lines += [line for look in _GEOMETRY for line in look(discretization)]
    lines += near_contacts(expected.near_sources, expected.reading)
    return [*lines, *_nothing_recorded(run or discretization)]


def _beyond(discretization: Discretization, layers: list[LayerResolution]) -> WarningLines:
    """A spectrum that falls slowly reaches frequencies that the grid does not carry."""
    slowest = min(layer.sampled for layer in layers)
    carried = slowest / (LEAST_POINTS * discretization.coarsest_spacing)
    if carried < discretization.highest_frequency:
        return  # `inaccurate` has said so
    for source in discretization.shots[0].summaries:
        lost = max(
            wavelets.energy_above(wavelet, carried, derivatives_of(source), source.base)
            for wavelet in source.radiated
        )
        if lost > MOST_LOST:
            yield (
                f"source {source.name}: {lost:.2g} of the energy of its waves ({lost**0.5:.2g} of "
                f"the amplitude) lies above {carried:.3g} Hz, which the grid does not carry at "
                f"{slowest:.5g} m/s: it rings behind them; {_less_of_it(source.wavelet.type)}, or "
                "filter the traces below that"
            )


def _less_of_it(wavelet: str) -> str:
    if wavelet in _SMOOTH:
        return "use a longer wavelet, or a finer grid.spacing"
    return "use a wavelet without corners (gaussian_rate for a moment rate)"


def _ends(discretization: Discretization) -> WarningLines:
    """An extent that is no whole number of spacings ends elsewhere."""
    for axis in discretization.grid.axes:
        length = getattr(discretization.scenario.grid.extent, axis)
        spacing = discretization.grid.spacing[AXES.index(axis)]
        cells = round(length / spacing)
        is_grown = (
            axis == "z" and discretization.grid.stretching
        )  # rows that grow end at the length
        if abs(length - cells * spacing) > 1e-6 * spacing and not is_grown:
            yield (
                f"grid.extent.{axis}: {length:.10g} m is no whole number of spacings of "
                f"{spacing:.6g} m: the grid is {cells * spacing:.10g} m long"
            )


def _moved(discretization: Discretization) -> WarningLines:
    """A plane between nodes becomes that of the nearest ones."""
    moved: dict[tuple[str, float, float], list[str]] = {}
    level = level_of(discretization.scenario, discretization.grid)
    cuts = {one.name: one.cut for one in discretization.series} | {
        one.name: one.cut for one in discretization.maps
    }
    for key in ("snapshots", "maps"):
        for entry in (e for e in getattr(discretization.scenario.output, key) if e.name in cuts):
            for axis, taken in cuts[entry.name].plane.items():
                requested = getattr(entry.on_z(level).plane, axis)
                if abs(requested - taken) > 1e-6 * discretization.grid.spacing[AXES.index(axis)]:
                    moved.setdefault((axis, requested, taken), []).append(
                        f"output.{key} {entry.name}"
                    )
    for (axis, requested, taken), names in moved.items():
        yield (
            f"{', '.join(names)}: the plane {axis} = {requested:.10g} m lies between nodes of the "
            f"grid: that of {axis} = {taken:.10g} m is taken"
        )


def _edges(discretization: Discretization) -> WarningLines:
    acting: dict[str, list[Any]] = {}
    for source in (s for s in discretization.shots[0].sources if s.is_local):
        acting.setdefault(f"source {source.name}", []).append(source.position)
    if len(discretization.shots) > 1:
        acting = {"shots": [s.position for shot in discretization.shots for s in shot.sources]}
    for name, named_positions in acting.items():
        positions = np.array(named_positions, float).reshape(-1, 3)
        is_near, faces = _near_a_layer(discretization, positions)
        yield from _named_edges(name, int(is_near.sum()), len(positions), faces)
    for group in discretization.groups:
        _, faces = _near_a_layer(discretization, group.all_positions)
        count = group.count_where(lambda positions: _near_a_layer(discretization, positions)[0])
        yield from _named_edges(f"receivers {group.name}", count, len(group), faces)


def _named_edges(name: str, near_count: int, count: int, faces: list[str]) -> WarningLines:
    """Name how many of so many sources or receivers are too near the layers at some faces."""
    if not near_count:
        return
    many = f"{near_count} of {count} " if count > 1 else ""
    remedy = "enlarge grid.extent"
    if "top" in faces:
        surface = "set boundaries.top: free_surface"
        remedy = f"if ground or sea end at the top, {surface}; otherwise {remedy}"
    yield (
        f"{many}{name}: within {EDGE_POINTS} points of the absorbing layer "
        f"({', '.join(faces)}), which takes part of the motion: {remedy}"
    )


def _near_a_layer(
    discretization: Discretization, positions: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """Return which positions (n, 3) m lie in or beside absorbing layers, and those faces."""
    grid = discretization.grid
    is_near = np.zeros(len(positions), bool)
    named = []
    for axis in grid.axes:
        a = AXES.index(axis)
        ends = zip(
            FACES[axis], grid.limits(axis), (1, -1), (grid.low[a], grid.high[a]), strict=True
        )
        for face, edge, sign, points in ends:
            if points:
                inside = sign * (positions[:, a] - edge)
                close = inside < (EDGE_POINTS - 0.5) * grid.edge(axis, grid.index(axis, edge))
                named += [face] if close.any() else []
                is_near |= close
    return is_near, named


def _flat(discretization: Discretization) -> WarningLines:
    """Stations of lists lie below the ground of the run, whatever their elevation."""
    ground = "the surface is flat" if discretization.ground is None else "topography has the ground"
    for group in discretization.groups:
        if group.elevations:
            yield (
                f"receivers {group.name}: {group.elevations} is passed over, as {ground}: "
                "stations lie at their depth, or z"
            )


def _close_receivers(discretization: Discretization) -> WarningLines:
    axes = [AXES.index(a) for a in discretization.grid.axes]
    least = CLOSE_POINTS * discretization.coarsest_spacing
    for group in discretization.groups:
        close = 0
        for shot in discretization.shots:
            beside = np.zeros(len(group), bool)
            for source in (s for s in shot.sources if s.is_local):
                offset = group.at(shot.name)[:, axes] - np.array(source.position)[axes]
                beside |= np.linalg.norm(offset, axis=1) < least
            beside &= group.recording(shot.name)
            close += int(beside.sum())
        if close:
            yield (
                f"receivers {group.name}: {close} within {CLOSE_POINTS:g} points of a source, "
                "where the grid's source is not yet a point: its field is wrong there"
            )


def _above_sources(discretization: Discretization) -> WarningLines:
    """Name receivers on the surface straight above sources that lie in its fitted rows.

    Measured (validation/shallow.py): shear moments five cells deep err there by 2 % with 10 points
    in the shortest wavelength, by 6 % with 5, and by 3 % with 20, where that motion is small;
    others by 0.5 % with 10, and by 4 % with 5. Forces one to five cells deep err there by 0.2 to
    20 %, in 2-D by up to 11 %.
    """
    if discretization.closure is None:
        return
    shallow: dict[str, list[tuple[str, np.ndarray]]] = {}
    across = [AXES.index(a) for a in discretization.grid.axes if a != "z"]
    of_forces = 20 if discretization.grid.dimensions == 3 else 11
    acting = ((shot.name, source) for shot in discretization.shots for source in shot.sources)
    for shot_name, source in acting:
        row = discretization.grid.index("z", source.position[2])
        if source.kind == "moment_tensor" and MOMENT_ROWS[0] < row < MOMENT_ROWS[1]:
            description = (
                f"a moment less than {MOMENT_ROWS[1]:g} points deep: motion errs by up to 6 % there"
            )
        elif source.kind == "force" and FORCE_ROWS[0] < row < FORCE_ROWS[1]:
            description = f"a force up to 5 points deep: motion errs by up to {of_forces} % there"
        else:
            continue
        shallow.setdefault(description, []).append((shot_name, np.array(source.position)[across]))
    least = ABOVE_POINTS * discretization.coarsest_spacing
    for group in discretization.groups:
        for description, epicentres in shallow.items():
            above = 0
            for shot_name, epicentre in epicentres:
                positions = group.at(shot_name)[group.recording(shot_name)]
                on_top = positions[discretization.grid.index("z", positions[:, 2]) < 1.0][:, across]
                above += int((np.linalg.norm(on_top - epicentre, axis=1) < least).sum())
            if above:
                yield (
                    f"receivers {group.name}: {above} on the free surface within {ABOVE_POINTS:g} "
                    f"points of the epicentre of {description}; use a finer grid.spacing"
                )


def _close_maps(discretization: Discretization) -> WarningLines:
    """Name maps that a source lies on, or just below: their peaks are wrong next to it."""
    least = CLOSE_POINTS * discretization.coarsest_spacing
    sources = {s.position: s for shot in discretization.shots for s in shot.sources if s.is_local}
    for one in discretization.maps:
        nodes = dict(one.cut.axes) | {
            a: np.array([v]) for a, v in one.cut.plane.items() if a in discretization.grid.axes
        }
        close = 0
        for position in sources:
            nearest = [np.abs(v - position[AXES.index(a)]).min() for a, v in nodes.items()]
            close += bool(np.linalg.norm(nearest) < least)
        if close:
            yield (
                f"maps {one.name}: {close} of the sources within {CLOSE_POINTS:g} points, where "
                "the grid's source is not yet a point: peaks nearer than that are wrong"
            )


def _at_the_surface(discretization: Discretization) -> WarningLines:
    """Name what acts on, or records, the pressure or stress of a fluid's free surface."""
    if discretization.scenario.boundaries.top != "free_surface":
        return
    # The ground has a z of its own in each place.
    level = (
        f" (z = {discretization.grid.origin[2]:g} m)" if discretization.topography is None else ""
    )
    sources = {s.name: s for shot in discretization.shots for s in shot.sources}
    for source in sources.values():
        if source.kind in ("pressure", "volume_rate", "explosion") and _on_water(
            discretization, np.array([source.position])
        ):
            yield (
                f"source {source.name}: less than half a spacing under the free surface"
                f"{level}, where pressure vanishes: it hardly radiates; move it down"
            )
    for group in discretization.groups:
        on = group.count_where(partial(_on_water, discretization))
        # The stress in a fluid is its pressure.
        for quantity in {"pressure", "stress"}.intersection(group.quantities) if on else ():
            yield (
                f"receivers {group.name}: {on} record {quantity} less than half a spacing under "
                f"the free surface{level}, where it vanishes: move them down"
            )


def _on_water(discretization: Discretization, positions: np.ndarray) -> np.ndarray:
    """Return which positions (n, 3) m lie on a free surface, under which is a fluid."""
    x, y, z = positions.T
    on = z - discretization.grid.origin[2] < 0.5 * discretization.grid.spacing[2]
    if "vs" in discretization.earth.needs:
        on &= (
            discretization.earth.sample(z, y if discretization.grid.dimensions == 3 else None, x)[
                "vs"
            ]
            == 0.0
        )
    return on


def _layer_strength(discretization: Discretization, expected: Expected) -> WarningLines:
    """Name layers that are too thin, unless what the accuracy asks for counts them already."""
    present = discretization.scenario.boundaries.layer.points
    points = advised_points(discretization)
    if points > present and expected.error <= discretization.scenario.grid.accuracy:
        thickness = present * absorbing_spacing(discretization)
        yield (
            f"boundaries.layer.points: {present}: the layer is {thickness:.4g} m, "
            f"{thickness / longest_wavelength(discretization):.2g} of the longest dominant "
            f"wavelength: use {points} or more"
        )


def _little_damping(discretization: Discretization) -> WarningLines:
    """Waves that are guided along a layer may grow in it."""
    damping = discretization.guided_damping
    if damping.early < damping.advised:
        yield (
            f"boundaries.layer.damping: {damping.early:g} is less than the {damping.advised:.2g} "
            "with which no waves that soft ground or beds guide grow in the layers of any run; "
            "look whether traces end in waves that grow, or leave it out"
        )


def _nothing_recorded(discretization: Discretization) -> WarningLines:
    output = discretization.scenario.output
    if not discretization.groups and not output.snapshots and not output.maps:
        yield "receivers: none, nor snapshots or maps: nothing of the waves will be recorded"


_EARTH: tuple[Callable[[Discretization, list[LayerResolution]], WarningLines], ...] = (
    _beyond, follows_loosely, short_of_bits, *ODD_MEDIA,
)  # fmt: skip


# Of all grids of a run together.
_OF_RUN: tuple[Callable[[Discretization], WarningLines], ...] = (
    depths, depths_over_ground, directions, off_the_plane, bodies_outside, outside_box, uncovered,
    outside, otherwise, kept, dropped, *MOMENTS, *TIMING, unlike_the_motion,
    kept_dispersion, weak_sources, no_longer_steps, tiny_lengths, outlines, hidden_parts,
    _little_damping, _flat, *GROUND,
)  # fmt: skip


_GEOMETRY: tuple[Callable[[Discretization], WarningLines], ...] = (
    _ends, _moved, _edges, _close_receivers, _above_sources, surface_strains,
    _close_maps, near_maps, _at_the_surface, sea_bed, weakened_coupling,
)  # fmt: skip
