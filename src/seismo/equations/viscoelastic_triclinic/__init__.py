"""Elastic waves in rock of any anisotropy that attenuates.

The equations, fields, stages and formulas are those of `seismo.equations.viscoelastic_tti`: the
stiffness relaxes to s C + (p - s) v v^T, with the ratios p and s of moduli of P and of S waves, and
v about the axes of the rock the roots of c11, c22, c33 for xx, yy, zz, and 0 for shear strains
(`seismo.equations.loss.anisotropic`). So P waves along these axes have qp in orthorhombic rock, and
S waves along them qs. Rocks are given by Thomsen's or Tsvankin's parameters, or by elastic
constants (`seismo.equations.rock.rock_parameters`), where the model gives qp or qs besides;
constants are those at the frequency that velocities would be of.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from seismo.equations import elastic_triclinic, viscoelastic_tti
from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.parameters import (
    CONSTANTS,
    QP,
    QS,
)
from seismo.equations.framework.table import Physics
from seismo.equations.loss.anisotropic import SHEAR_SHARE, shear_share
from seismo.equations.loss.relaxation import Relaxation
from seismo.equations.rock import (
    plane_waves,
    rock_parameters,
)


def tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table along some axes: in 2-D that of P-SV waves."""
    return replace(
        # All 21 constants relax as those of TTI rock do, the rocks are given otherwise.
        viscoelastic_tti.tables(axes, options),
        conversion=rock_parameters.lossy_rock(axes),
        # Least qp for the qs of each rock, so that every strain loses energy.
        derived={
            "fastest": plane_waves.fastest,
            SHEAR_SHARE: partial(shear_share, dimensions=len(axes)),
        },
        conditions=(),
    )


EQUATION = Equation(
    name="viscoelastic_triclinic",
    parameters=(*elastic_triclinic.EQUATION.parameters, QP, QS),
    tables=tables,
    instead=(*rock_parameters.THOMSEN, *CONSTANTS.values()),
    extends="elastic",
)
