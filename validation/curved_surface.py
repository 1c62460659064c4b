"""Exact 2-D waves under a curved free surface, by the method of fundamental solutions.

A line force in uniform rock radiates u0, the wave of a whole space. What the surface adds is a sum
of the waves of line forces outside of the rock, a little above its surface,
    u(x) = u0(x) + sum_q G(x, y_q) f_q,    n . sigma[u](x_p) = 0 at more points x_p than unknowns,
(of the pressure in a fluid, u(x_p) = 0)
solved by least squares for each Laplace variable s (Kupradze & Aleksidze 1964; Fairweather &
Karageorghis 1998; in seismology Sanchez-Sesma & Rosenblueth 1979). Every term solves the equation
of motion exactly, so that the traction left between the points x_p bounds the error. The surface
ends at `reach` on either side: exact until waves come back from there, as no wave is faster than
vp. Written for validation and independent of grids, mappings and finite differences.

x, z [m], z down; forces [N/m]; s [1/s] as in `seismo.exact`. With phi_c the scalar Green
function of speed c, D = (1/r) d/dr, A = phi_vs / (rho vs^2), B = (phi_vp - phi_vs) / (rho s^2):
    G_ij       = delta_ij (A + DB) + x_i x_j D^2 B
    traction_ij = mu [(delta_ij n.x + n_j x_i)(DA + 2 D^2 B) + 2 n_i x_j D^2 B
                       + 2 n.x x_i x_j D^3 B] + lambda n_i x_j D phi_vp / (rho vp^2)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import cumulative_trapezoid
from scipy.interpolate import CubicSpline
from scipy.linalg import cho_factor, cho_solve

from seismo.exact import respond
from seismo.exact.medium import Medium
from seismo.exact.whole_space import radial_derivatives

SUPPRESSION = 1e-7  # of waves that come one period late
CUT = 1e-6  # relative level under which a frequency of the source is left out
PER_WAVELENGTH = 5.0  # outer forces per shear wavelength
PER_DISTANCE = 6.0  # and per distance from the source
HEIGHT = 3.0  # of the outer forces above the surface, in their spacings
OVERSAMPLING = 2  # points without traction per outer force
BAND = 1.3  # ratio of frequencies that share one set of points


@dataclass(frozen=True)
class Surface:
    """A free surface z(x) m with its slope dz/dx, between -reach and reach m.

    feature: the shortest length m over which it bends.
    """

    depth: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    reach: float
    feature: float

    def points(self, wavelength: float, source: np.ndarray, finer: int = 1) -> tuple:
        """Return points (point, 2) along it, normals into the rock, and spacings (point) m.

        As far apart as a wavelength and the features of the surface demand, and the distance from
        the source: waves there are as sharp as they are close to it.
        """
        coarsest = min(wavelength / PER_WAVELENGTH, self.feature)
        fine = np.linspace(-self.reach, self.reach, 20001)
        distance = np.hypot(fine - source[0], self.depth(fine) - source[1])
        spacing = np.minimum(coarsest, distance / PER_DISTANCE)
        steps = np.hypot(1.0, self.slope(fine)) / spacing
        length = cumulative_trapezoid(steps, fine, initial=0.0)
        count = finer * int(np.ceil(length[-1]))
        x = np.interp((np.arange(count) + 0.5) / count * length[-1], length, fine)
        slope = self.slope(x)
        normals = np.stack([-slope, np.ones_like(x)], axis=1) / np.hypot(1.0, slope)[:, None]
        return np.stack([x, self.depth(x)], axis=1), normals, np.interp(x, fine, spacing)


def hill(height: float, width: float, reach: float, feature: float) -> Surface:
    """Return the surface of a hill -height exp(-(x/width)^2), a canyon where height < 0."""

    def depth(x: np.ndarray) -> np.ndarray:
        return -height * np.exp(-((x / width) ** 2))

    return Surface(depth, lambda x: -2 * x / width**2 * depth(x), reach, feature)


def plane(slope: float, reach: float, feature: float) -> Surface:
    """Return the surface z = slope x."""
    return Surface(lambda x: slope * x, lambda x: slope + 0 * x, reach, feature)


def force_response(
    surface: Surface,
    position: np.ndarray,
    receivers: np.ndarray,
    force: np.ndarray,
    source: np.ndarray,
    dt: float,
    medium: Medium,
) -> np.ndarray:
    """Return the velocity (receiver, component, time) m/s that a line force f(t) causes.

    position (2) m of the force; receivers (receiver, 2) m; force (2) N/m along x and z, or (1)
    along y for SH waves; source (time): f(t); dt s.
    """
    waves = _ShearWaves if len(force) == 1 else _PlaneStrainWaves
    problem = _Problem(surface, np.atleast_2d(position), np.atleast_2d(receivers), medium, waves)
    return respond(lambda s: s * problem.transfer(s, np.asarray(force, float)), source, dt,
                   SUPPRESSION, CUT)  # fmt: skip


def pressure_response(
    surface: Surface, position: np.ndarray, receivers: np.ndarray, source: np.ndarray, dt: float,
    speed: float,
) -> np.ndarray:  # fmt: skip
    """Return p (receiver, time) Pa of p_tt / c^2 - laplacian p = s(t) delta, p = 0 on the surface.

    position (2) m of the source; receivers (receiver, 2) m; source (time): s(t) Pa; dt s; speed c
    in m/s.
    """
    fluid = Medium(2.0 * speed, speed, speed**-2)  # waves of its vs, mu is 1
    ends = np.atleast_2d(position), np.atleast_2d(receivers)
    problem = _Problem(surface, *ends, fluid, _PressureWaves)
    return respond(lambda s: problem.transfer(s, np.ones(1))[:, 0], source, dt, SUPPRESSION, CUT)


@dataclass(frozen=True)
class _Problem:
    """One force under a surface, at (1, 2) m, and receivers (receiver, 2) m; kind of waves."""

    surface: Surface
    position: np.ndarray
    receivers: np.ndarray
    medium: Medium
    waves: type

    def transfer(self, frequencies: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Return the displacement (receiver, component, frequency) per unit source spectrum."""
        columns = []
        shared = None
        largest = 0.0
        for s in frequencies[::-1]:
            if shared is None or abs(s) * BAND < largest:
                shared = self._geometry(abs(s))
                largest = abs(s)
            columns.append(self._displacement(s, force, shared))
        return np.stack(columns[::-1], axis=-1)

    def _geometry(self, s: float) -> list:
        """Return the pairs of points that all frequencies of a band share, |s| the largest."""
        wavelength = 2 * np.pi * self.medium.vs / s
        source = self.position[0]
        at, normals, spacing = self.surface.points(wavelength, source)
        free, free_normals, _ = self.surface.points(wavelength, source, OVERSAMPLING)
        outer = at - HEIGHT * spacing[:, None] * normals
        return [
            self.waves(self.medium, *pair)
            for pair in (
                (free, outer, free_normals), (free, self.position, free_normals),
                (self.receivers, outer), (self.receivers, self.position),
            )
        ]  # fmt: skip

    def _displacement(self, s: complex, force: np.ndarray, shared: list) -> np.ndarray:
        """Return the displacement (receiver, component) for one s."""
        outer_traction, traction, outer_wave, wave = shared
        matrix = _flat(outer_traction.traction(s))
        right_side = -_flat(traction.traction(s)) @ force
        # Normal equations: the matrix has a condition number of some 1e4.
        normal = matrix.conj().T @ matrix
        strengths = cho_solve(cho_factor(normal), matrix.conj().T @ right_side)
        scattered = _flat(outer_wave.displacement(s)) @ strengths
        direct = _flat(wave.displacement(s)) @ force
        return (scattered + direct).reshape(len(self.receivers), -1)


