"""The horizontal contacts of fluid and solid in an earth, and those whose rows are corrected."""

from __future__ import annotations

from seismo.equations.framework.table import Physics
from seismo.features.contacts.contact import (
    Contact,
    all_contacts,
    separate_contacts,
    upright_beside,
)
from seismo.grid.coefficients import Stencil
from seismo.grid.grid import Grid
from seismo.grid.surface_closure import SurfaceClosure
from seismo.model.earth import Earth
from seismo.scenario import Scenario


def contacts_of(
    scenario: Scenario, physics: Physics, earth: Earth, grid: Grid, stencil: Stencil,
    closure: SurfaceClosure | None,
) -> tuple[list[Contact], tuple[Contact, ...]]:  # fmt: skip
    """Return all horizontal contacts of fluid and solid, and those whose rows are corrected."""
    if not physics.fluid_meets_solid or scenario.averaging != "effective":
        return [], ()
    interfaces = all_contacts(earth, grid)
    surface_rows = closure.rows if closure else 0
    terms = stencil.order // 2
    contacts = separate_contacts(interfaces, grid, terms, surface_rows)
    return interfaces, tuple(c for c in contacts if upright_beside(earth, grid, c, terms))
