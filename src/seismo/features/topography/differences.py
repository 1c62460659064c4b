"""Differences on rows that follow the ground: weights, cost, planes, and symbol, a limit of steps.

With a = f_x B (`seismo.features.topography.rows`), G and D the differences of nodes and of half
points along z, P and P' the interpolations between them (each other's adjoint in the norms of the
closure), and Px, Px' along x, derivatives at constant z are::

    d_x v = dx v - (1 / g) Px' Z [f_x v],        Z = P' B G of nodes, P B D of half points,
    d_x s = (1 / g) (dx (g s) - f_x Z' [Px s]),  Z' = D B P of nodes, G B P' of half points.

The first is the form of a gradient, the second that of a divergence: Z' is -Z^T in the norms, so
that forces are the negative adjoint of strain rates and no energy is made, whatever the ground is.
B varies with the row alone: Z and Z' are weights of rows, in a table. What depends on x and y alone
are planes of the wave equation on such rows (`planes`). A point in them costs more than in flat
rows (`curved_cost`).

Where the ground is nearly a plane waves see D = (sx - (a / g) cx sz, sy - (b / g) cy sz, sz / g),
s being the symbols of the differences along the rows' own axes and c those of interpolations along
x or y, and z.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from seismo.backends.base import computed_in
from seismo.backends.operators.cell import planes_of
from seismo.equations.framework.sloping_ground import (
    PLANES,
    RESIDUALS,
    iterations,
    on_ground,
    with_slopes,
)
from seismo.equations.rock.relaxation import Relaxation
from seismo.features.topography.rows import Topography
from seismo.grid.coefficients import Stencil, cross_reach, midpoint_pairs, staggered_symbol
from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import AXES
from seismo.grid.surface_closure import RowWeights, SurfaceClosure, closed_operators
from seismo.grid.surface_interpolation import midpoint_matrices
from seismo.solver.accuracy.time_step import RowLimit, Scheme
from seismo.solver.discretization import Discretization

if TYPE_CHECKING:
    from seismo.solver.discretization import Discretization

# Cost of a point over that in flat rows, by dimensions: at no order, and for each order more.
CURVED_COST = {
    "cpu": {2: (2.8, 0.0), 3: (2.3, 0.375)},
    "gpu": {2: (2.3, 0.03), 3: (1.0, 0.25)},
}
_SAME = 1e-12  # rows whose weights differ by less from those far below belong to the interior
# Of SH waves the rows of steep ground leave less than its plane waves do: all of it to 51 degrees,
# at 60, where cells are a fifth as high as wide, 0.83.
_SH_DEGREES = (51.0, 60.0)
_SH_SHARE = 0.82
WAVENUMBERS = 16  # along an axis, of the plane waves whose velocities are looked at
_WAVES = 25  # wavenumbers from 0 to the shortest wave, along each axis
_ROUNDED = 0.02  # to which slopes and heights are rounded up, so that few differ
Planes = dict[str, np.ndarray]  # (y, x) of a subdomain, halo along both


class _Operators:
    """Matrices of the rows of a grid from the surface down: (half points, nodes) or transposed."""

    def __init__(self, stencil: Stencil, closure: SurfaceClosure, size: int) -> None:
        self.up, self.down = closed_operators(stencil.first, size, size, closure)
        weights = midpoint_pairs(stencil.order)
        self.to_half, self.to_node = midpoint_matrices(closure, weights, size)

    def crossed(self, nodes: np.ndarray, halves: np.ndarray) -> dict[str, np.ndarray]:
        """Return Z and Z' of half rows and of node rows, for B at both."""
        return {
            # Gradients: Z = P' B G of nodes and P B D of half points; divergences: Z' = -Z^T.
            "half_gradient": self.to_half * nodes @ self.down,
            "half_divergence": self.up * nodes @ self.to_node,
            "node_gradient": self.to_node * halves @ self.up,
            "node_divergence": self.down * halves @ self.to_half,
        }


def weights_of(discretization: Discretization) -> RowWeights | None:
    """Return the weights of the curved rows of a run; None where the ground is flat."""
    topography = discretization.fact(Topography)
    if topography is None or discretization.closure is None:
        return None
    return row_weights(topography, discretization.stencil, discretization.closure)


