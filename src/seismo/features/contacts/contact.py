"""Horizontal contacts of fluid and solid: where they cut the grid, and the medium of each row.

The motion along a contact slips: vx jumps, so that each row of vx must belong to a side. The cell
of node row n that a contact cuts keeps the values of the part that fills more of it, the *own*
medium; the share r <= 1/2 of the *other* medium is lent to row a, the next on its side::

    fluid   o  row n - 1 = a (other)       1 + r cells of fluid
    ------  |  ---- contact -------        vz of the half row between has the density of its cell
    solid   o  row n         (own)         1 - r cells of solid

What the rows do with it: `seismo.features.contacts.operators`. Where they fit (`Contact.closed`),
the rows next to the contact have one-sided differences instead, and all of row n its own medium:
`seismo.features.contacts.closure`, `seismo.features.contacts.operators`.
Symbols: vp, vs, vx, vz velocities (m/s), rho density (kg/m3), lambda and mu moduli (Pa), rows
counted from the first of the grid.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Protocol

import numpy as np

from seismo.equations.framework.table import Physics
from seismo.equations.rock import elastic_constants
from seismo.equations.rock.plane_waves import Rock
from seismo.features.contacts.closure import ContactClosure, closed_rows, contact_closure
from seismo.grid.coefficients import Stencil
from seismo.grid.grid import Grid
from seismo.grid.surface_closure import SurfaceClosure
from seismo.model.contacts import SlipContacts
from seismo.model.earth import Earth
from seismo.scenario import Scenario

_SAMPLES = 8  # per cell: fluid or solid sheets thinner than 1/8 cell are left to the averages
_TIE = 1e-9  # cells: a contact so close to a node counts as on it, and the node as solid


class _Sampled(Protocol):
    """An earth as far as contacts ask for it (`seismo.model.earth.Earth`)."""

    @property
    def layered(self) -> bool: ...

    def sample(self, z: np.ndarray, y: None) -> dict[str, np.ndarray]: ...


@dataclass(frozen=True)
class Contact:
    """One contact of fluid and solid.

    Attributes:
        row: node row n whose cell it cuts.
        beside: node row a beyond it, of the other medium.
        share: r, the part of the cell that the other medium fills, at most 1/2.
        medium: medium of row n.
        other: medium of row a.
        density: of the cell about the half row between n and a [kg/m3].
        z_index: of the contact itself, a row with its fraction.
        closed: whether its rows have one-sided differences.
    """

    row: int
    beside: int
    share: float
    medium: Rock
    other: Rock
    density: float
    z_index: float
    closed: bool = False

    @property
    def above(self) -> Rock:
        """Return the medium above the contact."""
        return self.medium if self.row < self.beside else self.other

    @property
    def below(self) -> Rock:
        """Return the medium below the contact."""
        return self.other if self.row < self.beside else self.medium

    @property
    def fastest(self) -> float:
        """Return the speed of the faster medium [m/s]."""
        return max(self.medium.fastest, self.other.fastest)

    @property
    def half(self) -> int:
        """Half row between the two rows (number of the node row above it)."""
        return min(self.row, self.beside)

    @property
    def solid_above(self) -> bool:
        """Whether the solid lies above the fluid."""
        return (self.row < self.beside) == (self.medium.vs > 0)

    @property
    def solid(self) -> Rock:
        """Return the medium that holds shear."""
        return self.medium if self.medium.vs > 0 else self.other

    @property
    def solid_row(self) -> int:
        """Return the row of the solid next to the contact."""
        return self.half if self.solid_above else self.half + 1

    @property
    def solid_weight(self) -> float:
        """Return how many cells of solid the solid row stands for."""
        return 1.0 - self.share if self.solid_row == self.row else 1.0 + self.share

    def constants(self, c33: np.ndarray) -> dict[str, np.ndarray]:
        """Return the constants [Pa] of row n, by the mean c33 of its cell."""
        return self.medium.constants(
            np.full_like(c33, self.medium.stiffness) if self.closed else c33
        )

    @property
    def centre(self) -> float:
        """Return the row (with fraction) of the middle of the solid row's share."""
        excess = 0.5 * (self.solid_weight - 1.0)
        return self.solid_row + (excess if self.solid_above else -excess)

    @property
    def strain(self) -> dict[int, float]:
        """Return how much of d_x vx in each row belongs to the cell that the contact cuts.

        The strain of the fluid's part is that in its middle, on the line through two rows.
        """
        # Linear interpolation in the fluid at the middle of its part of the cell.
        solid = self.solid_row
        fluid, step = (solid + 1, 1) if self.solid_above else (solid - 1, -1)
        mine = fluid == self.row
        fraction = 1.0 - self.share if mine else self.share
        away = 0.5 * self.share if mine else -0.5 - 0.5 * self.share
        return {
            solid: 1.0 - fraction,
            fluid: fraction * (1.0 - away),
            fluid + step: fraction * away,
        }

    def operators(self, c: np.ndarray, stencils: int = 1) -> ContactOperators:
        """Build the differences across a contact with closed rows.

        Args:
            c: staggered coefficients of the interior (spacing 1).
            stencils: half widths of interior beyond the closed rows on each side.
        """
        # Distance of the first node below the contact; 1 - it of the first above.
        below = self.half + 1 - self.z_index
        solid_above = self.solid_above
        sides = (_side(c, 1.0 - below, solid_above), _side(c, below, not solid_above))
        reach = len(sides[0].node_norm) + stencils * len(c)
        # From row half - reach + 1: node rows to half + reach, half rows to half + reach - 1.
        nodes = np.arange(2 * reach)
        halves = np.arange(2 * reach - 1)
        # Interior differences: +c_m ahead, -c_m behind.
        ahead = nodes[None, :] - halves[:, None]
        padded = np.append(c, np.zeros(2 * reach))
        plain = np.where(ahead > 0, 1.0, -1.0) * padded[np.where(ahead > 0, ahead - 1, -ahead)]
        middle = reach - 1
        # Blocks of both sides; none reads across the contact.
        q = plain.copy()
        q[:middle, middle + 1 :] = 0.0
        q[middle + 1 :, : middle + 1] = 0.0
        node_norm = np.ones(len(nodes))
        half_norm = np.ones(len(halves))
        # Mirror the closure of the side above: z turns its sign.
        for side, sign in zip(sides, (-1, 1), strict=True):
            n = len(side.node_norm)
            at_nodes = middle + (sign + 1) // 2 + sign * np.arange(side.q.shape[1])
            at_halves = middle + sign * np.arange(n)
            q[np.ix_(at_halves, at_nodes)] = sign * side.q
            node_norm[at_nodes[:n]] = side.node_norm
            half_norm[at_halves] = side.half_norm
        shares = (float(sides[0].half_norm[0]), float(sides[1].half_norm[0]))
        # The contact's half row is shared by both sides.
        half_norm[middle] = sum(shares)
        first = self.half - middle
        return ContactOperators(self, first, q, plain, half_norm, node_norm, shares)


