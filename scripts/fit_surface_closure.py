"""Fit the closures of `seismo.surface_closure` to the exact response of elastic half-spaces.

    python scripts/fit_surface_closure.py ORDER ... [--buried] [--evaluations 40] [--anew]

rewrites the entries of these orders in src/seismo/surface_closure.json; 1 to 3 minutes each. Each
starts from the entry there is (or that of another order), or from the plain closure (--anew).

For plane waves along x of wavenumber k and complex frequency w the P-SV equations are a system of
ordinary differential equations in z. On the grid, rows of vx (nodes) and vz (half points), with
mu = rho = 1, spacing 1::

    A(k, w) = stiffness(Q, H_half, H_node; k, vp) - w^2 mass,     A y = r

r reads the surface's motion (vx on node 0; vz at z = 0 from three rows and the prescribed slope,
`seismo.surface_slope`). A is symmetric, so that y is the motion of the surface for a unit force in
any row, and its strains are those for a unit moment. What is minimised is their difference from the
same on a grid five times finer, over

- body waves and evanescent ones, 0 <= k vs / w <= 1.3, w over the band of a Ricker wavelet whose
  2.5 f0 has `points` points per shear wavelength, weighted by its spectrum; damping Im w 6 %;
- the Rayleigh wave alone, damping 1.2 %, so that its velocity counts as on a path of some 40
  wavelengths, longer waves (where runs on finer grids lie) more;
- near fields, k up to 3, so that sources among the rows are no worse than with a plain closure.

What is the same for all waves stays at the source: it is left out for sources in the rows that are
read. Growth of the time step and small norms are bounded softly.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse
from scipy.optimize import brentq, least_squares
from scipy.sparse.linalg import splu

from seismo.interpolation import SLOPE_ROWS, sloped_weights
from seismo.stencils import Stencil, largest_symbol
from seismo.surface_closure import ClosureConditions, interior_matrix, surface_closure

DATA = Path(__file__).parents[1] / "src" / "seismo" / "surface_closure.json"
RATIOS = (1.5, 3**0.5, 4.0)  # vp / vs
STRETCH = (1, 1.2, 1.45, 1.75, 2.1, 2.6, 3.3, 4.5)  # wavelength over the shortest one
SLOWNESS = (0.05, 0.25, 0.45, 0.6, 0.75, 0.9, 1.0, 1.06, 1.15, 1.3)  # k vs / w
NEAR_SLOWNESS = (1.7, 2.3, 3.2, 4.5, 6.5, 9.0)  # of near fields,
NEAR_STRETCH = STRETCH[::2]  # at these frequencies,
SHORTEST = 3.0  # with k up to this
DAMPING, POLE_DAMPING = 0.06, 0.012  # Im w / Re w
POLE_WEIGHT = 2.0  # of the Rayleigh wave
DEPTH, FINER, KEPT = 72, 5, 20  # rows; how much finer the reference is; its rows that are kept
ACCURACY = 2
POINTS = {4: 8.0, 6: 6.0}  # per shortest wavelength, 5 for higher orders
LEAST_NORM = {"half": 0.25, "node": 0.15}
GROWTH = 1.11  # of the largest eigenvalue; bounded softly, 1.12 is what comes of it


class Weights(NamedTuple):
    """What sources weigh: forces in all rows, moments there, forces on the surface, near fields."""

    force: float
    moment: float
    surface: float
    near: float


WEIGHTS = {False: Weights(0.5, 0.3, 3.0, 2.0), True: Weights(1.0, 0.5, 0.1, 1.5)}  # by `buried`


class Wave(NamedTuple):
    """One wave: vp / vs, angular frequency, wavenumber, weight, and what it stands for."""

    vp: float
    w: complex
    k: float
    weight: float
    kind: str


def rayleigh_slowness(vp: float) -> float:
    """Return vs / c of the Rayleigh wave (Rayleigh 1885)."""

    def secular(c: float) -> float:
        return (2 - c * c) ** 2 - 4 * np.sqrt(1 - c * c) * np.sqrt(1 - (c / vp) ** 2)

    return 1.0 / brentq(secular, 0.5, 0.9999)


def waves(points: float) -> Iterator[Wave]:
    """Yield the waves of a fit; near fields follow the waves of their frequency."""
    for vp in RATIOS:
        for stretch in STRETCH:
            real = 2 * np.pi / (points * stretch)
            x = 2.5 / stretch  # frequency over that of the Ricker wavelet
            weight = x * x * np.exp(1 - x * x) / np.sqrt(stretch)
            slowness = rayleigh_slowness(vp)
            pole = POLE_WEIGHT * weight * stretch**1.5
            yield Wave(vp, real * (1 - 1j * POLE_DAMPING), slowness * real, pole, "pole")
            damped = real * (1 - 1j * DAMPING)
            for slowness in SLOWNESS:
                yield Wave(vp, damped, slowness * real, weight, "wave")
            for slowness in NEAR_SLOWNESS if stretch in NEAR_STRETCH else ():
                if slowness * real <= SHORTEST:
                    yield Wave(vp, damped, slowness * real, np.nan, "near")


class Operators(NamedTuple):
    """Q of the closure (`form`, half points x nodes) and both norms."""

    form: np.ndarray
    half: np.ndarray
    node: np.ndarray


def damped_mass(operators: Operators, finer: int) -> np.ndarray:
    """Return the masses of all rows, damped far below so that nothing comes back."""
    size = len(operators.node)

    def sponge(z: np.ndarray) -> np.ndarray:
        return 1 - 2.5j * np.maximum(0, (z - 26) / 46) ** 2

    z = np.arange(size) / finer
    return np.r_[operators.node * sponge(z), operators.half * sponge(z + 0.5 / finer)]


def reading(size: int, k: float, vp: float) -> np.ndarray:
    """Return the vectors (2 size, 2) that read vx and i vz on the surface."""
    weights, share = sloped_weights(0.0, SLOPE_ROWS)
    vectors = np.zeros((2 * size, 2))
    vectors[0, 0] = 1.0
    vectors[size : size + weights.size, 1] = weights
    vectors[0, 1] = -share * k * (vp**2 - 2) / vp**2
    return vectors


class Blocks:
    """What of the stiffness does not depend on the wave: forms of the strains d_z vx and d_z vz."""

    def __init__(self, operators: Operators) -> None:
        form, half, node = operators
        self.inside = np.ones(len(node))
        self.inside[0] = 0.0  # szz = 0 on node 0
        self.operators = operators
        self.shear = form.T @ (form / half[:, None])
        self.normal = (form * (self.inside / node)) @ form.T

    def stiffness(self, k, vp, top: int) -> np.ndarray:
        """Return the energy form (..., 2 top, 2 top) of the first rows for wavenumbers k, vp."""
        (form, half, node), inside = self.operators, self.inside[:top]
        k, square = np.asarray(k)[..., None, None], np.asarray(vp)[..., None, None] ** 2
        first = square - 2
        plate = square - first**2 / square  # of szz = 0
        q, one = form[:top, :top], np.eye(top)
        uu = k * k * node[:top] * one * (inside * square + (1 - inside) * plate)
        uq = -k * first * (inside[:, None] * q.T) - k * q.T
        qq = k * k * half[:top] * one + square * self.normal[:top, :top]
        upper = np.concatenate([uu + self.shear[:top, :top], uq], axis=-1)
        lower = np.concatenate([np.swapaxes(uq, -1, -2), qq], axis=-1)
        return np.concatenate([upper, lower], axis=-2)


def reference(points: float) -> np.ndarray:
    """Return motion and strain (wave, value, component) for the waves of a fit on the fine grid."""
    size = FINER * DEPTH
    closure = surface_closure(Stencil(8), 0.0)
    rows, width = closure.up.shape
    operators = Operators(
        interior_matrix(Stencil(8).first, size, size), np.ones(size), np.ones(size)
    )
    operators.half[:rows], operators.node[:rows] = closure.half_norm, closure.node_norm
    operators.form[:rows, :width] = closure.up * closure.half_norm[:, None]
    form, half, node = operators
    blocks, mass = Blocks(operators), damped_mass(operators, FINER)
    order = np.arange(2 * size).reshape(2, size).T.ravel()  # a band
    nodes = FINER * np.arange(KEPT)
    halves = nodes + FINER // 2
    found = []
    for wave in waves(points):
        k, w = wave.k / FINER, wave.w / FINER
        matrix = blocks.stiffness(k, wave.vp, size) - w**2 * np.diag(mass)
        banded = sparse.csc_matrix(matrix[np.ix_(order, order)])
        y = np.zeros((2 * size, 2), complex)
        vectors = reading(size, k, wave.vp).astype(complex)
        y[order] = splu(banded, permc_spec="NATURAL").solve(vectors[order])
        u, q = y[:size], y[size:]
        across = -(form.T @ q)[nodes] / node[nodes, None]
        shear = (form @ u)[halves] / half[halves, None] - k * q[halves]
        on_surface = vectors.T @ y / FINER
        parts = [u[nodes] / FINER, q[halves] / FINER, across, shear, on_surface]
        found.append(np.concatenate(parts))
    return np.array(found)


@dataclass
class Fit:
    """All closures of an order: vectors `particular + free @ x` of block and norms."""

    order: int
    buried: bool
    rows: int = 7

    def __post_init__(self) -> None:
        """Work out what does not depend on the closure."""
        self.points = POINTS.get(self.order, 5.0)
        self.c = Stencil(self.order).first
        self.conditions = ClosureConditions(self.c, self.rows, self.rows + 1)
        matrix, right = self.conditions.exact_up_to(ACCURACY)
        _, singular, vectors = np.linalg.svd(matrix)
        self.free = vectors[int((singular > 1e-10 * singular[0]).sum()) :].T
        self.particular = np.linalg.lstsq(matrix, right, rcond=1e-11)[0]
        self.top = self.rows + 1 + len(self.c)  # rows that depend on the closure
        self.waves = list(waves(self.points))
        self.vp, self.w, self.k = (np.array([v[n] for v in self.waves]) for n in range(3))
        self.strains = self.rows + 2  # rows whose strains are compared
        self.vectors = np.array([reading(self.top, v.k, v.vp) for v in self.waves]).astype(complex)
        self.smooth = self.coordinates(self.conditions.interior_guess())
        self.edge = self._edge()
        self._compared_with(reference(self.points))

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return x of the closure nearest to a vector."""
        return self.free.T @ (vector - self.particular)

    def operators(self, x: np.ndarray, size: int) -> Operators:
        """Return the closed operators on so many rows."""
        h, n = self.rows, self.rows + 1
        vector = self.particular + self.free @ x
        found = Operators(interior_matrix(self.c, size, size), np.ones(size), np.ones(size))
        found.form[:h, :n] = vector[: h * n].reshape(h, n)
        found.half[:h], found.node[:n] = np.split(vector[h * n :], [h])
        return found

    def growth(self, x: np.ndarray) -> float:
        """Return the largest eigenvalue over that of the unbounded grid."""
        form, half, node = self.operators(x, self.top + 40)
        scaled = form / np.sqrt(half)[:, None] / np.sqrt(node)
        return float(np.linalg.norm(scaled, 2)) / largest_symbol(self.c)

    def _edge(self) -> np.ndarray:
        """Fold the rows below those that depend on the closure into these (Schur complement)."""
        operators = self.operators(self.smooth, DEPTH)
        blocks, mass = Blocks(operators), damped_mass(operators, 1)
        top = np.r_[: self.top, DEPTH : DEPTH + self.top]
        rest = np.setdiff1d(np.arange(2 * DEPTH), top)
        found = []
        for wave in self.waves:
            matrix = blocks.stiffness(wave.k, wave.vp, DEPTH) - wave.w**2 * np.diag(mass)
            coupling = matrix[np.ix_(top, rest)]
            found.append(coupling @ np.linalg.solve(matrix[np.ix_(rest, rest)], coupling.T))
        return np.array(found)

    def _compared_with(self, exact: np.ndarray) -> None:
        """Say what errors are relative to, and what they weigh."""
        top, count, weights = self.top, self.strains, WEIGHTS[self.buried]
        self.exact = exact[:, np.r_[:top, KEPT : KEPT + top, 2 * KEPT + 1 : 2 * KEPT + count,
                                    3 * KEPT : 3 * KEPT + count, [-2, -1]]]  # fmt: skip
        size = np.sqrt((abs(self.exact) ** 2).sum(2))
        size[:, :top] = size[:, top : 2 * top] = np.hypot(size[:, :top], size[:, top : 2 * top])
        strains = size[:, 2 * top : -2]
        mean = np.sqrt((strains**2).mean(1, keepdims=True))
        size[:, 2 * top : -2] = np.maximum(strains, 0.5 * mean)
        kinds = np.array([v.kind for v in self.waves])
        for n in np.flatnonzero(kinds == "near"):  # beside the waves of its frequency
            last = np.flatnonzero(kinds[:n] == "wave")[-1]
            size[n] = np.maximum(size[n], size[last] * (self.k[last] / self.k[n]) ** 1.5)
        self.size = size[:, :, None]
        weight = np.array([v.weight for v in self.waves])
        weight[kinds == "near"] = 0.5 * weights.near * weight[kinds == "wave"].max()
        group = np.full(self.exact.shape[1], weights.force / np.sqrt(2 * top))
        group[2 * top :] = weights.moment / np.sqrt(2 * count)
        group[-2:] = weights.surface
        self.weight = (weight[:, None] * group)[:, :, None]
        self.weight[kinds == "near", -2:] = 0.0
        read = SLOPE_ROWS + 1
        first = np.r_[0:read, top : top + read, 2 * top : 2 * top + SLOPE_ROWS,
                      2 * top + count - 1 : 2 * top + count + SLOPE_ROWS]  # fmt: skip
        self.local = np.isin(np.arange(len(group)), first)[:, None]

    def errors(self, x: np.ndarray) -> np.ndarray:
        """Return the relative errors (wave, value, component)."""
        top, count = self.top, self.strains
        operators = self.operators(x, DEPTH)
        form, half, node = operators
        matrix = Blocks(operators).stiffness(self.k, self.vp, top) - self.edge
        matrix -= self.w[:, None, None] ** 2 * np.diag(np.r_[node[:top], half[:top]])
        y = np.linalg.solve(matrix, self.vectors)
        u, q = y[:, :top], y[:, top:]
        across = np.einsum("sj,njc->nsc", -(form.T / node[:, None])[1:count, :top], q)
        shear = np.einsum("sj,njc->nsc", (form / half[:, None])[:count, :top], u)
        shear -= self.k[:, None, None] * q[:, :count]
        on_surface = np.einsum("njc,njd->ncd", self.vectors, y)
        error = np.concatenate([y, across, shear, on_surface], 1) - self.exact
        for vp in RATIOS:
            some = self.vp == vp
            weight = (self.weight[some] / self.size[some]) ** 2
            mean = (weight * error[some]).sum(0) / weight.sum(0)
            error[some] -= np.where(self.local, mean, 0.0)
            root = self.weight[some, -2:, 0] / self.size[some, -2:, 0]
            powers = np.stack([np.ones(some.sum()), self.k[some] ** 2, self.w.real[some] ** 2], 1)
            for n in (0, 1):
                at, columns = n - 2, root[:, n, None] * powers
                fit = np.linalg.lstsq(columns, root[:, n, None] * error[some, at], rcond=None)[0]
                error[some, at] -= powers @ fit
        return error / self.size

    def residual(self, x: np.ndarray) -> np.ndarray:
        """Return what is minimised."""
        _, half, node = self.operators(x, self.top)
        low = np.r_[
            np.minimum(half - LEAST_NORM["half"], 0), np.minimum(node - LEAST_NORM["node"], 0)
        ]
        if min(half.min(), node.min()) < 0.02:
            return np.full(2 * self.exact.size + low.size + x.size + 1, 1e3)
        error = 1e3 * (self.errors(x) * self.weight).ravel()
        excess = 5000 * max(0.0, self.growth(x) - GROWTH)
        pull = 0.03 * (x - self.smooth)
        return np.concatenate([error.real, error.imag, 500 * low, pull, [excess]])

    def table(self, x: np.ndarray) -> dict[str, tuple[float, float]]:
        """Return root mean square errors of forces in all rows and on the surface, by wave."""
        squares = abs(self.errors(x)) ** 2
        points = (2 * np.pi / self.w.real).round(1)
        names = [v.kind if v.kind == "near" else f"{v.kind} {p:g}"
                 for v, p in zip(self.waves, points, strict=True)]  # fmt: skip
        found = {}
        for name in dict.fromkeys(names):
            some = squares[[n == name for n in names]]
            parts = (some[:, : 2 * self.top], some[:, -2:])
            found[name] = tuple(float(np.sqrt(part.mean())) for part in parts)
        return found


