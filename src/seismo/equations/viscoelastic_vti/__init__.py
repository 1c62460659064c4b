"""Elastic waves in rock that is transversely isotropic about z (VTI) and attenuates.

The equations, fields and formulas are those of `seismo.equations.viscoelastic`, with the rocks of
`seismo.equations.elastic_vti`: c11 and c33 relax with the weights of P waves, c44 and c66 with
those of S waves, and c13 = sqrt(c11 c33) - `slack` with both (`seismo.equations.loss.anisotropic`,
which tells what quality factors waves then have by direction). Where the model gives qp or qs
beside epsilon, delta or gamma, or the five constants that stand for them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from seismo.equations import elastic_vti, viscoelastic
from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.parameters import QP, QS
from seismo.equations.framework.table import Physics
from seismo.equations.loss.anisotropic import SHEAR_SHARE, shear_share
from seismo.equations.loss.relaxation import Relaxation
from seismo.equations.rock import rock_parameters


def tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table along some axes: in 2-D that of P-SV waves."""
    table = elastic_vti.of_rocks(viscoelastic.tables(axes, options))
    # Least qp for the qs of each rock, so that every strain loses energy.
    share = partial(shear_share, dimensions=len(axes))
    return replace(
        table,
        conversion=rock_parameters.attenuating(rock_parameters.vti(), QP.name, QS.name),
        derived={**table.derived, SHEAR_SHARE: share},
    )


EQUATION = Equation(
    name="viscoelastic_vti",
    parameters=(*elastic_vti.EQUATION.parameters, QP, QS),
    tables=tables,
    instead=rock_parameters.OF_VTI,
    extends="elastic",
    nanoseconds={"cpu": {2: 8.4, 3: 39.0}},
    layered=elastic_vti.EQUATION.waves_in_layers.with_further(math.inf, math.inf),
)
