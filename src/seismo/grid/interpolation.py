"""Interpolation on the grid: weights at positions, and between nodes and half points.

Weights read a field between its points, or spread a source over them. Away from a free surface they
are a Kaiser-windowed sinc of 8 points along each axis (Hicks 2002, b = 6.31) whose moments up to
degree 3 are corrected to be exact, so that cubic fields are interpolated exactly at any position.
Next to an image surface the window is folded back with the field's sign. Next to a closed surface
(elastic), with no points above, the polynomial through the rows next to the surface is used, which
includes the zero of a field that vanishes there. Where the surface prescribes a field's slope
(`seismo.solver.interpolation.traction_free_slopes`) the polynomial has that slope there, and needs
fewer rows. A position on a grid point has weight 1.

Sources of equations that have waves of any shortness are spread over 16 points along each axis
instead, which pass 0.999 of waves of 8 points, 0.96 of 6, 0.84 of 5, and none of 2.7 and less.

The weights of many positions at once, away from any surface (`even_weights`), depend smoothly on
the share f of the way from a point to the next: each is a polynomial of f, whose coefficients are
found once, at Chebyshev's nodes.

Between nodes and half points along an axis P takes four half points (`Midpoints`,
`seismo.grid.coefficients.MIDPOINT`), under a closed free surface rows of
`seismo.grid.surface_interpolation`. Arrays have a half point for each node, half a cell further;
values within four nodes of their ends are not to be used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache, partial, reduce
from typing import NamedTuple

import numpy as np

from seismo.grid.coefficients import MIDPOINT

RADIUS = 4
KAISER_B = 6.31
EXACT_DEGREE = 3
BROAD_RADIUS = 8
BROAD_BAND = 0.5  # in half of which, of all wavenumbers, broad weights pass waves
SURFACE_POINTS = 6
SLOPE_ROWS = 4  # least number of rows next to a prescribed slope
ON_GRID = 1e-9  # cells within which a position counts as on a grid point


Along = tuple[np.ndarray, np.ndarray]  # indices and weights along an axis
WIDTH = 2 * RADIUS  # points along an axis
_DEGREE = 20  # of the polynomials: they err by less than 1e-13
_CLOSE = 1e-6  # cells from a point, where nodes would be taken for it
_SIZES = np.abs(MIDPOINT)[[1, 0, 0, 1]]
_NONE = np.zeros((0, 0))
_ZERO = 1e-9  # weights that are rounding
Combine = Callable[[list[np.ndarray]], np.ndarray]


class Points(NamedTuple):
    """Weighted points of a field: grid indices x, y, z and weights, each (n)."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    weights: np.ndarray

    def times(self, factor: float | np.ndarray) -> Points:
        """Return the points with their weights times a factor."""
        return self._replace(weights=factor * self.weights)

    def taking(self, chosen: np.ndarray) -> Points:
        """Return the chosen points."""
        return Points(*(column[chosen] for column in self))

    def added_up(self) -> Points:
        """Return each point once, with the sum of its weights."""
        indices = np.array(self[:3])
        if not indices.size:
            return self
        # One number for each point, in the order of x, y, z: weights of equal ones are added.
        low = indices.min(axis=1)
        size = indices.max(axis=1) - low + 1
        flat = np.ravel_multi_index(tuple(indices - low[:, None]), tuple(size))
        flat, which = np.unique(flat, return_inverse=True)
        x, y, z = (i + n for i, n in zip(np.unravel_index(flat, tuple(size)), low, strict=True))
        return Points(x, y, z, np.bincount(which, self.weights))


PointsByField = dict[str, Points]


def joined(*points: Points) -> Points:
    """Return points of a field, each once, with the sum of their weights."""
    return Points(*map(np.concatenate, zip(*points, strict=True))).added_up()


def add_points(points_by_field: PointsByField, name: str, points: Points) -> None:
    """Add points of a field to its earlier points, each once."""
    earlier = (points_by_field[name],) if name in points_by_field else ()
    points_by_field[name] = joined(*earlier, points)


