"""How much stiffer than its fastest rock alone a medium makes the difference operators.

A scheme is stable for dt <= 2 / sqrt(L), with L the largest eigenvalue of inv(M) B^T C B: C the
stiffness where stresses stand, M the density where velocities do, B the differences. By the theorem
of Gershgorin for the matrix scaled with the largest symbols S_a of the differences along axes, L is
at most the largest, over all velocities v_a, of

    [ S_a^2 A_a(c_aa) + sum over b of S_b^2 (A_a(c_ab) + 2 A_b(mu_ab)) ] / rho_a

where A_a averages over the points that the difference along a reads, by the size of its weights.
Of one rock that is vp^2 (S_x^2 + S_y^2 + S_z^2), the exact value. Where light rock lies beside
heavy rock it is more: stresses of the heavy one act on velocities of the light one. Symbols: vp, vs
(m/s), rho (kg/m3), moduli (Pa); the density of a velocity is the mean of two nodes, mu_ab the
harmonic mean of four.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from seismo.grid import AXES, Grid
from seismo.model.cells import tensor
from seismo.model.earth import Earth
from seismo.model.extremes import Extremes

ORDINARY = 3.0  # contrast of density below which the sideways variation of an earth is not sampled
_SLAB = 1 << 21  # nodes sampled at a time

Arrays = Mapping[str, np.ndarray]


def excess(
    earth: Earth, grid: Grid, first: np.ndarray, shear_alone: bool, extremes: Extremes
) -> float:
    """Return L over that of the fastest rock alone, at least 1.

    Args:
        earth: the earth, with rho.
        grid: the grid.
        first: (M) staggered coefficients.
        shear_alone: whether the waves are SH.
        extremes: of the earth on the grid.
    """
    if extremes.uniform:
        return 1.0
    z, y, x = (
        grid.coordinate(a, np.arange(n)) for a, n in zip("zyx", grid.points[::-1], strict=True)
    )
    if earth.layered:
        y, x = y[:1], x[:1]
    elif extremes.rho_max < ORDINARY * extremes.rho_min:
        return 1.0
    reach, largest = len(first) + 1, 0.0
    rows = max(1, _SLAB // (y.size * x.size))
    for start in range(0, z.size, rows):
        low, high = max(0, start - reach), min(z.size, start + rows + reach)
        plane = tensor(z[low:high], y if grid.dimensions == 3 else None, x)
        shape = np.broadcast_shapes(*(p.shape for p in plane if p is not None))
        samples = {n: np.broadcast_to(v, shape) for n, v in earth.sample(*plane).items()}
        bounds = _bounds(samples, grid, first, shear_alone, earth.layered)
        largest = max(largest, float(bounds[start - low :][:rows].max()))
    fastest = extremes.vs_max if shear_alone else extremes.vp_max
    squares = sum(h**-2 for a, h in zip(AXES, grid.spacing, strict=True) if a in grid.axes)
    more = largest / (fastest**2 * squares)
    return more if more > 1.0 + 1e-9 else 1.0


def _bounds(
    s: Arrays, grid: Grid, first: np.ndarray, shear_alone: bool, layered: bool
) -> np.ndarray:
    """Return the bound over the squared symbol of spacing 1, largest of a node's velocities."""
    weights = np.abs(first) / np.abs(first).sum()
    axes = {a: n for n, a in enumerate("zyx" if grid.dimensions == 3 else "zx")}
    squares = {a: grid.spacing[AXES.index(a)] ** -2 for a in axes}
    rho = s["rho"]
    shear = rho * s["vs"] ** 2 if "vs" in s else np.zeros_like(rho)
    if shear_alone:
        total = sum(
            squares[a] * _average(_harmonic(shear, n), weights, n, -1) for a, n in axes.items()
        )
        return total / rho
    stiff = rho * s["vp"] ** 2
    found = np.zeros_like(rho)
    for a, n in axes.items():
        own = _average(stiff, weights, n, 0)
        across = _average(np.abs(stiff - 2 * shear), weights, n, 0)
        total = squares[a] * own
        for b, k in axes.items():
            if b != a:
                corner = _average(_harmonic(_harmonic(shear, n), k), weights, k, -1)
                total = total + squares[b] * (across + 2 * corner)
        here, beside = rho, _shifted(rho, n, 1)
        mean = 0.5 * (here + beside)
        if not layered:  # two fluids slip: along their contact the light one moves alone
            slip = (shear == 0.0) & (_shifted(shear, n, 1) == 0.0)
            mean = np.where(slip, 2.0 / (1.0 / here + 1.0 / beside), mean)
        found = np.maximum(found, total / mean)
    return found


def _shifted(values: np.ndarray, axis: int, by: int) -> np.ndarray:
    """Return the values `by` nodes further along an axis; the ends go on."""
    places = np.clip(np.arange(values.shape[axis]) + by, 0, values.shape[axis] - 1)
    return values.take(places, axis)


def _average(values: np.ndarray, weights: np.ndarray, axis: int, offset: int) -> np.ndarray:
    """Return the weighted mean about half a node further up (offset 0), or down (-1)."""
    total = np.zeros_like(values)
    for m, weight in enumerate(weights):
        ahead = _shifted(values, axis, m + 1 + offset)
        total += 0.5 * weight * (ahead + _shifted(values, axis, offset - m))
    return total


def _harmonic(values: np.ndarray, axis: int) -> np.ndarray:
    """Return the harmonic mean of a node's value and the next one's, 0 beside 0."""
    with np.errstate(divide="ignore"):
        return 2.0 / (1.0 / values + 1.0 / _shifted(values, axis, 1))
