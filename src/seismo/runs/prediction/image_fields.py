"""Fields of a source's plane waves, on straight paths and by way of an absorbing layer.

In the plane through a source, a receiver and the normal of a face, with w complex (Aki & Richards
2002, sections 6.1 and 6.5), the displacement of a force F and a moment M in a single rock is the
sum of plane waves k = (kx, 0, kz), including evanescent waves and near fields::

    u = integral sum [ e (e.s) / w^2 i exp(i kx x + i kz z) / kz ] dkx,    s = F + i M k

over P waves with e = k, and SV and SH waves with e = (-kz, 0, kx) and (0, w / vs, 0).
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

DECAYED = 8.0  # exponent of evanescent waves that are left out


class SampledReflection(Protocol):
    """Reflection of waves of a kind by a layer."""

    def of(self, kx: np.ndarray) -> np.ndarray:
        """Return it (frequency, wave) of waves of kx in 1/m; of two kinds, (back, coming, ...)."""


class Way(NamedTuple):
    """Lengths of a path in m: along a face, from the source to it, and from it to the receiver.

    Of a straight path all of its length is that from the source.
    """

    along: float
    to_face: float
    from_face: float

    @property
    def away(self) -> float:
        """To the face and from it."""
        return self.to_face + self.from_face


class Reflections(NamedTuple):
    """Reflections of P and S waves, None of direct waves, and of P and SV waves converted."""

    p: SampledReflection | None = None
    s: SampledReflection | None = None
    converted: SampledReflection | None = None


def fields(
    angular: np.ndarray, acting: tuple[np.ndarray, np.ndarray], quantity: str,
    rock: tuple[float, float], way: Way, layer: Reflections, longest: float,
) -> np.ndarray:  # fmt: skip
    """Return what a receiver records (component, frequency) of a source of unit spectrum.

    Args:
        angular: (frequency) w in 1/s.
        acting: force (3) and moment (3, 3) in the plane's axes x, y and z, the face's normal.
        quantity: that is recorded.
        rock: vp and vs in m/s, 0 without such waves.
        way: of the path.
        layer: that sends back waves.
        longest: way in m of the fastest waves within the time that is looked at.
    """
    w = angular[:, None]
    speeds = [speed for speed in rock if speed]
    # Waves of all kinds have the same kx, since their near fields cancel.
    step = 2.0 * math.pi / (longest + 2.0 * (way.along + way.away))
    most = math.ceil(math.hypot(abs(w[-1, 0]) / min(speeds), DECAYED / way.away) / step)
    kx = step * (np.arange(-most, most) + 0.5)
    waves = _radiated(w, acting, rock, kx)
    coming = {
        kind: wave.amplitude * np.exp(1j * (kx * way.along + wave.k[2] * way.to_face))
        for kind, wave in waves.items()
    }
    total: np.ndarray | float = 0.0
    for kind, amplitude in _sent_back(layer, coming, kx, abs(w) / min(speeds)).items():
        _, motion, k = waves[kind]
        arriving = amplitude * np.exp(1j * k[2] * way.from_face) * step
        total = total + (_recorded(quantity, motion, k) * arriving).sum(axis=-1)
    return np.asarray(total)


class _PlaneWaves(NamedTuple):
    """Waves of a kind: their amplitude (frequency, wave), and e and k (3, frequency, wave)."""

    amplitude: np.ndarray
    motion: np.ndarray
    k: np.ndarray


def _radiated(
    w: np.ndarray, acting: tuple[np.ndarray, np.ndarray], rock: tuple[float, float], kx: np.ndarray
) -> dict[str, _PlaneWaves]:
    """Return the plane waves that leave a source, by their kind."""
    force, moment = acting
    waves = {}
    for kind, speed in (("P", rock[0]), ("SV", rock[1]), ("SH", rock[1])):
        across = force[1] or moment[1].any()
        if not speed or (kind == "SH" and not across):
            continue
        kz = np.sqrt((w / speed) ** 2 - kx**2)
        ones = np.ones_like(kz)
        k = np.array([kx * ones, 0.0 * ones, kz])
        motion = {"P": k, "SV": np.array([-kz, 0.0 * ones, kx * ones]),
                  "SH": np.array([0.0 * ones, w / speed * ones, 0.0 * ones])}[kind]  # fmt: skip
        pushed = force[:, None, None] + 1j * np.einsum("ij,jwk->iwk", moment, k)
        waves[kind] = _PlaneWaves(1j * (motion * pushed).sum(axis=0) / (w**2 * kz), motion, k)
    return waves


def _sent_back(
    layer: Reflections, coming: dict[str, np.ndarray], kx: np.ndarray, shortest: np.ndarray
) -> dict[str, np.ndarray]:
    """Return amplitudes (frequency, wave) that go back, of those that come; all of direct waves.

    The faster P and S waves decay towards a layer that converts nothing, the less may their
    reflections differ: that of near fields, which cancel, would else be the error of their
    difference.

    Args:
        layer: that they meet.
        coming: by their kind.
        kx: (wave) 1/m.
        shortest: wavenumbers (frequency, 1) of the slowest waves in 1/m.
    """
    if layer.converted is not None:
        ((pp, ps), (sp, ss)) = layer.converted.of(kx)
        p = coming["P"]
        s = coming["SV"]
        back = {"P": pp * p + ps * s, "SV": sp * p + ss * s}
        if "SH" in coming and layer.s is not None:
            back["SH"] = layer.s.of(kx) * coming["SH"]
        return back
    of_p = 1.0 if layer.p is None else layer.p.of(kx)
    of_s = 1.0 if layer.s is None else layer.s.of(kx)
    if layer.p is not None and layer.s is not None:
        of_p = of_s + (of_p - of_s) * np.minimum(1.0, (shortest / kx) ** 2)
    return {kind: waves * (of_p if kind == "P" else of_s) for kind, waves in coming.items()}


def _recorded(quantity: str, motion: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the record (component, frequency, wave) of displacements of waves k."""
    if quantity in ("displacement", "velocity", "acceleration"):
        return motion
    if quantity in ("pressure", "divergence"):
        return (k * motion).sum(axis=0)[None]
    if quantity == "rotation":
        return np.cross(k, motion, axis=0)
    return np.concatenate([k[0] * motion, k[2] * motion])
