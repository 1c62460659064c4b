"""The error that contacts leave in the traces of an earth that varies with depth only.

A source radiates P and S waves of every wavenumber k along x into its layer. Stacks of contacts
(`seismo.runs.assessment.stacks`) and the free surface send back and let through what their matrices
say, and layers carry it from one to the next. With the matrices of the grid instead of the exact
ones (`seismo.runs.assessment.scattering`) the motion u(k, f) at the receivers' depth is another
one: by Parseval's theorem the traces of a line of receivers differ, all together, by

    e^2 = sum over f and k of |u_grid - u|^2  /  sum of |u|^2

which is the expected error. Frequencies have an imaginary part 1 / t: waves count by exp(-time / t)
with t the longest travel time, so that waves guided along a layer, or along a contact, have
travelled as far as those of the run when they count. Where that takes more wavenumbers than are
worth their time t is shorter, and what grows with t is taken on to the time of the run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from seismo.runs.assessment.scattering import ContactStack, DiscreteStack, exact, on_grid, slopes
from seismo.runs.assessment.stack_network import LayerSection, RadiatingSource, StackNetwork
from seismo.runs.assessment.stacks import layered_waves, rows_about, stacks
from seismo.runs.assessment.turned_rock import turned_error
from seismo.solver.accuracy import PowerLaw
from seismo.solver.discretization import Discretization

_QUANTILES = (0.0, 0.25, 0.5, 0.7, 0.85, 0.95, 0.99)  # of the energy of the traces, by frequency
_FASTEST = 1.25  # largest wavenumber, in those of the slowest wave
_ACROSS = 2.0  # wavenumbers in the width of a resonance
_FEWEST = 32  # wavenumbers
_MOST = 80
_AT_ONCE = 2e6  # numbers of the equations of all waves that are looked at together
_NEAR = 4.5  # rows
_LEAST_POINTS = 2.8  # in the slowest wave: shorter ones are lost anyhow
# Of contacts that lend strains (`seismo.equations.fluid_solid_contact`): measured.
LENT = PowerLaw(0.15, 3.2)
_WORST = 1.4  # error of the worst receiver of a line, in those of the whole line
_ISOTROPIC = {"pressure", "explosion", "volume_rate"}


def section_of(setup: Discretization) -> LayerSection:
    """Return the stacks of a layered earth, the surface first where there is one."""
    depths_and_stacks = stacks(setup)
    top = setup.grid.origin[2]
    kept = [stack for _, stack in depths_and_stacks]
    lent_depths = [setup.grid.coordinate("z", c.z_index) for c in setup.contacts if not c.closed]
    tops = [z if stack.top is None else top for z, stack in depths_and_stacks]
    bottoms = [z + stack.depths[-1] for z, stack in depths_and_stacks]
    half_spacing = 0.5 * setup.grid.spacing[2]
    rows: list[DiscreteStack | None] = [
        None
        if any(
            z - half_spacing < z_contact < z + stack.depths[-1] + half_spacing
            for z_contact in lent_depths
        )
        else rows_about(setup, stack, z)
        for z, stack in depths_and_stacks
    ]
    if kept and setup.scenario.boundaries.top == "free_surface" and kept[0].top is None:
        medium = kept[0].media[0]
        rigid = layered_waves(setup).rigid_surface
        kept.insert(0, ContactStack((medium, medium), (0.0,), 0.0, rigid))
        tops.insert(0, top)
        bottoms.insert(0, top)
        rows.insert(0, None)
    return LayerSection(
        tuple(kept), tuple(rows), tuple(tops), tuple(bottoms), _NEAR * setup.grid.spacing[2]
    )


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


def layered_error(setup: Discretization) -> Contacts:
    """Return the error that contacts leave in the traces of a layered earth."""
    section = section_of(setup)
    waves = setup.waves
    if all(rows is None for rows in section.rows) and not setup.contacts:
        return Contacts(0.0, False)
    slowest = min(rock.vs or rock.vp for rock in section.layers)
    points = slowest / (waves.spectra.frequency * setup.grid.spacing[2])
    lent = any(not contact.closed for contact in setup.contacts)
    lending = lent * waves.spectra.error(LENT(points))
    depths = {group.name: _some(group.all_positions[:, 2]) for group in setup.groups}
    contact_errors = _scattered(setup, section, depths)
    turned = turned_error(setup)
    errors = {z: math.hypot(error, lending, turned) for z, error in contact_errors.items()}
    joint = section.rows[0] is not None and section.stacks[0].top is not None
    sets = {name: max(errors[z] for z in set_depths) for name, set_depths in depths.items()}
    return Contacts(max(errors.values()), joint, sets)


def _some(depths: np.ndarray) -> list[float]:
    """Return the least, the middle and the greatest of some depths."""
    distinct = np.unique(depths)
    return sorted(set(distinct[[0, len(distinct) // 2, -1]].tolist()))


def _scattered(
    setup: Discretization, section: LayerSection, sets: Mapping[str, list[float]]
) -> dict[float, float]:
    """Return the error that contacts leave whose rows are known, by the depth of receivers in m."""
    waves = setup.waves
    top = setup.grid.origin[2]
    depths = np.unique([z for set_depths in sets.values() for z in set_depths] or [top])
    none = dict.fromkeys(depths.tolist(), 0.0)
    if all(rows is None for rows in section.rows):
        return none
    acting = [s for shot in setup.shots for s in shot.sources]
    ends = [min(acting, key=lambda s: s.position[2]), max(acting, key=lambda s: s.position[2])]
    sources = list({RadiatingSource(s.position[2], s.kind in _ISOTROPIC): None for s in ends})
    slowest = min(rock.vs or rock.vp for rock in section.layers)
    time = min(waves.longest / slowest, waves.duration)
    frequencies, shares = _sampled(setup, slowest)
    if not frequencies.size:
        return none
    # So many frequencies at a time as fit the caches with the equations of all their waves.
    rows = max(len(rows.rho_x) for rows in section.rows if rows is not None)
    count = math.ceil(frequencies.size * _MOST * (2 * rows) ** 2 / _AT_ONCE)
    spreads = [
        _spread(setup, section, sources, depths, some, time)
        for some in np.array_split(frequencies, min(count, frequencies.size))
    ]
    squares, energies = (np.concatenate(each, axis=2) for each in zip(*spreads, strict=True))
    energies *= shares
    worst = np.sqrt(((squares * energies).sum(axis=2) / energies.sum(axis=2)).max(axis=0))
    return dict(zip(depths.tolist(), (_WORST * worst).tolist(), strict=True))


def _sampled(setup: Discretization, slowest: float) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies in Hz and their shares of the energy, as far as the grid carries them."""
    spectra = setup.waves.spectra
    below = np.cumsum(spectra.energy.mean(axis=0))
    middle = [0.5 * (a + b) for a, b in pairwise(_QUANTILES)]
    frequencies = np.interp(middle, below, spectra.frequency)
    carried = frequencies * _LEAST_POINTS * setup.grid.spacing[2] < slowest
    return frequencies[carried], np.diff(_QUANTILES)[carried]


