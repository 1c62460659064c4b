"""Stiffness of anisotropic rock: constants, rotation, wave speeds, and limits.

A stiffness is a symmetric matrix (..., 6, 6) [Pa], or by name c11 ... c66, for the stresses and
strains xx yy zz yz xz xy (Voigt), with z down; leading axes number rocks. One that is
transversely isotropic about z (VTI) has the five constants of Thomsen (1986, Geophysics 51, 1954),
with vp, vs along the axis,

    c33 = rho vp^2,  c44 = rho vs^2,  c11 = c33 (1 + 2 epsilon),  c66 = c44 (1 + 2 gamma),
    c13 = sqrt(2 delta c33 (c33 - c44) + (c33 - c44)^2) - c44,    c12 = c11 - 2 c66

and an orthorhombic rock those of Tsvankin (1997, Geophysics 62, 1292), index 1 in the plane of y
and z, 2 in that of x and z, 3 in that of x and y; vp and vs are along z, vs that of motion along x.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seismo.equations.framework.parameters import CONSTANTS

VTI = ("c11", "c13", "c33", "c44", "c66")
VOIGT = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])  # of the components ij of a tensor
INDEX = {"x": 1, "y": 2, "z": 3, "yz": 4, "xz": 5, "xy": 6}  # Voigt's, of components
PAIRS = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
_ANISOTROPIC = {"epsilon", "c33"}  # one of which the samples of such a medium have
_ALIKE = 1e-10  # relative difference of stiffnesses that is rounding

ElasticConstants = dict[str, np.ndarray]


def vti(
    vp: np.ndarray, vs: np.ndarray, rho: np.ndarray, epsilon: np.ndarray | float = 0.0,
    delta: np.ndarray | float = 0.0, gamma: np.ndarray | float = 0.0,
) -> ElasticConstants:  # fmt: skip
    """Return the five constants [Pa]; c13 is NaN where `delta` is too small for any.

    Args:
        vp: along the axis, as vs, m/s.
        vs: m/s.
        rho: kg/m3.
        epsilon: Thomsen's parameters, as delta and gamma.
        delta: see above.
        gamma: see above.
    """
    # Definitions of Thomsen (1986), solved for the constants.
    c33 = rho * vp**2
    c44 = rho * vs**2
    return {
        "c11": c33 * (1.0 + 2.0 * epsilon),
        "c13": _off_diagonal(c33, c44, delta),
        "c33": c33,
        "c44": c44,
        "c66": c44 * (1.0 + 2.0 * gamma),
    }


def thomsen(c: Mapping[str, Any]) -> dict[str, Any]:
    """Return epsilon, delta and gamma of five constants [Pa], NaN where there are none."""
    c11, c13, c33, c44, c66 = (c[name] for name in VTI)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Thomsen (1986), equations 8a, 17 (delta, exact) and 8b.
        return {
            "epsilon": 0.5 * (c11 / c33 - 1.0),
            "delta": ((c13 + c44) ** 2 - (c33 - c44) ** 2) / (2.0 * c33 * (c33 - c44)),
            "gamma": 0.5 * (c66 / c44 - 1.0),
        }


def named(letter: str, *components: str) -> str:
    """Name a constant of two components: c13 of x and z, a15 of x and xz, q5 of xz."""
    return letter + "".join(str(n) for n in sorted(INDEX[c] for c in components))


def orthorhombic(
    vp: np.ndarray, vs: np.ndarray, rho: np.ndarray, epsilon: Sequence[Any],
    delta: Sequence[Any], gamma: Sequence[Any],
) -> ElasticConstants:  # fmt: skip
    """Return the nine constants [Pa] of Tsvankin's parameters, in the order of their indices.

    One is NaN where a delta is too small for any.
    """
    # Definitions of Tsvankin (1997), solved for the constants.
    c33 = rho * vp**2
    c55 = rho * vs**2
    c11 = c33 * (1.0 + 2.0 * epsilon[1])
    c22 = c33 * (1.0 + 2.0 * epsilon[0])
    c66 = c55 * (1.0 + 2.0 * gamma[0])
    c44 = c66 / (1.0 + 2.0 * gamma[1])
    return {
        "c11": c11, "c22": c22, "c33": c33,
        "c12": _off_diagonal(c11, c66, delta[2]),
        "c13": _off_diagonal(c33, c55, delta[1]),
        "c23": _off_diagonal(c33, c44, delta[0]),
        "c44": c44, "c55": c55, "c66": c66,
    }  # fmt: skip


def constants_of(medium: Mapping[str, Any]) -> ElasticConstants:
    """Return the five constants [Pa] of a medium's vp, vs, rho and Thomsen parameters, if any.

    Of a medium with constants of its own, for waves in the plane of x and z.
    """
    if "c33" in medium:
        # Plane of x and z: c55 in place of c44.
        in_plane = {name: medium[name] for name in ("c11", "c13", "c33")}
        return in_plane | {"c44": medium["c55"], "c66": medium.get("c66", medium["c55"])}
    thomsen = (medium.get(name, 0.0) for name in ("epsilon", "delta", "gamma"))
    return vti(medium["vp"], medium["vs"], medium["rho"], *thomsen)


def stiffness_of(medium: Mapping[str, Any]) -> np.ndarray:
    """Return the stiffness (..., 6, 6) [Pa] of a medium, about the axes of the grid."""
    if "c33" in medium:
        return matrix({name: medium[name] for name in medium if name in CONSTANTS})
    # VTI rock, turned about z and y where it has a tilt.
    upright = matrix(constants_of(medium))
    if "theta" not in medium:
        return upright
    return rotate(upright, rotation(medium["theta"], medium["phi"]))


def stiffness_of_stresses(medium: Mapping[str, Any], names: Sequence[str]) -> np.ndarray:
    """Return the stiffness (..., n, n) [Pa] of a medium for n stresses sab and their strains.

    SH waves know no vp, and no stress of theirs depends on it.
    """
    stiffness = stiffness_of({"vp": 2.0 * medium["vs"], **medium})
    numbers = [VOIGT["xyz".index(name[1]), "xyz".index(name[2])] for name in names]
    return stiffness[..., np.array(numbers)[:, None], numbers]


def isotropic(medium: Mapping[str, Any]) -> Any:
    """Return where Thomsen's parameters are 0; rock of given constants is taken for anisotropic."""
    if "c33" in medium:
        return np.zeros(np.shape(medium["c33"]), bool)
    # Equations that lack a parameter have a number for it, beside the arrays of the others.
    zero = (np.equal(medium.get(name, 0.0), 0.0) for name in ("epsilon", "delta", "gamma"))
    return functools.reduce(np.logical_and, zero)


