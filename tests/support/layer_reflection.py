"""The exact reflection of an absorbing layer on the grid, at one frequency and angle.

A line of points across the layer, every field on it times exp(i k z) along the layer and
exp(-i w t) in time, is a linear system: the scheme's own differences, leapfrog and memory
variables. The wave that comes back is the difference between its solution and that of the same
line with a layer of 45 points instead, which returns 1e-6 and less::

    45 points of layer | INNER points | the layer
                         source, and where waves are compared

Spacing 1. Unknowns are the pressure, or vx at half points and vz at nodes. A memory variable
psi(n) = b psi(n-1) + a f(n) makes a stretched derivative (1/kappa + a / (1 - b exp(i w dt))) f.
"""

from dataclasses import dataclass, replace

import numpy as np

from seismo.grid.coefficients import centred, largest_symbol, staggered
from seismo.grid.grid import Grid
from seismo.solver.medium.cpml import PmlParameters, profile

INNER = 14
THICK = 45


@dataclass(frozen=True)
class Wave:
    """A plane wave that meets the layer, and the medium.

    Attributes:
        points: per wavelength.
        degrees: of incidence.
        kind: "acoustic", "P" or "S".
        velocity: of the fastest wave of the medium, in those of the layer's `velocity` 1.
        ratio: vp / vs of the medium.
    """

    points: float
    degrees: float
    kind: str = "acoustic"
    velocity: float = 1.0
    ratio: float = 1.7320508

    @property
    def own(self) -> float:
        """Velocity of this wave."""
        return self.velocity / self.ratio if self.kind == "S" else self.velocity


def operators(first: np.ndarray, second: np.ndarray, points: int) -> tuple[np.ndarray, ...]:
    """Build L, D up to half points and D down to nodes (points, points); zeros beyond the ends."""
    gap = np.arange(points)[None, :] - np.arange(points)[:, None]
    even = np.concatenate([second, np.zeros(points)])
    odd = np.concatenate([[0.0], first, np.zeros(points)])
    up = np.where(gap > 0, odd[np.abs(gap)], -odd[np.abs(gap - 1)])
    down = np.where(gap >= 0, odd[np.abs(gap + 1)], -odd[np.abs(gap)])
    return even[np.abs(gap)], up, down


def stretches(layer: PmlParameters, width: int, dt: float, w: np.ndarray) -> np.ndarray:
    """Return 1 / s at nodes and at half points, and what a step leaves of a field.

    Args:
        layer: strength of the layer.
        width: its points.
        dt: time step.
        w: (waves) angular frequencies.

    Returns:
        (4, waves, points) of the line; the last two at nodes and at half points.
    """
    rows = []
    thick = PmlParameters(1e-9, 1.0, 0.02, 3.0, layer.velocity, layer.least_shift)
    for one, low, high in ((thick, THICK, 0), (layer, 0, width)):
        n = THICK + INNER + width
        grid = Grid("xz", (n, 1, n), (1.0,) * 3, (0.0,) * 3, (low, 0, 0), (high, 0, 0))
        rows.append(profile(grid, "x", one, dt))
    delay, found = np.exp(1j * w * dt)[:, None], []
    for b, a, ikappa in ((0, 1, 2), (3, 4, 5)):
        both = [r[ikappa] + r[a] / (1 - r[b] * delay) for r in rows]
        found.append(both[0] + both[1] - 1.0)
    kept = [np.broadcast_to(rows[0][n] * rows[1][n], found[0].shape) for n in (6, 7)]
    return np.array([*found, *kept])


def line(waves: list[Wave], order: int, layer: PmlParameters, width: int, dt: float) -> np.ndarray:
    """Solve the line for every wave: fields at the inner points (waves, unknowns)."""
    first, second = staggered(order), centred(order)
    straight, up, down = operators(first, second, THICK + INNER + width)
    squares = np.array([_squares(wave, first, second) for wave in waves])  # (waves, 2)
    rates = np.array([wave.own for wave in waves]) ** 2 * squares.sum(1)  # -(d/dt)^2
    w = 2 / dt * np.arcsin(0.5 * dt * np.sqrt(rates))
    nodes, halves, *kept = stretches(layer, width, dt, w)
    fields = []
    for n, wave in enumerate(waves):
        across, rate = np.sqrt(squares[n, 1]), rates[n]
        if wave.kind == "acoustic":
            fields.append(_acoustic(wave, rate, across, nodes[n], halves[n], straight, up, down))
        else:
            turn = np.exp(0.5j * w[n] * dt)
            slopes = [(1.0 / (turn * share[n]) - turn) / dt for share in kept]
            fields.append(_elastic(wave, across, slopes, nodes[n], halves[n], up, down))
    return np.array(fields)


