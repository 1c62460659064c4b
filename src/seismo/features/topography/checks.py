"""Ground that is not flat in `seismo check`: relief, cells, cost, odd heights, causes of error.

Heights are hardly those of the ground where they are of a sea bed, in km, of the other sign, or far
from the elevations of stations.

Ground too short for the grid is smoothed off, and ground beside absorbing layers is level
(`seismo.features.topography.shape`). Where smoothing moves the ground by `d`, the largest root mean
square within a wavelength of any place between sources and receivers, traces err by::

    2 k d sqrt(L / w),    k = 2 pi f / c, w = c / f, c the slowest wave, L the longest path

since all ground that waves pass scatters, in 3-D by half of that. Told over found is 0.3 to 4, more
for acoustic waves. Ground that becomes level is bent there, by its slope s at the side; waves that
a bend scatters grow with its angle, whatever their length, and go as surface waves to all
receivers, twice as much where contacts bend as well; and sources and receivers that levelling moves
by d meet waves of another phase::

    hypot(0.16 s, 0.6 k d),    s the root of the sum of squares of all sides

Found to a factor of three under 40 hills and canyons in 2-D, half of them over a contact.

In fluids the pressure vanishes on the ground, but motion is largest, and the rows that closed
differences change err by the slope's contribution. With p points in a wavelength, d cells below the
ground and its steepest dip, motion errs by::

    0.055 tan(dip) (10 / p)^3 exp(-1.2 d),    0.07 tan(dip) (10 / p)^2 exp(-1.2 d) below order 8

In solids moments act by strains that are fitted to the rows below
(`seismo.features.topography.interpolation`). With the dip above the moment traces err by::

    0.1 tan(dip) (10 / p)^2.5 exp(-d / 2),    0.21 tan(dip) (10 / p)^2 exp(-d / 2) below order 8

Where a contact lies among the rows no strains are fitted: four times as much. Found with dips of 5
to 45 degrees and 5 to 14 points per shortest wavelength.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from seismo.features.topography.differences import growth, plane_names
from seismo.features.topography.ground import ground_of, steepest_place
from seismo.features.topography.rows import Topography
from seismo.features.topography.section import FileTopography, section_of
from seismo.features.topography.shape import BLEND, Ground
from seismo.grid.decomposition import Subdomain
from seismo.runs.prediction.lines import Cause, Check, Report, WarningLines, never
from seismo.runs.resources.memory import FeatureMemory
from seismo.solver.accuracy.stencil import PowerLaw
from seismo.solver.discretization import Discretization
from seismo.solver.interpolation.traction_free_slopes import MOST_ROWS

_SCATTERED = {2: 2.0, 3: 1.0}  # by dimensions
_BENT = 0.16  # of the slope that is bent
_BENT_CONTACTS = 2.0  # times as much with contacts that are bent as well
_MOVED = 0.6  # of the phase by which levelling moves ends of paths
# On ground that dips by 45 degrees, by the least order that it is of.
_MOTION = {8: PowerLaw(0.055, 3.0), 2: PowerLaw(0.07, 2.0)}
_MOTION_DECAY = 1.2  # per cell
_MOMENTS = {8: PowerLaw(0.1, 2.5), 2: PowerLaw(0.21, 2.0)}
_MOMENT_DECAY = 0.5  # per cell
_AT_CONTACTS = 4.0  # times as much where no strains are fitted
MOST_APART = 200.0  # m between elevations of stations and the ground
_SUNK = 0.1  # share of the ground below height 0
_SEA = 50.0  # m below height 0, deeper than most land
_HIGHEST = 9.0  # km, of land
_LEVEL = 2e-4  # of the length of the ground: relief of the flattest land
_STEEPEST = 1.8  # slope of 60 degrees


def smoothing_error(discretization: Discretization) -> float:
    """Return the relative error of the worst trace by ground that is smoothed off."""
    ground = _ground(discretization)
    if ground is None or not ground.smoothing.any():
        return 0.0
    waves = discretization.waves
    frequency = waves.spectra.frequency
    # At the root mean square of a trace's frequencies, the shortest of all traces.
    wavelength = waves.slowest / math.sqrt((waves.spectra.energy @ frequency**2).max())
    moved = _largest_about(discretization, ground, wavelength)
    k = 2.0 * np.pi * frequency / waves.slowest
    times = _SCATTERED[discretization.grid.dimensions] * math.sqrt(waves.longest / wavelength)
    return min(1.0, waves.spectra.error(times * k * moved))


def levelling_error(discretization: Discretization) -> float:
    """Return the relative error of the worst trace by ground that is level beside layers."""
    ground = _ground(discretization)
    if ground is None or not ground.levelling.any():
        return 0.0
    waves = discretization.waves
    k = 2.0 * np.pi * waves.spectra.frequency / waves.slowest
    ends = _nodes_of_ends(discretization, ground)
    moved = float(np.abs(ground.levelling[ends]).max())
    frame = discretization.earth.frame
    follow = any(frame.follows_ground(n) for n in range(len(discretization.earth.model_parts)))
    bent = _BENT * (_BENT_CONTACTS if follow and len(waves.passages) > 1 else 1.0)
    return min(1.0, math.hypot(bent * _bend(ground), waves.spectra.error(_MOVED * k * moved)))


def _bend(ground: Ground) -> float:
    """Return the slope that becomes level at the sides: a root mean square along each of them."""
    squares = 0.0
    for axis, line in enumerate(_lines(ground).values()):
        slopes = np.gradient(ground.z - ground.levelling, line, axis=axis)
        for side in (0, -1):
            if np.take(ground.levelling, side, axis).any():
                squares += float(np.mean(np.take(slopes, side, axis) ** 2))
    return math.sqrt(squares)


def _ground(discretization: Discretization) -> Ground | None:
    return None if discretization.vertical is None else ground_of(discretization.scenario)


def _lines(ground: Ground) -> dict[str, np.ndarray]:
    """Return the coordinates in m of its nodes by axis, in the order of arrays."""
    return {"x": ground.x} if ground.y is None else {"y": ground.y, "x": ground.x}


def _nodes_of_ends(discretization: Discretization, ground: Ground) -> tuple[np.ndarray, ...]:
    """Return the nodes nearest to receivers and sources by axis; none if only maps are recorded."""
    if not discretization.groups:
        return ()
    ends = [group.all_positions for group in discretization.groups]
    ends += [np.array([s.position for s in shot.sources]) for shot in discretization.shots]
    positions = np.concatenate(ends)
    return tuple(
        np.abs(line - positions[:, "xyz".index(axis), None]).argmin(axis=1)
        for axis, line in _lines(ground).items()
    )


def _largest_about(discretization: Discretization, ground: Ground, distance: float) -> float:
    """Return the largest root mean square [m] of what is smoothed off where waves come to.

    Of squares that reach so far [m] along x and y from all places between sources and receivers,
    from any place if only maps are recorded; without change outside the region.
    """
    from scipy.ndimage import uniform_filter

    size = [2 * round(distance / (line[1] - line[0])) + 1 for line in _lines(ground).values()]
    mean = uniform_filter(ground.smoothing**2, size, mode="constant")
    passed = tuple(slice(n.min(), n.max() + 1) for n in _nodes_of_ends(discretization, ground))
    # Running sums of a filter may leave less than nothing.
    return math.sqrt(max(0.0, float(mean[passed].max())))


def ground_motion_error(discretization: Discretization) -> float:
    """Return the relative error of the worst trace of motion; 0 on flat ground, or of solids."""
    if discretization.vertical is None or "p" not in discretization.physics.gradients:
        return 0.0
    depths = [
        float(discretization.grid.index("z", group.all_positions[:, 2].min()))
        for group in discretization.groups
        if set(group.quantities) != {"pressure"}
    ]
    if not depths:
        return 0.0
    waves = discretization.waves
    points = waves.slowest / (waves.spectra.frequency * max(waves.spacing))
    dip = discretization[Topography].steepest * math.exp(-_MOTION_DECAY * max(0.0, min(depths)))
    law = next(law for order, law in _MOTION.items() if discretization.stencil.order >= order)
    return waves.spectra.error(dip * law(points))


def slope_moment_error(discretization: Discretization) -> float:
    """Return the relative error of the worst trace of moments; 0 on flat ground, and of fluids."""
    ground = discretization.interpolation
    if discretization.vertical is None or ground.by_depth:
        return 0.0
    acting = (source for shot in discretization.shots for source in shot.sources)
    positions = np.array([s.position for s in acting if s.is_local and s.kind != "force"])
    if not positions.size:
        return 0.0
    x, y, z = positions.T
    across = y if discretization.grid.dimensions == 3 else None
    slopes = [
        discretization[Topography].surface(across, x, along=a)
        for a in discretization.grid.axes
        if a != "z"
    ]
    depths = np.maximum(np.asarray(discretization.grid.index("z", z)), 0.0)
    dip = float((np.linalg.norm(slopes, axis=0) * np.exp(-_MOMENT_DECAY * depths)).max())
    if ground.tilted is None or ground.tilted.rows < MOST_ROWS:
        dip *= _AT_CONTACTS
    waves = discretization.waves
    points = waves.slowest / (waves.spectra.frequency * max(waves.spacing))
    law = next(law for order, law in _MOMENTS.items() if discretization.stencil.order >= order)
    return min(1.0, waves.spectra.error(dip * law(points)))


CAUSES = (
    Cause("motion on ground that slopes", ground_motion_error, "surface", power=2.0),
    Cause("moments beside ground that slopes", slope_moment_error, "surface", power=2.0),
    Cause("ground too short for the grid", smoothing_error, "surface", power=1.0),
    Cause(
        "ground that is level beside absorbing layers", levelling_error, "surface",
        falls_with_spacing=never,
        remedy="enlarge grid.extent to where the ground slopes less at its sides",
    ),
)  # fmt: skip


def _below_the_sea(discretization: Discretization) -> WarningLines:
    """Name heights of a file that belong to a sea bed, or are depths."""
    heights = _heights_of_file(discretization)
    if heights is None:
        return
    share = float((heights < 0.0).mean())
    lowest = float(heights.min())
    if share > _SUNK and lowest < -_SEA:
        yield (
            f"topography.path: the ground is below height 0 in {share:.0%} of the grid, down to "
            f"{lowest:.5g} m: heights of a sea bed make it ground in the air, without the water "
            "above it; take heights of land, or give the sea as layers or a volume without "
            "topography; if the file has depths, change their sign; if its height 0 is not that "
            "of the sea, this is as it should be"
        )


def _in_km(discretization: Discretization) -> WarningLines:
    """Name heights of a file that vary by so few m as mountains do by km."""
    section = section_of(discretization.scenario)
    heights = _heights_of_file(discretization)
    if heights is None or discretization.ground is None or not isinstance(section, FileTopography):
        return
    lengths = [
        np.ptp(discretization.grid.limits(axis))
        for axis in discretization.grid.axes.replace("z", "")
    ]
    relief = float(np.ptp(heights))
    are_low = float(np.abs(heights).max()) < _HIGHEST and relief < _LEVEL * max(lengths)
    if are_low and 1e3 * discretization.ground.steepest < _STEEPEST:
        yield (
            f"topography.path: heights of {section.path} are {heights.min():.3g} "
            f"to {heights.max():.3g} m over {max(lengths):.6g} m, as flat as water and as high as "
            "land is in km; if they are in km, write them in m"
        )


def _unlike_stations(discretization: Discretization) -> WarningLines:
    """Name stations whose elevations differ from the ground's."""
    ground = ground_of(discretization.scenario)
    if ground is None:
        return
    datum = discretization.scenario.datum
    # As it was before it was smoothed, and level beside layers.
    heights = datum - (ground.z - ground.smoothing - ground.levelling)
    for group in discretization.groups:
        if group.elevations_m is None or group.motion is not None:
            continue
        low, high = _height_range(ground, heights, group.coordinates)
        nearest = np.clip(group.elevations_m, low, high)
        distances = np.nan_to_num(np.abs(group.elevations_m - nearest))
        many = int((distances > MOST_APART).sum())
        if many:
            worst = int(distances.argmax())
            yield (
                f"receivers {group.name}: elevations of {many} of {len(group)} stations are more "
                f"than {MOST_APART:g} m off the ground, most at {group.codes[worst]}: "
                f"{group.elevations_m[worst]:.5g} m in the list, {nearest[worst]:.5g} m of "
                "topography; check unit and sign of the heights, topography.datum, and the "
                "section geographic"
            )


