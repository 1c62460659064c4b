"""Motion by sources in a layered earth, exactly and on the grid, by sums over wavenumbers.

The motion at a horizontal distance r from a source is, by fields U, W and P (`scattering`) of
azimuthal order m (`radiation`), in 2-D, with x from the source to a receiver,

    u_x = - sum of U sin kx dk,      u_z, p = sum of W, P cos kx dk      m = 0
    u_x = i sum of U cos kx dk,      u_z, p = i sum of W, P sin kx dk    m = 1

and in 3-D, for each azimuthal weight w of order m (Aki & Richards 2002, chapter 7), but for factors
that are the same everywhere,

    u_z, p = sum of W, P k J_m(kr) w dk,    u_r = sum of U k J_m'(kr) w dk
    u_phi  = sum of U k J_m(kr) / kr w' dk

whose squares are averaged over azimuths, where orders do not mix. Strains exx and ezz go as W, exz
as U; those in 3-D are left out: they count as motion. SH waves of a source in 3-D are
left out: they count as the P and SV waves beside them.

Frequencies have an imaginary part d, by which waves are damped as exp(-d t): in k they are
resonances as wide as d / v at k = omega / v. Wavenumbers k = k_0 sinh x are as close as that asks
for, from the fastest wave, k_0 = omega / v, to the slowest. A sum of spacing dk repeats itself
after 2 pi / dk, where waves of a velocity v are damped by exp(-2 pi d / (v dk)).

All frequencies have the same d, 1 / d the longest travel time, so that it takes from the energies
of all alike. Where that asks for more wavenumbers than are worth their time, d is larger and
distances end at its reach: beyond, the error that waves gather on their way to it (the difference
of the squares of half of it and all of it) grows on with the distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seismo.exact.stack import psv_slopes
from seismo.grid.interpolation import axis_weights, slope_share
from seismo.runs.prediction.contacts.row_readings import RowReading
from seismo.runs.prediction.contacts.scattering import (
    ContactStack,
    DiscreteStack,
    exact,
    exact_fields,
    fields_in_rows,
    on_grid,
)
from seismo.runs.prediction.contacts.stack_network import (
    LayerSection,
    RadiatingSource,
    StackNetwork,
)
from seismo.solver.discretization import Discretization

_PERIOD = 5.0  # exponent of the damping after which sums repeat
_APART = 1.6  # least distance after which sums repeat, over that of the farthest receiver
LARGEST = 1.25  # wavenumber at which contacts err, over that of the slowest wave
_CUT = 1.5  # wavenumber at which radiation ends
_FEWEST = 24  # wavenumbers
_AS_U = (0, 5)  # fields that go along x as U does; others go as W


@dataclass(frozen=True)
class WavenumberSum:
    """Wavenumbers of a frequency.

    Attributes:
        k: (wave) 1/m.
        dk: (wave) 1/m, less where the sum is cut off.
    """

    k: np.ndarray
    dk: np.ndarray

    def energies(
        self, fields: np.ndarray, source: RadiatingSource, distances: np.ndarray
    ) -> np.ndarray:
        """Return squares of motion, pressure and strains (3, depth, distance).

        Args:
            fields: U, W, P, exx, ezz and exz (depth, wave, 6, column).
            source: whose they are.
            distances: (distance) m, from the source to the receiver; along x in 2-D.
        """
        if source.slowness is not None:  # the same everywhere
            squares = _gathered(np.abs(fields[:, 0, :, 0].T) ** 2)
            return np.repeat(squares[:, :, None], len(distances), axis=2)
        in_plane = self._in_plane if source.dimensions == 2 else self._on_rings
        return in_plane(fields, source.orders, distances)

    def energy(
        self, field: np.ndarray, odd: bool, source: RadiatingSource, distances: np.ndarray
    ) -> np.ndarray:
        """Return squares (distance) of a field (wave, column) that goes along x as U (`odd`) or W.

        In 3-D as in the plane of a wave that spreads, of each azimuthal order alone.
        """
        if source.slowness is not None:
            return np.repeat(np.abs(field[:, 0]).sum() ** 2, len(distances))
        phase = distances[:, None] * self.k
        dk = self.dk * (np.sqrt(self.k) if source.dimensions == 3 else 1.0)
        sums = [
            (np.cos(phase) if odd == bool(m % 2) else np.sin(phase)) @ (dk * field[:, column])
            for column, m in enumerate(source.orders)
        ]
        if source.dimensions == 2:
            units = [1j if m else -1.0 if odd else 1.0 for m in source.orders]
            sums = [sum(unit * each for unit, each in zip(units, sums, strict=True))]
        return np.asarray(sum(np.abs(each) ** 2 for each in sums))

    def _in_plane(self, fields: np.ndarray, orders: tuple[int, ...], x: np.ndarray) -> np.ndarray:
        """Return `energies` in 2-D."""
        phase = x[:, None] * self.k
        even = np.cos(phase) * self.dk
        odd = np.sin(phase) * self.dk
        waves = [[(-odd, even), (1j * even, 1j * odd)][m] for m in orders]
        components = [
            sum(
                each[n not in _AS_U] @ fields[..., n, column].T for column, each in enumerate(waves)
            )
            for n in range(fields.shape[2])
        ]
        return _gathered(np.array([np.abs(component.T) ** 2 for component in components]))

    def _on_rings(self, fields: np.ndarray, orders: tuple[int, ...], r: np.ndarray) -> np.ndarray:
        """Return `energies` in 3-D: means over azimuths."""
        from scipy.special import jv  # imported when it is used: a run needs none

        bessel = [jv(m, r[:, None] * self.k) for m in range(4)]
        total = 0.0
        for m in sorted(set(orders)):
            columns = np.array(orders) == m
            # J_m' = (J_(m-1) - J_(m+1)) / 2, and m J_m / z half their sum; J_(-1) = -J_1.
            lower = bessel[m - 1] if m else -bessel[1]
            slope = 0.5 * (lower - bessel[m + 1])
            ratio = 0.5 * (lower + bessel[m + 1])
            weights = self.k * self.dk
            functions = [bessel[m], slope, ratio, bessel[m]]
            vertical, radial, azimuthal, pressure = (
                np.abs(np.tensordot(function * weights, fields[..., n, columns], (1, 1))) ** 2
                for function, n in zip(functions, (1, 0, 0, 2), strict=True)
            )
            share = 0.5 if m else 1.0
            motion = vertical + radial + azimuthal
            squares = np.stack([motion, pressure, motion]).sum(axis=-1)
            total = total + share * squares.transpose(0, 2, 1)
        return np.asarray(total)


def _gathered(squares: np.ndarray) -> np.ndarray:
    """Return squares of motion, pressure and strains (3, ...) of those of all fields (6, ...)."""
    along, down, pressure, exx, ezz, exz = squares
    return np.stack([along + down, pressure, exx + ezz + 2.0 * exz])


def wavenumber_sum(
    omega: float, damping: float, speeds: tuple[float, float], farthest: float
) -> WavenumberSum:
    """Return the wavenumbers of a frequency.

    Args:
        omega: angular frequency in 1/s.
        damping: d in 1/s.
        speeds: of the fastest and of the slowest wave in m/s.
        farthest: distance in m at which the sum is wanted.
    """
    first, end = _first_and_end(omega, speeds)
    by_damping = omega * _PERIOD / (2.0 * math.pi * damping)
    by_distance = _APART * farthest * first * math.cosh(end) / (2.0 * math.pi)
    count = max(math.ceil(end * max(by_damping, by_distance)), _FEWEST)
    x = (np.arange(count) + 0.5) * (end / count)
    k = first * np.sinh(x)
    dk = first * np.cosh(x) * (end / count)
    # What is beyond evanesces within a wavelength; it ends gently, so that no sum rings.
    cut = np.clip((k * speeds[1] / omega - LARGEST) / (_CUT - LARGEST), 0.0, 1.0)
    return WavenumberSum(k, dk * np.cos(0.5 * math.pi * cut) ** 2)


def least_damping(omegas: float, speeds: tuple[float, float], most: int) -> float:
    """Return d in 1/s that takes no more than a number of wavenumbers.

    Args:
        omegas: sum of all angular frequencies in 1/s.
        speeds: of the fastest and of the slowest wave in m/s.
        most: wavenumbers of all frequencies.
    """
    _, end = _first_and_end(1.0, speeds)
    return end * omegas * _PERIOD / (2.0 * math.pi * most)


def _first_and_end(omega: float, speeds: tuple[float, float]) -> tuple[float, float]:
    """Return k_0 in 1/m, and the largest x of k_0 sinh x."""
    fastest, slowest = speeds
    return omega / fastest, math.asinh(_CUT * fastest / slowest)


_LEAST = 1e-6  # horizontal slowness of upright waves, in that of the fastest
_LOST = 0.5  # damping over the time in which waves go the longest path
_DAMPED = 0.2  # largest damping, in the lowest angular frequency
# Wavenumbers of all frequencies: on the grid by all stacks together, and by each at least.
_MOST = 2400
_FEWEST_LIMIT = 1200
_AT_ONCE = 2e6  # numbers of the equations of all waves that are looked at together


@dataclass(frozen=True)
class RecordDepth:
    """A receiver's depth in m beside a stack, the stack's number, and the components read."""

    z: float
    stack: int
    readings: tuple[RowReading, ...]


@dataclass(frozen=True)
class LayeredTraces:
    """Traces of a layered earth at all combinations of depths and distances.

    Attributes:
        discretization: the run.
        section: its stacks.
        depths: of receivers in m.
        distances: horizontal ones from sources in m; in 2-D along x, with their sign.
    """

    discretization: Discretization
    section: LayerSection
    depths: np.ndarray
    distances: np.ndarray

    def squares(
        self, sources: list[RadiatingSource], frequencies: np.ndarray, shares: np.ndarray
    ) -> np.ndarray:
        """Return squares (2, source, 3, depth, distance) of traces, and of their errors.

        Args:
            sources: apart from each other.
            frequencies: (n) Hz.
            shares: (n) of the energy far away that they stand for.
        """
        waves, reach = self._all_waves(sources, frequencies)
        squares = [waves[s.slowness].squares(s, self, reach) @ shares for s in sources]
        return np.array(squares).swapaxes(0, 1)

    def read_squares(
        self, sources: list[RadiatingSource], frequencies: np.ndarray, shares: np.ndarray,
        depths: Sequence[RecordDepth],
    ) -> np.ndarray:  # fmt: skip
        """Return squares (2, source, depth, distance) of records, and of errors of their reading.

        Args:
            sources: apart from each other.
            frequencies: (n) Hz.
            shares: (n) of the energy far away that they stand for.
            depths: of receivers beside stacks.
        """
        waves, reach = self._all_waves(sources, frequencies)
        squares = [waves[s.slowness].read_squares(s, self, reach, depths) @ shares for s in sources]
        return np.array(squares).swapaxes(0, 1)

    def _all_waves(
        self, sources: list[RadiatingSource], frequencies: np.ndarray
    ) -> tuple[dict[float | None, _ScatteredWaves], float]:
        """Return the waves by the horizontal slowness of sources, and the distance they reach."""
        omegas = 2.0 * math.pi * frequencies
        slownesses = {source.slowness for source in sources}
        if None in slownesses:
            damping, reach = self._damping(omegas, sources)
        else:  # of a wavenumber each: as long as the run lets them ring
            damping = 1.0 / self.discretization.waves.duration
            reach = math.inf
        return {s: self._waves(omegas, damping, reach, s) for s in slownesses}, reach

    @property
    def slowest(self) -> float:
        """Velocity in m/s of the slowest wave outside stacks."""
        return self.section.slowest

    def _speeds(self) -> tuple[float, float]:
        """Return the velocities in m/s of the fastest wave, and of the slowest outside stacks."""
        within = [rock for stack in self.section.stacks for rock in stack.media]
        return max(rock.vp for rock in within), self.section.slowest

    def _longest(self, sources: list[RadiatingSource]) -> float:
        """Return the longest path in m from sources to receivers, by way of a stack or without."""
        section = self.section
        ends = np.array([source.depth for source in sources]), self.depths
        upright = max(
            float(sum(np.abs(z - depths).max() for depths in ends))
            for z in (*section.tops, *section.bottoms)
        )
        reflected = math.hypot(upright, float(np.abs(self.distances).max()))
        return max(
            self.discretization.waves.longest, reflected, self.discretization.grid.spacing[2]
        )

    def _damping(self, omegas: np.ndarray, sources: list[RadiatingSource]) -> tuple[float, float]:
        """Return the damping in 1/s, and the distance in m that waves reach with it."""
        waves = self.discretization.waves
        # Waves that a thin seam guides, and sheds on their way, are its own.
        slowest = min(r.vs or r.vp for stack in self.section.stacks for r in stack.media)
        longest = self._longest(sources)
        time = min(longest / slowest, waves.duration)
        most_damped = _DAMPED * float(omegas.min())
        on_grid_count = sum(rows is not None for rows in self.section.rows)
        most = max(_FEWEST_LIMIT, _MOST // max(on_grid_count, 1))
        least = least_damping(float(omegas.sum()), self._speeds(), most)
        damping = max(min(_LOST / time, most_damped), least)
        return damping, longest * min(1.0, min(1.0 / time, most_damped) / damping)

    def _waves(
        self, omegas: np.ndarray, damping: float, reach: float, slowness: float | None
    ) -> _ScatteredWaves:
        """Return the waves of frequencies, of a horizontal slowness in s/m or of all."""
        speeds = self._speeds()
        farthest = min(float(np.abs(self.distances).max()), reach)
        sums = [
            wavenumber_sum(omega, damping, speeds, farthest)
            if slowness is None
            else WavenumberSum(np.array([omega * max(slowness, _LEAST / speeds[0])]), np.ones(1))
            for omega in omegas.tolist()
        ]
        k = np.concatenate([wavenumbers.k for wavenumbers in sums])
        omega = np.repeat(omegas, [wavenumbers.k.size for wavenumbers in sums])
        s = 1j * omega + damping
        layers = [psv_slopes(rock, s, k) for rock in self.section.layers]
        counted = k <= LARGEST * omega / speeds[1]
        stacks = [
            self._matrices(stack, rows, s, k, counted)
            for stack, rows in zip(self.section.stacks, self.section.rows, strict=True)
        ]
        true, approximate = (list(matrices) for matrices in zip(*stacks, strict=True))
        return _ScatteredWaves(
            omegas, sums, StackNetwork(self.section, s, k, layers), true, approximate
        )

    def _matrices(
        self, stack: ContactStack, rows: DiscreteStack | None, s: np.ndarray, k: np.ndarray,
        counted: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Return the matrices of a stack, exactly and on the grid, of the waves that count there.

        As many waves at a time as caches hold with their equations.
        """
        first = np.asarray(self.discretization.stencil.first)
        size = 2 * len(rows.rho_x) if rows else 4 * len(stack.media)
        pieces = math.ceil(k.size * size**2 / _AT_ONCE)
        waves = zip(*(np.array_split(a, pieces) for a in (s, k)), strict=True)
        true = np.concatenate([exact(stack, some_s, some_k) for some_s, some_k in waves])
        if rows is None:
            return true, true
        waves = zip(*(np.array_split(a[counted], pieces) for a in (s, k)), strict=True)
        reading = [] if stack.top is None else [self._surface_reading()]
        grid = np.concatenate(
            [on_grid(stack, rows, first, some_s, some_k, *reading) for some_s, some_k in waves]
        )
        approximate = true.copy()
        approximate[counted] = np.where(np.isfinite(grid), grid, true[counted])
        return true, approximate

    def _surface_reading(self) -> tuple[np.ndarray, float]:
        """Return weights of rows of W that read it on a free surface, and that of its slope."""
        if self.section.stacks[0].rigid:
            return np.zeros(1), 0.0
        surface = self.discretization.interpolation.surface(self.discretization.physics.named("vz"))
        return axis_weights(0.0, True, 0, surface)[1], slope_share(0.0, True, surface)


