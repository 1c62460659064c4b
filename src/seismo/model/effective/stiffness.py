"""Effective stiffness of a cell that a contact cuts, of isotropic rock and of VTI rock.

A stack of layers is transversely isotropic as a whole (Backus 1962, eq. 13), with angle brackets
for arithmetic means over a cell::

    c33 = 1 / <1 / c33>,    c13 = <c13 / c33> c33,    c11 = <c11 - c13^2 / c33> + <c13 / c33> c13,
    c44 = 1 / <1 / c44>,    c66 = <c66>

where an isotropic rock has c33 = rho vp^2, c44 = c66 = rho vs^2, c13 / c33 = 1 - 2 vs^2 / vp^2, and
a rock transversely isotropic about z those of `seismo.equations.rock.elastic_constants`.

The shear modulus is 0 in any cell with fluid: a fluid-solid contact transmits no shear. But c44,
from which the stiffness between nodes is computed, is that of the solid where this fills more than
half of the cell, and 0 elsewhere: between a fluid and a solid node it vanishes, and the solid keeps
its shear stiffness up to the contact (`seismo.features.contacts.contact` treats horizontal
contacts).

In 2-D the layers lie along a dipping contact, and their tensor is turned back; its c15 and c35
are neglected. Layers of isotropic rock take the formulas above and the dip alone. Those of VTI rock
have a full tensor about their contact, and Schoenberg & Muir's (1989, Geophysics 54, 581) mean of
it: with N for the components zz, xz across the contact and T for xx along it::

    C_NN = <C_NN^-1>^-1,   C_TN = <C_TN C_NN^-1> C_NN,
    C_TT = <C_TT - C_TN C_NN^-1 C_NT> + <C_TN C_NN^-1> C_NN <C_NN^-1 C_NT>

Symbols: vp, vs (m/s), rho (kg/m3), stiffness (Pa).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from operator import itemgetter

import numpy as np

from seismo.equations.rock import elastic_constants
from seismo.model.effective import Samples, tilted_stiffness

Rule = tuple[tuple[str, ...], Callable[[Samples], np.ndarray]]

# What is averaged, from samples; a fluid's shear compliance is infinite.
MEANS: dict[str, Callable[[Samples], np.ndarray]] = {
    "compliance": lambda s: 1.0 / (s["rho"] * s["vp"] ** 2),
    "shear_compliance": lambda s: 1.0 / (s["rho"] * s["vs"] ** 2),
    "thin_stretch": elastic_constants.thin_stretch,
    "plate": elastic_constants.plate,
    "shear": elastic_constants.level_shear,
    "solid": lambda s: (s["vs"] > 0.0) * 1.0,
    "solid_compliance": lambda s: np.where(s["vs"] > 0.0, 1.0 / (s["rho"] * s["vs"] ** 2), 0.0),
    "tilt": lambda s: np.zeros_like(
        s["rho"]
    ),  # found for cut cells only (`seismo.model.effective`)
    "slips": lambda s: np.zeros_like(s["rho"]),  # marked once the cells are averaged
}
_TURNED = ("c11", "c13", "c33", "c44")
_TURNED_SH = ("mu_xy", "mu_yz")
# The same of VTI rock besides: harmonic means beside steep contacts in 3-D, and the results of
# `turned` for cut cells in 2-D.
VTI_MEANS: dict[str, Callable[[Samples], np.ndarray]] = {
    "level_compliance": lambda s: 1.0 / elastic_constants.constants_of(s)["c11"],
    "level_shear_compliance": lambda s: 1.0 / elastic_constants.level_shear(s),
    "mixed_compliance": lambda s: 1.0 / _mixed(elastic_constants.constants_of(s)),
    **{
        f"turned_{name}": lambda s: np.full_like(s["rho"], np.nan)
        for name in (*_TURNED, *_TURNED_SH)
    },
}
# Results, from these averages.
STIFFNESS = (
    "compliance", "shear_compliance", "plate", "thin_stretch", "shear", "solid",
    "solid_compliance", "tilt", "slips",
)  # fmt: skip
_NORMAL = ("c11", "c12", "c13", "c22", "c23", "c33")
_SOLID = 1.0 - 1e-9  # share of rock in a cell that is all rock
_MODULI = ("solid_compliance", "shear", "solid", "tilt")


def _mixed(c: elastic_constants.ElasticConstants) -> np.ndarray:
    """Return c13 + 2 c44, which is c33 in isotropic rock."""
    return c["c13"] + 2.0 * c["c44"]


def stiffness(m: Samples) -> dict[str, np.ndarray]:
    """Return the stiffness of a cell from the means given; nothing without any."""
    upright = _upright(m) if "plate" in m else {}
    if "across_33" not in m:
        return upright
    anisotropic = tilted_stiffness.stiffness(m)
    return _with_fluids(anisotropic, upright, m) if upright else anisotropic


def _upright(m: Samples) -> dict[str, np.ndarray]:
    """Return that of rock with upright axes, rotated by the dip of its contact (sin^2: `tilt`).

    Harmonic means in all directions are used for steep contacts in 3-D (`tilt` is 2), and in cells
    with fluid and solid.
    """
    normal = 1.0 / m["compliance"]
    shear_normal = 1.0 / m["shear_compliance"]
    coupling = m["thin_stretch"] * normal
    in_plane = m["plate"] + m["thin_stretch"] * coupling
    is_isotropic = (m["tilt"] > 1.0) | (m["slips"] > 0.0)
    sin2 = np.where(is_isotropic, 0.0, m["tilt"])
    cos2 = 1.0 - sin2
    sin2_cos2 = sin2 * (1.0 - sin2)
    mixed = 2.0 * sin2_cos2 * (coupling + 2.0 * shear_normal)
    constants = {
        "c33": np.where(is_isotropic, normal, normal * cos2**2 + in_plane * sin2**2 + mixed),
        "c11": np.where(is_isotropic, normal, in_plane * cos2**2 + normal * sin2**2 + mixed),
        "c13": np.where(
            is_isotropic,
            normal - 2.0 * shear_normal,
            coupling * (1.0 - 2.0 * sin2_cos2)
            + (in_plane + normal - 4.0 * shear_normal) * sin2_cos2,
        ),
        "c66": np.where(is_isotropic, shear_normal, m["shear"]),
        "c44": np.where(
            m["solid"] > 0.5,
            m["solid"] / m["solid_compliance"] * (1.0 - 4.0 * sin2_cos2)
            + (in_plane + normal - 2.0 * coupling) * sin2_cos2,
            0.0,
        ),
    }
    return constants if "level_compliance" not in m else _of_vti(constants, m)


def _with_fluids(
    anisotropic: dict[str, np.ndarray], upright: dict[str, np.ndarray], m: Samples
) -> dict[str, np.ndarray]:
    """Return the constants of rock of any anisotropy, in cells with any fluid of VTI rock.

    There rock acts by the constants that it would have with an upright axis. All constants of a
    fluid are equal.
    """
    share = m["solid"]
    c11 = upright["c11"]
    c66 = upright["c66"]
    alike = {
        "c22": c11, "c23": upright["c13"], "c55": upright["c44"],
        "c12": c11 - 2.0 * c66, **upright,
    }  # fmt: skip
    normal = 1.0 / m["compliance"]
    fluid = dict.fromkeys(_NORMAL, normal)
    return {
        name: np.where(
            share > _SOLID, c, np.where(share > 0.0, alike.get(name, 0.0), fluid.get(name, 0.0))
        )
        for name, c in anisotropic.items()
    }


def _of_vti(constants: dict[str, np.ndarray], m: Samples) -> dict[str, np.ndarray]:
    """Return the same where cells that a contact cuts have VTI rock; it slips beside a fluid."""
    steep = (m["tilt"] > 1.0) & (m["slips"] == 0.0)
    level_shear = 1.0 / m["level_shear_compliance"]
    harmonic = {
        "c11": 1.0 / m["level_compliance"],
        "c66": level_shear,
        "c13": 1.0 / m["mixed_compliance"] - 2.0 / m["shear_compliance"],
    }
    constants |= {name: np.where(steep, mean, constants[name]) for name, mean in harmonic.items()}
    return constants | {name: _or(m[f"turned_{name}"], constants[name]) for name in _TURNED}


def _or(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the first where it is a number."""
    return np.where(np.isnan(first), second, first)


