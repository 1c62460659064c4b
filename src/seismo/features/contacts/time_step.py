"""The longest stable step that rows about contacts of fluid and solid leave.

In an earth that varies with depth only, waves of a wavenumber along the contacts are those of a
column of rows: vx on nodes and vz between them, of which a step makes stresses, and these change
them. With the operators A_s and A_v of the medium, closed rows and contacts of the run,

    L = largest eigenvalue of -A_v A_s,    dt <= 2 / sqrt(L),

sought among the rows about each contact, including rows of its neighbours and of a free surface.
Light fluids between heavy rows swing fastest: of air over rock the limit is a fifth of the rock's.
Symbols: vx, vz velocities (m/s), sxx, szz, sxz stresses (Pa), rho density (kg/m3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from seismo.equations.framework.table import Physics
from seismo.features.contacts.closure import closed_rows
from seismo.features.contacts.contact import Contact, FluidContacts, contacts_of
from seismo.features.contacts.operators import ColumnRows, row_terms
from seismo.grid.coefficients import Stencil, largest_symbol
from seismo.grid.grid import AXES, Grid
from seismo.grid.surface_closure import SurfaceClosure
from seismo.model.earth import Earth
from seismo.model.effective import GridCells
from seismo.model.effective.averaging import cell_average, without_losses
from seismo.solver.accuracy.time_step import RowLimit, Scheme, normal_stiffness, shear_stiffness
from seismo.solver.stages import RowSlope, RowSums

_WAVENUMBERS = (0.0, 0.5, 0.8, 1.0)  # along the contacts, of the largest
_STENCILS = 3  # of interior beyond the rows that a contact changes
_BELOW = 0.99  # of the exact limit, where rounded coefficients let vibrations grow

StepMatrices = dict[tuple[str, str], np.ndarray]  # by changed field, and by cause


@dataclass(frozen=True)
class _Window:
    """Some rows of a column.

    Attributes:
        first: number of the first of them in the grid.
        up: (row, row) differences of nodes at half points in 1/m, without contacts.
        down: (row, row) differences of half points at nodes.
        medium: (row) rho, rho_x, and c11, c13, c33 and c44 [Pa] on nodes.
        surface: whether the first row is that of a free surface.
    """

    first: int
    up: np.ndarray
    down: np.ndarray
    medium: dict[str, np.ndarray]
    surface: bool

    @property
    def shear(self) -> np.ndarray:
        """The shear modulus of half points: harmonic means of two nodes."""
        nodes = self.medium["c44"]
        below = np.append(nodes[1:], nodes[-1:])
        return 2.0 * nodes * below / np.maximum(nodes + below, 1.0)


def prepared(scheme: Scheme) -> FluidContacts:
    """Return the contacts of difference equations."""
    return contacts_of(
        scheme.scenario, scheme.physics, scheme.earth, scheme.all_rows, scheme.stencil,
        scheme.closure,
    )  # fmt: skip


def limits(scheme: Scheme) -> RowLimit:
    """Return the limit of the rows about contacts of a run."""
    terms = len(scheme.stencil.along("z"))
    contacts = scheme.facts[FluidContacts].corrected
    closed = [contact for contact in contacts if contact.closed]
    step = contact_limit(
        scheme.physics, scheme.all_rows, scheme.stencil, scheme.closure, scheme.earth,
        contacts, scheme.scenario.averaging,
    )  # fmt: skip
    return RowLimit(
        step=step, bounded=[own_rows(contact, scheme.all_rows, terms) for contact in closed]
    )


def contact_limit(
    physics: Physics, grid: Grid, stencil: Stencil, closure: SurfaceClosure | None, earth: Earth,
    contacts: Sequence[Contact], averaging: Literal["effective", "point"],
) -> float:  # fmt: skip
    """Return the longest stable step in s of rows about contacts; infinity without any.

    Args:
        physics: the wave equation.
        grid: the grid.
        stencil: of the differences.
        closure: closed operators under a free surface, or None.
        earth: the medium.
        contacts: of fluid and solid, that have rows of their own.
        averaging: of the medium.
    """
    # The largest wavenumber along the contacts, as differences have it.
    symbols = {a: largest_symbol(stencil.along(a)) / grid.spacing[AXES.index(a)] for a in grid.axes}
    del symbols["z"]
    largest = float(np.linalg.norm(list(symbols.values())))
    c = stencil.along("z")
    reach = closed_rows(len(c)) + (1 + _STENCILS) * len(c)
    highest = 0.0
    for contact in contacts:
        # Rows that the contact changes, and a few beyond them.
        low = max(0, contact.half - reach)
        rows = range(low, min(grid.points[2], contact.half + 2 + reach))
        medium = _medium(physics, grid, earth, contacts, averaging, rows)
        column = _column(grid, c, closure, rows, medium)
        changes = _changes(contacts, grid, c, closure, column)
        for share in _WAVENUMBERS:
            highest = max(highest, _eigenvalue(column, changes, share * largest))
    return _BELOW * 2.0 / math.sqrt(highest) if highest else math.inf


def own_rows(contact: Contact, grid: Grid, terms: int) -> tuple[float, float]:
    """Return the z in m of the first and the last node row that a closed contact changes.

    `terms`: of the differences along z.
    """
    count = closed_rows(terms)
    first, last = (contact.half + n for n in (1 - count, count))
    return float(grid.coordinate("z", first)), float(grid.coordinate("z", last))


def _medium(
    physics: Physics, grid: Grid, earth: Earth, contacts: Sequence[Contact],
    averaging: Literal["effective", "point"], rows: range,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return the medium of rows, as a run has it in the plane of x and z."""
    # Averages of the cells of a single column: the earth varies with depth only.
    nodes = GridCells.of(grid).column
    nodes = replace(nodes, z=nodes.z[rows.start : rows.stop])
    names = without_losses(physics.medium)
    average = cell_average(earth, nodes, names, averaging, dtype=np.float64)
    average = {name: array.ravel() for name, array in average.items()}
    for contact in contacts:
        k = contact.row - rows.start
        if 0 <= k < len(rows):
            # The row that a contact cuts has the medium of a single side.
            constants = contact.constants(average["c33"][k])
            one_side = {"rho": np.array(contact.medium.rho), **constants}
            for name in average.keys() & one_side.keys():
                average[name][k] = one_side[name]
    # Waves along the contacts move in the plane of x and z, whatever their direction.
    pairs = {"c11": "xx", "c13": "xz", "c33": "zz"}
    stiffness = {name: normal_stiffness(average, *pair) for name, pair in pairs.items()}
    shear = shear_stiffness(average, "x", "z")
    densities = {"rho": average["rho"], "rho_x": average.get("rho_x", average["rho"])}
    return {**densities, **stiffness, "c44": shear}


