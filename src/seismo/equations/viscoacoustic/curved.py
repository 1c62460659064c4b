"""The same under ground that slopes, first order in time (`seismo.equations.acoustic.curved`).

    p(n + 1) = p(n) - c^2 dt^2 (div u less what its memory lacks)

Memory variables remember div u, which is the sum over time of what they do over flat ground:
xi(n + 1) = a_l xi(n) + b_l div u(n + 1/2).
"""

from __future__ import annotations

from dataclasses import replace

from seismo.equations.acoustic import curved as lossless
from seismo.equations.framework.table import Physics
from seismo.equations.loss.memory_variables import (
    UNKNOWN,
    loss,
    names_of,
    remember,
    strain_source,
)
from seismo.equations.loss.relaxation import Relaxation


def pressure(cell):
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
    advance = replace(advance, writes=("p", *remembered), coefficients=("k", "y"), update=pressure)
    # A source s drives the memory as div u = -1 / dt times its integral does.
    source = strain_source(
        plain.drives["pressure"][0], lambda mean, dt: -1.0 / dt, "curvature", relaxation
    )
    return replace(
        plain, stages=(motion, advance, surface), drives=plain.drives | {"pressure": source}
    )
