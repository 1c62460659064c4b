"""Couplings of shear strains so weak that no motion sets energy free, however media contrast.

The discrete energy of rock of any anisotropy is, in the symbols of `seismo.equations.elastic.tti`,

    sum over half points of h_I^2 / c_I  +  sum over nodes of e c e + 2 e a P h + P h b P h

With e such that it is least the nodes give K = a' c^-1 a - b back, at most the share k of all
1 / c_I, k < 1 in any rock. In uniform rock P h has no more energy than h, and the sum is positive.
But at a node of soft rock P weights by -1/16 a row from much stiffer rock, where the strain stores
hardly any energy, and energy is gained: motion grows, for k = 0.1 from contrasts of about 1 : 1000
on.

So the couplings of a shear strain at a node are scaled by s: c_nI s_I, c_IJ s_I s_J, of which the
nodes give back k s_I^2 / c_I. With q = 1 / c_I, of half points the mean of four nodes::

    m = least q of the half points that P takes at a node
    f = k min(q, m)                 part of k q that the bound |P h| <= |h| allows everywhere
    g = k q - f                     the rest
    r = q - largest f around        energy that is left at a half point
    t = 1 / (|P| (|P|' g / r))      at most 1: share of g that r allows, by Cauchy's inequality

and s^2 = (f + t g) / (k q): it is 1 wherever nothing could grow, and for k = 0.3 and a flat contact
to contrasts of 1 : 100 of the shear stiffness. In absorbing layers, where the medium goes on as at
their inner edge, all nodes of a line outwards have the least s of them, so that s does, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations_with_replacement

import numpy as np

from seismo.equations.elastic.formulas import pairs
from seismo.equations.rock.elastic_constants import named
from seismo.grid.interpolation import Midpoints

REACH = 6  # nodes beyond a node that its factors depend on
_MOST = 0.999  # share k that is taken for more
_FLUID = 1e-9  # share of c11 c33 that is left of it in a fluid
_SLAB = 1 << 19  # nodes at once
_LEAST_SHEAR = 1.0  # Pa, of nodes of fluid and beside it: there nothing is coupled


def weakened(medium: Mapping[str, np.ndarray], along: Mapping[str, Midpoints]) -> dict:
    """Return a medium (z, y, x) whose couplings are so weak that no motion sets energy free.

    Args:
        medium: constants c11 ... c66 [Pa] of nodes, roots of rock that attenuates, and others.
        along: interpolation by axis.
    """
    axes = "".join(sorted(along))
    share = _in_slabs(medium, axes)
    shear = pairs(axes)
    factors = {pair: _factor(medium, share, along, pair) for pair in shear}
    changed = dict(medium)
    for pair in shear:
        # v_I of shear strains is scaled as their couplings.
        root = named("root", pair)
        if root in medium:
            changed[root] = medium[root] * factors[pair]
        for a in axes:
            name = named("c", a, pair)
            changed[name] = medium[name] * factors[pair]
    for first, second in combinations_with_replacement(shear, 2):
        if first != second:
            name = named("c", first, second)
            changed[name] = medium[name] * factors[first] * factors[second]
    return changed


def _in_slabs(medium: Mapping[str, np.ndarray], axes: str) -> np.ndarray:
    """Return `coupled_share`, by slabs of planes z: it takes 40 numbers for each node."""
    planes = len(medium["c11"])
    count = max(1, _SLAB * planes // medium["c11"].size)
    stiffness = {name: array for name, array in medium.items() if name[0] == "c"}
    return np.concatenate([
        coupled_share({name: c[first : first + count] for name, c in stiffness.items()}, axes)
        for first in range(0, planes, count)
    ])  # fmt: skip


def coupled_share(medium: Mapping[str, np.ndarray], axes: str) -> np.ndarray:
    """Return k (...), by which coupling lessens the energy of shear strains at most."""
    shear = pairs(axes)
    strains = (*axes, *shear)
    # Where there is fluid, which couples nothing, any rock will do that does not either. Its normal
    # stresses are one number, c11 c33 = c13^2, also beside shear stiffness of the next cells.
    c11, c33, c13 = (medium[named("c", *ends)] for ends in ("xx", "zz", "xz"))
    stiff = [medium[named("c", pair, pair)] > _LEAST_SHEAR for pair in shear]
    sheared = np.logical_and.reduce([*stiff, c11 * c33 - c13**2 > _FLUID * c11 * c33])
    rest = {
        (i, j): np.where(sheared, medium[named("c", i, j)], 1.0 * (i == j))
        for i, j in combinations_with_replacement(strains, 2)
    }
    root = {pair: np.sqrt(rest[pair, pair]) for pair in shear}
    # Schur complement: strains e that make the energy of shear strains least.
    for n, pivot in enumerate(axes):
        for i, j in combinations_with_replacement(strains[n + 1 :], 2):
            rest[i, j] = rest[i, j] - rest[pivot, i] * rest[pivot, j] / rest[pivot, pivot]
    scaled = {
        (i, j): rest[i, j] / (root[i] * root[j]) for i, j in combinations_with_replacement(shear, 2)
    }
    return 1.0 - _least_eigenvalue(scaled, shear)


def _least_eigenvalue(m: Mapping[tuple[str, str], np.ndarray], rows: list[str]) -> np.ndarray:
    """Return the least eigenvalue of symmetric matrices of size 1 or 3."""
    if len(rows) == 1:
        return m[rows[0], rows[0]]
    a, b, c = rows
    # Trigonometric solution of the cubic, of the matrix less the mean of its diagonal.
    mean = (m[a, a] + m[b, b] + m[c, c]) / 3.0
    x, y, z = (m[n, n] - mean for n in rows)
    beside = m[a, b] ** 2 + m[a, c] ** 2 + m[b, c] ** 2
    size = np.sqrt((x**2 + y**2 + z**2 + 2.0 * beside) / 6.0)
    determinant = (
        x * y * z + 2.0 * m[a, b] * m[a, c] * m[b, c]
        - x * m[b, c] ** 2 - y * m[a, c] ** 2 - z * m[a, b] ** 2
    )  # fmt: skip
    turn = np.clip(0.5 * determinant / np.maximum(size, 1e-100) ** 3, -1.0, 1.0)
    return mean + 2.0 * size * np.cos(np.arccos(turn) / 3.0 + 2.0 * np.pi / 3.0)


def _factor(
    medium: Mapping[str, np.ndarray], share: np.ndarray, along: Mapping[str, Midpoints], pair: str
) -> np.ndarray:
    """Return s (z, y, x) of the strain of a pair of axes."""
    lines = [along[axis] for axis in pair]

    def each(method, points: np.ndarray) -> np.ndarray:
        for line in lines:
            points = method(line, points)
        return points

    q = 1.0 / np.maximum(medium[named("c", pair, pair)], _LEAST_SHEAR)
    halves = each(Midpoints.mean, q)
    # f, the share allowed everywhere, and the rest of k q.
    bounded = np.clip(share, 0.0, _MOST) * np.minimum(q, each(Midpoints.least, halves))
    wanted = np.maximum(share, 0.0) * q
    rest = wanted - bounded
    # t, the share of the rest that the energy left at half points allows.
    unused = halves - each(Midpoints.largest, bounded)
    most = each(Midpoints.at_nodes, each(Midpoints.at_halves, rest) / unused)
    allowed = 1.0 / np.maximum(most, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = (bounded + allowed * rest) / wanted
    lessened = (wanted > 0.0) & (allowed < 1.0)
    return each(Midpoints.least_in_layers, np.where(lessened, np.sqrt(squared), 1.0))
