"""A plane wave from the half-space below a stack of solid layers under a free surface.

P, SV and SH waves of any incidence, with all reflections and conversions, by the amplitudes of up
and down going waves in every layer (global matrix method, Knopoff 1964; `stack`). With the slowness
p = sin(incidence) / c everything goes as exp(-s p x), the wavenumber k = i s p of `stack`.

x, z [m], z down; the wave goes towards +x; velocity [m/s]. P is positive along its direction, SV
along (cos, sin of the incidence) in x and z, SH along y.
"""

from __future__ import annotations

import numpy as np

from seismo.errors import SeismoError
from seismo.exact.laplace import transform
from seismo.exact.layers.stack import (
    Stack,
    psv_waves,
    sh_waves,
)

_LONGER = 4  # periods of the transform where waves are evanescent, at less damping
_ABOVE = 1e-3  # of the damping: frequency that stands for zero
_SUPPRESSED = (1e-10, 1e-4)


def velocity(
    stack: Stack,
    wave: str,
    incidence: float,
    receivers: np.ndarray,
    source: np.ndarray,
    dt: float,
    reference: np.ndarray,
) -> np.ndarray:
    """Return the particle velocity (receiver, component, time) that an incident wave makes.

    wave: "P", "SV" or "SH"; incidence in radians; receivers (receiver, 2) m; source (time): the
    velocity of the incident wave alone at the point reference (2) m of the half-space; dt s.
    Components x, z for P and SV, y for SH.

    Where waves of this slowness are evanescent in some layer motion begins before all waves arrive,
    and the source has to be zero for a while at both ends.
    """
    if not stack.free_surface or any(medium.is_fluid for medium in stack.media):
        raise SeismoError("plane waves from below need solid layers under a free surface")
    receivers = np.atleast_2d(np.asarray(receivers, float))
    half_space = stack.media[-1]
    c = half_space.vp if wave == "P" else half_space.vs
    slowness = np.sin(incidence) / c
    speeds = [medium.vs if wave == "SH" else medium.vp for medium in stack.media]
    evanescent = bool(slowness * max(speeds) >= 1.0)
    extended = np.pad(source, (0, (_LONGER - 1) * len(source))) if evanescent else source
    spectrum = transform(extended, dt, _SUPPRESSED[evanescent])
    components = 1 if wave == "SH" else 2
    total = np.zeros((len(receivers), components, spectrum.s.size), complex)
    for column, s in enumerate(spectrum.s):
        if evanescent and s.imag == 0.0:
            s += _ABOVE * 1j * s.real  # at s itself waves neither grow nor decay with depth
        field = _Column(stack.at(s), wave, s, slowness).field
        # Up from the reference: exp(s q (z - z0)), unit velocity there.
        for n, (x, z) in enumerate(receivers):
            total[n, :, column] = field(z, reference[1]) * np.exp(
                -s * slowness * (x - reference[0])
            )
    return spectrum.to_time(total)[..., : len(source)]


class _Column:
    """Amplitudes of all waves for one s and slowness."""

    def __init__(self, stack: Stack, wave: str, s: complex, slowness: float) -> None:
        self._stack = stack
        self._wave = wave
        k = np.array([1j * s * slowness])
        waves = sh_waves if wave == "SH" else psv_waves
        solved = [waves(medium, s, k) for medium in stack.media]
        self._slopes = [slopes[0] for slopes, _ in solved]  # (wave)
        self._vectors = [vectors[0] for _, vectors in solved]  # (side, component, wave)
        # Of the incident wave: velocity 1 along its direction of motion, displacement 1 / s.
        half_space = stack.media[-1]
        self._number = 1 if wave == "SV" else 0
        self._amplitude = {
            "P": -half_space.vp / s**2, "SV": 1j * half_space.vs / s**2, "SH": 1.0 / s,
        }[wave]  # fmt: skip
        self._solution = self._solve()
        self._s = s

    def _solve(self) -> np.ndarray:
        """Return amplitudes (layer, side, wave); up in the half-space, of the incident wave 1."""
        count = self._slopes[0].size
        layers = len(self._slopes)
        depths = self._stack.depths
        unknowns = (2 * layers - 1) * count  # none comes up in the half-space but the incident wave
        matrix = np.zeros((unknowns, unknowns), complex)
        right = np.zeros(unknowns, complex)
        row = 0
        for n, depth in enumerate(depths):
            # Traction of the surface vanishes; all is continuous at contacts.
            rows = range(count, 2 * count) if n == 0 else range(2 * count)
            for component in rows:
                for layer, sign in ((n, -1.0), (n - 1, 1.0))[: 1 + (n > 0)]:
                    for side in (0, 1):
                        decay = self._decay(layer, side, depth)
                        terms = sign * self._vectors[layer][side, component] * decay
                        if layer == layers - 1 and side == 1:
                            right[row] -= terms[self._number]
                        else:
                            at = (2 * layer + side) * count
                            matrix[row, at : at + count] += terms
                row += 1
        scale = np.abs(matrix).max(axis=1)
        solved = np.linalg.solve(matrix / scale[:, None], right / scale)
        incident = np.eye(count)[self._number]
        return np.concatenate([solved, incident]).reshape(layers, 2, count)

    def _decay(self, layer: int, side: int, z: float) -> np.ndarray:
        """Return the decay (wave) from where waves begin; of the half-space, from its top."""
        top = self._stack.depths[layer]
        if side == 0:
            return np.exp(-self._slopes[layer] * (z - top))
        bottom = [*self._stack.depths[1:], top][layer]
        return np.exp(-self._slopes[layer] * (bottom - z))

    def field(self, z: float, level: float) -> np.ndarray:
        """Return the velocity (component) at depth z for velocity 1 of the wave at a level."""
        layer = self._stack.layer_at(z)
        components = 1 if self._wave == "SH" else 2
        moved = sum(
            self._vectors[layer][side] @ (self._solution[layer, side] * self._decay(layer, side, z))
            for side in (0, 1)
        )[:components]
        away = level - self._stack.depths[-1]
        raised = np.exp(-self._slopes[-1][self._number] * away)
        factors = np.ones(1) if self._wave == "SH" else np.array([1j, 1.0])
        return self._s * factors * moved * self._amplitude * raised
