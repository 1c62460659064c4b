"""Closure of the staggered differences at a free surface, by summation by parts.

At a free surface the derivative across it has no points on the far side. Two grids meet there:
nodes n = 0, 1, 2, ... (the surface is node 0) and half points r + 1/2. A closure is one matrix Q
and two diagonal norms with

    G = inv(H_half) Q   (nodes -> half points),    D = -inv(H_node) Q^T  (half points -> nodes)

so that the two derivatives are each other's negative adjoint: *summation by parts*. The semi-
discrete energy is then exactly conserved, for any medium, with the traction on node 0 held at zero
(Kreiss & Scherer 1974; O'Reilly et al. 2017 for staggered grids)::

        nodes ...           far nodes
      [ block of Q        |  c_m        ]   first half points
      [ -c_m ...          |  interior   ]   far half points

Whatever the block and the norms are, energy is conserved; exactness for polynomials leaves dozens
of them free. A *plain* closure spends these on the next power and on smoothness. A *fitted* one
spends them on the motion of the surface of uniform half-spaces, over all waves in the band of a
source, above all on the velocity of the Rayleigh wave: `scripts/fit_surface_closure.py` finds it,
`surface_closure.json` keeps it. It is many times better on one rock, and worse where a contact lies
among its rows, and under water: there, and for order 2, the plain one is used. For order 8 there
are others, fitted to layers over half-spaces with a contact so deep, by
`scripts/fit_surface_contact.py`: what a contact's kink does in one-sided rows depends on its place,
and hardly on the media. They are rough to what acts or is read among them. Each order has two more
kinds. What is best for forces, and for moments well below the rows, is rough to the near field of a
*moment* among them, and of a horizontal force; the other kind is fitted to these, too. Each kind
has two sizes: of 10 rows, and of 7 where a contact lies between.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from importlib.resources import files

import numpy as np

from seismo.grid.coefficients import Stencil, largest_symbol

MOMENT_ROWS = (0.25, 9.0)  # where a moment is among the rows of a fitted closure
CONTACT_ORDER = 8  # that there are fits to contacts of
CONTACT_ROWS = 7  # cells that hold no second contact, where the rows are fitted to one
_CONTACT_STEP = 0.13  # cells that a contact may be off the one that was fitted to
_DECIMALS = 12  # of block and norms: the same on every machine, whatever its linear algebra


class ClosureKind(Enum):
    """What a closure is best for."""

    PLAIN = "plain"  # contacts among its rows
    FORCES = "forces"  # forces on the surface, vertical ones anywhere, and all below its rows
    CONTACT = "contact"  # one contact among its rows, that leads into stiffer rock
    MOMENTS = "moments"  # moments and horizontal forces among its rows


@dataclass(frozen=True)
class SurfaceClosure:
    """One-sided derivatives in the rows next to a free surface (spacing 1).

    Attributes:
        up: (rows, width) weights of node values for the derivative at half points 0.5, 1.5, ...
        down: (rows, width) weights of half-point values for the derivative at nodes 0, 1, ...
        node_norm: (rows) quadrature weight of node rows; 1 further down.
        half_norm: (rows) quadrature weight of half-point rows; 1 further down.
        growth: largest eigenvalue of the closed operator / that of the open one (>= 1).
    """

    up: np.ndarray
    down: np.ndarray
    node_norm: np.ndarray
    half_norm: np.ndarray
    growth: float

    @property
    def rows(self) -> int:
        """Number of rows with their own weights."""
        return len(self.up)


def interior_matrix(c: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Q far from the surface: row r (point r + 1/2), column n (node n)."""
    offset = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    padded = np.concatenate([[0.0], c, np.zeros(rows + columns)])
    return np.where(offset > 0, padded[np.abs(offset)], -padded[np.abs(1 - offset)])


