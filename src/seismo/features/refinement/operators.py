"""Grids of two spacings that meet in a plane: operators beside it, and the exchange across it.

Above the plane a grid has the spacing h, below it 3 h. Both have a row of nodes on it, and of each
kind every third point of the finer grid coincides with a point of the coarser. Beside the plane
each has differences that are closed as under a free surface (`surface_closure`), and takes the
value of a field *on* the plane into account, f*: with d the distance from the plane into a grid,

    at half points   df/dd = G f + inv(H_half) l (f[0] - f*),
    at nodes         df/dd = D f - e_0 f* / H_node[0],

where l extrapolates half points to the plane. A field that is known on its own side has f* = l f,
or f* = f[0]; the two operators are then each other's negative adjoints in the norms, except the
terms of the other side. With tractions T of the coarser grid and velocities v of the finer,

    T* = I T_coarse,   v* = R v_fine,   R = inv(H_coarse) I^T H_fine,

v_fine . H_fine T* = v* . H_coarse T_coarse: the plane neither makes nor takes energy, whatever the
media (simultaneous approximation terms, Carpenter et al. 1994; interpolation adjoint in the norms,
Mattsson & Carpenter 2010). Next to the plane f* stands in a row of its own beyond it, so that
sweeps read a further row, and differences beside the plane are weighted rows like others.

**Strains of receivers** beside the plane are read by stresses (`plane_strains`). Below a plane of
refinement velocities err alternately from row to row, and their differences across it by a third.
Stresses do not: the scheme's own differences there belong to these velocities
(`seismo.features.refinement.operators`). So receivers beside the plane have, with a along it,

    e = C^-1 s,    d_z v_a = 2 e_az - d_a v_z

with the stiffness C of the rock at the receiver. Records of stresses become rates as their change
in a step; so the scheme has both. In attenuating rock strains do not follow from stresses of a
single time: there each is read directly.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.equations.framework.table import Term
from seismo.grid.coefficients import Stencil, largest_symbol
from seismo.grid.grid import Grid, triple
from seismo.grid.interpolation import RADIUS, PointsByField
from seismo.grid.surface_closure import BesideRefinement, SurfaceClosure, closed_operators, nearest
from seismo.solver.discretization import Discretization
from seismo.solver.interpolation.channels import FURTHER, IndirectReading, channel_points

FACTOR = 3  # spacing below the plane over that above
# Weights of coarse points -1, 0, 1, 2 in a fine point a third of the way from 0 to 1, and of -1, 0,
# 1 in a fine point on a coarse point: each exact to power 1, and for a wave with 10 points together
# more accurate than cubic interpolation; aliased wavelengths stay on the plane. Their transpose
# over 3 takes fine points to coarse points, exactly to power 3.
THIRD = np.array([-14.0, 141.0, 30.0, 5.0]) / 162.0
ON_POINT = np.array([-1.0, 11.0, -1.0]) / 9.0
REACH = 5  # points of the finer grid beside a part that the coarser takes along an axis
# Receivers so many rows above and below the plane read its closed rows: 9 points per shortest
# wavelength in the coarser grid, at the plane 1.8 and 2.4 % (orders 8 and 4), 4 rows above 0.3 and
# 0.4 %, 5 rows 0.02 %; below at most 2.3 %, 5 rows 0.4 and 0.7 %, 6 rows 0.05 %.
READ_ABOVE = 5
READ_BELOW = 6
# With a contact among the closed rows above it stresses err by up to 70 % so many rows above it.
READ_AMONG = 8
_ACTING = 8  # rows off the plane: 5, 6, 7, 8 rows off it sources err by 6, 3.3, 0.7, 0.15 %
# What interpolation along the plane adds to the largest eigenvalue, in the symbol along z: 1.005 in
# 2-D, 1.002 in 3-D, of that along all axes.
_CROSSING_GROWTH = 1.01


@lru_cache
def _fits() -> dict[int, dict]:
    """Return the fitted closures by order."""
    text = files("seismo.features.refinement").joinpath("closure.json").read_text()
    return {fit["order"]: fit for fit in json.loads(text)}


@lru_cache
def plane_closure(stencil: Stencil) -> tuple[SurfaceClosure, np.ndarray]:
    """Return differences from the plane on, without f*, and l (halves)."""
    # Those of Taylor coefficients, or the closest that are as exact with others.
    fit = _fits()[stencil.order]
    return nearest(stencil.first, fit), np.array(fit["extrapolation"])


class PlaneColumn(NamedTuple):
    """Rows of a grid from the plane on (spacing 1).

    Attributes:
        up: (halves, nodes) G of differences at half points.
        node_norm: (nodes) cells that rows of nodes stand for.
        half_norm: (halves) norms of half points.
        extrapolation: (halves) l.
    """

    up: np.ndarray
    node_norm: np.ndarray
    half_norm: np.ndarray
    extrapolation: np.ndarray


def _column(stencil: Stencil) -> tuple[PlaneColumn, np.ndarray]:
    """Return the rows from the plane on, with a few of the interior, and D (nodes, halves)."""
    closure, extrapolation = plane_closure(stencil)
    many = closure.up.shape[1] + 2 * stencil.order
    up, down = closed_operators(stencil.first, many, many, closure)
    norms = np.ones((2, many))
    norms[0, : closure.node_norm.size] = closure.node_norm
    norms[1, : closure.half_norm.size] = closure.half_norm
    on_plane = np.zeros(many)
    on_plane[: extrapolation.size] = extrapolation
    return PlaneColumn(up, norms[0], norms[1], on_plane), down


@lru_cache
def plane_column(stencil: Stencil) -> PlaneColumn:
    """Return the rows from the plane on whose differences end among them."""
    column, _ = _column(stencil)
    nodes = column.node_norm.size - stencil.order
    halves = nodes - 1
    return PlaneColumn(
        column.up[:halves, :nodes], column.node_norm[:nodes], column.half_norm[:halves],
        column.extrapolation[:halves],
    )  # fmt: skip


@lru_cache
def _closed(stencil: Stencil) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, float]:
    """Return differences from the plane on, with f* as first column, and l; rows that are closed.

    Returns:
        (rows, 1 + width) at half points; (rows + 1, 1 + width) at nodes, of which the last row is
        of the interior; (halves) l; rows; growth.
    """
    closure, extrapolation = plane_closure(stencil)
    column, down = _column(stencil)
    up = column.up
    node_norm = column.node_norm
    half_norm = column.half_norm
    many = node_norm.size
    jump = column.extrapolation / half_norm
    weak = down.copy()
    weak[0, : extrapolation.size] -= extrapolation / node_norm[0]
    # Values on the plane as first column.
    at_halves = np.column_stack([-jump, up])
    at_halves[:, 1] += jump
    at_nodes = np.column_stack([-np.eye(1, many)[0] / node_norm[0], down])
    # Largest singular value of the weak operator in the norms, relative to the interior's symbol.
    inner = many - stencil.order
    scaled = np.sqrt(node_norm)[:, None] * weak / np.sqrt(half_norm)
    growth = float(np.linalg.norm(scaled[:inner, :inner], 2)) / largest_symbol(stencil.first)
    width = closure.up.shape[1]
    rows = closure.rows
    return (
        at_halves[:rows, : 1 + width], at_nodes[: rows + 1, : 1 + width], extrapolation, rows,
        max(growth, closure.growth, _CROSSING_GROWTH),
    )  # fmt: skip


def below(stencil: Stencil, plane: int) -> BesideRefinement:
    """Return the differences of the coarser grid, whose row of nodes `plane` is on the plane."""
    at_halves, at_nodes, extrapolation, rows, growth = _closed(stencil)
    width = at_halves.shape[1]
    # Rows count from the row that holds the values on the plane.
    up = np.zeros((rows + 1, width))
    down = np.zeros((rows + 1, width))
    up[1:] = at_halves
    down[1:] = at_nodes[:rows]
    inner = plane + np.arange(extrapolation.size)
    return BesideRefinement(
        plane, plane - 1, up, down, plane, plane - 1, plane - 1, inner, extrapolation, growth
    )


def above(stencil: Stencil, plane: int) -> BesideRefinement:
    """Return the differences of the finer grid, whose row of nodes `plane` is on the plane."""
    at_halves, at_nodes, extrapolation, rows, growth = _closed(stencil)
    width = at_halves.shape[1] - 1
    # Upside down, d/dz = -d/dd: node n is row plane - n, half point r row plane - r - 1.
    base = plane - width
    up, down = (np.zeros((width + 1, width + 2)) for _ in range(2))
    # Half points: numbers from the plane downwards there count upwards here.
    for r in range(rows):
        target = width - 1 - r
        up[target, width + 1] = -at_halves[r, 0]
        up[target, width - np.arange(width)] = -at_halves[r, 1:]
    # Nodes; the last row is of the interior.
    for n in range(rows + 1):
        target = width - n
        down[target, width] = -at_nodes[n, 0]
        down[target, width - 1 - np.arange(width)] = -at_nodes[n, 1:]
    inner = plane - 1 - np.arange(extrapolation.size)
    return BesideRefinement(
        plane - rows, base, up, down, plane, plane + 1, plane, inner, extrapolation, growth
    )


def halo(order: int, curved: bool, is_finer: bool) -> int:
    """Return the points that the coarser of two grids takes of parts of the finer."""
    return REACH if is_finer else 0


def beside(stencil: Stencil, plane: int, finer: bool) -> BesideRefinement:
    """Return the differences of the finer grid beside the plane, or of the coarser."""
    return (above if finer else below)(stencil, plane)


def acting_rows(order: int) -> int:
    """Return how many rows off the plane sources have to lie, on either side, by the order."""
    return max(_ACTING, RADIUS + order // 2 - 1)


def to_fine(is_half: bool) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Return, for fine points 3 i, 3 i + 1, 3 i + 2, coarse points - i and their weights.

    Args:
        is_half: whether points are half a cell further along the axis.
    """
    third = np.arange(-1, 3), THIRD
    two = np.arange(-1, 3), THIRD[::-1]
    same = np.arange(-1, 2), ON_POINT
    # Fine half points stand on coarse ones at 3 i + 1.
    kinds = (same, third, two)
    if not is_half:
        return [(n, *kind) for n, kind in enumerate(kinds)]
    before = two[0] - 1, two[1]
    return [(0, *before), (1, *same), (2, *third)]


