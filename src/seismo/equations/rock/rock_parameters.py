"""Rock parameters as the model gives them, and the constants about the axes of the grid.

A part of the model gives vp and vs, along the axis of the rock, with Thomsen's or Tsvankin's
parameters; or elastic constants c11 ... c66, in place of them all. Of these it gives

    VTI            c11 c13 c33 c44 c66; then c22 = c11, c23 = c13, c55 = c44, c12 = c11 - 2 c66
    orthorhombic   c11 c22 c33 c12 c13 c23 c44 c55 c66
    others         these nine and any of the further twelve; the others are 0
    in 2-D         c11 c13 c33 c55, and c15 and c35, will do

Parameters of the ways that a rock is not given in are 0: c33 is not where constants are. Rocks are
given about axes of their own, turned to the grid's by theta, phi and azimuth
(`seismo.equations.rock.elastic_constants.rotation`).

A conversion takes these, and returns the parameters of an equation's waves: Thomsen's parameters of
VTI rock, vs and gamma of motion along y, or elastic constants about the axes of the grid. Rock that
no wave can pass is refused by the conditions: its stiffness has to be positive definite.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from seismo.equations.framework.parameters import (
    AZIMUTH,
    CONSTANTS,
    DELTA,
    EPSILON,
    GAMMA,
    PHI,
    QP,
    QS,
    RHO,
    THETA,
    TSVANKIN,
    VP,
    VS,
    Condition,
    Conversion,
    Parameter,
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
    """Return the key and the problem of a part that gives no consistent rock, else None.

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
    """Whether a part's parameters stand for another: constants do for vp and vs."""
    return name in _VELOCITIES and not CONSTANTS.keys().isdisjoint(names)


def replaced(names: Iterable[str]) -> set[str]:
    """Return the parameters that a part of the model sets to 0, by those that it gives.

    A rock given by a set of parameters has none of another set's, whatever lay beneath.
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
        samples: completed with parameters of Thomsen and Tsvankin.
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
    """Return which rocks (n) have axes other than the grid's."""
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


_OUT_OF_PLANE = ("c14", "c16", "c34", "c36", "c45", "c56")  # couple them to motion along y
_UNSOUND = (
    "no rock has such constants, since a strain would set energy free (they are not positive "
    "definite): check their values and units"
)
_ROUNDING = 1e-6  # of c33, in constants of rock that has been turned


def _names(*parameters: Parameter) -> tuple[str, ...]:
    return tuple(parameter.name for parameter in (VP, VS, RHO, *parameters))


def _five(samples: RockValues) -> np.ndarray:
    """Return the stiffness (n, 6, 6) [Pa] of five constants."""
    return elastic_constants.matrix({name: samples[name] for name in VTI})


def _has_delta(samples: RockValues) -> Any:
    """Return which five constants (n) Thomsen's parameters can stand for."""
    # delta divides by c33 - c44, and has the square of c13 + c44.
    unlike = np.abs(samples["c33"] - samples["c44"]) > _ROUNDING * samples["c33"]
    return unlike & (samples["c13"] + samples["c44"] > 0.0)


def _thomsen(samples: RockValues) -> dict[str, np.ndarray]:
    """Return vp, vs, rho and Thomsen's parameters of VTI rock."""
    # Thomsen (1986), eqs. 8, 17: epsilon, delta, gamma of c11, c13, c33, c44, c66.
    of_constants = elastic_constants.thomsen(samples)
    has_constants = samples["c33"] > 0.0
    parameters = {
        name: np.where(has_constants, v, samples[name]) for name, v in of_constants.items()
    }
    return {"vp": samples["vp"], "vs": samples["vs"], "rho": samples["rho"]} | parameters


def _has_constants(samples: RockValues) -> Any:
    """Return which rocks (n) are given by constants."""
    return samples["c33"] > 0.0


def _fluid(samples: RockValues) -> Any:
    """Return which media (n) are fluids, of which other things are asked."""
    return samples["vs"] == 0.0


def _plain(samples: RockValues, names: tuple[str, ...]) -> Any:
    """Return in which media (n) all of these parameters are 0."""
    return np.logical_and.reduce([samples[name] == 0.0 for name in names])


