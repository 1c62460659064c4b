"""SBP boundary closure of the staggered differences at a free surface (summation by parts).

At a free surface the derivative across it has no points on the far side. Two grids meet there:
nodes n = 0, 1, 2, ... (the surface is node 0) and half points r + 1/2. A closure is a matrix Q and
two diagonal norms with

    G = inv(H_half) Q   (nodes -> half points),    D = -inv(H_node) Q^T  (half points -> nodes)

so that the two derivatives are each other's negative adjoint: *summation by parts*. The semi-
discrete energy is then exactly conserved, for any medium, with the traction on node 0 set to zero
(Kreiss & Scherer 1974; O'Reilly et al. 2017 for staggered grids)::

        nodes ...           far nodes
      [ block of Q        |  c_m        ]   first half points
      [ -c_m ...          |  interior   ]   far half points

Energy is conserved for any block and any norms; the conditions of exactness for polynomials leave
dozens of their numbers free, which the kinds of closure choose by different criteria:

- A *plain* closure minimises the error of the next power, and is smooth.
- A *fitted* closure (10 rows, or 7 where a contact lies below) minimises the error of the motion of
  the surface of uniform half-spaces over all waves in the band of a source, above all of the
  velocity of the Rayleigh wave: `scripts/fit_surface_closure.py` computes it,
  `surface_closure.json` stores it. In a uniform medium it is many times more accurate; with a
  contact among its rows, or under water, it is less accurate. There, and for order 2, the plain
  closure is used. The fit for forces, and for moments well below the rows, has large errors in the
  near field of a *moment* or a horizontal force among the rows: a second fit includes sources among
  them.
- For order 8 there are fits to layers over half-spaces with a contact at a given depth
  (`scripts/fit_surface_contact.py`): the error of one-sided rows at a contact's kink depends on the
  depth of the contact, and hardly on the media. Sources and receivers among their rows are less
  accurate.

Its rows guide modes. In absorbing layers waves grow whose group velocity opposes their phase
velocity (Becache, Fauqueux & Joly 2003). With U in node rows, i W in half rows, norms N and H, and
closed differences G and D, waves exp(i (k x - w t)) of the grid satisfy, with szz = 0 in row 0,

    w^2 M y = (K0 + k K1 + k^2 K2) y,    y = (U, W),    M = (N rho, H rho)
    K0 = G' H c44 G + D' N c33 D,   K1 = G' H c44 - N c13 D and its transpose,   K2 = (N c11, H c44)

and have a group velocity y' (K1 + 2 k K2) y / (2 w y' M y).

Other rows with operators of their own, which follow the ground or lie beside a finer grid, have
tables (`RowWeights`, `BesideRefinement`): a row has weights for each form that formulas take of a
field; closed rows count their columns from a row of their own, others from themselves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from importlib.resources import files

import numpy as np

from seismo.grid.coefficients import Stencil, largest_symbol, staggered_symbol
from seismo.grid.interpolation import harmonic_means

MOMENT_ROWS = (0.25, 9.0)  # depths in cells at which a moment is among a fitted closure's rows
CONTACT_ORDER = 8  # order of the fits to contacts
CONTACT_ROWS = 7  # cells below the surface without a second contact that such a fit needs
_CONTACT_STEP = 0.13  # largest distance in cells of a contact from the fitted depth
DECIMALS = 12  # of block and norms: the same on every machine, with any linear-algebra library
ROWS = 26  # of nodes; the lowest is rigid
_WAVENUMBERS = np.linspace(0.1, 3.1, 31)  # rad per cell
_SURFACE_ROWS = 10  # a surface wave has most of its energy in these rows:
_ENERGY_SHARE = 0.8  # at least this share


class ClosureKind(Enum):
    """The use that a closure is most accurate for."""

    PLAIN = "plain"  # contacts among its rows
    FORCES = "forces"  # forces on the surface, vertical ones anywhere, and all below its rows
    CONTACT = "contact"  # a contact among its rows, with stiffer rock below
    LONG = "long"  # the same as forces, with bounded differences along z, for longer time steps
    MOMENTS = "moments"  # moments and horizontal forces among its rows


@dataclass(frozen=True)
class SurfaceClosure:
    """One-sided derivatives in the rows next to a free surface (spacing 1).

    Attributes:
        up: (rows, width) weights of node values for the derivative at half points 0.5, 1.5, ...
        down: (rows, width) weights of half-point values for the derivative at nodes 0, 1, ...
        node_norm: (rows) quadrature weight of node rows; 1 further down.
        half_norm: (rows) quadrature weight of half-point rows; 1 further down.
        growth: largest eigenvalue of the closed operator / that of the open operator (>= 1).
        two_point: whether it is plain and exact for power 1: next to differences of neighbours.
    """

    up: np.ndarray
    down: np.ndarray
    node_norm: np.ndarray
    half_norm: np.ndarray
    growth: float
    two_point: bool = False

    @property
    def rows(self) -> int:
        """Number of rows with their own weights."""
        return len(self.up)


def interior_matrix(c: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Return Q far from the surface: row r (point r + 1/2), column n (node n)."""
    # Nodes r + m have weight c_m, nodes r + 1 - m have -c_m.
    offset = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    padded = np.concatenate([[0.0], c, np.zeros(rows + columns)])
    return np.where(offset > 0, padded[np.abs(offset)], -padded[np.abs(1 - offset)])


