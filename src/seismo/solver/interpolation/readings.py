"""How receivers of a grid are read: as everywhere, or by what is better known there."""

from __future__ import annotations

from seismo.features.topography.surface.stresses import GroundStresses, LossyGroundStresses
from seismo.solver.discretization import Discretization
from seismo.solver.interpolation.indirect_reading import IndirectReading, PlaneStrains


def reading_of(discretization: Discretization) -> IndirectReading:
    """Return what reads strains by stresses, or stresses by strains, on one of a run's grids."""
    # Under ground that slopes, beside a plane of refinement, or elsewhere.
    attenuates = discretization.earth.relaxation is not None
    ground = discretization.interpolation
    if ground.traction is not None and ground.tilted is not None:
        return LossyGroundStresses(discretization) if attenuates else GroundStresses(discretization)
    if discretization.meets is not None and discretization.finer == 1 and not attenuates:
        return PlaneStrains(discretization)
    return IndirectReading(discretization)
