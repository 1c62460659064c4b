"""The closed rows of a contact of fluid and solid in the rows of the grid, and how they swing.

Both sides of `seismo.features.contacts.closure` meet in the half row of the contact,
whose vz is the velocity
of the contact itself and has the mass of both: m = rho h_0 of the side above + that of the side
below. With the matrix Q of both sides (half rows, node rows; z down) the rows near the contact are

    vz      rho dvz/dt = inv(H_half) Q szz,   m dvz/dt = Q szz at the contact
    szz     dszz/dt = -c33 inv(H_node) Q^T vz + c13 (dvx/dx + dvy/dy),  likewise sxx, syy
    sxz     dsxz/dt = mu (inv(H_half) Q vx + dvz/dx)    half rows of the solid, 0 at the contact
    vx      rho dvx/dt = -inv(H_node) Q^T sxz + dsxx/dx + dsxy/dy,  of the fluid without sxz

with the medium of its own side in each row. The energy, the sum over all rows of

    1/2 [H_node (rho vx^2 + strain energy) + H_half (rho vz^2 + sxz^2 / mu)]

does not change. What the sweeps do differs by a few weighted rows
(`seismo.solver.stages.RowSums`). Symbols as in `seismo.features.contacts.terms`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seismo.equations.rock.plane_waves import Rock
from seismo.features.contacts import terms as fluid_solid_terms
from seismo.features.contacts.contact import Contact, ContactOperators, FluidContacts
from seismo.solver.stages import (
    Matrix,
    Responses,
    RowSlope,
    RowSums,
)

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization


def _matrix(weights: np.ndarray, first: int, kept=None) -> Matrix:
    """Name the rows of weights that are not zero."""
    small = 1e-13 * np.abs(weights).max()
    return {
        (first + int(t), first + int(s)): float(weights[t, s])
        for t, s in np.argwhere(np.abs(weights) > small)
        if kept is None or kept[t]
    }


def velocity_terms(
    operators: ContactOperators, axes: str, spacing: float, rho, rho_x, dt: float
) -> list:
    """List what to add to the velocities after their sweep.

    Args:
        operators: of a contact.
        axes: "xz" or "xyz".
        spacing: of rows [m].
        rho: function(row) -> density of the sweep's vz at a node [kg/m3].
        rho_x: function(row) -> density of its vx and vy [kg/m3].
        dt: time step [s].
    """
    first = operators.first
    halves, nodes = (first + np.arange(n) for n in operators.q.shape)
    # Mass of half rows: rho of the sweeps, and that of both sides at the contact.
    between = np.array([0.5 * (rho(h) + rho(h + 1)) for h in halves])
    mass = between.copy()
    mass[operators.middle] = contact_mass(operators, rho) / operators.half_norm[operators.middle]
    # rho dvz/dt = inv(H_half) Q szz, less what the sweeps did.
    across = operators.up() / mass[:, None] - operators.plain / between[:, None]
    density = np.array([rho_x(n) for n in nodes])
    # rho dvx/dt = -inv(H_node) Q^T sxz in the solid, none in the fluid.
    along = np.where(operators.solid_nodes[:, None], operators.down(), 0.0) + operators.plain.T
    along = np.where(operators.sheared, along, 0.0) / density[:, None]
    scale = dt / spacing
    shear = _matrix(scale * along, first)
    return [
        RowSums("vz", "szz", _matrix(scale * across, first)),
        *(RowSums(f"v{a}", f"s{a}z", shear) for a in axes[:-1]),
    ]


def contact_mass(operators: ContactOperators, rho) -> float:
    """Return the mass of the contact's half row [kg/m3]: function(row) -> density of a node row."""
    above, below = operators.shares
    return above * rho(operators.contact.half) + below * rho(operators.contact.half + 1)


def stress_terms(
    operators: ContactOperators, axes: str, spacing: float, responses: Responses, dt: float
) -> list:
    """List what to add to the stresses after their sweep.

    Args:
        operators: of a contact.
        axes: "xz" or "xyz".
        spacing: of rows [m].
        responses: what the strains of node rows (zz) and half rows (xz, yz) add to fields.
        dt: time step [s].
    """
    first = operators.first
    scale = dt / spacing
    halves, nodes = (first + np.arange(n) for n in operators.q.shape)
    # e_zz = -inv(H_node) Q^T vz, less what the sweeps took for it (-plain^T).
    across = operators.down() + operators.plain.T
    # 2 e_xz = inv(H_half) Q vx + dvz/dx, of which the sweeps took the first term from `plain`.
    along = operators.up() - operators.plain
    terms = []
    for name, response in responses["zz"].items():
        stretch = np.array([response(int(n)) for n in nodes])[:, None]
        terms.append(RowSums(name, "vz", _matrix(scale * stretch * across, first)))
    for a in axes[:-1]:
        for name, response in responses[f"{a}z"].items():
            shear = np.array([response(int(h)) for h in halves])[:, None] * along
            sheared = _matrix(scale * shear, first, operators.sheared)
            terms.append(RowSums(name, f"v{a}", sheared))
    return terms


