"""Elastic SH waves in 2-D in rock that is transversely isotropic about z (VTI).

The equations, fields and formulas are those of `seismo.equations.elastic_sh`, with the moduli

    dsxy/dt = c66 d_x vy,    dsyz/dt = c44 d_z vy,    c44 = rho vs^2,  c66 = c44 (1 + 2 gamma)

where vs is that along the axis (Thomsen 1986); c44 and c66 may be given, too, of any rock whose
motion along y is not coupled to other motion in the plane of x and z. Wavefronts are ellipses.
Planes z of isotropic rock alone keep one modulus, all others both.
"""

from __future__ import annotations

from dataclasses import replace

from seismo.equations import elastic_sh
from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.parameters import (
    CONSTANTS,
    GAMMA,
    RHO,
    VS,
)
from seismo.equations.framework.table import Physics
from seismo.equations.rock import elastic_constants as constants
from seismo.equations.rock import plane_waves, rock_parameters


def isotropic_throughout(extremes) -> bool:
    """Whether an earth of these extremes is one isotropic medium."""
    return extremes.uniform and extremes.others[GAMMA.name] == (0.0, 0.0)


def of_rocks(table: Physics) -> Physics:
    """Return the table of waves in these rocks, of that in isotropic rock."""
    velocity, stress = table.stages
    assert stress.even is not None
    # One modulus tells a plane of isotropic rock only.
    even = replace(stress.even, everywhere=isotropic_throughout, simple=constants.isotropic)
    return replace(
        table,
        stages=(velocity, replace(stress, even=even)),
        # vs is along the axis, the fastest wave sqrt(c66 / rho) or sqrt(c44 / rho).
        conversion=rock_parameters.sh(),
        derived={"fastest": plane_waves.fastest},
        fastest=lambda extremes: extremes.others["fastest"][1],
    )


def tables(axes: str, options: None) -> Physics:
    """Return the table in x and z."""
    return of_rocks(elastic_sh.tables(axes, options))


def _like(vs, rho, gamma):
    """Return the P-SV medium of isotropic rock, whose contacts tell what those err, roughly."""
    return elastic_sh.EQUATION.waves_in_layers.medium(vs, rho)


def _plain(vp, vs, rho):
    return (*elastic_sh.EQUATION.waves_in_layers.parameters(vp, vs, rho), 0.0)


EQUATION = Equation(
    name="elastic_sh_vti",
    parameters=(VS, RHO, GAMMA),
    tables=tables,
    instead=tuple(CONSTANTS[name] for name in ("c44", "c66")),
    dimensions=(2,),
    nanoseconds={"cpu": {2: 1.6}},
    bandwidth_share={"gpu": {2: 0.68}},
    layered=replace(elastic_sh.EQUATION.waves_in_layers, medium=_like, parameters=_plain),
    extends="elastic_sh",
    energy=elastic_sh.energy,
)
