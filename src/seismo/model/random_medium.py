"""Random media: relative perturbations of the medium below, with von Karman's covariance.

A perturbation is a Gaussian field of mean 0 and standard deviation sigma whose covariance at a
distance (x, y, z) is (von Karman 1948; Frankel & Clayton 1986, JGR 91, eq. 5; Klimes 2002)

    C = sigma^2 2^(1 - H) / Gamma(H) r^H K_H(r),    r^2 = (x / a_x)^2 + (y / a_y)^2 + (z / a_z)^2,

K_H the modified Bessel function, H Hurst's exponent, a the correlation lengths. In N dimensions its
power spectrum is

    P(k) = sigma^2 (2 sqrt(pi))^N Gamma(H + N/2) / Gamma(H) a_x a_y a_z / (1 + kappa^2)^(H + N/2),

kappa^2 = (k_x a_x)^2 + ... It is drawn at the nodes of the grid, or of another grid, over the whole
region at once, by circulant embedding (Dietrich & Newsam 1997, SIAM J. Sci. Comput. 18): white
noise is filtered by the root of the spectrum of C on a periodic lattice that is longer by several
correlation lengths. So values at nodes have the covariance C itself, and the standard deviation
sigma whatever the spacing; waves shorter than two spacings alias to the shortest. White
noise is keyed by the seed and the number of the plane z (Philox: Salmon et al. 2011), and every
process draws the whole lattice: no cut of the grid changes a bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from seismo.equations.framework.parameters import ParameterFields
from seismo.errors import ModelError
from seismo.formats.reading.arrays import refuse_what_does_not_fit
from seismo.grid.grid import Bounds
from seismo.model.gridded import AXES, GridField
from seismo.scenario.gridded_parts import CLIPPED, RandomPart
from seismo.scenario.units import meant_in_km

_FAR_BELOW = 0.1  # of the spacing, are lengths meant in km
_BEYOND = 5.0  # correlation lengths by which the lattice is longer than the region
_BYTES = 24  # of a point of the lattice, while it is drawn
_LEAST = 1e-6  # r of the table of the covariance
_MOST = 60.0
_ROWS = 4000
_STEP = 0.05  # of the integral for K_H, which converges exponentially
_UNDERFLOW = 700.0


@dataclass(frozen=True)
class RandomMedium:
    """Perturbations of the parts before it: parameters times 1 + factor times a field."""

    factors: Mapping[str, float]
    field: GridField
    layered: bool = False
    parameters: frozenset[str] = frozenset()  # that it sets

    def paint(
        self, fields: ParameterFields, z: np.ndarray, y: np.ndarray | None, x: np.ndarray
    ) -> None:
        """Multiply the values below."""
        perturbation = self.field.at(z, y, x)
        for name in self.factors.keys() & fields.keys():
            fields[name] *= 1.0 + self.factors[name] * perturbation

    def described(self) -> str:
        """Describe the perturbations on the grid that they were drawn at."""
        percents = (
            100.0
            * self.field.factor
            * np.array(
                [self.field.samples.std(), self.field.samples.min(), self.field.samples.max()]
            )
        )
        names = ", ".join(self.factors)
        return f"of {names}: {percents[0]:.3g} % rms, {percents[1]:.3g} to {percents[2]:.3g} %"

    def uneven(self, low: Bounds, high: Bounds) -> np.ndarray:
        """Return False: cells have the value of their node."""
        return np.zeros((), bool)


def draw(
    section: RandomPart,
    key: tuple[str | int, ...],
    region: Mapping[str, tuple[float, float]],
    spacing: Mapping[str, float],
) -> RandomMedium:
    """Draw the random medium of a part of the model.

    Args:
        section: the part (`seismo.scenario.gridded_parts.RandomPart`).
        key: of the part in the scenario.
        region: limits of the grid in m by axis name.
        spacing: of the grid in m by axis name.

    Raises:
        ModelError: a correlation length is shorter than the spacing.
        InsufficientMemoryError: the lattice does not fit into the free memory.
    """
    axes = "".join(axis for axis in AXES if axis in region)
    steps = [getattr(section.spacing, a, None) or spacing.get(a, spacing["x"]) for a in axes]
    lengths = [getattr(section.correlation, axis) for axis in axes]
    for axis, step, length in zip(axes, steps, lengths, strict=True):
        if length < step:
            meant = meant_in_km(length, step) if length < _FAR_BELOW * step else ""
            remedy = meant or "give at least that, or a finer grid"
            raise ModelError(
                f"{length:g} m is less than the spacing {step:g} m of the points that the medium "
                f"is drawn at; {remedy}",
                *key, "correlation", axis,
            )  # fmt: skip
    counts = [
        math.ceil((region[axis][1] - region[axis][0]) / step - 1e-6) + 1
        for axis, step in zip(axes, steps, strict=True)
    ]
    relative = [step / length for step, length in zip(steps, lengths, strict=True)]
    normal = gaussian_field(counts, relative, section.hurst, section.seed)
    samples = np.clip(normal, -CLIPPED, CLIPPED, out=normal)
    origin = tuple(region[axis][0] for axis in axes)
    field = GridField(samples, axes, origin, tuple(steps), section.std, "the random medium", key)
    factors = {name: value for name, value in section.properties.model_dump().items() if value}
    return RandomMedium(factors, field)


def gaussian_field(
    counts: list[int], spacing: list[float], hurst: float, seed: int, periodic: bool = False
) -> np.ndarray:
    """Return a Gaussian field (counts) of mean 0, variance 1 and von Karman's covariance.

    Args:
        counts: numbers of points.
        spacing: of the points along each axis, in correlation lengths.
        hurst: exponent H.
        seed: of the white noise.
        periodic: whether the field may repeat after so many points; else it is part of a longer
            field.

    Raises:
        InsufficientMemoryError: the lattice does not fit into the free memory.
    """
    lattice = list(counts)
    if not periodic:
        longer = [min(math.ceil(_BEYOND / h), n) for h, n in zip(spacing, counts, strict=True)]
        lattice = [_smooth(n + more) for n, more in zip(counts, longer, strict=True)]
    refuse_what_does_not_fit("a random medium", _BYTES * math.prod(lattice))
    spectrum = _spectrum(lattice, spacing, hurst)
    transform = np.fft.rfftn(_white_noise(lattice, seed))
    transform *= np.sqrt(spectrum)
    field = np.fft.irfftn(transform, lattice, range(len(lattice)))
    return np.ascontiguousarray(field[tuple(slice(n) for n in counts)])


def covariance(r: np.ndarray, hurst: float) -> np.ndarray:
    """Return C / sigma^2 (as r) at distances r in correlation lengths."""
    logarithm, table = _table(hurst)
    with np.errstate(divide="ignore"):
        inside = np.interp(np.log(r), logarithm, table, right=0.0)
    return np.where(r < _LEAST, 1.0, inside)


@lru_cache
def _table(hurst: float) -> tuple[np.ndarray, np.ndarray]:
    """Return logarithms of r, and C / sigma^2 at them."""
    logarithm = np.linspace(math.log(_LEAST), math.log(_MOST), _ROWS)
    rows = np.exp(logarithm)[:, None]
    # K_H(r) = integral over t > 0 of exp(-r cosh t) cosh(H t)   (Abramowitz & Stegun 9.6.24)
    t = np.arange(0.0, math.acosh(_UNDERFLOW / _LEAST), _STEP)
    integrand = np.exp(-np.minimum(rows * np.cosh(t), _UNDERFLOW)) * np.cosh(hurst * t)
    bessel = _STEP * (integrand.sum(1) - 0.5 * integrand[:, 0])
    return logarithm, 2.0 ** (1.0 - hurst) / math.gamma(hurst) * rows[:, 0] ** hurst * bessel


def _spectrum(lattice: list[int], spacing: list[float], hurst: float) -> np.ndarray:
    """Return the spectrum of the covariance on a periodic lattice, not negative, of variance 1."""
    squares = [
        (np.minimum(np.arange(n), n - np.arange(n)) * h) ** 2
        for n, h in zip(lattice, spacing, strict=True)
    ]
    rest = np.add.outer(squares[1], squares[2]) if len(squares) == 3 else squares[1]
    covariances = np.empty(lattice, np.float32)
    for plane, square in zip(covariances, squares[0], strict=True):
        plane[...] = covariance(np.sqrt(square + rest), hurst)
    spectrum = np.fft.rfftn(covariances).real.clip(min=0.0)
    mean = np.fft.irfftn(spectrum, lattice, range(len(lattice))).flat[0]  # over all waves
    return spectrum / mean


def _white_noise(lattice: list[int], seed: int) -> np.ndarray:
    """Return independent normal numbers, by the seed and the number of each plane."""
    noise = np.empty(lattice, np.float32)
    for number, plane in enumerate(noise):
        generator = np.random.Generator(np.random.Philox(key=np.array([seed, number], np.uint64)))
        plane[...] = generator.standard_normal(plane.shape, np.float32)
    return noise


def _smooth(count: int) -> int:
    """Return the next number with no prime factor above 5, of which transforms are fast."""
    while True:
        rest = count
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return count
        count += 1
