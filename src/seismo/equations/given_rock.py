"""Rock as the model gives it, and the constants that it has about the axes of the grid.

A part of the model gives vp and vs, along the axis of the rock, with Thomsen's or Tsvankin's
parameters; or elastic constants c11 ... c66, in place of them all. Of these it gives

    VTI            c11 c13 c33 c44 c66; then c22 = c11, c23 = c13, c55 = c44, c12 = c11 - 2 c66
    orthorhombic   c11 c22 c33 c12 c13 c23 c44 c55 c66
    others         these nine and any of the further twelve; those left out are 0
    in 2-D         c11 c13 c33 c55, and c15 and c35, will do

Parameters of the ways that a rock is not given in are 0: c33 is not where constants are. Rocks are
given about axes of their own, turned to those of the grid by theta, phi and azimuth
(`seismo.equations.elastic_constants.rotation`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from seismo.equations import elastic_constants
from seismo.equations.elastic_constants import VTI, ElasticConstants
from seismo.equations.parameters import (
    AZIMUTH,
    CONSTANTS,
    DELTA,
    EPSILON,
    GAMMA,
    PHI,
    RHO,
    THETA,
    TSVANKIN,
    VP,
    VS,
    Condition,
    Conversion,
    Parameter,
)

RockValues = Mapping[str, np.ndarray]

ORTHORHOMBIC = ("c11", "c12", "c13", "c22", "c23", "c33", "c44", "c55", "c66")
PLANE = ("c11", "c13", "c33", "c55")
_IN_PLANE = (*PLANE, "c15", "c35")  # of waves in the plane of x and z
_OUT_OF_PLANE = ("c14", "c16", "c34", "c36", "c45", "c56")  # couple them to motion along y
ANGLES = (THETA, PHI, AZIMUTH)
THOMSEN = (EPSILON, DELTA, GAMMA)
_NAMES = {
    kind: tuple(parameter.name for parameter in parameters)
    for kind, parameters in (("Thomsen", THOMSEN), ("Tsvankin", TSVANKIN), ("angle", ANGLES))
}
_VELOCITIES = ("vp", "vs")
_WHICH = (
    "give c11, c13, c33, c44, c66 of VTI rock, or the nine of orthorhombic rock (with c12, c22, "
    "c23, c55), and of other rock any further ones, 0 where left out"
)
_UNSOUND = (
    "no rock has such constants, since a strain would set energy free (they are not positive "
    "definite): check their values and units"
)
_ROUNDING = 1e-6  # of c33, in constants of rock that has been turned


def mistake(names: Iterable[str], dimensions: int | None) -> tuple[str, str] | None:
    """Return the key and the problem of a part that does not give one rock, None where it does.

    Args:
        names: of the parameters that the part gives.
        dimensions: of the run, if known.
    """
    given = set(names)
    constants = given & CONSTANTS.keys()
    velocities = [v for v in _VELOCITIES if v in given]
    thomsen, tsvankin = ([n for n in _NAMES[k] if n in given] for k in ("Thomsen", "Tsvankin"))
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
    if dimensions == 2 and constants <= set(_IN_PLANE):
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
    given = set(names)
    # Constants: none of the other parameters is left.
    if given & CONSTANTS.keys():
        every = CONSTANTS.keys() | {name for kind in _NAMES.values() for name in kind}
        return set(every) - given
    # Thomsen's parameters end Tsvankin's and the other way round, velocities end constants.
    gone: set[str] = set()
    for kind, other in (("Thomsen", "Tsvankin"), ("Tsvankin", "Thomsen")):
        gone |= set(_NAMES[other]) if given & set(_NAMES[kind]) else set()
    by_velocity = given & {*_VELOCITIES, *_NAMES["Thomsen"], *_NAMES["Tsvankin"]}
    return gone | (set(CONSTANTS) if by_velocity else set())


def complete(values: dict[str, np.ndarray]) -> None:
    """Fill in the velocities along z of rock whose constants are given: c33 / rho, c55 / rho."""
    given = values["c33"] > 0.0
    rho = values["rho"]
    # vp = sqrt(c33 / rho), vs = sqrt(c55 / rho): along z, with motion along x.
    shear = values["c44"] if "c44" in values else values["c55"]
    if "c55" in values:
        shear = np.where(values["c55"] > 0.0, values["c55"], shear)
    with np.errstate(invalid="ignore", divide="ignore"):
        values["vp"] = np.where(given, np.sqrt(values["c33"] / rho), values["vp"])
        values["vs"] = np.where(given, np.sqrt(shear / rho), values["vs"])


def _five(values: RockValues) -> np.ndarray:
    """Return the stiffness (n, 6, 6) [Pa] of five constants."""
    return elastic_constants.matrix({name: values[name] for name in VTI})


def _has_delta(values: RockValues) -> Any:
    """Return which five constants (n) Thomsen's parameters can stand for."""
    unlike = np.abs(values["c33"] - values["c44"]) > _ROUNDING * values["c33"]
    return unlike & (values["c13"] + values["c44"] > 0.0)


