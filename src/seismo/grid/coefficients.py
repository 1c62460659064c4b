"""Staggered finite-difference coefficients, and the dispersion of waves that they leave.

First derivative, half-way between the samples it uses (M = order / 2, spacing 1)::

    f'(0) ~ sum_m c_m [f(m - 1/2) - f(1/2 - m)],  m = 1 .. M

Second derivative, on a sample::

    f''(0) ~ d_0 f(0) + sum_m d_m [f(m) + f(-m)]

First derivative, on a sample::

    f'(0) ~ sum_m e_m [f(m) - f(-m)]

whose symbol squared never exceeds that of the second: second derivatives along other directions
than the axes are made of them, and leave a Laplacian that makes no wave of any length grow.

*Taylor* coefficients are exact for polynomials of the highest possible degree (Fornberg 1988).
*Fitted* ones keep the error of the phase velocity below a tolerance up to the largest possible
wavenumber (Holberg 1987; Liu 2014). A `Stencil` is an order and such a tolerance, 0 for Taylor.
Runs take their tolerances from a short list (`TOLERANCES`): coefficients are compiled into the
kernels, and few tolerances keep the kernel cache small.

*Bounded* coefficients, along chosen axes, allow longer time steps. The stability limit falls with
S, the largest value of

    K(k) = 2 sum_m c_m sin((m - 1/2) k)

over all wavenumbers k (radians per sample), which shortest waves have. Coefficients that are
accurate in as wide a band as possible have S = 2.6 to 3; no wave needs that much where the grid has
more than four points per wavelength. Bounded ones keep K below a bound at every k, and its error
below a tolerance in the widest band for which such coefficients exist. From a quarter beyond the
band on no wave has the frequency of a wave within it. `scripts/fit_bounded_coefficients.py`
computes them, `bounded_coefficients.json` stores them.

Numerical dispersion leaves an error in a trace whose waves have crossed the grid. A plane wave
along the unit vector n, of angular frequency w, in a medium of velocity c, has on the grid the
wavenumber k that solves

    sum_a [K(k n_a h_a) / h_a]^2 = (w / c)^2,       K(q)   = 2 sum_m c_m sin((m - 1/2) q)
                                             or     K(q)^2 = 2 sum_m d_m (1 - cos(m q))

for staggered first and centred second differences. Where the error of time stepping is not removed
from the traces, w becomes (2 / dt) sin(w dt / 2). After a distance s the phase is (k - w / c) s too
large, and the relative L2 error e of a trace of amplitude spectrum S follows from

    e^2 = integral |S|^2 |exp(i phase) - 1|^2 dw / integral |S|^2 dw

Frequencies above the grid's cut-off do not propagate: their error is 100 %.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.polynomial import chebyshev

ORDERS = tuple(range(2, 17, 2))
TOLERANCES = (1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5, 5e-6, 2e-6, 0.0)  # of the phase velocity
MOST_PAIRS = 4  # of samples, in an interpolation to half points
_SAMPLES = 1001  # wavenumbers of a band at which the error is evaluated
_CENTRED_BAND = 0.8  # of that of second derivatives: where first ones on the samples are fitted
_MARGIN = 1.0 + 1e-7  # between their symbols, for wavenumbers between the sampled ones
_SECANTS = 20  # largest number of secant steps
_CLOSE = 1e-14  # largest distance of the error from the tolerance
_DECIMALS = 12  # of fitted coefficients: the same with any linear-algebra library
# Bounded coefficients
BOUNDED_ORDERS = tuple(range(6, 17, 2))
BOUNDS = (1.5, 1.7, 1.9, 2.2)  # of K, spacing 1
UNDER_SURFACE = {8: (1.9, 2e-5)}  # along z, by the order


@dataclass(frozen=True)
class Stencil:
    """Difference coefficients of a run.

    Attributes:
        order: 2, 4, ... 16: twice the number of coefficients.
        tolerance: largest relative error of the phase velocity in the band that the coefficients
            are fitted to, 0 for Taylor coefficients.
        bounds: of staggered first derivatives along chosen axes, such as "xy": the axes, the bound
            and the tolerance.
    """

    order: int
    tolerance: float = 0.0
    bounds: tuple[tuple[str, float, float], ...] = ()

    @property
    def bounded(self) -> str:
        """The axes along which derivatives are bounded."""
        return "".join(axes for axes, *_ in self.bounds)

    def along(self, axis: str) -> np.ndarray:
        """Return coefficients c_1 .. c_M of the staggered first derivative along an axis."""
        for axes, bound, tolerance in self.bounds:
            if axis in axes:
                return bounded(self.order, bound, tolerance)
        return staggered(self.order, self.tolerance)

    def symbol(self, axis: str, varied: bool = False) -> float:
        """Return the largest symbol S of the staggered first derivative along an axis.

        Where rock varies along it (`varied`) waves are no plane ones: then it is 2 sum |c_m|, the
        most that differences make of any motion. Of coefficients whose signs alternate, as
        that are not bounded, both are the same.
        """
        c = self.along(axis)
        return (
            2.0 * float(np.abs(c).sum()) if varied and axis in self.bounded else largest_symbol(c)
        )

    @property
    def first(self) -> np.ndarray:
        """Coefficients c_1 .. c_M of the staggered first derivative along z."""
        return self.along("z")

    @property
    def second(self) -> np.ndarray:
        """Coefficients d_0 .. d_M of the centred second derivative."""
        return centred(self.order, self.tolerance)

    @property
    def on_nodes(self) -> np.ndarray:
        """Coefficients e_1 .. e_M of the first derivative on a sample."""
        return centred_first(self.order, self.tolerance)


def midpoint(pairs: int) -> np.ndarray:
    """Return the weights of pairs of samples for the value half-way, exact to power 2 pairs - 1."""
    return 0.5 * _products((np.arange(1, pairs + 1) - 0.5) ** 2)


def _products(squares: np.ndarray) -> np.ndarray:
    """Return prod of s / (s - s_m) over all other s, for each s_m (Fornberg 1988)."""
    ratios = squares[None, :] / (squares[None, :] - squares[:, None] + np.diag(squares))
    return np.prod(ratios, axis=1)


def pairs_of(order: int) -> int:
    """Return the pairs of samples of interpolations that go with differences of an order."""
    return min(order // 2, MOST_PAIRS)


def midpoint_pairs(order: int) -> np.ndarray:
    """Return their weights."""
    return midpoint(pairs_of(order))


def cross_reach(order: int) -> int:
    """Return the rows on either side of a row far from the surface that terms of slopes read."""
    return order // 2 + pairs_of(order) - 1


MIDPOINT = tuple(midpoint(2).tolist())  # four samples: exact to the third power


def _taylor_staggered(terms: int) -> np.ndarray:
    # Samples at +-(2m - 1) / 2; a first derivative weights each pair by 1 / (2m - 1).
    odd = 2 * np.arange(1, terms + 1) - 1.0
    return _products(odd**2) / odd


def _taylor_centred(terms: int) -> np.ndarray:
    # Samples at +-m; a second derivative weights each pair by 1 / m^2.
    squares = np.arange(1, terms + 1.0) ** 2
    return _products(squares) / squares


def _equal_ripple(
    terms: int, band: float, power: int, on_nodes: bool = False
) -> tuple[np.ndarray, float]:
    """Fit the symbol's ratio to 1 over wavenumbers 0 .. band with the least maximum error.

    With x = sin^2(k / 2) the ratio of numerical and true derivative is w(k) p(x), where
    w = (2 sin(k / 2) / k)^power, or sin(k) / k of first derivatives that are taken on the nodes,
    and p is a polynomial of degree M - 1. The error of the best p has
    the same size, with alternating sign, at M + 1 wavenumbers, which the exchange algorithm of
    Remez (1934) determines.

    Args:
        terms: M.
        band: largest wavenumber in radians per sample.
        power: 1 for the first derivative, 2 for the second.
        on_nodes: whether it is the first derivative on a sample.

    Returns:
        p (M) at cos k = Chebyshev points of the first kind, and the largest error.
    """
    # Samples of x = sin^2(k / 2), dense near both ends of the band.
    edge = math.sin(0.5 * band) ** 2
    x = 0.5 * edge * (1.0 - np.cos(np.linspace(0.0, np.pi, _SAMPLES)))
    # Basis w(k) T_j(x), with T_j the Chebyshev polynomials on 0 .. edge.
    k = 2.0 * np.arcsin(np.sqrt(x))
    weight = np.sinc(k / np.pi) if on_nodes else np.sinc(0.5 * k / np.pi) ** power
    basis = chebyshev.chebvander(2.0 * x / edge - 1.0, terms - 1) * weight[:, None]
    extrema = np.linspace(0, _SAMPLES - 1, terms + 1).round().astype(int)
    signs = (-1.0) ** np.arange(terms + 1)
    for _ in range(30):
        # Levelled error: w p + (-1)^i e = 1 at the current extrema, unknowns p and e.
        system = np.column_stack([basis[extrema], signs])
        series = np.linalg.solve(system, np.ones(terms + 1))[:-1]
        error = basis @ series - 1.0
        # Exchange: the new extrema are the peaks of the error between its zeros.
        lobes = np.split(np.arange(_SAMPLES), np.flatnonzero(np.diff(np.sign(error))) + 1)
        peaks = np.array([lobe[np.argmax(np.abs(error[lobe]))] for lobe in lobes])
        if len(peaks) != terms + 1 or (peaks == extrema).all():
            break
        extrema = peaks
    nodes = 0.5 * (1.0 - chebyshev.chebpts1(terms))
    ratio = chebyshev.chebval(2.0 * nodes / edge - 1.0, series)
    return ratio, float(np.abs(error).max())


def _fitted(terms: int, tolerance: float, power: int) -> np.ndarray:
    """Return p of `_equal_ripple` for the widest band that keeps a tolerance, as a_j cos(j k)."""
    # The error grows about as the power 2M of the band: secants of logarithms converge fast.
    bands = [math.log(1.5)]
    errors = [math.log(_equal_ripple(terms, 1.5, power)[1] / tolerance)]
    next_band = math.log(2.0)
    for _ in range(_SECANTS):
        # A step goes at most half-way (in logarithms) to the Nyquist wavenumber pi.
        bands.append(min(next_band, 0.5 * (bands[-1] + math.log(np.pi))))
        ratio, error = _equal_ripple(terms, math.exp(bands[-1]), power)
        errors.append(math.log(error / tolerance))
        if abs(error - tolerance) < _CLOSE:
            break
        slope = (errors[-1] - errors[-2]) / (bands[-1] - bands[-2])
        next_band = bands[-1] - errors[-1] / slope
    # Chebyshev series in cos k: p = sum_j a_j T_j(cos k) = sum_j a_j cos(j k).
    return chebyshev.chebfit(chebyshev.chebpts1(terms), ratio, terms - 1)


def _fitted_staggered(terms: int, tolerance: float) -> np.ndarray:
    """Return c_m from 2 sum c_m sin((m - 1/2) k) = 2 sin(k / 2) p."""
    # 2 sin(k / 2) cos(j k) = sin((j + 1/2) k) - sin((j - 1/2) k), term by term.
    a = np.append(_fitted(terms, tolerance, 1), 0.0)
    c = 0.5 * (a[:-1] - a[1:])
    c[0] += 0.5 * a[0]
    return c


def _fitted_centred(terms: int, tolerance: float) -> np.ndarray:
    """Return d_m from 2 sum d_m (1 - cos(m k)) = 4 sin^2(k / 2) p = 2 (1 - cos k) p."""
    # The relative error of the phase velocity is half that of its square: twice the tolerance.
    p = _fitted(terms, 2.0 * tolerance, 2)
    return -chebyshev.chebmul([1.0, -1.0], p)[1:]


@lru_cache
def staggered(order: int, tolerance: float = 0.0) -> np.ndarray:
    """Return c_1 .. c_M of the staggered first derivative.

    Args:
        order: 2, 4, ... 16.
        tolerance: see `Stencil`.

    Returns:
        coefficients (order / 2) in units of 1 / spacing.
    """
    if tolerance == 0.0:
        return _taylor_staggered(order // 2)
    return _fitted_staggered(order // 2, tolerance).round(_DECIMALS)


@lru_cache
def centred(order: int, tolerance: float = 0.0) -> np.ndarray:
    """Return d_0 .. d_M of the centred second derivative.

    Args:
        order: 2, 4, ... 16.
        tolerance: see `Stencil`.

    Returns:
        coefficients (order / 2 + 1) in units of 1 / spacing^2.
    """
    if tolerance == 0.0:
        terms = _taylor_centred(order // 2)
    else:
        terms = _fitted_centred(order // 2, tolerance).round(_DECIMALS)
    return np.concatenate([[-2 * terms.sum()], terms])


@lru_cache
def centred_first(order: int, tolerance: float = 0.0) -> np.ndarray:
    """Return e_1 .. e_M of the first derivative on a sample.

    They are fitted to most of the band in which the second derivative of the same order keeps the
    tolerance, and made so much smaller that their symbol squared stays below its symbol.

    Args:
        order: 2, 4, ... 16.
        tolerance: see `Stencil`.

    Returns:
        coefficients (order / 2) in units of 1 / spacing.
    """
    m = np.arange(1, order // 2 + 1)
    second = centred(order, tolerance)
    k = np.linspace(1e-3, np.pi - 1e-3, 4001)
    squares = 2 * (1 - np.cos(np.outer(k, m))) @ second[1:]
    if tolerance == 0.0:
        return np.cumprod(-(order // 2 + 1 - m) / (order // 2 + m)) / -m
    outside = np.abs(np.sqrt(squares) / k - 1.0) > 1.01 * tolerance
    fitted = _fitted_first(order // 2, _CENTRED_BAND * float(k[np.argmax(outside)]))
    excess = np.max(4 * (np.sin(np.outer(k, m)) @ fitted) ** 2 / squares)
    return (fitted / math.sqrt(max(1.0, excess * _MARGIN))).round(_DECIMALS)


def _fitted_first(terms: int, band: float) -> np.ndarray:
    """Return e_m from 2 sum e_m sin(m k) = sin(k) p."""
    # 2 sin(k) cos(j k) = sin((j + 1) k) - sin((j - 1) k), term by term.
    ratio, _ = _equal_ripple(terms, band, 1, on_nodes=True)
    a = np.pad(chebyshev.chebfit(chebyshev.chebpts1(terms), ratio, terms - 1), (0, 2))
    e = 0.25 * (a[:-2] - a[2:])
    e[0] += 0.25 * a[0]
    return e


def staggered_symbol(coefficients: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return K(k) = 2 sum_m c_m sin((m - 1/2) k) at wavenumbers k (n) in radians per sample."""
    m = np.arange(1, len(coefficients) + 1)
    return 2 * np.sin(np.outer(k, m - 0.5)) @ coefficients


