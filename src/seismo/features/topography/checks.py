"""Lines of `check` about the ground: its relief, cells and cost, and unlikely heights.

Heights are hardly those of the ground where they are of a sea bed, in km, of the other sign, or far
from the elevations of stations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from seismo.features.topography.curved_runs import plane_names
from seismo.features.topography.ground import ground_of, steepest_place
from seismo.features.topography.rows import Topography
from seismo.features.topography.section import FileTopography, section_of
from seismo.features.topography.shape import BLEND, Ground
from seismo.features.topography.symbol import growth
from seismo.grid.decomposition import Subdomain
from seismo.runs.prediction.lines import Check, Report, WarningLines
from seismo.runs.resources.memory import FeatureMemory
from seismo.solver.discretization import Discretization

MOST_APART = 200.0  # m between elevations of stations and the ground
_SUNK = 0.1  # share of the ground below height 0
_SEA = 50.0  # m below height 0, deeper than most land
_HIGHEST = 9.0  # km, of land
_LEVEL = 2e-4  # of the length of the ground: relief of the flattest land
_STEEPEST = 1.8  # slope of 60 degrees


def _below_the_sea(discretization: Discretization) -> WarningLines:
    """Name heights of a file that are those of a sea bed, or depths."""
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
    """Name stations whose elevations are not those of the ground."""
    ground = ground_of(discretization.scenario)
    if ground is None:
        return
    datum = discretization.scenario.datum
    # As it was before it was smoothed, and level beside layers.
    heights = datum - (ground.z - ground.smoothing - ground.levelling)
    for group in discretization.groups:
        if group.elevations_m is None or group.motion is not None:
            continue
        low, high = _around(ground, heights, group.coordinates)
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


def _around(
    ground: Ground, heights: np.ndarray, positions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest of heights at the nodes around positions (n, 3) m."""
    x, y, _ = positions.T
    lines = [(ground.x, x)] if ground.y is None else [(ground.y, y), (ground.x, x)]
    cells = [np.clip(np.searchsorted(t, c) - 1, 0, t.size - 2) for t, c in lines]
    shifts = itertools.product((0, 1), repeat=len(cells))
    corners = [
        heights[tuple(cell + shift for cell, shift in zip(cells, one, strict=True))]
        for one in shifts
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
    """Yield how deep the rows of boxes lie below the ground, of those that follow it."""
    topography = discretization.grids_of_spacing[-1][Topography]
    output = discretization.scenario.output
    # Snapshots and maps may share names.
    boxes = {
        ("snapshots", snapshot.name): snapshot.box for snapshot in output.snapshots if snapshot.box
    }
    boxes |= {("maps", map_.name): map_.box for map_ in output.maps if map_.box}
    below_level = topography.below_level("")
    for grid in discretization.grids_of_spacing:
        cuts = [(("snapshots", one.name), one.cut) for one in grid.series]
        cuts += [(("maps", one.name), one.cut) for one in grid.maps]
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
    """Describe what of the ground the grid does not carry, and what becomes of it at the sides."""
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
    """Describe what topography costs against a flat grid of the same extent."""
    finest = discretization.grids_of_spacing[-1]
    grid = finest.grid
    topography = finest[Topography]
    shorter = growth(topography, finest.stencil)
    # Rows of the finest spacing that a flat grid has above the first one.
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