def joined_by_field(named_points: Iterable[tuple[str, Points]]) -> PointsByField:
    """Return points (field, points) by their field, each once."""
    points_by_field = dict[str, list[Points]]()
    for name, points in named_points:
        points_by_field.setdefault(name, []).append(points)
    return {name: joined(*several) for name, several in points_by_field.items()}


@dataclass(frozen=True)
class Surface:
    """How a field continues above the free surface along z.

    Attributes:
        sign: -1 or 1 for an image, 0 for a closed surface.
        vanishes: whether the field is zero on the surface (known, where the ground slopes).
        sloped: half points below a closed surface that may be combined with its prescribed slope,
            0 without one.
        rows: of one-sided polynomials below a closed surface.
    """

    sign: int
    vanishes: bool
    sloped: int = 0
    rows: int = SURFACE_POINTS


def kaiser_window(distance: np.ndarray, radius: int = RADIUS) -> np.ndarray:
    """Return the window at distances in rows."""
    # Hicks (2002), eq. 7: I0(b sqrt(1 - (d / r)^2)) / I0(b) within the radius r.
    inside = np.clip(1 - (distance / radius) ** 2, 0, None)
    return np.i0(KAISER_B * np.sqrt(inside)) / np.i0(KAISER_B) * (np.abs(distance) <= radius)


def powers_of(distance: np.ndarray) -> np.ndarray:
    """Return the powers (degree, rows) of distances that are interpolated exactly."""
    return distance[None, :] ** np.arange(EXACT_DEGREE + 1)[:, None]


def _kaiser_sinc(distance: np.ndarray, radius: int = RADIUS, band: float = 1.0) -> np.ndarray:
    # Windowed sinc (Hicks 2002): band sinc(band d) w(d), with band = 1 for all wavenumbers.
    window = kaiser_window(distance, radius)
    powers = powers_of(distance)
    weights = band * np.sinc(band * distance) * window
    # Moment conditions sum w_i d_i^k = delta_k0, k = 0 .. 3, met by window * polynomial.
    defect = np.eye(EXACT_DEGREE + 1)[0] - powers @ weights
    correction = np.linalg.solve((powers * window) @ powers.T, defect)
    return weights + window * (correction @ powers)


def lagrange(points: np.ndarray, at: float) -> np.ndarray:
    """Return the weights of the polynomial through all points."""
    # w_i = prod_{j != i} (x - x_j) / (x_i - x_j).
    count = len(points)
    diagonal = np.eye(count, dtype=bool)
    numerator = np.where(diagonal, 1.0, at - points[None, :])
    denominator = np.where(diagonal, 1.0, points[:, None] - points[None, :])
    return np.prod(numerator / denominator, axis=1)