@dataclass(frozen=True)
class ContactOperators:
    """Differences across a contact in a window of rows about it.

    Attributes:
        contact: the contact.
        first: node row and half row at which the window begins.
        q: (half rows, node rows) Q, spacing 1.
        plain: (half rows, node rows) weights of the sweeps of nodes in half rows, spacing 1.
        half_norm: (half rows) cells that each stands for; that of the contact is of both sides.
        node_norm: (node rows) cells that each stands for.
        shares: cells above and below the contact that its half row stands for.
    """

    contact: Contact
    first: int
    q: np.ndarray
    plain: np.ndarray
    half_norm: np.ndarray
    node_norm: np.ndarray
    shares: tuple[float, float]

    @property
    def middle(self) -> int:
        """Index of the contact's half row in the window."""
        return self.contact.half - self.first

    @property
    def solid_nodes(self) -> np.ndarray:
        """Whether node rows of the window are of the solid."""
        above = np.arange(len(self.node_norm)) <= self.middle
        return above if self.contact.solid_above else ~above

    @property
    def sheared(self) -> np.ndarray:
        """Whether half rows of the window have shear stress."""
        offset = np.arange(len(self.half_norm)) - self.middle
        return offset < 0 if self.contact.solid_above else offset > 0

    def up(self) -> np.ndarray:
        """Return d/dz from nodes to half rows, that of the contact times its norm."""
        return self.q / self.half_norm[:, None]

    def down(self) -> np.ndarray:
        """Return d/dz from half rows to nodes."""
        return -self.q.T / self.node_norm[:, None]


