"""Acoustic waves of constant density under ground that slopes, first order in time.

Second differences do not know of slopes: where rows follow the ground the same equation is solved
by the gradient of the pressure and its divergence (`seismo.equations.framework.sloping_ground`)::

    u(n + 1/2) = u(n - 1/2) - grad p(n),    p(n + 1) = p(n) - c^2 dt^2 div u(n + 1/2)

u [Pa/m] is rho v / dt; `k` = c^2 dt^2 is that of flat ground.
"""

from __future__ import annotations

from dataclasses import replace

from seismo.equations.framework.sloping_ground import with_pressure_surface
from seismo.equations.framework.table import (
    Field,
    Physics,
    SourceTerm,
    Stage,
)


def motion(cell):
    """u(n + 1/2) = u(n - 1/2) - grad p."""
    for a in cell.axes:
        cell.put(f"u{a}", cell[f"u{a}"] - cell.d(a, "p"))


def pressure(cell):
    """p(n + 1) = p(n) - c^2 dt^2 div u."""
    cell.put("p", cell["p"] - cell["k"] * divergence(cell))


def divergence(cell):
    """Return div u."""
    return cell.total(*((a, f"u{a}") for a in cell.axes))


DRIVES: dict[str, tuple[SourceTerm, ...]] = {
    # Source s of the wave equation: p grows by c^2 dt times the integral of s.
    "pressure": (SourceTerm("p", "", lambda mean, dt: mean("k") / dt, derivative=-1),),
    # dp/dt = dM/dt / cell volume
    "explosion": (SourceTerm("p", "", lambda mean, dt: dt, derivative=1),),
}


def sloping(flat: Physics, options: None) -> Physics:
    """Return the table under ground that slopes from that over flat ground."""
    u = tuple(f"u{a}" for a in flat.axes)
    kept = (f for f in flat.fields if not f.previous_of)
    return with_pressure_surface(replace(
        flat,
        fields=(*kept, *(Field(f"u{a}", a, "Pa/m") for a in flat.axes)),
        stages=(
            Stage("motion", u, ("p",), (), motion),
            Stage("pressure", ("p",), u, ("k",), pressure),
        ),
        drives=DRIVES,
        in_increments=None,
    ))  # fmt: skip