def _column(
    grid: Grid, c: np.ndarray, closure: SurfaceClosure | None, rows: range,
    medium: dict[str, np.ndarray],
) -> _Window:  # fmt: skip
    """Return rows with their differences, c the interior's."""
    # Central differences of nodes at half points; of half points at nodes minus their transpose.
    count = len(rows)
    up = np.zeros((count, count))
    for m, weight in enumerate(c):
        # +c_m ahead of a half point, -c_m behind it.
        up += weight * (np.eye(count, k=m + 1) - np.eye(count, k=-m))
    down = -up.T
    surface = closure is not None and rows.start == 0
    # One-sided rows under a free surface.
    if closure is not None and surface:
        for matrix, block in ((up, closure.up), (down, closure.down)):
            matrix[: len(block)] = 0.0
            matrix[: len(block), : block.shape[1]] = block
    return _Window(rows.start, up / grid.spacing[2], down / grid.spacing[2], medium, surface)


def _changes(
    contacts: Sequence[Contact], grid: Grid, c: np.ndarray, closure: SurfaceClosure | None,
    column: _Window,
) -> list[RowSums | RowSlope]:  # fmt: skip
    """List the contacts' terms of the rows of a column, per second."""
    medium = column.medium
    at = range(column.first, column.first + len(column.up))

    def of_row(array: np.ndarray, row: int) -> float:
        # Rows that are not of the column are left out: any number will do.
        return float(array[np.clip(row - at.start, 0, len(at) - 1)])

    def by_row(array: np.ndarray):
        return lambda row: of_row(array, row)

    # What strains across the rows add to stresses; nothing is remembered within a step.
    normal = {"szz": by_row(medium["c33"]), "sxx": by_row(medium["c13"])}
    responses = {"zz": normal, "xz": {"sxz": by_row(column.shear)}}
    h = grid.spacing[2]
    closed = np.zeros((0, 0)) if closure is None else closure.down / h
    rows = ColumnRows(
        "xz", h, grid.points[2], c / h, closed, by_row(medium["rho"]), by_row(medium["rho_x"]),
        responses,
    )  # fmt: skip
    velocity, stress = row_terms(tuple(contacts), rows, 1.0)
    return [*velocity, *stress]


