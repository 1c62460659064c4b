"""Stresses that receivers read by strains under ground that slopes, where these are better known.

The closed rows err in slope terms of their strains, most in the first row, while velocities are
read with the slopes that the traction prescribes (`seismo.features.topography.interpolation`). So
stresses on the ground and beside it are, in rock without loss,

    ds/dt = C de/dt

Records of these rates become stresses as their sum, as the scheme has both. In rock that attenuates
C(w) is that of moduli of P and S waves which are p(w) and s(w) times the unrelaxed ones, and the
prescribed values depend on these, too. For numbers p and s the read rates are R(p, s), which grow
as p and s do together. To first order about the moduli at the sources' dominant frequency, then,

    i w s(w) = p(w) dR/dp + s(w) dR/ds

of two channels, which relax as the mechanisms of the run do, step by step
(`seismo.equations.framework.memory_variables`). The next order is of 1/Q^2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.equations.framework.table import Term
from seismo.equations.rock.anisotropic_loss import loss_numbers
from seismo.equations.rock.relaxation import Relaxation
from seismo.grid.grid import AXES
from seismo.grid.interpolation import ON_GRID, RADIUS, PointsByField, joined_by_field
from seismo.solver.discretization import Discretization
from seismo.solver.interpolation.channels import FURTHER, IndirectReading, channel_points
from seismo.solver.interpolation.point_weights import PointInterpolation
from seismo.solver.interpolation.traction_free_slopes import MOST_ROWS

_STRESSES = ("stress", "pressure")
_MOST_POSITIONS = 1 << 14  # whose strains are kept for other components
_ABOUT_MOMENTS = 2.0 * RADIUS  # cells, to which moments and readings are spread
_ERRING = 1.5  # rows below ground that slopes, in which stresses err
_STEP = 1e-3  # relative, of s, that derivatives are differences over

Moduli = tuple[float, float]  # of P and of S waves, over unrelaxed ones


def indirect_reading(discretization: Discretization) -> GroundStresses | None:
    """Return the reading of stresses by strains; None where the ground is flat, or of fluid."""
    tilted = discretization.interpolation.tilted
    if discretization.vertical is None or tilted is None:
        return None
    if "stress" not in discretization.physics.observables:
        return None
    attenuates = discretization.earth.relaxation is not None
    return LossyGroundStresses(discretization) if attenuates else GroundStresses(discretization)


@dataclass(frozen=True)
class GroundStresses(IndirectReading):
    """The reading of stresses by strains on ground that slopes and below it."""

    _strains: dict[tuple[float, ...], dict[tuple[str, Moduli], PointsByField]] = field(
        default_factory=dict
    )

    def marks(self, positions: np.ndarray) -> np.ndarray:
        """Return (receiver) whether each is read so."""
        return self._reads(positions)

    def _reads(self, positions: np.ndarray) -> np.ndarray:
        # On the ground, and in the rows that err where no contact lies near.
        known = self.discretization.interpolation.tilted
        last = _ERRING if known and known.rows >= MOST_ROWS else ON_GRID
        is_high = np.asarray(self.discretization.grid.index("z", positions[..., 2]) < last)
        return is_high & ~self._has_moments(positions)

    @cached_property
    def _moments(self) -> Any:
        """The tree of the sources that act on stresses, in all shots of the survey, in cells.

        Receivers are read alike, however its shots are shared out.
        """
        from scipy.spatial import cKDTree

        sources = [source for shot in self.discretization.survey_shots for source in shot.sources]
        positions = [source.position for source in sources if source.kind != "force"]
        return cKDTree(self._in_cells(np.reshape(positions, (-1, 3))))

    def _has_moments(self, positions: np.ndarray) -> np.ndarray:
        """Return where moments act, whose strain C takes for stress."""
        # The farthest axis counts: readings and moments are spread over boxes.
        cells = self._in_cells(positions)
        distance, _ = self._moments.query(cells, p=np.inf, distance_upper_bound=_ABOUT_MOMENTS)
        return np.isfinite(distance)

    def _in_cells(self, positions: np.ndarray) -> np.ndarray:
        grid = self.discretization.grid
        return np.stack([grid.index(a, positions[..., AXES.index(a)]) for a in grid.axes], axis=-1)

    def points(
        self, group: ReceiverGroup, number: int, position: np.ndarray, base: tuple[str, str]
    ) -> PointsByField:
        """Return the points, by their field, that a channel reads at a receiver: see the base."""
        stresses = self._of_group(group.name, base[1], _STRESSES)
        if not stresses or not self._reads(position):
            return super().points(group, number, position, base)
        return self._by_strains(stresses, position, (1.0, 1.0))

    def _by_strains(
        self, stresses: Sequence[Term], position: np.ndarray, moduli: Moduli
    ) -> PointsByField:
        """Return the points, by their field, of the rate of a sum of stresses."""
        # ds/dt = C de/dt
        interpolation = self._interpolation(moduli)
        names, stiffness = self._stiffness(position, moduli)
        shares = sum(stress.factor * stiffness[names.index(stress.field)] for stress in stresses)
        read = (
            (share, self._strain_points(name, position, moduli, interpolation))
            for name, share in zip(names, np.asarray(shares).tolist(), strict=True)
            if share
        )
        return _weighted(*read)

    def _interpolation(self, moduli: Moduli) -> PointInterpolation:
        """Return the interpolation of strains."""
        return self.discretization.interpolation

    def _strain_points(
        self, stress: str, position: np.ndarray, moduli: Moduli, interpolation: PointInterpolation
    ) -> PointsByField:
        """Return the points, by their field, of the rate of strain that a stress does work on."""
        # Components of a receiver share them.
        coordinates = tuple(position.tolist())
        if coordinates not in self._strains and len(self._strains) >= _MOST_POSITIONS:
            self._strains.clear()
        known = self._strains.setdefault(coordinates, {})
        if (stress, moduli) not in known:
            # Of shear 2 e_ab does work.
            factor = 1.0 if stress[1] == stress[2] else 2.0
            rates = self.discretization.physics.observables["strain_rate"][f"e{stress[1:]}_rate"]
            terms = [replace(term, factor=factor * term.factor) for term in rates]
            known[stress, moduli] = channel_points(interpolation, terms, position)
        return known[stress, moduli]

    def converted(
        self, group: str, component: str, traces: np.ndarray,
        further: np.ndarray | None, beside: np.ndarray | None,
    ) -> np.ndarray:  # fmt: skip
        """Return traces (receiver, step) of a component, rates among them, as stresses."""
        if beside is not None and beside.any() and self._of_group(group, component, _STRESSES):
            # Stresses are at rest before the first step.
            sums = np.cumsum(traces[beside], axis=1, dtype=np.float64)
            traces[beside] = self.discretization.clock.dt * sums
        return traces


@dataclass(frozen=True)
class LossyGroundStresses(GroundStresses):
    """The same in rock that attenuates: in two channels, whose parts of moduli relax."""

    def adds_further(self, group: str, component: str) -> bool:
        """Whether a component of a set of receivers (its name) has second channels: see above."""
        return bool(self._of_group(group, component, _STRESSES))

    def marks(self, positions: np.ndarray) -> np.ndarray:
        """Return y of P and S moduli (receiver, 2), which tell how these relax.

        NaN where stresses are read as they are.
        """
        return np.where(self._reads(positions)[:, None], self._numbers(positions), np.nan)

    def points(
        self, group: ReceiverGroup, number: int, position: np.ndarray, base: tuple[str, str]
    ) -> PointsByField:
        """Return the points, by their field, that a channel reads at a receiver: see the base."""
        # Second channels read nothing where stresses are read as they are.
        component = base[1].removesuffix(FURTHER)
        is_further = component != base[1]
        stresses = self._of_group(group.name, component, _STRESSES)
        if not stresses or not self._reads(position):
            return {} if is_further else super().points(group, number, position, base)
        # R(p, s) at the dominant frequency, and for slightly larger S moduli.
        p, s = self._at_sources(position)
        rates = self._by_strains(stresses, position, (p, s))
        changed = self._by_strains(stresses, position, (p, (1.0 + _STEP) * s))
        # dR/ds, and p dR/dp + s dR/ds = R.
        per = 1.0 / _STEP
        if is_further:
            return _weighted((per / s, changed), (-per / s, rates))
        return _weighted(((1.0 + per) / p, rates), (-per / p, changed))

    def converted(
        self, group: str, component: str, traces: np.ndarray,
        further: np.ndarray | None, beside: np.ndarray | None,
    ) -> np.ndarray:  # fmt: skip
        """Return traces (receiver, step) of a component, rates among them, as stresses."""
        if beside is None or further is None:
            return traces
        # p dR/dp and s dR/ds, each relaxed with its moduli.
        read = np.isfinite(beside[:, 0])
        rates = self._relaxed("p", beside[read, 0], traces[read])
        traces[read] = rates + self._relaxed("s", beside[read, 1], further[read])
        return super().converted(group, component, traces, None, read)

    @property
    def _relaxation(self) -> Relaxation:
        relaxation = self.discretization.earth.relaxation
        assert relaxation is not None  # of rock that attenuates
        return relaxation

    def _relaxed(self, wave: str, y: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return rates (receiver, step) less their memory in the medium."""
        from scipy.signal import lfilter

        relaxation = self._relaxation
        remaining = rates.astype(np.float64)
        # Cayley's step, of whose memory the mean of old and new acts.
        steps = zip(*relaxation.decay(relaxation.dt), relaxation.anelastic(wave, y), strict=True)
        for decay, gain, weights in steps:
            half = 0.5 * gain * weights[:, None]
            remaining -= half * lfilter([1.0, 1.0], [1.0, -decay], rates, axis=1)
        return remaining

    def _numbers(self, positions: np.ndarray) -> np.ndarray:
        """Return y of P and S moduli (..., 2) at positions."""
        # Equations may lack P or S waves.
        medium = self._medium(positions)
        numbers = loss_numbers(medium, self._relaxation, self.discretization.grid.dimensions)
        return np.stack(np.broadcast_arrays(*numbers), axis=-1)

    def _at_sources(self, position: np.ndarray) -> Moduli:
        """Return the moduli at the sources' dominant frequency, over unrelaxed ones."""
        # Real parts: imaginary parts are of first order, and relax.
        omega = 2.0 * math.pi * self.discretization.dominant_frequency
        p, s = (
            float(self._relaxation.modulus(wave, y, omega).real)
            for wave, y in zip("ps", self._numbers(position).tolist(), strict=True)
        )
        return p, s

    def _interpolation(self, moduli: Moduli) -> PointInterpolation:
        """Return the interpolation of strains in rock of given moduli."""
        # The medium at the ground has other moduli; points and contacts stay.
        discretization = self.discretization
        earth = replace(discretization.earth, moduli=moduli)
        slopes = (discretization.interpolation.slope, discretization.interpolation.tilted)
        slope, tilted = (row_slopes and replace(row_slopes, earth=earth) for row_slopes in slopes)
        return replace(discretization.interpolation, slope=slope, tilted=tilted)


def _weighted(*readings: tuple[float, PointsByField]) -> PointsByField:
    """Return the points, by their field, of a sum of readings with factors, each once."""
    return joined_by_field(
        (name, points.times(factor))
        for factor, reading in readings
        for name, points in reading.items()
    )
