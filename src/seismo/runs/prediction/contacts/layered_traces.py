"""What sources make arrive in a layered earth, exactly and on the grid, at some distances.

Frequencies are damped (`wavenumber_sums`) by one d for all of them, 1 / d the longest travel time,
so that it takes from the energies of all alike. Where that asks for more wavenumbers than are worth
their time, d is larger and distances end at its reach: beyond, what waves gather on their way to
it (the difference of the squares of half of it and all of it) grows on with the distance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seismo.runs.prediction.contacts.radiation import RadiatingSource
from seismo.runs.prediction.contacts.scattering import (
    ContactStack,
    DiscreteStack,
    exact,
    on_grid,
    slopes,
)
from seismo.runs.prediction.contacts.stack_network import LayerSection, StackNetwork
from seismo.runs.prediction.contacts.wavenumber_sums import (
    LARGEST,
    WavenumberSum,
    least_damping,
    wavenumber_sum,
)
from seismo.solver.discretization import Discretization

_DAMPED = 0.2  # largest damping, in the lowest angular frequency
# Wavenumbers of all frequencies: on the grid by all stacks together, and by each at least.
_MOST = 2400
_FEWEST_LIMIT = 1200
_AT_ONCE = 2e6  # numbers of the equations of all waves that are looked at together


@dataclass(frozen=True)
class LayeredTraces:
    """Traces of a layered earth at all of some depths, in all of some distances.

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
        """Return squares (2, source, 2, depth, distance) of traces, and of what they err by.

        Args:
            sources: apart from each other.
            frequencies: (n) Hz.
            shares: (n) of the energy far away that they stand for.
        """
        omegas = 2.0 * math.pi * frequencies
        slownesses = {source.slowness for source in sources}
        if None in slownesses:
            damping, reach = self._damping(omegas)
        else:  # of a wavenumber each: as long as the run lets them ring
            damping = 1.0 / self.discretization.waves.duration
            reach = math.inf
        waves = {s: self._waves(omegas, damping, reach, s) for s in slownesses}
        squares = [waves[s.slowness].squares(s, self, reach) @ shares for s in sources]
        return np.array(squares).swapaxes(0, 1)

    def _speeds(self) -> tuple[float, float]:
        """Return the velocities in m/s of the fastest wave, and of the slowest outside stacks."""
        within = [rock for stack in self.section.stacks for rock in stack.media]
        slowest = min(rock.vs or rock.vp for rock in self.section.layers)
        return max(rock.vp for rock in within), slowest

    def _damping(self, omegas: np.ndarray) -> tuple[float, float]:
        """Return the damping in 1/s, and to what distance in m it lets waves go."""
        waves = self.discretization.waves
        # Waves that a thin seam guides, and sheds on their way, are its own.
        slowest = min(r.vs or r.vp for stack in self.section.stacks for r in stack.media)
        longest = max(waves.longest, self.discretization.grid.spacing[2])
        time = min(longest / slowest, waves.duration)
        wanted = min(1.0 / time, _DAMPED * float(omegas.min()))
        on_grid_count = sum(rows is not None for rows in self.section.rows)
        most = max(_FEWEST_LIMIT, _MOST // max(on_grid_count, 1))
        damping = max(wanted, least_damping(float(omegas.sum()), self._speeds(), most))
        return damping, longest * wanted / damping

    def _waves(
        self, omegas: np.ndarray, damping: float, reach: float, slowness: float | None
    ) -> _ScatteredWaves:
        """Return the waves of some frequencies, of one horizontal slowness in s/m or of all."""
        speeds = self._speeds()
        farthest = min(float(np.abs(self.distances).max()), reach)
        sums = [
            wavenumber_sum(omega, damping, speeds, farthest)
            if slowness is None
            else WavenumberSum(np.array([omega * slowness]), np.ones(1))
            for omega in omegas.tolist()
        ]
        k = np.concatenate([some.k for some in sums])
        omega = np.repeat(omegas, [some.k.size for some in sums])
        s = 1j * omega + damping
        layers = [slopes(rock, s, k) for rock in self.section.layers]
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
        height = rows.spacing if rows else self.discretization.grid.spacing[2]
        size = 2 * len(rows.rho_x) if rows else 4 * len(stack.media)
        pieces = math.ceil(k.size * size**2 / _AT_ONCE)
        waves = zip(*(np.array_split(a, pieces) for a in (s, k)), strict=True)
        true = np.concatenate(
            [exact(stack, some_s, some_k, 0.5 * height) for some_s, some_k in waves]
        )
        if rows is None:
            return true, true
        waves = zip(*(np.array_split(a[counted], pieces) for a in (s, k)), strict=True)
        grid = np.concatenate(
            [on_grid(stack, rows, first, some_s, some_k) for some_s, some_k in waves]
        )
        approximate = true.copy()
        approximate[counted] = np.where(np.isfinite(grid), grid, true[counted])
        return true, approximate


@dataclass(frozen=True)
class _ScatteredWaves:
    """Waves of some angular frequencies in 1/s, and the matrices of the stacks they meet."""

    omegas: np.ndarray
    sums: list[WavenumberSum]
    network: StackNetwork
    true: list[np.ndarray]
    approximate: list[np.ndarray]

    def squares(self, source: RadiatingSource, traces: LayeredTraces, reach: float) -> np.ndarray:
        """Return squares (2, 2, depth, distance, frequency) over what grows with frequency.

        Those of the traces of a source, and of their errors; of motion, and of pressure.
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
        # Where pressure vanishes, or is not evaluated, motion stands for it.
        section = self.network.section
        if self.network.free and not section.stacks[0].rigid:
            top = traces.depths <= section.bottoms[0]
            both[:, 1, top] = both[:, 0, top]
        return both / self.omegas ** (2.0 * source.growth)

    def _arriving(
        self, fields: tuple[np.ndarray, ...], source: RadiatingSource, distances: np.ndarray
    ) -> np.ndarray:
        """Return squares (field, 2, depth, distance, frequency) of what arrives at distances."""
        ends = np.cumsum([some.k.size for some in self.sums])[:-1]
        return np.array([
            np.stack([
                some.energies(each, source, distances)
                for some, each in zip(self.sums, np.split(field, ends, axis=1), strict=True)
            ], axis=-1)
            for field in fields
        ])  # fmt: skip
