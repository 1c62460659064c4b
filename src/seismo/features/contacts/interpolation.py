"""Interpolation beside contacts of fluid and solid: from the rows of a single side.

Across a contact vx, vy and the normal stresses along it jump, vz and szz have a kink, and shear
stress ends. A stencil that reached over it would read the other medium. Beside a contact the
polynomial through the nearest rows of the position's own side is used, which may extrapolate by up
to a cell. The half row of a closed contact holds vz of the contact itself, wherever that lies
between the rows, and shear stress vanishes there. A position on a contact is of the solid.

Derivatives along z are the closed rows' own differences where the scheme has that strain, else
the slope of such a polynomial: beside contacts without closed rows, and of vx in a fluid.

Sources spread with the same weights: a force beside a sea bed pushes the rock, or the water.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seismo.equations.framework.table import Field
from seismo.features.contacts.contact import Contact, FluidContacts
from seismo.features.contacts.operators import row_norms
from seismo.grid.interpolation import ON_GRID, RADIUS, Along, lagrange
from seismo.model.contacts import below
from seismo.solver.discretization import Discretization
from seismo.solver.interpolation.point_weights import PointRule

POINTS = 6  # that the polynomial goes through


def point_rule(discretization: Discretization) -> ContactRule | None:
    """Return how fields are read beside contacts of fluid and solid; None without any."""
    contacts = discretization[FluidContacts].corrected
    if not contacts:
        return None
    rows = discretization.grid.points[2]
    first = discretization.stencil.first
    norms = row_norms(contacts, first, rows)
    return ContactRule(slips=contacts, rows=rows, norms=norms, first=first)


@dataclass(frozen=True, kw_only=True)
class ContactRule(PointRule):
    """Interpolation beside contacts of fluid and solid.

    Attributes:
        slips: the contacts of fluid and solid.
        rows: of the grid.
        norms: cells that node rows and half rows stand for (`row_norms`).
        first: staggered coefficients (spacing 1).
    """

    slips: tuple[Contact, ...]
    rows: int
    norms: tuple[np.ndarray, np.ndarray]
    first: np.ndarray

    def side(self, name: str, half: bool, z_index: float) -> Along | None:
        """Return rows and weights that read a field from its own side."""
        return side_weights(self.slips, name, half, z_index, self.rows)

    def one_sided_slope(self, half: bool, z_index: float, reach: int) -> Along | None:
        """Return rows and weights that read d_z of a velocity from its own side."""
        return side_slopes(self.slips, half, z_index, self.rows, reach)

    def differences(self, half: bool, row: int) -> Along | None:
        """Return rows and weights of the differences that closed rows have."""
        z_index = row + 0.5 * (not half)
        return self._closed[half].get(row) or self.one_sided_slope(half, z_index, len(self.first))

    @cached_property
    def _closed(self) -> tuple[dict[int, Along], dict[int, Along]]:
        """Return the differences of nodes, in half rows, and of half rows, in nodes."""
        tables: tuple[dict[int, Along], dict[int, Along]] = {}, {}
        for contact in self.slips:
            if not contact.closed:
                continue
            operators = contact.operators(self.first)
            both = (operators.up(), operators.plain), (operators.down(), -operators.plain.T)
            for table, (closed, plain) in zip(tables, both, strict=True):
                for n in np.flatnonzero((closed != plain).any(axis=1)).tolist():
                    read = np.flatnonzero(closed[n])
                    table[operators.first + n] = operators.first + read, closed[n, read]
        return tables

    def norm(self, field: Field, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the cells that rows stand for."""
        # Rows beyond the grid stand for a cell, as those away from contacts.
        share = np.ones(len(z))
        inside = (z >= 0) & (z < self.rows)
        share[inside] = self.norms["z" in field.half][z[inside]]
        return share


def side_weights(
    contacts: tuple[Contact, ...], name: str, half: bool, z_index: float, points: int
) -> Along | None:
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
    rows, supports = _own_points(contacts, half, z_index, points, shear)
    weights = lagrange(supports, z_index)
    if shear:  # fields that vanish on a contact are not read
        kept = ~np.isin(rows, [c.half for c in (top, bottom) if c])
        return rows[kept], weights[kept]
    return rows, weights


def side_slopes(
    contacts: tuple[Contact, ...], half: bool, z_index: float, points: int, reach: int
) -> Along | None:
    """Return the rows and weights of d/dz (spacing 1) of a velocity from its own side.

    None where all rows within `reach` are of that side. The rest as of `side_weights`.
    """
    top, bottom = _sides(contacts, z_index)
    if all(abs(c.z_index - z_index) >= reach for c in (top, bottom) if c):
        return None
    rows, supports = _own_points(contacts, half, z_index, points)
    # Slope of the polynomial through all: sum_i w_i (z_i - z)^k = [k = 1].
    powers = np.arange(rows.size)
    return rows, np.linalg.solve((supports - z_index) ** powers[:, None], powers == 1)


def _own_points(
    contacts: tuple[Contact, ...], half: bool, z_index: float, points: int, shear: bool = False
) -> Along:
    """Return the nearest `POINTS` rows of a position's own side, and where in rows they stand."""
    top, bottom = _sides(contacts, z_index)
    low = top.half + 1 if top else 0
    high = bottom.half - int(half) if bottom else points - 1
    rows = list(range(max(low, 0), min(high, points - 1) + 1))
    supports = [row + 0.5 * half for row in rows]
    # The half row of a closed contact is a support point where the contact is.
    if half and top and (edge := _edge(top, shear, True)) is not None:
        rows = [top.half, *rows]
        supports = [edge, *supports]
    if half and bottom and (edge := _edge(bottom, shear, False)) is not None:
        rows = [*rows, bottom.half]
        supports = [*supports, edge]
    start = int(np.searchsorted(supports, z_index)) - POINTS // 2
    start = min(max(start, 0), max(len(rows) - POINTS, 0))
    return np.array(rows[start : start + POINTS]), np.array(supports[start : start + POINTS])


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