def _moduli(name: str, m: Samples) -> np.ndarray:
    """Return mu_xy or mu_yz, M_xx and M_zz of the tensor M that gives SH stresses their strains.

    M = n n^T / <1 / mu> + (1 - n n^T) <mu>, n normal to the contact, less M_xz; 0 where there is
    fluid. In 2-D.
    """
    normal = 1.0 - m["tilt"] if name == "mu_yz" else m["tilt"]
    modulus = normal / m["solid_compliance"] + (1.0 - normal) * m["shear"]
    modulus = _or(m[f"turned_{name}"], modulus) if f"turned_{name}" in m else modulus
    return np.where(np.isclose(m["solid"], 1.0), modulus, 0.0)


RESULTS: dict[str, Rule] = {
    **{name: (_MODULI, partial(_moduli, name)) for name in _TURNED_SH},
    **{name: (STIFFNESS, itemgetter(name)) for name in (*_TURNED, "c66")},
}
_PSV = tuple(name for name in VTI_MEANS if name not in {f"turned_{sh}" for sh in _TURNED_SH})
VTI_RESULTS: dict[str, Rule] = {
    **{
        name: ((*_MODULI, *(f"turned_{sh}" for sh in _TURNED_SH)), partial(_moduli, name))
        for name in _TURNED_SH
    },
    **{name: ((*STIFFNESS, *_PSV), itemgetter(name)) for name in (*_TURNED, "c66")},
}


