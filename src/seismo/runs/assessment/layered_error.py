"""The error that contacts leave in the traces of an earth that varies with depth only.

A source radiates P and S waves of every wavenumber k along x into its layer. Stacks of contacts
(`seismo.runs.assessment.stacks`) and the free surface send back and let through what their matrices
say, and layers carry it from one to the next. With the matrices of the grid instead of the exact
ones (`seismo.runs.assessment.scattering`) the motion u(k, f) at the receivers' depth is another
one, and so is what arrives at a horizontal distance r,

    u_x = sum over k of U sin(k r),   u_z = sum over k of W cos(k r)

(2-D; in 3-D, far from the source, with k r - pi / 4 and the root of k for a factor). By Parseval's
theorem a trace differs by

    e^2 = sum over f of |u_grid - u|^2  /  sum over f of |u|^2

which is the expected error. It grows with r: of waves that graze a thin seam several times as much
is lost as of those that cross it. Frequencies have an imaginary part 1 / t: waves count by
exp(-time / t) with t the longest travel time. Where that takes more wavenumbers than are worth
their time t is shorter; the sum repeats itself after 2 pi / dk, and what grows with r is taken on
from a part of that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup, paths_of
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
_MOST = 240
_VALID = 1.0 / 3.0  # of the distance after which sums over wavenumbers repeat
_OFFSETS = (0.0, 0.25, 0.5, 0.75, 1.0)  # quantiles of a set of receivers
_MOST_ENDS = 200  # sources, and receivers, between which offsets are sought
_AT_ONCE = 2e6  # numbers of the equations of all waves that are looked at together
_NEAR = 4.5  # rows
_LEAST_POINTS = 2.8  # in the slowest wave: shorter ones are lost anyhow
# Of contacts that lend strains (`seismo.equations.fluid_solid_contact`): measured.
LENT = PowerLaw(0.15, 3.2)
_WORST = 1.3  # measured error, of all frequencies and late waves, in those of the sums
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
    ends = {group.name: _ends(setup, group) for group in setup.groups}
    # Maps have no traces: what would be recorded on top, as far away as anything is.
    everywhere = {"": (np.array(setup.grid.origin[2:3]), np.array([waves.longest]))}
    contact_errors = _scattered(setup, section, ends or everywhere)
    turned = turned_error(setup)
    errors = {name: math.hypot(error, lending, turned) for name, error in contact_errors.items()}
    joint = section.rows[0] is not None and section.stacks[0].top is not None
    return Contacts(max(errors.values()), joint, errors if ends else {})


def _ends(setup: Discretization, group: ReceiverGroup) -> tuple[np.ndarray, np.ndarray]:
    """Return some depths in m of receivers, and some horizontal distances in m from sources."""
    depths = np.unique(group.all_positions[:, 2])
    sources = np.array([source.position for shot in setup.shots for source in shot.sources])
    distances = [
        np.linalg.norm(acting[:, None, :2] - reading[None, :, :2], axis=-1).ravel()
        for acting, reading in (
            (ends[:: -(-len(ends) // _MOST_ENDS)] for ends in pair)
            for pair in paths_of(sources, [group])
        )
    ]
    every = np.concatenate(distances or [np.zeros(1)])
    offsets = np.quantile(every, _OFFSETS, method="closest_observation")
    return depths[[0, len(depths) // 2, -1]], offsets


def _scattered(
    setup: Discretization, section: LayerSection, ends: Mapping[str, tuple[np.ndarray, np.ndarray]]
) -> dict[str, float]:
    """Return the error that contacts leave whose rows are known, by the name of a set.

    Args:
        setup: the run.
        section: its stacks.
        ends: depths and distances in m by the name of a set.
    """
    waves = setup.waves
    none = dict.fromkeys(ends, 0.0)
    if all(rows is None for rows in section.rows):
        return none
    depths, offsets = (np.unique(np.concatenate(some)) for some in zip(*ends.values(), strict=True))
    acting = [s for shot in setup.shots for s in shot.sources]
    outer = [min(acting, key=lambda s: s.position[2]), max(acting, key=lambda s: s.position[2])]
    sources = list({RadiatingSource(s.position[2], s.kind in _ISOTROPIC): None for s in outer})
    slowest = min(rock.vs or rock.vp for rock in section.layers)
    # Waves that a thin seam guides, and sheds on their way, are its own.
    within = min(rock.vs or rock.vp for stack in section.stacks for rock in stack.media)
    time = min(waves.longest / within, waves.duration)
    frequencies, shares = _sampled(setup, slowest)
    if not frequencies.size:
        return none
    # So many frequencies at a time as fit the caches with the equations of all their waves.
    rows = max(len(rows.rho_x) for rows in section.rows if rows is not None)
    count = math.ceil(frequencies.size * _MOST * (2 * rows) ** 2 / _AT_ONCE)
    spreads = [
        _squares(setup, section, sources, (depths, offsets), some, time)
        for some in np.array_split(frequencies, min(count, frequencies.size))
    ]
    squares, energies = (np.concatenate(each, axis=-1) for each in zip(*spreads, strict=True))
    energies *= shares
    worst = np.sqrt(((squares * energies).sum(axis=-1) / energies.sum(axis=-1)).max(axis=0))
    return {
        name: _WORST * float(worst[np.ix_(np.isin(depths, z), np.isin(offsets, r))].max())
        for name, (z, r) in ends.items()
    }


def _sampled(setup: Discretization, slowest: float) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies in Hz and their shares of the energy, as far as the grid carries them."""
    spectra = setup.waves.spectra
    below = np.cumsum(spectra.energy.mean(axis=0))
    middle = [0.5 * (a + b) for a, b in pairwise(_QUANTILES)]
    frequencies = np.interp(middle, below, spectra.frequency)
    carried = frequencies * _LEAST_POINTS * setup.grid.spacing[2] < slowest
    return frequencies[carried], np.diff(_QUANTILES)[carried]


