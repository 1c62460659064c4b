"""Acoustic waves of constant density: pressure, second order in time.

    (1 / c^2) d2p/dt2 = d2p/dx2 + d2p/dy2 + d2p/dz2 + s

p stands on the nodes at t = n dt::

    p(n+1) = 2 p(n) - p(n-1) + c^2 dt^2 (xx + yy + zz)

p [Pa], c = vp [m/s], `k` = c^2 dt^2 [m^2]. In the absorbing layers the second derivative becomes
two stretched first ones (Pasalic & McGarry 2010), whose flux memory is updated first.
"""

from __future__ import annotations

import numpy as np

from seismo.equations.acoustic.curved import sloping
from seismo.equations.acoustic.increments import in_increments
from seismo.equations.framework.declaration import (
    Equation,
    LayeredWaves,
    StoredEnergy,
)
from seismo.equations.framework.parameters import VP
from seismo.equations.framework.table import (
    Field,
    Physics,
    SourceTerm,
    Stage,
    Term,
)


def flux(cell):
    """Update the fluxes dp/da of the absorbing layers."""
    for a in cell.axes:
        cell.flux(a, "p")


def pressure(cell):
    """p(n+1) = 2 p(n) - p(n-1) + c^2 dt^2 (xx + yy + zz), over p(n-1)."""
    # Read p(n-1) before the PML stores its memory in the same array.
    past = cell["p_old"]
    k = cell["k"]
    # Leapfrog of (1 / c^2) d2p/dt2 = laplacian p.
    laplacian = cell.sum(cell.dd(a, "p") for a in cell.axes)
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
    """Return the table along some axes."""
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


def energy(axes: str) -> tuple[StoredEnergy, ...]:
    """Return what the pressure stores: p^2 / k."""
    return (StoredEnergy("", lambda one, other, mean: one["p"] * other["p"] / mean("k")),)


def _moduli(vp: np.ndarray) -> tuple[np.ndarray, ...]:
    # Density 1: c11 = c13 = c33 = c^2, c44 = 0.
    one = np.ones_like(vp)
    none = np.zeros_like(vp)
    return vp**2, vp**2, vp**2, none, one, one


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