def largest_symbol(coefficients: np.ndarray) -> float:
    """Return the largest |derivative of exp(ikx)| of staggered coefficients over all k."""
    return float(np.abs(staggered_symbol(coefficients, np.linspace(1e-3, np.pi, 2001))).max())


def largest_second_symbol(coefficients: np.ndarray) -> float:
    """Return the largest -(second derivative of exp(ikx)) of centred coefficients over all k."""
    # Symbol of the second difference: K(k)^2 = 2 sum_m d_m (1 - cos(m k)), up to its sign.
    k = np.linspace(1e-3, np.pi, 2001)
    m = np.arange(1, len(coefficients))
    return float((2 * (1 - np.cos(np.outer(k, m))) @ coefficients[1:]).max())


def phase_velocity_ratio(coefficients: np.ndarray, points_per_wavelength: np.ndarray) -> np.ndarray:
    """Return numerical / true velocity along an axis for staggered coefficients (no time error)."""
    # c_numerical / c = K(k) / k with k = 2 pi / (points per wavelength).
    k = 2 * np.pi / np.atleast_1d(points_per_wavelength).astype(float)
    return staggered_symbol(coefficients, k) / k


def inverse_of_staggered(first: Sequence[float], reach: int) -> np.ndarray:
    """Return the weights of the inverse of staggered differences but for their step of a row."""
    k = 2.0 * np.pi * np.arange(reach * 4) / (reach * 4)
    half = np.sin(0.5 * k)
    with np.errstate(invalid="ignore"):
        # D / delta: staggered difference over that of a step; its inverse by FFT.
        symbol = sum(c * np.sin((m + 0.5) * k) for m, c in enumerate(first)) / half
    symbol[0] = 1.0
    taps = np.roll(np.fft.ifft(1.0 / symbol).real, reach)[: 2 * reach + 1]
    return taps / taps.sum()


