"""Results of finite faults: their hypocentre, and distances of receivers from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from seismo.acquisition.locator import Projection
from seismo.acquisition.sources import PointSource
from seismo.features.faults.finite_fault import FaultSummary
from seismo.runs.coordinates import true_positions
from seismo.solver.discretization import Discretization


def source_facts(discretization: Discretization, source: PointSource) -> dict[str, Any]:
    """Return the hypocentre of a source, if a fault."""
    if not isinstance(source, FaultSummary) or source.geometry is None:
        return {}
    return {"hypocentre": _coordinates(discretization, source.geometry.hypocentre)}


def _coordinates(discretization: Discretization, point: np.ndarray) -> dict[str, float]:
    """Return the coordinates of a point (3) m in true depth: those of `coordinates_of`."""
    x, y, z = point.tolist()
    coordinates = {"x": x, "y": y, "z": z, "depth": z - discretization.scenario.ground}
    if discretization.ground is not None:
        ground = float(discretization.ground.ground(y, x))
        coordinates["depth"] = z - ground
        coordinates["elevation"] = discretization.scenario.datum - ground
    longitude, latitude = Projection(discretization.scenario.geographic).to_geographic(x, y)
    return coordinates | {"longitude": float(longitude), "latitude": float(latitude)}


def receiver_facts(discretization: Discretization, positions: np.ndarray) -> dict[str, np.ndarray]:
    """Return the distances in m of positions (receiver, 3) m from the only source, if a fault."""
    summaries = discretization.shots[0].summaries
    if len(summaries) != 1 or not isinstance(summaries[0], FaultSummary):
        return {}
    geometry = summaries[0].geometry
    return {} if geometry is None else geometry.distances(true_positions(discretization, positions))
