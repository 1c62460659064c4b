"""Facts of the ground for `seismo check`: its relief, its cells, and their cost."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from seismo.features.topography.curved_runs import plane_names
from seismo.features.topography.ground import ground_of, steepest_place
from seismo.features.topography.shape import BLEND, Ground
from seismo.features.topography.symbol import growth
from seismo.grid.decomposition import Subdomain
from seismo.runs.prediction.lines import Report
from seismo.runs.resources.memory import FeatureMemory
from seismo.solver.discretization import Discretization


def ground_facts(discretization: Discretization) -> Iterator[tuple[str, str]]:
    """Yield lines about the ground, none without topography, each a label and a text."""
    ground = ground_of(discretization.scenario)
    topography = discretization.ground
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
    topography = discretization.ground
    assert topography is not None  # `ground_facts`
    output = discretization.scenario.output
    # Snapshots and maps may share names.
    boxes = {("snapshots", one.name): one.box for one in output.snapshots if one.box}
    boxes |= {("maps", one.name): one.box for one in output.maps if one.box}
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
    assert finest.topography is not None  # `ground_facts`
    shorter = growth(finest.topography, finest.stencil)
    # Rows of the finest spacing that a flat grid has above the first one.
    rows = 1 + finest.finer * (discretization.grid.points[2] - discretization.grid.high[2] - 1)
    above = 1 + round(discretization.scenario.grid.extent.z / grid.spacing[2]) - rows
    points = discretization.points / (discretization.points + above * math.prod(grid.points[:2]))
    return (
        f"against a flat grid from the highest ground down: {points:.2f} of the points, steps "
        f"{1.0 / shorter:.2f} as long, so {points * shorter:.2f} of the point updates; "
        f"{finest.topography.rows} of {finest.live.shape[2]} rows follow the ground"
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
