"""The largest eigenvalue of the scheme in a medium of several rocks.

A scheme is stable for dt <= 2 / sqrt(L), with L the largest eigenvalue of inv(M) B^T C B: C the
stiffness where stresses stand, M the density where velocities do, B the differences. By the theorem
of Gershgorin for the matrix scaled with the largest symbols S_a of the differences along axes, L is
at most the largest, over all velocities v_a, of

    [ S_a^2 A_a(c_aa) + sum over b of S_b^2 (A_a(c_ab) + 2 A_b(mu_ab)) ] / rho_a

where A_a averages over the points that the difference along a reads, by the size of its weights.
In a uniform medium that is vp^2 (S_x^2 + S_y^2 + S_z^2), the exact value. At a contact of light and
heavy rock it is more: stresses of the heavy rock act on velocities of the light rock. Symbols: vp,
vs (m/s), rho (kg/m3), moduli (Pa); the density of a velocity is the mean of two nodes, mu_ab the
harmonic mean of four.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from seismo.equations.rock.elastic_constants import named
from seismo.grid.coefficients import Stencil
from seismo.grid.grid import AXES, Grid
from seismo.model.earth import Earth
from seismo.model.effective.averaging import cell_average
from seismo.model.effective.cells import GridCells
from seismo.model.extremes import Extremes

ORDINARY = 3.0  # contrast of density below which the sideways variation of an earth is not sampled
_SLAB = 1 << 21  # nodes sampled at a time

MediumArrays = Mapping[str, np.ndarray]


def largest_eigenvalue(
    earth: Earth,
    grid: Grid,
    stencil: Stencil,
    parameters: tuple[str, ...],
    averaging: Literal["effective", "point"],
    extremes: Extremes,
    bounded: Sequence[tuple[float, float]] = (),
) -> float:
    """Return a bound of L in 1/s^2.

    It is 0 where L is that of the fastest rock alone.

    Args:
        earth: the earth, with rho.
        grid: the grid.
        stencil: of the differences.
        parameters: of the effective medium that the equation takes (`Physics.medium`).
        averaging: "effective" or "point".
        extremes: of the earth on the grid.
        bounded: z (from, to) of rows of an earth that varies with depth only, which have operators
            and a bound of their own.
    """
    if extremes.uniform:
        return 0.0
    nodes = GridCells.of(grid)
    if earth.layered:
        nodes = nodes.column
    elif extremes.rho_max < ORDINARY * extremes.rho_min:
        return 0.0
    if not earth.layered:
        parameters = (*parameters, *(f"rho_{a}" for a in grid.axes))
    reach = stencil.order // 2 + 1
    heights = least_heights(grid, reach)
    largest = 0.0
    plane = nodes.x.size * (1 if nodes.y is None else nodes.y.size)
    slab_rows = max(1, _SLAB // plane)
    for start in range(0, nodes.z.size, slab_rows):
        rows = slice(max(0, start - reach), start + slab_rows + reach)
        slab = replace(nodes, z=nodes.z[rows])
        medium = cell_average(earth, slab, parameters, averaging, dtype=np.float64)
        bounds = _bounds(medium, grid, stencil, varied_axes(earth, grid, extremes), heights[rows])
        for low, high in bounded:
            bounds[(low <= slab.z) & (slab.z <= high)] = 0.0
        largest = max(largest, float(bounds[start - rows.start :][:slab_rows].max()))
    return largest


def _bounds(
    m: MediumArrays, grid: Grid, stencil: Stencil, varied: str, heights: np.ndarray
) -> np.ndarray:
    """Return the bound in 1/s^2, largest of a node's velocities.

    Args:
        m: averages (z, [y,] x) of the medium, as `Physics.medium` names them, and where it varies
            sideways `rho_x`, ... of cells that are all fluid.
        grid: the grid.
        stencil: of the differences.
        varied: axes along which rock varies.
        heights: (z) least of the cells that differences read, in cells at the top.
    """
    axes = {a: n for n, a in enumerate("zyx" if grid.dimensions == 3 else "zx")}
    sizes = {a: np.abs(stencil.along(a)) for a in axes}
    weights = {a: size / size.sum() for a, size in sizes.items()}
    squares: dict[str, Any] = {a: square_of(stencil, grid, a, varied) for a in axes}
    if grid.stretching is not None:
        squares["z"] = squares["z"] * heights.reshape(-1, *[1] * (len(axes) - 1)) ** -2
    rho = m["rho"]
    bound = np.zeros_like(m["rho"])
    if "mu_yz" in m:
        for a, n in axes.items():
            shear = _harmonic(m["mu_xy" if a == "x" else "mu_yz"], n)
            bound += squares[a] * _average(shear, weights[a], n, -1) / rho
        return bound
    lightness = _lightness(m, list(axes))
    for a, n in axes.items():
        total = squares[a] * _average(normal_stiffness(m, a, a), weights[a], n, 0)
        for b, k in axes.items():
            if b != a:
                shear = _harmonic(_harmonic(shear_stiffness(m, a, b), n), k)
                along = _average(np.abs(normal_stiffness(m, a, b)), weights[a], n, 0)
                total = total + squares[b] * (along + 2 * _average(shear, weights[b], k, -1))
        inverse = 2.0 / (rho + _shifted(rho, n, 1))
        inverse = np.maximum(inverse, np.maximum(lightness, _shifted(lightness, n, 1)))
        bound = np.maximum(bound, total * inverse)
    return bound


def varied_axes(earth: Earth, grid: Grid, extremes: Extremes) -> str:
    """Return the axes along which the rock of an earth varies."""
    if extremes.uniform:
        return ""
    return "z" if earth.layered else "".join(grid.axes)


def square_of(stencil: Stencil, grid: Grid, axis: str, varied: str) -> float:
    """Return S_a^2 / h_a^2 of the differences along an axis, in 1/m^2.

    `varied`: axes along which rock varies.
    """
    return (stencil.symbol(axis, axis in varied) / grid.spacing[AXES.index(axis)]) ** 2


def least_heights(grid: Grid, reach: int) -> np.ndarray:
    """Return the least height (nz) of cells within `reach` rows, in cells at the top."""
    return np.asarray(grid.heights(np.arange(grid.points[2]) - reach))


def normal_stiffness(m: MediumArrays, a: str, b: str) -> np.ndarray:
    """Return c_ab of a medium, by default transversely isotropic about z."""
    if "p_modulus" in m:
        return m["p_modulus"]
    if "c55" in m:
        return m[named("c", a, b)]
    if a == b:
        return m["c33" if a == "z" else "c11"]
    return m["c13"] if "z" in (a, b) else m["c11"] - 2 * m["c66"]


def _lightness(m: MediumArrays, axes: list[str]) -> np.ndarray:
    """Return <1 / rho> of cells in which fluids meet, 0 elsewhere.

    It is the largest eigenvalue of the tensor B (`seismo.model.effective.density`), whose other
    eigenvalues equal it, except a single 1 / <rho>.
    """
    if "rho_x" not in m:
        return np.zeros_like(m["rho"])
    trace = sum(1.0 / m[f"rho_{a}"] for a in axes)
    return np.nan_to_num((trace - 1.0 / m["rho"]) / (len(axes) - 1))


def shear_stiffness(m: MediumArrays, a: str, b: str) -> np.ndarray:
    """Return mu_ab on the nodes."""
    if "mu_yz" in m:
        return m["mu_yz" if "z" in (a, b) else "mu_xy"]
    if "p_modulus" in m:
        return np.zeros_like(m["p_modulus"])
    if "c55" in m:
        pair = min(a, b) + max(a, b)
        return m[named("c", pair, pair)]
    return m["c44" if "z" in (a, b) else "c66"]


def _shifted(array: np.ndarray, axis: int, by: int) -> np.ndarray:
    """Return an array shifted by `by` nodes along an axis; its ends are repeated."""
    indices = np.clip(np.arange(array.shape[axis]) + by, 0, array.shape[axis] - 1)
    return array.take(indices, axis)


def _average(array: np.ndarray, weights: np.ndarray, axis: int, offset: int) -> np.ndarray:
    """Return the weighted mean about half a node further up (offset 0), or down (-1)."""
    total = np.zeros_like(array)
    for m, weight in enumerate(weights):
        ahead = _shifted(array, axis, m + 1 + offset)
        total += 0.5 * weight * (ahead + _shifted(array, axis, offset - m))
    return total


def _harmonic(array: np.ndarray, axis: int) -> np.ndarray:
    """Return the harmonic mean of a node's value and the next node's, 0 beside 0."""
    with np.errstate(divide="ignore"):
        return 2.0 / (1.0 / array + 1.0 / _shifted(array, axis, 1))
