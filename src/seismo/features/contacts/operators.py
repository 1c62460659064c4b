"""Rows about a contact of fluid and solid: closed ones, and those that a cut cell is shared out to.

Both sides of `seismo.features.contacts.closure` meet in the half row of the contact, whose vz is
the velocity of the contact itself and has the mass of both: m = rho h_0 of the side above + that of
the side below. With the matrix Q of both sides (half rows, node rows; z down) the rows near the
contact are

    vz      rho dvz/dt = inv(H_half) Q szz,   m dvz/dt = Q szz at the contact
    szz     dszz/dt = -c33 inv(H_node) Q^T vz + c13 (dvx/dx + dvy/dy),  likewise sxx, syy
    sxz     dsxz/dt = mu (inv(H_half) Q vx + dvz/dx)    half rows of the solid, 0 at the contact
    vx      rho dvx/dt = -inv(H_node) Q^T sxz + dsxx/dx + dsxy/dy,  of the fluid without sxz

with the medium of its own side in each row. The energy, the sum over all rows of

    1/2 [H_node (rho vx^2 + strain energy) + H_half (rho vz^2 + sxz^2 / mu)]

does not change.

Without room for closed rows the discrete energy is, with l = lambda / (lambda + 2 mu),
E = 4 mu (lambda + mu) / (lambda + 2 mu) and the rows' weights w in cells
(`seismo.features.contacts.contact`),

    1/2 sum of  w (rho vx^2 + sigma_plate . e_plate) + rho vz^2 + szz^2 / c33 + sxz^2 / mu

where sxx = l szz + E e and e = d_x ux (+ d_y uy). Row n has the own medium, but for the mean c33
of Backus (1962). All else follows from the strains, as their negative adjoints:

    szz[n]  c33 (d_z uz + sum of strain[i] l_i e[i]) over two rows of fluid and one of
            solid; so vx of a row that lends or borrows feels szz[n] too
    sxz     vx of the solid is continued evenly about the half row of the contact, sxz oddly; there
            sxz = 0, and in the rows of the fluid sxz does not act. The even continuation has d_z vx
            = 0 where the truth is -d_x vz: the strains lose this share of d_x vz at the contact
            (`ShearPair.leans`), so that a rotation of the solid makes no stress

The energy is conserved there as well. What the sweeps do differs by a few weighted rows, which are
corrected after the sweeps of each stage (`seismo.solver.stages.RowSums`). Symbols: vx, vy, vz
velocities (m/s), sxx .. syz stresses (Pa), rho density (kg/m3), lambda, mu, c33 moduli (Pa), dt
time step (s).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seismo.equations.rock.plane_waves import Rock
from seismo.features.contacts.contact import Contact, ContactOperators, FluidContacts
from seismo.solver.stages import Matrix, Responses, RowSlope, RowSums

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization


class ShearPair:
    """Differences of (vx, sxz) near the contacts: exact, less the sweeps'."""

    def __init__(self, contacts: tuple[Contact, ...], c: np.ndarray, points: int, closed) -> None:
        """Take the coefficients / spacing, the number of rows and of rows of a closed surface."""
        self._contacts = contacts
        self._c = c
        self._points = points
        self._closed = closed
        self._ends = [(k.half, k.solid_above) for k in contacts]
        self._centre = {k.solid_row: k.centre for k in contacts}
        # Half rows whose stencils may touch a contact.
        reach = 2 * len(c) + 2
        half_rows = sorted({i for h, _ in self._ends for i in range(h - reach, h + reach + 1)})
        self._half_rows = [i for i in half_rows if 0 <= i < points]

    def _segment(self, half: int) -> tuple[float, float] | None:
        """Return the first and last row of the solid about a half row, None in a fluid."""
        nearest_half, solid_above = min(self._ends, key=lambda end: abs(end[0] - half))
        if nearest_half == half or solid_above != (half < nearest_half):
            return None
        # The solid ends at the next contacts above and below.
        low = max((p + 1 for p, _ in self._ends if p < half), default=-np.inf)
        return low, min((p for p, _ in self._ends if p > half), default=np.inf)

    def _plain(self, half: int) -> list[tuple[int, float]]:
        c = self._c
        pairs = [(half + 1 + m, c[m]) for m in range(len(c))]
        return pairs + [(half - m, -c[m]) for m in range(len(c))]

    def _swept(self, row: int) -> list[tuple[int, float]]:
        """Return the sweeps' weights of the half rows in a row of vx."""
        if row < len(self._closed):
            return list(enumerate(self._closed[row]))
        c = self._c
        pairs = [(row + m, c[m]) for m in range(len(c))]
        return pairs + [(row - 1 - m, -c[m]) for m in range(len(c))]

    def corrections(self) -> tuple[Matrix, Matrix]:
        """Return the weights of vx in sxz and of sxz in vx, to be added to the sweeps'."""
        weight = {contact.solid_row: contact.solid_weight for contact in self._contacts}
        rise: Matrix = {}
        fall: Matrix = {}
        for half in self._half_rows:
            segment = self._segment(half)
            if segment is None:
                continue
            # vx is continued evenly about the contact; sxz acts by the negative adjoint.
            for row, c in self._plain(half):
                even = _fold(row, *segment)
                _add(rise, half, even, c)
                _add(rise, half, row, -c)
                _add(fall, even, half, -c / weight.get(even, 1.0))
        # Take back the sweeps' use of sxz of these half rows.
        for row in self._half_rows:
            for half, c in self._swept(row):
                if half in self._half_rows and self._segment(half) is not None:
                    _add(fall, row, half, -c)
        return self._trimmed(rise), self._trimmed(fall)

    def leans(self, spacing: float) -> dict[int, dict[int, float]]:
        """Return, for each contact's half row, the share of d_x vz to remove from shear strains.

        Beside the contact d_z vx = -d_x vz, which an even continuation does not know: it turns a
        rotation of the solid into shear. What it makes of d_z z, with the solid row where the
        middle of its part of the solid is, tells how much.
        """
        shares: dict[int, dict[int, float]] = {h: {} for h, _ in self._ends}
        for half in self._half_rows:
            segment = self._segment(half)
            if segment is None:
                continue
            # d_z z of the even continuation, less that of the interior.
            lost = 0.0  # against the slope away from contacts: fitted coefficients do not make it 1
            for row, c in self._plain(half):
                even = _fold(row, *segment)
                lost += c * spacing * (row - self._centre.get(even, even))
            nearest = min(self._ends, key=lambda end: abs(end[0] - half))[0]
            if abs(lost) > 1e-12:
                shares[nearest][half] = lost
        return shares

    def _trimmed(self, matrix: Matrix) -> Matrix:
        """Drop cancelling weights, and rows at the ends, whose neighbours were not considered."""
        reach = len(self._c) + 1
        small = 1e-12 * np.abs(self._c).max()
        return {
            (t, s): w
            for (t, s), w in matrix.items()
            if abs(w) > small and min(abs(t - h) for h, _ in self._ends) <= reach
        }


