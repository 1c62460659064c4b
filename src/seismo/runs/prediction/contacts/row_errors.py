"""The errors of receivers beside contacts of layers, by the rows of the grid that they read.

A wave that enters a stack of contacts has fields in rows of the grid, and exactly (`scattering`).
What the weights of a receiver (`seismo.solver.interpolation.channels`) make of the one, less the
other at its place, is the error of its record of this wave (`row_readings`); a trace is the sum
over all waves of a source (`layered_traces`). No constant is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.equations.framework.table import Term
from seismo.runs.prediction.contacts.layered_traces import LayeredTraces, RecordDepth
from seismo.runs.prediction.contacts.radiation import radiating_sources
from seismo.runs.prediction.contacts.row_readings import HALF_ROWS, KNOWN, RowReading
from seismo.runs.prediction.contacts.scattering import DiscreteStack
from seismo.runs.prediction.contacts.stack_network import LayerSection
from seismo.runs.prediction.contacts.stacks import in_layers, layered_waves, section_of
from seismo.runs.prediction.contacts.trace_sampling import ends_of, sampled_frequencies
from seismo.solver.discretization import Discretization, derived_once
from seismo.solver.interpolation.channels import channel_points
from seismo.solver.interpolation.layer_contacts import MARGIN

_ALIKE = 0.02  # relative difference of moduli of the same rock


@derived_once
def reading_errors(discretization: Discretization) -> dict[str, dict[float, float]]:
    """Return the errors of receivers beside contacts by the rows that they read.

    By the name of a set and by depth in m, those of the waves that contacts send included. Fibres
    have none, nor have depths whose rows are not those of a stack, or that all sources are nearer
    to its contacts than.
    """
    if discretization.interpolation.layers is None or not in_layers(discretization):
        return {}
    section = section_of(discretization)
    groups = [group for group in discretization.groups if group.fibre is None]
    ends = {group.name: ends_of(discretization, group) for group in groups}
    depths = {group.name: _record_depths(discretization, section, group) for group in groups}
    every = [depth for of_set in depths.values() for depth in of_set]
    if not every:
        return {}
    distances = np.unique(np.concatenate([each.distances for each in ends.values()]))
    z = np.array([depth.z for depth in every])
    sources = radiating_sources(discretization, max(*z, *section.bottoms))
    frequencies, shares = sampled_frequencies(discretization, section.slowest, sources)
    if not frequencies.size:
        return {}
    traces = LayeredTraces(discretization, section, z, distances)
    squares = traces.read_squares(sources, frequencies, shares, every)
    ratios = squares[1] / np.where(squares[0] > 0.0, squares[0], np.inf)
    worst = np.sqrt(ratios.max(axis=0))
    errors: dict[str, dict[float, float]] = {}
    start = 0
    for name, of_set in depths.items():
        chosen = np.isin(distances, ends[name].distances)
        rows = slice(start, start + len(of_set))
        largest = worst[rows][:, chosen].max(axis=1, initial=0.0)
        # Where every source is between a depth and its contact, no wave was computed.
        reached = squares[0, :, rows][:, :, chosen].max(axis=(0, 2), initial=0.0) > 0.0
        of_depths: dict[float, float] = {}
        for depth, error, is_reached in zip(of_set, largest, reached, strict=True):
            if is_reached:
                of_depths[depth.z] = max(float(error), of_depths.get(depth.z, 0.0))
        errors[name] = of_depths
        start += len(of_set)
    return errors


def _record_depths(
    discretization: Discretization, section: LayerSection, group: ReceiverGroup
) -> list[RecordDepth]:
    """List the depths of a set of receivers beside stacks whose rows are known."""
    physics = discretization.physics
    bases = dict.fromkeys((b, c) for _, b, c in group.components(physics).values())
    components = [physics.observables[base][component] for base, component in bases]
    depths = []
    for z in np.unique(group.all_positions[:, 2]).tolist():
        for n, (stack, rows) in enumerate(zip(section.stacks, section.rows, strict=True)):
            top = section.tops[n] - section.clearance
            if rows is None or not top <= z <= section.bottoms[n] + section.clearance:
                continue
            contact = section.tops[n] - (stack.top or 0.0)
            first = round(float(discretization.grid.index("z", contact)) - rows.contact_index)
            readings = _row_readings(discretization, rows, first, z, components)
            if readings and _of_rock(discretization, rows, readings, z):
                depths.append(RecordDepth(z, n, tuple(readings)))
    return depths


def _row_readings(
    discretization: Discretization, rows: DiscreteStack, first: int, z: float,
    components: Sequence[tuple[Term, ...]],
) -> list[RowReading] | None:  # fmt: skip
    """Return the components that a receiver records at z m; None where other rows are read.

    Args:
        discretization: of the run.
        rows: of the stack beside it.
        first: row of the grid that these begin with.
        z: depth in m.
        components: terms of each component.
    """
    grid = discretization.grid
    transverse = layered_waves(discretization).rigid_surface
    middle = grid.points[0] // 2
    y = grid.coordinate("y", grid.points[1] // 2) if "y" in grid.axes else 0.0
    position = (float(grid.coordinate("x", middle)), float(y), z)
    readings = []
    for terms in components:
        points_by_field = channel_points(discretization.interpolation, terms, position)
        # In space a wave in the plane of x and z has no motion along y.
        points_by_field = {
            name: points
            for name, points in points_by_field.items()
            if transverse or name not in ("vy", "sxy", "syz")
        }
        for name, points in points_by_field.items():
            count = len(rows.rho_z if name in HALF_ROWS else rows.rho_x)
            inside = (points.z >= first) & (points.z < first + count)
            if name not in KNOWN or not inside.all():
                return None
        reading = RowReading(terms, points_by_field, first, middle, grid.spacing[0], transverse)
        readings.append(reading)
    return readings


def _of_rock(
    discretization: Discretization, rows: DiscreteStack, readings: list[RowReading], z: float
) -> bool:
    """Whether weights at z m are made with the rock that a stack has in the rows they read."""
    layers = discretization.interpolation.layers
    if layers is None or layered_waves(discretization).rigid_surface:
        return layers is not None
    known = layers.rows(float(discretization.grid.index("z", z)))
    on_contacts = [contact.row for contact in discretization.slips.corrected]
    read = {row for reading in readings for row in reading.node_rows}
    chosen = np.array(sorted(read.difference(on_contacts)), dtype=int)
    return all(
        bool(np.allclose(modulus[chosen - readings[0].first], known[name][chosen + MARGIN], _ALIKE))
        for name, modulus in (("c11", rows.c11), ("c13", rows.c13), ("c33", rows.c33))
    )
