"""Rows at contacts of fluid and solid in a subdomain, and cells where fluids slip: corrections.

Rows that horizontal contacts of fluid and solid cut take the own medium of `Contact`, and weighted
rows besides after the sweep (`seismo.features.contacts.operators` and
`seismo.features.contacts.operators`).

Where fluids meet along a contact that dips, pressure gradients along x also move them along z. The
inverse density of such a cell is a tensor B (`seismo.model.effective.density`). Its diagonal are
the densities that the sweeps read; the rest couples velocities that stand at different points. With
A_i the mean of the two half points along i beside a node and f_i the force on the fluid::

    v_i(n + 1/2) = ... + dt (f_i / rho_i + A_i^T [ sum over j of B_ij A_j f_j ])

    vz at x, z + 1/2    |   f_x at the half points beside node (x, z), and beside (x, z + 1)
    vx at x + 1/2, z    |   f_z at the half points beside node (x, z), and beside (x + 1, z)

A_j f_j is a centred derivative of pressure at a node. The discrete inverse density is symmetric, so
the energy 1/2 v^T B^-1 v + ... is conserved, as long as B is positive: at a node the rows of B_ij
are limited by the diagonal at the half points beside it, so that it is diagonally dominant. Only
the diagonal acts in cells so near solids that these would move f_i, next to the closed rows of a
free surface, or taller than cells at the top.

The few points concerned are corrected after the sweep, each by the subdomain that owns it, from
fields that the stage only reads: the answer is the same to the last bit however the grid is cut.
Symbols: rho density (kg/m3), dt time step (s).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from seismo.backends.base import Backend, KernelConstants, Launch
from seismo.backends.point_kernels import add_slopes
from seismo.equations.framework.table import Physics
from seismo.features.contacts import operators as fluid_solid_operators
from seismo.features.contacts.contact import Contact, FluidContacts, own_rock
from seismo.grid.decomposition import Subdomain
from seismo.grid.grid import AXES, Box
from seismo.model.earth import Earth
from seismo.model.effective import GridCells
from seismo.model.effective.averaging import PREFIX, cell_average, losses_between
from seismo.model.effective.density import cut_cells
from seismo.solver.discretization import Discretization
from seismo.solver.stages import RowCorrections, RowSlope, RowSums
from seismo.solver.subdomain import AddedLaunches, SubdomainSolver


def adjust_medium(
    discretization: Discretization, subdomain: Subdomain, medium: dict[str, np.ndarray]
) -> None:
    """Put the own medium in the rows that contacts cut; see `ContactRows.adjust`."""
    ContactRows(discretization, subdomain).adjust(medium)


def own_rows(
    discretization: Discretization, is_even: Callable[[dict[str, np.ndarray]], np.ndarray]
) -> np.ndarray:
    """Return of every row (z) whether a contact gives it a medium of its own."""
    rows = np.zeros(discretization.grid.points[2], bool)
    rows[[contact.row for contact in discretization[FluidContacts].corrected]] = True
    return rows


def corrections(solver: SubdomainSolver, medium: dict[str, np.ndarray]) -> list[AddedLaunches]:
    """Let the stages of a subdomain correct rows at contacts, and cells where fluids slip.

    Args:
        solver: the subdomain, its stages bound.
        medium: averages (z, y, x) on the nodes of the subdomain and its halo.
    """
    discretization = solver.discretization
    arrays = solver.fields.arrays(0)
    closure = discretization.closure
    closed = closure.down / discretization.grid.spacing[2] if closure else ()
    phases = list(zip(solver.phases, solver.tables, strict=True))
    rows = ContactRows(discretization, solver.subdomain)
    rows.correct(solver.backend, phases, medium, arrays, closed)
    if discretization.scenario.averaging == "effective":
        # Off-diagonal inverse densities where fluids meet along a dip.
        solid = discretization.extremes.vs_max > 0.0
        terms = discretization.stencil.order // 2
        earth = discretization.earth
        neighbourhood = Neighbourhood(earth, solid, discretization.closed_rows, terms)
        slip = SlipTerms(
            discretization.physics, solver.subdomain, neighbourhood, medium, discretization.clock.dt
        )
        slip.correct(solver.backend, solver.phases, solver.tables[0], arrays)
    return []


class ContactRows:
    """The contacts of a run, as a subdomain sees them."""

    def __init__(self, discretization: Discretization, subdomain: Subdomain) -> None:
        """Take the run and the subdomain."""
        self._contacts = discretization[FluidContacts].corrected
        self._earth = discretization.earth
        self._responses = discretization.physics.strain_responses
        self._subdomain = subdomain
        self._dt = discretization.clock.dt
        self._first = subdomain.owned.lo[2] - subdomain.halo

    def adjust(self, medium: dict[str, np.ndarray]) -> None:
        """Put the own medium in the rows that contacts cut, but for the mean c33.

        Args:
            medium: arrays (z, y, x) on the nodes of the subdomain and its halo, changed in place.
        """
        for contact in self._contacts:
            k = contact.row - self._first
            if 0 <= k < len(medium["rho"]):
                constants = contact.constants(medium["c33"][k])
                # P moduli relax with the roots of c11 and c33 (`anisotropic_loss`).
                roots = {f"root{n}": 0.0 * constants["c33"] for n in range(1, 7)}
                roots |= {f"root{n}": np.sqrt(constants[f"c{n}{n}"]) for n in (1, 2, 3)}
                losses = self._losses(
                    contact, constants, [n for n in medium if n.startswith(PREFIX)]
                )
                row = {"rho": contact.medium.rho, **constants, **roots, **losses}
                for name in medium.keys() & row.keys():
                    medium[name][k] = row[name]

    def _losses(
        self, contact: Contact, constants: dict[str, np.ndarray], names: list[str]
    ) -> dict[str, np.ndarray]:
        """Return the losses of a contact's row n, of these constants."""
        if not names:
            return {}
        grid = self._subdomain.grid
        stiffer = self._earth.stiffer
        c33 = constants["c33"]
        if not contact.closed:
            # Backus' mean of the stiffer earth, in the cell that the contact cuts.
            z = grid.coordinate("z", np.array([contact.row]))
            origin = np.zeros(1)
            across = origin if grid.dimensions == 3 else None
            mean = cell_average(
                stiffer, GridCells(z, across, origin, grid.cells), ("c33",), dtype=c33.dtype
            )
            c33 = mean["c33"].reshape(c33.shape)
        # The same medium with moduli that are larger by their y.
        stiffer_contact = replace(contact, medium=own_rock(stiffer, grid, contact))
        return losses_between(names, constants, stiffer_contact.constants(c33))

    def correct(
        self, backend: Backend, phases: list[tuple[list, KernelConstants]], medium: dict,
        arrays: dict, closed,
    ) -> None:  # fmt: skip
        """Let the stages of the subdomain correct the rows at contacts after their own updates.

        Args:
            backend: where they run.
            phases: its stages (`seismo.solver.stages.BoundStage`) and the tables of their
                sweeps, in each phase of the steps.
            medium: result of `adjust`.
            arrays: its fields by name.
            closed: (rows, width) weights / spacing of half points in the rows of a closed surface.
        """
        if not self._contacts:
            return
        (stages, first), *_ = phases
        terms = self._terms(medium, first.first[2], closed)
        edges, core = self._subdomain.edges_and_core()
        corrected: set[str] = set()
        for number, stage in enumerate(bound.stage for bound in stages):
            # Terms follow the stage that writes their field first.
            new = set(stage.writes) - corrected
            corrected |= new
            wanted = [term for term in terms if new & term.fields]
            rows = RowCorrections(backend, self._subdomain, arrays, stage.name)
            made = dict[int, tuple[list[Launch], list[Launch]]]()  # by tables, which phases share
            for bound, tables in ((stages[number], tables) for stages, tables in phases):
                if id(tables) not in made:
                    at_edges = [
                        launch for box in edges for launch in rows.bind(wanted, box, tables)
                    ]
                    made[id(tables)] = at_edges, rows.bind(wanted, core, tables)
                bound.follow(*made[id(tables)], rows.memories)

    def _terms(self, medium: dict, c: np.ndarray, closed) -> list[RowSums | RowSlope]:
        """List the terms added to rows, of all stages."""
        column = {name: array[:, 0, 0] for name, array in medium.items()}
        assert self._responses is not None
        # Stiffnesses, less the effect of memory within a step, and gains of memory variables.
        strained = {
            strain: {name: partial(self._at, array) for name, array in rates.items()}
            for strain, rates in self._responses(column).items()
        }
        grid = self._subdomain.grid
        rho, rho_x = (partial(self._at, column[name]) for name in ("rho", "rho_x"))
        rows = fluid_solid_operators.ColumnRows(
            grid.axes, grid.spacing[2], grid.points[2], c, closed, rho, rho_x, strained
        )
        velocity, stress = fluid_solid_operators.row_terms(self._contacts, rows, self._dt)
        return [*velocity, *stress]

    def _at(self, column: np.ndarray, row: int) -> float:
        """Return a value of a row of the grid from the values of the subdomain and its halo."""
        # Rows that are not held here are not corrected here: any number will do.
        return float(column[np.clip(row - self._first, 0, len(column) - 1)])


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
    """The terms of B beside its diagonal, in a subdomain."""

    def __init__(
        self, physics: Physics, subdomain: Subdomain, neighbourhood: Neighbourhood,
        medium: dict[str, np.ndarray], dt: float,
    ) -> None:  # fmt: skip
        """Find the cells.

        Args:
            physics: the wave equation.
            subdomain: whose points are corrected.
            neighbourhood: of the subdomain.
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
        offsets = np.stack([a.ravel() for a in np.meshgrid(*span, indexing="ij")])
        wet = np.ones(len(nodes), bool)
        for n, node in enumerate(nodes):
            x, y, z = (grid.coordinate(a, node[k] + offsets[k]) for k, a in enumerate(AXES))
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
        """Add the terms that sweeps of velocities leave out.

        Args:
            backend: where they run.
            phases: the subdomain's `seismo.solver.stages.BoundStage`, in each phase of its
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
            # A_j of the staggered difference: a centred difference.
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
