"""Slopes of fields along z across contacts of layers, and the moduli that they go as.

Across a horizontal contact of two solids, or of two fluids, motion and traction are continuous.
Their slopes along z are, with strains and accelerations that are continuous, too::

    vx, vy      sxz / mu                        vz    szz / c33 - (c13 / c33) exx
    szz, p      rho az                          sxz   rho ax - d_x [(c13 / c33) szz + E exx]

E = c11 - c13^2 / c33. So beside what is smooth a field has parts that go as the integrals along z
of 1 / mu; of 1 / c33 and c13 / c33; of rho; of rho, c13 / c33 and E.

In a fluid rho vx is read, which goes as the integral of rho
(`seismo.features.contacts.interpolation`), and vz has a part that goes as that of 1 / rho, by which
exx jumps.
Symbols: v velocity, s stress, e strain, a acceleration; c11, c13, c33, mu moduli (Pa), rho density.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

SlopeKind = Literal["along", "across", "pull", "shear"]
KINDS: dict[str, SlopeKind] = {
    "vx": "along", "vy": "along", "vz": "across", "szz": "pull", "p": "pull",
    "sxz": "shear", "syz": "shear",
}  # fmt: skip
Values = dict[str, np.ndarray]


def moduli(medium: Values) -> Values:
    """Return the density and the moduli of what an equation averages (`Physics.medium`).

    Those are rho, c11, c13, c33, c44 and, but for P-SV waves in 2-D, c66.
    """
    if "mu_yz" in medium:
        # SH waves: shear moduli only.
        nothing = np.zeros_like(medium["rho"])
        stiff = {"c11": nothing, "c13": nothing, "c33": nothing}
        return {"rho": medium["rho"], **stiff, "c44": medium["mu_yz"], "c66": medium["mu_xy"]}
    if "c33" in medium:
        return medium
    # Fluids: c11 = c13 = c33 = kappa; density 1 where the equation has none.
    fluid = medium["vp"] ** 2 if "vp" in medium else medium["p_modulus"]
    light = {name: medium.get(name, np.ones_like(fluid)) for name in ("rho", "rho_x")}
    return {**light, "c11": fluid, "c13": fluid, "c33": fluid, "c44": np.zeros_like(fluid)}


def kinks_of(kind: SlopeKind, m: Values) -> list[np.ndarray]:
    """Return what a field's slopes go as, (rows) each, where the medium is not the same."""
    with np.errstate(divide="ignore", invalid="ignore"):
        # Slopes of each kind of field: see the table above.
        turn = np.nan_to_num(m["c13"] / m["c33"])
        if kind == "pull":
            kinks = [m["rho"]]
        elif kind == "along":
            kinks = [1.0 / m["c44"]]
        elif kind == "across":
            kinks = [1.0 / m["c33"], turn, *([1.0 / m["rho_x"]] if "rho_x" in m else [])]
        else:
            kinks = [m["rho"], turn, m["c11"] - m["c13"] * turn]
            kinks += [m["c66"]] if "c66" in m else []
    return [q for q in kinks if np.isfinite(q).all()]
