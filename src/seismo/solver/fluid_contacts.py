"""The horizontal contacts of fluid and solid in an earth, and those whose rows are corrected."""

from __future__ import annotations

from seismo.equations.fluid_solid_contact import Contact, all_contacts, separate_contacts
from seismo.equations.table import Physics
from seismo.grid.coefficients import Stencil
from seismo.grid.grid import Grid
from seismo.grid.surface_closure import SurfaceClosure
from seismo.model import Earth
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
    return interfaces, separate_contacts(interfaces, grid, stencil.order // 2, surface_rows)