def _flat(table: np.ndarray) -> np.ndarray:
    """Return (i, j, point, source) as a matrix (point i, source j)."""
    i, j, points, sources = table.shape
    return table.transpose(2, 0, 3, 1).reshape(points * i, sources * j)


class _Pairs:
    """Offsets of points from line forces, and the radial functions at all of them."""

    def __init__(
        self, medium: Medium, points: np.ndarray, sources: np.ndarray,
        normals: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.medium = medium
        self.x = np.moveaxis(points[:, None] - sources, -1, 0)
        self.logarithm = np.log(np.hypot(*self.x))
        low = self.logarithm.min() - 1e-3
        self.table = np.linspace(low, self.logarithm.max() + 1e-3, 2500)
        if normals is not None:
            self.n = normals.T[:, :, None]
            self.across = (self.n * self.x).sum(axis=0)

    def radial(self, s: complex, order: int, *speeds: float) -> list[np.ndarray]:
        """Return D^n phi (n, point, source) for n = 0..order, of each speed.

        From a table of D^n phi r^2n exp(s r / c), a smooth function of log r.
        """
        if self.x[0].size < self.table.size:
            return [radial_derivatives(np.exp(self.logarithm), s / c, 2, order) for c in speeds]
        r = np.exp(self.table)
        powers = np.arange(order + 1)[:, None]
        tables = [
            radial_derivatives(r, s / c, 2, order) * r ** (2.0 * powers) * np.exp(s / c * r)
            for c in speeds
        ]
        smooth = CubicSpline(self.table, np.concatenate(tables).T)(self.logarithm)
        distance = np.exp(self.logarithm)
        result = []
        for column, c in enumerate(speeds):
            decay = np.exp(-s / c * distance)
            first = column * (order + 1)
            result.append(np.stack([
                smooth[..., first + n] * decay / distance ** (2 * n) for n in range(order + 1)
            ]))  # fmt: skip
        return result


class _ShearWaves(_Pairs):
    """SH waves: displacement and traction along y."""

    def displacement(self, s: complex) -> np.ndarray:
        """Return G (1, 1, point, source) m^2/N."""
        return self.radial(s, 0, self.medium.vs)[0][None] / self.medium.mu

    def traction(self, s: complex) -> np.ndarray:
        """Return mu dG/dn (1, 1, point, source) 1/m."""
        return (self.radial(s, 1, self.medium.vs)[0][1] * self.across)[None, None]


class _PressureWaves(_ShearWaves):
    """Pressure, which vanishes on the surface; mu is 1."""

    def traction(self, s: complex) -> np.ndarray:
        """Return G (1, 1, point, source) on the surface."""
        return self.displacement(s)


class _PlaneStrainWaves(_Pairs):
    """P-SV waves: displacement and traction along x and z."""

    def _functions(self, s: complex, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return D^n of A, of B and of phi_vp / (rho vp^2)."""
        m = self.medium
        compression, shear = self.radial(s, order, m.vp, m.vs)
        return shear / m.mu, (compression - shear) / (m.rho * s**2), compression / (m.rho * m.vp**2)

    def displacement(self, s: complex) -> np.ndarray:
        """Return G_ij (i, j, point, source) m^2/N."""
        a, b, _ = self._functions(s, 2)
        return np.array([
            [(i == j) * (a[0] + b[1]) + self.x[i] * self.x[j] * b[2] for j in (0, 1)]
            for i in (0, 1)
        ])  # fmt: skip

    def traction(self, s: complex) -> np.ndarray:
        """Return the traction (i, j, point, source) 1/m along i of a force along j."""
        a, b, p = self._functions(s, 3)
        x = self.x
        n = self.n
        q = self.across
        mu = self.medium.mu
        turned = a[1] + 2 * b[2]
        result = np.empty((2, 2, *q.shape), complex)
        for i in (0, 1):
            for j in (0, 1):
                result[i, j] = mu * (
                    ((i == j) * q + n[j] * x[i]) * turned
                    + 2 * n[i] * x[j] * b[2] + 2 * q * x[i] * x[j] * b[3]
                ) + self.medium.lame * n[i] * x[j] * p[1]  # fmt: skip
        return result
