"""How the grid under a free surface responds to waves, and its error, by the closure's numbers.

`fit_surface_closure.py` says what is compared; this is the grid's side of it, with derivatives by
the free numbers x of a closure, whose block and norms are `particular + free @ x`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from half_space_response import Waves, rayleigh_slowness

from seismo.grid.coefficients import Stencil, largest_symbol
from seismo.grid.interpolation import SLOPE_ROWS, Surface, axis_weights, slope_share, sloped_weights
from seismo.grid.surface_closure import ClosureConditions, interior_matrix
from seismo.solver.interpolation.traction_free_slopes import MOST_ROWS

RATIOS = (1.5, 3**0.5, 4.0)  # vp / vs, the middle one for SH waves, too
STRETCH = (1, 1.2, 1.45, 1.75, 2.1, 2.6, 3.3, 4.5)  # wavelength over the shortest one
SLOWNESS = (0.05, 0.25, 0.45, 0.6, 0.75, 0.9, 1.0, 1.06, 1.15, 1.3)  # k vs / w
DAMPING, POLE_DAMPING = 0.06, 0.012  # Im w / Re w
NEAR_STRETCH, NEAR_DAMPING, NEAR_WAVES = (1.5, 3.0, 5.0), 0.5, 28
DEPTHS = np.array([0.5, 1, 1.5, 2, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 8, 9, 10, 11.5, 13])
ACCURACY = 2


def waves_of(points: float, c: np.ndarray, pole_weight: float) -> tuple[Waves, np.ndarray]:
    """Return the waves of a fit, and the wavenumbers of near fields along the grid.

    Differences along x see a wavenumber of 2 sum c_m sin((m - 1/2) k) there.
    """
    rows = []
    for vp in RATIOS:
        for stretch in STRETCH:
            real = 2 * np.pi / (points * stretch)
            x = 2.5 / stretch  # frequency over that of the Ricker wavelet
            weight = x * x * np.exp(1 - x * x) / np.sqrt(stretch)
            k, pole = rayleigh_slowness(vp) * real, pole_weight * weight * stretch**1.5
            rows.append((vp, real * (1 - 1j * POLE_DAMPING), k, pole, 0, True))
            damped = real * (1 - 1j * DAMPING)
            rows += [(vp, damped, slow * real, weight, 0, False) for slow in SLOWNESS]
    nodes, weights = np.polynomial.legendre.leggauss(NEAR_WAVES)
    along, weights = (nodes + 1) * np.pi / 2, weights * np.pi / 2
    seen = 2 * np.sin(np.outer(along, np.arange(len(c)) + 0.5)) @ c
    number = 0
    for vp in RATIOS:
        for stretch in NEAR_STRETCH:
            number += 1
            w = 2 * np.pi / (points * stretch) * (1 - 1j * NEAR_DAMPING)
            rows += [(vp, w, k, g, number, False) for k, g in zip(seen, weights, strict=True)]
    return Waves(*(np.array(column) for column in zip(*rows, strict=True))), along


class Spread(NamedTuple):
    """Weights (depth, row) of sources: vx, vz, sxz and szz, and the slope's share of vz (depth)."""

    x: np.ndarray
    z: np.ndarray
    shear: np.ndarray
    normal: np.ndarray
    share: np.ndarray


def spread(rows: int) -> Spread:
    """Return the weights with which the code spreads sources at `DEPTHS`."""
    sloped = Surface(0, False, MOST_ROWS)
    found = []
    for half, surface in (
        (False, Surface(0, False)), (True, sloped), (True, Surface(0, True)),
        (False, Surface(0, False)),
    ):  # fmt: skip
        weights = np.zeros((len(DEPTHS), rows))
        for row, depth in zip(weights, DEPTHS, strict=True):
            at, some = axis_weights(float(depth), half, 0, surface)
            row[at] = some
        found.append(weights)
    return Spread(*found, np.array([slope_share(float(d), True, sloped) for d in DEPTHS]))