def _add(matrix: Matrix, target: int, source: int, value: float) -> None:
    matrix[target, source] = matrix.get((target, source), 0.0) + value


def _fold(row: int, low: float, high: float) -> int:
    """Continue evenly about the half rows before `low` and behind `high`."""
    # Mirror about the half row low - 1/2 or high + 1/2.
    while not low <= row <= high:
        row = int(2 * low - 1 - row) if row < low else int(2 * high + 1 - row)
    return row


def shared_velocity_terms(
    contacts, fall: Matrix, leans: dict, c: np.ndarray, axes: str, rho, rho_x, dt: float
) -> list:
    """List the terms to add to the velocities after their sweep.

    Args:
        contacts: the contacts.
        fall: weights of sxz in vx.
        leans: half row of a contact -> half row -> see `ShearPair.leans`.
        c: staggered coefficients / spacing along z.
        axes: "xz" or "xyz".
        rho: function(row) -> density of the sweep's vz at a node [kg/m3].
        rho_x: function(row) -> density of its vx and vy [kg/m3].
        dt: time step [s].
    """
    # dvx/dt = d_z sxz / rho
    shear = {(t, s): w * dt / rho_x(t) for (t, s), w in fall.items()}
    terms: list = [RowSums(f"v{a}", f"s{a}z", shear) for a in axes[:-1]]
    rise: Matrix = {}
    for k in contacts:
        # vz of the contact's half row: density of its cell in place of the mean of two nodes.
        gain = dt / k.density - 2.0 * dt / (rho(k.half) + rho(k.half + 1))
        for m, value in enumerate(c):
            rise[k.half, k.half + 1 + m] = gain * value
            rise[k.half, k.half - m] = -gain * value
        for row, fraction in k.strain.items():
            if row == k.row or not fraction:
                continue
            # Adjoint of the strain that szz[n] takes from this row: vx feels szz[n].
            stretch = k.solid.thin_stretch if row == k.solid_row else 1.0
            gain = dt / rho_x(row) * stretch * fraction / (1.0 + fraction)
            difference = {k.row: 1.0, row: -1.0}
            terms += [
                RowSlope({(f"v{a}", row): gain}, "szz", difference, a, True) for a in axes[:-1]
            ]
        if lean := leans[k.half]:
            # Adjoint of the lost shear d_x vz: vz feels d_x sxz.
            target = {("vz", k.half): -dt / k.density}
            terms += [RowSlope(target, f"s{a}z", lean, a, False) for a in axes[:-1]]
    return [*terms, RowSums("vz", "szz", rise)]


