"""Plane waves in anisotropic rock: their speeds, and which of them grow in absorbing layers.

Stiffnesses as in `seismo.equations.rock.elastic_constants`. A plane wave along the unit
vector n has the speed c and the motion e of the Christoffel equation

    c_ijkl n_j n_l e_k = rho c^2 e_i,    and the group velocity  V_j = c_ijkl e_i e_k n_l / (rho c)

An absorbing layer along the axis a lets a wave grow where n_a V_a < 0 (Becache, Fauqueux & Joly
2003, J. Comput. Phys. 188, 399): `growth` is the largest m of -n_a V_a / c, the rate of that in
shares of the damping d. A layer that damps the other axes by a share p of d adds -p (1 + m) d at
least, since n V = c, and ends it from p = m / (1 + m) on (Meza-Fajardo & Papageorgiou 2008, BSSA
98, 1811).

The slowest and the fastest waves (`speeds`, `fastest`) are of samples of a medium, which have
Thomsen's parameters of upright rock, or constants c11 ... c66 [Pa] about the axes of the grid.

`Rock` is that of a flat layer: isotropic, transversely isotropic about z, or a fluid, with
velocities vp, vs (m/s), density rho (kg/m3), constants c11 ... c66 and moduli lambda, mu (Pa).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from seismo.equations.framework.parameters import CONSTANTS, different
from seismo.equations.rock import elastic_constants
from seismo.equations.rock.elastic_constants import (
    PAIRS,
    VOIGT,
    ElasticConstants,
    constants_of,
    stiffness_of,
)

_SPACE = 1000  # directions of half a sphere
_PLANE = 360  # directions of half a circle
_TOGETHER = 64  # rocks
_COARSE = 12  # every so manyth direction ranks rocks by how much they let grow
_LEADING = 6  # rocks of an axis that are looked at in all directions


def directions(dimensions: int = 3) -> np.ndarray:
    """Return unit vectors (n, 3) over half a sphere, or over half a circle of x and z."""
    if dimensions == 2:
        # Waves along n and -n are the same.
        angle = np.pi * np.arange(_PLANE) / _PLANE
        return np.stack([np.cos(angle), np.zeros(_PLANE), np.sin(angle)], 1)
    number = np.arange(_SPACE) + 0.5
    # Directions on a Fibonacci lattice: z uniform, azimuth by the golden angle.
    z = number / _SPACE
    turn = np.pi * (1.0 + np.sqrt(5.0)) * number
    radius = np.sqrt(1.0 - z**2)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), z], 1)


def waves(
    stiffness: np.ndarray, rho: np.ndarray | float, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return phase speeds (..., direction, 3) m/s and group velocities (..., direction, 3, 3).

    Args:
        stiffness: (..., 6, 6) Pa, positive definite.
        rho: (...) kg/m3.
        n: (direction, 3) unit vectors.

    Returns:
        By wave, slowest first; the last axis of the group velocities is x, y, z.
    """
    # c_ijkl / rho of Voigt's matrix.
    tensor = stiffness[..., VOIGT[:, :, None, None], VOIGT[None, None]]
    tensor = tensor / np.asarray(rho, float)[..., None, None, None, None]
    # Christoffel matrix c_ijkl n_j n_l / rho, its eigenvalues c^2 and motions e.
    half = np.einsum("...ijkl,al->...aijk", tensor, n)  # the part of n_l
    squares, motion = np.linalg.eigh(np.einsum("...aijk,aj->...aik", half, n))
    speed = np.sqrt(squares)
    # Group velocity V_j = c_ijkl e_i e_k n_l / (rho c)
    group = np.einsum("...aijk,...aim,...akm->...amj", half, motion, motion, optimize=True)
    return speed, group / speed[..., None]


