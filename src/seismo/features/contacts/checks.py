"""Errors of contacts of fluid and solid: waves along them, receivers on them, thin solids.

How fast the grid lets a Scholte wave travel is the eigenvalue of a column of rows about the contact
(`seismo.features.contacts.operators`); its true velocity c is the zero of (Scholte 1947)

    (2 - c^2/vs^2)^2 - 4 a b + (rho_f / rho) (c/vs)^4 a / g,

with a, b, g = sqrt(1 - c^2/v^2) for v = vp, vs and the speed of the fluid.

The closed rows of a contact (`seismo.features.contacts.closure`) are made for half-spaces. Where
another solid begins among them, less than six cells from the fluid, they and the weights that read
beside the contact run across its kinks. With r the ratio of shear moduli and p points in the
shortest wavelength traces err besides by about

    sources in the layer, or up to 2 cells beyond:                      0.06 ln(r) (10 / p)^1.5
    sources further in the solid, or such receivers alone:              0.02 ln(r) (10 / p)^1.5

    moments, divergence and rotation in layers of under 2.25 cells:     0.35 ln(r), at any sampling

within a factor of 3 to 4 (r = 3 to 38, p = 6 to 20, layers of 1 to 5 cells). Sources in the fluid
and receivers there or deep in the solid err as the rows do
(`seismo.runs.prediction.contacts.layered_error`).

**Sources and receivers among the closed rows** of a contact: single rows there are exact on
straight lines alone (`seismo.features.contacts.closure`); what waves of all rows together err by
does not have the motion of the first rows, nor that of sources among them, whose nearest waves
decay within them. With p points in the shortest wavelength, d cells from the contact, traces err
besides by about (10 / p)^2 times

    horizontal forces               0.012 + 0.06 exp(-2 d)
    vertical forces                 0.004
    explosions in the solid         0.008 p / 10
    other moments                   0.015
    explosions in the fluid         0.003 + 0.008 exp(-2 d)
    receivers of motion, stress             0.02 exp(-2 d)
    receivers of strains                    0.05 exp(-2 d) 10 / p

within a factor of 2 to 3, where sources are less than five cells from the contact and receivers 10
to 40 cells from them (order 8, p = 5 to 10, vs = 700 to 1960 m/s under water). Of receivers the law
is that of those whose rows are not known, such as fibres: others err as their rows do
(`seismo.runs.prediction.contacts.row_errors`).
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from seismo.acquisition.sources import PointSource
from seismo.errors import SeismoError
from seismo.features.contacts.closure import closed_rows
from seismo.features.contacts.contact import (
    Contact,
    FluidContacts,
    all_contacts,
    separate_contacts,
    upright_beside,
    upright_cells,
)
from seismo.features.contacts.operators import vibrations
from seismo.model.contacts import ON_CONTACT, below
from seismo.runs.prediction.contacts.near_contacts import DIFFERENTIATED
from seismo.runs.prediction.contacts.row_errors import reading_errors
from seismo.runs.prediction.lines import Cause, Check, WarningLines, named, percent, up_to
from seismo.runs.prediction.resolution import of_spacing
from seismo.solver.discretization import Discretization
from seismo.solver.grid_layout import make_grid

_REACH_BESIDE = 5.0  # cells from a contact
_DECAY = 2.0  # per cell


class _RowLaw(NamedTuple):
    """An error anywhere beside a contact, what it has more on it, and the power of 10 / p."""

    everywhere: float
    beside: float = 0.0
    power: float = 2.0


_FORCES = _RowLaw(0.012, 0.06), _RowLaw(0.004)  # horizontal, vertical
_VOLUMES = _RowLaw(0.008, power=1.0), _RowLaw(0.003, 0.008)  # in the solid, in the fluid
_SHEARS = _RowLaw(0.015)
_MOTION = _RowLaw(0.0, 0.02)
_STRAINS = _RowLaw(0.0, 0.05, 3.0)


def source_error(discretization: Discretization) -> float:
    """Return the relative error of the traces by sources beside contacts of fluid and solid."""
    if not discretization[FluidContacts].corrected:
        return 0.0
    sources = (s for shot in discretization.shots for s in shot.sources if s.is_local)
    laws = {(source.position[2], _law(discretization, source)) for source in sources}
    return max((_error_beside(discretization, law, z) for z, law in laws), default=0.0)


def receiver_error(discretization: Discretization) -> float:
    """Return the relative error of the traces by receivers beside contacts of fluid and solid.

    Of receivers whose rows are not known
    (`seismo.runs.prediction.contacts.row_errors`).
    """
    if not discretization[FluidContacts].corrected:
        return 0.0
    known = reading_errors(discretization)
    laws = {
        (z, _STRAINS if any(name in DIFFERENTIATED for name in group.quantities) else _MOTION)
        for group in discretization.groups
        for z in np.unique(group.all_positions[:, 2]).tolist()
        if z not in known.get(group.name, {})
    }
    return max((_error_beside(discretization, law, z) for z, law in laws), default=0.0)


def _law(discretization: Discretization, source: PointSource) -> _RowLaw:
    """Return the law of a source."""
    sizes = {name: abs(size) for name, size in source.strength.items() if size}
    if source.kind == "force":
        return _FORCES[sizes.get("z", 0.0) > sizes.get("x", 0.0) + sizes.get("y", 0.0)]
    if len({*sizes.values()}) > 1 or any(len({*name}) > 1 for name in sizes):
        return _SHEARS
    contact, z_index = _nearest(discretization, source.position[2])
    return _VOLUMES[int(below(contact, z_index) == contact.solid_above)]


def _error_beside(discretization: Discretization, law: _RowLaw, z: float) -> float:
    """Return the error of a source or a receiver at z m."""
    contact, z_index = _nearest(discretization, z)
    cells = abs(z_index - contact.z_index)
    if cells >= _REACH_BESIDE:
        return 0.0
    coarseness = 10.0 / discretization.waves.points(discretization.waves.slowest)
    share = law.everywhere + law.beside * math.exp(-_DECAY * cells)
    return min(1.0, share * coarseness**law.power)


def _nearest(discretization: Discretization, z: float) -> tuple[Contact, float]:
    """Return the nearest contact to z m, and where that is in rows."""
    z_index = float(discretization.grid.index("z", z))
    contacts = discretization[FluidContacts].corrected
    return min(contacts, key=lambda c: abs(c.z_index - z_index)), z_index


CAUSES_BESIDE = (
    Cause("sources beside fluids", source_error, "contacts"),
    Cause("receivers beside fluids", receiver_error, "contacts"),
)


_WAVELENGTHS = (3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 17.0)  # in rows
_DEPTH = 3.0  # wavelengths of column on each side of a contact
_SEARCHED = 1000  # trial velocities
_FINER = 0.8  # times the spacing, in search of room for a contact
_FINER_GRIDS = 16  # grids tried in that search
# Of thin solids: see above.
_WITHIN = 0.06
_BEYOND = 0.02
# Moments of strains in layers of fewer cells.
_MOMENTS = 0.35
_FEW = 2.25
_POWER = 1.5
_REACH = 2.0  # cells beyond the layer
_LEAST = 0.02  # least error that is reported
_LEAST_CELLS = 0.1  # of a layer: nearer contacts are that of the fluid


@lru_cache(maxsize=64)
def scholte_error(contact: Contact, c: tuple[float, ...], wavelength: float) -> float:
    """Return by how much a Scholte wave is too fast on the grid, relative to its velocity.

    Args:
        contact: a closed contact.
        c: staggered coefficients (spacing 1).
        wavelength: in rows.
    """
    rows = contact.operators(np.array(c), int(np.ceil(_DEPTH * wavelength / len(c))))
    velocity = scholte_velocity(contact)
    k = 2.0 * np.pi / wavelength
    frequencies, shapes = vibrations(rows, (contact.above, contact.below), k)
    count = len(rows.node_norm)
    offset = np.append(np.arange(count) - 0.5, np.arange(count - 1)) - rows.middle
    shares = (shapes**2)[:, np.abs(offset) < wavelength].sum(axis=1)
    ratio = np.where(shares > 0.3, frequencies / k / velocity, np.inf)
    return float(ratio[np.argmin(np.abs(ratio - 1.0))] - 1.0)


def sea_bed(discretization: Discretization) -> WarningLines:
    """Name contacts that the grid carries badly, and receivers that their place makes ambiguous."""
    if not discretization.physics.fluid_meets_solid or not discretization.earth.layered:
        return
    if discretization.scenario.averaging == "point":
        return
    kept = {contact.row: contact for contact in discretization[FluidContacts].corrected}
    for contact in discretization[FluidContacts].every:
        contact = kept.get(contact.row, contact)
        z = f"{discretization.grid.coordinate('z', contact.z_index):.6g} m"
        yield from _waves(discretization, contact, contact.row in kept, z)
        yield from _receivers(discretization, contact, contact.row in kept, z)
    yield from thin_solid_lines(discretization)


def _waves(discretization: Discretization, contact: Contact, kept: bool, z: str) -> WarningLines:
    spacing = discretization.grid.spacing[2]
    wavelength = scholte_velocity(contact) / discretization.highest_frequency / spacing
    where = f"model: the contact of fluid and solid at z = {z}"
    if not kept and not upright_beside(
        discretization.earth, discretization.grid, contact, discretization.stencil.order // 2
    ):
        cells = upright_cells(discretization.stencil.order // 2)
        yield (
            f"{where} has rock beside it whose normal and shear strains are coupled, and the "
            "averages of the cell that it cuts: waves along it err by up to tens of percent of "
            "their amplitude with 10 points per wavelength; with rock that is isotropic or has an "
            f"upright axis (theta: 0) within {cells} cells of it, {cells * spacing:.4g} m, they do "
            "not"
        )
        return
    if not contact.closed:
        how = "rows of lower accuracy" if kept else "averages of the cell it cuts"
        most = "1 % of the velocity" if kept else "tens of percent of their amplitude"
        yield (
            f"{where} is too near to a surface, an absorbing layer or another contact for "
            f"one-sided differences and has {how}: waves along it err by up to {most} with 10 "
            f"points per wavelength; {_sufficient_spacing(discretization, contact)}"
        )
        return
    if wavelength < LEAST_ROWS or not _felt(discretization, contact):
        return  # `cautions` has said that the grid does not carry them
    error, way = scholte_trace_error(discretization, contact)
    wanted = discretization.scenario.grid.accuracy
    if error > wanted:
        finer = spacing * (wanted / error) ** (1.0 / 3.0)
        yield (
            f"{where}: Scholte waves travel along it at a wrong speed: after {way:.4g} m, their "
            f"longest way, a trace of them alone errs by {percent(error)} in all its spectrum (the "
            "expected trace error counts them as far as receivers feel them); for "
            f"{percent(wanted)} use a grid.spacing of about {finer:.2g} m, and check again: it "
            "depends on where between the rows the contact lies, too"
        )


def _sufficient_spacing(discretization: Discretization, contact: Contact) -> str:
    """Name the spacing with which one-sided differences fit at a contact."""
    contact_depth = discretization.grid.coordinate("z", contact.z_index)
    spacing = discretization.grid.spacing[2]
    for number in range(1, _FINER_GRIDS + 1):
        factor = _FINER**number
        try:
            grid = make_grid(of_spacing(discretization, factor))
        except SeismoError:
            break
        interfaces = all_contacts(discretization.earth, grid)
        contacts = separate_contacts(
            interfaces, grid, discretization.stencil.order // 2, discretization.closed_rows
        )
        same_contact = [
            contact
            for contact in contacts
            if abs(grid.coordinate("z", contact.z_index) - contact_depth) < 0.1 * spacing
        ]
        if same_contact and same_contact[0].closed:
            rows = same_contact[0].z_index - grid.low[2]
            return (
                f"there is room with a grid.spacing of about {factor * spacing:.2g} m, which is "
                f"{rows:.0f} rows between the top and the contact"
            )
    return "compare with a finer grid.spacing"


def _felt(discretization: Discretization, contact: Contact) -> bool:
    """Whether Scholte waves of a contact reach from any source to any receiver.

    At a distance d from the contact they fall as exp(-k d sqrt(1 - c^2/v^2)), with v the speed of
    the fluid, or vs in the solid: on both ways together not below exp(-2 pi).
    """
    c = scholte_velocity(contact)
    z = discretization.grid.coordinate("z", contact.z_index)
    fluid = contact.below if contact.solid_above else contact.above
    up, down = (contact.solid.vs, fluid.vp)[:: 1 if contact.solid_above else -1]

    def away(depths):
        d = np.array(depths) - z
        decay = np.sqrt(1.0 - np.minimum(c / np.where(d < 0.0, up, down), 1.0) ** 2)
        return (np.abs(d) * decay).min(initial=np.inf)

    acting = away([source.position[2] for shot in discretization.shots for source in shot.sources])
    reading = away(
        [depth for group in discretization.groups for depth in group.all_positions[:, 2]]
    )
    return bool(discretization.dominant_frequency / c * (acting + reading) < 1.0)


def scholte_trace_error(discretization: Discretization, contact: Contact) -> tuple[float, float]:
    """Return the relative error of a trace of Scholte waves alone, and the way in m they have gone.

    Their error is computed for a few wavelengths, and falls with the third power of longer ones.
    """
    waves = discretization.waves
    velocity = scholte_velocity(contact)
    way = min(waves.longest, velocity * waves.duration)
    rows = velocity / waves.spectra.frequency / discretization.grid.spacing[2]
    first = tuple(float(n) for n in discretization.stencil.first)
    errors = [scholte_error(contact, first, length) for length in _WAVELENGTHS]
    shorter = np.interp(rows, _WAVELENGTHS, errors)
    ratio = shorter * (_WAVELENGTHS[-1] / rows.clip(_WAVELENGTHS[-1])) ** 3
    phase = 2.0 * np.pi * waves.spectra.frequency / velocity * ratio * way
    return waves.spectra.error(phase), way


def _receivers(
    discretization: Discretization, contact: Contact, kept: bool, z: str
) -> WarningLines:
    for group in discretization.groups:
        is_on = partial(_nearer, discretization, contact, ON_CONTACT)
        if count := group.count_where(is_on):
            yield (
                f"receivers {group.name}: {named(discretization, group, is_on, count)} on the "
                f"contact of fluid and solid at z = {z}, where horizontal motion jumps: they "
                "record that of the solid, and pressure as the mean of its normal stresses; "
                "move them up or down by any little to choose a side"
            )
        reach = discretization.stencil.order // 2 + 3
        is_beside = partial(_nearer, discretization, contact, reach)
        count = group.count_where(is_beside)
        if count and not kept and any(quantity in DIFFERENTIATED for quantity in group.quantities):
            yield (
                f"receivers {group.name}: {named(discretization, group, is_beside, count)} record "
                f"divergence, rotation or strain within {reach} points of the contact of fluid and "
                f"solid at z = {z}: their differences reach over it; move them away, or "
                "record velocity"
            )


def _nearer(
    discretization: Discretization, contact: Contact, points: float, positions: np.ndarray
) -> np.ndarray:
    """Return which positions (n, 3) m lie less than so many points off a contact."""
    return np.abs(discretization.grid.index("z", positions[:, 2]) - contact.z_index) < points


class ThinSolid(NamedTuple):
    """A layer: depths in m of its contacts with the fluid and with solids, cells, and error."""

    fluid: float
    solid: float
    cells: float
    error: float


def thin_solids(discretization: Discretization) -> list[ThinSolid]:
    """List the solid layers on fluids that have fewer cells than these have closed rows."""
    if not discretization[FluidContacts].corrected:
        return []
    contact_indices = discretization.grid.index("z", discretization.contact_depths)
    rows = closed_rows(len(discretization.stencil.first))
    solids = []
    for contact in discretization[FluidContacts].corrected:
        cells = (
            (contact.z_index - contact_indices)
            if contact.solid_above
            else (contact_indices - contact.z_index)
        )
        among = cells[(cells > _LEAST_CELLS) & (cells < rows)]
        if among.size:
            thin = _thin_solid(discretization, contact, float(among.min()))
            solids += [thin] if thin.error > 0.0 else []
    return solids


def thin_solid_error(discretization: Discretization) -> float:
    """Return the relative error of the traces by the worst of these layers."""
    return max((solid.error for solid in thin_solids(discretization)), default=0.0)


def thin_solid_lines(discretization: Discretization) -> WarningLines:
    """Name layers that err by more than `_LEAST`, and the spacing that gives them the rows."""
    rows = closed_rows(len(discretization.stencil.first))
    for thin in thin_solids(discretization):
        if thin.error > _LEAST:
            yield (
                f"model: {thin.cells:.2g} cells of solid between the fluid at z = {thin.fluid:.6g} "
                f"m and the solid at z = {thin.solid:.6g} m: one-sided differences of {rows} rows "
                f"reach over it: traces err by {up_to(thin.error)}; use a grid.spacing of "
                f"{discretization.grid.spacing[2] * thin.cells / rows:.3g} m or less, which gives "
                f"it {rows} cells"
            )


def _thin_solid(discretization: Discretization, contact: Contact, cells: float) -> ThinSolid:
    """Return the layer of so many cells beside a contact."""
    grid = discretization.grid
    side = -1.0 if contact.solid_above else 1.0
    ends = contact.z_index + side * np.array([0.0, cells])
    fluid, solid = grid.coordinate("z", ends)
    beside = grid.coordinate("z", ends[1] + side * np.array([-0.01, 0.01]))
    medium = discretization.earth.sample(beside, None)
    shear = medium["rho"] * medium["vs"] ** 2
    error = _error(discretization, contact, cells, shear) if shear.min() > 0.0 else 0.0
    return ThinSolid(float(fluid), float(solid), cells, error)


def _error(
    discretization: Discretization, contact: Contact, cells: float, shear: np.ndarray
) -> float:
    """Return the error of a layer of so many cells between the shear moduli (2) in Pa."""
    side = -1.0 if contact.solid_above else 1.0

    def away(z) -> np.ndarray:
        return side * (discretization.grid.index("z", np.array(z)) - contact.z_index)

    def within(distances: np.ndarray) -> bool:
        return bool(((distances >= 0.0) & (distances <= cells + _REACH)).any())

    acting = away([source.position[2] for shot in discretization.shots for source in shot.sources])
    reading = away([z for group in discretization.groups for z in group.all_positions[:, 2]])
    sampling = (10.0 / discretization.waves.points(discretization.waves.slowest)) ** _POWER
    strained = away(_strained(discretization))
    if cells < _FEW and ((strained >= 0.0) & (strained <= cells)).any():
        factor = _MOMENTS
        sampling = 1.0
    elif within(acting):
        factor = _WITHIN
    elif (acting > 0.0).any() or within(reading):
        factor = _BEYOND
    else:
        return 0.0
    strength = abs(math.log(shear[1] / shear[0]))
    return min(1.0, factor * strength * sampling)


def _strained(discretization: Discretization) -> list[float]:
    """List the depths in m of moments, and of receivers of divergence, rotation or strain."""
    sources = [source for shot in discretization.shots for source in shot.sources]
    groups = [
        g for g in discretization.groups if any(name in DIFFERENTIATED for name in g.quantities)
    ]
    moments = [source.position[2] for source in sources if source.kind != "force"]
    return moments + [z for group in groups for z in group.all_positions[:, 2]]


LEAST_ROWS = 3.0  # in a wave that a grid carries


def scholte_velocity(contact: Contact) -> float:
    """Return the velocity of the Scholte wave of two half-spaces [m/s]."""
    fluid = contact.below if contact.solid_above else contact.above
    solid = contact.solid

    def secular(c):
        a, b, g = (np.sqrt(1.0 - (c / v) ** 2) for v in (solid.vp, solid.vs, fluid.vp))
        load = fluid.rho / solid.rho * (c / solid.vs) ** 4 * a / g
        return (2.0 - (c / solid.vs) ** 2) ** 2 - 4.0 * a * b + load

    slowest = min(solid.vs, fluid.vp)
    low = 0.05 * slowest
    high = slowest * (1.0 - 1e-12)
    for _ in range(3):  # each time a thousand times nearer
        trial = np.linspace(low, high, _SEARCHED)
        change = np.flatnonzero(np.diff(np.sign(secular(trial))))
        if not change.size:
            return slowest
        low = trial[change[0]]
        high = trial[change[0] + 1]
    return float(0.5 * (low + high))


CHECKS = (Check("positions", sea_bed),)
CAUSES = (Cause("thin solids on fluids", thin_solid_error, "contacts"), *CAUSES_BESIDE)
