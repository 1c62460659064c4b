"""Lines of `seismo check` about plane waves, and about receivers and maps outside their boxes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from seismo.features.plane_waves.plane_wave import (
    EVANESCENT_LEAD,
    PlaneWave,
    WaveBox,
    box_of,
    plane_waves,
)
from seismo.grid.grid import AXES
from seismo.runs.prediction.lines import Check, Report, WarningLines
from seismo.solver.discretization import Discretization

READ = 5.0  # points about a position from which motion is read, half points among them


def outside_box(discretization: Discretization) -> WarningLines:
    """Name receivers and maps that lie outside the box of a plane wave."""
    for wave in plane_waves(discretization):
        box = box_of(discretization, wave)
        for group in discretization.groups:
            count = group.count_where(partial(_outside, discretization, box))
            if count:
                yield (
                    f"receivers {group.name}: {count} lie outside the box of plane wave "
                    f"{wave.name} or on its edge, where only scattered waves are recorded: move "
                    "them inside, or make its margin smaller"
                )
        for map_ in discretization.maps:
            if _outside(discretization, box, map_.cut.corners).any():
                yield (
                    f"maps {map_.name}: reach beyond the box of plane wave {wave.name}, where they "
                    "show scattered waves alone"
                )


def _outside(discretization: Discretization, box: WaveBox, positions: np.ndarray) -> np.ndarray:
    """Return which positions (n, 3) m with points that may lie outside the box."""
    grid = discretization.grid
    beyond = np.zeros(len(positions), bool)
    for axis in box.faces:
        a = AXES.index(axis)
        index = grid.index(axis, positions[:, a])
        # Motion is read from points about a position.
        beyond |= index > box.last[a] - READ
        if axis != "z":
            beyond |= index < box.first[a] + READ
    return beyond


def _described(discretization: Discretization, wave: PlaneWave) -> str:
    """Describe how a plane wave comes, and the box in which the run has all of it."""
    grid = discretization.grid
    box = box_of(discretization, wave)
    degrees = math.degrees(wave.incidence)
    text = (
        f"{wave.name}: {wave.wave}, {degrees:.4g} deg from the vertical at {wave.velocity:.5g} m/s"
    )
    if wave.incidence:
        text += f", {wave.velocity / math.sin(wave.incidence):.5g} m/s along the surface"
    corner = ", ".join(f"{a} = {wave.position[AXES.index(a)]:.6g} m" for a in grid.axes)
    start = f"; its wavelet begins at {wave.start:.4g} s at {corner}"
    sides = []
    for axis in box.faces.replace("z", ""):
        a = AXES.index(axis)
        low, high = grid.coordinate(axis, [box.first[a], box.last[a]])
        sides.append(f"{axis} = {low:.6g} to {high:.6g} m")
    sides.append(f"z to {float(grid.coordinate('z', box.last[2])):.6g} m")
    text += f"{start}; all motion within {', '.join(sides)}, outside what is scattered alone"
    if wave.evanescent:
        text += f"; evanescent in some rock, so that it begins {EVANESCENT_LEAD:g} periods early"
    return text


def wave_facts(discretization: Discretization) -> Iterator[tuple[str, str]]:
    """Yield a line for each plane wave."""
    for wave in plane_waves(discretization):
        yield "plane wave", _described(discretization, wave)


CHECKS = (Check("places", outside_box),)
REPORTS = (Report("sources", wave_facts),)
