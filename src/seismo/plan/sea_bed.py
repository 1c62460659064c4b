"""What `check` says of contacts of fluid and solid: waves along them, and receivers on them.

How fast the grid lets a Scholte wave travel is the eigenvalue of a column of rows about the contact
(`seismo.contact_operators`); its true velocity c is the zero of (Scholte 1947)

    (2 - c^2/vs^2)^2 - 4 a b + (rho_f / rho) (c/vs)^4 a / g,

with a, b, g = sqrt(1 - c^2/v^2) for v = vp, vs and the speed of the fluid.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from seismo.contact import Contact, all_contacts
from seismo.contact_operators import contact_operators, vibrations
from seismo.contact_reading import ON_CONTACT
from seismo.plan.resolution import highest_frequency
from seismo.plan.timing import Lines
from seismo.setup import Setup

MOST_DELAY = 0.003  # of the velocity: a trace errs by 2 pi of it per wavelength of path
DIFFERENTIATED = ("divergence", "rotation")
_DEPTH = 3.0  # wavelengths of column on each side of a contact
_SEARCHED = 1000  # trial velocities


def scholte_velocity(contact: Contact) -> float:
    """Return the velocity of the Scholte wave of two half-spaces [m/s]."""
    fluid = contact.below if contact.solid_above else contact.above
    solid = contact.solid

    def secular(c):
        a, b, g = (np.sqrt(1.0 - (c / v) ** 2) for v in (solid.vp, solid.vs, fluid.vp))
        load = fluid.rho / solid.rho * (c / solid.vs) ** 4 * a / g
        return (2.0 - (c / solid.vs) ** 2) ** 2 - 4.0 * a * b + load

    slowest = min(solid.vs, fluid.vp)
    low, high = 0.05 * slowest, slowest * (1.0 - 1e-12)
    for _ in range(3):  # each time a thousand times nearer
        trial = np.linspace(low, high, _SEARCHED)
        change = np.flatnonzero(np.diff(np.sign(secular(trial))))
        if not change.size:
            return slowest
        low, high = trial[change[0]], trial[change[0] + 1]
    return float(0.5 * (low + high))


@lru_cache(maxsize=64)
def scholte_error(contact: Contact, c: tuple[float, ...], wavelength: float) -> float:
    """Return by how much a Scholte wave is too fast on the grid, relative to its velocity.

    Args:
        contact: a closed one.
        c: staggered coefficients (spacing 1).
        wavelength: in rows.
    """
    rows = contact_operators(contact, np.array(c), int(np.ceil(_DEPTH * wavelength / len(c))))
    velocity, k = scholte_velocity(contact), 2.0 * np.pi / wavelength
    frequencies, shapes = vibrations(rows, (contact.above, contact.below), k)
    count = len(rows.node_norm)
    offset = np.append(np.arange(count) - 0.5, np.arange(count - 1)) - rows.middle
    shares = (shapes**2)[:, np.abs(offset) < wavelength].sum(axis=1)
    ratio = np.where(shares > 0.3, frequencies / k / velocity, np.inf)
    return float(ratio[np.argmin(np.abs(ratio - 1.0))] - 1.0)


def sea_bed(setup: Setup) -> Lines:
    """Name contacts that the grid carries badly, and receivers that their place makes ambiguous."""
    if not setup.physics.slips or not setup.earth.layered or setup.scenario.averaging == "point":
        return
    kept = {contact.row: contact for contact in setup.contacts}
    for contact in all_contacts(setup.earth, setup.grid):
        contact = kept.get(contact.row, contact)
        z = f"{setup.grid.coordinate('z', contact.place):.6g} m"
        yield from _waves(setup, contact, contact.row in kept, z)
        yield from _receivers(setup, contact, z)


def _waves(setup: Setup, contact: Contact, kept: bool, z: str) -> Lines:
    frequency, spacing = highest_frequency(setup), setup.grid.spacing[2]
    wavelength = scholte_velocity(contact) / frequency / spacing
    where = f"model: the contact of fluid and solid at z = {z}"
    if not contact.closed:
        how = "rows of lower accuracy" if kept else "averages of the cell it cuts"
        most = "1 % of the velocity" if kept else "tens of percent of their amplitude"
        yield (
            f"{where} is too near to a surface, an absorbing layer or another contact for "
            f"one-sided differences and has {how}: waves along it err by up to {most} with 10 "
            "points per wavelength; compare with a finer grid.spacing"
        )
        return
    if wavelength < 3.0:
        return  # `cautions` has said that the grid does not carry them
    error = scholte_error(contact, tuple(float(n) for n in setup.stencil.first), wavelength)
    if abs(error) > MOST_DELAY:
        yield (
            f"{where}: Scholte waves of {frequency:.4g} Hz, {wavelength:.3g} points long, travel "
            f"{100.0 * abs(error):.2g} % too {'fast' if error > 0 else 'slowly'} along it: "
            f"their traces err by {200.0 * np.pi * abs(error):.2g} % with every wavelength of way; "
            f"use a grid.spacing of {spacing * wavelength / 12.0:.3g} m for 12 points"
        )


def _receivers(setup: Setup, contact: Contact, z: str) -> Lines:
    for group in setup.groups:
        away = np.abs(setup.grid.index("z", group.positions[:, 2]) - contact.place)
        on = int((away <= ON_CONTACT).sum())
        if on:
            yield (
                f"receivers {group.name}: {on} on the contact of fluid and solid at z = {z}, where "
                "horizontal motion jumps: they record that of the solid; move them up or down by "
                "any little to choose a side"
            )
        reach = setup.stencil.order // 2 + 3
        near = int((away < reach).sum())
        if near and any(quantity in DIFFERENTIATED for quantity in group.quantities):
            yield (
                f"receivers {group.name}: {near} record divergence or rotation within {reach} "
                f"points of the contact of fluid and solid at z = {z}: their differences reach "
                "over it; move them away, or record velocity"
            )
