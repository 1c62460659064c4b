"""Receivers that move with the shots, such as those of a streamer, placed in the grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from seismo.acquisition.locator import Coordinates, Locator, floats
from seismo.acquisition.stations.receivers import Motion, ReceiverGroup
from seismo.errors import KeyPath
from seismo.grid.grid import AXES


def moving(
    locate: Locator, group: Any, number: int, offsets: ReceiverGroup,
    sources: Mapping[str, Coordinates],
) -> ReceiverGroup:  # fmt: skip
    """Let a set of receivers move with the shots.

    Args:
        locate: the grid.
        group: the set in the scenario.
        number: of the set there.
        offsets: the set, whose coordinates count from the source.
        sources: name of each shot -> the position of its source.

    Raises:
        ScenarioError: receivers lie outside the grid, and are not to be dropped; or all do.
    """
    axes = locate.grid.axes
    reach = [locate.reach(axis) if axis in axes else (-np.inf, np.inf) for axis in AXES]
    motion = Motion(
        {shot: np.array(position) for shot, position in sources.items()},
        np.array([float(axis in axes and axis in group.offset_axes) for axis in AXES]),
        np.array([low for low, _ in reach]),
        np.array([high for _, high in reach]),
    )
    placed = replace(offsets, motion=replace(motion, drops=True))
    key = ("receivers", number)
    _refuse_places(locate, placed, key)
    inside = {shot: int(placed.recording(shot).sum()) for shot in sources}
    outside = len(placed) * len(inside) - sum(inside.values())
    if outside and (group.outside != "drop" or not sum(inside.values())):
        remedy = "enlarge grid.extent, or move the shots"
        if group.outside != "drop":
            remedy = (
                "enlarge grid.extent, move the shots, or set outside: drop, which records NaN in "
                "their place"
            )
        problem = _outside(locate, placed, inside, outside)
        raise locate.scenario.mistake(*key, problem=f"{problem}; {remedy}")
    return placed if outside else replace(offsets, motion=motion)


def _refuse_places(locate: Locator, placed: ReceiverGroup, key: KeyPath) -> None:
    """Raise ScenarioError for coordinates that are no offsets, and outside in every shot."""
    motion = placed.motion
    assert motion is not None
    for a in np.flatnonzero(motion.axes == 0.0).tolist():
        along = placed.coordinates[:, a]
        beyond = (along < motion.low[a]) | (along > motion.high[a])
        if beyond.any():
            receiver = int(beyond.argmax())
            position = [locate.grid.limits(b)[0] if b in locate.grid.axes else 0.0 for b in AXES]
            position[a] = float(along[receiver])
            problem = f"{placed.codes[receiver]}: {locate.beyond(floats(position))}"
            raise locate.scenario.mistake(*key, problem=problem)


def _outside(
    locate: Locator, placed: ReceiverGroup, inside: Mapping[str, int], outside: int
) -> str:
    """Describe the first receiver that leaves the grid, and how many traces do."""
    shot = next(shot for shot, count in inside.items() if count < len(placed))
    receiver = int(np.flatnonzero(~placed.recording(shot))[0])
    position = placed.at(shot)[receiver]
    motion = placed.motion
    assert motion is not None
    a = int(np.flatnonzero((position < motion.low) | (position > motion.high))[0])
    low, high = locate.grid.limits(AXES[a])
    traces = len(placed) * len(inside)
    others = f", as do {outside} of {traces} traces in all" if outside > 1 else ""
    return (
        f"in {shot} receiver {placed.codes[receiver]} comes to {AXES[a]} = {position[a]:.6g} m, "
        f"outside the grid ({low:.6g} to {high:.6g} m){others}"
    )