def row_norms(contacts: tuple[Contact, ...], c: np.ndarray, rows: int):
    """Return the cells that node rows and half rows stand for (rows), in units of their density.

    Args:
        contacts: of the run.
        c: staggered coefficients of the interior (spacing 1).
        rows: of the grid.
    """
    nodes = np.ones(rows)
    halves = np.ones(rows)
    for contact in contacts:
        if contact.closed:
            # Norms are 1 beyond the closed rows; that of the contact is mass over mean density.
            operators = contact.operators(c)
            at = operators.first + np.arange(len(operators.node_norm))
            inside = (at >= 0) & (at < rows)  # interior may reach beyond a rigid face
            nodes[at[inside]] = operators.node_norm[inside]
            inside = inside[:-1]
            halves[at[:-1][inside]] = operators.half_norm[inside]
            densities = contact.above.rho, contact.below.rho
            halves[contact.half] = np.dot(operators.shares, densities) / np.mean(densities)
    return nodes, halves


def uncut_rows(discretization: Discretization) -> frozenset[int]:
    """Return the rows before which a grid cannot be cut, as rows would read beyond a halo."""
    c = discretization.stencil.first
    halo = discretization.halo
    uncut: set[int] = set()
    for contact in discretization[FluidContacts].corrected:
        if contact.closed:
            # Rows that read further than a halo across a cut forbid it.
            rows = contact.operators(c)
            reads = {*_matrix(rows.up(), rows.first), *_matrix(rows.down(), rows.first)}
            for row, read in reads:
                uncut.update(range(row + 1, read - halo + 1), range(read + halo + 1, row + 1))
    return frozenset(uncut)


@dataclass(frozen=True)
class ColumnRows:
    """The rows of a column that contacts are among.

    Attributes:
        axes: "xz" or "xyz".
        spacing: of rows [m].
        points: rows of the grid.
        c: staggered coefficients / spacing.
        closed: (rows, width) weights / spacing of half points in the rows of a closed surface.
        rho: function(row) -> density of the sweep's vz at a node [kg/m3].
        rho_x: function(row) -> density of its vx and vy [kg/m3].
        responses: what the strains of node rows (zz) and half rows (xz, yz) add to fields.
    """

    axes: str
    spacing: float
    points: int
    c: np.ndarray
    closed: np.ndarray
    rho: Callable[[int], float]
    rho_x: Callable[[int], float]
    responses: Responses


def row_terms(
    contacts: tuple[Contact, ...], rows: ColumnRows, dt: float
) -> tuple[list[RowSums | RowSlope], list[RowSums | RowSlope]]:
    """List what contacts add to the velocities of rows and to their stresses, in a step of dt s."""
    axes = rows.axes
    densities = rows.rho, rows.rho_x
    # Contacts without closed rows.
    open_ones = tuple(contact for contact in contacts if not contact.closed)
    pair = fluid_solid_terms.ShearPair(open_ones, rows.c, rows.points, rows.closed)
    rise, fall = pair.corrections()
    leans = pair.leans(rows.spacing)
    velocity = fluid_solid_terms.velocity_terms(
        open_ones, fall, leans, rows.c, axes, *densities, dt
    )
    stress = fluid_solid_terms.stress_terms(open_ones, rise, leans, axes, rows.responses, dt)
    for contact in contacts:
        if contact.closed:
            # Contacts with closed rows: one-sided differences (summation by parts).
            operators = contact.operators(rows.c * rows.spacing)
            velocity += velocity_terms(operators, axes, rows.spacing, *densities, dt)
            stress += stress_terms(operators, axes, rows.spacing, rows.responses, dt)
    return velocity, stress


def vibrations(
    operators: ContactOperators, media: tuple[Rock, Rock], k: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return how a column of two media between fixed ends vibrates.

    Args:
        operators: of the contact, and of as many rows as the column has.
        media: above and below it.
        k: wavenumber along the contact (spacing 1).

    Returns:
        angular frequencies (modes) from the highest down, and shapes (modes, rows of vx, then of
        vz), weighted by the root of mass.
    """
    count = len(operators.node_norm)
    upper_node = np.arange(count) <= operators.middle
    upper_half = np.arange(count - 1) < operators.middle
    side = [medium.rho for medium in media]
    # Media of rows: node rows, half rows, the contact's with both masses.
    rho = np.where(upper_node, *side)
    rho_half = np.where(upper_half, *side)
    above, below = operators.shares
    total = above + below
    rho_half[operators.middle] = (above * side[0] + below * side[1]) / total
    c33 = np.where(upper_node, *(medium.stiffness for medium in media))
    stretch = np.where(upper_node, *(medium.thin_stretch for medium in media))
    plate = np.where(upper_node, *(medium.plate for medium in media))
    mu = np.where(operators.sheared, np.where(upper_half, *(m.shear for m in media)), 0.0)
    # Strains of (vx, vz) and their stiffness: across with what is along, of plates, and shear.
    strains = [
        (operators.node_norm * c33, -k * np.diag(stretch), operators.down()),
        (operators.node_norm * plate, k * np.eye(count), np.zeros((count, count - 1))),
        (operators.half_norm * mu, operators.up(), k * np.eye(count - 1)),
    ]
    # Frequencies: singular values of S^1/2 B M^-1/2, with strains B, stiffness S, mass M.
    root = 1.0 / np.sqrt(np.append(operators.node_norm * rho, operators.half_norm * rho_half))
    stack = np.vstack([np.sqrt(w)[:, None] * np.hstack([x, z]) * root for w, x, z in strains])
    _, frequencies, shapes = np.linalg.svd(stack, full_matrices=False)
    return frequencies, shapes
