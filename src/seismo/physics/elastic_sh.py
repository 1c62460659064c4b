"""Elastic SH waves in 2-D: vy and the two shear stresses that drive it.

    rho dvy/dt = d_x sxy + d_z syz,    dsxy/dt = mu d_x vy,    dsyz/dt = mu d_z vy

vy [m/s] stands on the nodes, half a step later than sxy, syz [Pa], which stand half a cell further
along x and z (Moczo 1989). `rho` / dt and `q` = 1 / (mu dt) on the nodes; mu of a stress is the
harmonic mean of its two nodes.
"""

from __future__ import annotations

from seismo.physics.elastic import FLUID_Q
from seismo.physics.table import Drive, Field, Physics, Stage, Term


def _velocity(o):
    at, put, here, x_dn, z_dn = o.at, o.put, o.here, o.x_dn, o.z_dn

    @o.jit
    def velocity(i, s, vy, sxy, syz, rho):
        put(vy, i, s, at(vy, i) + (x_dn(sxy, i, s, 0) + z_dn(syz, i, s, 0)) / here(rho, i, s))

    return velocity


def _stress(o):
    at, put, here, x_next, z_next = o.at, o.put, o.here, o.x_next, o.z_next
    x_up, z_up, two = o.x_up, o.z_up, o.number(2)

    @o.jit
    def stress(i, s, sxy, syz, vy, q):
        q0 = here(q, i, s)
        put(sxy, i, s, at(sxy, i) + two / (q0 + x_next(q, i, s)) * x_up(vy, i, s, 0))
        put(syz, i, s, at(syz, i) + two / (q0 + z_next(q, i, s)) * z_up(vy, i, s, 0))

    return stress


def coefficients(medium: dict, dt: float) -> dict:
    """Give `rho` / dt and `q` from `rho` [kg/m^3] and `shear_modulus` [Pa]."""
    floor = 1.0 / (FLUID_Q * dt)
    return {
        "rho": medium["rho"] / dt,
        "q": 1.0 / (medium["shear_modulus"].clip(min=floor) * dt),
    }


def two_dimensions() -> Physics:
    """Give the SH equations in x and z."""
    return Physics(
        name="elastic_sh",
        axes="xz",
        fields=(
            Field("vy", "", "m/s", late=True),
            Field("sxy", "x", "Pa"),
            Field("syz", "z", "Pa"),
        ),
        stages=(
            Stage("velocity", ("vy",), ("sxy", "syz"), ("rho",), _velocity, slots=1),
            Stage("stress", ("sxy", "syz"), ("vy",), ("q",), _stress, slots=1),
        ),
        coefficients=coefficients,
        needs=("vs", "rho"),
        medium=("rho", "shear_modulus"),
        observables={
            "velocity": {"vy": (Term("vy"),)},
            "stress": {"sxy": (Term("sxy"),), "syz": (Term("syz"),)},
        },
        drives={
            "force": (Drive("vy", "y", lambda mean, dt: 1 / mean("rho")),),
            "moment_tensor": (
                Drive("sxy", "xy", lambda mean, dt: -dt, derivative=1),
                Drive("syz", "yz", lambda mean, dt: -dt, derivative=1),
            ),
        },
        fastest="vs",
        closed_surface=True,
        numbers_per_point=11,
    )