def rounded(values: np.ndarray) -> list:
    """Return numbers with fifteen decimals."""
    return np.round(values, 15).tolist()


def widened(entry: dict, conditions: ClosureConditions) -> np.ndarray:
    """Return the vector of an entry, among as many rows as there are conditions for."""
    h, n = conditions.half_rows, conditions.node_rows
    block, half, node = np.split(conditions.interior_guess(), [h * n, h * n + h])
    block = block.reshape(h, n)
    block[: len(entry["half_norm"]), : len(entry["node_norm"])] = entry["block"]
    half[: len(entry["half_norm"])] = entry["half_norm"]
    node[: len(entry["node_norm"])] = entry["node_norm"]
    return np.concatenate([block.ravel(), half, node])


def fitted(order: int, buried: bool, start: dict | None, evaluations: int) -> dict:
    """Fit one order, show what it gives, and return its entry."""
    fit = Fit(order, buried)
    x = fit.coordinates(widened(start, fit.conditions)) if start else fit.smooth
    for label in ("start", "fitted"):
        errors = [f"{k}: {100 * a:.2f}, {100 * b:.2f}" for k, (a, b) in fit.table(x).items()]
        print(f"order {order} {label}, forces in all rows, on the surface, errors in %:")
        print("; ".join(errors), f"; growth {fit.growth(x):.3f}", flush=True)
        if label == "start":
            x = least_squares(fit.residual, x, max_nfev=evaluations, x_scale="jac").x
    matrix, half, node = fit.operators(x, fit.top)
    rows = fit.rows
    return {
        "order": order, "buried": buried, "accuracy": ACCURACY, "points": fit.points,
        "half_norm": rounded(half[:rows]), "node_norm": rounded(node[: rows + 1]),
        "block": rounded(matrix[:rows, : rows + 1]),
    }  # fmt: skip


def written(entry: dict) -> str:
    """Return an entry as text, a row of its block a line."""
    parts = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in entry.items() if k != "block"]
    block = ",\n  ".join(json.dumps(row) for row in entry["block"])
    return "{" + ",\n ".join([*parts, f'"block": [\n  {block}]']) + "}"


def main() -> None:
    """Fit the orders of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("orders", type=int, nargs="+", help="4, 6, ... 16")
    parser.add_argument("--buried", action="store_true", help="for sources among the rows")
    parser.add_argument("--evaluations", type=int, default=40, help="steps of the fit")
    parser.add_argument("--anew", action="store_true", help="start from the plain closure")
    given = parser.parse_args()
    entries = {(e["order"], e["buried"]): e for e in json.loads(DATA.read_text())}
    for order in given.orders:
        known = [entries.get((order, given.buried)), entries.get((8, given.buried))]
        start = None if given.anew else next(filter(None, known), None)
        entries[order, given.buried] = fitted(order, given.buried, start, given.evaluations)
        text = ",\n".join(written(entries[key]) for key in sorted(entries))
        DATA.write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()
