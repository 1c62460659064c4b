"""Coordinates of sources and receivers as users read them, and the size of sources."""

from __future__ import annotations

import numpy as np

from seismo.acquisition.locator import Projection
from seismo.acquisition.moment_tensor import magnitude_of
from seismo.acquisition.sources import PointSource
from seismo.grid.coordinates import nearest_turn
from seismo.grid.grid import AXES
from seismo.solver.discretization import Discretization

ON_EARTH = ("longitude", "latitude", "x_azimuth")  # degrees
DECIMALS = 9  # of m, over topography


def size_and_depth(discretization: Discretization, source: PointSource) -> dict[str, float]:
    """Return z and depth below the ground in m, scalar moment in N m and magnitude of a source."""
    facts = {}
    if source.is_local:
        metres = metres_of(discretization, np.array([source.position]))
        z = float(metres["z"][0])
        depth = metres["depth"][0] if "depth" in metres else z - discretization.scenario.ground
        facts = {"z": z, "depth": float(depth)}
    if moment := source.scalar_moment:
        facts["scalar_moment"] = moment
        if discretization.grid.dimensions == 3:
            facts["magnitude"] = magnitude_of(moment)
    return facts


def coordinates_of(discretization: Discretization, positions: np.ndarray) -> dict[str, np.ndarray]:
    """Return the coordinates (receiver) of receivers at positions (receiver, 3) m on the grid.

    They are x, (y,) z in m, over topography depth below the ground and elevation of the ground in
    m, and, where the grid has a place on the earth, longitude, latitude and the azimuth of +x there
    in degrees.
    """
    coordinates = metres_of(discretization, positions)
    if discretization.scenario.geographic is not None:
        projection = Projection(discretization.scenario.geographic)
        (x, y, _) = positions.T
        longitude, coordinates["latitude"] = projection.to_geographic(x, y)
        coordinates["longitude"] = nearest_turn(longitude, 0.0)
        coordinates["x_azimuth"] = projection.x_azimuth(x, y)
    return coordinates


def true_positions(discretization: Discretization, positions: np.ndarray) -> np.ndarray:
    """Return x, y, z in m of positions (n, 3) x, y, s: rows of the grid may follow the ground."""
    ground = discretization.ground
    if ground is None:
        return positions
    x, y, s = np.asarray(positions, float).T
    return np.stack([x, y, ground.z(s, y, x)], axis=1)


def metres_of(discretization: Discretization, positions: np.ndarray) -> dict[str, np.ndarray]:
    """Return the coordinates in m of positions (receiver, 3) m on the grid."""
    positions = true_positions(discretization, positions)
    metres = {a: positions[:, AXES.index(a)] for a in discretization.grid.axes}
    if discretization.ground is not None:
        (x, y, z) = positions.T
        ground = discretization.ground.ground(y, x)
        metres["depth"] = z - ground
        metres["elevation"] = discretization.scenario.datum - ground
        # Depth, height and mapping together make 0, not 3e-14 m.
        metres = {name: np.round(numbers, DECIMALS) + 0.0 for name, numbers in metres.items()}
    return metres
