"""Acoustic waves of variable density: pressure and particle velocity, first order in time.

    rho dv/dt = -grad p,    dp/dt = -kappa div v

p [Pa] stands on the nodes at t = n dt, vx vy vz [m/s] half a cell further along their axis, half a
step later (Virieux 1986 for fluids). `kappa` = rho vp^2 dt [Pa s], `rho` / dt [kg/(m^3 s)]; the
density at a velocity is the mean of its two nodes (Moczo et al. 2002).
"""

from __future__ import annotations

from functools import partial

from seismo.physics.table import Drive, Field, Physics, Stage, Term


def _velocity_2d(o):
    at, put, here, x_next, z_next, x_up, z_up = (
        o.at, o.put, o.here, o.x_next, o.z_next, o.x_up, o.z_up,
    )  # fmt: skip
    two = o.number(2)

    @o.jit
    def velocity(i, s, vx, vz, p, rho):
        r = here(rho, i, s)
        put(vx, i, s, at(vx, i) - two / (r + x_next(rho, i, s)) * x_up(p, i, s, 0))
        put(vz, i, s, at(vz, i) - two / (r + z_next(rho, i, s)) * z_up(p, i, s, 0))

    return velocity


def _velocity_3d(o):
    velocity_2d, at, put, here, y_next, y_up = (
        _velocity_2d(o),
        o.at,
        o.put,
        o.here,
        o.y_next,
        o.y_up,
    )
    two = o.number(2)

    @o.jit
    def velocity(i, s, vx, vy, vz, p, rho):
        velocity_2d(i, s, vx, vz, p, rho)
        r = here(rho, i, s) + y_next(rho, i, s)
        put(vy, i, s, at(vy, i) - two / r * y_up(p, i, s, 0))

    return velocity


def _pressure_2d(o):
    at, put, here, x_dn, z_dn = o.at, o.put, o.here, o.x_dn, o.z_dn

    @o.jit
    def pressure(i, s, p, vx, vz, kappa):
        put(p, i, s, at(p, i) - here(kappa, i, s) * (x_dn(vx, i, s, 0) + z_dn(vz, i, s, 0)))

    return pressure


def _pressure_3d(o):
    at, put, here, x_dn, y_dn, z_dn = o.at, o.put, o.here, o.x_dn, o.y_dn, o.z_dn

    @o.jit
    def pressure(i, s, p, vx, vy, vz, kappa):
        divergence = x_dn(vx, i, s, 0) + y_dn(vy, i, s, 0) + z_dn(vz, i, s, 0)
        put(p, i, s, at(p, i) - here(kappa, i, s) * divergence)

    return pressure


def coefficients(medium: dict, dt: float) -> dict:
    """Give `rho` / dt and `kappa` dt from `rho` [kg/m^3] and `p_modulus` [Pa]."""
    return {"rho": medium["rho"] / dt, "kappa": medium["p_modulus"] * dt}


def drives(axes: str) -> dict:
    """Name the sources: s of (1/c^2) p_tt - lap p = s, an explosion's moment, a force."""
    return {
        "pressure": (
            Drive("p", "", lambda mean, dt: mean("kappa") / (mean("rho") * dt), derivative=-1),
        ),
        "explosion": (Drive("p", "", lambda mean, dt: dt, derivative=1),),
        "force": tuple(Drive(f"v{a}", a, lambda mean, dt: 1 / mean("rho")) for a in axes),
    }


def _physics(axes: str, velocity, pressure) -> Physics:
    v = tuple(f"v{a}" for a in axes)
    return Physics(
        name="acoustic_variable_density",
        axes=axes,
        fields=(Field("p", "", "Pa"), *(Field(f"v{a}", a, "m/s", late=True) for a in axes)),
        stages=(
            Stage("velocity", v, ("p",), ("rho",), velocity, slots=1),
            Stage("pressure", ("p",), v, ("kappa",), pressure, slots=1),
        ),
        coefficients=coefficients,
        needs=("vp", "rho"),
        medium=("rho", "p_modulus"),
        observables={
            "pressure": {"pressure": (Term("p"),)},
            "velocity": {name: (Term(name),) for name in v},
            "divergence": {"divergence": tuple(Term(f"v{a}", along=a) for a in axes)},
        },
        drives=drives(axes),
        numbers_per_point=14 if len(axes) == 3 else 11,
    )


two_dimensions = partial(_physics, "xz", _velocity_2d, _pressure_2d)
three_dimensions = partial(_physics, "xyz", _velocity_3d, _pressure_3d)
