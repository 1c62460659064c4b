"""Elastic isotropic waves: velocity and stress in 3-D, and P-SV in 2-D. Fluids are vs = 0.

    rho dv_i/dt = d_j s_ij,    ds_ij/dt = lambda d_k v_k delta_ij + mu (d_i v_j + d_j v_i)

Staggering of Virieux (1986), Levander (1988), Graves (1996): normal stresses on the nodes; v_i half
a cell further along i; s_ij half a cell further along i and j. Stresses at t = n dt, velocities half
a step later. Model arrays stand on the nodes: `rho` / dt, `lam` = lambda dt [Pa s] and `q` =
1 / (mu dt); the density of a velocity is the mean of two nodes, mu of a shear stress the harmonic
mean of four (Moczo et al. 2002), so it vanishes beside a fluid.

On the row of a free surface szz vanishes: `surface` takes from sxx (and syy) what a nonzero szz
would have added, lambda / (lambda + 2 mu) szz, whatever d_z v_z was.
"""

from __future__ import annotations

from seismo.physics.table import Drive, Field, Physics, Stage, Term

FLUID_Q = 1e30  # 1 / (mu dt) of a fluid: finite, since lanes assume no infinities


def _velocity_2d(o):
    at, put, here, x_next, z_next = o.at, o.put, o.here, o.x_next, o.z_next
    x_up, x_dn, z_up, z_dn, two = o.x_up, o.x_dn, o.z_up, o.z_dn, o.number(2)

    @o.jit
    def velocity(i, s, vx, vz, sxx, szz, sxz, rho):
        r = here(rho, i, s)
        force = x_up(sxx, i, s, 0) + z_dn(sxz, i, s, 0)
        put(vx, i, s, at(vx, i) + two / (r + x_next(rho, i, s)) * force)
        force = x_dn(sxz, i, s, 1) + z_up(szz, i, s, 1)
        put(vz, i, s, at(vz, i) + two / (r + z_next(rho, i, s)) * force)

    return velocity


def _stress_2d(o):
    at, put, here, x_next, z_next = o.at, o.put, o.here, o.x_next, o.z_next
    x_up, x_dn, z_up, z_dn = o.x_up, o.x_dn, o.z_up, o.z_dn
    two, four = o.number(2), o.number(4)
    corner = _corner(o, "z")

    @o.jit
    def stress(i, s, sxx, szz, sxz, vx, vz, lam, q):
        ex, ez = x_dn(vx, i, s, 0), z_dn(vz, i, s, 0)
        q0 = here(q, i, s)
        volume, mu2 = here(lam, i, s) * (ex + ez), two / q0
        put(sxx, i, s, at(sxx, i) + volume + mu2 * ex)
        put(szz, i, s, at(szz, i) + volume + mu2 * ez)
        total = q0 + x_next(q, i, s) + z_next(q, i, s) + corner(q, i, s)
        put(sxz, i, s, at(sxz, i) + four / total * (z_up(vx, i, s, 1) + x_up(vz, i, s, 1)))

    return stress


def _corner(o, axis: str):
    """The coefficient one node further along x and along `axis`."""
    x_next = o.x_next
    if axis == "z":
        return o.jit(lambda q, i, s: x_next(q, i + s.z_stride, s))
    return o.jit(lambda q, i, s: x_next(q, i + s.y_stride, s))


def _velocity_3d(o):
    at, put, here, x_next, y_next, z_next = o.at, o.put, o.here, o.x_next, o.y_next, o.z_next
    x_up, x_dn, y_up, y_dn, z_up, z_dn = o.x_up, o.x_dn, o.y_up, o.y_dn, o.z_up, o.z_dn
    two = o.number(2)

    @o.jit
    def velocity(i, s, vx, vy, vz, sxx, syy, szz, sxy, sxz, syz, rho):
        r = here(rho, i, s)
        force = x_up(sxx, i, s, 0) + y_dn(sxy, i, s, 0) + z_dn(sxz, i, s, 0)
        put(vx, i, s, at(vx, i) + two / (r + x_next(rho, i, s)) * force)
        force = x_dn(sxy, i, s, 1) + y_up(syy, i, s, 1) + z_dn(syz, i, s, 1)
        put(vy, i, s, at(vy, i) + two / (r + y_next(rho, i, s)) * force)
        force = x_dn(sxz, i, s, 2) + y_dn(syz, i, s, 2) + z_up(szz, i, s, 2)
        put(vz, i, s, at(vz, i) + two / (r + z_next(rho, i, s)) * force)

    return velocity


def _stress_3d(o):
    at, put, here, x_next, y_next, z_next = o.at, o.put, o.here, o.x_next, o.y_next, o.z_next
    x_up, x_dn, y_up, y_dn, z_up, z_dn = o.x_up, o.x_dn, o.y_up, o.y_dn, o.z_up, o.z_dn
    two, four = o.number(2), o.number(4)
    corner_y, corner_z = _corner(o, "y"), _corner(o, "z")

    @o.jit
    def stress(i, s, sxx, syy, szz, sxy, sxz, syz, vx, vy, vz, lam, q):
        ex, ey, ez = x_dn(vx, i, s, 0), y_dn(vy, i, s, 0), z_dn(vz, i, s, 0)
        q0, qx, qy, qz = here(q, i, s), x_next(q, i, s), y_next(q, i, s), z_next(q, i, s)
        volume, mu2 = here(lam, i, s) * (ex + ey + ez), two / q0
        put(sxx, i, s, at(sxx, i) + volume + mu2 * ex)
        put(syy, i, s, at(syy, i) + volume + mu2 * ey)
        put(szz, i, s, at(szz, i) + volume + mu2 * ez)
        mu = four / (q0 + qx + qy + corner_y(q, i, s))
        put(sxy, i, s, at(sxy, i) + mu * (y_up(vx, i, s, 1) + x_up(vy, i, s, 1)))
        mu = four / (q0 + qx + qz + corner_z(q, i, s))
        put(sxz, i, s, at(sxz, i) + mu * (z_up(vx, i, s, 1) + x_up(vz, i, s, 2)))
        mu = four / (q0 + qy + qz + y_next(q, i + s.z_stride, s))
        put(syz, i, s, at(syz, i) + mu * (z_up(vy, i, s, 2) + y_up(vz, i, s, 2)))

    return stress


