"""Elastic SH waves in 2-D in rock that is transversely isotropic about z (VTI) and attenuates.

The equations, fields and formulas are those of `seismo.equations.viscoelastic_sh`, with the moduli
c66 and c44 of `seismo.equations.elastic_sh_vti`, which both relax with the weights of S waves: the
quality factor is qs in all directions.
"""

from __future__ import annotations

import math
from dataclasses import replace

from seismo.equations import elastic_sh_vti, viscoelastic_sh
from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.parameters import QS
from seismo.equations.framework.table import Physics
from seismo.equations.loss.relaxation import Relaxation
from seismo.equations.rock import rock_parameters


def tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table in x and z."""
    table = elastic_sh_vti.of_rocks(viscoelastic_sh.tables(axes, options))
    return replace(table, conversion=rock_parameters.attenuating(rock_parameters.sh(), QS.name))


EQUATION = Equation(
    name="viscoelastic_sh_vti",
    parameters=(*elastic_sh_vti.EQUATION.parameters, QS),
    tables=tables,
    instead=elastic_sh_vti.EQUATION.instead,
    dimensions=(2,),
    extends="elastic_sh",
    nanoseconds={"cpu": {2: 3.1}},
    layered=elastic_sh_vti.EQUATION.waves_in_layers.with_further(math.inf),
)
