"""Plane waves in a stack of solid and fluid layers, and at an interface of two media.

By the global matrix method: for a Laplace variable s and many horizontal wavenumbers k, motion in
a vertical plane is
    u_h = i U(z), u_z = W(z), sigma_hz = i X(z), sigma_zz = Z(z)      times exp(i k x)
and in each layer a sum of P and S waves going down, exp(-nu (z - top)), and up,
exp(-nu (bottom - z)), with nu = sqrt(k^2 + s^2/c^2), real part positive. All amplitudes of all
layers are found at once from the conditions at the interfaces (Knopoff 1964; Schmidt & Tango
1986): only decaying exponentials occur, so the method is stable for every k and thickness, and
fluids just have fewer waves. Transverse motion (SH) is the scalar version of the same.

What enters a stack are waves from its half-spaces, or those that a source sends up and down in a
whole space (Aki & Richards 2002, 9.1).
Sources, in the frame horizontal direction h, transverse t, vertical z:
    P-SV: force h, force z, moments hh, hz = zh, zz;   SH: force t, moments th = ht, tz = zt.
k [1/m], s [1/s], unit displacement spectra per unit force or moment.

At a flat interface of any pair of media: reflection and transmission for any incidence. The
coefficients are ratios of displacement amplitudes in the sign convention of Aki & Richards
(2002) fig. 5.6: P along its way, downgoing SV as (cos j, -sin j) and upgoing SV as
(cos j, sin j) in (x, z), z down, waves going towards +x. p [s/m] is the horizontal slowness;
beyond a critical angle coefficients are complex, for a time factor exp(-i omega t).
Literature: Zoeppritz (1919); Aki & Richards (2002) 5.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from typing import Any, Protocol

import numpy as np

from seismo.errors import SeismoError
from seismo.exact.medium import Medium

PSV_SOURCES = ("force_h", "force_z", "moment_hh", "moment_hz", "moment_zz")
SH_SOURCES = ("force_t", "moment_th", "moment_tz")
# Which of PSV_SOURCES have a W that is even in k; U has the other parity.
EVEN = np.array([False, True, True, False, True])
ORDERS = np.array([0, 1, 1, 2, 2])  # of the azimuthal weights 1, cos, sin, cos 2, sin 2


class LayerMedium(Protocol):
    """A medium of a layer, a fluid where vs is 0: speeds [m/s] and density [kg/m3]."""

    @property
    def vp(self) -> Any:
        """Speed of P waves [m/s]."""

    @property
    def vs(self) -> Any:
        """Speed of S waves [m/s]."""

    @property
    def rho(self) -> float:
        """Density [kg/m3]."""


@dataclass(frozen=True)
class Stack:
    """Layers from the top down, z positive down.

    media: of each layer; depths: of the interfaces [m]. With a free surface the first depth is that
    of the surface and there are as many depths as media; without, the first medium is a half-space
    above and there is a depth less.
    """

    media: tuple[Medium, ...]
    depths: tuple[float, ...]
    free_surface: bool = True

    def __post_init__(self) -> None:
        """Refuse a stack whose depths do not bound its layers."""
        expected = len(self.media) - (not self.free_surface)
        if len(self.depths) != expected or np.any(np.diff(self.depths) <= 0):
            raise SeismoError(f"a stack of {len(self.media)} media needs {expected} growing depths")

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Top and bottom depth of each layer [m], infinite for half-spaces."""
        tops = [*([] if self.free_surface else [-np.inf]), *self.depths]
        return list(zip(tops, [*tops[1:], np.inf], strict=True))

    def layer_at(self, z: float) -> int:
        """Return the layer holding depth z, the lower of both on an interface."""
        for index, (top, bottom) in enumerate(self.bounds):
            if top <= z < bottom:
                return index
        raise SeismoError(f"depth {z} m is above the free surface at {self.depths[0]} m")

    @property
    def speeds(self) -> list[float]:
        """All body-wave speeds [m/s]; of media that attenuate their magnitudes (see `at`)."""
        return [abs(c) for m in self.media for c in (m.vp, m.vs) if c != 0]

    def at(self, s: complex) -> Stack:
        """Return the stack as it is for a Laplace variable s [1/s]."""
        return replace(self, media=tuple(medium.at(s) for medium in self.media))


def vertical(k: np.ndarray, s: complex | np.ndarray, c: Any) -> np.ndarray:
    """Return nu = sqrt(k^2 + s^2/c^2) with positive real part."""
    return np.asarray(np.sqrt(k**2 + (s / c) ** 2 + 0j))