class ClosureConditions:
    """Linear conditions on the block of Q and on both norms, in this order in one vector."""

    def __init__(self, c: np.ndarray, half_rows: int, node_rows: int) -> None:
        self.half_rows, self.node_rows = half_rows, node_rows
        self.size = half_rows * node_rows + half_rows + node_rows
        far = half_rows + node_rows + 2 * len(c)
        self.interior = interior_matrix(c, far, far)
        self.nodes, self.halves = np.arange(far) * 1.0, np.arange(far) + 0.5

    def _row(self, block: np.ndarray, norm: int, factor: float) -> np.ndarray:
        """Build one condition; norm counts half rows first, then node rows."""
        row = np.zeros(self.size)
        row[: block.size] = block.ravel()
        row[block.size + norm] = factor
        return row

    def exact_for_power(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Conditions that both derivatives are exact for x^k (D on node 0 needs x^k(0) = 0)."""
        rows, values = [], []
        nh, nn = self.half_rows, self.node_rows
        for r in range(nh):
            block = np.zeros((nh, nn))
            block[r] = self.nodes[:nn] ** k
            slope = -k * self.halves[r] ** max(k - 1, 0)
            rows.append(self._row(block, r, slope))
            values.append(-self.interior[r, nn:] @ self.nodes[nn:] ** k)
        for n in range(1 if k == 0 else 0, nn):
            block = np.zeros((nh, nn))
            block[:, n] = -(self.halves[:nh] ** k)
            slope = -k * self.nodes[n] ** (k - 1) if k else 0.0
            rows.append(self._row(block, nh + n, slope))
            values.append(self.interior[nh:, n] @ self.halves[nh:] ** k)
        return np.array(rows), np.array(values)

    def exact_up_to(self, accuracy: int) -> tuple[np.ndarray, np.ndarray]:
        """Return matrix and right-hand side of the conditions for all powers up to one."""
        systems = [self.exact_for_power(k) for k in range(accuracy + 1)]
        return np.vstack([s[0] for s in systems]), np.concatenate([s[1] for s in systems])

    def nearest(self, wish: np.ndarray, accuracy: int) -> np.ndarray:
        """Return the vector nearest to a wished one that is exact for all powers up to one."""
        matrix, right = self.exact_up_to(accuracy)
        return wish + np.linalg.lstsq(matrix, right - matrix @ wish, rcond=1e-11)[0]

    def interior_guess(self) -> np.ndarray:
        """Norms 1 (1/2 on the surface) and the interior's coefficients."""
        block = self.interior[: self.half_rows, : self.node_rows].ravel()
        norms = np.ones(self.half_rows + self.node_rows)
        norms[self.half_rows] = 0.5
        return np.concatenate([block, norms])

    def two_point_guess(self) -> np.ndarray:
        """Norms 1 (1/2 on the surface) and differences of neighbours."""
        block = np.eye(self.half_rows, self.node_rows, 1) - np.eye(self.half_rows, self.node_rows)
        return np.concatenate([block.ravel(), self.interior_guess()[block.size :]])


def _plain(conditions: ClosureConditions, accuracy: int) -> np.ndarray:
    """Meet the conditions up to a power; spend what is free on the next one and on smoothness.

    That of power 1 is next to differences of neighbours, and its norms are next to 1.
    """
    if accuracy == 1:
        return conditions.nearest(conditions.two_point_guess(), accuracy)
    matrix, right = conditions.exact_up_to(accuracy)
    particular = np.linalg.lstsq(matrix, right, rcond=1e-11)[0]
    _, singular, vectors = np.linalg.svd(matrix)
    free = vectors[int((singular > 1e-10 * singular[0]).sum()) :].T
    next_matrix, next_right = conditions.exact_for_power(accuracy + 1)
    pull = 0.1
    wish = np.concatenate(
        [
            next_right - next_matrix @ particular,
            pull * (conditions.interior_guess() - particular),
        ]
    )
    weights = np.linalg.lstsq(np.vstack([next_matrix @ free, pull * free]), wish, rcond=None)[0]
    return particular + free @ weights


@lru_cache
def fits() -> tuple[dict, ...]:
    """Return the fits to Taylor coefficients, those of most rows first."""
    text = files("seismo.grid").joinpath("surface_closure.json").read_text()
    return tuple(sorted(json.loads(text), key=lambda fit: -len(fit["half_norm"])))


def most_rows() -> int:
    """Return the rows of the largest fit."""
    return len(fits()[0]["half_norm"])


def _fit(order: int, kind: ClosureKind, even_rows: float) -> dict | None:
    """Return the fit of a kind with the most rows that lie in one medium, if there is one.

    Of those to a contact, return the one whose contact is nearest to so deep.
    """
    some = [fit for fit in fits() if (fit["order"], fit["kind"]) == (order, kind.value)]
    if kind is ClosureKind.CONTACT:
        near = [fit for fit in some if abs(fit["depth"] - even_rows) <= _CONTACT_STEP]
        return min(near, key=lambda fit: abs(fit["depth"] - even_rows), default=None)
    return next((fit for fit in some if len(fit["half_norm"]) <= even_rows), None)


def closure_kind(
    order: int, even_rows: float, moments: bool, contact: float = math.inf
) -> ClosureKind:
    """Return the kind of closure that is best at a free surface.

    Args:
        order: of the differences.
        even_rows: cells below the surface that are of one solid.
        moments: whether a moment acts among the rows (`MOMENT_ROWS`), or a horizontal force.
        contact: depth in cells of one contact that the rows may be fitted to.
    """
    kind = ClosureKind.MOMENTS if moments else ClosureKind.FORCES
    if _fit(order, kind, even_rows):
        return kind
    return ClosureKind.CONTACT if _fit(order, ClosureKind.CONTACT, contact) else ClosureKind.PLAIN


@lru_cache
def surface_closure(
    stencil: Stencil,
    kind: ClosureKind = ClosureKind.FORCES,
    even_rows: float = math.inf,
    most: int = 3,
) -> SurfaceClosure:
    """Return the closure of a stencil at a free surface.

    A fitted closure is the nearest to that of Taylor coefficients that is exact for the same powers
    with this stencil. Next to the surface a plain closure is exact to power min(M, 3) (2 from order
    14 on), which makes the whole scheme one order more accurate than that (Gustafsson 1975). Beside
    contacts lower powers, which take fewer rows, do better.

    Args:
        stencil: of the interior, order 2M.
        kind: what it is to be best for; where no fit of it is left, it is plain.
        even_rows: cells below the surface that are of one solid, to the contact of that kind.
        most: highest power that a plain closure is exact for.
    """
    c, fit = stencil.first, _fit(stencil.order, kind, even_rows)
    terms = len(c)
    # Fitted coefficients give long waves a factor next to 1, which is Q's as a whole.
    factor = float((2 * np.arange(terms) + 1) @ c)
    if fit:
        conditions = ClosureConditions(c / factor, len(fit["half_norm"]), len(fit["node_norm"]))
        wish = np.concatenate([np.ravel(fit["block"]), fit["half_norm"], fit["node_norm"]])
        solution = conditions.nearest(wish, fit["accuracy"])
    else:
        accuracy = min(terms, most, 3 if terms < 7 else 2)
        half_rows = max(2 * accuracy - 1, terms - 1)
        conditions = ClosureConditions(c / factor, half_rows, half_rows + (terms > 1))
        solution = _plain(conditions, accuracy)
    return close(c, conditions.half_rows, conditions.node_rows, factor, solution.round(_DECIMALS))


def close(
    c: np.ndarray, half_rows: int, node_rows: int, factor: float, solution: np.ndarray
) -> SurfaceClosure:
    """Return the closure whose block, divided by a factor, and norms are a vector's."""
    total = node_rows + 4 * len(c) + 40
    matrix = interior_matrix(c, total, total)
    block, norms = np.split(solution, [half_rows * node_rows])
    matrix[:half_rows, :node_rows] = factor * block.reshape(half_rows, node_rows)
    half_norm, node_norm = np.ones(total), np.ones(total)
    half_norm[:half_rows], node_norm[:node_rows] = np.split(norms, [half_rows])
    width = node_rows + len(c)
    scaled = matrix / np.sqrt(half_norm)[:, None] / np.sqrt(node_norm)[None, :]
    growth = np.linalg.norm(scaled, 2) / largest_symbol(c)
    return SurfaceClosure(
        up=(matrix / half_norm[:, None])[:node_rows, :width],
        down=(-matrix.T / node_norm[:, None])[:node_rows, :width],
        node_norm=node_norm[:node_rows],
        half_norm=half_norm[:node_rows],
        growth=max(1.0, float(growth)),
    )
