"""Exact solutions of the wave equation and the measures that compare a simulation with them.

They exist so that tests, validation reports and benchmarks share a truth that was not computed
by the scheme under test; the expected error of a run is by the same plane waves.

Conventions: SI units; axes x, (y,) z with z down; every solution takes the samples of its source
function, the first at t = 0, and returns the response on the same times. Modules:

medium         media, elastic or attenuating, for all of these
acoustic       whole space and half-space, 2-D and 3-D
whole_space    elastic forces and moment tensors, 2-D (P-SV) and 3-D
anisotropic    the same in anisotropic rock, forces and moment tensors, 2-D and 3-D
acoustic_vti   pressures of fluids that are transversely isotropic, 2-D and 3-D
shear          SH in 2-D
stack          plane waves in layers; coefficients (Zoeppritz)
layered_plane  layers, free surface, fluids in 2-D (Lamb's problem); plane waves from below
layered        the same in 3-D (Lamb's problem, LOH.1)
surface_waves  dispersion of Rayleigh and Love modes; Rayleigh and Scholte speeds
scheme         plane waves of the discrete equations themselves
metrics        L2, amplitude, shift, envelope and phase misfits

All share a transform (`respond`): samples of a source in, samples of the response out.

Solutions are written as transfer functions of the Laplace variable s = damping + i omega with a
positive damping: K0(s r/c) and exp(-s r/c) have no singularity there, integrals over wavenumber
meet no pole on the real axis, and the wrap-around of the discrete transform is suppressed by
exp(-damping period). This is the complex-frequency method of Bouchon (1979) and Phinney (1965).

The source is taken as band limited (spectrum negligible at half the sampling frequency), zero
before its first sample, and keeping its last value after its last, so that a moment that stays on
needs no taper. Errors are of the order of suppression, or 1e-16 / sqrt(suppression) at late times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from seismo.errors import SeismoError

# Powers of s that a source has which is the time function of a moment.
TIME_FUNCTIONS = {"moment": 0, "moment_rate": -1}


@dataclass(frozen=True)
class Spectrum:
    """A source function in the Laplace domain, on the frequencies where it is not negligible."""

    s: np.ndarray  # (frequency,) 1/s, damping + i omega
    amplitudes: np.ndarray  # (frequency,) unit of the source times s
    bins: np.ndarray  # (frequency,) index of each in the full half spectrum
    dt: float
    count: int  # samples of the source
    padded: int  # samples of the period

    @property
    def damping(self) -> float:
        """Real part of s [1/s]."""
        return float(self.s[0].real)

    def to_time(self, transfer: np.ndarray) -> np.ndarray:
        """Return the response (..., time) of a transfer function (..., frequency)."""
        from scipy.fft import irfft  # when used: `check` needs none

        full = np.zeros((*transfer.shape[:-1], self.padded // 2 + 1), complex)
        full[..., self.bins] = transfer * self.amplitudes
        growth = np.exp(self.damping * self.dt * np.arange(self.count))
        return irfft(full, self.padded)[..., : self.count] / self.dt * growth


def transform(
    source: np.ndarray, dt: float, suppression: float = 1e-12, cut: float = 1e-15
) -> Spectrum:
    """Return the Laplace spectrum of a sampled source function.

    source (time): samples at t = 0, dt, ...; dt in s; suppression: weakening of a wave one period
    late; cut: relative level under which a frequency is left out. Raises SeismoError when the
    source is empty, zero or not finite.
    """
    from scipy.fft import next_fast_len, rfft

    source = np.asarray(source, float)
    if source.ndim != 1 or not np.isfinite(source).all() or not source.any():
        raise SeismoError("an exact solution needs a finite source function that is not zero")
    padded = 2 * next_fast_len(source.size, real=True)
    damping = -np.log(suppression) / (padded * dt)
    extended = np.pad(source, (0, padded - source.size), mode="edge")
    spectrum = rfft(extended * np.exp(-damping * dt * np.arange(padded))) * dt
    spectrum[-1] = 0.0
    bins = np.flatnonzero(np.abs(spectrum) > cut * np.abs(spectrum).max())
    s = damping + 2j * np.pi * bins / (padded * dt)
    return Spectrum(s, spectrum[bins], bins, dt, source.size, padded)


def power_of(kind: str, name: str, powers: Mapping[str, int]) -> int:
    """Return the power of s that an option of this name stands for.

    Raises:
        SeismoError: there is none of that name.
    """
    if name not in powers:
        raise SeismoError(f"{kind} is {name!r}; it can be {', '.join(powers)}")
    return powers[name]


def respond(
    transfer: Callable[[np.ndarray], np.ndarray], source: np.ndarray, dt: float,
    suppression: float = 1e-12, cut: float = 1e-15,
) -> np.ndarray:  # fmt: skip
    """Return the response (..., time) to a source (time) of a transfer function of s [1/s].

    suppression and cut as `transform` takes them.
    """
    spectrum = transform(source, dt, suppression, cut)
    return spectrum.to_time(transfer(spectrum.s))
