"""Acoustic waves of variable density: pressure and particle velocity, first order in time.

    rho dv/dt = -grad p,    dp/dt = -kappa div v

p [Pa] stands on the nodes at t = n dt, vx vy vz [m/s] half a cell further along their axis, half a
step later (Virieux 1986 for fluids). `kappa` = rho vp^2 dt [Pa s], `rho` / dt [kg/(m^3 s)]; the
density at a velocity is the mean of its two nodes (Moczo et al. 2002).

Planes z with cells that a contact cuts have a density for each component, where it stands: `rho_x`,
`rho_y`, `rho_z` (`seismo.model.effective_density`). These are kept for such planes only, and stand
`packed` numbers earlier.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import numpy as np

from seismo.equations.declaration import Equation, LayeredWaves
from seismo.equations.parameters import RHO, VP
from seismo.equations.table import Field, IsotropicPlanes, Physics, SourceTerm, Stage, Term


def _motion_2d(o):
    """Build the update of vx and vz; `mass` is the sum of the densities of two nodes."""
    at, put, x_up, z_up, two = o.at, o.put, o.x_up, o.z_up, o.number(2)

    @o.jit
    def motion(i, s, vx, vz, p, mass_x, mass_z):
        # v(n + 1/2) = v(n - 1/2) - dt / rho grad p
        put(vx, i, s, at(vx, i) - two / mass_x * x_up(p, i, s, 0))
        put(vz, i, s, at(vz, i) - two / mass_z * z_up(p, i, s, 0))

    return motion


def _velocity_2d(o):
    motion, here, two = _motion_2d(o), o.here, o.number(2)

    @o.jit
    def velocity(i, s, vx, vz, p, rho_x, rho_z):
        k = i - s.packed
        mass_x = two * here(rho_x, k, s)
        motion(i, s, vx, vz, p, mass_x, two * here(rho_z, k, s))

    return velocity


def _even_velocity_2d(o):
    motion, here, x_next, z_next = _motion_2d(o), o.here, o.x_next, o.z_next

    @o.jit
    def velocity(i, s, vx, vz, p, rho):
        r = here(rho, i, s)
        motion(i, s, vx, vz, p, r + x_next(rho, i, s), r + z_next(rho, i, s))

    return velocity


def _motion_3d(o):
    at, put, x_up, y_up, z_up, two = o.at, o.put, o.x_up, o.y_up, o.z_up, o.number(2)

    @o.jit
    def motion(i, s, vx, vy, vz, p, mass_x, mass_y, mass_z):
        put(vx, i, s, at(vx, i) - two / mass_x * x_up(p, i, s, 0))
        put(vy, i, s, at(vy, i) - two / mass_y * y_up(p, i, s, 0))
        put(vz, i, s, at(vz, i) - two / mass_z * z_up(p, i, s, 0))

    return motion


def _velocity_3d(o):
    motion, here, two = _motion_3d(o), o.here, o.number(2)

    @o.jit
    def velocity(i, s, vx, vy, vz, p, rho_x, rho_y, rho_z):
        k = i - s.packed
        mass_x = two * here(rho_x, k, s)
        mass_y = two * here(rho_y, k, s)
        motion(i, s, vx, vy, vz, p, mass_x, mass_y, two * here(rho_z, k, s))

    return velocity


def _even_velocity_3d(o):
    motion, here, x_next, y_next, z_next = _motion_3d(o), o.here, o.x_next, o.y_next, o.z_next

    @o.jit
    def velocity(i, s, vx, vy, vz, p, rho):
        r = here(rho, i, s)
        mass_x, mass_y = r + x_next(rho, i, s), r + y_next(rho, i, s)
        motion(i, s, vx, vy, vz, p, mass_x, mass_y, r + z_next(rho, i, s))

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
    """Return the densities / dt [kg/m^3] and `kappa` dt from `p_modulus` [Pa]."""
    return inertia(medium, dt) | {"kappa": medium["p_modulus"] * dt}


def inertia(medium: dict, dt: float) -> dict:
    """Return `rho` and those of the components / dt [kg/m^3]."""
    return {name: values / dt for name, values in medium.items() if name.startswith("rho")}


def one_density(medium: dict) -> np.ndarray:
    """Return where no fluids of unlike density share a cell: <rho> is 1 / <1 / rho>."""
    solid = np.isnan(medium["rho_x"])
    return solid | np.isclose(medium["rho"], medium["rho_x"], rtol=1e-9, atol=0.0)


def even_density(formula: Callable) -> IsotropicPlanes:
    """Return what planes without contacts of unlike fluids have, from the formula of `rho`."""
    return IsotropicPlanes(
        formula, ("rho",), one_density, attrgetter("fluids_alike"), ("rho_x",), True
    )


def lightness(mean: Callable, dt: float) -> np.ndarray:
    """Return what a force [N] adds to a velocity along it: dt / rho [m^3/kg s]."""
    return 1 / mean("rho", own=True)


def drives(axes: str) -> dict:
    """Name the sources.

    s of (1/c^2) p_tt - lap p = s; q of p_t / (rho c^2) + div v = q; an explosion's moment; a force.
    """
    return {
        "pressure": (
            SourceTerm("p", "", lambda mean, dt: mean("kappa") / (mean("rho") * dt), derivative=-1),
        ),
        "volume_rate": (SourceTerm("p", "", lambda mean, dt: mean("kappa")),),
        "explosion": (SourceTerm("p", "", lambda mean, dt: dt, derivative=1),),
        "force": tuple(SourceTerm(f"v{a}", a, lightness) for a in axes),
    }


def tables(axes: str, options: None) -> Physics:
    """Return the table along some axes."""
    v = tuple(f"v{a}" for a in axes)
    densities = tuple(f"rho_{a}" for a in axes)
    velocity, pressure = (_velocity_2d, _pressure_2d)
    even = even_density(_even_velocity_2d)
    if "y" in axes:
        velocity, pressure = (_velocity_3d, _pressure_3d)
        even = even_density(_even_velocity_3d)
    return Physics(
        axes=axes,
        fields=(Field("p", "", "Pa"), *(Field(f"v{a}", a, "m/s") for a in axes)),
        stages=(
            Stage("velocity", v, ("p",), densities, velocity, slots=1, even=even),
            Stage("pressure", ("p",), v, ("kappa",), pressure, slots=1),
        ),
        coefficients=coefficients,
        medium=("rho", "p_modulus"),
        observables={
            "pressure": {"pressure": (Term("p"),)},
            "velocity": {name: (Term(name),) for name in v},
            "divergence": {"divergence": tuple(Term(f"v{a}", along=a) for a in axes)},
        },
        drives=drives(axes),
        fluid_force={a: Term("p", -1.0, a) for a in axes},
    )


def _moduli(rho: np.ndarray, bulk: np.ndarray) -> tuple[np.ndarray, ...]:
    return bulk, bulk, bulk, np.zeros_like(bulk), rho, rho


EQUATION = Equation(
    name="acoustic_variable_density",
    parameters=(VP, RHO),
    tables=tables,
    nanoseconds={"cpu": {2: 1.4, 3: 2.6}},
    bandwidth_share={"gpu": {2: 0.68, 3: 0.80}},
    layered=LayeredWaves(
        averages=("rho", "p_modulus"),
        medium=lambda vp, rho: (vp, 0.0, rho),
        parameters=lambda vp, vs, rho: (vp, rho),
        moduli=_moduli,
    ),
)