@dataclass(frozen=True)
class _ScatteredWaves:
    """Waves of angular frequencies in 1/s, and the matrices of the stacks they meet."""

    omegas: np.ndarray
    sums: list[WavenumberSum]
    network: StackNetwork
    true: list[np.ndarray]
    approximate: list[np.ndarray]

    def squares(self, source: RadiatingSource, traces: LayeredTraces, reach: float) -> np.ndarray:
        """Return squares (2, 3, depth, distance, frequency) over their growth with frequency.

        Those of the traces of a source, and of their errors; of motion, of pressure and of strains.
        """
        moved, exactly = (
            self.network.motion(matrices, source, traces.depths)
            for matrices in (self.approximate, self.true)
        )
        beyond = np.maximum(np.abs(traces.distances) / reach, 1.0)
        both = self._arriving((exactly, moved - exactly), source, traces.distances / beyond)
        if beyond.max() > 1.0 and source.slowness is None:
            halfway = self._arriving(
                (exactly, moved - exactly), source, 0.5 * traces.distances / beyond
            )
            before = halfway[1] * both[0] / np.where(halfway[0] > 0.0, halfway[0], np.inf)
            gathered = np.maximum(both[1] - before, 0.0) / 0.75
            both[1] += gathered * (beyond**2 - 1.0)[:, None]
        both[:, 1] *= self.omegas**2
        if source.dimensions == 2:
            both[:, 2] /= self.omegas**2
        # Where pressure vanishes, or is not evaluated, motion stands for it.
        section = self.network.section
        if self.network.free and not section.stacks[0].rigid:
            top = traces.depths <= section.bottoms[0]
            both[:, 1, top] = both[:, 0, top]
        return both / self.omegas ** (2.0 * source.growth)

    def read_squares(
        self, source: RadiatingSource, traces: LayeredTraces, reach: float,
        depths: Sequence[RecordDepth],
    ) -> np.ndarray:  # fmt: skip
        """Return squares (2, depth, distance, frequency) of records, and of errors of their rows.

        Depths beyond the source of a stack's waves have none: waves come to them the other way.
        """
        section = self.network.section
        s = self.network.s
        k = self.network.k
        first = np.asarray(traces.discretization.stencil.first)
        moved, exactly = (
            self.network.entering(matrices, source) for matrices in (self.approximate, self.true)
        )
        distances = traces.distances / np.maximum(np.abs(traces.distances) / reach, 1.0)
        squares = np.zeros((2, len(depths), len(distances), len(self.omegas)))
        by_stack = {}
        for n, depth in enumerate(depths):
            stack = section.stacks[depth.stack]
            rows = section.rows[depth.stack]
            top = section.tops[depth.stack]
            between = depth.z < source.depth < top
            if between or section.bottoms[depth.stack] < source.depth < depth.z or rows is None:
                continue
            if depth.stack not in by_stack:
                fields = fields_in_rows(stack, rows, first, s, k)
                by_stack[depth.stack] = fields @ moved[depth.stack]
            if stack.top is not None and not stack.rigid:
                rows = rows.under_surface()
            rock, fields = exact_fields(stack, s, k, depth.z - top + (stack.top or 0.0))
            truth = fields @ exactly[depth.stack]
            for reading in depth.readings:
                true = np.einsum("wf,wfc->wc", reading.exactly(rock, s, k), truth)
                read = np.einsum("wr,wrc->wc", reading.of_rows(rows, s, k), by_stack[depth.stack])
                error = np.where(np.isfinite(read), read - true, 0.0)
                error[k > LARGEST * np.repeat(self.omegas, self._counts) / traces.slowest] = 0.0
                for total, each in zip(squares, (true, error), strict=True):
                    total[n] += self._arriving_at(each, reading.odd, source, distances)
        squares *= self.omegas ** (-2.0 * source.growth)
        return squares

    @property
    def _counts(self) -> list[int]:
        return [wavenumbers.k.size for wavenumbers in self.sums]

    def _arriving_at(
        self, field: np.ndarray, odd: bool, source: RadiatingSource, distances: np.ndarray
    ) -> np.ndarray:
        """Return squares (distance, frequency) of a field (wave, column) at distances."""
        pieces = np.split(field, np.cumsum(self._counts)[:-1])
        return np.stack([
            wavenumbers.energy(each, odd, source, distances)
            for wavenumbers, each in zip(self.sums, pieces, strict=True)
        ], axis=-1)  # fmt: skip

    def _arriving(
        self, fields: tuple[np.ndarray, ...], source: RadiatingSource, distances: np.ndarray
    ) -> np.ndarray:
        """Return squares (field, 3, depth, distance, frequency) of what arrives at distances."""
        ends = np.cumsum([wavenumbers.k.size for wavenumbers in self.sums])[:-1]
        return np.array([
            np.stack([
                wavenumbers.energies(each, source, distances)
                for wavenumbers, each in zip(self.sums, np.split(field, ends, axis=1), strict=True)
            ], axis=-1)
            for field in fields
        ])  # fmt: skip
