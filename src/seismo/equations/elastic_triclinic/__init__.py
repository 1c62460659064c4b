"""Elastic waves in rock of any anisotropy: 21 constants, about axes that may be turned.

The equations, fields, stages and formulas are those of `seismo.equations.elastic_tti`. Rocks are
given by Thomsen's or Tsvankin's parameters, or by elastic constants, with theta, phi and azimuth
(`seismo.equations.rock.rock_parameters`).
"""

from __future__ import annotations

from dataclasses import replace

from seismo.equations import elastic_tti
from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.parameters import (
    CONSTANTS,
    RHO,
    TSVANKIN,
    VP,
    VS,
)
from seismo.equations.framework.table import Physics
from seismo.equations.rock import (
    plane_waves,
    rock_parameters,
)


def tables(axes: str, options: None) -> Physics:
    """Return the table along some axes: in 2-D that of P-SV waves."""
    return replace(
        # All 21 constants: the tables are those of TTI rock, the rocks are given otherwise.
        elastic_tti.tables(axes, options),
        conversion=rock_parameters.any_rock(axes),
        derived={"fastest": plane_waves.fastest},
        conditions=(),
    )


EQUATION = Equation(
    name="elastic_triclinic",
    parameters=(VP, VS, RHO, *TSVANKIN, *rock_parameters.ANGLES),
    tables=tables,
    instead=(*rock_parameters.THOMSEN, *CONSTANTS.values()),
    nanoseconds=elastic_tti.EQUATION.nanoseconds,
    bandwidth_share=elastic_tti.EQUATION.bandwidth_share,
    extends="elastic",
)
