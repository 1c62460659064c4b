"""Sources and receivers among the closed rows of a contact of fluid and solid.

Single rows there are exact on straight lines alone (`seismo.features.contacts.closure`); what waves
of all rows together err by does not have the motion of the first rows, nor that of sources among
them, whose nearest waves decay within them. With p points in the shortest wavelength, d cells from
the contact, traces err besides by about (10 / p)^2 times

    horizontal forces               0.012 + 0.06 exp(-2 d)
    vertical forces                 0.004
    explosions in the solid         0.008 p / 10
    other moments                   0.015
    explosions in the fluid         0.003 + 0.008 exp(-2 d)
    receivers of motion, stress             0.02 exp(-2 d)
    receivers of strains                    0.05 exp(-2 d) 10 / p

within a factor of 2 to 3, where sources are less than five cells from the contact and receivers 10
to 40 cells from them (order 8, p = 5 to 10, vs = 700 to 1960 m/s under water).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from seismo.acquisition.sources import PointSource
from seismo.features.contacts.contact import Contact, FluidContacts
from seismo.model.contacts import below
from seismo.runs.prediction.contacts.near_contacts import DIFFERENTIATED
from seismo.runs.prediction.lines import Cause
from seismo.solver.discretization import Discretization

_REACH = 5.0  # cells from a contact
_DECAY = 2.0  # per cell


class _RowLaw(NamedTuple):
    """An error anywhere beside a contact, what it has more on it, and the power of 10 / p."""

    everywhere: float
    beside: float = 0.0
    power: float = 2.0


_FORCES = _RowLaw(0.012, 0.06), _RowLaw(0.004)  # horizontal, vertical
_VOLUMES = _RowLaw(0.008, power=1.0), _RowLaw(0.003, 0.008)  # in the solid, in the fluid
_SHEARS = _RowLaw(0.015)
_MOTION = _RowLaw(0.0, 0.02)
_STRAINS = _RowLaw(0.0, 0.05, 3.0)


def source_error(discretization: Discretization) -> float:
    """Return the relative error of the traces by sources beside contacts of fluid and solid."""
    if not discretization[FluidContacts].corrected:
        return 0.0
    sources = (s for shot in discretization.shots for s in shot.sources if s.is_local)
    laws = {(source.position[2], _law(discretization, source)) for source in sources}
    return max((_error(discretization, law, z) for z, law in laws), default=0.0)


def receiver_error(discretization: Discretization) -> float:
    """Return the relative error of the traces by receivers beside contacts of fluid and solid."""
    if not discretization[FluidContacts].corrected:
        return 0.0
    laws = {
        (z, _STRAINS if any(name in DIFFERENTIATED for name in group.quantities) else _MOTION)
        for group in discretization.groups
        for z in np.unique(group.all_positions[:, 2]).tolist()
    }
    return max((_error(discretization, law, z) for z, law in laws), default=0.0)


def _law(discretization: Discretization, source: PointSource) -> _RowLaw:
    """Return the law of a source."""
    sizes = {name: abs(size) for name, size in source.strength.items() if size}
    if source.kind == "force":
        return _FORCES[sizes.get("z", 0.0) > sizes.get("x", 0.0) + sizes.get("y", 0.0)]
    if len({*sizes.values()}) > 1 or any(len({*name}) > 1 for name in sizes):
        return _SHEARS
    contact, z_index = _nearest(discretization, source.position[2])
    return _VOLUMES[int(below(contact, z_index) == contact.solid_above)]


def _error(discretization: Discretization, law: _RowLaw, z: float) -> float:
    """Return the error of a source or a receiver at z m."""
    contact, z_index = _nearest(discretization, z)
    cells = abs(z_index - contact.z_index)
    if cells >= _REACH:
        return 0.0
    coarseness = 10.0 / discretization.waves.points(discretization.waves.slowest)
    share = law.everywhere + law.beside * math.exp(-_DECAY * cells)
    return min(1.0, share * coarseness**law.power)


def _nearest(discretization: Discretization, z: float) -> tuple[Contact, float]:
    """Return the nearest contact to z m, and where that is in rows."""
    z_index = float(discretization.grid.index("z", z))
    contacts = discretization[FluidContacts].corrected
    return min(contacts, key=lambda c: abs(c.z_index - z_index)), z_index


CAUSES = (
    Cause("sources beside fluids", source_error, "contacts"),
    Cause("receivers beside fluids", receiver_error, "contacts"),
)