def _thomsen(values: RockValues) -> dict[str, np.ndarray]:
    """Return vp, vs, rho and Thomsen's parameters of VTI rock."""
    c11, c13, c33, c44, c66 = (values[name] for name in VTI)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Thomsen (1986), equations 8a, 17 (delta, exact) and 8b.
        of_constants = {
            "epsilon": 0.5 * (c11 / c33 - 1.0),
            "delta": ((c13 + c44) ** 2 - (c33 - c44) ** 2) / (2.0 * c33 * (c33 - c44)),
            "gamma": 0.5 * (c66 / c44 - 1.0),
        }
    given = c33 > 0.0
    found = {name: np.where(given, v, values[name]) for name, v in of_constants.items()}
    return {"vp": values["vp"], "vs": values["vs"], "rho": values["rho"]} | found


def in_rock(values: RockValues) -> ElasticConstants:
    """Return the constants [Pa] about the axes of the rock, nine or more; NaN where there are none.

    Args:
        values: completed, those of Thomsen and Tsvankin among them.
    """
    vp, vs, rho = (values[name] for name in ("vp", "vs", "rho"))
    epsilon, delta, gamma = (values[parameter.name] for parameter in THOMSEN)
    # VTI rock in Tsvankin's terms: epsilon1 = epsilon2, delta1 = delta2, delta3 = 0.
    kinds = {"epsilon": epsilon, "delta": delta, "gamma": gamma, "delta3": 0.0}
    numbers = {
        name: values[name] + kinds.get(name, kinds[name[:-1]]) for name in _NAMES["Tsvankin"]
    }
    e1, e2, d1, d2, d3, g1, g2 = numbers.values()
    found = elastic_constants.orthorhombic(vp, vs, rho, (e1, e2), (d1, d2, d3), (g1, g2))
    own = {name: values[name] for name in CONSTANTS if name in values}
    # Constants left out: c55 = c44, c22 = c11, c23 = c13, c66 = c55, c12 = c11 - 2 c66.
    no_c44 = own["c44"] == 0.0
    no_c55 = own["c55"] == 0.0
    own["c44"] = np.where(no_c44, own["c55"], own["c44"])
    own["c55"] = np.where(no_c55, own["c44"], own["c55"])
    level = own["c22"] == 0.0
    own["c22"] = np.where(level, own["c11"], own["c22"])
    own["c23"] = np.where(level, own["c13"], own["c23"])
    own["c66"] = np.where(own["c66"] == 0.0, own["c55"], own["c66"])
    own["c12"] = np.where(level, own["c11"] - 2.0 * own["c66"], own["c12"])
    # Constants where they are given, Tsvankin's parameters elsewhere.
    given = own["c33"] > 0.0
    return {name: np.where(given, c, found.get(name, 0.0)) for name, c in own.items()}


def _turned(values: RockValues) -> Any:
    """Return which rocks (n) have axes that are not those of the grid."""
    return np.logical_or.reduce([values[angle.name] != 0.0 for angle in ANGLES])


def in_grid(values: RockValues) -> np.ndarray:
    """Return the stiffness (n, 6, 6) [Pa] of rocks (n) about the axes of the grid."""
    stiffness = elastic_constants.matrix(in_rock(values))
    turned = _turned(values) & np.isfinite(stiffness).all((-1, -2))
    # Bond's rotation of the stiffness, of rocks whose angles are not 0.
    turn = elastic_constants.rotation(*(values[angle.name][turned] for angle in ANGLES))
    stiffness[turned] = elastic_constants.rotate(stiffness[turned], turn)
    # What rotation left of zeros, relative to the trace, is zero.
    rounding = 1e-13 * np.trace(stiffness, axis1=-2, axis2=-1)[..., None, None]
    return np.where(np.abs(stiffness) > rounding, stiffness, 0.0)


def _given(values: RockValues) -> Any:
    """Return which rocks (n) are given by constants."""
    return values["c33"] > 0.0


def _fluid(values: RockValues) -> Any:
    """Return which media (n) are fluids, of which other things are asked."""
    return values["vs"] == 0.0


def _sound(stiffness: np.ndarray, axes: str) -> np.ndarray:
    """Return which rocks (n) take energy for every strain, in 2-D for those in the plane."""
    if len(axes) == 2:
        stiffness = stiffness[..., ::2, ::2]  # xx, zz and xz
    return elastic_constants.positive_definite(stiffness)


def _decoupled(values: RockValues) -> np.ndarray:
    """Return which rocks (n) move in the plane of x and z alone when strained in it."""
    stiffness = in_grid(values)
    coupling = np.abs(stiffness[..., ::2, 3::2]).max((-1, -2))  # of xx, zz, xz with yz, xy
    return coupling <= _ROUNDING * stiffness[..., 2, 2]


