"""Plane waves at a flat interface: reflection and transmission for any incidence and any pair.

The coefficients are ratios of displacement amplitudes in the sign convention of Aki & Richards
(2002) fig. 5.6: P along its way, downgoing SV as (cos j, -sin j) and upgoing SV as
(cos j, sin j) in (x, z), z down, waves going towards +x. p [s/m] is the horizontal slowness;
beyond a critical angle coefficients are complex, for a time factor exp(-i omega t).
Also the Rayleigh speed of a half-space. Literature: Zoeppritz (1919); Aki & Richards (2002) 5.2.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from seismo.errors import SeismoError
from seismo.exact.layers.stack import psv_waves
from seismo.exact.medium import Medium


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
