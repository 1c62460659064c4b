"""Contacts of an earth that varies with depth only, and the rows of the grid about them.

Contacts whose rows interact, or interact with a free surface's, make a stack
(`seismo.runs.prediction.contacts.scattering`); its rows have the averages, the one-sided
differences and the densities that the run has there.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from seismo.equations.framework.declaration import LayeredWaves
from seismo.equations.rock.plane_waves import Rock
from seismo.grid.interpolation import harmonic_means
from seismo.grid.surface_closure import closed_operators
from seismo.model.earth import Earth
from seismo.model.effective import GridCells
from seismo.model.effective.averaging import cell_average
from seismo.model.parts import DepthProfile
from seismo.runs.prediction.contacts.scattering import ContactStack, DiscreteStack
from seismo.runs.prediction.contacts.stack_network import LayerSection
from seismo.solver.discretization import Discretization, derived_once

_MOST = 12  # contacts in a stack
NEAR = 4.5  # rows


def stacks(discretization: Discretization) -> list[tuple[float, ContactStack]]:
    """List the stacks of a layered earth, with the depth of the topmost contact of each.

    None are where the equation does not declare its waves in layers.
    """
    if discretization.scenario.equation.layered is None:
        return []
    depths = discretization.contact_depths
    spacing = discretization.grid.spacing[2]
    rows = 2 * len(discretization.stencil.first)
    reach = rows * spacing
    top = discretization.grid.origin[2]
    closure = discretization.closure if discretization.physics.fluid_meets_solid else None
    under = top + closure.rows * spacing + reach if closure else -np.inf
    groups: list[list[float]] = []
    for z in depths:
        local_reach = reach * discretization.grid.heights(discretization.grid.index("z", z))
        joins_last = groups and (z - groups[-1][-1] < local_reach or z < under)
        if joins_last and len(groups[-1]) < _MOST:
            groups[-1].append(float(z))
        else:
            groups.append([float(z)])
    return [
        (group[0], _stack(discretization, group, top if not n and group[0] < under else None))
        for n, group in enumerate(groups)
    ]


@derived_once
def section_of(discretization: Discretization) -> LayerSection:
    """Return the stacks of a layered earth, the surface first, if any."""
    depths_and_stacks = stacks(discretization)
    top = discretization.grid.origin[2]
    kept = [stack for _, stack in depths_and_stacks]
    lent_depths = [
        discretization.grid.coordinate("z", c.z_index)
        for c in discretization.slips.corrected
        if not c.closed
    ]
    tops = [z if stack.top is None else top for z, stack in depths_and_stacks]
    bottoms = [z + stack.depths[-1] for z, stack in depths_and_stacks]
    half_spacing = 0.5 * discretization.grid.spacing[2]
    rows: list[DiscreteStack | None] = [
        None
        if any(
            z - half_spacing < z_contact < z + stack.depths[-1] + half_spacing
            for z_contact in lent_depths
        )
        else rows_about(discretization, stack, z)
        for z, stack in depths_and_stacks
    ]
    if kept and discretization.scenario.boundaries.top == "free_surface" and kept[0].top is None:
        medium = kept[0].media[0]
        rigid = layered_waves(discretization).rigid_surface
        kept.insert(0, ContactStack((medium, medium), (0.0,), 0.0, rigid))
        tops.insert(0, top)
        bottoms.insert(0, top)
        rows.insert(0, None)
    return LayerSection(
        tuple(kept),
        tuple(rows),
        tuple(tops),
        tuple(bottoms),
        NEAR * discretization.grid.spacing[2],
    )


def _stack(discretization: Discretization, depths: list[float], top: float | None) -> ContactStack:
    ends = [depths[0] if top is None else top, *depths, depths[-1]]
    little = 0.05 * discretization.grid.spacing[2]
    depths_within = [0.5 * (a + b) for a, b in pairwise(ends)]
    depths_within[-1] = depths[-1] + little
    if top is None:
        depths_within[0] = depths[0] - little
    samples = discretization.earth.sample(np.array(depths_within), None)
    parameters = zip(
        *(samples[name].tolist() for name in discretization.physics.needs), strict=True
    )
    media = tuple(
        Rock(*layered_waves(discretization).medium(*parameter)) for parameter in parameters
    )
    relative = tuple(z - depths[0] for z in depths)
    return ContactStack(media, relative, None if top is None else top - depths[0])


def in_layers(discretization: Discretization) -> bool:
    """Whether the earth varies with depth only, and its waves are evaluated.

    It is not where the equation does not declare that, nor for SH waves beside a fluid.
    """
    needs = discretization.physics.needs
    stopped = discretization.extremes.fluid and "vs" in needs and "vp" not in needs
    return (
        discretization.earth.layered
        and discretization.scenario.equation.layered is not None
        and not stopped
    )


def layered_waves(discretization: Discretization) -> LayeredWaves:
    """Return the P-SV waves equivalent to an equation's, where it has `stacks`."""
    return discretization.scenario.equation.waves_in_layers