def _squares(wave: Wave, first: np.ndarray, second: np.ndarray) -> list[float]:
    """Return what stands for the squared wavenumbers into the layer and along it."""
    k, angle = 2 * np.pi / wave.points, np.radians(wave.degrees)
    m = np.arange(1, len(first) + 1)
    components = (k * np.cos(angle), k * np.sin(angle))
    if wave.kind == "acoustic":
        return [2 * (1 - np.cos(m * p)) @ second[1:] for p in components]
    return [float(2 * np.sin((m - 0.5) * p) @ first) ** 2 for p in components]


def _acoustic(wave, rate, across, nodes, halves, straight, up, down) -> np.ndarray:
    """Solve -rate / c^2 p = (1/s) (L + D (1/s - 1) D) p - k^2 p + source."""
    system = nodes[:, None] * (straight + down @ ((halves - 1)[:, None] * up))
    system = system + np.diag(np.full(len(system), rate / wave.velocity**2 - across**2))
    source = np.zeros(len(system), complex)
    source[THICK + 2] = 1.0
    return np.linalg.solve(system, source)[THICK + 4 : THICK + INNER]


def _elastic(wave, across, slopes, nodes, halves, up, down) -> np.ndarray:
    """Solve the P-SV equations, driven by a potential of the wave's own kind.

    With the slope in time t, (exp(-i w dt / 2) / m - exp(i w dt / 2)) / dt where a step leaves m of
    a field, at nodes and half points, and G, D stretched: t^2 vx = G (P D vx + l i k vz)
    + i k M (i k vx + G vz), and t^2 vz = D M (i k vx + G vz) + i k (P i k vz + l D vx).
    """
    rise, fall, ik = halves[:, None] * up, nodes[:, None] * down, 1j * across
    stiff, shear = wave.velocity**2, (wave.velocity / wave.ratio) ** 2
    weak = stiff - 2 * shear
    at_nodes, at_halves = (1.0 / slope for slope in slopes)
    rise_of, fall_of = rise * at_nodes, fall * at_halves  # of stresses, found by their slopes
    system = np.block([
        [stiff * rise_of @ fall - np.diag(shear * across**2 * at_halves + slopes[1]),
         ik * (weak * rise_of + shear * at_halves[:, None] * rise)],
        [ik * (shear * fall_of + weak * at_nodes[:, None] * fall),
         shear * fall_of @ rise - np.diag(stiff * across**2 * at_nodes + slopes[0])],
    ])  # fmt: skip
    point = np.zeros(len(up))
    point[THICK + 4] = 1.0
    if wave.kind == "P":
        source = np.concatenate([up @ point, ik * point])
    else:
        source = np.concatenate([ik * point, -(down @ point)])
    found = np.linalg.solve(system, source).reshape(2, -1)
    return found[:, THICK + 8 : THICK + INNER].ravel()


def reflection(waves: list[Wave], order: int, layer: PmlParameters, width: int, step: float = 0.9):
    """Return the reflected share of each wave's amplitude (waves).

    Args:
        waves: what meets the layer.
        order: of the differences.
        layer: its strength; `velocity` 1.
        width: its points.
        step: time step, in those of the stability limit in 2-D.
    """
    dt = step * 2 / (np.sqrt(2) * largest_symbol(staggered(order)))
    mild = replace(layer, reflection=1e-9, power=3.0, kappa=1.0, alpha=0.02, damping=0.0)
    found, free = (line(waves, order, one, n, dt) for one, n in ((layer, width), (mild, THICK)))
    return np.sqrt((np.abs(found - free) ** 2).mean(1) / (np.abs(free) ** 2).mean(1))
