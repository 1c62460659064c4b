"""Moment tensors: from the catalogues' frames and from fault angles to the axes of the grid.

Tensors are 3 x 3 arrays in N m. Three frames occur in the literature:

    north, east, down   Aki & Richards (2002), box 4.4: x north, y east, z down. Used internally.
    r, theta, phi       GCMT: up, south, east.
    east, north, up     ENU.

North and east are taken at the source. The grid has z down and x along an azimuth (clockwise from
that north), y 90 degrees clockwise of x.
Angles are in degrees: strike clockwise from north with the fault dipping to its right, dip from
the horizontal, rake counter-clockwise in the fault plane from the strike to the slip of the hanging
wall.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

_ROUNDING = 1e-12  # of the largest component of a moment tensor: less is no component
_GRID_NAMES = (("xx", 0, 0), ("yy", 1, 1), ("zz", 2, 2), ("xy", 0, 1), ("xz", 0, 2), ("yz", 1, 2))
_GUTENBERG = 9.1  # log10 of the moment in N m at magnitude 0, IASPEI (2013)

# Rows are the axes north, east and down in the frame of each catalogue.
_AXES = {
    "aki_richards": np.eye(3),
    "gcmt": np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]]),
    "enu": np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]),
}
_NAMES = {
    "aki_richards": (("xx", "xy", "xz"), ("xy", "yy", "yz"), ("xz", "yz", "zz")),
    "gcmt": (("rr", "rt", "rp"), ("rt", "tt", "tp"), ("rp", "tp", "pp")),
    "enu": (("ee", "en", "eu"), ("en", "nn", "nu"), ("eu", "nu", "uu")),
}


@dataclass(frozen=True)
class FaultPlane:
    """One nodal plane of a double couple, in degrees."""

    strike: float
    dip: float
    rake: float


def double_couple(strike: Any, dip: Any, rake: Any, moment: Any = 1.0) -> np.ndarray:
    """Return the tensor (3, 3) N m in north-east-down of slip on a fault, or (n, 3, 3) of many.

    Literature: Aki & Richards (2002), box 4.4.
    """
    normal, slip = _normal_and_slip(strike, dip, rake)
    dyad = normal[..., :, None] * slip[..., None, :]
    return np.asarray(moment)[..., None, None] * (dyad + np.swapaxes(dyad, -1, -2))


def explosion(moment: float = 1.0) -> np.ndarray:
    """Return the tensor (3, 3) N m of an explosion, the same in every frame."""
    return moment * np.eye(3)


def from_components(components: Any, frame: str) -> np.ndarray:
    """Return the tensor (3, 3) N m in north-east-down from a catalogue's components.

    Args:
        components: an object with the six components as attributes (xx .. for ``aki_richards``,
            rr, tt, pp, rt, rp, tp for ``gcmt``, ee, nn, uu, en, eu, nu for ``enu``) in N m;
            missing components and None are zero.
        frame: "aki_richards", "gcmt" or "enu".

    Literature: Aki & Richards (2002), box 4.4, for r, theta, phi.
    """
    component_matrix = [
        [float(getattr(components, name, None) or 0.0) for name in row] for row in _NAMES[frame]
    ]
    axes = _AXES[frame]
    return axes @ np.array(component_matrix) @ axes.T


def to_gcmt(tensor: np.ndarray) -> dict[str, float]:
    """Return the components rr, tt, pp, rt, rp, tp (N m) of a north-east-down tensor (3, 3) N m."""
    axes = _AXES["gcmt"]
    rotated = axes.T @ tensor @ axes
    names = _NAMES["gcmt"]
    return {names[i][j]: float(rotated[i, j]) for i in range(3) for j in range(i, 3)}


def to_grid(tensor: np.ndarray, azimuth: Any = 0.0) -> np.ndarray:
    """Return a north-east-down tensor (3, 3) N m in grid axes whose x points along `azimuth`.

    Of many tensors (n, 3, 3) and azimuths (n) it returns as many.
    """
    rotation = grid_axes(azimuth)
    return rotation @ tensor @ np.swapaxes(rotation, -1, -2)


def grid_axes(azimuth: Any = 0.0) -> np.ndarray:
    """Return the grid's axes x, y, z as rows (3, 3), of many azimuths (n, 3, 3), in NED."""
    a = np.radians(azimuth)
    zero = np.zeros_like(a)
    unit = np.ones_like(a)
    rows = [[np.cos(a), np.sin(a), zero], [-np.sin(a), np.cos(a), zero], [zero, zero, unit]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def grid_components(tensor: np.ndarray) -> dict[str, float]:
    """Return the components xx .. yz of a moment tensor (3, 3) N m in grid axes."""
    return {name: float(size) for name, size in component_arrays(tensor).items()}


def tensor_from_grid(components: dict[str, float]) -> np.ndarray:
    """Return the moment tensor (3, 3) N m in grid axes of components xx .. yz; none is 0."""
    tensor = np.zeros((3, 3))
    for name, i, j in _GRID_NAMES:
        tensor[i, j] = tensor[j, i] = components.get(name, 0.0)
    return tensor


def component_arrays(tensors: np.ndarray) -> dict[str, np.ndarray]:
    """Return the components xx .. yz (...) of moment tensors (..., 3, 3) N m in grid axes.

    The remainder of a zero, such as cos 90 degrees, must not radiate.
    """
    least = _ROUNDING * np.abs(tensors).max(axis=(-2, -1), keepdims=True)
    clean = np.where(np.abs(tensors) < least, 0.0, tensors)
    return {name: clean[..., i, j] for name, i, j in _GRID_NAMES}


def tensor_of(source: Any, azimuth: float = 0.0) -> np.ndarray:
    """Return the tensor (3, 3) N m in grid axes of an explosion or moment-tensor source.

    Args:
        source: an object with the attributes of the scenario's source: ``type`` and ``moment`` of
            an explosion; of a moment tensor ``frame`` and ``components``, or ``strike``, ``dip``,
            ``rake`` and either ``moment`` or ``magnitude``.
        azimuth: direction of the grid's x at the source, in degrees clockwise from north.
    """
    if source.type == "explosion":
        return explosion(source.moment)
    if source.components is not None:
        return to_grid(from_components(source.components, source.frame), azimuth)
    moment = source.moment if source.moment is not None else moment_of(source.magnitude)
    return to_grid(double_couple(source.strike, source.dip, source.rake, moment), azimuth)


def moment_of(magnitude: float) -> float:
    """Return the scalar moment in N m of a moment magnitude (IASPEI 2013)."""
    return 10.0 ** (1.5 * magnitude + _GUTENBERG)


def magnitude_of(moment: float) -> float:
    """Return the moment magnitude of a scalar moment in N m.

    Literature: Hanks & Kanamori (1979, JGR 84, 2348), with the constant of IASPEI (2013).
    """
    return (math.log10(moment) - _GUTENBERG) / 1.5


def scalar_moment(tensor: np.ndarray) -> float:
    """Return the scalar moment in N m, sqrt(M:M / 2) (Silver & Jordan 1982, GJRAS 70)."""
    return float(np.sqrt(0.5 * np.sum(tensor**2)))


def nodal_planes(tensor: np.ndarray) -> tuple[FaultPlane, FaultPlane]:
    """Return both planes of the best double couple of a north-east-down tensor (3, 3) N m.

    The axes of greatest tension and pressure lie at 45 degrees to normal and slip
    (Jost & Herrmann 1989, Seism. Res. Lett. 60). For an explosion, which has no nodal planes, the
    result is arbitrary.
    """
    _, vectors = np.linalg.eigh(tensor)  # ascending: pressure first, tension last
    pressure = vectors[:, 0]
    tension = vectors[:, 2]
    normal = (tension + pressure) / math.sqrt(2.0)
    slip = (tension - pressure) / math.sqrt(2.0)
    return _plane(normal, slip), _plane(slip, normal)


def shares(tensor: np.ndarray) -> dict[str, float]:
    """Return the isotropic, double-couple and CLVD shares of a tensor (3, 3), adding up to 1.

    Signed by opening (+) or closing (-); the double couple is the rest.

    Literature: Vavrycuk (2015, J. Seismol. 19, 231-252).
    """
    eigenvalues = np.linalg.eigvalsh(tensor)
    mean = eigenvalues.mean()
    deviator = np.sort(eigenvalues - mean)
    clvd = 2.0 / 3.0 * (deviator[2] + deviator[0] - 2.0 * deviator[1])
    double_couple_strength = 0.5 * (
        deviator[2] - deviator[0] - abs(deviator[2] + deviator[0] - 2.0 * deviator[1])
    )
    total = abs(mean) + abs(clvd) + double_couple_strength
    if total == 0.0:
        return {"isotropic": 0.0, "double_couple": 0.0, "clvd": 0.0}
    strengths = {"isotropic": mean, "double_couple": double_couple_strength, "clvd": clvd}
    return {name: float(value / total) for name, value in strengths.items()}


def _normal_and_slip(strike: Any, dip: Any, rake: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the fault's upward normal and the hanging wall's slip (Aki & Richards 2002, ch. 4).

    Angles are in degrees; of n angles the vectors are (n, 3).
    """
    phi, delta, lam = np.radians(np.broadcast_arrays(strike, dip, rake))
    cos = np.cos
    sin = np.sin
    zero = np.zeros_like(phi)
    along = np.stack([cos(phi), sin(phi), zero], axis=-1)
    up_dip = np.stack([cos(delta) * sin(phi), -cos(delta) * cos(phi), -sin(delta)], axis=-1)
    normal = np.stack([-sin(delta) * sin(phi), sin(delta) * cos(phi), -cos(delta)], axis=-1)
    return normal, cos(lam)[..., None] * along + sin(lam)[..., None] * up_dip


def _plane(normal: np.ndarray, slip: np.ndarray) -> FaultPlane:
    if normal[2] > 0.0:  # the normal points up, from the foot wall into the hanging wall
        normal = -normal
        slip = -slip
    delta = math.acos(min(1.0, max(-1.0, -float(normal[2]))))
    # The strike of a horizontal plane is undefined: 0 is used.
    phi = math.atan2(-normal[0], normal[1]) if math.hypot(normal[0], normal[1]) > 1e-9 else 0.0
    along = np.array([math.cos(phi), math.sin(phi), 0.0])
    up_dip = np.array(
        [math.cos(delta) * math.sin(phi), -math.cos(delta) * math.cos(phi), -math.sin(delta)]
    )
    rake = math.degrees(math.atan2(float(slip @ up_dip), float(slip @ along)))
    return FaultPlane(math.degrees(phi) % 360.0, math.degrees(delta), rake)
