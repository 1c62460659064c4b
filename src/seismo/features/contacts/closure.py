"""One-sided differences beside a contact of fluid and solid, wherever it lies between the rows.

On each side of the contact (x = 0, x > 0 into the medium, spacing 1) stand nodes and half points::

    x   0        d        d + 1/2      d + 1       d + 3/2        0 <= d <= 1
        v_0     s_0, u_0   v_1, t_1    s_1, u_1    v_2, t_2       v velocity across, s normal stress
                                                                  u velocity along, t shear stress

v_0 is the velocity across of the contact itself, which both sides share; there t_0 = 0, as the
contact slips. One matrix Q (half points, nodes) and two diagonal norms make all derivatives::

    d_x s ~ inv(H_half) (Q s - e_0 s(0)),  d_x u ~ inv(H_half) Q u,  d_x v ~ -inv(H_node) Q^T v

and likewise of t: *summation by parts* (Kreiss & Scherer 1974), so that the traction s(0) of either
side acts on the other, and energy is conserved whatever the coefficients are. In the first rows
they are free but for exactness on straight lines; they are spent on the *impedance* of the side,
s(0) / v_0 for plane waves along the contact. By the variational principle its error is, to first
order, the work of the truncation errors T of the equations on the exact fields::

    u . T_u + v . T_v - s . T_s - t . T_t  =  error of s(0) v_0

which is linear in the coefficients: linear least squares over a Ricker's band, all slownesses and
ratios vp/vs. Where impedances agree, reflections and Scholte waves do; transmitted waves, too, if T
has no moments (`_System.exact_moments`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

MOMENTS = 4  # highest power with exact moments
ROWS = 6  # at least, of both kinds, with their own weights; as many as terms at high orders
POINTS = 5.0  # per shortest wavelength: the band that is fitted
_DAMPING = 0.04  # Im / Re of frequency: how wide the Rayleigh pole is
_RATIOS = (1.55, 1.9, 2.6, 5.0)  # vp / vs
_STRETCH = (1.0, 1.15, 1.35, 1.6, 2.0, 2.6, 3.5, 5.0)  # wavelength over the shortest
_SLOWNESS = (0.03, 0.25, 0.45, 0.6, 0.75, 0.88, 0.97, 1.03, 1.1, 1.2, 1.4)  # over 1 / slowest speed
_LOAD = 0.4  # of the other side, in densities of this side: bounds relative errors at the pole
# Weights of the wishes: moments, the impedance, exactness on parabolas, norms that are natural and
# block coefficients that are the interior's. The last two keep norms near natural ones, and with
# them the time step (`seismo.features.contacts.time_step`).
_EXACT = 10.0
_BALANCE = 2.0
_NEXT = 0.03
_NORMS = 0.03
_MILD = 0.02


@dataclass(frozen=True)
class ContactClosure:
    """The closed rows of a side.

    Attributes:
        q: (rows, rows + terms) Q; row 0 is the contact.
        half_norm: (rows) cells that half points stand for, v_0 first; 1 further away.
        node_norm: (rows) cells that nodes stand for; 1 further away.
    """

    q: np.ndarray
    half_norm: np.ndarray
    node_norm: np.ndarray


def closed_rows(terms: int) -> int:
    """Return how many rows of a side have their own weights, for stencils of so many terms."""
    return max(ROWS, terms)


@lru_cache(maxsize=256)
def contact_closure(c: tuple[float, ...], distance: float, solid: bool) -> ContactClosure:
    """Compute the closure of a side.

    Args:
        c: staggered coefficients of the interior (spacing 1).
        distance: d, of the first node from the contact, in cells.
        solid: whether the side holds shear.
    """
    slope = 2.0 * np.dot(c, np.arange(len(c)) + 0.5)  # of a line; 1 but for fitted stencils
    # Constraints: exact on constants and straight lines; `free` spans the remaining freedom.
    system = _System(np.array(c) / slope, distance)
    exact = [system.exact_for_power(k) for k in (0, 1)]
    matrix = np.vstack([rows for rows, _ in exact])
    particular = np.linalg.lstsq(matrix, np.concatenate([b for _, b in exact]), rcond=1e-11)[0]
    _, singular, vectors = np.linalg.svd(matrix)
    free = vectors[int((singular > 1e-10 * singular[0]).sum()) :].T

    # Wishes, by weighted least squares in that null space.
    mild = np.full(system.size, _MILD)
    mild[-2 * system.rows :] = _NORMS
    rows, zero = system.balance(_solid_waves() if solid else _fluid_waves())
    wishes = [
        (_BALANCE / np.sqrt(len(zero)), rows, zero),
        (_EXACT, *system.exact_moments()),
        (_NEXT, *system.exact_for_power(2)),
        (mild[:, None], np.eye(system.size), system.natural()),
    ]
    wish = np.vstack([weight * rows for weight, rows, _ in wishes])
    goal = np.concatenate([np.ravel(weight) * right for weight, _, right in wishes])
    # Least squares of the wishes, as a deviation from the particular solution.
    weights = np.linalg.lstsq(wish @ free, goal - wish @ particular, rcond=None)[0]
    return system.closure(particular + free @ weights, slope)


class _System:
    """Linear conditions on the block of Q, the norms of half points and of nodes."""

    def __init__(self, c: np.ndarray, distance: float) -> None:
        """Take the coefficients of the interior and the distance of the first node."""
        self.rows = closed_rows(len(c))
        self.width = closed_rows(len(c)) + len(c)
        far = self.rows + 2 * len(c)
        # Nodes at d + j, half points at 0 (the contact) and d + 1/2 + j.
        self.nodes = distance + np.arange(far)
        self.halves = np.append(0.0, distance + 0.5 + np.arange(far - 1))
        # Interior rows of Q: +c_m ahead of a half point, -c_m behind it.
        ahead = np.arange(far)[None, :] - np.arange(far)[:, None]
        reach = np.where(ahead >= 0, ahead, -1 - ahead)
        padded = np.append(c, np.zeros(far))
        self.interior = np.where(ahead >= 0, 1.0, -1.0) * padded[reach]
        self.size = self.rows * (self.rows + 2)

    def natural_norms(self) -> np.ndarray:
        """Return the cells between neighbours, of half points and of nodes."""
        # Trapezoidal cells: half the distances to both neighbours.
        norms = np.ones(2 * self.rows)
        first = self.nodes[0] + 0.5
        norms[0] = 0.5 * first
        norms[1] = 0.5 * (1.0 + first)
        norms[self.rows] = first
        return norms

    def natural(self) -> np.ndarray:
        """Return the coefficients of the interior and the natural norms."""
        block = self.interior[: self.rows, : self.rows]
        return np.concatenate([block.ravel(), self.natural_norms()])

    def exact_for_power(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the conditions that both derivatives are exact for x^k."""
        n = self.rows
        x = self.nodes
        y = self.halves
        # d x^k / dx = k x^(k-1) on nodes and half points.
        slope_x, slope_y = (k * p ** max(k - 1, 0) for p in (x, y))
        conditions = np.zeros((2, n, n + 2, n))
        for row in range(n):  # Q x^k = H_half k y^(k-1) + e_0 [k = 0]
            conditions[0, row, row] = x[:n] ** k
            conditions[0, row, n, row] = -slope_y[row]
        for row in range(n):  # Q^T y^k = -H_node k x^(k-1)
            conditions[1, row, :n, row] = y[:n] ** k
            conditions[1, row, n + 1, row] = slope_x[row]
        # Known part: contributions of interior columns to the closed rows.
        up = -self.interior[:n, n:] @ x[n:] ** k
        up[0] += k == 0
        down = -(y[n:] ** k) @ self.interior[n:, :n]
        return conditions.reshape(2 * n, -1), np.concatenate([up, down])

    def exact_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the conditions that truncation errors on x^k vanish in the mean with weights y^i.

        What a wave does to another, which meets it or leaves with it, is then exact up to powers
        k + i = 3 (4 where there are more rows) of distance by wavelength, though single rows are
        so up to k = 1 alone.
        """
        n = self.rows
        moments = list[np.ndarray]()
        wanted = list[np.ndarray]()
        highest = min(n - 3, MOMENTS)
        # Orders k of the field and i of the weight with k + i <= `highest`.
        for k in range(2, highest + 1):
            conditions, right = self.exact_for_power(k)
            for i in range(highest + 1 - k):
                for x, rows in ((self.halves, slice(0, n)), (self.nodes, slice(n, 2 * n))):
                    weights = x[:n] ** i
                    moments.append(weights @ conditions[rows])
                    wanted.append(weights @ right[rows])
        return np.array(moments), np.array(wanted)

    def balance(self, waves: _Waves) -> tuple[np.ndarray, np.ndarray]:
        """Return the conditions that waves find the exact impedance."""
        n = self.rows
        # u, s, dv/dx, dt/dx on the nodes; v, t, du/dx, ds/dx on half points.
        at_nodes = waves.fields(self.nodes)
        at_halves = waves.fields(self.halves)
        (u, _), (_, dv), (s, _), (_, dt) = at_nodes
        (_, du), (v, _), (_, ds), (t, _) = at_halves
        # u T_u + v T_v - s T_s - t T_t = 0 as a linear form in Q and both norms.
        q = 2.0 * (np.einsum("wh,wn->whn", v, s) - np.einsum("wh,wn->whn", t, u))
        half = t * du - v * ds
        node = s * dv - u * dt
        # Unknowns: the block of Q, norms of half points, norms of nodes.
        conditions = [q[:, :n, :n].reshape(len(q), -1), half[:, :n], node[:, :n]]
        # Fixed part: interior rows and columns that reach the closed block.
        outer = 0.5 * self.interior * q
        outer[:, n:, n:] = 0.0
        outer[:, :n, :n] = 0.0
        right = v[:, 0] * waves.traction - outer.sum(axis=(1, 2))
        # The interior's part of a derivative counts in the closed rows only.
        rows = np.concatenate(conditions, axis=1) * waves.weight[:, None]
        right = right * waves.weight
        return np.vstack([rows.real, rows.imag]), np.concatenate([right.real, right.imag])

    def closure(self, solution: np.ndarray, slope: float) -> ContactClosure:
        """Return a solution's closure, for coefficients `slope` times these."""
        n = self.rows
        q = self.interior[:n, : self.width].copy()
        q[:, :n] = solution[: n * n].reshape(n, n)
        return ContactClosure(slope * q, solution[n * n : n * n + n], solution[n * n + n :])


