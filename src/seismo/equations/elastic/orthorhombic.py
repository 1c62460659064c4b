"""Elastic waves in orthorhombic rock whose planes of symmetry are normal to the axes.

Hooke's law has nine constants, and normal stresses do not depend on shear strains::

    sxx = c11 exx + c12 eyy + c13 ezz,    syz = 2 c44 eyz,
    syy = c12 exx + c22 eyy + c23 ezz,    sxz = 2 c55 exz,
    szz = c13 exx + c23 eyy + c33 ezz,    sxy = 2 c66 exy

Rocks are given by vp, vs and Tsvankin's (1997) parameters, or by these constants
(`seismo.equations.rock.rock_parameters`); VTI and isotropic rocks may lie beside them. Fields stand
where they do in `seismo.equations.elastic.isotropic`; shear stiffnesses are harmonic means of four
nodes, as there; in cells that contacts cut they are the means of Schoenberg & Muir
(`seismo.model.effective.tilted_stiffness`), whose couplings of normal and shear strains at contacts
that dip are neglected. In 2-D the waves are those of VTI rock with the constants c11, c13, c33,
c55.

Formulas are the same for space and for a plane. `pairs` of axes name shear components.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np

from seismo.equations.elastic import isotropic
from seismo.equations.elastic.formulas import four_nodes, normal_changes, pairs
from seismo.equations.elastic.isotropic import between_nodes, stored
from seismo.equations.elastic.tti import coefficients
from seismo.equations.framework.declaration import Equation, StoredEnergy
from seismo.equations.framework.parameters import (
    RHO,
    TSVANKIN,
    VP,
    VS,
)
from seismo.equations.framework.sloping_ground import shear_rate
from seismo.equations.framework.table import CurvedSurface, Physics, Stage
from seismo.equations.rock import (
    plane_waves,
    rock_parameters,
)
from seismo.equations.rock.elastic_constants import named


def tables(axes: str, options: None) -> Physics:
    """Return the table along `axes`: in 2-D of P-SV waves."""
    table = isotropic.tables(axes, None)
    components = pairs(axes)
    momentum = table.stages[0]
    v = table.stages[0].writes
    normal = tuple(f"s{a}{a}" for a in axes)
    stresses = (*normal, *(f"s{pair}" for pair in components))
    # Nine constants: c_ab of normal strains, 1 / c_I of shear strains.
    stiffness = tuple(named("c", *two) for two in combinations_with_replacement(axes, 2))
    across = tuple(named("c", a, "z") for a in axes)
    q = tuple(named("q", pair) for pair in components)
    q_across = tuple(named("q", f"{a}z") for a in axes[:-1])
    return replace(
        table,
        stages=(
            momentum,
            Stage("stress", stresses, v, (*stiffness, *q), stress),
            # Free surface: s_aa gives back c_az / c33 of szz.
            Stage("surface", normal, (), across, surface, where="surface"),
        ),
        coefficients=coefficients,
        medium=("rho", *sorted((*stiffness, *(named("c", pair, pair) for pair in components)))),
        conversion=rock_parameters.orthorhombic(axes),
        derived={"fastest": plane_waves.fastest},
        fastest=lambda extremes: extremes.others["fastest"][1],
        smooth_across_layers=True,
        curved_surface=CurvedSurface(moduli, shear, q_across),
    )


def energy(axes: str) -> tuple[StoredEnergy, ...]:
    """Return the energy of the stresses."""
    return stored(
        axes,
        lambda mean: [[mean(named("c", a, b)) for b in axes] for a in axes],
        lambda pair: named("q", pair),
    )


EQUATION = Equation(
    name="elastic_orthorhombic",
    parameters=(VP, VS, RHO, *TSVANKIN),
    tables=tables,
    instead=(*rock_parameters.THOMSEN, *rock_parameters.OF_ORTHORHOMBIC),
    nanoseconds={"cpu": {2: 4.5, 3: 11.9}},
    extends="elastic",
    energy=energy,
)


def moduli(
    coefficients: Mapping[str, np.ndarray], numbers: Mapping[str, float]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return c33 dt of nodes, and the shear moduli times dt between them, by horizontal axis."""
    compliances = {a: coefficients.get(named("q", f"{a}z")) for a in "xy"}
    return coefficients["c33"], {
        a: 4.0 / between_nodes(q, a) for a, q in compliances.items() if q is not None
    }


def shear(cell):
    """s_az -= c_I / g P0 Px(a e), c_I the harmonic mean of four nodes."""
    for a in sorted(cell.axes)[:-1]:
        pair = f"{a}z"
        modulus = 4.0 / four_nodes(cell, named("q", pair), *pair)
        cell.put(f"s{pair}", cell[f"s{pair}"] - modulus * shear_rate(cell, a))


def stress(cell):
    """s_aa += sum over b of c_ab e_b;  s_ab += c_I (d_b v_a + d_a v_b), c_I the harmonic mean."""
    axes = sorted(cell.axes)
    # Normal stresses: s_aa += c_ab e_b, no coupling with shear.
    strains = {a: cell.d(a, f"v{a}") for a in axes}
    for a, change in normal_changes(cell, strains).items():
        cell.put(f"s{a}{a}", cell[f"s{a}{a}"] + change)
    # Shear stresses: s_ab += c_I (d_b v_a + d_a v_b)
    for pair in pairs(cell.axes):
        a, b = pair
        modulus = 4.0 / four_nodes(cell, named("q", pair), a, b)
        change = modulus * cell.total((b, f"v{a}"), (a, f"v{b}"))
        cell.put(f"s{pair}", cell[f"s{pair}"] + change)


def surface(cell):
    """Szz = 0 on a free surface; s_aa loses the contribution c_az / c33 szz of a nonzero szz."""
    excess = cell["szz"]
    # Excess strain e_z = szz / c33, that would have made szz of the step.
    strain = excess / cell["c33"]
    for a in sorted(cell.axes)[:-1]:
        cell.put(f"s{a}{a}", cell[f"s{a}{a}"] - cell[named("c", a, "z")] * strain)
    cell.put("szz", excess - excess)