def to_coarse(is_half: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return fine points - 3 i of a coarse point i, and their weights."""
    offsets = np.arange(-REACH, REACH + 1)
    a, b, c, d = THIRD / FACTOR
    edge, middle, _ = ON_POINT / FACTOR
    weights = np.array([d, a, edge, c, b, middle, b, c, edge, a, d])
    return offsets + int(is_half), weights


def side(grid: Grid, plane: int, finer: bool) -> Grid:
    """Return the rows of a grid that lie on its side of the plane, that row of nodes included."""
    nx, ny, nz = grid.points
    if finer:
        return replace(grid, points=triple((nx, ny, plane + 1)))
    top = (*grid.origin[:2], float(grid.coordinate("z", plane)))
    return replace(
        grid, points=triple((nx, ny, nz - plane)), origin=top, low=triple((*grid.low[:2], 0))
    )


_STRAINS = ("strain_rate", "divergence", "rotation")


def indirect_reading(discretization: Discretization) -> PlaneStrains | None:
    """Return the reading of the coarser of two grids; None of the finer, and where rock loses."""
    attenuates = discretization.earth.relaxation is not None
    if discretization.interface is None or discretization.subdivision > 1 or attenuates:
        return None
    return PlaneStrains(discretization)


class PlaneStrains(IndirectReading):
    """The reading of strains by stresses on the coarser of two grids, beside their plane."""

    @property
    def last(self) -> float:
        """Z in m down to which strains are read so."""
        # Behind the closed rows, as far as receivers read.
        discretization = self.discretization
        return float(
            discretization.grid.coordinate("z", discretization.plane_rows.rows[1] + RADIUS)
        )

    def adds_further(self, group: str, component: str) -> bool:
        """Whether a component of a set of receivers (its name) has channels of velocities, too."""
        strains, motion = self._split(group, component)
        return bool(strains and motion)

    def marks(self, positions: np.ndarray) -> np.ndarray:
        """Return (receiver) whether each is read so: in solids."""
        # A fluid has no shear strain that stresses tell.
        return np.asarray((positions[..., 2] < self.last) & (self._medium(positions)["vs"] > 0.0))

    def points(
        self, group: ReceiverGroup, number: int, position: np.ndarray, base: tuple[str, str]
    ) -> PointsByField:
        """Return the points, by their field, that a channel reads at a receiver: see the base."""
        discretization = self.discretization
        component = base[1].removesuffix(FURTHER)
        strains, motion = self._split(group.name, component)
        is_beside = bool(strains) and position[2] < self.last and bool(self.marks(position))
        of_motion = component != base[1]
        if not is_beside and not of_motion:
            return super().points(group, number, position, base)
        # Stresses of the position's own rock, or velocities where there are none.
        terms = motion if of_motion else self._stresses(strains, position)
        return channel_points(
            discretization.interpolation,
            terms if is_beside else (),
            position,
        )

    def _split(self, name: str, component: str) -> tuple[dict[str, float], tuple[Term, ...]]:
        """Return the strains e_ab that a component is a sum of, and the velocities that are left.

        Nothing of a component that is not read so.

        Args:
            name: of a set of receivers.
            component: base component.
        """
        strains = dict[str, float]()
        motion = dict[tuple[str, str], float]()
        for term in self._of_group(name, component, _STRAINS):
            # e_aa, and d_z v_a = 2 e_az - d_a v_z.
            of = term.field[1:]
            slope = (term.field, term.along, term.factor)
            if of == term.along:
                strains[of * 2] = strains.get(of * 2, 0.0) + term.factor
                continue
            if term.along == "z":
                strains[of + "z"] = strains.get(of + "z", 0.0) + 2.0 * term.factor
                slope = ("vz", of, -term.factor)
            motion[slope[:2]] = motion.get(slope[:2], 0.0) + slope[2]
        # SH waves have no vz.
        names = {field.name for field in self.discretization.physics.fields}
        kept = ((pair, factor) for pair, factor in motion.items() if factor and pair[0] in names)
        return strains, tuple(Term(name, factor, axis) for (name, axis), factor in kept)

    def _stresses(self, strains: dict[str, float], position: np.ndarray) -> tuple[Term, ...]:
        """Return the stresses that a sum of strains is a sum of."""
        # e = C^-1 s
        names, stiffness = self._stiffness(position)
        compliance = np.linalg.inv(stiffness)
        shares = np.zeros(len(names))
        for ab, factor in strains.items():
            # Of shear Voigt's strains are 2 e_ab.
            half = 1.0 if ab[0] == ab[1] else 0.5
            shares += half * factor * compliance[names.index(f"s{ab}")]
        return tuple(Term(name, share) for name, share in zip(names, shares.tolist(), strict=True))

    def converted(
        self, group: str, component: str, traces: np.ndarray,
        further: np.ndarray | None, beside: np.ndarray | None,
    ) -> np.ndarray:  # fmt: skip
        """Return traces (receiver, step) of a component, strains among them, as rates."""
        if beside is None or not beside.any() or not self._split(group, component)[0]:
            return traces
        # Stresses of a step: the previous plus dt C e of the velocities between.
        rates = traces[beside]
        rates[:, 1:] = np.diff(rates, axis=1)
        rates /= self.discretization.clock.dt
        traces[beside] = rates if further is None else rates + further[beside]
        return traces