def _height_range(
    ground: Ground, heights: np.ndarray, positions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest of heights at the nodes around positions (n, 3) m."""
    x, y, _ = positions.T
    lines = [(ground.x, x)] if ground.y is None else [(ground.y, y), (ground.x, x)]
    cells = [np.clip(np.searchsorted(t, c) - 1, 0, t.size - 2) for t, c in lines]
    shifts = itertools.product((0, 1), repeat=len(cells))
    corners = [
        heights[tuple(cell + shift for cell, shift in zip(cells, corner, strict=True))]
        for corner in shifts
    ]
    return np.min(corners, axis=0), np.max(corners, axis=0)


def _heights_of_file(discretization: Discretization) -> np.ndarray | None:
    """Return the heights in m of the ground of a file at the nodes; None of other ground."""
    section = section_of(discretization.scenario)
    ground = ground_of(discretization.scenario)
    if not isinstance(section, FileTopography) or ground is None:
        return None
    return np.asarray(section.datum - ground.z)


GROUND: tuple[Callable[[Discretization], WarningLines], ...] = (
    _below_the_sea,
    _in_km,
    _unlike_stations,
)
CHECKS = tuple(Check("ground", lines) for lines in GROUND)


def ground_facts(discretization: Discretization) -> Iterator[tuple[str, str]]:
    """Yield lines about the ground, none without topography, each a label and a text."""
    ground = ground_of(discretization.scenario)
    topography = discretization.grids_of_spacing[-1].fact(Topography)
    if ground is None:
        return
    if topography is None:
        yield "topography", "level in all of the region, as if there were none"
        return
    dip = math.degrees(math.atan(topography.steepest))
    least, most = topography.heights
    steepest = _named(discretization, *steepest_place(topography))
    # To a millimetre: 0 is no -3e-11.
    highest = round(-ground.highest, 3) + 0.0
    lowest = round(-ground.highest - ground.relief, 3) + 0.0
    yield (
        "topography",
        f"relief {ground.relief:.5g} m, heights (up) from {lowest:.5g} to {highest:.5g} m; "
        f"steepest {dip:.1f} degrees at {steepest}; cells are {least:.2f} to {most:.2f} times as "
        f"tall as flat ones, and flat below z = {topography.flat_from:.5g} m",
    )
    yield "", _smoothing(discretization, ground)
    yield "", _cost(discretization)
    yield from _outputs(discretization)


def _outputs(discretization: Discretization) -> Iterator[tuple[str, str]]:
    """Yield how deep the rows of boxes that follow the ground lie below it."""
    topography = discretization.grids_of_spacing[-1][Topography]
    output = discretization.scenario.output
    # Snapshots and maps may share names.
    boxes = {
        ("snapshots", snapshot.name): snapshot.box for snapshot in output.snapshots if snapshot.box
    }
    boxes |= {("maps", map_.name): map_.box for map_ in output.maps if map_.box}
    below_level = topography.below_level("")
    for grid in discretization.grids_of_spacing:
        cuts = [
            (("snapshots", snapshot_series.name), snapshot_series.cut)
            for snapshot_series in grid.series
        ]
        cuts += [(("maps", map_set.name), map_set.cut) for map_set in grid.maps]
        for (kind, name), cut in cuts:
            box = boxes.get((kind, name))
            if box is None or (box.z is None and box.depth is None):
                continue
            first, last = grid.grid.coordinate("z", np.array(cut.index[2])[[0, -1]])
            # z - ground = s - level - f (1 - B).
            depths = [
                s - topography.level - below_level * (1.0 - topography.share(s))
                for s in (first, last)
            ]
            texts = " and the last ".join(map(_range, depths))
            yield "", f"{kind} {name}: its first row is {texts} below the ground"


def _range(depths: np.ndarray) -> str:
    """Format depths as from, to in m."""
    # To a millimetre: 0 is no -3e-11.
    least, most = (round(float(end), 3) + 0.0 for end in (depths.min(), depths.max()))
    return f"{least:.5g} m" if most - least < 0.01 else f"{least:.5g} to {most:.5g} m"


def _smoothing(discretization: Discretization, ground: Ground) -> str:
    """Describe the part of the ground that the grid does not carry, and its change at the sides."""
    if ground.is_plane:
        return "a plane, exact up to the absorbing layers at the sides, where it bends to level"
    grid = discretization.grids_of_spacing[-1].grid
    spacing = max(grid.spacing[: grid.dimensions - 1])
    text = "nothing is smoothed off"
    smoothing = np.abs(ground.smoothing)
    if smoothing.any():
        most_at = _named(discretization, *ground.position(int(smoothing.argmax())))
        text = (
            f"smoothed by up to {smoothing.max():.3g} m, at {most_at}: "
            f"ground that changes within {4.0 * spacing:.4g} m is too short for the grid"
        )
    if ground.spacing > spacing:
        text += f"; its points are {ground.spacing:.4g} m apart, with a spline between them"
    return f"{text}; level along the normal within {BLEND} points of absorbing layers"


def _cost(discretization: Discretization) -> str:
    """Describe the cost of topography against a flat grid of the same extent."""
    finest = discretization.grids_of_spacing[-1]
    grid = finest.grid
    topography = finest[Topography]
    shorter = growth(topography, finest.stencil)
    # Rows of the finest spacing that a flat grid has above the first row.
    rows = 1 + finest.subdivision * (
        discretization.grid.points[2] - discretization.grid.high[2] - 1
    )
    above = 1 + round(discretization.scenario.grid.extent.z / grid.spacing[2]) - rows
    points = discretization.points / (discretization.points + above * math.prod(grid.points[:2]))
    return (
        f"against a flat grid from the highest ground down: {points:.2f} of the points, steps "
        f"{1.0 / shorter:.2f} as long, so {points * shorter:.2f} of the point updates; "
        f"{topography.rows} of {finest.live.shape[2]} rows follow the ground"
    )


def _named(discretization: Discretization, x: float, y: float) -> str:
    """Format a place in m."""
    return f"x = {x:.6g} m" + f", y = {y:.6g} m" * (discretization.grid.dimensions == 3)


def memory(
    discretization: Discretization, subdomain: Subdomain, plane_size: int, item: int
) -> FeatureMemory:
    """Count the bytes of the planes that formulas on curved rows take."""
    return FeatureMemory(model=len(plane_names(discretization)) * plane_size * item)


REPORTS = (Report("ground", ground_facts),)