def _side(c: np.ndarray, distance: float, solid: bool) -> ContactClosure:
    return contact_closure(tuple(float(n) for n in c), round(distance, 9), solid)


@dataclass(frozen=True)
class FluidContacts(SlipContacts):
    """The horizontal contacts of fluid and solid of a run."""

    every: tuple[Contact, ...] = ()
    corrected: tuple[Contact, ...] = ()


def all_contacts(earth: _Sampled, grid: Grid) -> list[Contact]:
    """List the contacts of fluid and solid in an earth that varies with z only, from the top."""
    if not earth.layered:
        return []
    # Scan vs along z at 1/8 cell; each change of fluid and solid is a contact.
    cells = np.arange(-0.5, grid.points[2] - 0.5, 1.0 / _SAMPLES)
    fluid = _fluid(earth, grid, cells)
    jumps = np.flatnonzero(fluid[1:] != fluid[:-1])
    z_indices = [_bisect(earth, grid, cells[k], cells[k + 1]) for k in jumps]
    return [
        _contact(earth, grid, z_index, bool(fluid[k]))
        for z_index, k in zip(z_indices, jumps, strict=True)
    ]


def separate_contacts(
    contacts: list[Contact], grid: Grid, terms: int, surface: int = 0
) -> tuple[Contact, ...]:
    """Return the contacts of fluid and solid that have rows of their own.

    Contacts that share rows, or whose rows an absorbing layer or a closed surface would change, are
    left out: there the averages of the model must do.

    Args:
        contacts: all contacts of the earth.
        grid: the grid.
        terms: half the order of the differences.
        surface: rows under a free surface with their own operators.
    """
    # Rows that layers, a closed surface and other contacts leave alone.
    low = grid.low[2] + terms + 1
    high = grid.points[2] - grid.high[2] - terms - 2
    kept = []
    for k, contact in enumerate(contacts):
        first = surface + (terms + 1 if contact.solid_above else 0) if surface else low
        others = contacts[:k] + contacts[k + 1 :]
        if all(_share_no_rows(contact, c) for c in others) and first <= contact.half <= high:
            closed = _has_clearance(contact, others, grid, terms, surface)
            kept.append(replace(contact, closed=closed))
    return tuple(kept)


def _has_clearance(
    contact: Contact, others: list[Contact], grid: Grid, terms: int, surface: int
) -> bool:
    """Whether no layer, closed surface or other contact reaches the rows that would be closed."""
    # The closed rows of both sides, and stencils that read them.
    rows = closed_rows(terms)
    top = surface + max(rows, terms) if surface else grid.low[2] + rows + 1
    bottom = grid.points[2] - grid.high[2] - 2 - rows
    away = rows + max(rows, 2 * terms + 2)
    alone = all(abs(contact.half - other.half) >= away for other in others)
    return alone and top <= contact.half + 1 and contact.half <= bottom


def _share_no_rows(first: Contact, second: Contact) -> bool:
    """Whether contacts share no rows: each uses a row of the solid, and two of the fluid."""
    # Rows between two contacts: a row of a solid, two of a fluid.
    upper, lower = sorted((first, second), key=lambda contact: contact.half)
    return lower.half - upper.half > (2 if upper.solid_above else 1)


def _fluid(earth: _Sampled, grid: Grid, z_index: np.ndarray) -> np.ndarray:
    return earth.sample(grid.coordinate("z", z_index), None)["vs"] == 0.0


