"""Elastic waves in orthorhombic rock whose planes of symmetry are those of the axes.

Hooke's law has nine constants, and normal stresses do not depend on shear strains::

    sxx = c11 exx + c12 eyy + c13 ezz,    syz = 2 c44 eyz,
    syy = c12 exx + c22 eyy + c23 ezz,    sxz = 2 c55 exz,
    szz = c13 exx + c23 eyy + c33 ezz,    sxy = 2 c66 exy

Rocks are given by vp, vs and Tsvankin's (1997) parameters, or by these constants
(`seismo.equations.rock.rock_parameters`); VTI and isotropic rocks may lie beside them. Fields stand
where they do in `seismo.equations.elastic`; shear stiffnesses are harmonic means of four nodes, as
there, those of cells that contacts cut are the means of Schoenberg & Muir
(`seismo.model.effective.tilted_stiffness`), whose couplings of normal and shear strains at contacts
that dip are neglected. In 2-D the waves are those of VTI rock with the constants c11, c13, c33,
c55.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

from seismo.equations import elastic
from seismo.equations.elastic.energy import stored
from seismo.equations.elastic.formulas import pairs
from seismo.equations.elastic_orthorhombic import curved, formulas
from seismo.equations.elastic_tti import coefficients
from seismo.equations.framework.declaration import Equation, StoredEnergy
from seismo.equations.framework.parameters import (
    RHO,
    TSVANKIN,
    VP,
    VS,
)
from seismo.equations.framework.table import CurvedSurface, Physics, Stage
from seismo.equations.rock import (
    plane_waves,
    rock_parameters,
)
from seismo.equations.rock.elastic_constants import named


def tables(axes: str, options: None) -> Physics:
    """Return the table along some axes: in 2-D that of P-SV waves."""
    table = elastic.tables(axes, None)
    shear = pairs(axes)
    momentum = table.stages[0]
    v = table.stages[0].writes
    normal = tuple(f"s{a}{a}" for a in axes)
    stresses = (*normal, *(f"s{pair}" for pair in shear))
    # Nine constants: c_ab of normal strains, 1 / c_I of shear strains.
    stiffness = tuple(named("c", *two) for two in combinations_with_replacement(axes, 2))
    across = tuple(named("c", a, "z") for a in axes)
    q = tuple(named("q", pair) for pair in shear)
    q_across = tuple(named("q", f"{a}z") for a in axes[:-1])
    return replace(
        table,
        stages=(
            momentum,
            Stage("stress", stresses, v, (*stiffness, *q), formulas.stress),
            # Free surface: s_aa gives back c_az / c33 of szz.
            Stage("surface", normal, (), across, formulas.surface, where="surface"),
        ),
        coefficients=coefficients,
        medium=("rho", *sorted((*stiffness, *(named("c", pair, pair) for pair in shear)))),
        conversion=rock_parameters.orthorhombic(axes),
        derived={"fastest": plane_waves.fastest},
        fastest=lambda extremes: extremes.others["fastest"][1],
        smooth_across_layers=True,
        curved_surface=CurvedSurface(curved.moduli, curved.shear, q_across),
    )


def energy(axes: str) -> tuple[StoredEnergy, ...]:
    """Return what the stresses store."""
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
