"""The error that contacts leave in the traces of an earth that varies with depth only.

A source radiates P and S waves of every wavenumber k along x into its layer (`radiation`). Stacks
of contacts (`stacks`) and the free surface reflect and transmit by their matrices, and layers carry
waves from stack to stack (`stack_network`). With the matrices of the grid instead of the exact ones
(`scattering`) the motion u(f) at a receiver, a sum over k (`layered_traces`), differs, and

    e^2 = sum over f of |u_grid - u|^2  /  sum of |u|^2

is the square of its expected error. Distances matter: waves that graze a thin seam err by up to a
hundred times as much as waves at normal incidence. Of a set of receivers a sample of depths and
distances is evaluated, of sources the shallowest and the deepest of each kind; the worst counts.

The error is that of the recorded quantity: of motion, all components together; of pressure, and in
2-D of strains, where nothing else is recorded, but of motion on the surface of a fluid; of the
velocity of SH waves. A plane wave has a single wavenumber and the same error at all distances; SH
waves in 3-D count as SV waves of their incidence. Other sources in 3-D count as their P and SV
waves, averaged over azimuths. Without receivers the top of the grid counts, as far as anything is
from a source.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from seismo.equations.rock.plane_waves import Rock
from seismo.runs.prediction.contacts.layered_traces import LayeredTraces
from seismo.runs.prediction.contacts.radiation import radiating_sources
from seismo.runs.prediction.contacts.scattering import ContactStack
from seismo.runs.prediction.contacts.sideways import turned_error
from seismo.runs.prediction.contacts.stack_network import LayerSection
from seismo.runs.prediction.contacts.stacks import (
    NEAR,
    layered_waves,
    rows_about,
    section_of,
)
from seismo.runs.prediction.contacts.trace_sampling import (
    TraceEnds,
    ends_of,
    everywhere,
    sampled_frequencies,
)
from seismo.solver.accuracy.stencil import PowerLaw
from seismo.solver.discretization import Discretization, derived_once

_SAMPLED = 200  # places in depth, at which rocks are sampled
_STEP = 0.12  # of the logarithm of the velocity, that beds stand for
_PLACES = 20  # along x and y, at which the rock of a surface is sampled
# Of contacts that lend strains (`seismo.features.contacts.contact`): measured.
LENT = PowerLaw(0.15, 3.2)
_WORST = 1.2  # measured error, in that of the sums


@dataclass(frozen=True)
class Contacts:
    """The error that contacts leave in the traces of a layered earth.

    Attributes:
        error: relative.
        surface: whether that of the free surface is in it: contacts lie among its rows.
        sets: error by the name of a set of receivers.
    """

    error: float
    surface: bool
    sets: Mapping[str, float] = field(default_factory=dict)


@derived_once
def layered_error(discretization: Discretization) -> Contacts:
    """Return the error that contacts leave in the traces of a layered earth."""
    section = section_of(discretization)
    waves = discretization.waves
    if all(rows is None for rows in section.rows) and not discretization.slips.corrected:
        return Contacts(0.0, False)
    points = section.slowest / (waves.spectra.frequency * discretization.grid.spacing[2])
    lent = any(not contact.closed for contact in discretization.slips.corrected)
    lending = lent * waves.spectra.error(LENT(points))
    ends = {group.name: ends_of(discretization, group) for group in discretization.groups}
    contact_errors = _scattered(discretization, section, ends or {"": everywhere(discretization)})
    turned = turned_error(discretization)
    errors = {name: math.hypot(error, lending, turned) for name, error in contact_errors.items()}
    joint = section.rows[0] is not None and section.stacks[0].top is not None
    return Contacts(max(errors.values()), joint, errors if ends else {})


def closed_surface_error(discretization: Discretization) -> float:
    """Return the error of the traces by the closed rows of a free surface, as if it were level.

    Sources and receivers count as deep below it as they are below the ground, in its slowest rock,
    over the rocks of a layered earth, which waves pass exactly: they come steeper from faster ones.
    It is 0 where no differences close it, where sources act among the rows that do, and for waves
    other than P, SV and SH (`stacks`).
    """
    waves = discretization.scenario.equation.layered
    if discretization.closure is None or waves is None:
        return 0.0
    if not (waves.rigid_surface or discretization.physics.fluid_meets_solid):
        return 0.0
    height = discretization.grid.spacing[2]
    top = discretization.grid.origin[2]
    reach = discretization.closure.rows * height
    sources = (source for shot in discretization.shots for source in shot.sources)
    if min(source.position[2] for source in sources) < top + reach:
        return 0.0
    rocks = _rocks_at_top(discretization)
    if not rocks:
        return 0.0
    rock = min(rocks, key=lambda rock: rock.vs or rock.vp)
    stack = ContactStack((rock, rock), (0.0,), -reach, waves.rigid_surface)
    rows = rows_about(discretization, stack, top + reach)
    steps = _steps_below(discretization, top + reach, rock)
    section = LayerSection(
        (stack, *(ContactStack(media, (0.0,)) for _, media in steps)),
        (rows, *(None for _ in steps)),
        (top, *(z for z, _ in steps)),
        (top + reach, *(z for z, _ in steps)),
        NEAR * height,
    )
    ends = {group.name: ends_of(discretization, group) for group in discretization.groups}
    return max(
        _scattered(discretization, section, ends or {"": everywhere(discretization)}).values()
    )


def _steps_below(
    discretization: Discretization, first: float, rock: Rock
) -> list[tuple[float, tuple[Rock, Rock]]]:
    """List depths in m, and the rocks beside them, of steps that stand for a layered earth.

    Below a first depth in m, where a given rock begins; none where the earth varies sideways.
    """
    earth = discretization.earth
    if not earth.layered or discretization.extremes.uniform:
        return []
    ends = np.linspace(first, discretization.grid.limits("z")[1], _SAMPLED + 1)
    samples = earth.sample(0.5 * (ends[1:] + ends[:-1]), None)
    names = discretization.physics.needs
    columns = np.broadcast_arrays(*(samples[name] for name in names))
    medium = layered_waves(discretization).medium
    rocks = [Rock(*medium(*parameters)) for parameters in np.stack(columns, axis=1).tolist()]
    speeds = np.log([each.vs or each.vp for each in (rock, *rocks)])
    changes = np.floor(np.cumsum(np.abs(np.diff(speeds))) / _STEP)
    beds = np.split(np.arange(_SAMPLED), np.flatnonzero(np.diff(changes)) + 1)
    media = [rock, *(rocks[bed[len(bed) // 2]] for bed in beds[1:])]
    depths = [float(ends[bed[0]]) for bed in beds[1:]]
    return list(zip(depths, pairwise(media), strict=True))


def _rocks_at_top(discretization: Discretization) -> list[Rock]:
    """Return the media at places in the middle of the topmost cell, but for fluids at rest."""
    grid = discretization.grid
    x, *y = (np.linspace(*grid.limits(axis), _PLACES) for axis in "xy" if axis in grid.axes)
    z = np.array([grid.coordinate("z", 0.5)])[:, None, None]
    samples = discretization.earth.sample(z, y[0][:, None] if y else None, x)
    names = discretization.physics.needs
    if discretization.physics.fluid_rests:
        samples = {name: samples[name][samples["vs"] > 0.0] for name in names}
    columns = np.broadcast_arrays(*(samples[name] for name in names))
    parameters = np.unique(np.stack([column.ravel() for column in columns], axis=1), axis=0)
    return [
        Rock(*layered_waves(discretization).medium(*rock_values))
        for rock_values in parameters.tolist()
    ]


def _scattered(
    discretization: Discretization, section: LayerSection, ends: Mapping[str, TraceEnds]
) -> dict[str, float]:
    """Return the error that contacts leave whose rows are known, by the name of a set."""
    if all(rows is None for rows in section.rows):
        return dict.fromkeys(ends, 0.0)
    depths = np.unique(np.concatenate([each.depths for each in ends.values()]))
    distances = np.unique(np.concatenate([each.distances for each in ends.values()]))
    sources = radiating_sources(discretization, max(*depths, *section.bottoms))
    frequencies, shares = sampled_frequencies(discretization, section.slowest, sources)
    if not frequencies.size:
        return dict.fromkeys(ends, 0.0)
    traces = LayeredTraces(discretization, section, depths, distances)
    squares = traces.squares(sources, frequencies, shares)
    ratios = squares[1] / np.where(squares[0] > 0.0, squares[0], np.inf)
    worst = np.sqrt(np.minimum(ratios, 2.0).max(axis=0))
    is_transverse = layered_waves(discretization).rigid_surface
    errors = {}
    for name, each in ends.items():
        chosen = np.ix_(np.isin(depths, each.depths), np.isin(distances, each.distances))
        recorded = 1 if is_transverse else each.recorded
        errors[name] = _WORST * float(worst[recorded][chosen].max())
    return errors