def _bisect(earth: _Sampled, grid: Grid, low: float, high: float) -> float:
    above = _fluid(earth, grid, np.array([low]))
    for _ in range(48):
        # Bisection: 48 halvings of 1/8 cell come down to rounding.
        middle = 0.5 * (low + high)
        if _fluid(earth, grid, np.array([middle])) == above:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _contact(earth: _Sampled, grid: Grid, z_index: float, fluid_above: bool) -> Contact:
    n = int(np.floor(z_index + 0.5))
    offset = z_index - n
    # Own medium: that of the larger part; a tie is solid.
    medium_above = offset > _TIE if fluid_above else offset > -_TIE
    edges = (n - 0.5, z_index, n + 0.5)
    middle = np.array([sum(pair) / 2 for pair in pairwise(edges)])
    # The part of the other medium may be empty: ask a little beyond the contact.
    middle[1 if medium_above else 0] = z_index + (0.25 if medium_above else -0.25)
    # Media in the middles of both parts of the cell.
    above, below = _rocks(earth, grid, middle)
    medium, other = (above, below) if medium_above else (below, above)
    # r of the other medium; density of the cell about the half row by parts.
    share = 0.5 - abs(offset)
    fraction = min(abs(offset), 1.0)
    density = fraction * medium.rho + (1.0 - fraction) * other.rho
    return Contact(n, n + 1 if medium_above else n - 1, share, medium, other, density, z_index)


def _rocks(earth: _Sampled, grid: Grid, z_indices: np.ndarray) -> list[Rock]:
    """Return the media at rows (n, with fractions)."""
    samples = earth.sample(grid.coordinate("z", z_indices), None)
    if "c33" in samples:
        # Rock of given constants stands for the VTI rock that it has to be (`upright_beside`).
        fluid = samples["vs"] == 0.0
        parameters = elastic_constants.thomsen(elastic_constants.constants_of(samples))
        samples = samples | {n: np.where(fluid, 0.0, value) for n, value in parameters.items()}
    names = [field.name for field in fields(Rock) if field.name in samples]
    count = range(len(z_indices))
    return [Rock(**{name: float(samples[name][k]) for name in names}) for k in count]


def own_rock(earth: _Sampled, grid: Grid, contact: Contact) -> Rock:
    """Return the medium of a contact's row n in an earth of the same contacts."""
    end = contact.row + (0.5 if contact.row > contact.beside else -0.5)
    (rock,) = _rocks(earth, grid, np.array([0.5 * (contact.z_index + end)]))
    return rock


def upright_cells(terms: int) -> int:
    """Return within how many cells of a contact with rows of its own rock has to be upright.

    Its rows have no coupling of normal and shear strains, nor have rows whose interpolation reads
    them, or cells in their averages.
    """
    return closed_rows(terms) + 4


def upright_beside(earth: _Sampled, grid: Grid, contact: Contact, terms: int) -> bool:
    """Whether all rock near a contact is isotropic, or transversely isotropic about z."""
    reach = upright_cells(terms)
    z_indices = contact.z_index + np.arange(-reach, reach, 1.0 / _SAMPLES)
    samples = earth.sample(grid.coordinate("z", z_indices), None)
    if not {"theta", "c33"} & samples.keys():
        return True
    fluid = samples["vs"] == 0.0
    return bool((fluid | elastic_constants.upright(samples)).all())


def contacts_of(
    scenario: Scenario, physics: Physics, earth: Earth, grid: Grid, stencil: Stencil,
    closure: SurfaceClosure | None,
) -> FluidContacts:  # fmt: skip
    """Return the horizontal contacts of fluid and solid of a run."""
    if not physics.fluid_meets_solid or scenario.averaging != "effective":
        return FluidContacts()
    interfaces = all_contacts(earth, grid)
    surface_rows = closure.rows if closure else 0
    terms = stencil.order // 2
    contacts = separate_contacts(interfaces, grid, terms, surface_rows)
    kept = tuple(c for c in contacts if upright_beside(earth, grid, c, terms))
    return FluidContacts(tuple(interfaces), kept)