class Blocks:
    """What of the stiffness does not depend on the wave: forms of the strains d_z vx and d_z vz."""

    def __init__(self, form: np.ndarray, half: np.ndarray, node: np.ndarray) -> None:
        self.form, self.half, self.node = form, half, node
        self.inside = np.ones(len(node))
        self.inside[0] = 0.0  # szz = 0 on node 0
        self.shear = form.T @ (form / half[:, None])
        self.normal = (form * (self.inside / node)) @ form.T

    def stiffness(self, waves: Waves, rows: slice) -> np.ndarray:
        """Return A of P-SV (wave, 2 rows, 2 rows) for some rows."""
        form, half, node = self.form[rows, rows], self.half[rows], self.node[rows]
        inside, one = self.inside[rows], np.eye(len(node))
        k, square = waves.k[:, None, None], waves.vp[:, None, None] ** 2
        first = square - 2
        plate = square - first**2 / square  # of szz = 0
        uu = k * k * node * one * (inside * square + (1 - inside) * plate)
        uq = -k * first * (inside[:, None] * form.T) - k * form.T
        qq = k * k * half * one + square * self.normal[rows, rows]
        upper = np.concatenate([uu + self.shear[rows, rows], uq], -1)
        lower = np.concatenate([np.swapaxes(uq, -1, -2), qq], -1)
        mass = waves.w[:, None, None] ** 2 * np.diag(np.r_[node, half])
        return np.concatenate([upper, lower], -2) - mass

    def shear_stiffness(self, waves: Waves, rows: slice) -> np.ndarray:
        """Return A of SH (wave, rows, rows) for some rows."""
        square = (waves.k**2 - waves.w**2)[:, None, None]
        return self.shear[rows, rows] + square * np.diag(self.node[rows])


def folded(c: np.ndarray, waves: Waves, top: int, shear: bool) -> np.ndarray:
    """Return what the rows below `top`, all alike, take from A (decimation; Lopez Sancho 1985).

    Two blocks of rows become one of twice the step, until what couples them has died out.
    """
    rows = 2 * len(c)
    size, low = top + 6 * rows, top - rows
    blocks = Blocks(interior_matrix(c, size, size), np.ones(size), np.ones(size))
    four = slice(low, low + 4 * rows)
    matrix = (blocks.shear_stiffness if shear else blocks.stiffness)(waves, four)

    def block(n: int, m: int) -> np.ndarray:
        """Return what couples two of the four blocks of rows."""
        at = [np.r_[i * rows : (i + 1) * rows] for i in (n, m)]
        if not shear:
            at = [np.r_[i, i + 4 * rows] for i in at]
        return matrix[:, at[0][:, None], at[1]]

    own, inner, down, up = block(1, 1), block(1, 1), block(1, 2), block(2, 1)
    while np.abs(down).max() > 1e-13:
        inverse = np.linalg.inv(inner)
        past, back = down @ inverse, up @ inverse
        own = own - past @ up
        inner = inner - past @ up - back @ down
        down, up = -past @ down, -back @ up
    edge = block(0, 1) @ np.linalg.solve(own, block(1, 0))
    at = np.r_[low:top] if shear else np.r_[low:top, top + low : 2 * top]
    found = np.zeros((len(waves.k), *2 * ((1 if shear else 2) * top,)), complex)
    found[:, at[:, None], at] = edge
    return found


