"""The rows at contacts of fluid and solid in one subdomain: their medium, and corrections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from seismo.backends.base import Backend, KernelConstants, Launch
from seismo.equations.framework.row_terms import RowSlope, RowSums
from seismo.features.contacts import operators as fluid_solid_operators
from seismo.features.contacts.contact import Contact, own_rock
from seismo.features.contacts.slip import Neighbourhood, SlipTerms
from seismo.grid.decomposition import Subdomain
from seismo.model.effective.averaging import cell_average
from seismo.model.effective.cells import GridCells
from seismo.model.effective.losses import PREFIX, losses_between
from seismo.solver.discretization import Discretization
from seismo.solver.steps.row_corrections import RowCorrections
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
    rows[[contact.row for contact in discretization.contacts]] = True
    return rows


def corrections(solver: SubdomainSolver, medium: dict[str, np.ndarray]) -> list[AddedLaunches]:
    """Let the stages of a subdomain correct rows at contacts, and cells where fluids slip.

    Args:
        solver: the subdomain, its stages bound.
        medium: averages (z, y, x) on the nodes of the subdomain and its halo.
    """
    discretization = solver.discretization
    arrays = solver.fields.arrays(0)
    closed = solver.tables[0].down if discretization.closure else ()
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
    """The contacts of a run, as one subdomain sees them."""

    def __init__(self, discretization: Discretization, subdomain: Subdomain) -> None:
        """Take the run and the subdomain."""
        self._contacts = discretization.contacts
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
            phases: its stages (`seismo.solver.steps.stages.BoundStage`) and the tables of their
                sweeps, in each phase of the steps.
            medium: what `adjust` has made.
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
                    at_edges = [one for box in edges for one in rows.bind(wanted, box, tables)]
                    made[id(tables)] = at_edges, rows.bind(wanted, core, tables)
                bound.follow(*made[id(tables)], rows.memories)

    def _terms(self, medium: dict, c: np.ndarray, closed) -> list[RowSums | RowSlope]:
        """List what is added to rows, of all stages."""
        column = {name: array[:, 0, 0] for name, array in medium.items()}
        assert self._responses is not None
        # Stiffnesses, less what memory takes back within a step, and gains of memory variables.
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
        """Return a value of a row of the grid from those of the subdomain and its halo."""
        # Rows that are not held here are not corrected here: any number will do.
        return float(column[np.clip(row - self._first, 0, len(column) - 1)])