@lru_cache
def _fits() -> dict[tuple[int, float, float], tuple[float, ...]]:
    """Return the coefficients by order, bound and tolerance."""
    text = files("seismo.grid").joinpath("bounded_coefficients.json").read_text()
    return {
        (fit["order"], fit["bound"], fit["tolerance"]): tuple(fit["c"]) for fit in json.loads(text)
    }


def under_surface(order: int) -> tuple[tuple[str, float, float], ...]:
    """Return the bounds of a `Stencil` along z, whose rows a free surface closes."""
    return (("z", *UNDER_SURFACE[order]),)


def bounded_family(order: int) -> list[tuple[float, float]]:
    """Return the bounds and tolerances of an order for which there are coefficients."""
    return [(bound, tolerance) for known, bound, tolerance in _fits() if known == order]


def bounded(order: int, bound: float, tolerance: float) -> np.ndarray:
    """Return c_1 .. c_M of the staggered first derivative, in units of 1 / spacing."""
    return np.array(_fits()[order, bound, tolerance])


_WAVES = 1500  # wavenumbers, up to the shortest wave on the grid
_UNRELATED = 0.5 * math.pi  # phase error in rad from which on waves count as uncorrelated
_LOST = np.inf


@dataclass(frozen=True)
class Spectra:
    """Spectra of the traces of a run.

    Attributes:
        frequency: (n) Hz.
        energy: (spectrum, n) share of each trace's energy at each frequency; sums to 1.
    """

    frequency: np.ndarray
    energy: np.ndarray

    def error(self, phase: np.ndarray) -> float:
        """Return the relative L2 error of the worst trace by its phase errors (n) in radians."""
        # |exp(i phase) - 1|^2 = 4 sin^2(phase / 2), not less again once the waves are unrelated.
        bounded = np.minimum(np.abs(phase), _UNRELATED)
        squares = np.where(np.isinf(phase), 1.0, 4.0 * np.sin(0.5 * bounded) ** 2)
        return float(np.sqrt((self.energy @ squares).max()))


