"""What a contact of fluid and solid changes in the rows of a subdomain.

With l = lambda / (lambda + 2 mu), E = 4 mu (lambda + mu) / (lambda + 2 mu) and the rows' weights w
in cells (`seismo.features.contacts.contact`), the discrete energy is

    1/2 sum of  w (rho vx^2 + sigma_plate . e_plate) + rho vz^2 + szz^2 / c33 + sxz^2 / mu

where sxx = l szz + E e and e = d_x ux (+ d_y uy). Row n has the own medium, but for the mean c33
of Backus (1962). All else follows from the strains, as their negative adjoints:

    szz[n]  c33 (d_z uz + sum of strain[i] l_i e[i]) over two rows of fluid and one of
            solid; so vx of a row that lends or borrows feels szz[n] too
    sxz     vx of the solid is continued evenly about the half row of the contact, sxz oddly; there
            sxz = 0, and in the rows of the fluid sxz does not act. The even continuation has d_z vx
            = 0 where the truth is -d_x vz: the strains lose this share of d_x vz at the contact
            (`ShearPair.leans`), so that a rotation of the solid makes no stress

The energy is therefore conserved. A few rows of a column change: they are corrected after the
sweeps of each stage (`seismo.solver.stages`). Symbols: vx, vy, vz velocities (m/s),
sxx .. syz stresses (Pa), rho density (kg/m3), lambda, mu, c33 moduli (Pa), dt time step (s).
"""

from __future__ import annotations

import numpy as np

from seismo.features.contacts.contact import Contact
from seismo.solver.stages import (
    Matrix,
    Responses,
    RowSlope,
    RowSums,
)


class ShearPair:
    """Differences of (vx, sxz) near the contacts: what they should be, less what the sweeps do."""

    def __init__(self, contacts: tuple[Contact, ...], c: np.ndarray, points: int, closed) -> None:
        """Take the coefficients / spacing, the number of rows and those of a closed surface."""
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
        """Return what the sweeps take from the half rows in a row of vx."""
        if row < len(self._closed):
            return list(enumerate(self._closed[row]))
        c = self._c
        pairs = [(row + m, c[m]) for m in range(len(c))]
        return pairs + [(row - 1 - m, -c[m]) for m in range(len(c))]

    def corrections(self) -> tuple[Matrix, Matrix]:
        """Return the weights of vx in sxz and of sxz in vx, to be added to those of the sweeps."""
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
        # Take back what the sweeps did with sxz of these half rows.
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
        """Drop what cancels, and the rows so far away that their neighbours were not looked at."""
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


def velocity_terms(
    contacts, fall: Matrix, leans: dict, c: np.ndarray, axes: str, rho, rho_x, dt: float
) -> list:
    """List what to add to the velocities after their sweep.

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


def stress_terms(
    contacts, rise: Matrix, leans: dict, axes: str, responses: Responses, dt: float
) -> list:
    """List what to add to the stresses after their sweep.

    Args:
        contacts: the contacts.
        rise: weights of vx in sxz.
        leans: half row of a contact -> half row -> see `ShearPair.leans`.
        axes: "xz" or "xyz".
        responses: what the strains of node rows (zz) and half rows (xz, yz) add to fields.
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