def _conditions(axes: str, takes: tuple[str, ...]) -> tuple[Condition, ...]:
    """Return what rock has to fulfil that is given by any of some parameters."""
    constants = tuple(name for name in takes if name in CONSTANTS)
    numbers = (*_NAMES["Thomsen"], *_NAMES["Tsvankin"])
    matrix = elastic_constants.matrix
    known = np.isfinite
    return (
        Condition(
            # Real off-diagonal constants.
            lambda values: _fluid(values) | known(matrix(in_rock(values))).all((-1, -2)),
            tuple(name for name in numbers if name.startswith("delta")),
            "one of these is so low that c12, c13 or c23 is no real number: raise it",
        ),
        Condition(
            # Positive definite, of parameters.
            lambda values: _given(values) | _fluid(values) | _sound(matrix(in_rock(values)), axes),
            numbers,
            "a strain would set energy free: raise the epsilons, or lower the deltas",
        ),
        Condition(
            # Positive definite, of constants.
            lambda values: ~_given(values) | _sound(matrix(in_rock(values)), axes),
            tuple(name for name in ORTHORHOMBIC if name in constants),
            _UNSOUND,
        ),
    )


def _of_plane() -> tuple[Condition, ...]:
    """Return what keeps motion in the plane of x and z apart from that along y."""
    single = (
        Condition(
            lambda values, name=name: (values[name] == 0.0) | _turned(values),
            (name,),
            "it couples motion in the plane of x and z to motion along y, which a 2-D run has not: "
            "leave it out, or give grid.extent.y",
        )
        for name in _OUT_OF_PLANE
    )
    turned = Condition(
        _decoupled,
        _NAMES["angle"],
        "so turned, the rock couples motion in the plane of x and z to motion along y, which a 2-D "
        "run has not: turn it by multiples of 90 deg, or give grid.extent.y",
    )
    return (*single, turned)


def _names(*parameters: Parameter) -> tuple[str, ...]:
    return tuple(parameter.name for parameter in (VP, VS, RHO, *parameters))


OF_VTI = tuple(CONSTANTS[name] for name in VTI)
OF_ORTHORHOMBIC = tuple(CONSTANTS[name] for name in ORTHORHOMBIC)


def vti() -> Conversion:
    """Return the conversion of five constants to Thomsen's parameters."""
    sound = Condition(
        lambda values: ~_given(values) | elastic_constants.positive_definite(_five(values)),
        VTI,
        _UNSOUND,
    )
    usual = Condition(
        lambda values: ~_given(values) | _has_delta(values),
        ("c13", "c33", "c44"),
        "c13 is not above -c44, or c33 is c44, so that no delta stands for them: give the nine "
        "constants of orthorhombic rock, with c12 = c11 - 2 c66, c22 = c11, c23 = c13, c55 = c44",
    )
    return Conversion(_names(*THOMSEN, *OF_VTI), _names(*THOMSEN), complete, _thomsen,
                      (sound, usual))  # fmt: skip


def sh() -> Conversion:
    """Return the conversion of c44 and c66 to vs and gamma, of motion along y."""

    def velocity(values: dict[str, np.ndarray]) -> None:
        with np.errstate(invalid="ignore", divide="ignore"):
            # c44 = rho vs^2
            speed = np.sqrt(values["c44"] / values["rho"])
        values["vs"] = np.where(values["c44"] > 0.0, speed, values["vs"])

    def convert(values: RockValues) -> dict[str, np.ndarray]:
        with np.errstate(invalid="ignore", divide="ignore"):
            # c66 = c44 (1 + 2 gamma)
            gamma = 0.5 * (values["c66"] / values["c44"] - 1.0)
        given = values["c44"] > 0.0
        plain = {name: values[name] for name in ("vs", "rho")}
        return plain | {"gamma": np.where(given, gamma, values["gamma"])}

    names = (VS.name, RHO.name, GAMMA.name)
    return Conversion((*names, "c44", "c66"), names, velocity, convert)


def orthorhombic(axes: str) -> Conversion:
    """Return the conversion of all parameters of upright rock to the constants that waves take."""
    takes = _names(*TSVANKIN, *THOMSEN, *OF_ORTHORHOMBIC)
    names = PLANE if len(axes) == 2 else ORTHORHOMBIC

    def convert(values: RockValues) -> dict[str, np.ndarray]:
        own = in_rock(values)
        plain = {name: values[name] for name in ("vp", "vs", "rho")}
        return plain | {name: own[name] for name in names}

    return Conversion(takes, (*_names(), *names), complete, convert, _conditions(axes, takes))


def any_rock(axes: str) -> Conversion:
    """Return the conversion of all parameters of any rock; velocities are then those along z."""
    takes = _names(*TSVANKIN, *ANGLES, *THOMSEN, *CONSTANTS.values())
    names = _IN_PLANE if len(axes) == 2 else tuple(CONSTANTS)

    def convert(values: RockValues) -> dict[str, np.ndarray]:
        stiffness = in_grid(values)
        rho = values["rho"]
        own = {name: stiffness[..., int(name[1]) - 1, int(name[2]) - 1] for name in names}
        # vp = sqrt(c33 / rho), vs = sqrt(c55 / rho)
        along_z = {"vp": np.sqrt(own["c33"] / rho), "vs": np.sqrt(own["c55"] / rho)}
        return along_z | {"rho": rho} | own

    conditions = _conditions(axes, takes) + (_of_plane() if len(axes) == 2 else ())
    return Conversion(takes, (*_names(), *names), complete, convert, conditions)
