"""Say how many points a wavelength acoustic waves about a tilted axis need, here and in Devito.

    python benchmarks/tilted_errors.py

In case W11 both take differences of order 8, and of half of it in Devito's rotated derivatives.
Those are taken half a cell up or down each axis (`Gzz_centered` of its seismic examples), and added
where they stand: products of derivatives along unlike axes belong to a place half a cell up one
axis and down the other. Their symbol is that on the node times cos((k_a - k_b) h / 2): an error of
second order, whatever the order of the differences. Phase velocities follow from the symbols, for
waves of all directions; errors of time steps are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from seismo.grid.coefficients import centred, centred_first, staggered
from seismo.runs.tools.bench.cases import THOMSEN

Velocity = Callable[[np.ndarray], np.ndarray]  # of waves k h (direction, axis)

ORDER = 8
SAMPLINGS = (4, 5, 6, 8, 10, 12, 16, 20)
ERRORS = (1e-2, 3e-3, 1e-3)
MOST_POINTS = 1000.0


def axis() -> np.ndarray:
    """Return the axis of the rock of the benchmarks, of length 1."""
    theta, phi = np.radians(THOMSEN["theta"]), np.radians(THOMSEN["phi"])
    return np.array([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])


def directions() -> np.ndarray:
    """Return directions of waves (direction, axis) on half of a sphere."""
    z, azimuth = (c.ravel() for c in np.meshgrid(np.linspace(0, 1, 13), np.linspace(0, 6.28, 25)))
    across = np.sqrt(1 - z**2)
    return np.stack([across * np.cos(azimuth), across * np.sin(azimuth), z], axis=1)


def laplacian(k: np.ndarray) -> np.ndarray:
    """Return the symbol of second differences of order 8."""
    d = centred(ORDER)
    return sum(d[0] + 2 * d[1:] @ np.cos(np.outer(np.arange(1, d.size), c)) for c in k.T)


def along_axis(k: np.ndarray) -> np.ndarray:
    """Return the symbol of (n . grad)^2 by first differences on the nodes."""
    e = centred_first(ORDER)
    slopes = [2 * e @ np.sin(np.outer(np.arange(1, e.size + 1), c)) for c in k.T]
    return -((axis() @ np.array(slopes)) ** 2)


def along_axis_in_devito(k: np.ndarray, order: int) -> np.ndarray:
    """Return that of Devito's, of an order of the rotated derivatives."""
    c = staggered(order)
    middles = np.arange(c.size) + 0.5
    slopes = axis()[:, None] * np.array([2 * c @ np.sin(np.outer(middles, one)) for one in k.T])
    # Up in the inner derivative, down in the outer one: shifts of half a cell.
    shifted = slopes * np.exp(0.5j * k.T)
    return -(shifted.sum(axis=0) * shifted.conj().sum(axis=0)).real


def velocity(all_axes: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return the frequencies of P waves, in units of vp / h, from both symbols."""
    root, faster = np.sqrt(1 + 2 * THOMSEN["delta"]), 1 + 2 * THOMSEN["epsilon"]
    across = all_axes - along
    # -w^2 (p, r) = [[(1 + 2 epsilon) H, root N], [root H, N]] (p, r)
    half = -(faster * across + along) / 2
    product = (faster - root**2) * across * along
    return np.sqrt(half + np.sqrt(half**2 - product))


def schemes() -> dict[str, Velocity]:
    """Return each scheme's frequencies."""
    return {
        "seismo": lambda k: velocity(laplacian(k), along_axis(k)),
        "Devito": lambda k: velocity(laplacian(k), along_axis_in_devito(k, ORDER // 2)),
        "Devito, rotated derivatives of order 8": lambda k: velocity(
            laplacian(k), along_axis_in_devito(k, ORDER)
        ),
    }


def error(scheme: Velocity, points: float) -> float:
    """Return the largest error of the phase velocity of waves of so many points."""
    k = 2 * np.pi / points * directions()
    exact = velocity(-(k**2).sum(axis=1), -((k @ axis()) ** 2))
    return float(np.max(np.abs(scheme(k) / exact - 1)))


def points_for(scheme: Velocity, wanted: float) -> float:
    """Return the points a wavelength from which a scheme keeps to an error."""
    few, many = 2.1, MOST_POINTS
    while many / few > 1.001:
        middle = np.sqrt(few * many)
        few, many = (middle, many) if error(scheme, middle) > wanted else (few, middle)
    return many


def line(name: str, cells: Sequence[str]) -> str:
    """Format a row of a table."""
    return " | ".join([f"{name:40}", *cells])


def main() -> None:
    """Print errors for some samplings, then the points for some errors."""
    print(line("largest error of velocity at points", [f"{p:7}" for p in SAMPLINGS]))
    for name, scheme in schemes().items():
        print(line(name, [f"{error(scheme, p):7.1e}" for p in SAMPLINGS]))
    print(line("points a wavelength for an error of", [f"{e:7.1e}" for e in ERRORS]))
    for name, scheme in schemes().items():
        print(line(name, [f"{points_for(scheme, e):7.2f}" for e in ERRORS]))


if __name__ == "__main__":
    main()
