"""Receivers and maps outside the box of a plane wave, which have scattered waves alone."""

from __future__ import annotations

from functools import partial

import numpy as np

from seismo.features.plane_waves.background import box_of, plane_waves
from seismo.features.plane_waves.plane_wave import WaveBox
from seismo.grid.grid import AXES
from seismo.runs.prediction.lines import Check, WarningLines
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
        for one in discretization.maps:
            nodes = dict(one.cut.axes)
            ends = [_ends(nodes, one.cut.plane, axis) for axis in AXES]
            corners = np.array(np.meshgrid(*ends)).reshape(3, -1).T
            if _outside(discretization, box, corners).any():
                yield (
                    f"maps {one.name}: reach beyond the box of plane wave {wave.name}, where they "
                    "show scattered waves alone"
                )


def _ends(nodes: dict[str, np.ndarray], plane: dict[str, float], axis: str) -> np.ndarray:
    """Return the first and last coordinate in m of a map along an axis."""
    along = nodes.get(axis, np.array([plane.get(axis, 0.0)]))
    return np.array([along.min(), along.max()])


def _outside(discretization: Discretization, box: WaveBox, positions: np.ndarray) -> np.ndarray:
    """Return which positions (n, 3) m some of whose points may lie outside the box."""
    grid = discretization.grid
    beyond = np.zeros(len(positions), bool)
    for axis in box.faces:
        a = AXES.index(axis)
        index = grid.index(axis, positions[:, a])
        # Motion is read from some points about a position.
        beyond |= index > box.last[a] - READ
        if axis != "z":
            beyond |= index < box.first[a] + READ
    return beyond


CHECKS = (Check("places", outside_box),)
