"""Plane waves in a stack of solid and fluid layers, and at an interface of two media.

By the global matrix method: for a Laplace variable s and many horizontal wavenumbers k, motion in
a vertical plane is
    u_h = i U(z), u_z = W(z), sigma_hz = i X(z), sigma_zz = Z(z)      times exp(i k x)
and in each layer a sum of P and S waves going down, exp(-nu (z - top)), and up,
exp(-nu (bottom - z)), with nu = sqrt(k^2 + s^2/c^2), real part positive. All amplitudes of all
layers are found at once from the conditions at the interfaces (Knopoff 1964; Schmidt & Tango
1986): only decaying exponentials occur, so the method is stable for every k and thickness, and
fluids just have fewer waves. Transverse motion (SH) is the scalar version of the same.

The source enters as the up and down going waves of a whole space (Aki & Richards 2002, 9.1).
Sources, in the frame horizontal direction h, transverse t, vertical z:
    P-SV: force h, force z, moments hh, hz = zh, zz;   SH: force t, moments th = ht, tz = zt.
k [1/m], s [1/s], unit displacement spectra per unit force or moment.

At a flat interface of any pair of media: reflection and transmission for any incidence. The
coefficients are ratios of displacement amplitudes in the sign convention of Aki & Richards
(2002) fig. 5.6: P along its way, downgoing SV as (cos j, -sin j) and upgoing SV as
(cos j, sin j) in (x, z), z down, waves going towards +x. p [s/m] is the horizontal slowness;
beyond a critical angle coefficients are complex, for a time factor exp(-i omega t).
Also the Rayleigh speed of a half-space. Literature: Zoeppritz (1919); Aki & Richards (2002) 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from seismo.errors import SeismoError
from seismo.exact.medium import Medium

PSV_SOURCES = ("force_h", "force_z", "moment_hh", "moment_hz", "moment_zz")
SH_SOURCES = ("force_t", "moment_th", "moment_tz")


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


def vertical(k: np.ndarray, s: complex, c: float) -> np.ndarray:
    """Return nu = sqrt(k^2 + s^2/c^2) with positive real part."""
    return np.sqrt(k**2 + (s / c) ** 2 + 0j)


def psv_waves(medium: Medium, s: complex, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes nu (k, wave) and vectors (k, side, 4, wave) of P and SV; side 0 is down."""
    nu = vertical(k, s, medium.vp)
    if medium.is_fluid:
        vectors = np.zeros((k.size, 2, 4, 1), complex)
        vectors[:, :, 0, 0] = k[:, None]
        vectors[:, 0, 1, 0] = -nu
        vectors[:, 1, 1, 0] = nu
        vectors[:, :, 3, 0] = medium.rho * s**2
        return nu[:, None], vectors
    eta = vertical(k, s, medium.vs)
    mu = medium.mu
    bend = mu * (2 * k**2 + (s / medium.vs) ** 2)
    vectors = np.empty((k.size, 2, 4, 2), complex)
    for side, sign in ((0, 1), (1, -1)):
        p = vectors[:, side, :, 0]
        q = vectors[:, side, :, 1]
        p[:, 0] = k
        p[:, 1] = -sign * nu
        p[:, 2] = -sign * 2 * mu * k * nu
        p[:, 3] = bend
        q[:, 0] = sign * eta
        q[:, 1] = -k
        q[:, 2] = -bend
        q[:, 3] = sign * 2 * mu * k * eta
    return np.stack([nu, eta], axis=-1), vectors