def _spread(
    setup: Discretization, section: LayerSection, sources: list[RadiatingSource],
    depths: np.ndarray, frequencies: np.ndarray, time: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return squared errors and energies (source, depth, frequency) after a time in s."""
    wanted = 1.0 / (2.0 * math.pi * frequencies * time)
    least = _FASTEST * _ACROSS / _MOST
    damping = np.minimum(0.2, np.maximum(wanted, least))
    error, energy = _squares(setup, section, sources, depths, frequencies, damping)
    late = damping > wanted
    if late.any():
        # What waves gather on their way grows with 1 / damping, the rest does not.
        less, _ = _squares(setup, section, sources, depths, frequencies[late], 2.0 * damping[late])
        gathered = np.maximum(error[..., late] - less, 0.0) / 0.75
        error[..., late] += gathered * ((damping / wanted)[late] ** 2 - 1.0)
    return np.minimum(error, 2.0), energy


def _squares(
    setup: Discretization, section: LayerSection, sources: list[RadiatingSource],
    depths: np.ndarray, frequencies: np.ndarray, damping: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return squared errors and energies (source, depth, frequency), in those of sources alone."""
    omega = 2.0 * math.pi * frequencies
    largest = _FASTEST * omega / min(rock.vs or rock.vp for rock in section.layers)
    counts = np.clip(np.ceil(_FASTEST * _ACROSS / damping), _FEWEST, _MOST).astype(int)
    k = np.concatenate(
        [(np.arange(n) + 0.5) / n * end for n, end in zip(counts, largest, strict=True)]
    )
    s = np.repeat(omega * (1j + damping), counts)
    starts = np.cumsum(counts) - counts
    first = np.asarray(setup.stencil.first)
    heights = [rows.spacing if rows else setup.grid.spacing[2] for rows in section.rows]
    stacked = zip(section.stacks, heights, strict=True)
    true = [exact(stack, s, k, 0.5 * height) for stack, height in stacked]
    approximate = list(true)
    for n, (stack, rows) in enumerate(zip(section.stacks, section.rows, strict=True)):
        if rows is not None:
            grid = on_grid(stack, rows, first, s, k)
            approximate[n] = np.where(np.isfinite(grid), grid, true[n])
    network = StackNetwork(section, s, k, [slopes(rock, s, k) for rock in section.layers])
    errors = []
    energies = []
    for source in sources:
        moved, exactly = (network.motion(each, source, depths) for each in (approximate, true))
        energy, error = (
            np.add.reduceat((np.abs(motion) ** 2).sum(axis=2), starts, axis=1)
            for motion in (exactly, moved - exactly)
        )
        errors.append(error / energy)
        energies.append(energy / np.add.reduceat(network.radiated(source)[1], starts))
    return np.array(errors), np.array(energies)