def _root(name: str, formula: Callable, m: Samples) -> np.ndarray:
    """Return the root of a P modulus, in cells with any fluid that of `_with_fluids`."""
    normal = {"root1": "c11", "root2": "c22", "root3": "c33"}
    beside = np.sqrt(m[normal[name]]) if name in normal else 0.0
    return np.where(m["solid"] > _SOLID, formula(m), beside)


# Cells with fluid take the means of upright rock.
_ANISOTROPIC_RESULTS: dict[str, Rule] = {
    name: ((*means, *STIFFNESS), formula if name[0] == "c" else partial(_root, name, formula))
    for name, (means, formula) in tilted_stiffness.RESULTS.items()
}


def results(needs: Collection[str]) -> dict[str, Rule]:
    """Return the averages available for an earth of these parameters."""
    if "c55" in needs or {"gamma", "theta"} <= set(needs):
        return RESULTS | _ANISOTROPIC_RESULTS
    return VTI_RESULTS if "gamma" in needs else RESULTS


def contrast(samples: Samples) -> np.ndarray:
    """Return a modulus [Pa] that is not the same on both sides of a contact of VTI rocks."""
    level = elastic_constants.level_shear(samples)
    upright = samples["rho"] * samples["vs"] ** 2
    if "vp" not in samples:
        return level + upright
    c = elastic_constants.constants_of(samples)
    return c["c11"] + c["c33"] + _mixed(c) + level


def turned(samples: Samples, tilt: np.ndarray) -> dict[str, np.ndarray]:
    """Return the means `turned_...` (cells) of cut cells in 2-D; NaN where there is any fluid.

    Args:
        samples: (cells, samples) of the rocks.
        tilt: (cells) sin^2 of the dip of the contact. To which side it dips changes c15 and c35
            alone, of rocks whose axes are upright.
    """
    wet = (samples["vs"] == 0.0).any(1)
    sine = np.sqrt(tilt)
    cosine = np.sqrt(1.0 - tilt)
    if "vp" not in samples:
        tensor = _turned_sh(samples, sine, cosine)
        means = {"mu_xy": tensor[:, 0, 0], "mu_yz": tensor[:, 1, 1]}
    else:
        c = elastic_constants.constants_of(samples)
        rocks = _symmetric({(0, 0): c["c11"], (0, 1): c["c13"], (1, 1): c["c33"], (2, 2): c["c44"]})
        # Fluids have no compliance of shear, and cells with any no mean.
        rocks[wet] = np.eye(3)
        there, back = (_bond(cosine, sign * sine) for sign in (1.0, -1.0))
        layers = tilted_stiffness.stacked(
            there[:, None] @ rocks @ np.swapaxes(there, 1, 2)[:, None], 1
        )
        tensor = back @ layers @ np.swapaxes(back, 1, 2)
        entries = ((0, 0), (0, 1), (1, 1), (2, 2))
        means = {name: tensor[:, i, j] for name, (i, j) in zip(_TURNED, entries, strict=True)}
    return {f"turned_{name}": np.where(wet, np.nan, value) for name, value in means.items()}


def _turned_sh(samples: Samples, sine: np.ndarray, cosine: np.ndarray) -> np.ndarray:
    """Return M (cells, 2, 2) along x and z."""
    level = elastic_constants.level_shear(samples)
    upright = samples["rho"] * samples["vs"] ** 2
    turn = np.stack([np.stack([cosine, -sine], -1), np.stack([sine, cosine], -1)], -2)
    back = np.swapaxes(turn, 1, 2)
    rocks = _symmetric({(0, 0): level, (1, 1): upright})
    return back @ tilted_stiffness.stacked(turn[:, None] @ rocks @ back[:, None], 1) @ turn


def _symmetric(entries: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
    """Return symmetric matrices (..., n, n) of these entries, 0 elsewhere."""
    size = max(j for _, j in entries) + 1
    matrices = np.zeros((*next(iter(entries.values())).shape, size, size))
    for (i, j), moduli in entries.items():
        matrices[..., i, j] = matrices[..., j, i] = moduli
    return matrices


def _bond(cosine: np.ndarray, sine: np.ndarray) -> np.ndarray:
    """Return what turns stresses xx, zz, xz (cells, 3, 3) into axes at an angle from x to -z."""
    c = cosine
    s = sine
    rows = (
        (c**2, s**2, -2.0 * c * s),
        (s**2, c**2, 2.0 * c * s),
        (c * s, -c * s, c**2 - s**2),
    )
    return np.stack([np.stack(row, -1) for row in rows], -2)
