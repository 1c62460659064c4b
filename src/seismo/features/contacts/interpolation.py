"""Reading fields beside contacts of fluid and solid: from the rows of one side alone.

Across a contact vx, vy and the normal stresses along it jump, vz and szz have a kink, and shear
stress ends. A stencil that reached over it would read the other medium. Beside one the polynomial
through the nearest rows of the position's own side is used, which may go on beyond them by up to a
cell. The half row of a closed contact holds vz of the contact itself, wherever that lies between
the rows, and shear stress vanishes there. A position on a contact is of the solid.

Sources spread with the same weights: a force beside a sea bed pushes the rock, or the water.

Fluids of unlike density slip on each other, too. Along flat contacts of theirs rho vx goes on, as
the gradient of pressure does that drives both: it is read, over the density at the position, and
a force acts on it likewise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from seismo.features.contacts.contact import Contact
from seismo.grid.grid import Grid
from seismo.grid.interpolation import ON_GRID, RADIUS, lagrange
from seismo.model.earth import Earth
from seismo.model.effective.averaging import cell_average
from seismo.model.effective.cells import GridCells

POINTS = 6  # that the polynomial goes through
ON_CONTACT = 1e-6  # cells: so near to one is on it
ALIKE = 1e-9  # relative difference of densities that count as one


def below(contact: Contact, z_index: float) -> bool:
    """Whether a place, in rows, is of the medium below a contact."""
    if abs(z_index - contact.z_index) <= ON_CONTACT:
        return not contact.solid_above
    return z_index > contact.z_index


def side_weights(
    contacts: tuple[Contact, ...], name: str, half: bool, z_index: float, points: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the rows and weights that read a field from its own side; None away from contacts.

    Args:
        contacts: of the run.
        name: of the field.
        half: whether it stands on half rows.
        z_index: where, in rows.
        points: rows of the grid.
    """
    top, bottom = _sides(contacts, z_index)
    shift = 0.5 if half else 0.0
    first = int(np.floor(z_index - shift)) - RADIUS + 1
    last = first + 2 * RADIUS - 1
    # Rows that the stencil of an even medium would read.
    nearest = int(np.rint(z_index - shift))
    if abs(z_index - shift - nearest) < ON_GRID:
        first = last = nearest
    # Rows of the position's own side.
    low = top.half + 1 if top else min(first, 0)
    high = bottom.half - int(half) if bottom else max(last, points - 1)
    if low <= first and last <= high:
        return None
    solid = (top is not None and not top.solid_above) or (bottom is not None and bottom.solid_above)
    shear = half and name in ("sxz", "syz")
    # A fluid has no shear stress.
    if shear and not solid:
        return np.array([nearest]), np.zeros(1)
    rows = list(range(max(low, 0), min(high, points - 1) + 1))
    supports = [row + shift for row in rows]
    # The half row of a closed contact is a support point where the contact is.
    if half and top and (edge := _edge(top, shear, True)) is not None:
        rows = [top.half, *rows]
        supports = [edge, *supports]
    if half and bottom and (edge := _edge(bottom, shear, False)) is not None:
        rows = [*rows, bottom.half]
        supports = [*supports, edge]
    # Lagrange polynomial through the nearest POINTS rows.
    start = int(np.searchsorted(supports, z_index)) - POINTS // 2
    start = min(max(start, 0), max(len(rows) - POINTS, 0))
    chosen = np.array(rows[start : start + POINTS])
    weights = lagrange(np.array(supports[start : start + POINTS]), z_index)
    if shear:  # what vanishes on a contact is not read
        kept = ~np.isin(chosen, [c.half for c in (top, bottom) if c])
        return chosen[kept], weights[kept]
    return chosen, weights


def own_side(contacts: tuple[Contact, ...], half: bool, z_index: float, rows: np.ndarray) -> bool:
    """Whether rows of a field, on half rows or not, are all of the side of a place, in rows."""
    top, bottom = _sides(contacts, z_index)
    above = top is not None and rows.min() <= top.half
    return not above and (bottom is None or rows.max() <= bottom.half - int(half))


def _sides(contacts: tuple[Contact, ...], z_index: float) -> tuple[Contact | None, Contact | None]:
    """Return the next contacts above and below a place, in rows."""
    top = max((c for c in contacts if below(c, z_index)), key=_z_index, default=None)
    bottom = min((c for c in contacts if not below(c, z_index)), key=_z_index, default=None)
    return top, bottom


def _z_index(contact: Contact) -> float:
    return contact.z_index


def _edge(contact: Contact, shear: bool, under: bool) -> float | None:
    """Return where the contact's half row is, in rows; None where it is of the other side."""
    if contact.closed:
        return contact.z_index
    middle = contact.half + 0.5
    return middle if shear or below(contact, middle) == under else None


@dataclass(frozen=True)
class FluidDensity:
    """The density of an earth of flat layers, for motion along them.

    Attributes:
        earth: the earth.
        rows: (points along z) of vx and vy on the grid in kg/m3, NaN where there is any solid.
    """

    earth: Earth
    rows: np.ndarray

    def ratios(self, z: np.ndarray, depth: float) -> np.ndarray:
        """Return the densities of rows z over that at a depth in m, 1 beside any solid."""
        row_densities = self.rows[np.clip(z, 0, self.rows.size - 1)]
        z_of = np.full((1, 1, 1), depth)
        sample = self.earth.sample(z_of, np.zeros(1), np.zeros(1))
        if np.isnan(row_densities).any() or np.any(sample.get("vs", 0.0) != 0.0):
            return np.ones(len(z))
        # rho v is interpolated: weights times rho(row) / rho(position).
        ratios = row_densities / sample["rho"].ravel()[0]
        return np.where(np.abs(ratios - 1.0) < ALIKE, 1.0, ratios)


def fluid_density(
    earth: Earth, grid: Grid, averaging: Literal["effective", "point"]
) -> FluidDensity | None:
    """Return what reads motion along layers of fluid; None where not all of them lie flat."""
    if not earth.layered or "rho" not in earth.needs:
        return None
    z = grid.coordinate("z", np.arange(grid.points[2]))
    spacing = grid.cells
    across = np.zeros(1) if grid.dimensions == 3 else None
    rows = cell_average(
        earth, GridCells(z, across, np.zeros(1), spacing), ("rho_x",), averaging, dtype=np.float64
    )["rho_x"].ravel()
    return FluidDensity(earth, rows)
