"""Means of symmetry axes: an axis n is its own opposite, so that n n^T is averaged, not its angles.

Between tilts of 89 and -89 degrees lies 90, between azimuths of 350 and 10 lies 0. The mean axis is
the principal one of the mean of n n^T, which turns evenly from one axis to another; between two
that are at right angles there is none, and that of either is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from seismo.equations.rock.elastic_constants import axis_of

if TYPE_CHECKING:
    from seismo.model.volumes.gridded import GridField

ANGLES = {"theta": 180.0, "phi": 360.0}  # by which they turn to the same axis
TURNS = ANGLES | {"azimuth": 180.0}  # the same of rock with planes of symmetry
PRODUCTS = ("xx", "yy", "zz", "xy", "xz", "yz")  # of the components of n
_SQUARINGS = 4  # of the mean products: the 16th power, in which the principal axis is all


def product(pair: str, theta: np.ndarray | float, phi: np.ndarray | float) -> np.ndarray:
    """Return a component of n n^T of axes with angles in degrees."""
    n = axis_of(theta, phi)
    return np.asarray(n[pair[0]] * n[pair[1]])


def principal(products: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the principal axis x, y, z of means of `PRODUCTS`: a column of a high power."""
    m = np.stack(np.broadcast_arrays(*(np.asarray(products[p], float) for p in PRODUCTS)))
    for _ in range(_SQUARINGS):
        xx, yy, zz, xy, xz, yz = m / np.abs(m[:3]).sum(0)
        m = np.stack([
            xx * xx + xy * xy + xz * xz, xy * xy + yy * yy + yz * yz, xz * xz + yz * yz + zz * zz,
            xy * (xx + yy) + xz * yz, xz * (xx + zz) + xy * yz, yz * (yy + zz) + xy * xz,
        ])  # fmt: skip
    rows = {"x": m[[0, 3, 4]], "y": m[[3, 1, 5]], "z": m[[4, 5, 2]]}
    # The column of the largest component of n, divided by its length.
    largest = m[:3].argmax(0)[None]
    column = np.stack([np.take_along_axis(rows[a], largest, 0)[0] for a in "xyz"])
    return dict(zip("xyz", column / np.sqrt((column**2).sum(0)), strict=True))


def unlike(theta: GridField, phi: GridField) -> bool:
    """Whether angles stand on points that are not the same, along an axis of both."""
    first, second = (
        {axis: (*grid.reach(axis), grid.spacing[a]) for a, axis in enumerate(grid.axes)}
        for grid in (theta.thin, phi.thin)
    )
    return any(first[axis] != second[axis] for axis in first.keys() & second.keys())


def separate_angles(
    gridded_parts: Mapping[int, Mapping[str, GridField]],
) -> tuple[int, int] | None:
    """Return the numbers of two parts of which one gives theta alone, and another phi alone.

    Args:
        gridded_parts: grids by parameters, of each gridded part of a model by its number.
    """
    alone: dict[str, int] = {}
    for number, grids in gridded_parts.items():
        angles = [name for name in ANGLES if name in grids]
        if len(angles) == 1 and np.ptp(grids[angles[0]].samples) > 0.0:
            alone[angles[0]] = number
    return (alone["theta"], alone["phi"]) if alone.keys() >= ANGLES.keys() else None


def angles_at(
    grids: Mapping[str, GridField], z: np.ndarray, y: np.ndarray | None, x: np.ndarray,
    nearest: bool = False,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return those angles in degrees that grids have, at coordinates in m: those of a mean axis.

    Where one of them is given alone it turns the shorter way, theta as an axis, phi as a direction.

    Args:
        grids: of parameters, by name; both angles on points that are alike.
        z: depths.
        y: coordinates along y, None in 2-D.
        x: coordinates along x.
        nearest: whether to take the closest point instead of interpolating.
    """
    planes = {n: grids[n].between(z.min(), z.max()) for n in ANGLES if n in grids}
    if not planes:
        return {}
    axes = [axis for axis in "zyx" if any(axis in grid.axes for grid in planes.values())]
    owner = {axis: max(planes.values(), key=lambda grid: axis in grid.axes) for axis in axes}
    points = replace(
        owner[axes[0]], axes="".join(axes), factor=1.0,
        origin=tuple(g.origin[g.axes.index(a)] for a, g in owner.items()),
        spacing=tuple(g.spacing[g.axes.index(a)] for a, g in owner.items()),
    )  # fmt: skip
    angles = {name: _along(grid, axes) for name, grid in planes.items()}

    def mean(samples: np.ndarray) -> np.ndarray:
        return replace(points, samples=samples).at(z, y, x, nearest)

    if "theta" not in angles:
        azimuth = np.radians(angles["phi"])
        return {"phi": np.degrees(np.arctan2(mean(np.sin(azimuth)), mean(np.cos(azimuth))))}
    pairs = {pair: product(pair, angles["theta"], angles.get("phi", 0.0)) for pair in PRODUCTS}
    n = principal({pair: mean(samples) for pair, samples in pairs.items()})
    if "phi" not in angles:
        return {"theta": np.degrees(np.arctan2(n["x"], n["z"]))}
    across = np.hypot(n["x"], n["y"])
    return {"theta": np.degrees(np.arctan2(across, n["z"])),
            "phi": np.degrees(np.arctan2(n["y"], n["x"]))}  # fmt: skip


def azimuth_at(
    grid: GridField, z: np.ndarray, y: np.ndarray | None, x: np.ndarray, nearest: bool = False
) -> np.ndarray:
    """Return the azimuths in degrees of planes of symmetry; arguments as of `angles_at`."""
    double = 2.0 * np.radians(grid.samples * grid.factor)
    sine, cosine = (
        replace(grid, samples=wave(double), factor=1.0).at(z, y, x, nearest)
        for wave in (np.sin, np.cos)
    )
    return 0.5 * np.degrees(np.arctan2(sine, cosine))


def _along(grid: GridField, axes: list[str]) -> np.ndarray:
    """Return the values of a grid, with an axis of one point for every axis that it has not."""
    missing = tuple(k for k, axis in enumerate(axes) if axis not in grid.axes)
    return np.expand_dims(grid.samples * grid.factor, missing)
