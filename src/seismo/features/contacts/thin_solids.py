"""Solid layers so thin on a fluid that its one-sided differences reach over the next contact.

The closed rows of a contact of fluid and solid (`seismo.features.contacts.closure`) are
those of half-spaces. Where another solid begins among them, less than six cells from the fluid,
they and the weights that read beside the contact run across its kinks. With r the ratio of shear
moduli and p points in the shortest wavelength traces err besides by about

    sources in the layer, or up to 2 cells beyond:                      0.06 ln(r) (10 / p)^1.5
    sources further in the solid, or such receivers alone:              0.02 ln(r) (10 / p)^1.5

    moments, divergence and rotation in layers of under 2.25 cells:     0.35 ln(r), at any sampling

within a factor of 3 to 4 of what was found (r = 3 to 38, p = 6 to 20, layers of 1 to 5 cells;
the last from a twentieth to 9 times as much). Sources in the fluid and receivers there
or deep in the solid err as the rows do (`seismo.runs.prediction.contacts.layered_error`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from seismo.features.contacts.closure import closed_rows
from seismo.features.contacts.contact import Contact
from seismo.runs.prediction.cause import Cause
from seismo.runs.prediction.contacts.near_contacts import DIFFERENTIATED
from seismo.runs.prediction.lines import WarningLines, up_to
from seismo.solver.discretization import Discretization

_WITHIN = 0.06
_BEYOND = 0.02
# Moments of strains in layers of fewer cells.
_MOMENTS = 0.35
_FEW = 2.25
_POWER = 1.5
_REACH = 2.0  # cells beyond the layer
_LEAST = 0.02  # error that is told
_LEAST_CELLS = 0.1  # of a layer: nearer contacts are that of the fluid


class ThinSolid(NamedTuple):
    """A layer: depths in m of its contacts with the fluid and with solids, cells, and error."""

    fluid: float
    solid: float
    cells: float
    error: float


def thin_solids(discretization: Discretization) -> list[ThinSolid]:
    """List the solid layers on fluids that have fewer cells than these have closed rows."""
    if not discretization.contacts:
        return []
    contact_indices = discretization.grid.index("z", discretization.contact_depths)
    rows = closed_rows(len(discretization.stencil.first))
    solids = []
    for contact in discretization.contacts:
        cells = (
            (contact.z_index - contact_indices)
            if contact.solid_above
            else (contact_indices - contact.z_index)
        )
        among = cells[(cells > _LEAST_CELLS) & (cells < rows)]
        if among.size:
            thin = _thin_solid(discretization, contact, float(among.min()))
            solids += [thin] if thin.error > 0.0 else []
    return solids


def thin_solid_error(discretization: Discretization) -> float:
    """Return the relative error of the traces by the worst of these layers."""
    return max((solid.error for solid in thin_solids(discretization)), default=0.0)


def thin_solid_lines(discretization: Discretization) -> WarningLines:
    """Name layers that err by more than `_LEAST`, and the spacing that gives them the rows."""
    rows = closed_rows(len(discretization.stencil.first))
    for thin in thin_solids(discretization):
        if thin.error > _LEAST:
            yield (
                f"model: {thin.cells:.2g} cells of solid between the fluid at z = {thin.fluid:.6g} "
                f"m and the solid at z = {thin.solid:.6g} m: one-sided differences of {rows} rows "
                f"reach over it: traces err by {up_to(thin.error)}; use a grid.spacing of "
                f"{discretization.grid.spacing[2] * thin.cells / rows:.3g} m or less, which gives "
                f"it {rows} cells"
            )


def _thin_solid(discretization: Discretization, contact: Contact, cells: float) -> ThinSolid:
    """Return the layer of so many cells beside a contact."""
    grid = discretization.grid
    side = -1.0 if contact.solid_above else 1.0
    ends = contact.z_index + side * np.array([0.0, cells])
    fluid, solid = grid.coordinate("z", ends)
    beside = grid.coordinate("z", ends[1] + side * np.array([-0.01, 0.01]))
    medium = discretization.earth.sample(beside, None)
    shear = medium["rho"] * medium["vs"] ** 2
    error = _error(discretization, contact, cells, shear) if shear.min() > 0.0 else 0.0
    return ThinSolid(float(fluid), float(solid), cells, error)


def _error(
    discretization: Discretization, contact: Contact, cells: float, shear: np.ndarray
) -> float:
    """Return the error of a layer of so many cells between the shear moduli (2) in Pa."""
    side = -1.0 if contact.solid_above else 1.0

    def away(z) -> np.ndarray:
        return side * (discretization.grid.index("z", np.array(z)) - contact.z_index)

    def within(distances: np.ndarray) -> bool:
        return bool(((distances >= 0.0) & (distances <= cells + _REACH)).any())

    acting = away([source.position[2] for shot in discretization.shots for source in shot.sources])
    reading = away([z for group in discretization.groups for z in group.all_positions[:, 2]])
    sampling = (10.0 / discretization.waves.points(discretization.waves.slowest)) ** _POWER
    strained = away(_strained(discretization))
    if cells < _FEW and ((strained >= 0.0) & (strained <= cells)).any():
        factor = _MOMENTS
        sampling = 1.0
    elif within(acting):
        factor = _WITHIN
    elif (acting > 0.0).any() or within(reading):
        factor = _BEYOND
    else:
        return 0.0
    strength = abs(math.log(shear[1] / shear[0]))
    return min(1.0, factor * strength * sampling)


def _strained(discretization: Discretization) -> list[float]:
    """List the depths in m of moments, and of receivers of divergence, rotation or strain."""
    sources = [source for shot in discretization.shots for source in shot.sources]
    groups = [
        g for g in discretization.groups if any(name in DIFFERENTIATED for name in g.quantities)
    ]
    moments = [source.position[2] for source in sources if source.kind != "force"]
    return moments + [z for group in groups for z in group.all_positions[:, 2]]


CAUSES = (Cause("thin solids on fluids", thin_solid_error, "contacts"),)
