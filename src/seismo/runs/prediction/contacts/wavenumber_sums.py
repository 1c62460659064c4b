"""Sums over wavenumbers: the motion at horizontal distances r from a source.

Of fields U, W and P (`scattering`) of azimuthal order m (`radiation`), in 2-D, with x from the
source to a receiver,

    u_x = - sum of U sin kx dk,      u_z, p = sum of W, P cos kx dk      m = 0
    u_x = i sum of U cos kx dk,      u_z, p = i sum of W, P sin kx dk    m = 1

and in 3-D, for each azimuthal weight w of order m (Aki & Richards 2002, chapter 7), but for factors
that are the same everywhere,

    u_z, p = sum of W, P k J_m(kr) w dk,    u_r = sum of U k J_m'(kr) w dk
    u_phi  = sum of U k J_m(kr) / kr w' dk

whose squares are averaged over azimuths, where orders do not mix. SH waves of a source in 3-D are
left out: they count as the P and SV waves beside them.

Frequencies have an imaginary part d, by which waves are damped as exp(-d t): in k they are
resonances as wide as d / v at k = omega / v. Wavenumbers k = k_0 sinh x are as close as that asks
for, from the fastest wave, k_0 = omega / v, to the slowest. A sum of spacing dk repeats itself
after 2 pi / dk, where waves of a velocity v are damped by exp(-2 pi d / (v dk)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seismo.runs.prediction.contacts.radiation import RadiatingSource

_PERIOD = 5.0  # exponent of the damping after which sums repeat
_APART = 1.6  # least distance after which sums repeat, in those of the farthest receiver
LARGEST = 1.25  # wavenumber at which contacts err, in those of the slowest wave
_CUT = 1.5  # wavenumber at which what is radiated ends
_FEWEST = 24  # wavenumbers

# Of J_0 and J_1: in (z / 3)^2 below 3; size and phase in 3 / z above.
_POLYNOMIALS = (
    (
        (0.00021, -0.0039444, 0.0444479, -0.3163866, 1.2656208, -2.2499997, 1.0),
        (0.00014476, -0.00072805, 0.00137237, -0.00009512, -0.0055274, -0.00000077, 0.79788456),
        (0.00013558, -0.00029333, -0.00054125, 0.00262573, -0.00003954, -0.04166397, -0.78539816),
    ),
    (
        (0.00002218, -0.00063522, 0.00886638, -0.07908578, 0.42187146, -1.1249997, 1.0),
        (-0.00020033, 0.00113653, -0.00249511, 0.00017105, 0.01659667, 0.00000156, 0.79788456),
        (-0.00029166, 0.00079824, 0.00074348, -0.00637879, 0.0000565, 0.12499612, -2.35619449),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class WavenumberSum:
    """Wavenumbers of one frequency.

    Attributes:
        k: (wave) 1/m.
        dk: (wave) 1/m, less where the sum is cut off.
    """

    k: np.ndarray
    dk: np.ndarray

    def energies(
        self, fields: np.ndarray, source: RadiatingSource, distances: np.ndarray
    ) -> np.ndarray:
        """Return squares of motion and pressure (2, depth, distance).

        Args:
            fields: U, W and P (depth, wave, 3, column).
            source: whose they are.
            distances: (distance) m, from the source to the receiver; along x in 2-D.
        """
        if source.slowness is not None:  # the same everywhere
            squares = np.abs(fields[:, 0, :, 0]) ** 2
            both = np.stack([squares[:, 0] + squares[:, 1], squares[:, 2]])
            return np.repeat(both[:, :, None], len(distances), axis=2)
        in_plane = self._in_plane if source.dimensions == 2 else self._on_rings
        return in_plane(fields, source.orders, distances)

    def _in_plane(self, fields: np.ndarray, orders: tuple[int, ...], x: np.ndarray) -> np.ndarray:
        """Return `energies` in 2-D."""
        phase = x[:, None] * self.k
        even = np.cos(phase) * self.dk
        odd = np.sin(phase) * self.dk
        waves = [[(-odd, even, even), (1j * even, 1j * odd, 1j * odd)][m] for m in orders]
        motion = [
            sum(each[n] @ fields[..., n, column].T for column, each in enumerate(waves))
            for n in range(3)
        ]
        along, down, pressure = (np.abs(component.T) ** 2 for component in motion)
        return np.stack([along + down, pressure])

    def _on_rings(self, fields: np.ndarray, orders: tuple[int, ...], r: np.ndarray) -> np.ndarray:
        """Return `energies` in 3-D: means over azimuths."""
        bessel = _bessel(r[:, None] * self.k)
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
            squares = np.stack([vertical + radial + azimuthal, pressure]).sum(axis=-1)
            total = total + share * squares.transpose(0, 2, 1)
        return np.asarray(total)


def _bessel(z: np.ndarray) -> list[np.ndarray]:
    """Return J_0 to J_3 of numbers that are not negative, to 1e-7.

    Polynomials of Abramowitz & Stegun (1964), 9.4.1 to 9.4.6.
    """
    small = (np.minimum(z, 3.0) / 3.0) ** 2
    large = np.maximum(z, 3.0)
    zeroth, first = (
        np.where(
            z < 3.0,
            np.polyval(power_series, small) * (0.5 * z) ** m,
            np.polyval(size, 3.0 / large)
            * np.cos(large + np.polyval(phase, 3.0 / large))
            / np.sqrt(large),
        )
        for m, (power_series, size, phase) in enumerate(_POLYNOMIALS)
    )
    # J_(m+1) = 2 m / z J_m - J_(m-1), and powers where that cancels.
    safe = np.maximum(z, 0.3)
    second = np.where(z < 0.3, z**2 / 8.0 * (1.0 - z**2 / 12.0), 2.0 * first / safe - zeroth)
    third = np.where(z < 0.3, z**3 / 48.0 * (1.0 - z**2 / 16.0), 4.0 * second / safe - first)
    return [zeroth, first, second, third]


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
    """Return d in 1/s that takes no more than some wavenumbers.

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
