"""Where fluids meet along a contact that dips: pressure gradients along x also move them along z.

The inverse density of such a cell is a tensor B (`seismo.model.effective.density`). Its diagonal
are the densities that the sweeps read; the rest couples velocities that stand at different points.
With A_i the mean of the two half points along i beside a node and f_i what accelerates the fluid::

    v_i(n + 1/2) = ... + dt (f_i / rho_i + A_i^T [ sum over j of B_ij A_j f_j ])

    vz at x, z + 1/2    |   f_x at the half points beside node (x, z), and beside (x, z + 1)
    vx at x + 1/2, z    |   f_z at the half points beside node (x, z), and beside (x + 1, z)

A_j f_j is a centred derivative of pressure at a node. The discrete inverse density is symmetric, so
the energy 1/2 v^T B^-1 v + ... is conserved, as long as B is positive: at a node the rows of B_ij
are limited by the diagonal at the half points beside it, so that it is diagonally dominant. Cells
so near solids that these would move f_i, those next to the closed rows of a free surface, and those
taller than cells at the top keep the diagonal alone.

The few points concerned are corrected after the sweep, each by the subdomain that owns it, from
fields that the stage only reads: the answer is the same to the last bit however the grid is cut.
Symbols: rho density (kg/m3), dt time step (s).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seismo.backends.base import Backend, KernelConstants, Launch
from seismo.backends.kernels.points import add_slopes
from seismo.equations.framework.table import Physics
from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import AXES, Box
from seismo.model.earth import Earth
from seismo.model.effective.density import cut_cells

STAGE = "velocity"  # that it corrects


@dataclass(frozen=True)
class Neighbourhood:
    """What decides which cells have a full tensor.

    Attributes:
        earth: the earth.
        solid: whether any of it is solid.
        closed_rows: under a free surface, with operators of their own.
        terms: half the order of the differences.
    """

    earth: Earth
    solid: bool
    closed_rows: int
    terms: int


class SlipTerms:
    """What B has beside its diagonal, in one subdomain."""

    def __init__(
        self, physics: Physics, subdomain: Subdomain, neighbourhood: Neighbourhood,
        medium: dict[str, np.ndarray], dt: float,
    ) -> None:  # fmt: skip
        """Find the cells.

        Args:
            physics: the wave equation.
            subdomain: whose points are corrected.
            neighbourhood: what is around.
            medium: densities (z, y, x) of its velocities and halo, of owned points along x.
            dt: time step [s].
        """
        self._physics = physics
        self._subdomain = subdomain
        self._dt = dt
        self._axes = [a for a in AXES if a in physics.fluid_force]
        self._neighbourhood = neighbourhood
        self._medium = medium
        empty = np.zeros((0, 3), int)
        self._nodes = empty
        self._products = dict[str, np.ndarray]()
        if self._axes and not neighbourhood.earth.layered:
            self._find()

    def _find(self) -> None:
        sub = self._subdomain
        grid = self._subdomain.grid
        lo = sub.owned.lo
        hi = [min(h + 1, n) for h, n in zip(sub.owned.hi, grid.points, strict=True)]
        x, y, z = (grid.coordinate(a, np.arange(lo[n], hi[n])) for n, a in enumerate(AXES))
        spacing = grid.cells
        across = y if grid.dimensions == 3 else None
        # B_ij = n_i n_j times the excess, in cells that contacts of fluids cut.
        cells, normal, excess = cut_cells(self._neighbourhood.earth, z, across, x, spacing)
        # Cells (z, (y,) x) of owned points to nodes of the grid (x, y, z).
        nodes = np.tile(lo, (len(cells), 1))
        columns = [AXES.index(a) for a in reversed(grid.axes)]  # z, (y,) x
        nodes[:, columns] += cells
        # Away from closed rows, from rows of other heights, and from solids.
        closed_rows = self._neighbourhood.closed_rows
        kept = (nodes[:, 2] > closed_rows) | (closed_rows == 0)
        kept &= grid.heights(nodes[:, 2] + 1) == 1.0
        if self._neighbourhood.solid:
            kept[kept] = self._wet(nodes[kept])
        self._nodes = nodes[kept]
        excess = excess[kept]
        component = dict(zip(reversed(grid.axes), normal[:, kept], strict=True))
        products = {
            a + b: component[a] * component[b] * excess
            for a in grid.axes for b in grid.axes if a != b
        }  # fmt: skip
        share = self._share(products)
        self._products = {pair: b * share for pair, b in products.items()}

    def _wet(self, nodes: np.ndarray) -> np.ndarray:
        """Return whether all that moves f_i about nodes (n, 3) is fluid."""
        grid = self._subdomain.grid
        # vs of all nodes that the differences of f_i read.
        reach = self._neighbourhood.terms + 1
        span = [np.arange(-reach, reach + 1) if a in grid.axes else np.zeros(1) for a in AXES]
        around = np.stack([a.ravel() for a in np.meshgrid(*span, indexing="ij")])
        wet = np.ones(len(nodes), bool)
        for n, node in enumerate(nodes):
            x, y, z = (grid.coordinate(a, node[k] + around[k]) for k, a in enumerate(AXES))
            vs = self._neighbourhood.earth.sample(z, y if grid.dimensions == 3 else None, x)["vs"]
            wet[n] = not vs.any()
        return wet

    def _share(self, products: dict[str, np.ndarray]) -> np.ndarray:
        """Return the share of B_ij (n) that leaves it diagonally dominant."""
        share = np.ones(len(self._nodes))
        low = [n - self._subdomain.halo * (n_axis > 0) for n_axis, n in
               enumerate(self._subdomain.owned.lo)]  # fmt: skip
        at = self._nodes - low
        if "y" not in self._axes:
            at[:, 1] = 0
        for axis in self._axes:
            rho = self._medium[f"rho_{axis}"]
            step = np.eye(3, dtype=int)[AXES.index(axis)]
            # Diagonal dominance: sum |B_ij| <= 1 / rho_i at both half points.
            diagonal = 1.0 / np.maximum(*(rho[tuple((at - k * step).T[::-1])] for k in (0, 1)))
            rest = sum(np.abs(b) for pair, b in products.items() if pair[0] == axis)
            share = np.minimum(share, diagonal / np.maximum(rest, np.finfo(float).tiny))
        return share

    def correct(
        self, backend: Backend, phases: list[list], tables: KernelConstants,
        arrays: dict[str, np.ndarray],
    ) -> None:  # fmt: skip
        """Let the stage of the velocities add what its sweeps leave out.

        Args:
            backend: where they run.
            phases: the subdomain's `seismo.solver.steps.stages.BoundStage`, in each phase of its
                layers.
            tables: of its sweeps.
            arrays: its fields by name.
        """
        if not len(self._nodes):
            return
        edges, core = self._subdomain.edges_and_core()
        bound = [[launch for box in boxes for launch in self._bind(backend, tables, arrays, box)]
                 for boxes in (edges, [core])]  # fmt: skip
        for stage in (s for stages in phases for s in stages if s.stage.name == STAGE):
            stage.follow(*bound, [])

    def _bind(
        self, backend: Backend, tables: KernelConstants, arrays: dict[str, np.ndarray], box: Box
    ) -> list[Launch]:
        """Bind the points of a box of owned points."""
        sub = self._subdomain
        launches = list[Launch]()
        strides = (1, *map(int, sub.strides))
        for pair, products in self._products.items():
            axis, other = (AXES.index(a) for a in pair)
            force = self._physics.fluid_force[pair[1]]
            points, weights = self._points(axis, products, box)
            if not len(points):
                continue
            target = arrays[f"v{pair[0]}"]
            source = arrays[force.field]
            number = target.dtype
            shots = np.repeat(np.arange(sub.batch), len(points))
            # dv_i/dt += mean over i of B_ij mean over j of f_j, of every shot.
            flat = np.tile(sub.flat(*points.T), sub.batch) + shots * sub.volume
            # The mean of two nodes, and at each that of the two half points beside it.
            first, second = (
                np.tile(0.5 * self._dt * force.factor * w, sub.batch).astype(number)
                for w in weights.T
            )
            ahead = np.append(tables.first[other], 0.0)
            # A_j of the staggered difference: a centred one.
            centred = (0.5 * (ahead[1:] + ahead[:-1])).astype(number)
            flat, first, second, centred = map(backend.array, (flat, first, second, centred))
            along = (strides[axis], strides[other], centred)
            arguments = (target, source, flat, first, second, *along)
            launches.append(backend.each(add_slopes, len(shots), arguments, (0,), shots))
        return launches

    def _points(self, axis: int, products: np.ndarray, box: Box) -> tuple[np.ndarray, np.ndarray]:
        """Return the half points (n, 3) of a box beside nodes, and B_ij (n, 2) at these two."""
        step = np.eye(3, dtype=int)[axis]
        # Half points on both sides of each node, each once, with the values of its two nodes.
        both = np.concatenate([self._nodes, self._nodes - step])
        inside = np.all((both >= box.lo) & (both < box.hi), axis=1)
        points, which = np.unique(both[inside], axis=0, return_inverse=True)
        weights = np.zeros((len(points), 2))
        side = np.repeat([0, 1], len(products))[inside]
        weights[which.ravel(), side] = np.tile(products, 2)[inside]
        return points, weights