def _squares(
    setup: Discretization, section: LayerSection, sources: list[RadiatingSource],
    ends: tuple[np.ndarray, np.ndarray], frequencies: np.ndarray, time: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return squared errors and energies (source, depth, offset, frequency), of unit radiation.

    Waves are damped after a time in s.
    """
    depths, offsets = ends
    omega = 2.0 * math.pi * frequencies
    damping = np.clip(1.0 / (omega * time), _FASTEST * _ACROSS / _MOST, 0.2)
    largest = _FASTEST * omega / min(rock.vs or rock.vp for rock in section.layers)
    counts = np.clip(np.ceil(_FASTEST * _ACROSS / damping), _FEWEST, _MOST).astype(int)
    k = np.concatenate(
        [(np.arange(n) + 0.5) / n * end for n, end in zip(counts, largest, strict=True)]
    )
    s = np.repeat(omega * (1j + damping), counts)
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
    ends_of_frequencies = np.cumsum(counts)[:-1]
    waves = np.split(k, ends_of_frequencies)
    r = np.minimum(offsets[:, None], _VALID * 2.0 * math.pi * counts / largest)
    beyond = (offsets[:, None] / r.clip(min=1e-9)).clip(min=1.0)
    errors = []
    energies = []
    for source in sources:
        moved, exactly = (network.motion(each, source, depths) for each in (approximate, true))
        energy, error, energy_half_way, error_half_way = (
            _at_offsets(motion, waves, distance, setup.grid.dimensions)
            for distance in (r, 0.5 * r)
            for motion in (exactly, moved - exactly)
        )
        square = error / energy
        # What waves gather on their way grows with r, the rest does not.
        gathered = np.maximum(square - error_half_way / energy_half_way, 0.0) / 0.75
        errors.append(np.minimum(square + gathered * (beyond**2 - 1.0), 2.0))
        radiated = np.split(network.radiated(source)[1], ends_of_frequencies)
        energies.append(energy / (largest * [one.mean() for one in radiated]))
    return np.array(errors), np.array(energies)


def _at_offsets(
    motion: np.ndarray, waves: list[np.ndarray], r: np.ndarray, dimensions: int
) -> np.ndarray:
    """Return the energy (depth, offset, frequency) that arrives at distances r.

    Args:
        motion: U and W (depth, wave, 2).
        waves: wavenumbers in 1/m of each frequency.
        r: (offset, frequency) m.
        dimensions: of the grid.
    """
    # Far from a source in 3-D sqrt(k r) J_n(k r) is such a cosine, but for a factor.
    angle = 0.25 * math.pi * (dimensions - 2)
    power = 0.5 * (dimensions - 2)
    energies = []
    first = 0
    for k, distances in zip(waves, r.T, strict=True):
        some = motion[:, first : first + k.size] * ((k[1] - k[0]) * k**power)[:, None]
        first += k.size
        phase = np.outer(k, distances) - angle
        along = some[..., 0] @ np.sin(phase)
        down = some[..., 1] @ np.cos(phase)
        energies.append(np.abs(along) ** 2 + np.abs(down) ** 2)
    return np.stack(energies, axis=-1)
