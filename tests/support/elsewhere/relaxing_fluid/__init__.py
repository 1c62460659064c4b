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

from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.parameters import (
    RHO,
    VP,
    Parameter,
)
from seismo.equations.framework.table import (
    Field,
    Physics,
    SourceTerm,
    Stage,
    Term,
)


class Options(BaseModel, frozen=True, extra="forbid"):
    """How the fluid relaxes."""

    relaxation_time: float = 0.01


def _velocity(cell):
    for a in cell.axes:
        mass = cell["rho"] + cell.next("rho", a)
        cell.put(f"v{a}", cell[f"v{a}"] - 2.0 / mass * cell.d(a, "p"))


def _pressure(cell):
    divergence = cell.d("x", "vx") + cell.d("z", "vz")
    before = cell["memory"]
    after = cell["kept"] * before - cell["relaxed"] * divergence
    cell.put("memory", after)
    cell.put("p", cell["p"] - cell["stiff"] * divergence - (before + after))


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
            Stage("velocity", ("vx", "vz"), ("p",), ("rho",), _velocity),
            Stage(
                "pressure", ("p", "memory"), ("vx", "vz"), ("stiff", "relaxed", "kept"), _pressure
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
