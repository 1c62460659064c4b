"""The error of the grid under a free surface, weighed for a fit of its closure.

`fit_surface_closure.py` says what is compared: the waves of `closed_grid` with the exact ones of
`half_space_response`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from closed_grid import DEPTHS, NEAR_STRETCH, RATIOS, ClosedGrid
from half_space_response import (
    ODD,
    OFFSETS,
    PLANE,
    RADII,
    Waves,
    exact_near_fields,
    near_fields,
    response,
    shear_response,
    transforms,
)

from seismo.grid.coefficients import Stencil
from seismo.grid.interpolation import axis_weights

NEAREST = 4.9  # cells from a source to a receiver
FLOOR = 0.3  # of the largest of its near fields, that the error of one is relative to at least
SHALLOW = 3.2  # depth down to which low powers of k and w are left out
LEAST_NORM = {"half": 0.25, "node": 0.15}
GROWTH = 1.11  # of the largest eigenvalue; bounded softly


class Weights(NamedTuple):
    """What weighs in a fit: forces, moments and the surface by waves; near fields; the pole."""

    force: float
    moment: float
    surface: float
    near_force: float
    near_moment: float
    pole: float
    moments_from: float  # depth in cells


def without_powers(values: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """Return weighted values (wave, ...) less the nearest combination of powers (wave, power)."""
    basis = np.linalg.qr(powers)[0]
    return values - np.tensordot(basis, np.tensordot(basis.T, values, 1), 1)


def floored(size: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return sizes (..., place, depth), none far below the largest of its depth in its plane."""
    found = size.copy()
    for part in (slice(0, PLANE), slice(PLANE, None)):
        most = (size[..., part, :] * kept[part]).max(-2, keepdims=True)
        found[..., part, :] = np.maximum(size[..., part, :], FLOOR * most)
    return found


