"""Radiation of a run's sources into the layers around them.

In 3-D unit sources (`stack_network`) of equal azimuthal order m go together, in 2-D of equal
symmetry about the source: W is even in x (m = 0) of vertical forces and of Mxx and Mzz, odd (m = 1)
of horizontal forces and of Mxz; U is the other way round.

SH waves equal waves of a fluid (`scattering`) whose pressure is the velocity: a force is a volume
source of it, Mxy and Myz are forces along x and z. A plane wave is an up-going P or S wave of a
given slowness in the lowest half-space.
"""

from __future__ import annotations

import numpy as np

from seismo.acquisition.sources import PointSource
from seismo.exact.stack import EVEN, ORDERS, psv_weights
from seismo.runs.prediction.contacts.directivity import strengths
from seismo.runs.prediction.contacts.stack_network import RadiatingSource
from seismo.solver.discretization import Discretization


def radiating_sources(discretization: Discretization, lowest: float) -> list[RadiatingSource]:
    """List the shallowest and the deepest source of each kind; plane waves start at a depth in m.

    Strengths are relative, so that sources that differ in nothing else count once.
    """
    kinds: dict[tuple[object, ...], list[PointSource]] = {}
    for source in (source for shot in discretization.shots for source in shot.sources):
        components = sorted(name for name, amount in source.strength.items() if amount)
        kinds.setdefault((source.kind, *components), []).append(source)
    outer = [
        extreme(sources, key=lambda s: s.position[2])
        for sources in kinds.values()
        for extreme in (min, max)
    ]
    return list({_radiating(discretization, source, lowest): None for source in outer})


def _radiating(
    discretization: Discretization, source: PointSource, lowest: float
) -> RadiatingSource:
    dimensions = discretization.grid.dimensions
    # SH waves equal the pressure in a fluid, its P waves.
    is_transverse = discretization.scenario.equation.waves_in_layers.rigid_surface
    if (incoming := source.incoming) is not None:
        shear = float(incoming.wave != "P" and not is_transverse)
        weights = (1.0 - shear, shear)
        return RadiatingSource(lowest, (0,), (weights,), 1.0, dimensions, incoming.slowness)
    is_plane = dimensions == 2
    force, moment = _transverse(source) if is_transverse else strengths(source)
    size = max(np.abs(force).max(), np.abs(moment).max()) or 1.0
    if is_plane:
        unit = np.array([force[0], force[2], moment[0, 0], moment[0, 2], moment[2, 2]])
        columns = np.stack([EVEN, ~EVEN]) * unit / size
        orders = np.arange(2)
    else:
        columns = psv_weights(force, moment).T / size
        orders = ORDERS
    if not columns.any():  # a source that moves nothing counts as an explosion
        columns[0] = 0.0, 0.0, 1.0, 0.0, 1.0
    kept = np.flatnonzero(columns.any(axis=1))
    growth = float(moment.any()) - 0.5 * is_plane
    return RadiatingSource(
        source.position[2], tuple(orders[kept].tolist()),
        tuple(tuple(row) for row in columns[kept].round(6).tolist()), growth, dimensions,
    )  # fmt: skip


def _transverse(source: PointSource) -> tuple[np.ndarray, np.ndarray]:
    """Return force and moment in the fluid whose pressure SH waves are."""
    force, moment = strengths(source)
    return np.array([moment[0, 1], 0.0, moment[1, 2]]), force[1] * np.eye(3)
