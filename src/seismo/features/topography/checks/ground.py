"""What `check` says of heights that are hardly those of the ground: sea beds, km, another sign."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from seismo.features.topography.ground import ground_of
from seismo.features.topography.section import FileTopography
from seismo.features.topography.shape import Ground
from seismo.runs.prediction.lines import Check, WarningLines
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
    section = discretization.scenario.topography
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
    section = discretization.scenario.topography
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