def christoffel(stiffness: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return c_ijkl n_j n_l (..., direction, 3, 3) [Pa] of stiffnesses (..., 6, 6)."""
    tensor = stiffness[..., VOIGT[:, :, None, None], VOIGT[None, None]]
    return np.einsum("...ijkl,aj,al->...aik", tensor, n, n, optimize=True)


def growth(stiffness: np.ndarray, rho: np.ndarray, dimensions: int = 3) -> np.ndarray:
    """Return m (axis) of layers along x, y and z, the largest of all rocks; 0 where none grows.

    Args:
        stiffness: (rock, 6, 6) Pa.
        rho: (rock) kg/m3.
        dimensions: 2 for waves in the plane of x and z.
    """
    n = directions(dimensions)
    if len(stiffness) > 3 * _LEADING:
        # Few directions tell which of many rocks let most grow.
        order = np.argsort(-_against(stiffness, rho, n[::_COARSE]), axis=0)
        leading = np.unique(order[:_LEADING])
        stiffness = stiffness[leading]
        rho = rho[leading]
    largest = _against(stiffness, rho, n).max(0, initial=0.0)
    return np.where(largest > 1e-9, largest, 0.0)


def _against(stiffness: np.ndarray, rho: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return the largest -n_a V_a / c (rock, axis) of waves in directions n."""
    growths = []
    # In batches, which bounds the memory.
    for first in range(0, len(stiffness), _TOGETHER):
        rocks = slice(first, first + _TOGETHER)
        speed, group = waves(stiffness[rocks], rho[rocks], n)
        # -n_a V_a / c: energy that goes against the phase (Becache et al. 2003).
        growths.append((-n[:, None, :] * group / speed[..., None]).max((1, 2)))
    return np.concatenate(growths) if growths else np.zeros((0, 3))


_EXCHANGES = 8  # of direction and motion, in search of the fastest wave
_FURTHER = 40  # of them, where it is nearly found
_MAY_LEAD = 0.75  # of the largest squared speed of longitudinal motion
_LEADS = 0.98  # of the largest squared speed after the first exchanges


def speeds(medium: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the slowest and the fastest wave (...) m/s, of SH waves where there is no vp."""
    # Given constants: Christoffel's equation over many directions.
    if "c33" in medium:
        stiffness = stiffness_of(medium)
        plane = 2 if "c22" not in medium else 3
        slowest = waves(stiffness, medium["rho"], directions(plane))[0][..., 0].min(-1)
        return slowest, fastest(medium)
    if "vp" in medium:
        return extreme_speeds(constants_of(medium), medium["rho"])
    # SH waves: c44 = rho vs^2 along the axis, c66 = c44 (1 + 2 gamma) across it.
    level = medium["vs"] * np.sqrt(1.0 + 2.0 * medium["gamma"])
    return np.minimum(medium["vs"], level), np.maximum(medium["vs"], level)


def fastest(medium: Mapping[str, Any]) -> Any:
    """Return the fastest wave (...) m/s; of given constants, to 1e-6 where it may be the fastest.

    There it is the largest of c_ijkl e_i n_j e_k n_l, which changes nothing where the unit vectors
    e and n change places: the e of the largest takes the place of n until nothing changes, from
    several directions on. Slow rocks have that of longitudinal motion along the best of these.
    """
    if "c33" not in medium:
        return speeds(medium)[1]
    names = [name for name in medium if name in CONSTANTS or name == "rho"]
    shape = np.shape(medium["c33"])
    columns = np.array([np.broadcast_to(medium[name], shape).ravel() for name in names])
    # Each rock once.
    rocks, which = different(columns)
    distinct = dict(zip(names, rocks, strict=True))
    stiffness = stiffness_of(distinct) / distinct["rho"][:, None, None]
    # c_ijkl n_i n_j n_k n_l, the squared speed of longitudinal motion, by Voigt's pairs.
    starts = _starts("c22" not in distinct)
    along = np.stack([(2.0 - (i == j)) * starts[:, i] * starts[:, j] for i, j in PAIRS], 1)
    squares = np.einsum("rij,ai,aj->ra", stiffness, along, along, optimize=True).max(1)
    # Only rocks that may be the fastest are worth the exchanges.
    leading = np.flatnonzero(squares > _MAY_LEAD * squares.max())
    tensor = stiffness[leading][:, VOIGT[:, :, None, None], VOIGT[None, None]]
    ends = [_exchanged(tensor, np.tile(n, (len(leading), 1)), _EXCHANGES) for n in starts]
    # The best of all starts, and further exchanges where it leads.
    reached, motion = (np.stack(each) for each in zip(*ends, strict=True))
    best = reached.argmax(0), np.arange(len(leading))
    squares[leading] = reached[best]
    last = reached[best] > _LEADS * squares.max()
    squares[leading[last]] = _exchanged(tensor[last], motion[best][last], _FURTHER)[0]
    return np.sqrt(squares)[which].reshape(shape)


def _starts(plane: bool) -> np.ndarray:
    """Return unit vectors (n, 3) along the axes and diagonals, of a plane or of space."""
    # Waves along n and -n are the same: the later half of the list, without 0.
    n = [v for v in product((-1.0, 0.0, 1.0), repeat=3) if not plane or v[1] == 0.0]
    half = np.array(n[len(n) // 2 + 1 :])
    return half / np.linalg.norm(half, axis=1)[:, None]


def _exchanged(tensor: np.ndarray, n: np.ndarray, times: int) -> tuple[np.ndarray, np.ndarray]:
    """Return c^2 (rock) and e (rock, 3) of the fastest waves after so many exchanges of e and n."""
    for _ in range(times):
        # Largest eigenvalue of the Christoffel matrix c_ijkl n_j n_l; its e is the next n.
        squares, motion = np.linalg.eigh(np.einsum("rijkl,rj,rl->rik", tensor, n, n))
        n = motion[..., -1]
    return squares[:, -1], n


def extreme_speeds(c: ElasticConstants, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest phase velocity (...) m/s of all waves in VTI rocks.

    With q = sin^2 of the angle from the axis, 2 rho c^2 = a + b q +- sqrt(d q^2 + e q + f) of qP
    and qSV, whose derivatives vanish where (b^2 - d)(4 d q^2 + 4 e q) + 4 f b^2 - e^2 = 0: the
    extreme is one of the values there, at either end of the range, and of SH (c66, c44) is the
    extreme.
    """
    # 2 rho c^2 = a + b q +- sqrt(d q^2 + e q + f), q = sin^2 of the angle from the axis.
    horizontal = c["c11"] - c["c44"]
    vertical = c["c33"] - c["c44"]
    mixed = 4.0 * (c["c13"] + c["c44"]) ** 2
    a = c["c33"] + c["c44"]
    b = c["c11"] - c["c33"]
    d = (horizontal + vertical) ** 2 - mixed
    e = mixed - 2.0 * vertical * (horizontal + vertical)
    f = vertical**2
    # Stationary values: p q^2 + p e / d q + r = 0.
    p = 4.0 * d * (b**2 - d)
    r = 4.0 * f * b**2 - e**2
    with np.errstate(divide="ignore", invalid="ignore"):
        half = -0.5 * e / d  # half the sum of both roots
        root = np.sqrt(half**2 - r / p)
        candidates = [half + root, half - root]
    # Ends of the range of q, and SH waves.
    least = np.minimum(c["c44"], c["c66"])
    largest = np.maximum(c["c11"], c["c33"])
    for q in (np.clip(np.nan_to_num(candidate), 0.0, 1.0) for candidate in candidates):
        # qSV below, qP above.
        separation = np.sqrt(np.maximum(d * q**2 + e * q + f, 0.0))
        least = np.minimum(least, 0.5 * (a + b * q - separation))
        largest = np.maximum(largest, 0.5 * (a + b * q + separation))
    return np.sqrt(np.maximum(least, 0.0) / rho), np.sqrt(largest / rho)


@dataclass(frozen=True)
class Rock:
    """A medium of a layer: vp, vs (m/s), rho (kg/m3) and Thomsen's parameters."""

    vp: float
    vs: float
    rho: float
    epsilon: float = 0.0
    delta: float = 0.0
    gamma: float = 0.0

    @property
    def _medium(self) -> dict[str, float]:
        parameters = vars(self)
        if elastic_constants.isotropic(parameters):
            return {name: parameters[name] for name in ("vp", "vs", "rho")}
        return parameters

    @property
    def fastest(self) -> float:
        """The speed of the fastest wave [m/s]."""
        medium = self._medium
        return float(fastest(medium)) if "epsilon" in medium else self.vp

    @property
    def shear(self) -> float:
        """The shear modulus mu, or c44 [Pa]."""
        return self.rho * self.vs**2

    @property
    def level_shear(self) -> float:
        """The shear modulus mu, or c66 [Pa]."""
        return float(elastic_constants.level_shear(self._medium))

    @property
    def stiffness(self) -> float:
        """Return lambda + 2 mu, or c33 [Pa]."""
        return self.rho * self.vp**2

    @property
    def thin_stretch(self) -> float:
        """Return l = lambda / (lambda + 2 mu), or c13 / c33."""
        return float(elastic_constants.thin_stretch(self._medium))

    @property
    def plate(self) -> float:
        """Return E = 4 mu (lambda + mu) / (lambda + 2 mu), or c11 - c13^2 / c33 [Pa]."""
        return float(elastic_constants.plate(self._medium))

    def constants(self, c33: np.ndarray) -> dict[str, np.ndarray]:
        """Return the constants [Pa] of its rows, with `c33` in place of its own."""
        # c13 = l c33, c11 = E + l^2 c33; nine constants of rock transversely isotropic about z.
        c11 = self.plate + self.thin_stretch**2 * c33
        c13 = self.thin_stretch * c33
        shear = np.full_like(c33, self.shear)
        level = np.full_like(c33, self.level_shear)
        return {
            "c11": c11, "c22": c11, "c33": c33, "c12": c11 - 2.0 * level, "c13": c13, "c23": c13,
            "c44": shear, "c55": shear, "c66": level,
        }  # fmt: skip