def halo(order: int, curved: bool, is_finer: bool) -> int:
    """Return the points beside a part that rows which follow the ground read."""
    return cross_reach(order) if curved else 0


def row_weights(topography: Topography, stencil: Stencil, closure: SurfaceClosure) -> RowWeights:
    """Return the weights of the curved rows of a run."""
    layout = _layout(stencil, closure)
    count = topography.rows + layout.reach
    # Further rows, so that weights of curved ones do not see the end of the matrices.
    size = count + 3 * layout.reach + layout.closed
    operators = _Operators(stencil, closure, size)
    grid = topography.grid
    rows = np.arange(size)
    s_nodes, s_halves = (grid.coordinate("z", rows + shift) for shift in (0.0, 0.5))
    # B at nodes and half points between its factors.
    crossed = operators.crossed(topography.share(s_nodes), topography.share(s_halves))
    tables = {}
    for name, plain, at, shift in (
        ("half", operators.up, s_halves, 0.5), ("node", operators.down, s_nodes, 0.0)
    ):  # fmt: skip
        # Over the height of the row's cells, where rows grow with depth.
        scale = 1.0 / (grid.spacing[2] * grid.heights(rows[:count] + shift))[:, None]
        # Columns: G or D, Z, Z', B', and P of the surface's row (half rows alone).
        blocks = [
            plain[:count, : layout.plain] * scale,
            *(layout.cut(crossed[f"{name}_{form}"], count) * scale
              for form in ("gradient", "divergence")),
            topography.slope_of_share(at[:count])[:, None],
            (operators.to_half if shift else 0.0 * operators.to_half)[:count, :1],
        ]  # fmt: skip
        tables[name] = np.hstack(blocks)
    return RowWeights(
        layout.closed, count, layout.plain, layout.cross, 2 * layout.reach + 1,
        tables["half"], tables["node"], operators.to_node[0, : layout.closed],
    )  # fmt: skip


@dataclass(frozen=True)
class _Layout:
    """Which rows are closed, and how far weights reach.

    Attributes:
        closed: rows with one-sided weights.
        reach: rows on either side of an inner row that Z and Z' read.
        plain: width of the derivatives of closed rows.
        cross: width of Z and Z' there.
    """

    closed: int
    reach: int
    plain: int
    cross: int

    def cut(self, matrix: np.ndarray, count: int) -> np.ndarray:
        """Return Z or Z' of rows: from the surface on of closed ones, about itself of others."""
        table = np.zeros((count, self.cross))
        table[: self.closed] = matrix[: self.closed, : self.cross]
        for row in range(self.closed, count):
            table[row, : 2 * self.reach + 1] = matrix[row, row - self.reach : row + self.reach + 1]
        return table


def _layout(stencil: Stencil, closure: SurfaceClosure) -> _Layout:
    """Find the rows that the closure and its interpolations change."""
    reach = cross_reach(stencil.order)
    size = closure.rows + 8 * reach
    operators = _Operators(stencil, closure, size)
    ones = np.ones(size)
    crossed = list(operators.crossed(ones, ones).values())
    closed = 0
    deep = size // 2
    # A row is closed where its weights are not the interior's, shifted.
    for matrix in (operators.up, operators.down, *crossed):
        inner = matrix[deep, deep - reach : deep + reach + 1]
        for row in range(deep):
            expected = np.zeros(size)
            first = row - reach
            expected[max(0, first) : first + inner.size] = inner[max(0, -first) :]
            if first < 0 or np.abs(matrix[row] - expected).max() > _SAME:
                closed = max(closed, row + 1)
    widths = [
        max(int(np.abs(m[:closed]).max(axis=0).nonzero()[0][-1]) + 1 for m in matrices)
        for matrices in ((operators.up, operators.down), crossed)
    ]
    return _Layout(closed, reach, widths[0], max(widths[1], 2 * reach + 1))