@dataclass(frozen=True)
class _Waves:
    """Plane waves along the contact that decay into the side, without shear stress on it.

    Attributes:
        slopes: (waves, 2) of P and S: exp(-slope x).
        amplitudes: (u v s t, waves, 2).
        weight: (waves) of the relative error of each.
    """

    slopes: np.ndarray
    amplitudes: np.ndarray
    weight: np.ndarray

    @property
    def traction(self) -> np.ndarray:
        """Return s(0) (waves)."""
        return self.amplitudes[2].sum(axis=1)

    def fields(self, x: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return values and derivatives (waves, x) of u, v, s and t."""
        # Sum over P and S of amplitude exp(-slope x), and its derivative.
        decay = np.exp(-self.slopes[:, :, None] * x)
        return [
            (np.einsum("wp,wpx->wx", a, decay), np.einsum("wp,wpx->wx", -a * self.slopes, decay))
            for a in self.amplitudes
        ]


def _band(ratios: tuple[float, ...]) -> tuple[np.ndarray, ...]:
    """Return k, s, vp/vs and the share of a Ricker's spectrum of all waves; the slowest speed 1."""
    ratio, stretch, slowness = (
        a.ravel() for a in np.meshgrid(ratios, _STRETCH, _SLOWNESS, indexing="ij")
    )
    # Frequency with the slowest speed 1, k = slowness w, s = w (i + damping).
    omega = 2.0 * np.pi / (POINTS * stretch)
    relative = (2.5 / stretch) ** 2  # (f / f0)^2 of a Ricker that ends at 2.5 f0
    share = relative * np.exp(1.0 - relative) + 0.02
    return slowness * omega, omega * (1j + _DAMPING), ratio, share


def _solid_waves() -> _Waves:
    """Return P and S waves of a half-space, sigma_xz = 0 on it (Aki & Richards 2002, ch. 5)."""
    k, s, ratio, share = _band(_RATIOS)
    # P and S decay as exp(-nu x), exp(-eta x); bend = 2 k^2 + s^2 = k^2 + eta^2.
    nu = np.sqrt(k**2 + (s / ratio) ** 2)
    eta = np.sqrt(k**2 + s**2)
    bend = 2.0 * k**2 + s**2
    # Amplitudes of the P and S parts that cancel the shear stress.
    p = bend
    q = -2.0 * k * nu
    pairs = [(p * k, q * eta), (-p * nu, -q * k), (p * bend, 2.0 * q * k * eta),
             (-2.0 * p * k * nu, -q * bend)]  # fmt: skip
    amplitudes = np.array([np.stack(pair, axis=1) for pair in pairs])
    v = amplitudes[1].sum(axis=1)
    traction = amplitudes[2].sum(axis=1)
    # Relative error of the impedance, bounded at the Rayleigh pole by a load.
    scale = np.abs(v) * (np.abs(traction) + _LOAD * np.abs(s**2 / k * v))
    return _Waves(np.stack([nu, eta], axis=1), amplitudes, share / scale)


def _fluid_waves() -> _Waves:
    """Return the waves of a fluid half-space, in units where rho s^2 = 1."""
    k, s, _, share = _band((1.0,))
    nu = np.sqrt(k**2 + s**2)[:, None]
    none = np.zeros_like(nu)
    return _Waves(nu, np.array([none, -nu, none + 1.0, none]), share / np.abs(nu[:, 0]))
