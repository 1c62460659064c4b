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

from seismo.equations.fluid_solid_contact import Rock
from seismo.runs.assessment.scattering import ContactStack, DiscreteStack, exact, on_grid, slopes
from seismo.runs.assessment.scattering import vectors as waves_of
from seismo.runs.assessment.stacks import layered_waves, rows_about, stacks
from seismo.solver.accuracy import PowerLaw
from seismo.solver.discretization import Discretization

_QUANTILES = (0.0, 0.25, 0.5, 0.7, 0.85, 0.95, 0.99)  # of the energy of the traces, by frequency
_FASTEST = 1.25  # largest wavenumber, in those of the slowest wave
_ACROSS = 2.0  # wavenumbers in the width of a resonance
_FEWEST, _MOST = 32, 80  # wavenumbers
_NEAR = 4.5  # rows
_LEAST_POINTS = 2.8  # in the slowest wave: shorter ones are lost anyhow
LENT = PowerLaw(
    0.15, 3.2
)  # of contacts that lend strains (`seismo.equations.fluid_solid_contact`): measured
_WORST = 1.4  # error of the worst receiver of a line, in those of the whole line
_ISOTROPIC = {"pressure", "explosion", "volume_rate"}


@dataclass(frozen=True)
class LayerSection:
    """What waves meet from the top down: stacks, and the layers between them.

    Attributes:
        stacks: contacts, and the surface.
        rows: of the grid about each; None where it is exact there, too.
        tops: depth of the first contact of each in m, or of the surface.
        bottoms: depth of the last contact of each in m.
        near: so close in m to contacts waves are not told apart by how they decay.
    """

    stacks: tuple[ContactStack, ...]
    rows: tuple[DiscreteStack | None, ...]
    tops: tuple[float, ...]
    bottoms: tuple[float, ...]
    near: float

    @property
    def layers(self) -> list[Rock]:
        """Media above the first stack, between each two, and below the last."""
        return [self.stacks[0].media[0], *(stack.media[-1] for stack in self.stacks)]

    def layer_at(self, z: float) -> int:
        """Return which layer holds a depth; of one within a stack, that below it."""
        return int(np.searchsorted(self.tops, z, "right"))

    def clear(self, z: float, layer: int) -> float:
        """Return a depth moved away from contacts at the ends of its layer, as far as it must."""
        low, high = -math.inf, math.inf
        if layer:
            low = self.bottoms[layer - 1] + self.near * (self.rows[layer - 1] is not None)
        if layer < len(self.tops):
            high = self.tops[layer] - self.near * (self.rows[layer] is not None)
        return min(max(z, low), high) if low <= high else 0.5 * (low + high)


@dataclass(frozen=True)
class Source:
    """Depth in m, and whether P waves alone are radiated, alike up and down."""

    depth: float
    isotropic: bool


def section_of(setup: Discretization) -> LayerSection:
    """Return the stacks of a layered earth, the surface first where there is one."""
    found, top = stacks(setup), setup.grid.origin[2]
    kept = [stack for _, stack in found]
    lent = [setup.grid.coordinate("z", c.place) for c in setup.contacts if not c.closed]
    tops = [z if stack.top is None else top for z, stack in found]
    bottoms = [z + stack.depths[-1] for z, stack in found]
    near = 0.5 * setup.grid.spacing[2]
    rows: list[DiscreteStack | None] = [
        None
        if any(z - near < place < z + stack.depths[-1] + near for place in lent)
        else rows_about(setup, stack, z)
        for z, stack in found
    ]
    if kept and setup.scenario.boundaries.top == "free_surface" and kept[0].top is None:
        medium, rigid = kept[0].media[0], layered_waves(setup).rigid_surface
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
    section, waves = section_of(setup), setup.waves
    if all(rows is None for rows in section.rows) and not setup.contacts:
        return Contacts(0.0, False)
    slowest = min(rock.vs or rock.vp for rock in section.layers)
    points = slowest / (waves.spectra.frequency * setup.grid.spacing[2])
    lent = any(not contact.closed for contact in setup.contacts)
    lending = lent * waves.spectra.error(LENT(points))
    depths = {group.name: _some(group.positions[:, 2]) for group in setup.groups}
    found = _scattered(setup, section, depths)
    errors = {z: math.hypot(error, lending) for z, error in found.items()}
    joint = section.rows[0] is not None and section.stacks[0].top is not None
    sets = {name: max(errors[z] for z in own) for name, own in depths.items()}
    return Contacts(max(errors.values()), joint, sets)


