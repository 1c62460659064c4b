"""How the grid under a free surface responds to waves, and its error, by the closure's numbers.

`fit_surface_closure.py` says what is compared; this is the grid's side of it, with derivatives by
the free numbers x of a closure, whose block and norms are `particular + free @ x`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from half_space_response import (
    ODD,
    OFFSETS,
    PLANE,
    RADII,
    Waves,
    exact_near_fields,
    near_fields,
    rayleigh_slowness,
    response,
    shear_response,
    transforms,
)

from seismo.interpolation import SLOPE_ROWS, Surface, axis_weights, slope_share, sloped_weights
from seismo.stencils import Stencil, largest_symbol
from seismo.surface_closure import ClosureConditions, interior_matrix
from seismo.surface_slope import MOST_ROWS

RATIOS = (1.5, 3**0.5, 4.0)  # vp / vs, the middle one for SH waves, too
STRETCH = (1, 1.2, 1.45, 1.75, 2.1, 2.6, 3.3, 4.5)  # wavelength over the shortest one
SLOWNESS = (0.05, 0.25, 0.45, 0.6, 0.75, 0.9, 1.0, 1.06, 1.15, 1.3)  # k vs / w
DAMPING, POLE_DAMPING = 0.06, 0.012  # Im w / Re w
NEAR_STRETCH, NEAR_DAMPING, NEAR_WAVES = (1.5, 3.0, 5.0), 0.5, 28
NEAREST = 4.9  # cells from a source to a receiver
FLOOR = 0.3  # of the largest of its near fields, that the error of one is relative to at least
DEPTHS = np.array([0.5, 1, 1.5, 2, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 8, 9, 10, 11.5, 13])
SHALLOW = 3.2  # depth down to which low powers of k and w are left out
LEAST_NORM = {"half": 0.25, "node": 0.15}
GROWTH = 1.11  # of the largest eigenvalue; bounded softly
ACCURACY = 2


class Weights(NamedTuple):
    """What weighs in a fit: forces, moments and the surface by waves; near fields; the pole."""

    force: float
    moment: float
    surface: float
    near_force: float
    near_moment: float
    pole: float
    moments_from: float  # depth in cells


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


def without_powers(values: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """Return weighted values (wave, ...) less the nearest combination of powers (wave, power)."""
    basis = np.linalg.qr(powers)[0]
    return values - np.tensordot(basis, np.tensordot(basis.T, values, 1), 1)


def floored(size: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return sizes (..., place, depth), none far below the largest of its depth in its plane."""
    found = size.copy()
    for part in (slice(0, PLANE), slice(PLANE, None)):
        most = (size[..., part, :] * kept[part]).max(-2, keepdims=True)
        found[..., part, :] = np.maximum(size[..., part, :], FLOOR * most)
    return found


