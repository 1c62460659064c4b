"""Points of derivatives, by the differences that the scheme has in each row."""

from __future__ import annotations

import numpy as np

from seismo.equations.framework.table import Field
from seismo.grid.grid import AXES
from seismo.grid.interpolation import Points
from seismo.grid.surface_closure import SurfaceClosure
from seismo.solver.interpolation.point_weights import PointInterpolation


def derivative_points(
    interpolation: PointInterpolation, field: Field, axis: str, points: Points
) -> Points:
    """Replace points of a derivative by the points of the field it differentiates."""
    if axis != "z":
        return _evenly_along(interpolation, field, axis, points)
    # Rows beside contacts that slip have differences of their own.
    rows = np.unique(points.z).tolist()
    one_sided = {row: along for row in rows if (along := interpolation.differences(field, row))}
    joined = [
        _evenly_along(interpolation, field, axis, points.taking(~np.isin(points.z, [*one_sided])))
    ]
    for row, (read, weights) in one_sided.items():
        x, y, _, w = (np.repeat(column, read.size) for column in points.taking(points.z == row))
        count = x.size // read.size
        height = interpolation.grid.edge("z", row + 0.5 * ("z" not in field.half))
        joined.append(Points(x, y, np.tile(read, count), w * np.tile(weights, count) / height))
    return Points(*map(np.concatenate, zip(*joined, strict=True)))


def _evenly_along(
    interpolation: PointInterpolation, field: Field, axis: str, points: Points
) -> Points:
    x, y, z, w = points
    a = AXES.index(axis)
    half = axis in field.half
    h = interpolation.grid.spacing[a]
    c = interpolation.stencil.along(axis) / h
    index = [x, y, z]
    rows = []
    # Each point of the derivative becomes a pair of the field's for each coefficient.
    for m, coefficient in enumerate(c, 1):
        # Half-point fields give the derivative on nodes: points n - 1/2 and n + 1/2.
        for sign, shift in ((1, m - 1 if half else m), (-1, -m if half else 1 - m)):
            moved = [i + (shift if n == a else 0) for n, i in enumerate(index)]
            rows.append((*moved, sign * coefficient * w))
    if axis == "z" and interpolation.grid.stretching is not None:
        # (1 / J) d/dzeta, J where the derivative stands.
        heights = interpolation.grid.heights(z + (0.0 if half else 0.5))
        rows = [(*at, weights / heights) for *at, weights in rows]
    if axis == "z" and interpolation.closure is not None:
        return _along_closed(interpolation.closure, half, h, rows, points)
    return Points(*(np.concatenate(columns) for columns in zip(*rows, strict=True)))


def _along_closed(closure: SurfaceClosure, half: bool, h: float, rows, points: Points) -> Points:
    x, y, z, w = points
    # Rows below a closed surface: one-sided differences in place of the pairs.
    is_closed = z < closure.rows
    table = (closure.down if half else closure.up) / h
    kept = [tuple(column[~is_closed] for column in row) for row in rows]
    for k in range(table.shape[1]):
        row = np.full(is_closed.sum(), k)
        kept.append((x[is_closed], y[is_closed], row, w[is_closed] * table[z[is_closed], k]))
    return Points(*(np.concatenate(column) for column in zip(*kept, strict=True)))
