"""Where a channel of a fibre reads strains, in place of the motion at the ends of its gauge length.

The mean strain along a straight piece of length l is t . [v(end) - v(begin)] / l. Beside contacts
of layers, and among the rows of a free surface, motion is read with errors of a few thousandths,
other ones at either end, which a short l makes large. Strains are read there for what they are
(`seismo.solver.interpolation.strain`), so that short pieces integrate them, from contact to
contact::

    1/l int t . e t ds  =  sum_k w_k t . e(s_k) t,     s_k, w_k those of Gauss and Legendre

Own errors of channels, with 10 points in the shortest wavelength, across contacts of 1:3.7 and 1:3
in shear modulus under a free surface, gauge lengths of 0.4, 1 and 2 cells: 16, 6.5 and 4.2 % from
the ends, 3.3, 2.8 and 2.0 % from strains; with 5 points, in nine cells of soft ground on rock, 109
and 55 against 17 and 14 % (0.4 and 1 cells). Under a surface alone 9.6, 5.0 and 0.8 against 1.3,
0.9 and 0.5 %, with a source six rows deep 6.3 and 3.2 against 5.1 and 4.6 %.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from seismo.grid.grid import AXES
from seismo.grid.interpolation import RADIUS
from seismo.solver.interpolation.point_weights import PointInterpolation

MOST_CELLS = 4.0  # of a piece that integrates strains
_LEVEL = 0.02  # sine of the dip up to which both ends of a piece err alike
_NODES = 2  # places in it, and one more for each cell


def strain_places(
    interpolation: PointInterpolation, begin: np.ndarray, end: np.ndarray
) -> list[tuple[np.ndarray, float]]:
    """Return where, and with which shares, a piece of a fibre reads strains.

    Args:
        interpolation: what weights depend on.
        begin: (3) m, where the straight piece begins.
        end: (3) m.

    Returns:
        Positions (3) m and shares, which add up to 1; none where motion at the ends is read.
    """
    grid = interpolation.grid
    axes = [AXES.index(a) for a in grid.axes]
    cells = float(np.linalg.norm((end - begin)[axes] / np.array(grid.spacing)[axes]))
    rows = [float(grid.index("z", p[2])) for p in (begin, end)]
    is_level = abs(end[2] - begin[2]) <= _LEVEL * float(np.linalg.norm(end - begin))
    if is_level or cells > MOST_CELLS or not _is_uneven(interpolation, begin, end, rows):
        return []
    nodes, weights = np.polynomial.legendre.leggauss(_NODES + int(cells))
    cuts = [0.0, *_crossings(interpolation, begin[2], end[2]), 1.0]
    return [
        (begin + (low + (high - low) * 0.5 * (1.0 + node)) * (end - begin),
         0.5 * (high - low) * weight)
        for low, high in pairwise(cuts)
        for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True)
    ]  # fmt: skip


def _is_uneven(
    interpolation: PointInterpolation, begin: np.ndarray, end: np.ndarray, rows: list[float]
) -> bool:
    """Whether motion at the ends of a piece is read otherwise than in an even medium."""
    if "strain_rate" not in interpolation.physics.observables:
        return False
    # Media slip along contacts with fluids: the motion at the ends tells by how much.
    for contact in interpolation.slips:
        if min(rows) - RADIUS < contact.z_index < max(rows) + RADIUS:
            return False
    strains = [interpolation.strains(p) for p in (begin, 0.5 * (begin + end), end)]
    if any(reading is not None and reading.wet for reading in strains):
        return False
    among_rows = interpolation.closure is not None and min(rows) < interpolation.closure.rows
    return among_rows or any(reading is not None for reading in strains)


def _crossings(interpolation: PointInterpolation, first: float, last: float) -> list[float]:
    """Return which shares of the way from a depth (m) to another one lie on contacts of layers."""
    if interpolation.layers is None or first == last:
        return []
    shares = (interpolation.layers.contact_depths - first) / (last - first)
    return sorted(shares[(shares > 0.0) & (shares < 1.0)].tolist())
