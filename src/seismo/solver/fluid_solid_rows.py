"""The rows at contacts of fluid and solid in one subdomain: their medium, and corrections."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from seismo.backends.base import Backend, KernelConstants
from seismo.equations import fluid_solid_operators
from seismo.equations.fluid_solid_contact import Contact
from seismo.equations.fluid_solid_terms import ShearPair, stress_terms, velocity_terms
from seismo.equations.row_terms import RowSlope, RowSums
from seismo.grid.decomposition import Subdomain
from seismo.solver.row_corrections import RowCorrections


class ContactRows:
    """The contacts of a run, as one subdomain sees them."""

    def __init__(self, contacts: tuple[Contact, ...], subdomain: Subdomain, dt: float) -> None:
        """Take all contacts of the run, the subdomain and the time step [s]."""
        self._contacts = contacts
        self._subdomain = subdomain
        self._dt = dt
        self._first = subdomain.owned.lo[2] - subdomain.halo

    def adjust(self, medium: dict[str, np.ndarray]) -> None:
        """Put the own medium in the rows that contacts cut, but for the mean c33.

        Args:
            medium: arrays (z, y, x) on the nodes of the subdomain and its halo, changed in place.
        """
        for contact in self._contacts:
            k = contact.row - self._first
            rock = contact.medium
            if 0 <= k < len(medium["rho"]):
                if contact.closed:
                    medium["c33"][k] = rock.stiffness
                # Own medium with the given c33: c13 = l c33, c11 = E + l^2 c33.
                c33 = medium["c33"][k]
                medium["rho"][k] = rock.rho
                medium["c13"][k] = rock.thin_stretch * c33
                medium["c11"][k] = rock.plate + rock.thin_stretch**2 * c33
                for shear in ("c44", "c55"):
                    if shear in medium:
                        medium[shear][k] = rock.shear
                if "c66" in medium:
                    medium["c66"][k] = rock.level_shear
                if "c12" in medium:
                    # Nine constants, of rock that is transversely isotropic about z.
                    medium["c22"][k] = medium["c11"][k]
                    medium["c23"][k] = medium["c13"][k]
                    medium["c12"][k] = medium["c11"][k] - 2.0 * rock.level_shear

    def correct(
        self, backend: Backend, phases: list[tuple[list, KernelConstants]], medium: dict,
        arrays: dict, closed, shear_parts: Mapping[str, str],
    ) -> None:  # fmt: skip
        """Let the stages of the subdomain correct the rows at contacts after their own updates.

        Args:
            backend: where they run.
            phases: its stages (`seismo.solver.stages.BoundStage`) and the tables of their sweeps,
                in each phase of its layers.
            medium: what `adjust` has made.
            arrays: its fields by name.
            closed: (rows, width) weights / spacing of half points in the rows of a closed surface.
            shear_parts: fields that shear stresses take what is added through.
        """
        if not self._contacts:
            return
        (stages, first), *_ = phases
        terms = self._terms(medium, first.first[2], closed, shear_parts)
        edges, core = self._subdomain.edges_and_core()
        corrected: set[str] = set()
        for number, stage in enumerate(bound.stage for bound in stages):
            # Terms follow the stage that writes their field first.
            new = set(stage.writes) - corrected
            corrected |= new
            wanted = [term for term in terms if new & term.fields]
            rows = RowCorrections(backend, self._subdomain, arrays, stage.name)
            for bound, tables in ((stages[number], tables) for stages, tables in phases):
                at_edges = [one for box in edges for one in rows.bind(wanted, box, tables)]
                bound.follow(at_edges, rows.bind(wanted, core, tables), rows.memories)

    def _terms(
        self, medium: dict, c: np.ndarray, closed, shear_parts: Mapping[str, str]
    ) -> list[RowSums | RowSlope]:
        """List what is added to rows, of all stages."""
        shear_name = "c44" if "c44" in medium else "c55"
        column = {name: array[:, 0, 0] for name, array in medium.items()}

        def at(name: str, row: int) -> float:
            # Rows that are not held here are not corrected here: any number will do.
            return float(column[name][np.clip(row - self._first, 0, len(column[name]) - 1)])

        def c44(half: int) -> float:
            # Shear stiffness of a half row: harmonic mean of two nodes.
            pair = at(shear_name, half), at(shear_name, half + 1)
            return 2.0 * pair[0] * pair[1] / max(sum(pair), 1.0)

        grid = self._subdomain.grid
        axes = grid.axes
        h = grid.spacing[2]
        open_ones = tuple(contact for contact in self._contacts if not contact.closed)
        # Contacts without closed rows.
        pair = ShearPair(open_ones, c, grid.points[2], closed)
        rise, fall = pair.corrections()
        leans = pair.leans(h)
        rho, rho_x, c13, c33 = (partial(at, name) for name in ("rho", "rho_x", "c13", "c33"))
        velocity = velocity_terms(open_ones, fall, leans, c, axes, rho, rho_x, self._dt)
        stress = stress_terms(open_ones, rise, leans, axes, c33, c44, self._dt)
        for contact in self._contacts:
            if contact.closed:
                # Contacts with closed rows: one-sided differences (summation by parts).
                rows = fluid_solid_operators.contact_operators(contact, c * h)
                velocity += fluid_solid_operators.velocity_terms(
                    rows, axes, h, rho, rho_x, self._dt
                )
                stress += fluid_solid_operators.stress_terms(rows, axes, h, c13, c33, c44, self._dt)
        return [*velocity, *(term.into(shear_parts) for term in stress)]
