"""How fast waves along the rows of a closed surface grow in an absorbing layer.

Rows under a free surface resonate at two to three points per wavelength: shear waves up and down
between them, and P waves. Where a resonance of one lies next to one of the other, about k = 0, the
slower branch has its phase and its energy run in opposite directions, and a perfectly matched layer
makes it grow (Becache, Fauqueux & Joly 2003). Fits that do not look at this do so in rocks of
vp / vs 1.55 to 1.85, by up to an e-fold in 250 steps. Nothing that a source radiates shows it.

Waves exp(i k x + g t) in a layer that damps by d with the frequency shift alpha::

    rho g v = div s,    g s = c : grad v,    d/dx f -> i k f + p,    g p = -(d + alpha) p - d i k f

are the eigenvectors of one matrix, with mu = rho = 1 and spacing 1; below the rows the fields are
damped, so that what leaves the surface does not come back. What runs of 16,000 steps with layers of
5 to 40 points do is what d = 1 does; with 4 points d = 1.5.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import lu_factor, lu_solve
from scipy.sparse.linalg import LinearOperator, eigs
from surface_errors import GROWTH, SurfaceErrors, Weights

from seismo.grid.coefficients import Stencil

ROWS = 30  # of nodes
SPONGE, FRICTION = 14, 0.6  # the lowest of them, whose fields are damped by so much, times vp
SHIFT = 0.05  # alpha
RATIOS = np.r_[1.45:2.0:0.05, 2.0, 2.1, 2.4, 3.0]  # vp / vs
WAVENUMBERS = (0.1, 0.2, 0.32)
RESONANCE = {4: 2.05, 6: 2.25}  # angular frequency of shear waves in the rows, 2.35 otherwise
NEAREST = 12  # eigenvalues looked at
LEAST_DECAY = 6e-4  # that a fit asks for
GROWTH_WEIGHT = 2e5
DAMPING = {4: 1.5}  # d of a fit, 1 otherwise


class Mode(NamedTuple):
    """The fastest growing wave of a wavenumber: its rate g, its fields, and the matrix."""

    rate: complex
    fields: np.ndarray
    matrix: np.ndarray


def seen(order_first: np.ndarray) -> np.ndarray:
    """Return `WAVENUMBERS` as differences along x see them: 2 sum c_m sin((m - 1/2) k)."""
    return 2.0 * np.sin(np.outer(WAVENUMBERS, np.arange(len(order_first)) + 0.5)) @ order_first


def spans() -> dict[str, slice]:
    """Return where the fields and the memory of sxx, sxz, vx and vz stand in an eigenvector."""
    names = ("vx", "vz", "sxx", "szz", "sxz", "of_sxx", "of_sxz", "of_vx", "of_vz")
    sizes = (ROWS, ROWS - 1, ROWS, ROWS, ROWS - 1, ROWS, ROWS - 1, ROWS, ROWS - 1)
    ends = np.cumsum((0, *sizes))
    return {n: slice(*pair) for n, pair in zip(names, pairwise(ends), strict=True)}


def below_surface(modulus: float) -> np.ndarray:
    """Return a modulus (ROWS) that acts on all nodes but that of the surface, where szz = 0."""
    return modulus * (np.arange(ROWS) > 0)


def layer_matrix(
    up: np.ndarray, down: np.ndarray, k: float, ratio: float, damping: float
) -> np.ndarray:
    """Return the matrix whose eigenvalues are the rates g of all waves of a wavenumber."""
    at = spans()
    size = at["of_vz"].stop
    found = np.zeros((size, size), complex)
    c11 = ratio**2
    c13 = c11 - 2.0
    normal = np.full(ROWS, c11)
    normal[0] = c11 - c13**2 / c11  # of szz = 0
    nodes, halves = np.eye(ROWS), np.eye(ROWS - 1)
    # Momentum and Hooke's law: along x (i k f + p), then along z.
    for moved, by, modulus in (
        ("vx", "sxx", nodes), ("vz", "sxz", halves), ("sxz", "vz", halves),
        ("sxx", "vx", np.diag(normal)), ("szz", "vx", np.diag(below_surface(c13))),
    ):  # fmt: skip
        found[at[moved], at[by]] = 1j * k * modulus
        found[at[moved], at[f"of_{by}"]] = modulus
    found[at["vx"], at["sxz"]] = down
    found[at["vz"], at["szz"]] = up * (np.arange(ROWS) > 0)
    found[at["sxx"], at["vz"]] = below_surface(c13)[:, None] * down
    found[at["szz"], at["vz"]] = below_surface(c11)[:, None] * down
    found[at["sxz"], at["vx"]] = up
    # Memory.
    for name, one in (("sxx", nodes), ("sxz", halves), ("vx", nodes), ("vz", halves)):
        found[at[f"of_{name}"], at[f"of_{name}"]] = -(damping + SHIFT) * one
        found[at[f"of_{name}"], at[name]] = -1j * k * damping * one
    # Friction at the lowest rows.
    for name, half in (("vx", 0.0), ("sxx", 0.0), ("szz", 0.0), ("vz", 0.5), ("sxz", 0.5)):
        rows = np.arange(at[name].stop - at[name].start) + half
        depth = np.clip((rows - (ROWS - 1 - SPONGE)) / SPONGE, 0.0, 1.0)
        found[at[name], at[name]] -= np.diag(FRICTION * ratio * depth**2)
    return found


def fastest(matrix: np.ndarray, resonance: float) -> Mode:
    """Return the mode of the largest growth of those next to a resonance."""
    shift = 1j * resonance
    factors = lu_factor(matrix - shift * np.eye(len(matrix)), check_finite=False)
    inverse = LinearOperator(
        matrix.shape, lambda v: lu_solve(factors, v, check_finite=False), dtype=complex
    )
    start = np.random.default_rng(0).standard_normal(len(matrix)).astype(complex)
    inverses, fields = eigs(inverse, k=NEAREST, v0=start, tol=1e-9, ncv=40)
    rates = shift + 1.0 / inverses
    most = int(rates.real.argmax())
    return Mode(rates[most], fields[:, most], matrix)


def modes(up: np.ndarray, down: np.ndarray, first: np.ndarray, damping: float = 1.0) -> list[Mode]:
    """Return the fastest growing wave of every ratio and wavenumber."""
    resonance = RESONANCE.get(2 * len(first), 2.35)
    return [
        fastest(layer_matrix(up, down, k, ratio, damping), resonance)
        for ratio in RATIOS
        for k in seen(first)
    ]


class SilentErrors(SurfaceErrors):
    """What is minimised, with what keeps waves along the rows from growing in layers."""

    def __init__(
        self, stencil: Stencil, rows: int, points: float, weights: Weights, most: float = GROWTH
    ) -> None:
        """Set what it weighs."""
        super().__init__(stencil, rows, points, weights, most)
        self.damping = DAMPING.get(stencil.order, 1.0)

    def _closed(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Q (ROWS - 1, ROWS) and both norms."""
        form, half, node = self.operators(x, ROWS)
        return form[:-1], half[:-1], node

    def _modes(self, x: np.ndarray) -> list[Mode]:
        form, half, node = self._closed(x)
        up, down = form / half[:, None], -form.T / node[:, None]
        return modes(up, down, self.c, self.damping)

    def _excess(self, found: list[Mode]) -> np.ndarray:
        rates = np.array([mode.rate.real for mode in found])
        return GROWTH_WEIGHT * np.maximum(0.0, rates + LEAST_DECAY)

    def residual(self, x: np.ndarray) -> np.ndarray:
        """Return what is minimised."""
        return np.concatenate([super().residual(x), self._excess(self._modes(x))])

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return its derivatives by x."""
        found = self._modes(x)
        ratios = np.repeat(RATIOS, len(WAVENUMBERS))
        rows = np.zeros((len(found), len(x)))
        of_up, of_down = self._of_differences(x)
        for n in np.flatnonzero(self._excess(found)):
            rows[n] = GROWTH_WEIGHT * _slope(found[n], float(ratios[n]), of_up, of_down)
        return np.concatenate([super().jacobian(x), rows])

    def _of_differences(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives by x of d_z of nodes and of half points."""
        form, half, node = self._closed(x)
        h, n = self.rows, self.rows + 1
        of_form = np.zeros((len(x), ROWS - 1, ROWS))
        of_half, of_node = np.zeros((len(x), ROWS - 1)), np.zeros((len(x), ROWS))
        of_form[:, :h, :n] = self.of_form[:, :h, :n]
        of_half[:, :h], of_node[:, :n] = self.of_half[:, :h], self.of_node[:, :n]
        of_up = of_form / half[:, None] - form * (of_half / half**2)[:, :, None]
        of_down = form.T * (of_node / node**2)[:, :, None]
        return of_up, of_down - np.swapaxes(of_form, 1, 2) / node[:, None]


def _slope(mode: Mode, ratio: float, of_up: np.ndarray, of_down: np.ndarray) -> np.ndarray:
    """Return the derivative of a rate by x: y (dA v) / (y v), with the left eigenvector y."""
    near = mode.matrix - (mode.rate + 1e-9) * np.eye(len(mode.matrix))
    factors = lu_factor(near.conj().T, check_finite=False)
    left = np.ones(len(near), complex)
    for _ in range(3):
        left = lu_solve(factors, left, check_finite=False)
        left /= np.linalg.norm(left)
    y, v = ({n: a[s] for n, s in spans().items()} for a in (left.conj(), mode.fields))
    strain = y["sxx"] * below_surface(ratio**2 - 2.0) + y["szz"] * below_surface(ratio**2)
    change = np.einsum("i,pij,j->p", y["vx"], of_down, v["sxz"])
    change = change + np.einsum("i,pij,j->p", y["vz"], of_up, v["szz"] * below_surface(1.0))
    change = change + np.einsum("i,pij,j->p", strain, of_down, v["vz"])
    change = change + np.einsum("i,pij,j->p", y["sxz"], of_up, v["vx"])
    return (change / (left.conj() @ mode.fields)).real
