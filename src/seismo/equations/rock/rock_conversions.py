"""Conversions of given rock to what equations compute with, and the conditions on it.

Each takes the parameters of `seismo.equations.rock.given_rock`, and gives those of its waves:
Thomsen's parameters of VTI rock, vs and gamma of motion along y, or elastic constants about the
axes of the grid. Rock that no wave can pass is refused by the conditions: its stiffness has to be
positive definite.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from seismo.equations.framework.parameters import (
    CONSTANTS,
    GAMMA,
    QP,
    QS,
    RHO,
    TSVANKIN,
    VP,
    VS,
    Condition,
    Conversion,
    Parameter,
)
from seismo.equations.rock import elastic_constants
from seismo.equations.rock.elastic_constants import VTI
from seismo.equations.rock.given_rock import (
    ANGLES,
    IN_PLANE,
    NAMES,
    OF_ORTHORHOMBIC,
    OF_VTI,
    ORTHORHOMBIC,
    PLANE,
    THOMSEN,
    RockValues,
    complete,
    in_grid,
    in_rock,
    is_turned,
)

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
    """Return of which media (n) some parameters are all 0."""
    return np.logical_and.reduce([samples[name] == 0.0 for name in names])


def _sound(stiffness: np.ndarray, axes: str) -> np.ndarray:
    """Return which rocks (n) take energy for every strain, in 2-D for those in the plane."""
    if len(axes) == 2:
        stiffness = stiffness[..., ::2, ::2]  # xx, zz and xz
    return elastic_constants.positive_definite(stiffness)


def _sound_but(exempt: np.ndarray, samples: RockValues, axes: str) -> np.ndarray:
    """Return which rocks (n) are sound, or exempt from being so; those are not computed."""
    # Eigenvalues of those alone that are asked for.
    rows = np.flatnonzero(~exempt)
    sound = np.ones(exempt.shape, bool)
    some = {name: np.asarray(value)[rows] for name, value in samples.items()}
    if rows.size:
        sound[rows] = _sound(elastic_constants.matrix(in_rock(some)), axes)
    return sound


def _decoupled(samples: RockValues) -> np.ndarray:
    """Return which rocks (n) move in the plane of x and z alone when strained in it."""
    stiffness = in_grid(samples)
    coupling = np.abs(stiffness[..., ::2, 3::2]).max((-1, -2))  # of xx, zz, xz with yz, xy
    return coupling <= _ROUNDING * stiffness[..., 2, 2]


def _conditions(axes: str, takes: tuple[str, ...]) -> tuple[Condition, ...]:
    """Return what rock has to fulfil that is given by any of some parameters."""
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
    """Return what keeps motion in the plane of x and z apart from that along y."""
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
    """Return the conversion of all parameters of any rock; velocities are then those along z."""
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
    (`seismo.equations.loss.anisotropic`); it turns as a tensor does.
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