@dataclass(frozen=True)
class Operator:
    """Plane-wave symbol of the spatial differences of a run.

    Attributes:
        stencil: order and tolerance.
        second_order: whether the equation has second differences, or staggered first ones.
        spacing: (axis) m.
        dt: time step in s where its error is not removed from the traces, else 0.
    """

    stencil: Stencil
    second_order: bool
    spacing: tuple[float, ...]
    dt: float = 0.0

    def phase(
        self, frequency: np.ndarray, velocity: float, direction: tuple[float, ...]
    ) -> np.ndarray:
        """Return the phase error (n) in radians per metre, infinite above the grid's cut-off.

        Args:
            frequency: (n) Hz.
            velocity: of the wave in m/s.
            direction: (axis) of the wave, of length 1.
        """
        # The relation holds on any scale: in units of the largest spacing, many grids share it.
        scale = max(self.spacing)
        relative = tuple(h / scale for h in self.spacing)
        k, symbol = _wavenumbers(replace(self, spacing=relative, dt=0.0), direction)
        true = 2.0 * math.pi * frequency / velocity
        target = true
        if self.dt:
            # Leapfrog: w -> (2 / dt) sin(w dt / 2).
            half_angle = math.pi * frequency * self.dt
            target = true * np.sinc(np.minimum(half_angle, 0.5 * math.pi) / math.pi)
        # Inverse of the dispersion relation: k where the symbol equals w / c.
        numerical = np.interp(target * scale, symbol, k, right=_LOST) / scale
        # Phase k s grows against the true w s / c: the difference per metre.
        return numerical - true

    def symbol_squared(self, axis: int, q: np.ndarray) -> np.ndarray:
        """Return K(q)^2 (n) along an axis of `spacing` at wavenumbers q (n) in rad per sample."""
        if self.second_order:
            m = np.arange(1, self.stencil.order // 2 + 1)
            return 2.0 * (1.0 - np.cos(np.outer(q, m))) @ self.stencil.second[1:]
        name = ("xyz" if len(self.spacing) == 3 else "xz")[axis]
        return staggered_symbol(self.stencil.along(name), q) ** 2


@lru_cache(maxsize=64)  # waves of many media and spacings ask for the same
def _wavenumbers(operator: Operator, direction: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return wavenumbers k and the symbol of the differences there, both (samples) in radians.

    They count per unit of the operator's spacings.
    """
    steps = [abs(n) * h for n, h in zip(direction, operator.spacing, strict=True)]
    k = np.linspace(0.0, math.pi / max(steps), _WAVES)
    # sum_a [K(k n_a h_a) / h_a]^2, which is zero across the direction.
    squares = sum(
        operator.symbol_squared(axis, k * step) / h**2
        for axis, (step, h) in enumerate(zip(steps, operator.spacing, strict=True))
        if step
    )
    symbol = np.sqrt(np.maximum(squares, 0.0))
    # Waves shorter than that of the largest symbol have a negative group velocity; frequencies that
    # any of them has are lost.
    rising = 1 + int(np.argmax(symbol))
    carried = symbol[:rising] <= symbol[rising - 1 :].min()
    return k[:rising][carried], np.maximum.accumulate(symbol[:rising][carried])
