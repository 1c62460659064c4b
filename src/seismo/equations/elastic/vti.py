"""Elastic waves in rock that is transversely isotropic about z (VTI), as P-SV waves in 2-D.

The equations, fields, stages and formulas are those of `seismo.equations.elastic`, whose stiffness
c11, c13, c33, c44, c66 is that of a stack of isotropic layers; here each rock has five constants of
its own, given or from Thomsen's parameters (`seismo.equations.rock.rock_parameters`)::

    sxx = c11 exx + (c11 - 2 c66) eyy + c13 ezz,    szz = c13 (exx + eyy) + c33 ezz,
    syy = (c11 - 2 c66) exx + c11 eyy + c13 ezz,    sxz = 2 c44 exz,  syz = 2 c44 eyz,
                                                    sxy = 2 c66 exy

Planes z of isotropic rock alone keep two stiffnesses, as there; all others keep the five. An
upright contact with a fluid, or one that dips, acts by pressure alone (`c33`), as between isotropic
media. The moment of a source of volume, c11 times that, is the one of waves along the layers.
"""

from __future__ import annotations

from dataclasses import replace

from seismo.equations.elastic import isotropic
from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.parameters import (
    DELTA,
    EPSILON,
    GAMMA,
    RHO,
    VP,
    VS,
    Condition,
)
from seismo.equations.framework.table import Physics, Stage
from seismo.equations.rock import elastic_constants as constants
from seismo.equations.rock import (
    plane_waves,
    rock_parameters,
)

CONDITIONS = (
    # A fluid is isotropic.
    Condition(
        lambda medium: constants.isotropic(medium) | (medium["vs"] > 0.0),
        ("vs", "epsilon", "delta", "gamma"),
        "a fluid has none of these; set them to 0 where vs is 0",
    ),
    # c13 is real: Thomsen's (1986) delta is not too low.
    Condition(
        constants.has_c13,
        ("vp", "vs", "delta"),
        "delta is below -(1 - vs^2 / vp^2) / 2, so that c13 is no real number: raise it",
    ),
    # The stiffness is positive definite.
    Condition(
        constants.takes_energy,
        ("epsilon", "delta", "gamma"),
        "c33 (c11 - c66) is not above c13^2, so that a strain would set energy free: raise epsilon "
        "or lower delta",
    ),
)


def isotropic_throughout(extremes) -> bool:
    """Whether an earth of these extremes is one isotropic medium."""
    plain = all(extremes.others[p.name] == (0.0, 0.0) for p in (EPSILON, DELTA, GAMMA))
    return extremes.uniform and plain


def _like(vp, vs, rho, epsilon, delta, gamma):
    """Return the isotropic vp, vs, rho whose contacts tell what those of VTI rocks err, roughly."""
    # c33 (1 + epsilon) is the mean of c33 and c11 = c33 (1 + 2 epsilon).
    return max(vp * (1.0 + epsilon) ** 0.5, 1.2 * vs), vs, rho


def _plain(vp, vs, rho):
    return vp, vs, rho, 0.0, 0.0, 0.0


def _of_rocks(stage: Stage) -> Stage:
    """Return a stage of the elastic equation whose even planes are those of isotropic rock."""
    if stage.even is None or stage.even.of_density:
        return stage
    # Two stiffnesses, c11 and c44, tell a plane of isotropic rock only.
    even = replace(stage.even, everywhere=isotropic_throughout, simple=constants.isotropic)
    return replace(stage, even=even)


def of_rocks(table: Physics) -> Physics:
    """Return the table of waves in these rocks, of that in isotropic rock."""
    return replace(
        table,
        stages=tuple(map(_of_rocks, table.stages)),
        conversion=rock_parameters.vti(),
        # The fastest wave is sought over all directions: it may be oblique.
        derived={"fastest": plane_waves.fastest},
        fastest=lambda extremes: extremes.others["fastest"][1],
        conditions=CONDITIONS,
    )


def tables(axes: str, options: None) -> Physics:
    """Return the table along some axes: in 2-D that of P-SV waves."""
    return of_rocks(isotropic.tables(axes, options))


EQUATION = Equation(
    name="elastic_vti",
    parameters=(VP, VS, RHO, EPSILON, DELTA, GAMMA),
    tables=tables,
    instead=rock_parameters.OF_VTI,
    nanoseconds={"cpu": {2: 3.9, 3: 10.5}},
    bandwidth_share={"gpu": {2: 0.83, 3: 0.84}},
    layered=replace(isotropic.EQUATION.waves_in_layers, medium=_like, parameters=_plain),
    extends="elastic",
    energy=isotropic.energy,
)