def _sound(stiffness: np.ndarray, axes: str) -> np.ndarray:
    """Return which rocks (n) take energy for every strain, in 2-D for strains in the plane."""
    if len(axes) == 2:
        stiffness = stiffness[..., ::2, ::2]  # xx, zz and xz
    return elastic_constants.positive_definite(stiffness)


def _sound_but(exempt: np.ndarray, samples: RockValues, axes: str) -> np.ndarray:
    """Return which rocks (n) are sound; exempt rocks count as sound and are not computed."""
    # Eigenvalues of the other rocks alone.
    rows = np.flatnonzero(~exempt)
    sound = np.ones(exempt.shape, bool)
    chosen = {name: np.asarray(value)[rows] for name, value in samples.items()}
    if rows.size:
        sound[rows] = _sound(elastic_constants.matrix(in_rock(chosen)), axes)
    return sound


def _decoupled(samples: RockValues) -> np.ndarray:
    """Return which rocks (n) move in the plane of x and z alone when strained in it."""
    stiffness = in_grid(samples)
    coupling = np.abs(stiffness[..., ::2, 3::2]).max((-1, -2))  # of xx, zz, xz with yz, xy
    return coupling <= _ROUNDING * stiffness[..., 2, 2]


def _conditions(axes: str, takes: tuple[str, ...]) -> tuple[Condition, ...]:
    """Return the conditions of rock given by any of these parameters."""
    constants = tuple(name for name in takes if name in CONSTANTS)
    numbers = (*NAMES["Thomsen"], *NAMES["Tsvankin"])
    known = np.isfinite
    return (
        Condition(
            # A fluid is isotropic.
            lambda samples: ~_fluid(samples) | _plain(samples, numbers),
            ("vs", *numbers),
            "a fluid has none of these; set them to 0 where vs is 0",
        ),
        Condition(
            # Real off-diagonal constants.
            lambda samples: (
                _fluid(samples)
                | np.logical_and.reduce([known(c) for c in in_rock(samples).values()])
            ),
            tuple(name for name in numbers if name.startswith("delta")),
            "one of these is so low that c12, c13 or c23 is no real number: raise it",
        ),
        Condition(
            # Positive definite, of parameters.
            lambda samples: _sound_but(_has_constants(samples) | _fluid(samples), samples, axes),
            numbers,
            "a strain would set energy free: raise the epsilons, or lower the deltas",
        ),
        Condition(
            # Positive definite, of constants.
            lambda samples: _sound_but(~_has_constants(samples), samples, axes),
            tuple(name for name in ORTHORHOMBIC if name in constants),
            _UNSOUND,
        ),
    )


def _of_plane() -> tuple[Condition, ...]:
    """Return the conditions that decouple motion in the plane of x and z from that along y."""
    single = (
        Condition(
            lambda samples, name=name: (samples[name] == 0.0) | is_turned(samples),
            (name,),
            "it couples motion in the plane of x and z to motion along y, which a 2-D run has not: "
            "leave it out, or give grid.extent.y",
        )
        for name in _OUT_OF_PLANE
    )
    turned = Condition(
        _decoupled,
        NAMES["angle"],
        "so turned, the rock couples motion in the plane of x and z to motion along y, which a 2-D "
        "run has not: turn it by multiples of 90 deg, or give grid.extent.y",
    )
    return (*single, turned)


def attenuating(conversion: Conversion, *quality: str) -> Conversion:
    """Return a conversion that passes quality factors on."""

    def convert(samples: RockValues) -> dict[str, np.ndarray]:
        return conversion.convert(samples) | {name: samples[name] for name in quality}

    takes = (*conversion.takes, *quality)
    return replace(conversion, takes=takes, names=(*conversion.names, *quality), convert=convert)


def vti() -> Conversion:
    """Return the conversion of five constants to Thomsen's parameters."""
    sound = Condition(
        lambda samples: (
            ~_has_constants(samples) | elastic_constants.positive_definite(_five(samples))
        ),
        VTI,
        _UNSOUND,
    )
    usual = Condition(
        lambda samples: ~_has_constants(samples) | _has_delta(samples),
        ("c13", "c33", "c44"),
        "c13 is not above -c44, or c33 is c44, so that no delta stands for them: give the nine "
        "constants of orthorhombic rock, with c12 = c11 - 2 c66, c22 = c11, c23 = c13, c55 = c44",
    )
    return Conversion(_names(*THOMSEN, *OF_VTI), _names(*THOMSEN), complete, _thomsen,
                      (sound, usual))  # fmt: skip


