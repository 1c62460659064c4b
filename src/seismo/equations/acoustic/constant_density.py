"""Acoustic waves of constant density: pressure, second order in time.

    (1 / c^2) d2p/dt2 = d2p/dx2 + d2p/dy2 + d2p/dz2 + s

p stands on the nodes at t = n dt::

    p(n+1) = 2 p(n) - p(n-1) + c^2 dt^2 (xx + yy + zz)

p [Pa], c = vp [m/s], `k` = c^2 dt^2 [m^2]. In the absorbing layers the second derivative becomes
two stretched first ones (Pasalic & McGarry 2010), whose flux memory is updated first.

**Fields of 16 bits** are p and its increment w(n) = p(n) - p(n-1), with which the leapfrog is::

    w(n+1) = w(n) + c^2 dt^2 (xx + yy + zz),    p(n+1) = p(n) + w(n+1)

Kept in few bits, p(n) - p(n-1) would be the small difference of two rounded numbers: an error e of
a step would grow as n e. The increment has bits of its own, and an error of p stays as it is.
`p_old` is where p(n+1) is written, for p(n) is read beside it by then; its values are not read.

**Ground that slopes** takes the equation at first order in time. Second differences do not know of
slopes: where rows follow the ground the same equation is solved by the gradient of the pressure and
its divergence (`seismo.equations.framework.sloping_ground`)::

    u(n + 1/2) = u(n - 1/2) - grad p(n),    p(n + 1) = p(n) - c^2 dt^2 div u(n + 1/2)

u [Pa/m] is rho v / dt; `k` = c^2 dt^2 is that of flat ground.

**Rock that attenuates**, where the model gives qp, has the same grid and fields, and besides the
memory of q = d2p/dx2 + d2p/dy2 + d2p/dz2 at t = n dt (p_tt = M / rho div grad p with rho constant).
Its variables stand half a step later, in units of q::

    d2p/dt2 = c^2 (div grad p less what its memory lacks)
    xi(n + 1/2) = a_l xi(n - 1/2) + b_l q(n),    A^l acts on [xi(n + 1/2) + xi(n - 1/2)] / 2

(`seismo.equations.framework.memory_variables`). `k` = unrelaxed c^2 dt^2; `y` the number of its
loss. Under ground that slopes variables remember div u, which is the sum over time of q::

    p(n + 1) = p(n) - c^2 dt^2 (div u less what its memory lacks)
    xi(n + 1) = a_l xi(n) + b_l div u(n + 1/2)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from seismo.equations.framework.declaration import (
    Equation,
    LayeredWaves,
    StoredEnergy,
)
from seismo.equations.framework.memory_variables import (
    UNKNOWN,
    lasting,
    lossless,
    pressures_with_loss,
    strain_source,
    with_memory,
)
from seismo.equations.framework.parameters import QP, VP
from seismo.equations.framework.sloping_ground import with_pressure_surface
from seismo.equations.framework.table import (
    Field,
    Physics,
    SourceTerm,
    Stage,
    Term,
)
from seismo.equations.rock.relaxation import Relaxation


def increment(cell):
    """Increment w += c^2 dt^2 (xx + yy + zz), and p(n+1) = p(n) + w over p(n-1)."""
    laplacian = cell.sum(cell.dd(a, "p") for a in cell.axes)
    w = cell["w"] + cell["k"] * laplacian
    cell.put("w", w)
    cell.put("p_old", cell["p"] + w)


def in_increments(physics: Physics) -> Physics:
    """Return the table of acoustic waves with p and w in place of two pressures."""
    flux, _ = physics.stages
    # What a source adds to p(n+1) is part of the increment, too.
    drives = {
        kind: (*terms, *(_of_increment(term) for term in terms))
        for kind, terms in physics.drives.items()
    }
    stage = Stage("pressure", ("w", "p_old"), ("p",), ("k",), increment, shares=flux.name)
    return replace(
        physics,
        fields=(*physics.fields, Field("w", "", "Pa", remembers=True)),
        stages=(flux, stage),
        drives=drives,
        in_increments=None,
    )


def _of_increment(term: SourceTerm) -> SourceTerm:
    return replace(term, field="w")


def motion(cell):
    """u(n + 1/2) = u(n - 1/2) - grad p."""
    for a in cell.axes:
        cell.put(f"u{a}", cell[f"u{a}"] - cell.d(a, "p"))


def pressure_from_motion(cell):
    """p(n + 1) = p(n) - c^2 dt^2 div u."""
    cell.put("p", cell["p"] - cell["k"] * _divergence(cell))


def lossy_pressure_from_motion(cell):
    """p(n + 1) = p(n) - c^2 dt^2 (div u - sum Y_l xi^l)."""
    divergence = lasting(cell, "curvature", _divergence(cell))
    cell.put("p", cell["p"] - cell["k"] * divergence)


def _divergence(cell):
    """Return div u."""
    return cell.total(*((a, f"u{a}") for a in cell.axes))


SLOPING_DRIVES: dict[str, tuple[SourceTerm, ...]] = {
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
            Stage("pressure", ("p",), u, ("k",), pressure_from_motion),
        ),
        drives=SLOPING_DRIVES,
        in_increments=None,
    ))  # fmt: skip


def flux(cell):
    """Update the fluxes dp/da of the absorbing layers."""
    for a in cell.axes:
        cell.flux(a, "p")


def lossy_sloping(flat: Physics, options: Relaxation | None) -> Physics:
    """Return the table of rock that attenuates under ground that slopes."""
    relaxation = options or UNKNOWN
    plain = sloping(flat, None)
    motion, advance, surface = plain.stages
    remembering = with_memory(
        advance, lossy_pressure_from_motion, ("curvature",), ("k", "y"), relaxation
    )
    # A source s drives the memory as div u = -1 / dt times its integral does.
    source = strain_source(
        plain.drives["pressure"][0], lambda mean, dt: -1.0 / dt, "curvature", relaxation
    )
    return replace(
        plain, stages=(motion, remembering, surface), drives=plain.drives | {"pressure": source}
    )


def pressure(cell):
    """p(n+1) = 2 p(n) - p(n-1) + c^2 dt^2 (xx + yy + zz), over p(n-1)."""
    _advance(cell, lossless)


def lossy_pressure(cell):
    """p(n+1) = 2 p(n) - p(n-1) + c^2 dt^2 (xx + yy + zz - sum Y_l xi^l), over p(n-1)."""
    _advance(cell, lasting)


def _advance(cell, less_loss: Callable) -> None:
    # Read p(n-1) before the PML stores its memory in the same array.
    past = cell["p_old"]
    k = cell["k"]
    # Leapfrog of (1 / c^2) d2p/dt2 = laplacian p.
    laplacian = less_loss(cell, "curvature", cell.sum(cell.dd(a, "p") for a in cell.axes))
    cell.put("p_old", 2.0 * cell["p"] - past + k * laplacian)


def coefficients(medium: dict, dt: float) -> dict:
    """Return k = c^2 dt^2 [m^2] from the medium's `vp` [m/s]."""
    return {"k": (medium["vp"] * dt) ** 2}