class ClosedGrid:
    """The grid under a free surface with all closures of an order and so many rows."""

    def __init__(self, order: int, rows: int, points: float, weights: Weights) -> None:
        """Work out what does not depend on the closure."""
        self.rows, self.points, self.weights, self.accuracy = rows, points, weights, ACCURACY
        self.c = Stencil(order).first
        self.top = len(self.c) + max(rows + 1, 18)  # rows that depend on it, or that sources reach
        self.conditions = ClosureConditions(self.c, rows, rows + 1)
        matrix, right = self.conditions.exact_up_to(ACCURACY)
        _, singular, vectors = np.linalg.svd(matrix)
        self.free = vectors[int((singular > 1e-10 * singular[0]).sum()) :].T
        self.particular = np.linalg.lstsq(matrix, right, rcond=1e-11)[0]
        self.smooth = self.coordinates(self.conditions.interior_guess())
        self._slopes()
        self.waves, self.along = waves_of(points, self.c, weights.pole)
        self.of_shear = self.waves.vp == RATIOS[1]
        self.shear_waves = Waves(*(a[self.of_shear] for a in self.waves))
        self.spread = spread(self.top)
        self.edge = folded(self.c, self.waves, self.top, shear=False)
        self.shear_edge = folded(self.c, self.shear_waves, self.top, shear=True)
        self.reads = self._reads()
        self._far()
        self._near()

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

    def _slope_of_shear(self, blocks: Blocks, up: np.ndarray) -> np.ndarray:
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
        of_u = self._slope_of_shear(blocks, up) @ u - across @ (k * q)
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
        force = np.einsum("pij,nj->nip", self._slope_of_shear(blocks, up), v, optimize=True)
        force += self.of_node.T * (square[:, None] * v)[:, :, None]
        slopes, to = -np.linalg.solve(matrix, force), self.spread
        moments = np.einsum("di,nip->ndp", to.shear @ up, slopes)
        of_up = to.shear @ self._slopes_of_strains(blocks)[0]
        moments += np.einsum("pdi,ni->ndp", of_up, v, optimize=True)
        return np.stack([np.einsum("di,nip->ndp", to.x, slopes), moments], 1), slopes[:, 0]

    # What is compared

    def _far(self) -> None:
        """Set exact values of the waves, what errors are relative to, and what they weigh."""
        weights, count = self.weights, 2 * len(DEPTHS)
        self.far = self.waves.near == 0
        self.far_shear = (self.shear_waves.near == 0) & ~self.shear_waves.pole
        own, shear = (Waves(*(a[some] for a in waves)) for waves, some in (
            (self.waves, self.far), (self.shear_waves, self.far_shear)))  # fmt: skip
        self.exact = response(own, DEPTHS)
        self.exact_shear = shear_response(shear, DEPTHS)
        motion = np.sqrt((np.abs(self.exact[0]) ** 2).sum(2)).reshape(len(own.k), 5, -1)
        forces = np.hypot(motion[:, 0], motion[:, 1])
        sizes = [forces, forces, *(_not_small(motion[:, n]) for n in (2, 3, 4))]
        of = [weights.force] * 2 + [weights.moment] * 2 + [0.5 * weights.moment]
        scale = [o / size for o, size in zip(of, sizes, strict=True)]
        self.scale = np.concatenate(scale, 1) * (own.weight / np.sqrt(count))[:, None]
        size = np.sqrt((np.abs(self.exact[1]) ** 2).sum(2))
        self.top_scale = own.weight[:, None] * weights.surface / size
        size = np.abs(self.exact_shear[0])
        size[:, 1] = _not_small(size[:, 1])
        of = np.array([weights.force, weights.moment])[:, None]
        self.shear_scale = shear.weight[:, None, None] * of / np.sqrt(count) / size
        self.shear_top = shear.weight * weights.surface / np.abs(self.exact_shear[1])
        self.powers = [(np.flatnonzero(own.vp == vp), _powers(own, own.vp == vp)) for vp in RATIOS]
        self.shear_powers = _powers(shear, np.ones(len(shear.k), bool))

    def _near(self) -> None:
        """Set exact near fields, the sums that give those of the grid, and what they weigh."""
        weights, waves = self.weights, self.waves
        shift, some = axis_weights(0.0, True)
        self.kernel = np.cos(np.outer(self.along, shift + 0.5)) @ some  # of half points along x
        self.kept = np.hypot(np.r_[OFFSETS, RADII][:, None], DEPTHS) >= NEAREST
        self.kept[PLANE:] &= DEPTHS > 3.9  # that the grid's wavenumbers can show
        deep = weights.moments_from <= DEPTHS
        force, moment = weights.near_force * np.ones(len(DEPTHS)), weights.near_moment * deep
        of = np.stack([force, force, moment, moment, 2 * moment])[:, None]
        self.near_numbers = range(1, int(waves.near.max()) + 1)
        self.exact_near, self.exact_near_shear, self.near_scale = [], [], []
        self.near_size, self.near_shear_size, self.near_shear_scale = [], [], []
        for number in self.near_numbers:
            first = np.flatnonzero(waves.near == number)[0]
            exact, shear = exact_near_fields(waves.vp[first], waves.w[first], DEPTHS)
            self.exact_near.append(exact)
            self.exact_near_shear.append(shear)
            self.near_size.append(floored(np.sqrt((np.abs(exact) ** 2).sum(3)), self.kept))
            self.near_shear_size.append(floored(np.abs(shear), self.kept))
            share = self.kept / np.sqrt(self.kept.sum())
            self.near_scale.append(of * share / self.near_size[-1])
            self.near_shear_scale.append(of[[0, 2]] * share / self.near_shear_size[-1])
        self.sums = self._sums()

    def _sums(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return sums over k (source, motion, place, wave) for even and odd fields, and for SH."""
        weight = self.waves.weight[self.waves.near == 1]
        even, odd = transforms(self.along, weight)
        halves = np.array([[half + 1, half] for half in (1, 0, 1, 0, 0)])  # along x, of both ends
        spread = self.kernel ** halves[:, :, None, None] * np.ones((len(even), 1))
        spread[:, :, PLANE:] = self.kernel**2  # in 3-D, whose k end on a circle, taper all
        return even * spread, odd * spread, even * self.kernel**2

    def near(self, values: np.ndarray, number: int) -> np.ndarray:
        """Return a near field of P-SV (source, place, depth, motion, ...)."""
        even, odd, _ = self.sums
        return near_fields(values[self.waves.near == number], even, odd)

    def near_shear(self, values: np.ndarray, number: int) -> np.ndarray | None:
        """Return that of SH (source, place, depth, ...), if it is one of its waves."""
        some = self.shear_waves.near == number
        return (
            np.moveaxis(np.tensordot(self.sums[2], values[some], 1), 1, 0) if some.any() else None
        )

    def _weighted(self, moved, sheared, exact: bool) -> np.ndarray:
        """Return weighted values in a row (value, ...), less the exact ones or not."""
        (values, on_top), (shear, shear_top) = moved, sheared
        far, far_shear = values[self.far], shear[self.far_shear]
        on_top, shear_top = on_top[self.far], shear_top[self.far_shear]
        if exact:
            far, on_top = far - self.exact[0], on_top - self.exact[1]
            far_shear, shear_top = (
                far_shear - self.exact_shear[0], shear_top - self.exact_shear[1]
            )  # fmt: skip
        parts = self._without_local(far, on_top) + self._shear_without_local(far_shear, shear_top)
        for n, number in enumerate(self.near_numbers):
            found, of_shear = self.near(values, number), self.near_shear(shear, number)
            if exact:
                found = found - self.exact_near[n]
            found = found * _like(self.near_scale[n], found)
            parts.append(found[:, self.kept])
            if of_shear is not None:
                of_shear = of_shear - self.exact_near_shear[n] if exact else of_shear
                of_shear = of_shear * _like(self.near_shear_scale[n], of_shear)
                parts.append(of_shear[:, self.kept])
        return np.concatenate([part.reshape(-1, *values.shape[3:]) for part in parts])

    def _without_local(self, far: np.ndarray, on_top: np.ndarray) -> list[np.ndarray]:
        """Weigh P-SV waves, without what stays next to shallow sources: powers of k and w."""
        far, on_top = far * _like(self.scale, far), on_top * _like(self.top_scale, on_top)
        for some, (few, many) in self.powers:
            k = self.waves.k[self.far][some, None]
            for n, motion in np.ndindex(ODD.shape):
                for depth in np.flatnonzero(DEPTHS < SHALLOW):
                    at = n * len(DEPTHS) + depth
                    powers = self.scale[some, at, None] * few * (k if ODD[n, motion] else 1)
                    far[some, at, motion] = without_powers(far[some, at, motion], powers)
            for force, motion in np.ndindex(2, 2):
                powers = self.top_scale[some, force, None] * many * (k if force != motion else 1)
                on_top[some, force, motion] = without_powers(on_top[some, force, motion], powers)
        return [far, on_top]

    def _shear_without_local(self, far: np.ndarray, on_top: np.ndarray) -> list[np.ndarray]:
        """Weigh SH waves in the same way."""
        few, many = self.shear_powers
        far = far * _like(self.shear_scale, far)
        for n, depth in np.ndindex(2, int((DEPTHS < SHALLOW).sum())):
            powers = self.shear_scale[:, n, depth, None] * few
            far[:, n, depth] = without_powers(far[:, n, depth], powers)
        on_top = on_top * _like(self.shear_top, on_top)
        return [far, without_powers(on_top, self.shear_top[:, None] * many)]

    def _bounds(self, x: np.ndarray) -> np.ndarray:
        """Return what holds norms, growth and the distance from smooth operators."""
        _, half, node = self.operators(x, self.top)
        low = np.r_[half - LEAST_NORM["half"], node - LEAST_NORM["node"]]
        excess = 5000 * max(0.0, self.growth(x) - GROWTH)
        return np.r_[500 * np.minimum(low, 0), 0.03 * (x - self.smooth), excess]

    def residual(self, x: np.ndarray) -> np.ndarray:
        """Return what is minimised."""
        found = 1e3 * self._weighted(self.moved(x), self.sheared(x), exact=True)
        small = min(norm.min() for norm in self.operators(x, self.top)[1:]) < 0.02
        return np.concatenate([found.real, found.imag, self._bounds(x)]) + (1e3 if small else 0.0)

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return its derivatives by x."""
        found = 1e3 * self._weighted(self.moved_slopes(x), self.sheared_slopes(x), exact=False)
        own, step = self._bounds(x), 1e-6
        bounds = [(self._bounds(x + step * one) - own) / step for one in np.eye(len(x))]
        return np.concatenate([found.real, found.imag, np.stack(bounds, 1)])

    def near_errors(self, x: np.ndarray) -> list[tuple[int, np.ndarray, np.ndarray | None]]:
        """Return the relative errors (source, place, depth) of near fields, P-SV and SH."""
        values, shear = self.moved(x)[0], self.sheared(x)[0]
        found = []
        for n, number in enumerate(self.near_numbers):
            error = np.sqrt((np.abs(self.near(values, number) - self.exact_near[n]) ** 2).sum(3))
            of_shear = self.near_shear(shear, number)
            if of_shear is not None:
                of_shear = np.abs(of_shear - self.exact_near_shear[n]) / self.near_shear_size[n]
            found.append((n, error / self.near_size[n], of_shear))
        return found

    def weigh_again(self, x: np.ndarray, wanted: float) -> None:
        """Let near fields weigh by their error, but for those of the shortest waves."""
        for n, error, of_shear in self.near_errors(x):
            if n % len(NEAR_STRETCH):
                self.near_scale[n] *= np.sqrt(np.clip(error / wanted, 0.5, 4))
                if of_shear is not None:
                    self.near_shear_scale[n] *= np.sqrt(np.clip(of_shear / wanted, 0.5, 4))

    def worst(self, x: np.ndarray) -> dict[str, float]:
        """Return the largest error of near fields that count, by source."""
        names, found = ("force x", "force z", "xz", "zz", "explosion"), dict[str, float]()
        for n, error, of_shear in self.near_errors(x):
            if not n % len(NEAR_STRETCH):
                continue
            some = list(zip(names, error, self.near_scale[n], strict=True))
            if of_shear is not None:
                own = self.near_shear_scale[n]
                some += zip(("force y", "yz"), of_shear, own, strict=True)
            for name, errors, scale in some:
                found[name] = max(found.get(name, 0.0), float((errors * (scale > 0)).max()))
        return found


def _not_small(size: np.ndarray) -> np.ndarray:
    """Return sizes (wave, depth), none below half their root mean square over the depths."""
    return np.maximum(size, 0.5 * np.sqrt((size**2).mean(1, keepdims=True)))


def _powers(waves: Waves, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return even powers of k and w of some waves (wave, power), few and many."""
    k, w = waves.k[some] ** 2, waves.w.real[some] ** 2
    few = [np.ones_like(k), k, w]
    return np.stack(few, 1), np.stack([*few, k * k, k * w, w * w], 1)


def _like(scale: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a scale with as many axes as values have."""
    return scale.reshape(scale.shape + (1,) * (values.ndim - scale.ndim))