def sh_waves(medium: Medium, s: complex, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slope (k, 1) and the vectors (k, side, 2, 1) of V and the stress along z of SH."""
    eta = vertical(k, s, medium.vs)
    vectors = np.ones((k.size, 2, 2, 1), complex)
    vectors[:, 0, 1, 0] = -medium.mu * eta
    vectors[:, 1, 1, 0] = medium.mu * eta
    return eta[:, None], vectors


def psv_source(medium: Medium, s: complex, k: np.ndarray) -> np.ndarray:
    """Return the amplitudes (k, side, wave, source) that each of PSV_SOURCES radiates."""
    nu = vertical(k, s, medium.vp)
    waves = 1 if medium.is_fluid else 2
    amplitude = np.empty((k.size, 2, waves, len(PSV_SOURCES)), complex)
    for side, sign in ((0, 1), (1, -1)):
        p = (1j * k, -sign * nu, k**2, sign * 2j * k * nu, -(nu**2))
        amplitude[:, side, 0] = np.stack(p, -1) / (2 * nu * medium.rho * s**2)[:, None]
        if waves == 2:
            eta = vertical(k, s, medium.vs)
            q = (-sign * 1j * eta, k, -sign * eta * k, -1j * (eta**2 + k**2), sign * k * eta)
            amplitude[:, side, 1] = np.stack(q, -1) / (2 * eta * medium.rho * s**2)[:, None]
    return amplitude


def sh_source(medium: Medium, s: complex, k: np.ndarray) -> np.ndarray:
    """Return the amplitudes (k, side, 1, source) that each of SH_SOURCES radiates."""
    eta = vertical(k, s, medium.vs)
    unit = np.ones_like(eta)
    sides = [np.stack((unit, -1j * k, sign * eta), -1) for sign in (1, -1)]
    return (np.stack(sides, 1) / (2 * medium.mu * eta)[:, None, None])[:, :, None]


@dataclass(frozen=True)
class PlaneWaves:
    """The amplitudes found for an s: per layer the slopes, vectors and amplitudes (or None)."""

    stack: Stack
    slopes: list[np.ndarray | None]
    vectors: list[np.ndarray | None]
    amplitudes: list[np.ndarray | None]  # (k, side, wave, source)

    def field(self, z: float) -> np.ndarray:
        """Return the field (k, component, source) at depth z without the direct wave.

        Components U, W, X, Z (or V and its stress for SH). In the source's own layer the wave that
        comes straight from the source is not part of it.
        """
        layer = self.stack.layer_at(z)
        top, bottom = self.stack.bounds[layer]
        slopes = self.slopes[layer]
        vectors = self.vectors[layer]
        amplitudes = self.amplitudes[layer]
        if slopes is None or vectors is None or amplitudes is None:
            raise SeismoError(f"depth {z} m is in a fluid, where there are no SH waves")
        decay = np.stack([_decay(slopes, z - top), _decay(slopes, bottom - z)], 1)
        at_depth = amplitudes * decay[..., None]
        return vectors[:, 0] @ at_depth[:, 0] + vectors[:, 1] @ at_depth[:, 1]


def _decay(slopes: np.ndarray, distance: float) -> np.ndarray:
    return np.zeros_like(slopes) if np.isinf(distance) else np.exp(-slopes * distance)


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

    mix (PSV_SOURCES or SH_SOURCES, column): each column is a combination of the unit sources.
    """
    source_layer = stack.layer_at(source_depth)
    psv = kind == "psv"
    slopes = []
    vectors = []
    for medium in stack.media:
        is_absent = not psv and medium.is_fluid
        wave = (None, None) if is_absent else (psv_waves if psv else sh_waves)(medium, s, k)
        slopes.append(wave[0])
        vectors.append(wave[1])
    if slopes[source_layer] is None:
        raise SeismoError("an SH source cannot lie in a fluid")
    radiated = (psv_source if psv else sh_source)(stack.media[source_layer], s, k) @ combinations
    columns, unknowns = _columns(stack, slopes)
    system = _Interfaces(stack, slopes, vectors, columns, unknowns)
    matrix, right = system.conditions(source_depth, radiated)
    scale = np.abs(matrix).max(axis=2, keepdims=True)
    solution = np.linalg.solve(matrix / scale, right / scale)
    amplitudes: list[np.ndarray | None] = []
    for index, slope in enumerate(slopes):
        if slope is None:
            amplitudes.append(None)
            continue
        layer_amplitudes = np.zeros((k.size, 2, slope.shape[1], radiated.shape[-1]), complex)
        for side in (0, 1):
            if columns[index][side] is not None:
                layer_amplitudes[:, side] = solution[:, columns[index][side]]
        amplitudes.append(layer_amplitudes)
    return PlaneWaves(stack, slopes, vectors, amplitudes)


def _columns(stack: Stack, slopes: list) -> tuple[list, int]:
    """Return for every layer the columns of its down and up going waves, None where none can be."""
    columns = []
    count = 0
    for slope, (top, bottom) in zip(slopes, stack.bounds, strict=True):
        sides = []
        for edge in (top, bottom):
            present = slope is not None and not np.isinf(edge)
            waves = slope.shape[1] if present else 0
            sides.append(slice(count, count + waves) if present else None)
            count += waves
        columns.append(sides)
    return columns, count


@dataclass(frozen=True)
class _Interfaces:
    """The equations of the amplitudes: of each layer slopes, vectors and columns of its waves."""

    stack: Stack
    slopes: list
    vectors: list
    columns: list
    unknowns: int

    def conditions(
        self, source_depth: float, radiated: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the matrix (k, row, wave) and right side (k, row, source) of all interfaces."""
        size = radiated.shape[0]
        source_layer = self.stack.layer_at(source_depth)
        matrix = np.zeros((size, self.unknowns, self.unknowns), complex)
        right_side = np.zeros((size, self.unknowns, radiated.shape[-1]), complex)
        row = 0
        for depth in self.stack.depths:
            below = self.stack.bounds.index(next(b for b in self.stack.bounds if b[0] == depth))
            pairs = [(below, -1.0)] if below == 0 else [(below - 1, 1.0), (below, -1.0)]
            decays = {layer: self._decays(layer, depth) for layer, _ in pairs}
            for layers, component in self._continuous(pairs):
                for layer, sign in layers:
                    self._add_layer(matrix[:, row], sign, component, layer, decays[layer])
                    if layer == source_layer:
                        side = 1 if layer == below else 0
                        decay = np.exp(-self.slopes[layer] * abs(depth - source_depth))
                        vectors = self.vectors[layer][:, side, None, component]
                        waves = radiated[:, side] * decay[..., None]
                        right_side[:, row] -= sign * (vectors @ waves)[:, 0]
                row += 1
        return matrix, right_side

    def _continuous(self, pairs: list) -> list:
        """Return the conditions of an interface: layers, and the component that must balance."""
        solid = [p for p in pairs if self.slopes[p[0]] is not None]
        if not solid:
            return []
        if self.vectors[solid[0][0]].shape[2] == 2:
            return [(solid, 1)] if len(solid) == 1 else [(solid, 0), (solid, 1)]
        shear = [p for p in pairs if self.slopes[p[0]].shape[1] == 2]
        conditions = [(pairs, 3)] + ([(shear, 2)] if shear else [])
        if len(pairs) == 2:
            conditions += [(pairs, 1)] + ([(shear, 0)] if len(shear) == 2 else [])
        return conditions

    def _decays(self, layer: int, depth: float) -> list[np.ndarray | None]:
        """Return the decay at an interface of the waves of either side of a layer, if any."""
        return [
            None if columns is None else np.exp(-self.slopes[layer] * abs(depth - edge))
            for edge, columns in zip(self.stack.bounds[layer], self.columns[layer], strict=True)
        ]

    def _add_layer(
        self, row: np.ndarray, sign: float, component: int, layer: int,
        decays: list[np.ndarray | None],
    ) -> None:  # fmt: skip
        """Add the contribution of a layer's waves to a component at an interface."""
        for side, decay in enumerate(decays):
            if decay is not None:
                columns = self.columns[layer][side]
                row[:, columns] += sign * self.vectors[layer][:, side, component] * decay


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
    waves = {id(m): psv_waves(m, 1j, -p + 0j)[1] for m in (above, below) if m is not None}
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
    balanced = _rows(incident_medium, other_medium)
    incoming = waves[id(incident_medium)][:, 1 - outgoing_side, :, number[incident]]
    matrix = np.stack([column[:, balanced] for column in columns], -1)
    right_side = -incoming[:, balanced]
    scale = np.abs(matrix).max(axis=2, keepdims=True)
    amplitudes = np.linalg.solve(matrix / scale, (right_side / scale[..., 0])[..., None])[..., 0]
    unit = _displacement(incident_medium, 1 - outgoing_side, incident)
    return {
        name: np.conj(amplitudes[:, i] * amplitude / unit)
        for i, (name, amplitude) in enumerate(outgoing)
    }


def _rows(incident_medium: Medium, other_medium: Medium | None) -> list[int]:
    """Return which of U, W, X, Z must balance; a fluid bears no shear stress and may slip."""
    if other_medium is None:
        return [2, 3] if incident_medium.vs else [3]
    if incident_medium.vs and other_medium.vs:
        return [0, 1, 2, 3]
    return [1, 2, 3] if incident_medium.vs or other_medium.vs else [1, 3]


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


def rayleigh_function(c: float, medium: Medium) -> float:
    """Return Rayleigh's function (2 - c^2/vs^2)^2 - 4 sqrt(1 - c^2/vp^2) sqrt(1 - c^2/vs^2)."""
    shear = (c / medium.vs) ** 2
    compression = (c / medium.vp) ** 2
    return (2 - shear) ** 2 - 4 * np.sqrt(1 - compression) * np.sqrt(1 - shear)


def rayleigh_speed(medium: Medium) -> float:
    """Return the speed [m/s] of Rayleigh waves on a half-space (Lord Rayleigh 1885)."""
    return float(
        brentq(
            rayleigh_function,
            0.3 * medium.vs,
            medium.vs * (1 - 1e-12),
            args=(medium,),
            xtol=1e-12 * medium.vs,
        )
    )


def stoneley_speed(fluid: Medium, solid: Medium) -> float:
    """Return the speed [m/s] of the Scholte (Stoneley) wave between a fluid and a solid.

    Root of Rayleigh's function plus (rho_f/rho_s)(c/vs)^4 sqrt((1-c^2/vp^2)/(1-c^2/vf^2)).
    """

    def secular(c: float) -> float:
        load = fluid.rho / solid.rho * (c / solid.vs) ** 4
        slope = np.sqrt(1 - (c / solid.vp) ** 2) / np.sqrt(1 - (c / fluid.vp) ** 2)
        return rayleigh_function(c, solid) + load * slope

    limit = min(fluid.vp, solid.vs)
    return float(brentq(secular, 1e-2 * limit, limit * (1 - 1e-13), xtol=1e-12 * limit))