def _eigenvalue(column: _Window, changes: list[RowSums | RowSlope], k: float) -> float:
    """Return L in 1/s^2 of a wavenumber k in 1/m (that of the differences)."""
    m = column.medium
    level = np.eye(len(column.up))
    lightness = 1.0 / m["rho_x"]
    below = np.append(m["rho"][1:], m["rho"][-1:])
    between = 2.0 / (m["rho"] + below)
    # With d_x of half points -k, and k of nodes: ds/dt = C e, rho dv/dt = div s.
    blocks: StepMatrices = {
        ("sxx", "vx"): -k * m["c11"][:, None] * level,
        ("sxx", "vz"): m["c13"][:, None] * column.down,
        ("szz", "vx"): -k * m["c13"][:, None] * level,
        ("szz", "vz"): m["c33"][:, None] * column.down,
        ("sxz", "vx"): column.shear[:, None] * column.up,
        ("sxz", "vz"): k * column.shear[:, None] * level,
        ("vx", "sxx"): k * lightness[:, None] * level,
        ("vx", "szz"): np.zeros_like(level),
        ("vx", "sxz"): lightness[:, None] * column.down,
        ("vz", "sxx"): np.zeros_like(level),
        ("vz", "szz"): between[:, None] * column.up,
        ("vz", "sxz"): -k * between[:, None] * level,
    }
    for change in changes:
        _add(blocks, change, column.first, k)
    if column.surface:
        # szz = 0: sxx loses c13 / c33 of its value.
        for v in ("vx", "vz"):
            blocks["sxx", v][0] -= m["c13"][0] / m["c33"][0] * blocks["szz", v][0]
            blocks["szz", v][0] = 0.0
    # -L of v = A_v A_s v.
    stresses = ("sxx", "szz", "sxz")
    made = np.block([[blocks[s, v] for v in ("vx", "vz")] for s in stresses])
    felt = np.block([[blocks[v, s] for s in stresses] for v in ("vx", "vz")])
    return float(np.abs(np.linalg.eigvals(felt @ made)).max())


def _add(blocks: StepMatrices, change: RowSums | RowSlope, first: int, k: float) -> None:
    """Add a contact's terms to the matrices of rows from a first on."""
    # Sums of rows as they are; horizontal derivatives as the wavenumber makes them.
    count = len(blocks["vx", "sxx"])
    if isinstance(change, RowSums):
        entries = [(change.target, *rows, weight) for rows, weight in change.weights.items()]
    else:
        slope = k if change.up else -k
        entries = [
            (field, target, source, factor * weight * slope)
            for (field, target), factor in change.targets.items()
            for source, weight in change.weights.items()
        ]
    # Rows outside of the window stand still.
    for field, target, source, weight in entries:
        if 0 <= target - first < count and 0 <= source - first < count:
            blocks[field, change.source][target - first, source - first] += weight