def _some(depths: np.ndarray) -> list[float]:
    """Return the least, the middle and the greatest of some depths."""
    found = np.unique(depths)
    return sorted(set(found[[0, len(found) // 2, -1]].tolist()))


def _scattered(
    setup: Discretization, section: LayerSection, sets: Mapping[str, list[float]]
) -> dict[float, float]:
    """Return the error that contacts leave whose rows are known, by the depth of receivers in m."""
    waves, top = setup.waves, setup.grid.origin[2]
    depths = np.unique([z for own in sets.values() for z in own] or [top])
    none = dict.fromkeys(depths.tolist(), 0.0)
    if all(rows is None for rows in section.rows):
        return none
    acting = [s for shot in setup.shots for s in shot.sources]
    ends = [min(acting, key=lambda s: s.position[2]), max(acting, key=lambda s: s.position[2])]
    sources = list({Source(s.position[2], s.kind in _ISOTROPIC): None for s in ends})
    slowest = min(rock.vs or rock.vp for rock in section.layers)
    time = min(waves.longest / slowest, waves.duration)
    sampled = _sampled(setup, slowest)
    errors, energies = [], []
    for frequency, weight in sampled:
        squares, energy = _spread(setup, section, sources, depths, frequency, time)
        errors.append(weight * squares * energy)
        energies.append(weight * energy)
    if not sampled:
        return none
    worst = np.sqrt((np.sum(errors, axis=0) / np.sum(energies, axis=0)).max(axis=0))
    return dict(zip(depths.tolist(), (_WORST * worst).tolist(), strict=True))


def _sampled(setup: Discretization, slowest: float) -> list[tuple[float, float]]:
    """List frequencies in Hz and their shares of the energy, as far as the grid carries them."""
    spectra = setup.waves.spectra
    below = np.cumsum(spectra.energy.mean(axis=0))
    middle = [0.5 * (a + b) for a, b in pairwise(_QUANTILES)]
    frequencies = np.interp(middle, below, spectra.frequency)
    carried = frequencies * _LEAST_POINTS * setup.grid.spacing[2] < slowest
    shares = np.diff(_QUANTILES)
    return list(zip(frequencies[carried], shares[carried], strict=True))


def _spread(
    setup: Discretization, section: LayerSection, sources: list[Source], depths: np.ndarray,
    frequency: float, time: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return squared errors and energies (source, depth) of one frequency after a time in s."""
    wanted = 1.0 / (2.0 * math.pi * frequency * time)
    least = _FASTEST * _ACROSS / _MOST
    damping = min(0.2, max(wanted, least))
    error, energy = _squares(setup, section, sources, depths, frequency, damping)
    if damping > wanted:
        # What waves gather on their way grows with 1 / damping, the rest does not.
        less, _ = _squares(setup, section, sources, depths, frequency, 2.0 * damping)
        gathered = np.maximum(error - less, 0.0) / 0.75
        error = error + gathered * ((damping / wanted) ** 2 - 1.0)
    return np.minimum(error, 2.0), energy


def _squares(
    setup: Discretization, section: LayerSection, sources: list[Source], depths: np.ndarray,
    frequency: float, damping: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return squared errors and energies (source, depth), in those of the source alone."""
    omega = 2.0 * math.pi * frequency
    largest = _FASTEST * omega / min(rock.vs or rock.vp for rock in section.layers)
    count = int(np.clip(math.ceil(_FASTEST * _ACROSS / damping), _FEWEST, _MOST))
    k = (np.arange(count) + 0.5) / count * largest
    s = np.full(count, omega * (1j + damping))
    spacing, first = setup.grid.spacing[2], np.asarray(setup.stencil.first)
    true = [exact(stack, s, k, 0.5 * spacing) for stack in section.stacks]
    found = list(true)
    for n, (stack, rows) in enumerate(zip(section.stacks, section.rows, strict=True)):
        if rows is not None:
            grid = on_grid(stack, rows, first, spacing, s, k)
            found[n] = np.where(np.isnan(grid), true[n], grid)
    network = _Network(section, s, k, [slopes(rock, s, k) for rock in section.layers])
    errors, energies = [], []
    for source in sources:
        motions = [network.motion(matrices, source, depths) for matrices in (found, true)]
        energy = (np.abs(motions[1]) ** 2).sum(axis=(1, 2))
        errors.append((np.abs(motions[0] - motions[1]) ** 2).sum(axis=(1, 2)) / energy)
        energies.append(energy / network.radiated(source)[1])
    return np.array(errors), np.array(energies)


@dataclass(frozen=True)
class _Network:
    """The stacks of a section at some wavenumbers, linked by the layers between them.

    Attributes:
        section: the stacks.
        s: (wave) 1/s.
        k: (wave) wavenumbers in 1/m.
        a: (wave, kinds) slopes in 1/m of each layer.
    """

    section: LayerSection
    s: np.ndarray
    k: np.ndarray
    a: list[np.ndarray]

    @property
    def free(self) -> bool:
        """Whether nothing is above the first stack."""
        return self.section.stacks[0].top is not None

    def kinds(self, layer: int) -> int:
        """Return how many kinds of waves a layer has; none above a surface."""
        return 0 if self.free and not layer else self.a[layer].shape[1]

    def radiated(self, source: Source) -> tuple[tuple[np.ndarray, np.ndarray], float]:
        """Return amplitudes (wave, kinds) that go up and down, and the energy of what goes far.

        Those of an explosion, or of a force along z (Aki & Richards 2002, section 9.1).
        """
        layer = self.section.layer_at(source.depth)
        rock, a, k = self.section.layers[layer], self.a[layer], self.k[:, None]
        if source.isotropic or not rock.vs:
            up = np.concatenate([1.0 / a[:, :1], np.zeros_like(a[:, 1:])], axis=1)
            down = up
        else:
            shear = k / a[:, 1:]
            up, down = (np.concatenate([sign + 0.0 * shear, shear], 1) for sign in (1.0, -1.0))
        speeds = np.array([rock.vp, rock.vs][: a.shape[1]])
        far = np.abs(self.s.imag)[:, None] / speeds > k
        size = np.abs(up) ** 2 * (np.abs(a) ** 2 + k**2)
        return (up, down), float((size * far).sum())

    def motion(self, matrices: list[np.ndarray], source: Source, depths: np.ndarray) -> np.ndarray:
        """Return U and W (depth, wave, 2) that a source makes, with some matrices of the stacks."""
        section, home = self.section, self.section.layer_at(source.depth)
        z = max(source.depth, section.bottoms[home - 1]) if home else source.depth
        (up, down), _ = self.radiated(source)
        alone = []  # what the source itself sends into each stack, from above and from below
        for n, (top, bottom) in enumerate(zip(section.tops, section.bottoms, strict=True)):
            parts = [np.zeros((len(self.k), self.kinds(m)), complex) for m in (n, n + 1)]
            if home == n:
                parts[0] = down * np.exp(-self.a[n] * (top - z))
            elif home == n + 1:
                parts[1] = up * np.exp(-self.a[n + 1] * (z - bottom))
            alone.append(np.concatenate(parts, axis=1))
        entering = self._entering(matrices, alone)
        leaving = [(m @ e[:, :, None])[..., 0] for m, e in zip(matrices, entering, strict=True)]
        fields = []
        for depth in map(float, depths):
            n = section.layer_at(depth)
            if self.free and n == 1 and depth < section.bottoms[0]:
                fields.append(leaving[0][:, self.kinds(1) :])
                continue
            at = section.clear(depth, n)
            falling, rising = self._arriving(leaving, n, at)
            if n == home:
                way = np.exp(-self.a[n] * abs(at - z))
                falling, rising = falling + (at > z) * down * way, rising + (at <= z) * up * way
            fields.append(sum(
                (waves_of(section.layers[n], self.s, self.k, low)[:, :2] @ part[:, :, None])[..., 0]
                for low, part in ((True, falling), (False, rising))
            ))  # fmt: skip
        return np.array(fields)

    def _arriving(
        self, leaving: list[np.ndarray], layer: int, z: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the waves (wave, kinds) that stacks send down and up to a depth in a layer."""
        section, count = self.section, self.kinds(layer)
        falling, rising = (np.zeros((len(self.k), count), complex) for _ in range(2))
        if layer:
            way = np.exp(-self.a[layer] * (z - section.bottoms[layer - 1]))
            first = self.kinds(layer - 1)
            falling = leaving[layer - 1][:, first : first + count] * way
        if layer < len(leaving):
            way = np.exp(-self.a[layer] * (section.tops[layer] - z))
            rising = leaving[layer][:, :count] * way
        return falling, rising

    def _entering(self, matrices: list[np.ndarray], alone: list[np.ndarray]) -> list[np.ndarray]:
        """Return all that enters each stack (wave, kinds): what they send each other, too.

        Stacks meet their neighbours only, so that these are eliminated from the top down.
        """
        gains, own, into_next = [], [], None
        for n, part in enumerate(alone):
            system, right = np.eye(part.shape[1])[None], part[:, :, None]
            if into_next is not None:
                system, right = system - into_next @ gains[-1], right + into_next @ own[-1]
            into_next, into_this = self._links(matrices, n)
            count = into_this.shape[2]
            into_this = np.broadcast_to(into_this, (len(self.k), *into_this.shape[1:]))
            found = np.linalg.solve(system, np.concatenate([into_this, right], axis=2))
            gains.append(found[:, :, :count])
            own.append(found[:, :, count:])
        for n in reversed(range(len(own) - 1)):
            own[n] = own[n] + gains[n] @ own[n + 1]
        return [part[..., 0] for part in own]

    def _links(self, matrices: list[np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what enters stack n + 1 of what enters stack n, and the other way round.

        Both are (wave, kinds, kinds); the last stack has none below it.
        """
        first, count = self.kinds(n), self.kinds(n + 1)
        if n + 1 == len(matrices):
            return np.zeros((1, 0, first + count)), np.zeros((1, first + count, 0))
        gap = self.section.tops[n + 1] - self.section.bottoms[n]
        way = np.exp(-self.a[n + 1] * gap)[:, :, None]
        down = way * matrices[n][:, first : first + count]
        up = way * matrices[n + 1][:, :count]
        last = self.kinds(n + 2)
        return (
            np.pad(down, ((0, 0), (0, last), (0, 0))), np.pad(up, ((0, 0), (first, 0), (0, 0)))
        )  # fmt: skip
