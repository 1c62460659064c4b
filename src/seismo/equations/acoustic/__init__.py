"""Acoustic waves of constant density: pressure, second order in time.

    (1 / c^2) d2p/dt2 = d2p/dx2 + d2p/dy2 + d2p/dz2 + s

p stands on the nodes at t = n dt::

    p(n+1) = 2 p(n) - p(n-1) + c^2 dt^2 (xx + yy + zz)

p [Pa], c = vp [m/s], `k` = c^2 dt^2 [m^2]. In the absorbing layers the second derivative becomes
two stretched first ones (Pasalic & McGarry 2010), whose flux memory is updated first.
"""

from __future__ import annotations

import numpy as np

from seismo.equations.declaration import Equation, LayeredWaves
from seismo.equations.parameters import VP
from seismo.equations.table import Field, Physics, SourceTerm, Stage, Term


def _flux_2d(o):
    x_flux, z_flux = o.x_flux, o.z_flux

    @o.jit
    def flux(i, s, p):
        x_flux(p, i, s)
        z_flux(p, i, s)

    return flux


def _flux_3d(o):
    x_flux, y_flux, z_flux = o.x_flux, o.y_flux, o.z_flux

    @o.jit
    def flux(i, s, p):
        x_flux(p, i, s)
        y_flux(p, i, s)
        z_flux(p, i, s)

    return flux


def _pressure_2d(o):
    at, put, here, xx, zz = o.at, o.put, o.here, o.xx, o.zz
    two = o.number(2)

    @o.jit
    def pressure(i, s, q, p, k):
        past, factor = at(q, i), here(k, i, s)  # before layers store their memory
        put(q, i, s, two * at(p, i) - past + factor * (xx(p, i, s) + zz(p, i, s)))

    return pressure


def _pressure_3d(o):
    at, put, here, xx, yy, zz = o.at, o.put, o.here, o.xx, o.yy, o.zz
    two = o.number(2)

    @o.jit
    def pressure(i, s, q, p, k):
        past, factor = at(q, i), here(k, i, s)  # before layers store their memory
        laplacian = xx(p, i, s) + yy(p, i, s) + zz(p, i, s)
        put(q, i, s, two * at(p, i) - past + factor * laplacian)

    return pressure


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
    flux, pressure = (_flux_3d, _pressure_3d) if "y" in axes else (_flux_2d, _pressure_2d)
    return Physics(
        axes=axes,
        fields=(Field("p", "", "Pa"), Field("p_old", "", "Pa", previous_of="p")),
        stages=(
            Stage("flux", (), ("p",), (), flux, slots=2, where="layer"),
            Stage("pressure", ("p_old",), ("p",), ("k",), pressure, slots=2, shares="flux"),
        ),
        coefficients=coefficients,
        medium=("vp",),
        observables={"pressure": {"pressure": (Term("p"),)}},
        drives=DRIVES,
    )


def _moduli(vp: np.ndarray) -> tuple[np.ndarray, ...]:
    one, none = np.ones_like(vp), np.zeros_like(vp)
    return vp**2, vp**2, vp**2, none, one, one


EQUATION = Equation(
    name="acoustic",
    parameters=(VP,),
    tables=tables,
    nanoseconds={"cpu": {2: 0.57, 3: 1.4}},
    bandwidth_share={"gpu": {2: 0.78, 3: 0.94}},
    layered=LayeredWaves(
        averages=("vp",),
        medium=lambda vp: (vp, 0.0, 1.0),
        parameters=lambda vp, vs, rho: (vp,),
        moduli=_moduli,
    ),
)