# s acts as c^2 dt^2 s; an explosion of moment M in the fluid as s = (d2M/dt2) / c^2.
DRIVES: dict[str, tuple[SourceTerm, ...]] = {
    "pressure": (SourceTerm("p", "", lambda mean, dt: mean("k")),),
    "explosion": (SourceTerm("p", "", lambda mean, dt: dt**2, derivative=2),),
}


def tables(axes: str, options: None) -> Physics:
    """Return the table along `axes`."""
    return Physics(
        axes=axes,
        fields=(Field("p", "", "Pa"), Field("p_old", "", "Pa", previous_of="p")),
        stages=(
            # PML: the flux memory of dp/da is updated before the derivative of the flux.
            Stage("flux", (), ("p",), (), flux, where="layer"),
            Stage("pressure", ("p_old",), ("p",), ("k",), pressure, shares="flux"),
        ),
        coefficients=coefficients,
        medium=("vp",),
        observables={"pressure": {"pressure": (Term("p"),)}},
        drives=DRIVES,
        in_increments=in_increments,
    )


def lossy_tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table of rock that attenuates along `axes`."""
    sources = {"pressure": [("curvature", lambda mean, dt: 1.0)]}
    return pressures_with_loss(
        tables(axes, None), options or UNKNOWN, lossy_pressure, "y_vp", sources
    )


def energy(axes: str) -> tuple[StoredEnergy, ...]:
    """Return the energy of the pressure, p^2 / k."""
    return (StoredEnergy("", lambda mean: {("p", "p"): 1.0 / mean("k")}),)


def _moduli(vp: np.ndarray) -> tuple[np.ndarray, ...]:
    # Density 1: c11 = c13 = c33 = c^2, c44 = 0.
    ones = np.ones_like(vp)
    none = np.zeros_like(vp)
    return vp**2, vp**2, vp**2, none, ones, ones


LAYERED = LayeredWaves(
    averages=("vp",),
    medium=lambda vp: (vp, 0.0, 1.0),
    parameters=lambda vp, vs, rho: (vp,),
    moduli=_moduli,
)
EQUATION = Equation(
    name="acoustic",
    parameters=(VP,),
    tables=tables,
    nanoseconds={"cpu": {2: 0.57, 3: 1.4}},
    bandwidth_share={"gpu": {2: 0.78, 3: 0.94}},
    layered=LAYERED,
    energy=energy,
    sloping=sloping,
)
LOSSY = EQUATION.attenuating(
    "viscoacoustic",
    lossy_tables,
    QP,
    sloping=lossy_sloping,
    nanoseconds={"cpu": {2: 1.5, 3: 3.9}},
    bandwidth_share={"gpu": {2: 0.78, 3: 0.89}},
)
