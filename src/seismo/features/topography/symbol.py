"""The largest symbol of differences on rows that follow the ground, which limits the time step.

Where the ground is nearly a plane waves see D = (sx - (a / g) cx sz, sy - (b / g) cy sz, sz / g),
s being the symbols of the differences along the rows' own axes and c those of interpolations along
x or y, and z.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from seismo.features.topography.rows import Topography
from seismo.grid.coefficients import Stencil, midpoint_pairs, staggered_symbol
from seismo.grid.grid import AXES
from seismo.solver.accuracy.time_step import RowLimit, Scheme

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization

# Of SH waves the rows of steep ground leave less than its plane waves do: all of it to 51 degrees,
# at 60, where cells are a fifth as high as wide, 0.83.
_SH_DEGREES = (51.0, 60.0)
_SH_SHARE = 0.82
WAVENUMBERS = 16  # along an axis, of the plane waves whose velocities are looked at
_WAVES = 25  # wavenumbers from 0 to the shortest wave, along each axis
_ROUNDED = 0.02  # to which slopes and heights are rounded up, so that few differ


def midpoint_symbol(weights: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the symbol of an interpolation by weights (M) at wavenumbers k (spacing 1)."""
    return 2.0 * np.cos(np.outer(k, np.arange(len(weights)) + 0.5)) @ weights


def steepest_cells(topography: Topography) -> np.ndarray:
    """Return g, 1 at most, and slopes of cells (n, 2), both rounded to what waves are faster in.

    Of cells of which others are as low and as steep nothing is told.
    """
    # Rows at the ground slope most, and are lowest or tallest.
    across = [a for a in topography.grid.axes if a != "z"]
    g = np.atleast_2d(topography.height(topography.level, *topography.across("")))
    slope = np.sqrt(sum(topography.slope(a, "") ** 2 for a in across))
    heights = np.floor(np.minimum(g, 1.0) / _ROUNDED).ravel()
    slopes = np.ceil(slope / _ROUNDED).ravel()
    # From the lowest cells on, those that are steeper than all before.
    order = np.lexsort((-slopes, heights))
    before = np.maximum.accumulate(np.concatenate([[-1.0], slopes[order][:-1]]))
    chosen = order[slopes[order] > before]
    return np.stack([heights[chosen], slopes[chosen]], -1) * _ROUNDED


def sh_share(topography: Topography) -> float:
    """Return the share of the limit of plane waves that SH waves leave, by the steepest ground."""
    degrees = math.degrees(math.atan(float(steepest_cells(topography)[:, 1].max())))
    return float(np.interp(degrees, _SH_DEGREES, (1.0, _SH_SHARE)))


def limits(scheme: Scheme) -> RowLimit:
    """Return what rows that follow the ground leave of the limit of flat ones."""
    topography = scheme.facts.get(Topography)
    if topography is None:
        return RowLimit()
    share = sh_share(topography) if "mu_yz" in scheme.physics.medium else 1.0
    return RowLimit(share=share, growth=growth(topography, scheme.stencil))


def growth(topography: Topography, stencil: Stencil) -> float:
    """Return the largest |D| over that of flat rows; 1 or more."""
    grid = topography.grid
    k = np.linspace(0.0, np.pi, _WAVES)
    difference = staggered_symbol(stencil.first, k)
    weights = midpoint_pairs(stencil.order)
    between = midpoint_symbol(weights, k)
    horizontal = min(grid.spacing[AXES.index(a)] for a in grid.axes if a != "z")
    others = sum(grid.spacing[AXES.index(a)] ** -2 for a in grid.axes if a != "z")
    others -= horizontal**-2
    largest = difference.max()
    sx = difference[:, None] / horizontal
    sz = difference[None, :] / grid.spacing[2]
    across = between[:, None] * between[None, :]
    flat = largest**2 * (others + horizontal**-2 + grid.spacing[2] ** -2)
    most = flat
    for height, dip in steepest_cells(topography):
        along = np.abs(sx) + dip / height * np.abs(across * sz)
        most = max(most, float((along**2 + (sz / height) ** 2).max()) + largest**2 * others)
    return float(np.sqrt(most / flat))


def points_a_step(
    discretization: Discretization, courant: dict[str, float], flat: dict[str, float]
) -> dict[str, float]:
    """Return the largest group velocities of flat rows and of those that follow the ground.

    There T = sum_a D_a^2 with the derivatives at constant z (as above),
    here of a ground that slopes along x or along y: D_x = C_x K_x - (a / g) C_z c_x c_z K_z,
    D_z = C_z K_z / g, and the velocity along k is dT/dk / (2 sqrt(T (1 - T / 4))).
    """
    topography = discretization.fact(Topography)
    if topography is None:
        return flat
    k = np.linspace(1e-3, np.pi, WAVENUMBERS)
    both = np.concatenate([-k[::-1], k])
    weights = midpoint_pairs(discretization.stencil.order)
    m = np.arange(len(discretization.stencil.first)) + 0.5
    pairs = np.arange(len(weights)) + 0.5

    def symbols(n: np.ndarray) -> tuple[np.ndarray, ...]:
        # K, c and their derivatives.
        return (
            np.sign(n) * staggered_symbol(discretization.stencil.first, np.abs(n)),
            2.0 * np.cos(np.outer(n, m)) @ (m * discretization.stencil.first),
            midpoint_symbol(weights, n),
            -2.0 * np.sin(np.outer(n, pairs)) @ (pairs * weights),
        )

    across = [a for a in discretization.grid.axes if a != "z"]
    largest = dict(flat)
    for sloping in across:
        (other,) = [a for a in across if a != sloping] or [""]
        kx, dx, cx, ex = (s[:, None, None] for s in symbols(both))
        kz, dz, cz, ez = (s[None, :, None] for s in symbols(k))
        ky, dy, _, _ = (s[None, None, :] for s in symbols(k))
        for g, slope in steepest_cells(topography):
            # Derivatives along the axis that the ground slopes along, along z, along the other.
            tilt = slope / g * courant["z"]
            in_slope = courant[sloping] * kx - tilt * cx * cz * kz
            down = courant["z"] / g * kz
            beside = courant.get(other, 0.0) * ky
            total = in_slope**2 + down**2 + beside**2
            root = np.sqrt(total * np.maximum(1.0 - total / 4.0, 1e-6))
            rates = {
                sloping: in_slope * (courant[sloping] * dx - tilt * ex * cz * kz),
                "z": down * courant["z"] / g * dz - in_slope * tilt * cx * (ez * kz + cz * dz),
                other: beside * courant.get(other, 0.0) * dy,
            }
            for a in discretization.grid.axes:
                largest[a] = max(largest[a], float((np.abs(rates[a]) / root).max()))
    return largest
