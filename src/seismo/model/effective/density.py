"""Effective density of a cell with two fluids: anisotropic, along and across their contact.

Across a contact both fluids have the same velocity, and densities are averaged. Along it fluids
slip: the pressure gradient is common to both, and inverse densities are averaged. The
inverse density of such a cell is a tensor (Schoenberg & Sen 1983, JASA 73, 61-67), with n the unit
normal of the contact and angle brackets for means::

    B = n n^T / <rho> + (1 - n n^T) <1 / rho>

`rho_x`, `rho_y`, `rho_z` are the inverses of its diagonal. They are averaged over the cell about
their velocity: the mean of the two adjacent nodes would be correct for one of the two means only.
Solids do not slip: where a cell contains any, the mean of <rho> at two nodes is used.

The time step is limited by the largest eigenvalue of K G^T B G: G the differences of pressure, K
the P moduli of nodes, B_ii = 1 / rho_i at the velocities, in planes that keep `rho_i`, else the
inverse mean of two nodes; and B_ij (`seismo.features.contacts.rows`). At a node no eigenvalue of B
exceeds <1 / rho>, and K <1 / rho> no c^2 in the cell.

Symbols: rho density (kg/m3), c velocity (m/s).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from seismo.grid.grid import CellSizes
from seismo.model.effective import (
    SLAB,
    AveragedEarth,
    Samples,
    lattice,
    slopes,
    tensor,
    uneven_cells,
)

NORMALS = ("normal_x", "normal_y")  # squares of these components of n; the rest is that of z
_WET = 1.0 - 1e-9  # share of fluid in a cell that is all fluid
_ALIKE = 1e-9  # relative difference of densities that count as equal

# What is averaged, from samples of vs (none: all is fluid) and rho.
MEANS: dict[str, Callable[[Samples], np.ndarray]] = {
    "density": lambda s: s["rho"],
    "lightness": lambda s: 1.0 / s["rho"],
    "fluid": lambda s: (s["vs"] == 0.0) * 1.0 if "vs" in s else np.ones_like(s["rho"]),
    **{name: lambda s: np.zeros_like(s["rho"]) for name in NORMALS},  # found for cut cells only
}


def _inverse(m: Samples, axis: str) -> np.ndarray:
    """Return 1 / B_ii of an axis, NaN where there is any solid."""
    square = 1.0 - m["normal_x"] - m["normal_y"] if axis == "z" else m[f"normal_{axis}"]
    inverse = square / m["density"] + (1.0 - square) * m["lightness"]
    return np.where(m["fluid"] > _WET, 1.0 / inverse, np.nan)


# Results, from these averages.
RESULTS = {f"rho_{axis}": (tuple(MEANS), partial(_inverse, axis=axis)) for axis in "xyz"}


def normals(density: np.ndarray, points: np.ndarray) -> dict[str, np.ndarray]:
    """Return the squares (cells) of the normal's components that `NORMALS` names.

    Args:
        density: (cells, samples) kg/m3.
        points: (rank, samples) positions in cells from the centre; z first, x last.
    """
    squares = slopes(density, points) ** 2
    squares /= np.maximum(squares.sum(0), np.finfo(float).tiny)
    y = squares[1] if len(points) == 3 else np.zeros(len(density))
    return {"normal_x": squares[-1], "normal_y": y}


def cut_cells(
    earth: AveragedEarth, z: np.ndarray, y: np.ndarray | None, x: np.ndarray, spacing: CellSizes
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cells with an anisotropic B: indices, normals and 1/<rho> - <1/rho>.

    Off its diagonal B_ij is n_i n_j times the last. Fluids of equal density have none. Excluded are
    cells at the ends of the interior, where contacts are parallel to the axes (`straighten`), and
    cells of gridded parts.

    Args:
        earth: the earth.
        z: depths (nz) m of nodes.
        y: coordinates (ny) m along y, or None in 2-D.
        x: coordinates (nx) m along x.
        spacing: edges in m of the cells by axis name.

    Returns:
        Indices (cells, rank) along z, (y,) x; normals (rank, cells); m3/kg (cells).
    """
    present = [
        (axis, ends) for axis, ends in zip((z, y, x), earth.clamp, strict=True) if axis is not None
    ]
    interior = [np.flatnonzero(_between(axis, ends)) for axis, ends in present]
    coordinates = [axis[kept] for (axis, _), kept in zip(present, interior, strict=True)]
    rank = len(present)
    y_inside = None if y is None else coordinates[1]
    slab_rows = max(1, SLAB // max(1, int(np.prod([axis.size for axis in interior[1:]]))))
    cells = [np.zeros((0, rank), int)]
    normal = [np.zeros((rank, 0))]
    excess = [np.zeros(0)]
    for first in range(0, interior[0].size, slab_rows):
        axes = tensor(coordinates[0][first : first + slab_rows], y_inside, coordinates[-1])
        for (k, *others), samples in uneven_cells(earth, axes, spacing, lattice(rank)):
            m = {name: MEANS[name](samples).mean(1) for name in MEANS}
            is_fluid = (m["fluid"] > _WET) & (m["density"] * m["lightness"] > 1.0 + _ALIKE)
            slope = slopes(samples["rho"][is_fluid], lattice(rank))
            length = np.maximum(np.sqrt((slope**2).sum(0)), np.finfo(float).tiny)
            index = [
                axis[n[is_fluid]] for axis, n in zip(interior, (first + k, *others), strict=True)
            ]
            cells.append(np.stack(index, 1))
            normal.append(slope / length)
            excess.append((1.0 / m["density"] - m["lightness"])[is_fluid])
    return np.concatenate(cells), np.concatenate(normal, 1), np.concatenate(excess)


def _between(axis: np.ndarray, ends: tuple[float, float] | None) -> np.ndarray:
    return np.ones(axis.size, bool) if ends is None else (axis > ends[0]) & (axis < ends[1])


def straighten(averages: dict[str, np.ndarray], where: np.ndarray) -> None:
    """Rotate contacts to the closest axes of the grid in the cells of a mask, in place."""
    x, y = (averages[name] for name in NORMALS)
    z = 1.0 - x - y
    along_x = (x >= y) & (x > z)
    along_y = (y > x) & (y > z)
    averages["normal_x"] = np.where(where, along_x, x)
    averages["normal_y"] = np.where(where, along_y, y)
