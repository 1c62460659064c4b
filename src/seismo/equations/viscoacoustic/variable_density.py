"""Acoustic waves of variable density in a fluid that attenuates.

    rho dv/dt = -grad p,    dp/dt = -kappa (div v less what its memory lacks)

In place of `seismo.equations.acoustic.variable_density`, whose grid and density it has, where the
model gives qp (`seismo.equations.loss.memory_variables`). On the nodes stand unrelaxed `kappa` dt
and the number `y` of its loss.
"""

from __future__ import annotations

import math

from seismo.equations.acoustic import variable_density as lossless
from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.parameters import (
    QP,
    RHO,
    VP,
)
from seismo.equations.framework.sloping_ground import with_pressure_surface
from seismo.equations.framework.table import Physics, Stage
from seismo.equations.loss.memory_variables import (
    UNKNOWN,
    loss,
    memory_fields,
    names_of,
    numbers_of,
    remember,
    strain_source,
)
from seismo.equations.loss.relaxation import Relaxation


def pressure(cell):
    """p(n + 1) = p(n) - kappa dt (div v - sum Y_l xi^l)."""
    # dp/dt = -kappa (div v - sum Y_l xi^l)
    divergence = cell.total(*((a, f"v{a}") for a in cell.axes))
    (memory,) = remember(cell, {"volume": divergence}).values()
    lasting = divergence - loss(cell, "p", cell["y"], memory)
    cell.put("p", cell["p"] - cell["kappa"] * lasting)


def coefficients(medium: dict, dt: float) -> dict:
    """Return the arrays that formulas take; see above."""
    return lossless.coefficients(medium, dt) | {"y": medium["y_p_modulus"]}


def drives(axes: str, relaxation: Relaxation) -> dict:
    """Name the sources; volume that comes out of a point is a strain of the fluid."""
    # Volume rates drive the memory of the volume strain, too.
    named = lossless.drives(axes)
    rates = {
        "pressure": lambda mean, dt: -1.0 / (mean("rho") * dt),
        "volume_rate": lambda mean, dt: -1.0,
    }
    return named | {
        kind: strain_source(named[kind][0], rate, "volume", relaxation)
        for kind, rate in rates.items()
    }


def tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table along some axes."""
    relaxation = options or UNKNOWN
    plain = lossless.tables(axes, None)
    momentum, squeeze = plain.stages
    # One strain, the volume: as many memory variables as mechanisms.
    remembered = names_of("volume", relaxation)
    return Physics(
        axes=axes,
        fields=(*plain.fields, *memory_fields({"volume": ""}, relaxation)),
        stages=(
            momentum,
            Stage("pressure", ("p", *remembered), squeeze.reads, ("kappa", "y"), pressure),
        ),
        coefficients=coefficients,
        medium=(*plain.medium, "y_p_modulus"),
        observables=plain.observables,
        drives=drives(axes, relaxation),
        fluid_force=plain.fluid_force,
        numbers=numbers_of(relaxation, "p"),
    )


EQUATION = Equation(
    name="viscoacoustic_variable_density",
    parameters=(VP, RHO, QP),
    tables=tables,
    extends="acoustic_variable_density",
    nanoseconds={"cpu": {2: 2.2, 3: 4.4}},
    bandwidth_share={"gpu": {2: 0.68, 3: 0.95}},
    layered=lossless.LAYERED.with_further(math.inf),
    sloping=with_pressure_surface,
)