def row_costs(discretization: Discretization, backend: str) -> tuple[float, int]:
    """Return the cost of a point in rows that follow the ground, and the number of these."""
    rows = discretization.curved_rows.count if discretization.curved_rows else 0
    grid = discretization.grid
    return curved_cost(backend, grid.dimensions, discretization.stencil.order), rows


def uncut_rows(discretization: Discretization) -> range:
    """Return the rows before which a grid cannot be cut."""
    curved = discretization.curved_rows
    return range(curved.count + discretization.halo) if curved else range(0)


def curved_cost(backend: str, dimensions: int, order: int) -> float:
    """Return the cost of a point for a backend by name, 1 if not measured."""
    least, each = CURVED_COST.get(backend, {}).get(dimensions, (1.0, 0.0))
    return least + each * order


def midpoint_symbol(weights: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the symbol of an interpolation by weights (M) at wavenumbers k (spacing 1)."""
    return 2.0 * np.cos(np.outer(k, np.arange(len(weights)) + 0.5)) @ weights


def steepest_cells(topography: Topography) -> np.ndarray:
    """Return g, 1 at most, and slopes of cells (n, 2), both rounded towards faster waves.

    Cells that others match in height and steepness are left out.
    """
    # Rows at the ground slope most, and are lowest or tallest.
    across = [a for a in topography.grid.axes if a != "z"]
    g = np.atleast_2d(topography.height(topography.level, *topography.across("")))
    slope = np.sqrt(sum(topography.slope(a, "") ** 2 for a in across))
    heights = np.floor(np.minimum(g, 1.0) / _ROUNDED).ravel()
    slopes = np.ceil(slope / _ROUNDED).ravel()
    # From the lowest cells on, cells steeper than all before.
    order = np.lexsort((-slopes, heights))
    before = np.maximum.accumulate(np.concatenate([[-1.0], slopes[order][:-1]]))
    chosen = order[slopes[order] > before]
    return np.stack([heights[chosen], slopes[chosen]], -1) * _ROUNDED


def sh_share(topography: Topography) -> float:
    """Return the share of the limit of plane waves that SH waves leave, by the steepest ground."""
    degrees = math.degrees(math.atan(float(steepest_cells(topography)[:, 1].max())))
    return float(np.interp(degrees, _SH_DEGREES, (1.0, _SH_SHARE)))


def limits(scheme: Scheme) -> RowLimit:
    """Return the step limits of rows that follow the ground over those of flat rows."""
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
    """Return the largest group velocities of flat rows and of rows that follow the ground.

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


def curved(discretization: Discretization, relaxation: Relaxation | None) -> Discretization:
    """Return a run with the table of its wave equation on a ground that slopes."""
    rows = discretization.curved_rows
    topography = discretization.fact(Topography)
    if topography is None or rows is None:
        return discretization
    physics = with_slopes(discretization.physics)
    if physics.curved_surface is None:
        return replace(discretization, physics=physics)
    # Iterations by the steepest dip and the largest c44 / c33, the same for all parts of the grid.
    extremes = discretization.extremes
    # c44 / c33 = vs^2 / vp^2; below 3/4 in any solid (bulk modulus > 0).
    shear = min(0.75, (extremes.vs_max / extremes.vp_min) ** 2)
    residual = RESIDUALS[computed_in(discretization.scenario.precision)]
    count = iterations(topography.steepest, shear, residual)
    return replace(discretization, physics=on_ground(physics, count, rows.to_node))


def plane_names(discretization: Discretization) -> tuple[str, ...]:
    """Return the names of the planes that formulas on curved rows take; none where it is flat."""
    if discretization.curved_rows is None:
        return ()
    axes = discretization.grid.axes
    names = PLANES[: len(axes) + 1] if discretization.physics.curved_surface else ()
    return (*planes_of(axes), *names)


def planes(
    discretization: Discretization, subdomain: Subdomain, coefficients: Mapping[str, np.ndarray]
) -> Planes:
    """Return the planes of a subdomain, halo included.

    Args:
        discretization: the run.
        subdomain: whose columns.
        coefficients: arrays (z, y, x) of the formulas at nodes, with halo along y and z.
    """
    topography = discretization.fact(Topography)
    rows = discretization.curved_rows
    if topography is None or rows is None:
        return {}
    axes = discretization.grid.axes
    ground = {name: _window(array, subdomain)
              for name, array in _of_ground(topography, axes).items()}  # fmt: skip
    # Planes of the surface's stresses, where this part has its row.
    surface = discretization.physics.curved_surface
    if surface is None or subdomain.owned.lo[2] > 0:
        empty = np.zeros_like(ground["ground_"])
        return ground | dict.fromkeys(set(plane_names(discretization)) - set(ground), empty)
    c33, shear = surface.moduli(coefficients, discretization.physics.numbers)
    return ground | _of_surface(rows, discretization, subdomain, ground, c33, shear)


def _of_ground(topography: Topography, axes: str) -> Planes:
    """Return f, f_x and f_y at the columns (y, x) of the whole grid, by their planes."""
    arrays = {}
    for name in planes_of(axes):
        _, *axis, half = name.split("_")
        arrays[name] = topography.slope(axis[0], half) if axis else topography.below_level(half)
    return arrays


def _window(array: np.ndarray, subdomain: Subdomain) -> np.ndarray:
    """Return the columns of a subdomain and its halo; clamped to the grid's ends."""
    halo = subdomain.halo
    ny, nx = array.shape
    x = np.clip(np.arange(-halo, nx + halo), 0, nx - 1)
    (_, first, _) = subdomain.padded.lo
    (_, last, _) = subdomain.padded.hi
    y = np.clip(np.arange(first, last), 0, ny - 1)
    return array[np.ix_(y, x)]


def _of_surface(
    rows: RowWeights, discretization: Discretization, subdomain: Subdomain, ground: Planes,
    c33: np.ndarray, shear: Mapping[str, np.ndarray],
) -> Planes:  # fmt: skip
    """Return c33 / g, w_x, w_y and the diagonal of A (see `surface.traction`)."""
    top = subdomain.halo  # the row of the surface in arrays with halo
    weights = midpoint_pairs(discretization.stencil.order)
    slope_of_share = rows.down[0, -2]
    # c33 / g of the nodes.
    planes = {"surface_c33": _padded(c33[top], subdomain)
              / (1.0 + ground["ground_"] * slope_of_share)}  # fmt: skip
    diagonal = planes["surface_c33"].copy()
    for axis in (a for a in discretization.grid.axes if a != "z"):
        # w = sum over rows of P0' P0 mu / g
        total = np.zeros_like(diagonal)
        for k in range(rows.closed):
            g = 1.0 + ground[f"ground_{axis}"] * rows.up[k, -2]
            mu = _padded(shear[axis][top + k], subdomain)
            total += rows.to_node[k] * rows.up[k, -1] * mu / g
        planes[f"surface_{axis}"] = total
        # Diagonal of Px' w Px: the squares of the weights of the half points about a node.
        along = 1 if axis == "x" else 0
        through = np.zeros_like(total)
        for m, weight in enumerate(weights):
            for n in (m, -1 - m):
                through += weight**2 * _shifted(total, n, along)
        diagonal = diagonal + ground[f"ground_{axis}_"] ** 2 * through
    return planes | {"surface_diagonal": diagonal}


def _padded(row: np.ndarray, subdomain: Subdomain) -> np.ndarray:
    """Return an array (y, x) with halo along y alone, or a single value, with halo along both."""
    halo = subdomain.halo
    nx = subdomain.owned.shape[0]
    ny = subdomain.padded.hi[1] - subdomain.padded.lo[1]
    columns = np.broadcast_to(row, (ny, nx) if row.shape[1] > 1 else (ny, 1))
    if columns.shape[1] == 1:
        return np.broadcast_to(columns, (ny, nx + 2 * halo)).copy()
    return np.pad(columns, ((0, 0), (halo, halo)), "edge")


def _shifted(array: np.ndarray, n: int, along: int) -> np.ndarray:
    """Return the values n points further along an axis, clamped at the ends."""
    count = array.shape[along]
    return array.take(np.clip(np.arange(count) + n, 0, count - 1), along)