def upright(medium: Mapping[str, Any]) -> Any:
    """Return where a medium is transversely isotropic about z, or isotropic."""
    if "c33" not in medium:
        # Thomsen's parameters: an axis along z, or none.
        level = np.sin(np.radians(medium.get("theta", 0.0))) == 0.0
        return level | isotropic(medium)
    # Constants: compare with the VTI rock of the same five.
    differences = np.abs(stiffness_of(medium) - matrix(constants_of(medium)))
    if "c22" not in medium:
        differences = differences[..., ::2, ::2]  # xx, zz and xz
    return differences.max((-1, -2)) <= _ALIKE * medium["c33"]


def thin_stretch(medium: Mapping[str, Any]) -> Any:
    """Return c13 / c33: exactly 1 in a fluid."""
    if not _ANISOTROPIC & medium.keys():
        # lambda / (lambda + 2 mu)
        return 1.0 - 2.0 * (medium["vs"] / medium["vp"]) ** 2
    c = constants_of(medium)
    return c["c13"] / c["c33"]


def plate(medium: Mapping[str, Any]) -> Any:
    """Return c11 - c13^2 / c33 [Pa], the stiffness along a plate: exactly 0 in a fluid."""
    if not _ANISOTROPIC & medium.keys():
        # 4 mu (lambda + mu) / (lambda + 2 mu)
        return 4.0 * medium["rho"] * medium["vs"] ** 2 * (1.0 - (medium["vs"] / medium["vp"]) ** 2)
    c = constants_of(medium)
    return c["c11"] - c["c13"] * (c["c13"] / c["c33"])


def level_shear(medium: Mapping[str, Any]) -> Any:
    """Return c66 [Pa]."""
    shear = medium["rho"] * medium["vs"] ** 2
    return shear * (1.0 + 2.0 * medium["gamma"]) if "gamma" in medium else shear


def _off_diagonal(normal: Any, shear: Any, delta: Any) -> Any:
    """Return c13 of c33 and c44, or the like of another plane; NaN where there is none."""
    with np.errstate(invalid="ignore"):
        # (c13 + c44)^2 = 2 delta c33 (c33 - c44) + (c33 - c44)^2
        return np.sqrt(2.0 * delta * normal * (normal - shear) + (normal - shear) ** 2) - shear


def with_implied(constants: Mapping[str, Any]) -> dict[str, Any]:
    """Return named constants with those that they imply: of VTI rock five are enough.

    Constants that are not named then are 0; if only constants of the plane of x and z are named,
    the others do not couple other motion to it.
    """
    named = dict(constants)
    # VTI symmetry: c22 = c11, c23 = c13, c55 = c44, c12 = c11 - 2 c66.
    if set(named) == set(VTI):
        named |= {"c22": named["c11"], "c23": named["c13"], "c55": named["c44"]}
        named["c12"] = named["c11"] - 2.0 * named["c66"]
    elif "c22" not in named:
        named |= {"c22": named["c11"], "c44": named["c55"], "c66": named["c55"]}
    return named