def rows_about(discretization: Discretization, stack: ContactStack, depth: float) -> DiscreteStack:
    """Return the rows about a stack.

    Args:
        discretization: the run.
        stack: the media.
        depth: of its topmost contact in m.
    """
    grid = discretization.grid
    terms = len(discretization.stencil.first)
    reach = 5 * terms // 2  # rows of a single medium within the window and beyond it
    closed: list[Any] = [c for c in discretization.slips.corrected if c.closed]
    contact_index = float(grid.index("z", np.array([depth]))[0])
    spacing = grid.edge("z", contact_index)  # rows that grow are taken to be as tall as there
    last = int(np.ceil(contact_index + stack.depths[-1] / spacing)) + reach + 4
    first = 0 if stack.top is not None else int(np.floor(contact_index)) - reach - 3
    inside = [
        c
        for c in closed
        if contact_index - 0.5 < c.z_index < contact_index + stack.depths[-1] / spacing + 0.5
    ]
    for contact in inside:
        wide = len(contact.operators(discretization.stencil.first).node_norm) // 2
        last = max(last, contact.half + wide + reach - terms)
        if stack.top is None:
            first = min(first, contact.half - wide - reach + terms)
    count = last - first + 1
    up, down = _differences(discretization, first, count, inside, stack.top is not None)
    c11, c13, c33, c44, rho_x, rho_z = _medium(discretization, stack, depth, first, count)
    rows = DiscreteStack(contact_index - first, c11, c13, c33, c44, rho_x, rho_z, up, down, spacing)
    return _adjusted(rows, inside, first, discretization)


def _differences(
    discretization: Discretization, first: int, count: int, contacts: list[Any], free: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return G and D of `count` node rows (spacing 1), one-sided where the run's are."""
    c = discretization.stencil.first
    up, down = closed_operators(c, count - 1, count, discretization.closure if free else None)
    for contact in contacts:
        operators = contact.operators(c)
        at = max(operators.first - first, 0)
        skipped = max(first - operators.first, 0)
        changed = operators.q != operators.plain
        for matrix, differs, norm, weights in (
            (up, changed, operators.half_norm, operators.up()),
            (down, changed.T, operators.node_norm, operators.down()),
        ):
            rows = (differs.any(axis=1) | (norm != 1.0))[skipped:]
            kept = weights[skipped:, skipped:]
            entries = np.ix_(at + np.flatnonzero(rows), at + np.arange(kept.shape[1]))
            matrix[entries] = kept[rows]
    return up, down


def _medium(
    discretization: Discretization, stack: ContactStack, depth: float, first: int, count: int
) -> tuple[np.ndarray, ...]:
    """Return c11, c13, c33, c44, rho_x and rho_z as `DiscreteStack` has them, of averages."""
    grid = discretization.grid
    physics = discretization.physics
    waves = layered_waves(discretization)
    z = grid.coordinate("z", np.arange(first, first + count))
    height = grid.spacing[2]
    if grid.stretching is not None:
        contact_index = float(grid.index("z", depth))
        height = grid.edge("z", contact_index)
        z = depth + (np.arange(first, first + count) - contact_index) * height
    tops = depth + np.array([-1e6 * height, *stack.depths])
    flat = np.zeros(len(tops))
    parameters = zip(*(waves.parameters(m.vp, m.vs, m.rho) for m in stack.media), strict=True)
    named = {name: np.array(v) for name, v in zip(physics.needs, parameters, strict=True)}
    earth = Earth((DepthProfile(tops, named, dict.fromkeys(named, flat)),), physics.needs)
    spacing = {"x": grid.spacing[0], "z": height}

    def average(names: tuple[str, ...], at: np.ndarray) -> list[np.ndarray]:
        averages = cell_average(
            earth,
            GridCells(at, None, np.zeros(1), spacing),
            names,
            discretization.scenario.averaging,
            dtype=np.float64,
        )
        return [averages[name].reshape(-1) for name in names]

    c11, c13, c33, c44, rho, rho_z = waves.moduli(*average(waves.averages, z))
    between = harmonic_means(c44)
    mean = 0.5 * (rho_z[1:] + rho_z[:-1])
    # Densities of fluids alone differ by direction.
    if not physics.fluid_force or all(medium.vs for medium in stack.media):
        return c11, c13, c33, between, rho, mean
    along = average(("rho_x",), z)[0]
    across = average(("rho_z",), z + 0.5 * height)[0]
    wet = np.isfinite(along[1:] + along[:-1] + across[:-1])
    return (
        c11, c13, c33, between, np.where(np.isfinite(along), along, rho),
        np.where(wet, across[:-1], mean),
    )  # fmt: skip


def _adjusted(
    rows: DiscreteStack, contacts: list[Any], first: int, discretization: Discretization
) -> DiscreteStack:
    """Return rows that contacts of fluid and solid cut their own medium, and these their mass."""
    c11, c13, c33, rho_x = (a.copy() for a in (rows.c11, rows.c13, rows.c33, rows.rho_x))
    c44 = rows.c44.copy()
    rho_z = rows.rho_z.copy()
    for contact in contacts:
        contact_cell = contact.medium
        at = contact.row - first
        half = contact.half - first
        c11[at] = c33[at] = contact_cell.stiffness
        c13[at] = contact_cell.thin_stretch * contact_cell.stiffness
        rho_x[at] = contact_cell.rho
        sides = contact.above, contact.below
        for side, row in zip(sides, (half - 1, half + 1), strict=True):
            c44[row] = side.shear
            rho_z[row] = side.rho
        operators = contact.operators(discretization.stencil.first)
        c44[half] = 0.0
        shares = operators.shares
        rho_z[half] = sum(n * m.rho for n, m in zip(shares, sides, strict=True)) / sum(shares)
    return replace(rows, c11=c11, c13=c13, c33=c33, c44=c44, rho_x=rho_x, rho_z=rho_z)