def sh() -> Conversion:
    """Return the conversion of c44 and c66 to vs and gamma, of motion along y."""

    def velocity(samples: dict[str, np.ndarray]) -> None:
        with np.errstate(invalid="ignore", divide="ignore"):
            # c44 = rho vs^2
            speed = np.sqrt(samples["c44"] / samples["rho"])
        samples["vs"] = np.where(samples["c44"] > 0.0, speed, samples["vs"])

    def convert(samples: RockValues) -> dict[str, np.ndarray]:
        with np.errstate(invalid="ignore", divide="ignore"):
            # c66 = c44 (1 + 2 gamma)
            gamma = 0.5 * (samples["c66"] / samples["c44"] - 1.0)
        has_constants = samples["c44"] > 0.0
        plain = {name: samples[name] for name in ("vs", "rho")}
        return plain | {"gamma": np.where(has_constants, gamma, samples["gamma"])}

    names = (VS.name, RHO.name, GAMMA.name)
    return Conversion((*names, "c44", "c66"), names, velocity, convert)


def orthorhombic(axes: str) -> Conversion:
    """Return the conversion of all parameters of upright rock to the constants that waves take."""
    takes = _names(*TSVANKIN, *THOMSEN, *OF_ORTHORHOMBIC)
    names = PLANE if len(axes) == 2 else ORTHORHOMBIC

    def convert(samples: RockValues) -> dict[str, np.ndarray]:
        constants = in_rock(samples)
        plain = {name: samples[name] for name in ("vp", "vs", "rho")}
        return plain | {name: constants[name] for name in names}

    return Conversion(takes, (*_names(), *names), complete, convert, _conditions(axes, takes))


def any_rock(axes: str) -> Conversion:
    """Return the conversion of all parameters of any rock; velocities are then along z."""
    takes = _names(*TSVANKIN, *ANGLES, *THOMSEN, *CONSTANTS.values())
    names = IN_PLANE if len(axes) == 2 else tuple(CONSTANTS)

    def convert(samples: RockValues) -> dict[str, np.ndarray]:
        stiffness = in_grid(samples)
        rho = samples["rho"]
        constants = {name: stiffness[..., int(name[1]) - 1, int(name[2]) - 1] for name in names}
        # vp = sqrt(c33 / rho), vs = sqrt(c55 / rho)
        along_z = {"vp": np.sqrt(constants["c33"] / rho), "vs": np.sqrt(constants["c55"] / rho)}
        return along_z | {"rho": rho} | constants

    conditions = _conditions(axes, takes) + (_of_plane() if len(axes) == 2 else ())
    return Conversion(takes, (*_names(), *names), complete, convert, conditions)


def lossy_rock(axes: str) -> Conversion:
    """Return that of `any_rock` with quality factors, and the roots v of P moduli [sqrt(Pa)].

    About the axes of the rock v is the root of c11, c22, c33 for xx, yy, zz
    (`seismo.equations.rock.anisotropic_loss`); it turns as a tensor does.
    """
    plain = attenuating(any_rock(axes), QP.name, QS.name)
    indices = "135" if len(axes) == 2 else "123456"

    def convert(samples: RockValues) -> dict[str, np.ndarray]:
        constants = in_rock(samples)
        turn = elastic_constants.rotation(*(samples[angle.name] for angle in ANGLES))
        # v_ij = sum over k of R_ik R_jk sqrt(c_kk)
        roots = np.sqrt(np.stack([constants[name] for name in ("c11", "c22", "c33")], -1))
        v = np.einsum("...ik,...jk,...k->...ij", turn, turn, roots)
        v = np.where(is_turned(samples)[..., None, None], v, np.eye(3) * roots[..., None, :])
        pairs = {n: elastic_constants.PAIRS[int(n) - 1] for n in indices}
        return plain.convert(samples) | {f"root{n}": v[..., i, j] for n, (i, j) in pairs.items()}

    return replace(plain, names=(*plain.names, *(f"root{n}" for n in indices)), convert=convert)
