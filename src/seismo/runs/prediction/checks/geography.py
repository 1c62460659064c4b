"""Checks of a grid's place on the earth: depths that are no z, and the earth's curvature."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from seismo.acquisition.projection import Projection, stretch
from seismo.grid.coordinates import nearest_turn
from seismo.runs.coordinates import true_positions
from seismo.runs.prediction.lines import WarningLines
from seismo.solver.discretization import Discretization

MOST_DISTANCE = 300e3  # m from the origin: lengths are true to 4e-4
MOST_ANGLE = 0.02  # degrees between a straight line on the grid and the geodesic
_FARTHEST = 2000  # places of which all pairs are looked at


def depths(discretization: Discretization) -> WarningLines:
    """Yield a line where depths below longitude and latitude are not z."""
    ground = discretization.scenario.ground
    if discretization.scenario.topography is not None:  # whoever gives it knows of both
        return
    if discretization.scenario.geographic and ground != 0.0:
        yield (
            "geographic: depths of sources, stations and files on the earth count from the free "
            f"surface, z = {ground:.6g} m, as layers, bodies and maps do not: they go by z"
        )


def depths_over_ground(discretization: Discretization) -> WarningLines:
    """Yield lines of sources whose depths differ by what they count from, which is not said."""
    if discretization.ground is None or discretization.scenario.survey is not None:
        return
    datum = discretization.scenario.datum
    for k, (source, section) in enumerate(
        zip(discretization.shots[0].summaries, discretization.scenario.sources, strict=True)
    ):
        key = f"sources[{k}]"
        counted: Any = section
        if section.type not in ("event", "finite_fault"):
            key += ".position"
            counted = getattr(section, "position", None)
            if not hasattr(counted, "longitude") or counted.depth is None:
                continue
        x, y, _ = source.position
        height = datum - float(discretization.ground.ground(y, x))
        if counted.depth_from is None and abs(height) > discretization.grid.spacing[2]:
            z = float(true_positions(discretization, np.array([source.position]))[0, 2])
            yield (
                f"{key}: depths count from the ground, which is {abs(height):.5g} m "
                f"{'above' if height > 0.0 else 'below'} the datum (height 0) there, so that "
                f"{source.name} is at z = {z:.6g} m; catalogues often count from sea level: write "
                f"depth_from: datum, by which it is at z = {z + height:.6g} m, or depth_from: "
                "ground"
            )


def off_the_plane(discretization: Discretization) -> WarningLines:
    """Yield a line where places on the earth lie beside the plane of a 2-D run."""
    if discretization.scenario.geographic is None or discretization.grid.dimensions == 3:
        return
    aside = {s.name: abs(s.position[1]) for shot in discretization.shots for s in shot.sources}
    aside |= {
        group.name: float(np.abs(group.all_positions[:, 1]).max())
        for group in discretization.groups
    }
    name, most = max(aside.items(), key=lambda entry: entry[1])
    if most > 0.5 * discretization.grid.spacing[0]:
        yield (
            f"geographic: {name} lies up to {most:.4g} m beside the plane of this 2-D run, y = 0, "
            "and is moved into it along y; turn the plane (azimuth) to its sources and receivers, "
            "or run it in 3-D"
        )


def directions(discretization: Discretization) -> WarningLines:
    """Yield a line where sources and receivers lie too far out for a plane."""
    if discretization.scenario.geographic is None:
        return
    sources = _farthest([s.position for shot in discretization.shots for s in shot.sources])
    receivers = _farthest(
        [position for group in discretization.groups for position in group.all_positions]
    )
    distance = float(np.hypot(*np.concatenate([sources, receivers]).T).max())
    projection = Projection(discretization.scenario.geographic)
    angle = _largest_angle(projection, sources, receivers)
    if distance > MOST_DISTANCE or angle > MOST_ANGLE:
        yield (
            f"geographic: sources and receivers lie up to {distance / 1e3:.0f} km from its "
            f"longitude and latitude; on a flat grid directions from one to the other are off by "
            f"up to {angle:.2g} degrees, and lengths by {100 * stretch(distance):.2g} %: "
            f"{_better(projection, sources, receivers, angle)}"
        )


def _better(
    projection: Projection, sources: np.ndarray, receivers: np.ndarray, angle: float
) -> str:
    """Describe whether an origin at the sources turns directions less."""
    if angle <= MOST_ANGLE:
        return "put its longitude and latitude nearer to them"
    centre = 0.5 * (sources.min(axis=0) + sources.max(axis=0))
    longitude, latitude = map(float, projection.to_geographic(*centre))
    longitude = float(nearest_turn(longitude, 0.0))
    there = Projection(SimpleNamespace(longitude=longitude, latitude=latitude, azimuth=0.0))
    moved = (
        np.stack(there.to_grid(*projection.to_geographic(*positions.T)), axis=1)
        for positions in (sources, receivers)
    )
    less = _largest_angle(there, *moved)
    if less > 0.5 * angle:
        return "no origin holds places so far apart in all directions much better"
    return (
        f"put its longitude and latitude at the sources, {longitude:.5g} and {latitude:.5g} "
        f"degrees, where directions are off by {less:.2f} degrees at most"
    )


def _farthest(positions: list) -> np.ndarray:
    """Return the x, y (place, 2) m of those positions that are farthest from the origin."""
    points = np.unique(np.array(positions).reshape(-1, 3)[:, :2], axis=0)
    return points[np.argsort(-np.hypot(*points.T))[:_FARTHEST]]


def _largest_angle(projection: Projection, sources: np.ndarray, receivers: np.ndarray) -> float:
    """Return the largest angle in degrees between lines on the grid and geodesics.

    It is half the spherical excess of a triangle with the origin, and largest where its area is.
    """
    area = np.abs(
        np.outer(sources[:, 0], receivers[:, 1]) - np.outer(sources[:, 1], receivers[:, 0])
    )
    if not area.any():
        return 0.0
    source, receiver = np.unravel_index(area.argmax(), area.shape)
    return projection.line_error(sources[source], receivers[receiver])
