"""Elastic isotropic waves: velocity and stress in 3-D, and P-SV in 2-D. Fluids are vs = 0.

    rho dv_i/dt = d_j s_ij,    ds_ij/dt = c_ijkl d_k v_l

The rock is isotropic. A cell that a contact cuts is not: seen from a longer wave it is transversely
isotropic about z (Backus 1962), so the stiffness is c11, c13, c33, c44, c66, which for one rock are
c11 = c33 = lambda + 2 mu, c13 = lambda, c44 = c66 = mu.

Staggering of Virieux (1986), Levander (1988), Graves (1996): normal stresses on the nodes; v_i
half a cell further along i; s_ij half a cell further along i and j. Stresses at t = n dt,
velocities half a step later. Model arrays stand on the nodes: `rho` / dt, the stiffnesses times dt
[Pa s], and `q` = 1 / (c44 dt), `q66` = 1 / (c66 dt). The density of a velocity is the mean of two
nodes, the stiffness of a shear stress the harmonic mean of four (Moczo et al. 2002): 0 beside a
fluid. Where no contact cuts, c13 = c11 - 2 mu and c33 = c11: `even` formulas read c11 and q only.
c13, c33 and `q66` are kept for the other planes alone, and stand `packed` numbers earlier. So are
`rho_x`, `rho_y`, `rho_z` for planes where fluids of unlike density meet: they slip, and have a
density for each component (`seismo.model.effective.density`).

On the row of a free surface szz vanishes: `surface` takes from sxx (and syy) what a nonzero szz
would have added, c13 / c33 szz, whatever d_z v_z was. In a fluid that is all of it to the last bit:
all normal stresses are changed by one number there, and by differences of stiffnesses that are
zero. What rounding left behind would push the water for ever. So would normal stresses that differ
by the rounding of a fused product: what is common to all of them is `rounded` first.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter

import numpy as np

from seismo.equations.acoustic_variable_density import even_density, inertia, lightness
from seismo.equations.elastic import formulas
from seismo.equations.elastic.curved import CURVED_SURFACE
from seismo.equations.elastic.energy import energy
from seismo.equations.framework.declaration import Equation, LayeredWaves
from seismo.equations.framework.parameters import (
    RHO,
    VP,
    VS,
)
from seismo.equations.framework.table import (
    Field,
    IsotropicPlanes,
    Physics,
    SourceTerm,
    Stage,
    Term,
)

FLUID_Q = 1e30  # 1 / (mu dt) of a fluid: finite, since lanes assume no infinities


def coefficients(medium: dict, dt: float) -> dict:
    """Return densities / dt, the stiffnesses times dt, and their inverses `q` and `q66`.

    Args:
        medium: `rho` and those of the components [kg/m^3], `c11`, `c13`, `c33`, `c44` and in 3-D
            `c66` [Pa].
        dt: time step [s].
    """
    # Inverse shear moduli: mu = 0 of a fluid becomes a mu that is negligible, but no infinity.
    floor = 1.0 / (FLUID_Q * dt)
    named = inertia(medium, dt) | {"q": 1.0 / (medium["c44"].clip(min=floor) * dt)}
    if "c66" in medium:
        named["q66"] = 1.0 / (medium["c66"].clip(min=floor) * dt)
    # Stiffness times dt: a step adds c dt e to a stress.
    return named | {name: medium[name] * dt for name in ("c11", "c13", "c33")}


def one_rock(medium: dict) -> np.ndarray:
    """Return where one rock fills a cell, so that c11 and the shear stiffness tell all."""
    c11 = medium["c11"]
    mu = medium["c44"]
    # Isotropy: c33 = c11, c13 = lambda = c11 - 2 mu, c66 = c44 = mu.
    close = partial(np.isclose, rtol=1e-9, atol=0.0)
    alike = close(medium["c33"], c11) & np.isclose(medium["c13"], c11 - 2 * mu, 0, 1e-9 * c11)
    return alike & close(medium["c66"], mu) if "c66" in medium else alike


def observables(axes: str) -> dict:
    """Name the velocity, stress, pressure, divergence, rotation and strain of the elastic field."""
    normal = [f"s{a}{a}" for a in axes]
    # 2-D: only rotation about y, the axis across the plane.
    curl = {a: [b for b in "xyz" if b != a] for a in ("xyz" if "y" in axes else "y")}
    sign = {"x": (-1, 1), "y": (1, -1), "z": (-1, 1)}  # of d_c v_b and d_b v_c, b before c
    return {
        "velocity": {f"v{a}": (Term(f"v{a}"),) for a in axes},
        "stress": {s: (Term(s),) for s in normal + [f"s{p}" for p in formulas.pairs(axes)]},
        # p = -(sxx + syy + szz) / 3; in 2-D the mean of two.
        "pressure": {"pressure": tuple(Term(s, -1.0 / len(axes)) for s in normal)},
        # div v = d_x vx + d_y vy + d_z vz
        "divergence": {"divergence": tuple(Term(f"v{a}", along=a) for a in axes)},
        # Half the curl of v: (d_b v_c - d_c v_b) / 2.
        "rotation": {
            f"rotation_{a}": (
                Term(f"v{b}", 0.5 * sign[a][0], along=c),
                Term(f"v{c}", 0.5 * sign[a][1], along=b),
            )
            for a, (b, c) in curl.items()
        },
        # de_ab/dt = (d_b v_a + d_a v_b) / 2
        "strain_rate": {f"e{a}{a}_rate": (Term(f"v{a}", along=a),) for a in axes}
        | {
            f"e{ab}_rate": tuple(Term(f"v{ab[k]}", 0.5, along=ab[1 - k]) for k in (0, 1))
            for ab in formulas.pairs(axes)
        },
    }


def _injection(mean, dt):
    """Return c_p^2 dt: the pressure that a volume source s adds is c_p^2 times its integral."""
    return mean("c11") / (mean("rho") * dt)


def drives(axes: str) -> dict:
    """Name the sources; a moment tensor M acts on the stress as -dM/dt (stress glut).

    A volume that comes out of a small sphere at a rate q has the isotropic dM/dt = c11 q (Mueller
    2001, JGR 106, B2); as in a fluid s = rho dq/dt.
    """
    normal = [a + a for a in axes]
    shear = formulas.pairs(axes)
    return {
        # dv_a/dt = F_a / (rho cell volume)
        "force": tuple(SourceTerm(f"v{a}", a, lightness) for a in axes),
        # ds_ab/dt = -dM_ab/dt / cell volume, all six components (in 2-D three).
        "moment_tensor": tuple(
            SourceTerm(f"s{ab}", ab, lambda mean, dt: -dt, derivative=1) for ab in normal + shear
        ),
        # The isotropic moment tensor M: all normal stresses alike.
        "explosion": tuple(
            SourceTerm(f"s{ab}", "", lambda mean, dt: -dt, derivative=1) for ab in normal
        ),
        # Source s of pressure as in a fluid: p grows by c_p^2 times the integral of s.
        "pressure": tuple(
            SourceTerm(f"s{ab}", "", lambda mean, dt: -_injection(mean, dt), derivative=-1)
            for ab in normal
        ),
        # Volume rate q: ds_aa/dt = -c11 q / cell volume.
        "volume_rate": tuple(
            SourceTerm(f"s{ab}", "", lambda mean, dt: -mean("c11")) for ab in normal
        ),
    }


def strain_responses(axes: str, medium: dict) -> dict[str, dict[str, np.ndarray]]:
    """Return what strains add to stresses (`Physics.strain_responses`).

    Args:
        axes: "xz" or "xyz".
        medium: c13, c33 and c44 (rows) [Pa] on node rows.
    """
    horizontal = axes[:-1]
    # Shear stiffness of a half row: harmonic mean of two nodes.
    modulus = medium["c44"]
    below = np.append(modulus[1:], modulus[-1:])
    shear = 2.0 * modulus * below / np.maximum(modulus + below, 1.0)
    normal = {"szz": medium["c33"], **{f"s{a}{a}": medium["c13"] for a in horizontal}}
    return {"zz": normal, **{f"{a}z": {f"s{a}z": shear} for a in horizontal}}


def tables(axes: str, options: None) -> Physics:
    """Return the table along some axes: in 2-D that of P-SV waves."""
    v = [f"v{a}" for a in axes]
    normal = [f"s{a}{a}" for a in axes]
    shear = [f"s{p}" for p in formulas.pairs(axes)]
    n = len(axes)
    stiffness = ("c11", "c13", "c33", *(("q66",) if n == 3 else ()), "q")
    # Planes where fluids of unlike density meet: a density for each component.
    densities = tuple(f"rho_{a}" for a in axes)
    even = even_density(formulas.isotropic_velocity)
    stresses = (*normal, *shear)
    # rho dv/dt = div s: half a step later than the stresses.
    momentum = Stage("velocity", (*v,), stresses, densities, formulas.velocity, even=even)
    even = IsotropicPlanes(formulas.isotropic_stress, ("c11", "q"), one_rock, attrgetter("uniform"))
    # ds/dt = c : grad v
    hooke = Stage("stress", stresses, (*v,), stiffness, formulas.stress, even=even)
    return Physics(
        axes=axes,
        fields=(
            *(Field(f"v{a}", a, "m/s") for a in axes),
            # Virieux (1986) staggering: s_aa on the nodes, s_ab half a cell along a and b.
            *(Field(name, "", "Pa") for name in normal),
            *(Field(name, name[1:], "Pa", vanishes="z" in name) for name in shear),
        ),
        stages=(
            momentum,
            hooke,
            # Free surface: szz = 0 on its row, after Hooke's law.
            Stage("surface", (*normal,), (), ("c13", "c33"), formulas.surface, where="surface"),
        ),
        coefficients=coefficients,
        medium=("rho", "c11", "c13", "c33", "c44", *(("c66",) if n == 3 else ())),
        observables=observables(axes),
        drives=drives(axes),
        layer_shift=2.0,  # less lets waves guided under a free surface grow in the layers
        fluid_meets_solid=True,
        strain_responses=partial(strain_responses, axes),
        fluid_force={a: Term(f"s{a}{a}", 1.0, a) for a in axes},
        gradients=tuple(v),
        curved_surface=CURVED_SURFACE,
    )


LAYERED = LayeredWaves(
    # P-SV waves are these themselves.
    averages=("c11", "c13", "c33", "c44", "rho"),
    medium=lambda vp, vs, rho: (vp, vs, rho),
    parameters=lambda vp, vs, rho: (vp, vs, rho),
    moduli=lambda c11, c13, c33, c44, rho: (c11, c13, c33, c44, rho, rho),
)
EQUATION = Equation(
    name="elastic",
    parameters=(VP, VS, RHO),
    tables=tables,
    also_called=("psv", "p_sv", "p-sv"),
    nanoseconds={"cpu": {2: 3.3, 3: 9.1}},
    bandwidth_share={"gpu": {2: 0.83, 3: 0.84}},
    layered=LAYERED,
    energy=energy,
)
