"""The effective density of a cell in which fluids meet: not the same along their contact as across.

Across a contact the parts of a cell move together, and their densities add up. Along it fluids
slip: what they share is the gradient of pressure, so that their inverse densities add up. The
inverse density of such a cell is a tensor (Schoenberg & Sen 1983, JASA 73, 61-67), with n the unit
normal of the contact and angle brackets for means::

    B = n n^T / <rho> + (1 - n n^T) <1 / rho>

`rho`, `rho_x`, `rho_y` are the inverses of its diagonal, for motion along z, x and y. Solids do
not slip: where a cell holds any, all three are <rho>.

A velocity half a cell further along its axis takes the mean of two nodes there. So <rho>, which
flat contacts have along z, is averaged for use between nodes (`seismo.model.column`), <1 / rho> at
the nodes.

Symbols: rho density (kg/m3).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from seismo.model.cells import Samples, slopes

NORMALS = ("normal_x", "normal_y")  # squares of these components of n; the rest is that of z
_WET = 1.0 - 1e-9  # share of fluid in a cell that is one

# What is averaged, from samples of vs (none: all is fluid) and rho.
MEANS: dict[str, Callable[[Samples], np.ndarray]] = {
    "density": lambda s: s["rho"],
    "fluid_density": lambda s: s["rho"],
    "lightness": lambda s: 1.0 / s["rho"],
    "fluid": lambda s: (s["vs"] == 0.0) * 1.0 if "vs" in s else np.ones_like(s["rho"]),
    **{name: lambda s: np.zeros_like(s["rho"]) for name in NORMALS},  # found for cut cells only
}


def _inverse(m: Samples, axis: str) -> np.ndarray:
    """Return 1 / B_ii of an axis."""
    square = 1.0 - m["normal_x"] - m["normal_y"] if axis == "z" else m[f"normal_{axis}"]
    inverse = square / m["fluid_density"] + (1.0 - square) * m["lightness"]
    return np.where(m["fluid"] > _WET, 1.0 / inverse, m["density"])


# What is asked for, from those averages.
RESULTS = {
    "rho" + suffix: (tuple(MEANS), partial(_inverse, axis=axis))
    for suffix, axis in (("", "z"), ("_x", "x"), ("_y", "y"))
}


def normals(density: np.ndarray, points: np.ndarray) -> dict[str, np.ndarray]:
    """Return the squares (cells) of the normal's components that `NORMALS` names.

    Args:
        density: (cells, samples) kg/m3.
        points: (rank, samples) where, in cells from the centre; z first, x last.
    """
    squares = slopes(density, points) ** 2
    squares /= np.maximum(squares.sum(0), np.finfo(float).tiny)
    y = squares[1] if len(points) == 3 else np.zeros(len(density))
    return {"normal_x": squares[-1], "normal_y": y}


def straighten(averages: dict[str, np.ndarray], where: np.ndarray) -> None:
    """Turn contacts parallel to the nearest axes of the grid at some cells, in place."""
    x, y = (averages[name] for name in NORMALS)
    z = 1.0 - x - y
    along_x = (x >= y) & (x > z)
    along_y = (y > x) & (y > z)
    averages["normal_x"] = np.where(where, along_x, x)
    averages["normal_y"] = np.where(where, along_y, y)