def _one_sided(
    position: float, shift: float, first: int, surface: Surface
) -> tuple[np.ndarray, np.ndarray, float]:
    """Use the rows closest to a position below the surface (row `first`, fields at row + shift).

    Returns:
        rows, their weights, and that of the field's value on the surface, where it is known.
    """
    # Rows about the position, but none above the surface.
    start = max(first, int(np.floor(position - shift)) - surface.rows // 2 + 1)
    rows = np.arange(start, start + surface.rows)
    points = rows + shift
    # A staggered field that is known on the surface: its value there is a further sample.
    if surface.vanishes and shift and start == first:
        weights = lagrange(np.concatenate([[float(first)], points]), position)
        return rows, weights[1:], float(weights[0])
    return rows, lagrange(points, position), 0.0


@lru_cache(maxsize=4096)
def sloped_weights(position: float, max_rows: int) -> tuple[np.ndarray, float]:
    """Return the weights of the first half points below a surface, and of the slope on it.

    The weights are of the polynomial of powers 0 ... n through n half points that has the slope at
    0 (Hermite interpolation).

    Args:
        position: in rows below the surface.
        max_rows: half points that may be used.

    Returns:
        weights (n) float64, and that of the slope in units of field / row.
    """
    # Rows needed grow with the depth of the position, from `SLOPE_ROWS` on.
    rows = min(max_rows, max(SLOPE_ROWS, int(np.floor(position - 0.5)) + SLOPE_ROWS))
    # Exact for x^k, k = 0 .. n: sum w_r (r + 1/2)^k + w_slope [k = 1] = position^k.
    powers = np.arange(rows + 1)
    vandermonde = (np.arange(rows)[:, None] + 0.5) ** powers
    weights = np.linalg.solve(np.vstack([vandermonde, powers == 1]).T, position**powers)
    return weights[:-1], float(weights[-1])


def slope_share(position: float, half: bool, surface: Surface | None) -> float:
    """Return the weight of the surface's slope, in field / row, that belongs to `axis_weights`."""
    # Positions on a half point take its value; only others involve the slope.
    on_row = _on_row(position, 0.5) and position > 0
    if surface is None or not half or on_row or not _uses_slope(position, surface):
        return 0.0
    return sloped_weights(position, surface.sloped)[1]


def _on_row(position: float, shift: float) -> bool:
    """Whether a position along an axis counts as on a point."""
    return abs(position - shift - np.rint(position - shift)) < ON_GRID


def _uses_slope(position: float, surface: Surface) -> bool:
    """Whether a window at this position crosses the surface, above any contact."""
    return 0 <= position < min(RADIUS - 0.5, surface.sloped)


def value_share(position: float, half: bool, surface: Surface | None) -> float:
    """Return the weight that a field's value on a closed surface has in `axis_weights`.

    Of fields on half points it is that of the zero of a field that vanishes there.
    """
    if surface is None or surface.sign:
        return 0.0
    if not half:
        rows, weights = axis_weights(position, half, 0, surface)
        return float(weights[rows == 0].sum())
    on_row = _on_row(position, 0.5) and position > 0
    if on_row or int(np.floor(position - 0.5)) - RADIUS + 1 >= 0:
        return 0.0
    return _one_sided(position, 0.5, 0, surface)[2]


def derivative_weights(
    position: float, half: bool, rows: int, fallback: Along
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return rows and weights that interpolate a derivative across a closed surface, known on it.

    In the first rows they are of the polynomial through the surface and the rows below.

    Args:
        position: in rows below the surface.
        half: whether the derivative is half a cell below the rows; else row 0 is the surface.
        rows: that the polynomial may go through.
        fallback: rows and weights of a position further down.

    Returns:
        indices (n) int, weights (n) float64, and the weight of the derivative on the surface.
    """
    # On the surface the derivative itself is known.
    if position < ON_GRID:
        return np.zeros(0, int), np.zeros(0), 1.0
    first = 0 if half else 1
    shift = 0.5 if half else 0.0
    # Polynomial through the known derivative at 0 and the first rows.
    if position < min(RADIUS - 0.5, rows):
        below = np.arange(min(SURFACE_POINTS, rows)) + first
        weights = lagrange(np.append(0.0, below + shift), position)
        return below, weights[1:], float(weights[0])
    # Weights above the first row (the surface row of a node derivative) go to the surface.
    indices, weights = fallback
    kept = indices >= first
    return indices[kept], weights[kept], float(weights[~kept].sum())


def midpoint_weights(reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Return half points beside a node, `reach` on each side, and weights of the value there."""
    # The polynomial through 2 * reach half points, at the node between them.
    rows = np.arange(-reach, reach)
    return rows, lagrange(rows + 0.5, 0.0)


@lru_cache(maxsize=4096)  # receivers on a line share all but one of their coordinates
def axis_weights(
    position: float, half: bool, first: int = 0, surface: Surface | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the points along an axis and their weights.

    Args:
        position: in grid indices.
        half: whether the field is staggered along this axis (half a cell further).
        first: index of the surface row, if any.
        surface: how the field continues above it, or None.

    Returns:
        indices (n) int, weights (n) float64.
    """
    shift = 0.5 if half else 0.0
    nearest = int(np.rint(position - shift))
    # On a grid point: weight 1.
    if _on_row(position, shift) and (surface is None or nearest >= first):
        return np.array([nearest]), np.ones(1)
    # Window below the surface: Kaiser-windowed sinc of 2 * RADIUS points.
    start = int(np.floor(position - shift)) - RADIUS + 1
    rows = np.arange(start, start + 2 * RADIUS)
    if surface is None or start >= first:
        return rows, _kaiser_sinc(position - shift - rows)
    # Closed surface: Hermite polynomial with the prescribed slope, or one-sided Lagrange.
    if surface.sign == 0 and half and _uses_slope(position - first, surface):
        weights = sloped_weights(position - first, surface.sloped)[0]
        return np.arange(first, first + weights.size), weights
    if surface.sign == 0:
        return _one_sided(position, shift, first, surface)[:2]
    weights = _kaiser_sinc(position - shift - rows)
    return _mirrored(rows, weights, half, first, surface.sign)


def _mirrored(rows: np.ndarray, weights: np.ndarray, half: bool, first: int, sign: int) -> Along:
    """Return rows and weights of an image surface.

    Rows above it are mirrored, with the sign of the field's continuation.
    """
    # Image continuation: f(-z) = sign f(z) about the surface row, at half points about row - 1/2.
    above = rows < first
    mirrored = np.where(above, 2 * first - rows - int(half), rows)
    return mirrored, np.where(above, sign * weights, weights)


def broad_weights(position, surface: Surface | None = None) -> Points:
    """Return the nodes about a position over which a source of long waves is spread.

    Args:
        position: x, y, z in grid indices, None along an absent axis.
        surface: how the field continues above row 0, as an image, or None.

    Returns:
        x, y, z (n) int indices and weights (n), points outside other faces included.
    """
    along = []
    for axis, at in zip("xyz", position, strict=True):
        # Absent axis: its single plane has weight 1.
        if at is None:
            along.append((np.zeros(1, int), np.ones(1)))
            continue
        start = int(np.floor(at)) - BROAD_RADIUS + 1
        rows = np.arange(start, start + 2 * BROAD_RADIUS)
        weights = _kaiser_sinc(at - rows, BROAD_RADIUS, BROAD_BAND)
        if axis == "z" and surface is not None:
            rows, weights = _mirrored(rows, weights, False, 0, surface.sign)
        along.append((rows, weights))
    return _product(along)


def point_weights(
    position, half: str, first: int = 0, surface: Surface | None = None, side: Along | None = None
) -> Points:
    """Return the grid points around a position and their weights.

    Args:
        position: x, y, z in grid indices.
        half: axes along which the field is staggered (half a cell further).
        first: index along z of the free surface.
        surface: how the field continues above it, or None.
        side: rows and weights along z on the position's side of a contact, or None.

    Returns:
        x, y, z (n) int indices and weights (n).
    """
    # The point stencil is the tensor product of the axes' weights.
    along = [
        axis_weights(p, a in half, first, surface if a == "z" else None)
        for a, p in zip("xyz", position, strict=True)
    ]
    if side is not None:
        along[2] = side
    return _product(along)


def _product(along: list[Along]) -> Points:
    """Return the points with the tensor product of the weights along the axes."""
    (x, wx), (y, wy), (z, wz) = along
    # Weight of a point: w_x w_y w_z.
    weights = (wx[:, None] * wy).reshape(-1, 1) * wz
    shape = (x.size, y.size, z.size)
    indices = np.empty((3, *shape), int)
    indices[0] = x[:, None, None]
    indices[1] = y[:, None]
    indices[2] = z
    x, y, z = indices.reshape(3, -1)
    return Points(x, y, z, weights.ravel())


def even_weights(positions: np.ndarray, half: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the first point (n) int, and the weights (n, WIDTH), of positions (n).

    They are the weights of `axis_weights`; on a point zeros stand beside the 1.

    Args:
        positions: in grid indices.
        half: whether the field is staggered along this axis (half a cell further).
    """
    along = positions - (0.5 if half else 0.0)
    before = np.floor(along)
    # Clenshaw's sum of Chebyshev's polynomials T_k(t), of each position by itself: a product of
    # matrices would round it by how many others there are.
    t = 2.0 * (along - before)[:, None] - 1.0
    last, sums = np.zeros((2, along.size, WIDTH))
    for coefficients in _polynomials()[:0:-1]:
        last, sums = sums, coefficients + 2.0 * t * sums - last
    return before.astype(np.int64) - RADIUS + 1, _polynomials()[0] + t * sums - last


@cache
def _polynomials() -> np.ndarray:
    """Return the Chebyshev coefficients (degree + 1, WIDTH) of the weights, of 2 f - 1."""
    nodes = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    shares = np.clip(0.5 * (nodes + 1.0), _CLOSE, 1.0 - _CLOSE)
    weights = np.array([axis_weights(float(f), False)[1] for f in shares])
    return np.linalg.solve(np.polynomial.chebyshev.chebvander(2.0 * shares - 1.0, _DEGREE), weights)


def harmonic_means(nodes: np.ndarray) -> np.ndarray:
    """Return the harmonic means (n - 1, ...) of neighbouring nodes (n, ...), 0 beside 0."""
    with np.errstate(divide="ignore"):
        return 2.0 / (1.0 / nodes[:-1] + 1.0 / nodes[1:])


class Midpoints(NamedTuple):
    """Interpolation along an axis of arrays of nodes or half points.

    Attributes:
        axis: of the arrays.
        surface: index of the free surface along it.
        to_half: weights (rows, nodes) of half points under the surface, if any.
        to_node: the same of nodes.
        layers: which nodes lie in an absorbing layer, of each layer.
    """

    axis: int
    surface: int = 0
    to_half: np.ndarray = _NONE
    to_node: np.ndarray = _NONE
    layers: tuple[np.ndarray, ...] = ()

    def mean(self, nodes: np.ndarray) -> np.ndarray:
        """Return the mean of the two nodes beside each half point."""
        return 0.5 * (nodes + self._taken(nodes, 1))

    def at_halves(self, nodes: np.ndarray) -> np.ndarray:
        """Return the sums of nodes times the sizes of the weights, at half points."""
        return self._combined(nodes, -1, self.to_half, _sums)

    def at_nodes(self, halves: np.ndarray) -> np.ndarray:
        """Return the sums of half points times the sizes of the weights, at nodes."""
        return self._combined(halves, -2, self.to_node, _sums)

    def largest(self, nodes: np.ndarray) -> np.ndarray:
        """Return the largest of the nodes that each half point goes to."""
        return self._combined(nodes, -1, self.to_half, _extremes(np.maximum))

    def least(self, halves: np.ndarray) -> np.ndarray:
        """Return the least of the half points that each node takes."""
        return self._combined(halves, -2, self.to_node, _extremes(np.minimum))

    def least_in_layers(self, factors: np.ndarray) -> np.ndarray:
        """Return factors up to 1 at nodes, of which all in a layer are the least of them."""
        lines = np.moveaxis(factors.copy(), self.axis, 0)
        for layer in self.layers:
            lines[layer] = lines[layer].min(0, initial=1.0)
        return np.moveaxis(lines, 0, self.axis)

    def _taken(self, points: np.ndarray, ahead: int) -> np.ndarray:
        count = points.shape[self.axis]
        return points.take(np.clip(np.arange(count) + ahead, 0, count - 1), self.axis)

    def _combined(
        self, points: np.ndarray, first: int, closed: np.ndarray, rule: Callable
    ) -> np.ndarray:
        """Combine four points from `first` ahead on, and points of the rows under a surface."""
        # One value stands for all where the medium does not vary along the axis.
        if points.shape[self.axis] == 1:
            return rule([points], np.array([_SIZES.sum()]))
        # Interior: P, four points about the sought point.
        combined = rule([self._taken(points, first + m) for m in range(len(_SIZES))], _SIZES)
        lines = np.moveaxis(points, self.axis, 0)[self.surface :]
        # Rows under the free surface: the interpolation of its SBP closure.
        for row, weights in enumerate(np.abs(closed)):
            chosen = np.flatnonzero(weights > _ZERO)
            some_points = rule([lines[k] for k in chosen], weights[chosen])
            np.moveaxis(combined, self.axis, 0)[self.surface + row] = some_points
        return combined


def _sums(points: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    return reduce(np.add, (w * v for w, v in zip(weights, points, strict=True)))


def _extreme(operation: np.ufunc, points: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    return reduce(operation, points)


def _extremes(operation: np.ufunc) -> Callable:
    return partial(_extreme, operation)