class SurfaceErrors(ClosedGrid):
    """What is minimised of all closures of an order and so many rows."""

    def __init__(
        self, stencil: Stencil, rows: int, points: float, weights: Weights, most: float = GROWTH
    ) -> None:
        """Set what is exact, what it weighs, and the largest growth."""
        super().__init__(stencil, rows, points, weights.pole)
        self.weights = weights
        self.most = most
        self._far()
        self._near()

    def _far(self) -> None:
        """Set exact values of the waves, what errors are relative to, and what they weigh."""
        weights, count = self.weights, 2 * len(DEPTHS)
        self.far = self.waves.near == 0
        self.far_shear = (self.shear_waves.near == 0) & ~self.shear_waves.pole
        own, shear = (Waves(*(a[some] for a in waves)) for waves, some in (
            (self.waves, self.far), (self.shear_waves, self.far_shear)))  # fmt: skip
        self.exact = response(own, DEPTHS)
        self.exact_shear = shear_response(shear, DEPTHS)
        motion = np.sqrt((np.abs(self.exact[0]) ** 2).sum(2)).reshape(len(own.k), 5, -1)
        forces = np.hypot(motion[:, 0], motion[:, 1])
        sizes = [forces, forces, *(_not_small(motion[:, n]) for n in (2, 3, 4))]
        of = [weights.force] * 2 + [weights.moment] * 2 + [0.5 * weights.moment]
        scale = [o / size for o, size in zip(of, sizes, strict=True)]
        self.scale = np.concatenate(scale, 1) * (own.weight / np.sqrt(count))[:, None]
        size = np.sqrt((np.abs(self.exact[1]) ** 2).sum(2))
        self.top_scale = own.weight[:, None] * weights.surface / size
        size = np.abs(self.exact_shear[0])
        size[:, 1] = _not_small(size[:, 1])
        of = np.array([weights.force, weights.moment])[:, None]
        self.shear_scale = shear.weight[:, None, None] * of / np.sqrt(count) / size
        self.shear_top = shear.weight * weights.surface / np.abs(self.exact_shear[1])
        self.powers = [(np.flatnonzero(own.vp == vp), _powers(own, own.vp == vp)) for vp in RATIOS]
        self.shear_powers = _powers(shear, np.ones(len(shear.k), bool))

    def _near(self) -> None:
        """Set exact near fields, the sums that give those of the grid, and what they weigh."""
        weights, waves = self.weights, self.waves
        shift, some = axis_weights(0.0, True)
        self.kernel = np.cos(np.outer(self.along, shift + 0.5)) @ some  # of half points along x
        self.kept = np.hypot(np.r_[OFFSETS, RADII][:, None], DEPTHS) >= NEAREST
        self.kept[PLANE:] &= DEPTHS > 3.9  # that the grid's wavenumbers can show
        deep = weights.moments_from <= DEPTHS
        force, moment = weights.near_force * np.ones(len(DEPTHS)), weights.near_moment * deep
        of = np.stack([force, force, moment, moment, 2 * moment])[:, None]
        self.near_numbers = range(1, int(waves.near.max()) + 1)
        self.exact_near, self.exact_near_shear, self.near_scale = [], [], []
        self.near_size, self.near_shear_size, self.near_shear_scale = [], [], []
        for number in self.near_numbers:
            first = np.flatnonzero(waves.near == number)[0]
            exact, shear = exact_near_fields(waves.vp[first], waves.w[first], DEPTHS)
            self.exact_near.append(exact)
            self.exact_near_shear.append(shear)
            self.near_size.append(floored(np.sqrt((np.abs(exact) ** 2).sum(3)), self.kept))
            self.near_shear_size.append(floored(np.abs(shear), self.kept))
            share = self.kept / np.sqrt(self.kept.sum())
            self.near_scale.append(of * share / self.near_size[-1])
            self.near_shear_scale.append(of[[0, 2]] * share / self.near_shear_size[-1])
        self.sums = self._sums()

    def _sums(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return sums over k (source, motion, place, wave) for even and odd fields, and for SH."""
        weight = self.waves.weight[self.waves.near == 1]
        even, odd = transforms(self.along, weight)
        halves = np.array([[half + 1, half] for half in (1, 0, 1, 0, 0)])  # along x, of both ends
        spread = self.kernel ** halves[:, :, None, None] * np.ones((len(even), 1))
        spread[:, :, PLANE:] = self.kernel**2  # in 3-D, whose k end on a circle, taper all
        return even * spread, odd * spread, even * self.kernel**2

    def near(self, values: np.ndarray, number: int) -> np.ndarray:
        """Return a near field of P-SV (source, place, depth, motion, ...)."""
        even, odd, _ = self.sums
        return near_fields(values[self.waves.near == number], even, odd)

    def near_shear(self, values: np.ndarray, number: int) -> np.ndarray | None:
        """Return that of SH (source, place, depth, ...), if it is one of its waves."""
        some = self.shear_waves.near == number
        return (
            np.moveaxis(np.tensordot(self.sums[2], values[some], 1), 1, 0) if some.any() else None
        )

    def _weighted(self, moved, sheared, exact: bool) -> np.ndarray:
        """Return weighted values in a row (value, ...), less the exact ones or not."""
        (values, on_top), (shear, shear_top) = moved, sheared
        far, far_shear = values[self.far], shear[self.far_shear]
        on_top, shear_top = on_top[self.far], shear_top[self.far_shear]
        if exact:
            far, on_top = far - self.exact[0], on_top - self.exact[1]
            far_shear, shear_top = (
                far_shear - self.exact_shear[0], shear_top - self.exact_shear[1]
            )  # fmt: skip
        parts = self._without_local(far, on_top) + self._shear_without_local(far_shear, shear_top)
        for n, number in enumerate(self.near_numbers):
            found, of_shear = self.near(values, number), self.near_shear(shear, number)
            if exact:
                found = found - self.exact_near[n]
            found = found * _like(self.near_scale[n], found)
            parts.append(found[:, self.kept])
            if of_shear is not None:
                of_shear = of_shear - self.exact_near_shear[n] if exact else of_shear
                of_shear = of_shear * _like(self.near_shear_scale[n], of_shear)
                parts.append(of_shear[:, self.kept])
        return np.concatenate([part.reshape(-1, *values.shape[3:]) for part in parts])

    def _without_local(self, far: np.ndarray, on_top: np.ndarray) -> list[np.ndarray]:
        """Weigh P-SV waves, without what stays next to shallow sources: powers of k and w."""
        far, on_top = far * _like(self.scale, far), on_top * _like(self.top_scale, on_top)
        for some, (few, many) in self.powers:
            k = self.waves.k[self.far][some, None]
            for n, motion in np.ndindex(ODD.shape):
                for depth in np.flatnonzero(DEPTHS < SHALLOW):
                    at = n * len(DEPTHS) + depth
                    powers = self.scale[some, at, None] * few * (k if ODD[n, motion] else 1)
                    far[some, at, motion] = without_powers(far[some, at, motion], powers)
            for force, motion in np.ndindex(2, 2):
                powers = self.top_scale[some, force, None] * many * (k if force != motion else 1)
                on_top[some, force, motion] = without_powers(on_top[some, force, motion], powers)
        return [far, on_top]

    def _shear_without_local(self, far: np.ndarray, on_top: np.ndarray) -> list[np.ndarray]:
        """Weigh SH waves in the same way."""
        few, many = self.shear_powers
        far = far * _like(self.shear_scale, far)
        for n, depth in np.ndindex(2, int((DEPTHS < SHALLOW).sum())):
            powers = self.shear_scale[:, n, depth, None] * few
            far[:, n, depth] = without_powers(far[:, n, depth], powers)
        on_top = on_top * _like(self.shear_top, on_top)
        return [far, without_powers(on_top, self.shear_top[:, None] * many)]

    def _bounds(self, x: np.ndarray) -> np.ndarray:
        """Return what holds norms, growth and the distance from smooth operators."""
        _, half, node = self.operators(x, self.top)
        low = np.r_[half - LEAST_NORM["half"], node - LEAST_NORM["node"]]
        excess = 5000 * max(0.0, self.growth(x) - self.most)
        return np.r_[500 * np.minimum(low, 0), 0.03 * (x - self.smooth), excess]

    def residual(self, x: np.ndarray) -> np.ndarray:
        """Return what is minimised."""
        found = 1e3 * self._weighted(self.moved(x), self.sheared(x), exact=True)
        small = min(norm.min() for norm in self.operators(x, self.top)[1:]) < 0.02
        return np.concatenate([found.real, found.imag, self._bounds(x)]) + (1e3 if small else 0.0)

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return its derivatives by x."""
        found = 1e3 * self._weighted(self.moved_slopes(x), self.sheared_slopes(x), exact=False)
        own, step = self._bounds(x), 1e-6
        bounds = [(self._bounds(x + step * one) - own) / step for one in np.eye(len(x))]
        return np.concatenate([found.real, found.imag, np.stack(bounds, 1)])

    def near_errors(self, x: np.ndarray) -> list[tuple[int, np.ndarray, np.ndarray | None]]:
        """Return the relative errors (source, place, depth) of near fields, P-SV and SH."""
        values, shear = self.moved(x)[0], self.sheared(x)[0]
        found = []
        for n, number in enumerate(self.near_numbers):
            error = np.sqrt((np.abs(self.near(values, number) - self.exact_near[n]) ** 2).sum(3))
            of_shear = self.near_shear(shear, number)
            if of_shear is not None:
                of_shear = np.abs(of_shear - self.exact_near_shear[n]) / self.near_shear_size[n]
            found.append((n, error / self.near_size[n], of_shear))
        return found

    def weigh_again(self, x: np.ndarray, wanted: float) -> None:
        """Let near fields weigh by their error, but for those of the shortest waves."""
        for n, error, of_shear in self.near_errors(x):
            if n % len(NEAR_STRETCH):
                self.near_scale[n] *= np.sqrt(np.clip(error / wanted, 0.5, 4))
                if of_shear is not None:
                    self.near_shear_scale[n] *= np.sqrt(np.clip(of_shear / wanted, 0.5, 4))

    def worst(self, x: np.ndarray) -> dict[str, float]:
        """Return the largest error of near fields that count, by source."""
        names, found = ("force x", "force z", "xz", "zz", "explosion"), dict[str, float]()
        for n, error, of_shear in self.near_errors(x):
            if not n % len(NEAR_STRETCH):
                continue
            some = list(zip(names, error, self.near_scale[n], strict=True))
            if of_shear is not None:
                own = self.near_shear_scale[n]
                some += zip(("force y", "yz"), of_shear, own, strict=True)
            for name, errors, scale in some:
                found[name] = max(found.get(name, 0.0), float((errors * (scale > 0)).max()))
        return found


def _not_small(size: np.ndarray) -> np.ndarray:
    """Return sizes (wave, depth), none below half their root mean square over the depths."""
    return np.maximum(size, 0.5 * np.sqrt((size**2).mean(1, keepdims=True)))


def _powers(waves: Waves, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return even powers of k and w of some waves (wave, power), few and many."""
    k, w = waves.k[some] ** 2, waves.w.real[some] ** 2
    few = [np.ones_like(k), k, w]
    return np.stack(few, 1), np.stack([*few, k * k, k * w, w * w], 1)


def _like(scale: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a scale with as many axes as values have."""
    return scale.reshape(scale.shape + (1,) * (values.ndim - scale.ndim))