def shared_stress_terms(
    contacts, rise: Matrix, leans: dict, axes: str, responses: Responses, dt: float
) -> list:
    """List the terms to add to the stresses after their sweep.

    Args:
        contacts: the contacts.
        rise: weights of vx in sxz.
        leans: half row of a contact -> half row -> see `ShearPair.leans`.
        axes: "xz" or "xyz".
        responses: of fields to the strains of node rows (zz) and half rows (xz, yz).
        dt: time step [s].
    """
    terms: list = []
    for a in axes[:-1]:
        for name, response in responses[f"{a}z"].items():
            shear = {(t, s): w * dt * response(t) for (t, s), w in rise.items()}
            terms.append(RowSums(name, f"v{a}", shear))
    for k in contacts:
        # e_zz[n] += sum strain[i] l_i e[i] - l e[n]
        targets = {(n, k.row): dt * response(k.row) for n, response in responses["zz"].items()}
        stretch = dict(k.strain)
        stretch[k.solid_row] *= k.solid.thin_stretch
        stretch[k.row] -= k.medium.thin_stretch
        terms += [RowSlope(targets, f"v{a}", stretch, a, False) for a in axes[:-1]]
        for a in axes[:-1]:
            # 2 e_xz loses the share `lean` of d_x vz.
            lost = {
                (name, r): -lean * dt * response(r)
                for name, response in responses[f"{a}z"].items()
                for r, lean in leans[k.half].items()
            }
            terms += [RowSlope(lost, "vz", {k.half: 1.0}, a, True)] if lost else []
    return terms


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
    """List the terms to add to the velocities after their sweep.

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
    # rho dvz/dt = inv(H_half) Q szz, less the sweeps' part.
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
    """List the terms to add to the stresses after their sweep.

    Args:
        operators: of a contact.
        axes: "xz" or "xyz".
        spacing: of rows [m].
        responses: of fields to the strains of node rows (zz) and half rows (xz, yz).
        dt: time step [s].
    """
    first = operators.first
    scale = dt / spacing
    halves, nodes = (first + np.arange(n) for n in operators.q.shape)
    # e_zz = -inv(H_node) Q^T vz, less the sweeps' part (-plain^T).
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
        responses: of fields to the strains of node rows (zz) and half rows (xz, yz).
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
    """List the contacts' terms of velocities and stresses of rows, in a step of dt s."""
    axes = rows.axes
    densities = rows.rho, rows.rho_x
    # Contacts without closed rows.
    open_ones = tuple(contact for contact in contacts if not contact.closed)
    pair = ShearPair(open_ones, rows.c, rows.points, rows.closed)
    rise, fall = pair.corrections()
    leans = pair.leans(rows.spacing)
    velocity = shared_velocity_terms(open_ones, fall, leans, rows.c, axes, *densities, dt)
    stress = shared_stress_terms(open_ones, rise, leans, axes, rows.responses, dt)
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
    # Strains of (vx, vz) and their stiffness: across with along, of plates, and shear.
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