class ClosedGrid:
    """The grid under a free surface with all closures of an order and so many rows."""

    def __init__(self, stencil: Stencil, rows: int, points: float, pole_weight: float) -> None:
        """Work out what does not depend on the closure."""
        self.rows, self.points, self.accuracy = rows, points, ACCURACY
        self.c = stencil.first
        self.top = len(self.c) + max(rows + 1, 18)  # rows that depend on it, or that sources reach
        self.conditions = ClosureConditions(self.c, rows, rows + 1)
        matrix, right = self.conditions.exact_up_to(ACCURACY)
        _, singular, vectors = np.linalg.svd(matrix)
        self.free = vectors[int((singular > 1e-10 * singular[0]).sum()) :].T
        self.particular = np.linalg.lstsq(matrix, right, rcond=1e-11)[0]
        self.smooth = self.coordinates(self.conditions.interior_guess())
        self._slopes()
        self.waves, self.along = waves_of(points, self.c, pole_weight)
        self.of_shear = self.waves.vp == RATIOS[1]
        self.shear_waves = Waves(*(a[self.of_shear] for a in self.waves))
        self.spread = spread(self.top)
        self.edge = folded(self.c, self.waves, self.top, shear=False)
        self.shear_edge = folded(self.c, self.shear_waves, self.top, shear=True)
        self.reads = self._reads()

    def _slopes(self) -> None:
        """Set the derivatives by x of Q (x, half, node), and of both norms (x, row)."""
        h, n, count, top = self.rows, self.rows + 1, self.free.shape[1], self.top
        self.of_form = np.zeros((count, top, top))
        self.of_form[:, :h, :n] = self.free[: h * n].T.reshape(count, h, n)
        self.of_half, self.of_node = np.zeros((2, count, top))
        self.of_half[:, :h] = self.free[h * n : h * n + h].T
        self.of_node[:, :n] = self.free[h * n + h :].T

    def _reads(self) -> np.ndarray:
        """Return r (wave, 2 rows, 2), which read vx and i vz on the surface."""
        weights, share = sloped_weights(0.0, SLOPE_ROWS)
        found = np.zeros((len(self.waves.k), 2 * self.top, 2), complex)
        found[:, 0, 0] = 1.0
        found[:, self.top : self.top + weights.size, 1] = weights
        found[:, 0, 1] = -share * self.waves.k * self._ratio()
        return found

    def _ratio(self) -> np.ndarray:
        """Return lambda / (lambda + 2 mu)."""
        return 1 - 2 / self.waves.vp**2

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return x of the closure nearest to a vector."""
        return self.free.T @ (vector - self.particular)

    def operators(self, x: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Q and both norms on so many rows."""
        h, n = self.rows, self.rows + 1
        vector = self.particular + self.free @ x
        form, half, node = interior_matrix(self.c, size, size), np.ones(size), np.ones(size)
        form[:h, :n] = vector[: h * n].reshape(h, n)
        half[:h], node[:n] = np.split(vector[h * n :], [h])
        return form, half, node

    def growth(self, x: np.ndarray) -> float:
        """Return the largest eigenvalue over that of the unbounded grid."""
        form, half, node = self.operators(x, self.top + 40)
        scaled = form / np.sqrt(half)[:, None] / np.sqrt(node)
        return float(np.linalg.norm(scaled, 2)) / largest_symbol(self.c)

    # What sources move: values, and their derivatives by x

    def _strains(self, x: np.ndarray) -> tuple[Blocks, np.ndarray, np.ndarray]:
        """Return the closed grid, and d_z of nodes and of half points (szz = 0 on node 0)."""
        top = self.top
        blocks = Blocks(*self.operators(x, top + 2 * len(self.c)))
        up = (blocks.form / blocks.half[:, None])[:top, :top]
        down = -(blocks.form.T * (blocks.inside / blocks.node)[:, None])[:top, :top]
        return blocks, up, down

    def _slopes_of_strains(self, blocks: Blocks) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives by x (x, row, row) of d_z of nodes and of half points."""
        form, half, node, inside = (a[: self.top] for a in (
            blocks.form[:, : self.top], blocks.half, blocks.node, blocks.inside))  # fmt: skip
        up = self.of_form / half[:, None] - form * (self.of_half / half**2)[:, :, None]
        down = np.swapaxes(self.of_form, 1, 2) / node[:, None]
        down -= form.T * (self.of_node / node**2)[:, :, None]
        return up, -down * inside[:, None]

    def _slope_of_shear(self, up: np.ndarray) -> np.ndarray:
        """Return the derivative by x of Q^T inv(H_half) Q (x, node, node)."""
        half = np.einsum("pri,rj->pij", self.of_form, up)
        return half + np.swapaxes(half, 1, 2) - np.einsum("ri,pr,rj->pij", up, self.of_half, up)

    def _slope_of_normal(self, blocks: Blocks) -> np.ndarray:
        """Return the derivative by x of Q inv(H_node) Q^T below the surface (x, half, half)."""
        scaled = (blocks.form * (blocks.inside / blocks.node))[: self.top, : self.top]
        half = np.einsum("pri,si->prs", self.of_form, scaled)
        twice = np.einsum("ri,pi,si->prs", scaled, self.of_node, scaled)
        return half + np.swapaxes(half, 1, 2) - twice

    def _values(self, up: np.ndarray, down: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return what P-SV sources move (wave, source x depth, ...) of y (wave, 2 rows, ...)."""
        to, k, ratio = self.spread, self.waves.k[:, None, None], self._ratio()[:, None, None]
        u, q = y[:, : self.top], y[:, self.top :]
        on_top = ratio * k * u[:, :1]  # - d_z vz
        x = to.x @ u
        parts = [
            x,
            to.z @ q - to.share[:, None] * on_top,
            (to.shear @ up) @ u - k * (to.shear @ q),
            (to.normal @ down) @ q - to.normal[:, :1] * on_top,
            k * x,
        ]
        return np.concatenate(parts, 1)

    def moved(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what P-SV sources move (wave, source x depth, motion), and forces on the top."""
        blocks, up, down = self._strains(x)
        y = np.linalg.solve(blocks.stiffness(self.waves, slice(self.top)) - self.edge, self.reads)
        return self._values(up, down, y), np.einsum("njc,njd->ncd", self.reads, y)

    def moved_slopes(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of `moved` (..., x): A dy = -dA y."""
        (blocks, up, down), top, waves = self._strains(x), self.top, self.waves
        matrix = blocks.stiffness(waves, slice(top)) - self.edge
        y = np.linalg.solve(matrix, self.reads)
        u, q = (np.moveaxis(part, 1, 0).reshape(top, -1) for part in (y[:, :top], y[:, top:]))
        k, square, w = (np.repeat(a, 2) for a in (waves.k, waves.vp**2, waves.w))
        first, inside = square - 2, blocks.inside[:top, None]
        plate = inside * square + (1 - inside) * (square - first**2 / square)
        across = np.swapaxes(self.of_form, 1, 2)
        of_u = self._slope_of_shear(up) @ u - across @ (k * q)
        of_u += self.of_node[:, :, None] * ((k * k * plate - w**2) * u)
        of_u -= inside * (across @ (k * first * q))
        of_q = square * (self._slope_of_normal(blocks) @ q) - self.of_form @ (k * u)
        of_q += self.of_half[:, :, None] * ((k * k - w**2) * q)
        of_q -= self.of_form @ (k * first * inside * u)
        count, size = len(self.of_form), len(waves.k)
        force = np.concatenate([of_u, of_q], 1).reshape(count, 2 * top, size, 2)
        force = force.transpose(2, 1, 3, 0).reshape(size, 2 * top, 2 * count)
        slopes = -np.linalg.solve(matrix, force)
        values = self._values(up, down, slopes).reshape(size, -1, 2, count)
        of_up, of_down = self._slopes_of_strains(blocks)
        for n, weights, some in ((2, self.spread.shear @ of_up, y[:, :top]),
                                 (3, self.spread.normal @ of_down, y[:, top:])):  # fmt: skip
            at = slice(n * len(DEPTHS), (n + 1) * len(DEPTHS))
            values[:, at] += np.einsum("pdj,njc->ndcp", weights, some, optimize=True)
        on_top = np.einsum("njc,njm->ncm", self.reads, slopes).reshape(size, 2, 2, count)
        return values, on_top

    def sheared(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what SH sources move (wave, source, depth), and a force on the surface."""
        blocks, up, _ = self._strains(x)
        v = self._shear_motion(blocks)[1]
        return np.stack([v @ self.spread.x.T, v @ (self.spread.shear @ up).T], 1), v[:, 0]

    def _shear_motion(self, blocks: Blocks) -> tuple[np.ndarray, np.ndarray]:
        """Return A of SH, and y (wave, row)."""
        matrix = blocks.shear_stiffness(self.shear_waves, slice(self.top)) - self.shear_edge
        on_top = np.broadcast_to(np.eye(self.top)[:, :1], (*matrix.shape[:2], 1))
        return matrix, np.linalg.solve(matrix, on_top)[:, :, 0]

    def sheared_slopes(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of `sheared` (..., x)."""
        blocks, up, _ = self._strains(x)
        matrix, v = self._shear_motion(blocks)
        square = self.shear_waves.k**2 - self.shear_waves.w**2
        force = np.einsum("pij,nj->nip", self._slope_of_shear(up), v, optimize=True)
        force += self.of_node.T * (square[:, None] * v)[:, :, None]
        slopes, to = -np.linalg.solve(matrix, force), self.spread
        moments = np.einsum("di,nip->ndp", to.shear @ up, slopes)
        of_up = to.shear @ self._slopes_of_strains(blocks)[0]
        moments += np.einsum("pdi,ni->ndp", of_up, v, optimize=True)
        return np.stack([np.einsum("di,nip->ndp", to.x, slopes), moments], 1), slopes[:, 0]
