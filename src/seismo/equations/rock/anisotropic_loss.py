"""Loss of transversely isotropic rock: its moduli as qp and qs have them relax.

About the axis of the rock, with the ratios p(w) and s(w) of complex moduli of P and of S waves to
unrelaxed ones (`seismo.equations.rock.relaxation`)::

    c11 p,   c33 p,   c44 s,   c66 s,   c13 -> g p - (g - c13) s,    g = sqrt(c11 c33)

In isotropic rock g - c13 is 2 mu, and this is lambda. With v = (sqrt c11, sqrt c11, sqrt c33) for
the strains xx, yy, zz and 0 for the others the stiffness is, in any frame, s C + (p - s) v v^T: S
waves lose in the proportion of the stiffness, and P waves alone stretch v v^T. So S waves
of any direction have the quality factor qs: exactly for SH, and along the axis and across
it, else but for squares of Thomsen's parameters. P waves have qp along the axis and across it, and
between them, at the angle a from the axis, about

    1/Q = 1/qp + 2 (1/qs - 1/qp) (delta - epsilon) sin^2 a cos^2 a

A rock loses energy for every strain if loss matrices, C / qs + (1/qp - 1/qs) v v^T, have no
eigenvalue below 0: 1/qp must be no less than the share 1 - 1 / (v C^-1 v) of 1/qs. That is
4/3 (vs/vp)^2 in isotropic rock, of which it says that the bulk modulus gains nothing. In the plane
of x and z strains yy are 0, and less is asked: (vs/vp)^2.

Rock of other constants relaxes so, too, with v = (sqrt c11, sqrt c22, sqrt c33) about its own axes:
its samples have the constants about the axes of the grid, and v turned to them, root1 ... root6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from seismo.equations.framework.parameters import CONSTANTS
from seismo.equations.rock import elastic_constants, plane_waves
from seismo.equations.rock.relaxation import SHEAR_PART, Relaxation

STIFFER = 1e-5  # relative change of moduli that shows losses
SHEAR_SHARE = "shear_share"  # name by which its extremes are known (`Physics.derived`)
_DIRECTIONS = 19  # over a quarter of a circle
_EVERY = 10  # of the directions in space, or in a plane, at which rocks of constants are asked


def relaxed(c: Mapping[str, Any], p: Any, s: Any) -> dict[str, Any]:
    """Return the five constants [Pa] of moduli of P and S waves that are p and s times as large."""
    # c13 -> g p - (g - c13) s, g = sqrt(c11 c33)
    common = np.sqrt(c["c11"] * c["c33"])
    return {
        "c11": p * c["c11"],
        "c13": p * common - s * (common - c["c13"]),
        "c33": p * c["c33"],
        "c44": s * c["c44"],
        "c66": s * c["c66"],
    }


def scaled(medium: Mapping[str, Any], p: Any, s: Any) -> dict[str, Any]:
    """Return parameters that change where P and S moduli are p and s times as large.

    Those are vp, vs, and delta where there are both velocities: epsilon and gamma stay.
    """
    if "root1" in medium:
        return _scaled_constants(medium, p, s)
    # Moduli p and s times as large: vp sqrt(p), vs sqrt(s).
    velocities = {"vp": np.sqrt(p), "vs": np.sqrt(s)}
    changed = {name: medium[name] * ratio for name, ratio in velocities.items() if name in medium}
    if "delta" not in medium or "vs" not in medium:
        return changed
    # delta of the relaxed constants (Thomsen 1986, equation 17); isotropic rock stays isotropic.
    c = relaxed(elastic_constants.constants_of(medium), p, s)
    difference = c["c33"] - c["c44"]
    delta = ((c["c13"] + c["c44"]) ** 2 - difference**2) / (2.0 * c["c33"] * difference)
    plain = elastic_constants.isotropic(medium)
    return changed | {"delta": np.where(plain, medium["delta"], delta)}


def _scaled_constants(medium: Mapping[str, Any], p: Any, s: Any) -> dict[str, Any]:
    """Return the constants and roots of such media, and the velocities along z."""
    # s C + (p - s) v v^T, whose roots of P moduli are sqrt(p) v.
    changed = {
        name: s * medium[name] + (p - s) * medium[f"root{name[1]}"] * medium[f"root{name[2]}"]
        for name in medium
        if name in CONSTANTS
    }
    for name, constant in (("vp", "c33"), ("vs", "c55")):
        # A fluid has no c55 before and after.
        before = np.where(medium[constant] > 0.0, medium[constant], 1.0)
        changed[name] = medium[name] * np.sqrt(changed[constant] / before)
    roots = {n: np.sqrt(p) * medium[n] for n in medium if n.startswith("root")}
    return changed | roots


def _roots(medium: Mapping[str, Any]) -> np.ndarray:
    """Return v (..., 6) of rock of given constants; 0 for strains missing in a plane."""
    known = [medium.get(f"root{n}", 0.0 * medium["root1"]) for n in range(1, 7)]
    return np.stack(known, -1)


def _share_of_constants(medium: Mapping[str, Any], dimensions: int) -> np.ndarray:
    """Return 1 - 1 / (v C^-1 v) of media; 0 of fluids, whose v v^T is C."""
    fluid = np.asarray(medium["c55"] == 0.0)
    stiffness = elastic_constants.stiffness_of(medium)
    stiffness = np.where(fluid[..., None, None], np.eye(6), stiffness)
    v = _roots(medium)
    if dimensions == 2:
        stiffness = stiffness[..., ::2, ::2]  # xx, zz and xz
        v = v[..., ::2]
    share = 1.0 - 1.0 / (v * np.linalg.solve(stiffness, v[..., None])[..., 0]).sum(-1)
    return np.where(fluid, 0.0, share)


def shear_share(medium: Mapping[str, Any], dimensions: int) -> Any:
    """Return the least 1/qp (...) of media that lose energy for every strain, over their 1/qs.

    With d = g - c13 it is 2 d^2 / (2 d^2 + 2 c33 (c11 - c66) - 2 c13^2), in a plane d / 2 g.
    """
    if "root1" in medium:
        return _share_of_constants(medium, dimensions)
    isotropic = SHEAR_PART[dimensions] * (medium["vs"] / medium["vp"]) ** 2
    if "epsilon" not in medium:
        return isotropic
    c = elastic_constants.constants_of(medium)
    common = np.sqrt(c["c11"] * c["c33"])
    # Share 1 - 1 / (v C^-1 v); in a plane d / 2 g.
    difference = common - c["c13"]
    if dimensions == 2:
        share = 0.5 * difference / common
    else:
        rest = c["c33"] * (c["c11"] - c["c66"]) - c["c13"] ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            share = difference**2 / (difference**2 + rest)
    return np.where(elastic_constants.isotropic(medium), isotropic, share)


def loss_numbers(
    medium: Mapping[str, Any], relaxation: Relaxation, dimensions: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return y (`Relaxation`) of the P and S moduli of media."""
    vp = medium.get("vp", 1.0)
    vs = medium.get("vs", 0.0)
    if {"qp", "qs"} <= medium.keys():
        # Velocity of isotropic rock like it.
        vs = vp * np.sqrt(shear_share(medium, dimensions) / SHEAR_PART[dimensions])
    p, s = (relaxation.cell_value(wave, medium.get(f"q{wave}", np.inf), vp, vs) for wave in "ps")
    return p, s


