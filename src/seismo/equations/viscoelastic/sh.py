"""Elastic SH waves in 2-D in rock that attenuates: vy, two shear stresses, their memory variables.

    rho dvy/dt = d_x sxy + d_z syz,    ds/dt = mu (d vy less what its memory lacks)

In place of `seismo.equations.elastic.sh`, whose grid, density and effective media it has, where the
model gives qs (`seismo.equations.loss.memory_variables`). On the nodes stand `rho` / dt, unrelaxed
`q_xy` = 1 / (mu_xy dt) and `q` = 1 / (mu_yz dt), and `qy_xy`, `qy`: these times the numbers y of
the moduli.

**VTI rock** has the same equations, fields and formulas, with the moduli
c66 and c44 of `seismo.equations.elastic.sh`, which both relax with the weights of S waves: the
quality factor is qs in all directions.
"""

from __future__ import annotations

import math
from dataclasses import replace
from operator import attrgetter

import numpy as np

from seismo.equations.elastic import sh as elastic_sh
from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.parameters import (
    QS,
    RHO,
    VS,
)
from seismo.equations.framework.table import IsotropicPlanes, Physics, Stage
from seismo.equations.loss.memory_variables import (
    UNKNOWN,
    loss,
    memory_fields,
    names_of,
    numbers_of,
    remember,
)
from seismo.equations.loss.relaxation import Relaxation
from seismo.equations.rock import rock_parameters


def stress(cell):
    """Hooke's law with a modulus for each stress."""
    _shear(cell, "x", "xy", "q_xy", "qy_xy")
    _shear(cell, "z", "yz", "q", "qy")


def isotropic_stress(cell):
    """Hooke's law where both stresses have one modulus."""
    _shear(cell, "x", "xy", "q", "qy")
    _shear(cell, "z", "yz", "q", "qy")


def _shear(cell, a: str, strain: str, q: str, qy: str) -> None:
    """s_ya += mu d_a vy, mu the harmonic mean of two nodes, y weighted with 1/mu."""
    # ds_ya/dt = mu (d_a vy - sum Y_l xi^l)
    rate = cell.d(a, "vy")
    (memory,) = remember(cell, {strain: rate}).values()
    # mu: harmonic mean of two nodes; y: their mean weighted with 1 / mu.
    compliance = cell[q] + cell.next(q, a)
    y = (cell[qy] + cell.next(qy, a)) / compliance
    name = f"s{strain}"
    mu = 2.0 / compliance
    cell.put(name, cell[name] + mu * (rate - loss(cell, "s", y, memory)))


def coefficients(medium: dict, dt: float) -> dict:
    """Return `rho` / dt, `q_xy`, `q`, `qy_xy` and `qy`; see above."""
    named = elastic_sh.coefficients(medium, dt)
    # q y: y weighted with 1 / (mu dt), which the formulas average.
    named["qy_xy"] = named["q_xy"] * medium["y_mu_xy"]
    named["qy"] = named["q"] * medium["y_mu_yz"]
    return named


def one_modulus(medium: dict) -> np.ndarray:
    """Return where both stresses have one modulus and one y."""
    alike = np.isclose(medium["y_mu_xy"], medium["y_mu_yz"], rtol=1e-6, atol=1e-9)
    return elastic_sh.one_modulus(medium) & alike


def tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table in x and z."""
    relaxation = options or UNKNOWN
    plain = elastic_sh.tables(axes, None)
    momentum, hooke = plain.stages
    # Memory of both strain rates, where their stresses stand.
    remembered = (*names_of("xy", relaxation), *names_of("yz", relaxation))
    even = IsotropicPlanes(isotropic_stress, ("q", "qy"), one_modulus, attrgetter("uniform"))
    return Physics(
        axes=axes,
        fields=(
            *plain.fields,
            *memory_fields({"xy": "x", "yz": "z"}, relaxation),
        ),
        stages=(
            momentum,
            Stage(
                "stress", (*hooke.writes, *remembered), hooke.reads,
                ("q_xy", "q", "qy_xy", "qy"), stress, even=even,
            ),
        ),
        coefficients=coefficients,
        medium=(*plain.medium, "y_mu_xy", "y_mu_yz"),
        observables=plain.observables,
        drives=plain.drives,
        fastest=plain.fastest,
        numbers=numbers_of(relaxation, "s"),
        gradients=plain.gradients,
    )  # fmt: skip


EQUATION = Equation(
    name="viscoelastic_sh",
    parameters=(VS, RHO, QS),
    tables=tables,
    dimensions=(2,),
    extends="elastic_sh",
    nanoseconds={"cpu": {2: 2.8}},
    bandwidth_share={"gpu": {2: 0.68}},
    layered=elastic_sh.LAYERED.with_further(math.inf),
)


def vti_tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table in x and z."""
    table = elastic_sh.of_rocks(tables(axes, options))
    return replace(table, conversion=rock_parameters.attenuating(rock_parameters.sh(), QS.name))


VTI = Equation(
    name="viscoelastic_sh_vti",
    parameters=(*elastic_sh.VTI.parameters, QS),
    tables=vti_tables,
    instead=elastic_sh.VTI.instead,
    dimensions=(2,),
    extends="elastic_sh",
    nanoseconds={"cpu": {2: 3.1}},
    layered=elastic_sh.VTI.waves_in_layers.with_further(math.inf),
)
