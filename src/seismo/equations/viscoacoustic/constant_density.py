"""Acoustic waves of constant density in a fluid that attenuates, second order in time.

    d2p/dt2 = c^2 (div grad p less what its memory lacks),    density constant

In place of `seismo.equations.acoustic`, whose grid it has, where the model gives qp. What is
remembered is q = d2p/dx2 + d2p/dy2 + d2p/dz2 at t = n dt (p_tt = M / rho div grad p with rho
constant); the memory variables stand half a step later, in units of q:

    xi(n + 1/2) = a_l xi(n - 1/2) + b_l q(n),    A^l acts on [xi(n + 1/2) + xi(n - 1/2)] / 2

(`seismo.equations.loss.memory_variables`). `k` = unrelaxed c^2 dt^2; `y` the number of its loss.

Under ground that slopes, at first order in time:

    p(n + 1) = p(n) - c^2 dt^2 (div u less what its memory lacks)

Memory variables remember div u, which is the sum over time of what they do over flat ground:
xi(n + 1) = a_l xi(n) + b_l div u(n + 1/2).
"""

from __future__ import annotations

import math
from dataclasses import replace

from seismo.equations.acoustic import constant_density as lossless
from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.parameters import QP, VP
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


def pressure_from_motion(cell):
    """p(n + 1) = p(n) - c^2 dt^2 (div u - sum Y_l xi^l)."""
    divergence = lossless.divergence(cell)
    (memory,) = remember(cell, {"curvature": divergence}).values()
    lasting = divergence - loss(cell, "p", cell["y"], memory)
    cell.put("p", cell["p"] - cell["k"] * lasting)


def sloping(flat: Physics, options: Relaxation | None) -> Physics:
    """Return the table under ground that slopes from that over flat ground."""
    relaxation = options or UNKNOWN
    plain = lossless.sloping(flat, None)
    motion, advance, surface = plain.stages
    remembered = names_of("curvature", relaxation)
    advance = replace(
        advance, writes=("p", *remembered), coefficients=("k", "y"), update=pressure_from_motion
    )
    # A source s drives the memory as div u = -1 / dt times its integral does.
    source = strain_source(
        plain.drives["pressure"][0], lambda mean, dt: -1.0 / dt, "curvature", relaxation
    )
    return replace(
        plain, stages=(motion, advance, surface), drives=plain.drives | {"pressure": source}
    )


def pressure(cell):
    """p(n+1) = 2 p(n) - p(n-1) + c^2 dt^2 (xx + yy + zz - sum Y_l xi^l), over p(n-1)."""
    # Read p(n-1) before the PML stores its memory in the same array.
    past = cell["p_old"]
    k = cell["k"]
    # d2p/dt2 = c^2 (laplacian p - sum Y_l xi^l)
    laplacian = cell.sum(cell.dd(a, "p") for a in cell.axes)
    (memory,) = remember(cell, {"curvature": laplacian}).values()
    lasting = laplacian - loss(cell, "p", cell["y"], memory)
    cell.put("p_old", 2.0 * cell["p"] - past + k * lasting)


def coefficients(medium: dict, dt: float) -> dict:
    """Return `k` and `y`; see above."""
    return lossless.coefficients(medium, dt) | {"y": medium["y_vp"]}


def tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table along some axes."""
    # Fields, flux of the layers and sources are those of the lossless equation.
    relaxation = options or UNKNOWN
    plain = lossless.tables(axes, None)
    flux, advance = plain.stages
    # What is remembered is the Laplacian, on the nodes.
    remembered = names_of("curvature", relaxation)

    return Physics(
        axes=axes,
        fields=(*plain.fields, *memory_fields({"curvature": ""}, relaxation)),
        stages=(
            flux,
            Stage(
                "pressure", ("p_old", *remembered), advance.reads, ("k", "y"), pressure,
                shares="flux",
            ),
        ),
        coefficients=coefficients,
        medium=("vp", "y_vp"),
        observables=plain.observables,
        drives=plain.drives | {
            "pressure": strain_source(
                plain.drives["pressure"][0], lambda mean, dt: 1.0, "curvature", relaxation
            )
        },
        numbers=numbers_of(relaxation, "p"),
    )  # fmt: skip


EQUATION = Equation(
    name="viscoacoustic",
    parameters=(VP, QP),
    tables=tables,
    extends="acoustic",
    nanoseconds={"cpu": {2: 1.5, 3: 3.9}},
    bandwidth_share={"gpu": {2: 0.78, 3: 0.89}},
    layered=lossless.LAYERED.with_further(math.inf),
    sloping=sloping,
)