def by_direction(medium: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return 1/Q (..., direction) of qP waves over 1/qp, and of qSV waves over 1/qs, from loss.

    To first order in 1/Q, from the axis to across it: e L(n) e / e C(n) e of the motion e of waves,
    with the Christoffel matrices of the loss L and of C.
    """
    if "root1" in medium:
        return _constants_by_direction(medium)
    # A further axis, of directions.
    columns = {name: np.asarray(samples, float)[..., None] for name, samples in medium.items()}
    c = elastic_constants.constants_of(columns)
    p = 1.0 / columns["qp"]
    s = 1.0 / columns["qs"]
    # Loss matrix: imaginary part of the constants with P and S moduli of 1 + i / Q.
    lost = {name: relaxed(c, 1.0 + 1j * p, 1.0 + 1j * s)[name].imag for name in c}
    angle = np.radians(np.linspace(0.0, 90.0, _DIRECTIONS))
    sine = np.sin(angle)
    cosine = np.cos(angle)

    def entries(m: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        # Christoffel matrix for n = (sin a, 0, cos a).
        xx = m["c11"] * sine**2 + m["c44"] * cosine**2
        zz = m["c44"] * sine**2 + m["c33"] * cosine**2
        return xx, zz, (m["c13"] + m["c44"]) * sine * cosine

    xx, zz, xz = entries(c)
    turn = 0.5 * np.arctan2(2.0 * xz, xx - zz)  # of the motion of qP from x to z
    ratios = []
    for loss, motion in ((p, turn), (s, turn + 0.5 * np.pi)):
        x = np.cos(motion)
        z = np.sin(motion)
        # 1/Q = e L(n) e / e C(n) e
        stored, dissipated = (
            a * x**2 + b * z**2 + 2.0 * both * x * z for a, b, both in (entries(c), entries(lost))
        )
        ratios.append(dissipated / stored / loss)
    return ratios[0], ratios[1]


def _constants_by_direction(medium: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the same of rocks (n) of given constants: of the fastest and of the other waves."""
    plane = "c22" not in medium
    n = plane_waves.directions(2 if plane else 3)[::_EVERY]
    p, s = (1.0 / np.asarray(medium[name], float) for name in ("qp", "qs"))
    stiffness = elastic_constants.stiffness_of(medium)
    v = _roots(medium)
    tensor = v[..., elastic_constants.VOIGT]
    matrices = plane_waves.christoffel(stiffness, n)
    # v v^T n: a vector (rock, direction, 3), of which motion e takes the square of e . v n.
    along = np.einsum("...ij,aj->...ai", tensor, n)
    squares, motion = np.linalg.eigh(matrices)
    # 1/Q = s + (p - s) (e v n)^2 / (e C e)
    shares = np.einsum("...ai,...aim->...am", along, motion) ** 2 / squares
    loss = s[..., None, None] + (p - s)[..., None, None] * shares
    waves = loss[..., :2]
    if plane:
        # Motion along y is none of a plane's.
        inside = np.abs(motion[..., 1, :2]) < 0.5
        waves = np.where(inside, waves, s[..., None, None])
    return loss[..., 2] / p[..., None], (waves / s[..., None, None]).reshape(len(s), -1)