def psv_slopes(medium: LayerMedium, s: complex | np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return nu (k, wave) 1/m of P, and of S in a solid."""
    speeds = [medium.vp, medium.vs] if np.any(medium.vs) else [medium.vp]
    return np.stack([vertical(k, s, c) for c in speeds], axis=-1)


def psv_vectors(medium: LayerMedium, s: complex | np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return (U, W, X, Z) of P and S waves (k, side, 4, wave); side 0 is down."""
    nu, *shear = psv_slopes(medium, s, k).T
    mu = medium.rho * medium.vs**2
    bend = medium.rho * s**2 + 2 * mu * k**2
    vectors = np.empty((k.size, 2, 4, 1 + len(shear)), complex)
    for side, sign in ((0, 1), (1, -1)):
        vectors[:, side, :, 0] = np.stack([k, -sign * nu, -sign * 2 * mu * k * nu, bend], -1)
        for eta in shear:
            s_wave = [sign * eta, -k, -bend, sign * 2 * mu * k * eta]
            vectors[:, side, :, 1] = np.stack(s_wave, -1)
    return vectors


def psv_source(medium: LayerMedium, s: complex | np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the amplitudes (k, side, wave, source) that each of PSV_SOURCES radiates."""
    nu, *shear = psv_slopes(medium, s, k).T
    amplitude = np.empty((k.size, 2, 1 + len(shear), len(PSV_SOURCES)), complex)
    for side, sign in ((0, 1), (1, -1)):
        p = (1j * k, -sign * nu, k**2, sign * 2j * k * nu, -(nu**2))
        amplitude[:, side, 0] = np.stack(p, -1) / (2 * nu * medium.rho * s**2)[:, None]
        for eta in shear:
            q = (-sign * 1j * eta, k, -sign * eta * k, -1j * (eta**2 + k**2), sign * k * eta)
            amplitude[:, side, 1] = np.stack(q, -1) / (2 * eta * medium.rho * s**2)[:, None]
    return amplitude


def psv_weights(force: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Return how much (source, azimuthal weight) of PSV_SOURCES a force and a moment in 3-D are."""
    half_trace = (moment[0, 0] + moment[1, 1]) / 2
    half_difference = (moment[0, 0] - moment[1, 1]) / 2
    weights = np.zeros((len(PSV_SOURCES), len(ORDERS)))
    weights[:, 0] = 0.0, force[2], half_trace, 0.0, moment[2, 2]
    weights[0, 1:3] = force[:2]
    weights[3, 1:3] = moment[:2, 2]
    weights[2, 3:] = half_difference, moment[0, 1]
    return weights


def sh_waves(medium: Medium, s: complex, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slope (k, 1) and the vectors (k, side, 2, 1) of V and the stress along z of SH.

    A fluid has no such wave.
    """
    if medium.is_fluid:
        return np.empty((k.size, 0)), np.empty((k.size, 2, 2, 0))
    eta = vertical(k, s, medium.vs)
    vectors = np.ones((k.size, 2, 2, 1), complex)
    vectors[:, 0, 1, 0] = -medium.mu * eta
    vectors[:, 1, 1, 0] = medium.mu * eta
    return eta[:, None], vectors


def sh_source(medium: Medium, s: complex, k: np.ndarray) -> np.ndarray:
    """Return the amplitudes (k, side, 1, source) that each of SH_SOURCES radiates."""
    eta = vertical(k, s, medium.vs)
    unit = np.ones_like(eta)
    sides = [np.stack((unit, -1j * k, sign * eta), -1) for sign in (1, -1)]
    return (np.stack(sides, 1) / (2 * medium.mu * eta)[:, None, None])[:, :, None]


def balanced(media: Sequence[LayerMedium]) -> list[int]:
    """Return which of U, W, X, Z are equal in two media, or vanish on the surface of one.

    A fluid bears no shear stress and may slip.
    """
    sheared = sum(bool(np.any(medium.vs)) for medium in media)
    if len(media) == 1:
        return [2, 3] if sheared else [3]
    return [[1, 3], [1, 2, 3], [0, 1, 2, 3]][sheared]


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solutions (k, unknowns, columns) of equations of unlike sizes."""
    size = np.maximum(np.abs(matrix.real), np.abs(matrix.imag))
    rows = 1.0 / size.max(axis=2, keepdims=True)
    size *= rows
    columns = 1.0 / size.max(axis=1, keepdims=True)
    solution = np.linalg.solve(matrix * (rows * columns), right * rows)
    return solution * columns.transpose(0, 2, 1)


LayerSide = tuple[int, int]  # a layer, and 0 for its waves that go down, 1 for those that go up


@dataclass(frozen=True)
class StackWaves:
    """Waves of unit amplitude of all layers, and the conditions at the interfaces.

    Waves that go down begin at the top of a layer, those that go up at its bottom, and those of a
    half-space at its end.

    Attributes:
        bounds: top and bottom of each layer [m], infinite for half-spaces.
        slopes: (k, wave) 1/m of each layer; SH waves have none in a fluid.
        vectors: (k, side, component, wave) of each layer.
        kept: components of each interface, from the top down, that are equal or vanish.
    """

    bounds: Sequence[tuple[float, float]]
    slopes: Sequence[np.ndarray]
    vectors: Sequence[np.ndarray]
    kept: Sequence[Sequence[int]]

    @property
    def entering(self) -> list[LayerSide]:
        """The waves that come from half-spaces."""
        ends = ((0, 0), (len(self.bounds) - 1, 1))
        return [(n, side) for n, side in ends if np.isinf(self.bounds[n][side])]

    def field(self, layer: int, side: int, z: float) -> np.ndarray:
        """Return the fields (k, component, wave) of waves at a depth z [m] of their layer."""
        top, bottom = self.bounds[layer]
        if side == 0:
            way = z - (bottom if np.isinf(top) else top)
        else:
            way = (top if np.isinf(bottom) else bottom) - z
        return self.vectors[layer][:, side] * np.exp(-self.slopes[layer] * way)[:, None]

    @cached_property
    def interfaces(self) -> list[tuple[float, slice, dict[int, float]]]:
        """Depth of each interface [m], its conditions, and the sign in them of layers beside it."""
        below = len(self.bounds) - len(self.kept)
        ends = np.cumsum([0, *map(len, self.kept)]).tolist()
        return [
            (self.bounds[n][0], slice(*rows), {n - 1: 1.0, n: -1.0})
            for n, rows in enumerate(pairwise(ends), below)
        ]

    def conditions(self, layer: int, side: int) -> np.ndarray:
        """Return what waves add to the conditions of all interfaces (k, condition, wave)."""
        slopes = self.slopes[layer]
        total = np.zeros((len(slopes), sum(map(len, self.kept)), slopes.shape[1]), complex)
        for (z, rows, signs), components in zip(self.interfaces, self.kept, strict=True):
            if layer in signs:
                total[:, rows] = signs[layer] * self.field(layer, side, z)[:, components]
        return total

    def answer(self, right: np.ndarray) -> dict[LayerSide, np.ndarray]:
        """Return the amplitudes (k, wave, column) of all waves that do not enter.

        Args:
            right: (k, condition, column) that their conditions add up to.
        """
        every = product(range(len(self.bounds)), (0, 1))
        sides = [side for side in every if side not in self.entering]
        conditions = [self.conditions(*side) for side in sides]
        amplitudes = solved(np.concatenate(conditions, axis=-1), right)
        ends = np.cumsum([matrix.shape[-1] for matrix in conditions])[:-1]
        return dict(zip(sides, np.split(amplitudes, ends, axis=1), strict=True))


def waves_of(stack: Stack, s: complex, k: np.ndarray, kind: str) -> StackWaves:
    """Return the waves of a stack; kind is "psv" or "sh"."""
    media = stack.media
    beside = [
        media[max(n - 1, 0) : n + 1] for n in range(len(media) - len(stack.depths), len(media))
    ]
    if kind == "psv":
        slopes = [psv_slopes(medium, s, k) for medium in media]
        vectors = [psv_vectors(medium, s, k) for medium in media]
        return StackWaves(stack.bounds, slopes, vectors, [balanced(pair) for pair in beside])
    waves = [sh_waves(medium, s, k) for medium in media]
    # V and its stress are equal in two solids; the stress vanishes where a solid ends.
    solids = [sum(not medium.is_fluid for medium in pair) for pair in beside]
    kept = [[[], [1], [0, 1]][count] for count in solids]
    return StackWaves(stack.bounds, [w[0] for w in waves], [w[1] for w in waves], kept)


@dataclass(frozen=True)
class PlaneWaves:
    """The amplitudes (k, wave, column) found for an s, of the waves that there are."""

    stack: Stack
    waves: StackWaves
    amplitudes: dict[LayerSide, np.ndarray]

    def field(self, z: float) -> np.ndarray:
        """Return the field (k, component, column) at depth z without the direct wave.

        Components U, W, X, Z (or V and its stress for SH). In the source's own layer the wave that
        comes straight from the source is not part of it.
        """
        layer = self.stack.layer_at(z)
        if not self.waves.slopes[layer].size:
            raise SeismoError(f"depth {z} m is in a fluid, where there are no SH waves")
        sides = [(layer, side) for side in (0, 1) if (layer, side) in self.amplitudes]
        fields = [self.waves.field(*side, z) @ self.amplitudes[side] for side in sides]
        return np.sum(fields, axis=0)


def solve(
    stack: Stack,
    source_depth: float,
    s: complex,
    k: np.ndarray,
    kind: str,
    combinations: np.ndarray,
) -> PlaneWaves:
    """Return the waves in the stack for an s and wavenumbers k; kind is "psv" or "sh".

    Media that attenuate must be given at this s (`Stack.at`).

    combinations (PSV_SOURCES or SH_SOURCES, column): each column is a sum of the unit sources.
    """
    home = stack.layer_at(source_depth)
    waves = waves_of(stack, s, k, kind)
    slopes = waves.slopes[home]
    if not slopes.size:
        raise SeismoError("an SH source cannot lie in a fluid")
    source = (psv_source if kind == "psv" else sh_source)(stack.media[home], s, k)
    radiated = source @ combinations
    right = np.zeros((k.size, sum(map(len, waves.kept)), radiated.shape[-1]), complex)
    for (z, rows, signs), components in zip(waves.interfaces, waves.kept, strict=True):
        if home in signs:
            side = 1 if signs[home] < 0 else 0
            direct = radiated[:, side] * np.exp(-slopes * abs(z - source_depth))[..., None]
            right[:, rows] -= signs[home] * waves.vectors[home][:, side, components] @ direct
    return PlaneWaves(stack, waves, waves.answer(right))


def coefficients(
    above: Medium | None,
    below: Medium,
    slowness: np.ndarray,
    incident: str = "P",
    side: str = "above",
) -> dict[str, np.ndarray]:
    """Return the displacement coefficients of a plane wave meeting the interface.

    above None is a vacuum (then side must be "below"). slowness (angle) s/m; incident "P" or "S",
    coming from `side`. Keys "RP", "RS" (reflected), "TP", "TS" (transmitted); a fluid has no S.
    Raises SeismoError when the incident wave cannot exist.
    """
    p = np.atleast_1d(np.asarray(slowness, float))
    incident_medium, other_medium = (above, below) if side == "above" else (below, above)
    if incident_medium is None or (incident == "S" and incident_medium.vs == 0):
        raise SeismoError(f"no {incident} wave can come from {side} this interface")
    # With exp(+i omega t) and omega = 1, k = -p travels towards +x; conjugated on return.
    waves = {id(m): psv_vectors(m, 1j, -p + 0j) for m in (above, below) if m is not None}
    outgoing_side, transmitted_side = (1, 0) if side == "above" else (0, 1)
    number = {"P": 0, "S": 1}
    columns = []
    outgoing = []
    for medium, direction, sign, prefix in (
        (incident_medium, outgoing_side, 1.0, "R"),
        (other_medium, transmitted_side, -1.0, "T"),
    ):
        if medium is None:
            continue
        for wave in ("P", "S") if medium.vs else ("P",):
            columns.append(sign * waves[id(medium)][:, direction, :, number[wave]])
            outgoing.append((prefix + wave, _displacement(medium, direction, wave)))
    kept = balanced([m for m in (incident_medium, other_medium) if m is not None])
    incoming = waves[id(incident_medium)][:, 1 - outgoing_side, :, number[incident]]
    matrix = np.stack([column[:, kept] for column in columns], -1)
    amplitudes = solved(matrix, -incoming[:, kept, None])[..., 0]
    unit = _displacement(incident_medium, 1 - outgoing_side, incident)
    return {
        name: np.conj(amplitudes[:, i] * amplitude / unit)
        for i, (name, amplitude) in enumerate(outgoing)
    }


def _displacement(medium: Medium, direction: int, wave: str) -> complex:
    """Return the displacement amplitude of a unit potential (way 0 is down)."""
    if wave == "P":
        return -1j / medium.vp
    return (-1.0 if direction == 0 else 1.0) / medium.vs


def acoustic_reflection(above: Medium, below: Medium, angle: np.ndarray) -> np.ndarray:
    """Return the pressure reflection coefficient of two fluids at incidence `angle` (rad)."""
    p = np.sin(np.asarray(angle)) / above.vp
    first = above.rho / np.sqrt(above.vp**-2.0 - p**2 + 0j)
    second = below.rho / np.sqrt(below.vp**-2.0 - p**2 + 0j)
    return (second - first) / (second + first)
