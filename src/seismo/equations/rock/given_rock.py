"""Rock as the model gives it, and the constants that it has about the axes of the grid.

A part of the model gives vp and vs, along the axis of the rock, with Thomsen's or Tsvankin's
parameters; or elastic constants c11 ... c66, in place of them all. Of these it gives

    VTI            c11 c13 c33 c44 c66; then c22 = c11, c23 = c13, c55 = c44, c12 = c11 - 2 c66
    orthorhombic   c11 c22 c33 c12 c13 c23 c44 c55 c66
    others         these nine and any of the further twelve; those left out are 0
    in 2-D         c11 c13 c33 c55, and c15 and c35, will do

Parameters of the ways that a rock is not given in are 0: c33 is not where constants are. Rocks are
given about axes of their own, turned to those of the grid by theta, phi and azimuth
(`seismo.equations.rock.elastic_constants.rotation`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from seismo.equations.framework.parameters import (
    AZIMUTH,
    CONSTANTS,
    DELTA,
    EPSILON,
    GAMMA,
    PHI,
    THETA,
    TSVANKIN,
)
from seismo.equations.rock import elastic_constants
from seismo.equations.rock.elastic_constants import VTI, ElasticConstants

RockValues = Mapping[str, np.ndarray]

ORTHORHOMBIC = ("c11", "c12", "c13", "c22", "c23", "c33", "c44", "c55", "c66")
PLANE = ("c11", "c13", "c33", "c55")
IN_PLANE = (*PLANE, "c15", "c35")  # of waves in the plane of x and z
ANGLES = (THETA, PHI, AZIMUTH)
THOMSEN = (EPSILON, DELTA, GAMMA)
OF_VTI = tuple(CONSTANTS[name] for name in VTI)
OF_ORTHORHOMBIC = tuple(CONSTANTS[name] for name in ORTHORHOMBIC)
NAMES = {
    kind: tuple(parameter.name for parameter in parameters)
    for kind, parameters in (("Thomsen", THOMSEN), ("Tsvankin", TSVANKIN), ("angle", ANGLES))
}
_VELOCITIES = ("vp", "vs")
_WHICH = (
    "give c11, c13, c33, c44, c66 of VTI rock, or the nine of orthorhombic rock (with c12, c22, "
    "c23, c55), and of other rock any further ones, 0 where left out"
)


def mistake(names: Iterable[str], dimensions: int | None) -> tuple[str, str] | None:
    """Return the key and the problem of a part that does not give one rock, None where it does.

    Args:
        names: of the parameters that the part gives.
        dimensions: of the run, if known.
    """
    parameters = set(names)
    constants = parameters & CONSTANTS.keys()
    velocities = [v for v in _VELOCITIES if v in parameters]
    thomsen, tsvankin = ([n for n in NAMES[k] if n in parameters] for k in ("Thomsen", "Tsvankin"))
    # One kind of parameters at a time.
    if thomsen and tsvankin:
        key = tsvankin[0]
        other = thomsen[0]
        return key, f"stands beside {other}: give Thomsen's parameters or Tsvankin's, not both"
    if not constants:
        return None
    # Constants replace velocities and parameters altogether.
    if others := [*velocities, *thomsen, *tsvankin]:
        problem = f"stands beside {min(constants)}: a part gives elastic constants, or velocities"
        return others[0], f"{problem} with Thomsen's or Tsvankin's parameters; leave one kind out"
    # The least sets: five of VTI rock, nine of others, four of a plane.
    needed = set(ORTHORHOMBIC if constants - set(VTI) else VTI)
    if dimensions == 2 and constants <= set(IN_PLANE):
        needed = set(PLANE)
    missing = sorted(needed - constants)
    in_plane = "" if dimensions == 3 else "; in 2-D c11, c13, c33, c55 will do"
    return (missing[0], f"missing: {_WHICH}{in_plane}") if missing else None


def stands_for(name: str, names: Iterable[str]) -> bool:
    """Whether what a part gives stands for a parameter: constants do for vp and vs."""
    return name in _VELOCITIES and not CONSTANTS.keys().isdisjoint(names)


def replaced(names: Iterable[str]) -> set[str]:
    """Return the parameters that a part of the model sets to 0, by those that it gives.

    A rock given in one way has none of the parameters of another, whatever lay beneath.
    """
    parameters = set(names)
    # Constants: none of the other parameters is left.
    if parameters & CONSTANTS.keys():
        every = CONSTANTS.keys() | {name for kind in NAMES.values() for name in kind}
        return set(every) - parameters
    # Thomsen's parameters end Tsvankin's and the other way round, velocities end constants.
    gone: set[str] = set()
    for kind, other in (("Thomsen", "Tsvankin"), ("Tsvankin", "Thomsen")):
        gone |= set(NAMES[other]) if parameters & set(NAMES[kind]) else set()
    by_velocity = parameters & {*_VELOCITIES, *NAMES["Thomsen"], *NAMES["Tsvankin"]}
    return gone | (set(CONSTANTS) if by_velocity else set())


def complete(samples: dict[str, np.ndarray]) -> None:
    """Fill in the velocities along z of rock whose constants are given: c33 / rho, c55 / rho."""
    has_constants = samples["c33"] > 0.0
    rho = samples["rho"]
    # vp = sqrt(c33 / rho), vs = sqrt(c55 / rho): along z, with motion along x.
    shear = samples["c44"] if "c44" in samples else samples["c55"]
    if "c55" in samples:
        shear = np.where(samples["c55"] > 0.0, samples["c55"], shear)
    with np.errstate(invalid="ignore", divide="ignore"):
        samples["vp"] = np.where(has_constants, np.sqrt(samples["c33"] / rho), samples["vp"])
        samples["vs"] = np.where(has_constants, np.sqrt(shear / rho), samples["vs"])


def in_rock(samples: RockValues) -> ElasticConstants:
    """Return the constants [Pa] about the axes of the rock, nine or more; NaN where there are none.

    Args:
        samples: completed, those of Thomsen and Tsvankin among them.
    """
    vp, vs, rho = (samples[name] for name in ("vp", "vs", "rho"))
    epsilon, delta, gamma = (samples[parameter.name] for parameter in THOMSEN)
    # VTI rock in Tsvankin's terms: epsilon1 = epsilon2, delta1 = delta2, delta3 = 0.
    kinds = {"epsilon": epsilon, "delta": delta, "gamma": gamma, "delta3": 0.0}
    numbers = {
        name: samples[name] + kinds.get(name, kinds[name[:-1]]) for name in NAMES["Tsvankin"]
    }
    e1, e2, d1, d2, d3, g1, g2 = numbers.values()
    of_parameters = elastic_constants.orthorhombic(vp, vs, rho, (e1, e2), (d1, d2, d3), (g1, g2))
    constants = {name: samples[name] for name in CONSTANTS if name in samples}
    # Constants left out: c55 = c44, c22 = c11, c23 = c13, c66 = c55, c12 = c11 - 2 c66.
    no_c44 = constants["c44"] == 0.0
    no_c55 = constants["c55"] == 0.0
    constants["c44"] = np.where(no_c44, constants["c55"], constants["c44"])
    constants["c55"] = np.where(no_c55, constants["c44"], constants["c55"])
    level = constants["c22"] == 0.0
    constants["c22"] = np.where(level, constants["c11"], constants["c22"])
    constants["c23"] = np.where(level, constants["c13"], constants["c23"])
    constants["c66"] = np.where(constants["c66"] == 0.0, constants["c55"], constants["c66"])
    constants["c12"] = np.where(level, constants["c11"] - 2.0 * constants["c66"], constants["c12"])
    # Constants where they are given, Tsvankin's parameters elsewhere.
    has_constants = constants["c33"] > 0.0
    return {
        name: np.where(has_constants, c, of_parameters.get(name, 0.0))
        for name, c in constants.items()
    }


def is_turned(samples: RockValues) -> Any:
    """Return which rocks (n) have axes that are not those of the grid."""
    return np.logical_or.reduce([samples[angle.name] != 0.0 for angle in ANGLES])


def in_grid(samples: RockValues) -> np.ndarray:
    """Return the stiffness (n, 6, 6) [Pa] of rocks (n) about the axes of the grid."""
    stiffness = elastic_constants.matrix(in_rock(samples))
    turned = is_turned(samples) & np.isfinite(stiffness).all((-1, -2))
    # Bond's rotation of the stiffness, of rocks whose angles are not 0.
    turn = elastic_constants.rotation(*(samples[angle.name][turned] for angle in ANGLES))
    stiffness[turned] = elastic_constants.rotate(stiffness[turned], turn)
    # What rotation left of zeros, relative to the trace, is zero.
    rounding = 1e-13 * np.trace(stiffness, axis1=-2, axis2=-1)[..., None, None]
    return np.where(np.abs(stiffness) > rounding, stiffness, 0.0)