def matrix(constants: Mapping[str, np.ndarray | float]) -> np.ndarray:
    """Return the stiffness (..., 6, 6) of named constants (`with_implied`)."""
    named = with_implied({name: 1.0 * np.asarray(value) for name, value in constants.items()})
    shape = np.broadcast_shapes(*(value.shape for value in named.values()))
    stiffness = np.zeros((*shape, 6, 6), np.result_type(*named.values()))
    for name, value in named.items():
        # c_ij = c_ji
        i, j = sorted((int(name[1]) - 1, int(name[2]) - 1))
        stiffness[..., i, j] = stiffness[..., j, i] = value
    return stiffness


def axis_of(theta: Any, phi: Any) -> dict[str, Any]:
    """Return the components of a unit vector along the symmetry axis, of its angles in degrees."""
    # n = (sin theta cos phi, sin theta sin phi, cos theta)
    tilt = np.radians(theta)
    azimuth = np.radians(phi)
    across = np.sin(tilt)
    return {"x": across * np.cos(azimuth), "y": across * np.sin(azimuth), "z": np.cos(tilt)}


def rotation(
    theta: np.ndarray | float, phi: np.ndarray | float, azimuth: np.ndarray | float | None = None
) -> np.ndarray:
    """Return R (..., 3, 3) = R_z(phi) R_y(theta) R_z(azimuth), which turns z to a rock's axis.

    Args:
        theta: tilt of the axis from z, in degrees.
        phi: azimuth towards which it tilts, from x to y, in degrees.
        azimuth: turn about the axis, from x to y, before it tilts, in degrees.

    Returns:
        R, with R z = (sin theta cos phi, sin theta sin phi, cos theta).
    """
    tilt, sideways = np.broadcast_arrays(np.radians(theta), np.radians(phi))
    ct = np.cos(tilt)
    st = np.sin(tilt)
    cp = np.cos(sideways)
    sp = np.sin(sideways)
    # R_z(phi) R_y(theta), written out.
    rows = ((cp * ct, -sp, cp * st), (sp * ct, cp, sp * st), (-st, np.zeros_like(st), ct))
    tilted = np.stack([np.stack(row, -1) for row in rows], -2)
    return tilted if azimuth is None else tilted @ rotation(0.0, azimuth)


def rotate(stiffness: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Return the stiffness (..., 6, 6) of rock that is turned by R (..., 3, 3) (Bond's matrix)."""
    bond = np.empty((*turn.shape[:-2], 6, 6))
    for row, (i, j) in enumerate(PAIRS):
        for column, (k, m) in enumerate(PAIRS):
            # Bond's matrix M of stresses: s' = M s, C' = M C M^T.
            both = turn[..., i, k] * turn[..., j, m] + turn[..., i, m] * turn[..., j, k]
            bond[..., row, column] = both if k != m else 0.5 * both
    return bond @ stiffness @ np.swapaxes(bond, -1, -2)


def positive_definite(stiffness: np.ndarray) -> np.ndarray:
    """Return which rocks (...) take energy for every strain: all pivots are positive."""
    size = stiffness.shape[-1]
    least = _ALIKE * np.trace(stiffness, axis1=-2, axis2=-1)
    sound = np.isfinite(stiffness).all((-1, -2))
    # Entry by entry, each of all rocks at once.
    rest = {(i, j): stiffness[..., i, j] for i in range(size) for j in range(i, size)}
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for k in range(size):
            # Gaussian elimination: a pivot, and the Schur complement that it leaves.
            sound = sound & (rest[k, k] > least)
            for i in range(k + 1, size):
                share = rest[k, i] / rest[k, k]
                for j in range(i, size):
                    rest[i, j] = rest[i, j] - share * rest[k, j]
    return np.asarray(sound)


def has_c13(medium: Mapping[str, Any]) -> np.ndarray:
    """Return for which media (...) delta leaves c13 a real number."""
    return np.isfinite(constants_of(medium)["c13"])


def takes_energy(medium: Mapping[str, Any]) -> np.ndarray:
    """Return which media (...) take energy for every strain; fluids and isotropic ones may."""
    c = constants_of(medium)
    # c33 (c11 - c66) > c13^2 and c11 > c66
    sound = (c["c33"] * (c["c11"] - c["c66"]) > c["c13"] ** 2) & (c["c11"] > c["c66"])
    return sound | isotropic(medium)
