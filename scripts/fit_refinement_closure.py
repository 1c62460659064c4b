"""Fit the closures beside a plane of refinement to plane waves.

    python scripts/fit_refinement_closure.py ORDER ... [--rows 6]

rewrites the entries of these orders in src/seismo/features/refinement/closure.json, ten seconds
to a minute each.

A half-space of spacing 1 takes from beyond the plane a value on it, and gives another one back. For
u on nodes and w on half points, mu = rho = 1, s = w^2 less the wavenumber along the plane squared,

    u* is taken   D' (G u + inv(H_half) l (u[0] - u*)) + s u = 0,   l w is given,
    w* is taken   G (D w - e_0 w* / H_node[0]) + s w = 0,           u[0] is given,

with G = inv(H_half) Q, D = -inv(H_node) Q^T, D' = D - e_0 l / H_node[0]: SH waves are the first,
and P waves of vertical incidence the second; the finer grid has the other of both. What is given
over what is taken is to be i k, k the interior's own difference of the wave, and the wave inside
that of an amplitude 1 on the plane: such a plane sends nothing back, and shifts nothing. Half of
the first error is what is sent back. Energy is conserved for any Q, norms and l. What is minimised,
over all that is exact for powers 0 to 2 (0 and 1 at order 2):

- these four errors over the band of Ricker wavelets of 4 to 14 points in their shortest wavelength,
  weighted by their spectra, where (5 / points)^4 times 0.5 % counts as 1;
- of evanescent waves (s < 0), at half that weight;
- contacts with rock three times as stiff 1 to 4 rows below the plane, by what they send back at 7,
  10 and 25 points, where 5 (10 / points)^2 % of it count as a third;
- largest eigenvalues above 1.005 of the interior's, and norms below 0.2, softly.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fit_surface_closure import rounded, written
from scipy.optimize import least_squares

from seismo.grid.coefficients import Stencil, largest_symbol
from seismo.grid.surface_closure import (
    ClosureConditions,
    ClosureKind,
    interior_matrix,
    surface_closure,
)

DATA = Path(__file__).parents[1] / "src" / "seismo" / "features" / "refinement" / "closure.json"
BAND = (4.0, 5.0, 7.0, 10.0, 14.0)  # points in the shortest wavelength, at 2.5 times the frequency
SHORTEST = 0.36  # wavelengths a point
WANTED, WANTED_AT = 0.005, 5.0  # error, and the points in a wavelength where that counts as 1
EVANESCENT = 0.5  # weight of waves that decay away from the plane
STIFF, HEAVY = 3.0, 1.2  # moduli and density below a contact
CONTACT_ROWS = (1, 2, 3, 4)
CONTACT_POINTS = (7.0, 10.0, 25.0)
CONTACT_WEIGHT = 6.0  # of what is sent back wrongly
GROWTH, GROWTH_WEIGHT = 1.005, 200.0  # largest eigenvalue over the interior's
SMALLEST, SMALL_WEIGHT = 0.2, 100.0  # norm of a row
NEAR = 1e-3  # weight of the distance from the interior's coefficients
ROUNDS = 120
ROWS = {4: 5, 16: 7}  # 6 of other orders


def waves_of(c: np.ndarray, s: complex) -> np.ndarray:
    """Return z (2M - 1) of the waves z^n that travel or decay away, the interior's own one first.

    Args:
        c: (M) coefficients of the interior.
        s: of (sum over m of c_m (z^(m - 1/2) - z^(1/2 - m)))^2 = -s; barely damped.
    """
    size = 2 * len(c) - 1
    # Powers of z from 1 - 2M to 2M - 1.
    difference = np.concatenate([-c[::-1], c])
    squared = np.convolve(difference, difference).astype(complex)
    squared[size] += s
    roots = np.roots(squared[::-1])
    roots = roots[np.argsort(np.abs(np.log(roots)))]
    first = min(roots[:2], key=abs)
    others = sorted(roots[2:], key=abs)[: size - 1]
    return np.array([first, *others])


@dataclass(frozen=True)
class Problem:
    """Waves in a half-space, perhaps with a contact, of one frequency.

    Attributes:
        s: frequency squared, less the wavenumber along the plane squared.
        moduli: (halves).
        density: (nodes).
        below: (points, unknowns) that takes nodes or half points from rows and waves below them.
        difference: i k of the interior.
        wave: (z, row) of the wave below, and the first row that it is found in.
        back: what a contact sends back to the plane.
    """

    s: complex
    moduli: np.ndarray
    density: np.ndarray
    below: np.ndarray
    difference: complex
    wave: tuple[complex, int]
    back: complex


def problem(c: np.ndarray, s: complex, closed: int, contact: int = 0) -> Problem:
    """Return a problem whose first rows are closed; with a contact so many rows below if wanted."""
    size = 2 * len(c) - 1
    many = closed + contact + 6 * len(c)
    rows = np.arange(many)
    moduli = np.where((contact > 0) & (rows + 0.5 > contact), STIFF, 1.0)
    density = np.where((contact > 0) & (rows >= contact), HEAVY, 1.0)
    if contact:
        density[contact] = 0.5 * (1.0 + HEAVY)
    above = waves_of(c, s)[0]
    waves = waves_of(c, s * density[-1] / moduli[-1])
    # What the interior's rows see is waves alone: so many rows are solved for, and these.
    solved = max(closed, contact + len(c) + 1) + 2 * len(c) - size
    below = np.zeros((many, solved + size), complex)
    below[:solved, :solved] = np.eye(solved)
    below[solved:, solved:] = waves ** (rows[solved:, None] - solved)
    halves = np.arange(1, len(c) + 1) - 0.5
    impedance = np.sqrt(moduli[-1] * density[-1])
    back = (1.0 - impedance) / (1.0 + impedance) * above ** (2 * contact)
    difference = complex(c @ (above**halves - above**-halves))
    return Problem(s, moduli, density, below, difference, (waves[0], solved), back)


class PlaneFit:
    """The errors of closures of an order beside a plane, by free numbers x."""

    def __init__(self, order: int, rows: int) -> None:
        self.order = order
        self.c = Stencil(order).first
        self.rows = rows
        self.accuracy = 1 if order == 2 else 2
        self.conditions = ClosureConditions(self.c, rows, rows + 1)
        # General solution of the conditions on Q, the norms and l: particular + free @ x.
        matrix, right_side = self._conditions()
        self.particular = np.linalg.lstsq(matrix, right_side, rcond=1e-11)[0]
        _, singular, vectors = np.linalg.svd(matrix)
        self.free = vectors[int((singular > 1e-10 * singular[0]).sum()) :].T
        self.guess = np.append(self.conditions.interior_guess(), np.zeros(rows))
        self.even, self.weights = self._waves()
        self.contacts = [
            problem(self.c, (2 * np.pi / points) ** 2 * (1 + 1e-9j), rows + 1, row)
            for points in CONTACT_POINTS
            for row in CONTACT_ROWS
        ]

    def _conditions(self) -> tuple[np.ndarray, np.ndarray]:
        """Return matrix and right-hand side of what closures and l are exact for."""
        matrix, right_side = self.conditions.exact_up_to(self.accuracy)
        powers = np.vander(np.arange(self.rows) + 0.5, self.accuracy + 1, increasing=True).T
        both = np.zeros((len(matrix) + len(powers), self.conditions.size + self.rows))
        both[: len(matrix), : self.conditions.size] = matrix
        both[len(matrix) :, self.conditions.size :] = powers
        return both, np.append(right_side, np.eye(1, len(powers))[0])

    def _waves(self) -> tuple[list[Problem], np.ndarray]:
        """Return waves that travel and that decay, and what their errors count."""
        wavenumbers = 2 * np.pi * np.linspace(0.01, SHORTEST, 36)
        wavenumbers = wavenumbers[wavenumbers < 0.95 * largest_symbol(self.c)]
        decaying = 2 * np.pi * np.linspace(0.01, 0.3, 18)
        every = np.append(wavenumbers, decaying) / (2 * np.pi)
        square = 0.0
        for points in BAND:
            # Ricker's spectrum, a exp(-a), a = (f / f0)^2, of unit norm over the waves that travel.
            a = (2.5 * points * every) ** 2
            spectrum = a * np.exp(-a)
            unit = np.linalg.norm(spectrum[: wavenumbers.size])
            square = square + (spectrum / unit / (WANTED * (WANTED_AT / points) ** 4)) ** 2
        weights = np.sqrt(square / len(BAND))
        weights[wavenumbers.size :] *= EVANESCENT
        # Barely damped, so that waves that travel downwards decay.
        squares = np.append(wavenumbers**2 * (1 + 1e-9j), -(decaying**2))
        return [problem(self.c, s, self.rows + 1) for s in squares], weights

    def operators(self, x: np.ndarray, many: int) -> tuple[np.ndarray, ...]:
        """Return Q (many, many), both norms (many) of half points and of nodes, and l (many)."""
        block, half, node, some = np.split(
            self.particular + self.free @ x,
            np.cumsum([self.rows * (self.rows + 1), self.rows, self.rows + 1]),
        )
        matrix = interior_matrix(self.c, many, many)
        matrix[: self.rows, : self.rows + 1] = block.reshape(self.rows, self.rows + 1)
        padded = (np.append(one, np.full(many - one.size, fill)) for one, fill in (
            (half, 1.0), (node, 1.0), (some, 0.0)))  # fmt: skip
        return matrix, *padded

    def errors(self, x: np.ndarray, one: Problem) -> np.ndarray:
        """Return the errors (4) of a problem: both that are given, and both waves inside."""
        many, unknowns = one.below.shape
        matrix, half, node, some = self.operators(x, many)
        up = matrix / half[:, None]
        down = -matrix.T / node[:, None]
        jump = some / half
        weak_up = up.copy()
        weak_up[:, 0] += jump
        weak_down = down.copy()
        weak_down[0] -= some / node[0]
        top = np.eye(1, many)[0] / node[0]
        stress = one.moduli[:, None] * weak_up
        # u on the plane is taken, then w.
        nodes = (weak_down @ stress + np.diag(one.s * one.density))[:unknowns] @ one.below
        u = np.linalg.solve(nodes, (weak_down @ (one.moduli * jump))[:unknowns])
        w_back = some @ (stress @ (one.below @ u) - one.moduli * jump) / one.difference
        flow = (one.moduli[:, None] * up) @ (down / one.density[:, None])
        halves = (flow + one.s * np.eye(many))[:unknowns] @ one.below
        w = np.linalg.solve(halves, (one.moduli * (up @ (top / one.density)))[:unknowns])
        u_back = (down[0] @ (one.below @ w) - top[0]) / one.density[0] / one.difference
        if one.moduli[-1] != 1.0:
            # What is sent back, r = (1 - Z) / (1 + Z), beside what a contact does, over that.
            sent = np.array([(1 - w_back) / (1 + w_back), (u_back - 1) / (u_back + 1)])
            return (sent - one.back) / abs(one.back)
        z, row = one.wave
        inside = np.array([u[row] / z**row, w[row] / z ** (row + 0.5)])
        return np.append(0.5 * (np.array([w_back, u_back]) - 1.0), inside - 1.0)

    def growth(self, x: np.ndarray) -> np.ndarray:
        """Return the largest eigenvalues (2) of both problems over that of the interior."""
        many = self.rows + 6 * len(self.c) + 20
        matrix, half, node, some = self.operators(x, many)
        weak = matrix.copy()
        weak[:, 0] += some
        scale = np.sqrt(np.maximum(np.outer(half, node), 1e-3))
        last = 2 * len(self.c)  # rows that lack some of their points
        both = ((one / scale)[:-last, :-last] for one in (matrix, weak))
        return np.array([np.linalg.norm(one, 2) for one in both]) / largest_symbol(self.c)

    def residual(self, x: np.ndarray, contact_weight: float) -> np.ndarray:
        """Return what is minimised in the sum of squares, with or without contacts."""
        errors = np.array([self.errors(x, one) for one in self.even]) * self.weights[:, None] / 2
        beside = np.array([self.errors(x, one) for one in self.contacts])
        # Of shorter waves contacts err more.
        shorter = np.repeat(CONTACT_POINTS, len(CONTACT_ROWS)) / 10.0
        beside *= contact_weight * shorter[:, None] ** 2 / np.sqrt(len(beside))
        both = np.append(errors, beside)
        vector = self.particular + self.free @ x
        norms = vector[self.rows * (self.rows + 1) : -self.rows]
        return np.concatenate([
            both.real, both.imag, GROWTH_WEIGHT * np.maximum(self.growth(x) - GROWTH, 0.0),
            SMALL_WEIGHT * np.maximum(SMALLEST - norms, 0.0), NEAR * (vector - self.guess),
        ])  # fmt: skip

    def start(self) -> np.ndarray:
        """Return x of a plain closure, and of an l of the first half points."""
        closure = surface_closure(Stencil(self.order), ClosureKind.PLAIN)
        rows = len(closure.half_norm)
        vector = self.guess.copy()
        block, half, node, some = np.split(
            vector, np.cumsum([self.rows * (self.rows + 1), self.rows, self.rows + 1])
        )
        size = min(self.rows, rows)
        known = (closure.up[:rows] * closure.half_norm[:, None])[:size, : self.rows + 1]
        block.reshape(self.rows, self.rows + 1)[:size, : known.shape[1]] = known
        half[:size] = closure.half_norm[:size]
        node[: closure.node_norm.size] = closure.node_norm[: node.size]
        some[:3] = (1.875, -1.25, 0.375)
        return self.free.T @ (vector - self.particular)


def fitted(order: int, rows: int) -> dict:
    """Fit one closure, show what it gives, and return its entry."""
    fit = PlaneFit(order, rows)
    x = fit.start()
    for weight in (0.0, CONTACT_WEIGHT):
        least = least_squares(fit.residual, x, max_nfev=ROUNDS, ftol=1e-5, args=(weight,))
        x = least.x
    print(f"order {order}, {rows} rows, growth {fit.growth(x).max():.3f}; in %, by points:")
    for points in (4.0, 5.0, 7.0, 10.0, 20.0):
        one = problem(fit.c, (2 * np.pi / points) ** 2 * (1 + 1e-9j), rows + 1)
        errors = 100 * np.abs(fit.errors(x, one))
        print(f"  {points:g}: sent back {errors[:2].max():.2g}, inside {errors[2:].max():.2g}")
    beside = 100 * np.abs([fit.errors(x, one) for one in fit.contacts]).max(axis=1)
    print("  of contacts", beside.round(1), flush=True)
    matrix, half, node, some = fit.operators(x, fit.rows + 1)
    return {
        "order": order, "accuracy": fit.accuracy, "half_norm": rounded(half[:rows], 12),
        "node_norm": rounded(node, 12), "extrapolation": rounded(some[:rows]),
        "block": rounded(matrix[:rows], 12),
    }  # fmt: skip


def main() -> None:
    """Fit the orders of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("orders", type=int, nargs="+", help="2, 4, ... 16")
    parser.add_argument("--rows", type=int, help="that are closed")
    options = parser.parse_args()
    entries = {entry["order"]: entry for entry in json.loads(DATA.read_text())}
    for order in options.orders:
        entries[order] = fitted(order, options.rows or ROWS.get(order, 6))
    text = ",\n".join(written(entries[order]) for order in sorted(entries))
    DATA.write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()