def _surface_2d(o):
    at, put, here, two = o.at, o.put, o.here, o.number(2)

    @o.jit
    def surface(i, s, sxx, szz, lam, q):
        excess, stiffness = at(szz, i), here(lam, i, s)
        put(sxx, i, s, at(sxx, i) - stiffness / (stiffness + two / here(q, i, s)) * excess)
        put(szz, i, s, excess - excess)

    return surface


def _surface_3d(o):
    at, put, here, surface_2d, two = o.at, o.put, o.here, _surface_2d(o), o.number(2)

    @o.jit
    def surface(i, s, sxx, syy, szz, lam, q):
        excess, stiffness = at(szz, i), here(lam, i, s)
        put(syy, i, s, at(syy, i) - stiffness / (stiffness + two / here(q, i, s)) * excess)
        surface_2d(i, s, sxx, szz, lam, q)

    return surface


def coefficients(medium: dict, dt: float) -> dict:
    """Give `rho` / dt, `lam` and `q` from `rho` [kg/m^3], `p_modulus` and `shear_modulus` [Pa]."""
    mu = medium["shear_modulus"]
    floor = 1.0 / (FLUID_Q * dt)
    return {
        "rho": medium["rho"] / dt,
        "lam": (medium["p_modulus"] - 2 * mu) * dt,
        "q": 1.0 / (mu.clip(min=floor) * dt),
    }


def _pairs(axes: str) -> list[str]:
    return [a + b for n, a in enumerate(axes) for b in axes[n + 1 :]]


def observables(axes: str) -> dict:
    """Name the velocity, stress, pressure, divergence and rotation of the elastic field."""
    normal = [f"s{a}{a}" for a in axes]
    curl = {a: [b for b in "xyz" if b != a] for a in ("xyz" if "y" in axes else "y")}
    sign = {"x": (-1, 1), "y": (1, -1), "z": (-1, 1)}  # of d_c v_b and d_b v_c, b before c
    return {
        "velocity": {f"v{a}": (Term(f"v{a}"),) for a in axes},
        "stress": {s: (Term(s),) for s in normal + [f"s{p}" for p in _pairs(axes)]},
        "pressure": {"pressure": tuple(Term(s, -1.0 / len(axes)) for s in normal)},
        "divergence": {"divergence": tuple(Term(f"v{a}", along=a) for a in axes)},
        "rotation": {
            f"rotation_{a}": (
                Term(f"v{b}", 0.5 * sign[a][0], along=c),
                Term(f"v{c}", 0.5 * sign[a][1], along=b),
            )
            for a, (b, c) in curl.items()
        },
    }


def _injection(mean, dt):
    """Give c_p^2 dt: the pressure that a volume source s adds is c_p^2 times its integral."""
    return (mean("lam") + 2 / mean("q")) / (mean("rho") * dt)


def drives(axes: str) -> dict:
    """Name the sources; a moment tensor M acts on the stress as -dM/dt (stress glut)."""
    normal, shear = [a + a for a in axes], _pairs(axes)
    return {
        "force": tuple(Drive(f"v{a}", a, lambda mean, dt: 1 / mean("rho")) for a in axes),
        "moment_tensor": tuple(
            Drive(f"s{ab}", ab, lambda mean, dt: -dt, derivative=1) for ab in normal + shear
        ),
        "explosion": tuple(
            Drive(f"s{ab}", "", lambda mean, dt: -dt, derivative=1) for ab in normal
        ),
        "pressure": tuple(
            Drive(f"s{ab}", "", lambda mean, dt: -_injection(mean, dt), derivative=-1)
            for ab in normal
        ),
    }


def _physics(axes: str, velocity, stress, surface, numbers: int) -> Physics:
    v, normal = [f"v{a}" for a in axes], [f"s{a}{a}" for a in axes]
    shear = [f"s{p}" for p in _pairs(axes)]
    n = len(axes)
    return Physics(
        name="elastic",
        axes=axes,
        fields=(
            *(Field(f"v{a}", a, "m/s", late=True) for a in axes),
            *(Field(name, "", "Pa") for name in normal),
            *(Field(name, name[1:], "Pa") for name in shear),
        ),
        stages=(
            Stage("velocity", (*v,), (*normal, *shear), ("rho",), velocity, slots=n),
            Stage("stress", (*normal, *shear), (*v,), ("lam", "q"), stress, slots=n),
            Stage("surface", (*normal,), (), ("lam", "q"), surface, where="surface"),
        ),
        coefficients=coefficients,
        needs=("vp", "vs", "rho"),
        medium=("rho", "p_modulus", "shear_modulus"),
        observables=observables(axes),
        drives=drives(axes),
        closed_surface=True,
        numbers_per_point=numbers,
    )


def two_dimensions() -> Physics:
    """Give the P-SV equations in x and z."""
    return _physics("xz", _velocity_2d, _stress_2d, _surface_2d, 18)


def three_dimensions() -> Physics:
    """Give the equations in x, y and z."""
    return _physics("xyz", _velocity_3d, _stress_3d, _surface_3d, 30)