def closed_operators(
    c: np.ndarray, halves: int, nodes: int, closure: SurfaceClosure | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return G (halves, nodes) and D (nodes, halves) of the first rows, closed if at a surface."""
    up = interior_matrix(c, halves, nodes)
    down = -up.T
    if closure is not None:
        for operator, block in ((up, closure.up), (down, closure.down)):
            operator[: len(block)] = 0.0
            operator[: len(block), : block.shape[1]] = block
    return up, down


class ClosureConditions:
    """Linear conditions on the block of Q and on both norms, in this order in a vector."""

    def __init__(self, c: np.ndarray, half_rows: int, node_rows: int) -> None:
        # The block of Q: rows r < half_rows, columns n < node_rows; further out the interior's.
        self.half_rows = half_rows
        self.node_rows = node_rows
        self.size = half_rows * node_rows + half_rows + node_rows
        # Enough interior rows and columns that every band of the block's neighbours is complete.
        far = half_rows + node_rows + 2 * len(c)
        self.interior = interior_matrix(c, far, far)
        self.nodes = np.arange(far) * 1.0
        self.halves = np.arange(far) + 0.5

    def _row(self, block: np.ndarray, norm: int, factor: float) -> np.ndarray:
        """Build a condition; norm counts half rows first, then node rows."""
        row = np.zeros(self.size)
        row[: block.size] = block.ravel()
        row[block.size + norm] = factor
        return row

    def exact_for_power(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return matrix and right-hand side: both derivatives exact for x^k (D: x^k(0) = 0)."""
        matrix_rows = []
        right_side = []
        nh = self.half_rows
        nn = self.node_rows
        # G x^k = k x^(k-1) at half point r:  sum_n Q_rn n^k - H_r k (r + 1/2)^(k-1) = 0.
        for r in range(nh):
            block = np.zeros((nh, nn))
            block[r] = self.nodes[:nn] ** k
            slope = -k * self.halves[r] ** max(k - 1, 0)
            matrix_rows.append(self._row(block, r, slope))
            right_side.append(-self.interior[r, nn:] @ self.nodes[nn:] ** k)
        # D x^k = k x^(k-1) at node n:  -sum_r Q_rn (r + 1/2)^k - H_n k n^(k-1) = 0.
        # A constant does not vanish at node 0: no condition there for k = 0.
        for n in range(1 if k == 0 else 0, nn):
            block = np.zeros((nh, nn))
            block[:, n] = -(self.halves[:nh] ** k)
            slope = -k * self.nodes[n] ** (k - 1) if k else 0.0
            matrix_rows.append(self._row(block, nh + n, slope))
            right_side.append(self.interior[nh:, n] @ self.halves[nh:] ** k)
        return np.array(matrix_rows), np.array(right_side)

    def exact_up_to(self, accuracy: int) -> tuple[np.ndarray, np.ndarray]:
        """Return matrix and right-hand side of the conditions for powers 0 .. accuracy."""
        systems = [self.exact_for_power(k) for k in range(accuracy + 1)]
        return np.vstack([s[0] for s in systems]), np.concatenate([s[1] for s in systems])

    def nearest(self, target: np.ndarray, accuracy: int) -> np.ndarray:
        """Return the vector closest to a target that is exact for powers 0 .. accuracy."""
        # Least-norm correction of the target that satisfies the conditions.
        matrix, right_side = self.exact_up_to(accuracy)
        return target + np.linalg.lstsq(matrix, right_side - matrix @ target, rcond=1e-11)[0]

    def interior_guess(self) -> np.ndarray:
        """Norms 1 (1/2 on the surface) and the interior's coefficients."""
        # Q far from the surface, cut to the block.
        block = self.interior[: self.half_rows, : self.node_rows].ravel()
        norms = np.ones(self.half_rows + self.node_rows)
        # Trapezoidal rule: half a cell belongs to the surface node.
        norms[self.half_rows] = 0.5
        return np.concatenate([block, norms])

    def two_point_guess(self) -> np.ndarray:
        """Norms 1 (1/2 on the surface) and differences of neighbours."""
        # First differences of neighbours: Q_rr = -1, Q_r,r+1 = 1.
        block = np.eye(self.half_rows, self.node_rows, 1) - np.eye(self.half_rows, self.node_rows)
        return np.concatenate([block.ravel(), self.interior_guess()[block.size :]])


def _plain(conditions: ClosureConditions, accuracy: int) -> np.ndarray:
    """Return a closure exact up to a power, with a small error of the next, and smooth.

    That of power 1 is close to differences of neighbours, and its norms are close to 1.
    """
    if accuracy == 1:
        return conditions.nearest(conditions.two_point_guess(), accuracy)
    # General solution of the conditions: particular + free @ weights (null space by SVD).
    matrix, right_side = conditions.exact_up_to(accuracy)
    particular = np.linalg.lstsq(matrix, right_side, rcond=1e-11)[0]
    _, singular, vectors = np.linalg.svd(matrix)
    free = vectors[int((singular > 1e-10 * singular[0]).sum()) :].T
    # Least squares: the error of the next power, and 0.1 times the distance from the interior.
    next_matrix, next_right = conditions.exact_for_power(accuracy + 1)
    smoothing = 0.1
    target = np.concatenate(
        [
            next_right - next_matrix @ particular,
            smoothing * (conditions.interior_guess() - particular),
        ]
    )
    system = np.vstack([next_matrix @ free, smoothing * free])
    weights = np.linalg.lstsq(system, target, rcond=None)[0]
    return particular + free @ weights


@lru_cache
def fits() -> tuple[dict, ...]:
    """Return the fits to Taylor coefficients, of most rows first."""
    text = files("seismo.grid").joinpath("surface_closure.json").read_text()
    return tuple(sorted(json.loads(text), key=lambda fit: -len(fit["half_norm"])))


def most_rows() -> int:
    """Return the row count of the largest fit."""
    return len(fits()[0]["half_norm"])


def _fit(order: int, kind: ClosureKind, even_rows: float) -> dict | None:
    """Return the largest fit of a kind whose rows lie in a single medium, or None.

    For a contact, return the fit whose contact depth is closest to `even_rows`.
    """
    # A contact's fit belongs to one depth of the contact; others need enough rows in a single
    # medium.
    candidates = [fit for fit in fits() if (fit["order"], fit["kind"]) == (order, kind.value)]
    if kind is ClosureKind.CONTACT:
        fitted = [fit for fit in candidates if abs(fit["depth"] - even_rows) <= _CONTACT_STEP]
        return min(fitted, key=lambda fit: abs(fit["depth"] - even_rows), default=None)
    return next((fit for fit in candidates if len(fit["half_norm"]) <= even_rows), None)


def closure_kind(
    order: int, even_rows: float, moments: bool, contact_depth: float = math.inf
) -> ClosureKind:
    """Return the kind of closure that is best at a free surface.

    Args:
        order: of the differences.
        even_rows: cells of a single solid below the surface.
        moments: whether a moment acts among the rows (`MOMENT_ROWS`), or a horizontal force.
        contact_depth: depth in cells of a contact that the rows may be fitted to.
    """
    kind = ClosureKind.MOMENTS if moments else ClosureKind.FORCES
    if _fit(order, kind, even_rows):
        return kind
    return (
        ClosureKind.CONTACT
        if _fit(order, ClosureKind.CONTACT, contact_depth)
        else ClosureKind.PLAIN
    )


def has_long_closure(order: int, even_rows: float) -> bool:
    """Whether bounded differences of an order have a closure with `even_rows` cells in a solid."""
    return _fit(order, ClosureKind.LONG, even_rows) is not None


@lru_cache
def surface_closure(
    stencil: Stencil,
    kind: ClosureKind = ClosureKind.FORCES,
    even_rows: float = math.inf,
    max_power: int = 3,
) -> SurfaceClosure:
    """Return the closure of a stencil at a free surface.

    A fitted closure is closest to that of Taylor coefficients that is exact for the same
    powers with this stencil. Next to the surface a plain closure is exact to power min(M, 3) (2
    from order 14 on); the scheme as a whole is then one order more accurate (Gustafsson 1975).
    Beside contacts lower powers, which need fewer rows, are more accurate.

    Args:
        stencil: of the interior, order 2M.
        kind: the use it is to be most accurate for; plain where no fit of that kind applies.
        even_rows: cells below the surface in a single solid, or the contact depth of that kind.
        max_power: highest power that a plain closure is exact for.
    """
    c = stencil.first
    if fit := _fit(stencil.order, kind, even_rows):
        return nearest(c, fit)
    terms = len(c)
    factor = _scale(c)
    # Exact to power min(M, 3), and to 2 from order 14 on.
    accuracy = min(terms, max_power, 3 if terms < 7 else 2)
    half_rows = max(2 * accuracy - 1, terms - 1)
    conditions = ClosureConditions(c / factor, half_rows, half_rows + (terms > 1))
    closure = close(c, conditions, factor, _plain(conditions, accuracy))
    return replace(closure, two_point=max_power == 1)


def _scale(c: np.ndarray) -> float:
    """Return the factor of coefficients on the derivative of long waves, 1 of Taylor's.

    The conditions are met by Q over it.
    """
    return float((2 * np.arange(len(c)) + 1) @ c)


def nearest(c: np.ndarray, fit: dict) -> SurfaceClosure:
    """Return the closure of coefficients (M) nearest to a fit, and exact for the same powers."""
    factor = _scale(c)
    conditions = ClosureConditions(c / factor, len(fit["half_norm"]), len(fit["node_norm"]))
    target = np.concatenate([np.ravel(fit["block"]), fit["half_norm"], fit["node_norm"]])
    return close(c, conditions, factor, conditions.nearest(target, fit["accuracy"]))


def close(
    c: np.ndarray, conditions: ClosureConditions, factor: float, solution: np.ndarray
) -> SurfaceClosure:
    """Return the closure of a solution of conditions: the block of Q / factor, then both norms."""
    half_rows = conditions.half_rows
    node_rows = conditions.node_rows
    solution = solution.round(DECIMALS)
    # Q: the interior's bands with the block in the upper left corner.
    total = node_rows + 4 * len(c) + 40
    matrix = interior_matrix(c, total, total)
    block, norms = np.split(solution, [half_rows * node_rows])
    matrix[:half_rows, :node_rows] = factor * block.reshape(half_rows, node_rows)
    half_norm = np.ones(total)
    node_norm = np.ones(total)
    half_norm[:half_rows], node_norm[:node_rows] = np.split(norms, [half_rows])
    width = node_rows + len(c)
    # Largest singular value of H_half^(-1/2) Q H_node^(-1/2), relative to the interior's symbol.
    scaled = matrix / np.sqrt(half_norm)[:, None] / np.sqrt(node_norm)[None, :]
    growth = np.linalg.norm(scaled, 2) / largest_symbol(c)
    # G = inv(H_half) Q and D = -inv(H_node) Q^T, first rows.
    return SurfaceClosure(
        up=(matrix / half_norm[:, None])[:node_rows, :width],
        down=(-matrix.T / node_norm[:, None])[:node_rows, :width],
        node_norm=node_norm[:node_rows],
        half_norm=half_norm[:node_rows],
        growth=max(1.0, float(growth)),
    )


def slowest(closure: SurfaceClosure, stencil: Stencil, medium: Mapping[str, np.ndarray]) -> float:
    """Return the least group velocity in m/s of waves along the surface rows; may be negative.

    Args:
        closure: of the surface.
        stencil: of the differences below.
        medium: "rho", "c11", "c13", "c33", "c44" (`ROWS`) of the node rows, in SI.
    """
    first = stencil.first
    # G (nodes -> half points) and D (half points -> nodes), mutually adjoint away from the surface.
    up, down = closed_operators(first, ROWS - 1, ROWS, closure)
    node_norm = np.ones(ROWS)
    half_norm = np.ones(ROWS - 1)
    node_norm[: closure.rows] = closure.node_norm
    half_norm[: closure.rows] = closure.half_norm
    rho = medium["rho"]
    # Norms times moduli: harmonic mean of c44 at half points; szz = 0 in row 0, whose c11 becomes
    # that of plane stress, c11 - c13^2 / c33.
    shear = half_norm * harmonic_means(medium["c44"])
    carries_traction = node_norm * (np.arange(ROWS) > 0)
    plane_stress = medium["c11"][0] - medium["c13"][0] ** 2 / medium["c33"][0]
    normal = np.append(node_norm[0] * plane_stress, (node_norm * medium["c11"])[1:])
    # K0.
    zeros = np.zeros((ROWS, ROWS - 1))
    stiffness_0 = np.block([
        [up.T @ (shear[:, None] * up), zeros],
        [zeros.T, down.T @ ((carries_traction * medium["c33"])[:, None] * down)],
    ])  # fmt: skip
    # K1, K2 and M.
    coupling = up.T * shear - (carries_traction * medium["c13"])[:, None] * down
    stiffness_1 = np.block(
        [[np.zeros((ROWS, ROWS)), coupling], [coupling.T, np.zeros((ROWS - 1,) * 2)]]
    )
    stiffness_2 = np.diag(np.append(normal, shear))
    mass = np.append(node_norm * rho, half_norm * 0.5 * (rho[1:] + rho[:-1]))
    # Symmetric eigenproblem M^(-1/2) K M^(-1/2), at the numerical wavenumbers of the stencil.
    scale = 1.0 / np.sqrt(mass[:, None] * mass)
    near_surface = np.append(np.arange(ROWS) < _SURFACE_ROWS, np.arange(ROWS - 1) < _SURFACE_ROWS)
    symbols = staggered_symbol(first, _WAVENUMBERS)
    least_velocity = np.inf
    for k in symbols:
        stiffness = stiffness_0 + k * stiffness_1 + k * k * stiffness_2
        frequencies_squared, modes = np.linalg.eigh(stiffness * scale)
        # Group velocity y' (K1 + 2 k K2) y / (2 w), with y' M y = 1.
        derivative = (stiffness_1 + 2.0 * k * stiffness_2) * scale
        energy = np.einsum("ij,ik,kj->j", modes, derivative, modes)
        floor = 1e-9 * frequencies_squared[-1]
        velocity = energy / (2.0 * np.sqrt(frequencies_squared.clip(min=floor)))
        # Surface waves alone: modes with most of their energy in the first rows.
        is_surface_wave = (modes[near_surface] ** 2).sum(0) > _ENERGY_SHARE
        least_velocity = min(least_velocity, float(velocity[is_surface_wave].min(initial=np.inf)))
    return least_velocity


@dataclass(frozen=True)
class RowWeights:
    """The weights of all rows that follow the ground (`seismo.features.topography.differences`).

    Attributes:
        closed: rows from the surface down whose weights are one-sided and count from its row.
        count: rows in all; rows below are flat.
        plain: width of the derivatives along z of closed rows.
        cross: width of Z and Z' in closed rows.
        inner: the same of the others, which have them about themselves.
        up: (count, plain + 2 cross + 2) of half rows: G, Z, Z', B' in 1/m, and P of the surface's
            row; all but the last two over the spacing.
        down: (count, ...) of node rows: D, Z, Z', B', 0.
        to_node: P' (closed) of the surface's row.
    """

    closed: int
    count: int
    plain: int
    cross: int
    inner: int
    up: np.ndarray
    down: np.ndarray
    to_node: np.ndarray

    @property
    def read(self) -> int:
        """Rows from the surface down that Z and Z' may read."""
        return self.count + self.inner


@dataclass(frozen=True)
class BesideRefinement:
    """Differences along z in the rows beside the plane where two spacings meet (spacing 1).

    Attributes:
        first: the first of these rows, from `base` down.
        base: row that columns of weights count from.
        up: (rows, columns) weights of nodes at half points below rows `base`, ...
        down: (rows, columns) weights of half points at nodes.
        plane: row of nodes on the plane.
        nodes: row of nodes beyond the plane that holds values on it.
        halves: row of half points that does.
        inner: (n) rows of half points from the plane on, with their weights in `extrapolation`.
        growth: largest eigenvalue of the operators beside the plane over that of the interior.
    """

    first: int
    base: int
    up: np.ndarray
    down: np.ndarray
    plane: int
    nodes: int
    halves: int
    inner: np.ndarray
    extrapolation: np.ndarray
    growth: float

    @property
    def rows(self) -> tuple[int, int]:
        """The first of the rows beside the plane, and the row behind the last."""
        return self.first, self.base + len(self.up)
