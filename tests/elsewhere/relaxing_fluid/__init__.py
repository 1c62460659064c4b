"""Waves in a fluid that relaxes, in 2-D: an equation that is no part of seismo.

    rho dv/dt = -grad p,    dp/dt = -kappa (1 + tau) div v - r,    t dr/dt = -r - kappa tau div v

One relaxation mechanism (Robertsson, Blanch & Symes 1994). p [Pa] and the memory variable r, kept
as `memory` = r dt / 2 [Pa], stand on the nodes, vx and vz [m/s] half a cell further along their
axis, half a step later. The medium has kappa = rho vp^2, what slow waves feel, and `tau`, by how
much stiffer it is to fast ones; t [s] is an option. With a = dt / (2 t), at the middle of a step,

    memory(n + 1) = kept memory(n) - relaxed div v,  kept = (1 - a) / (1 + a),
    relaxed = a dt kappa tau / (1 + a),  and p changes by -stiff div v less both memories.
"""

import math

from pydantic import BaseModel

from seismo.equations.declaration import Equation
from seismo.equations.parameters import RHO, VP, Parameter
from seismo.equations.table import Field, Physics, SourceTerm, Stage, Term


class Options(BaseModel, frozen=True, extra="forbid"):
    """How the fluid relaxes."""

    relaxation_time: float = 0.01


def _velocity(o):
    at, put, here, x_up, z_up, two = o.at, o.put, o.here, o.x_up, o.z_up, o.number(2)
    x_next, z_next = o.x_next, o.z_next

    @o.jit
    def velocity(i, s, vx, vz, p, rho):
        r = here(rho, i, s)
        put(vx, i, s, at(vx, i) - two / (r + x_next(rho, i, s)) * x_up(p, i, s, 0))
        put(vz, i, s, at(vz, i) - two / (r + z_next(rho, i, s)) * z_up(p, i, s, 0))

    return velocity


def _pressure(o):
    at, put, here, x_dn, z_dn = o.at, o.put, o.here, o.x_dn, o.z_dn

    @o.jit
    def pressure(i, s, p, memory, vx, vz, stiff, relaxed, kept):
        divergence = x_dn(vx, i, s, 0) + z_dn(vz, i, s, 0)
        before = at(memory, i)
        after = here(kept, i, s) * before - here(relaxed, i, s) * divergence
        put(memory, i, s, after)
        put(p, i, s, at(p, i) - here(stiff, i, s) * divergence - (before + after))

    return pressure


def _coefficients(time: float, medium: dict, dt: float) -> dict:
    a, kappa, tau = dt / (2.0 * time), medium["p_modulus"], medium["tau"]
    return {
        "rho": medium["rho"] / dt,
        "stiff": kappa * (1.0 + tau) * dt,
        "relaxed": a * dt * kappa * tau / (1.0 + a),
        "kept": (1.0 - a) / (1.0 + a) + 0.0 * tau,
    }


def tables(axes: str, options: Options) -> Physics:
    """Return the table in x and z."""
    return Physics(
        axes=axes,
        fields=(
            Field("p", "", "Pa"),
            Field("memory", "", "Pa"),
            Field("vx", "x", "m/s"),
            Field("vz", "z", "m/s"),
        ),
        stages=(
            Stage("velocity", ("vx", "vz"), ("p",), ("rho",), _velocity, slots=1),
            Stage(
                "pressure", ("p", "memory"), ("vx", "vz"), ("stiff", "relaxed", "kept"), _pressure,
                slots=1,
            ),
        ),
        coefficients=lambda medium, dt: _coefficients(options.relaxation_time, medium, dt),
        medium=("rho", "p_modulus", "tau"),
        observables={
            "pressure": {"pressure": (Term("p"),)},
            "velocity": {"vx": (Term("vx"),)},
            "relaxation": {"relaxation": (Term("memory"),)},
        },
        drives={"explosion": (SourceTerm("p", "", lambda mean, dt: dt, derivative=1),)},
        fastest=lambda found: found.vp_max * math.sqrt(1.0 + found.others["tau"][1]),
    )  # fmt: skip


TAU = Parameter("tau", "relaxation", "", (0.0, 1.0), zero="none", default=0.0, mean="arithmetic")
EQUATION = Equation(
    name="relaxing_fluid",
    parameters=(VP, RHO, TAU),
    tables=tables,
    options=Options,
    dimensions=(2,),
)
