"""Velocities of the elastic equations: rho dv_i/dt = d_j s_ij, on the grid of `elastic`.

The density of a velocity is the mean of two nodes (Moczo et al. 2002). Planes z where fluids of
unlike density meet have one for each component, where it stands (`seismo.model.effective_density`):
`rho_x`, `rho_y`, `rho_z`, which stand `packed` numbers earlier.
"""

from __future__ import annotations


def _motion_2d(o):
    """Build the update of the velocities; `mass` is the sum of the densities of two nodes."""
    at, put, x_up, x_dn, z_up, z_dn = o.at, o.put, o.x_up, o.x_dn, o.z_up, o.z_dn
    two = o.number(2)

    @o.jit
    def motion(i, s, vx, vz, sxx, szz, sxz, mass_x, mass_z):
        force = x_up(sxx, i, s, 0) + z_dn(sxz, i, s, 0)
        put(vx, i, s, at(vx, i) + two / mass_x * force)
        force = x_dn(sxz, i, s, 1) + z_up(szz, i, s, 1)
        put(vz, i, s, at(vz, i) + two / mass_z * force)

    return motion


def velocity_2d(o):
    """Return the update of vx and vz."""
    motion, here, two = _motion_2d(o), o.here, o.number(2)

    @o.jit
    def velocity(i, s, vx, vz, sxx, szz, sxz, rho_x, rho_z):
        k = i - s.packed
        mass_x = two * here(rho_x, k, s)
        motion(i, s, vx, vz, sxx, szz, sxz, mass_x, two * here(rho_z, k, s))

    return velocity


def even_velocity_2d(o):
    """Return the update of vx and vz where one density does for all."""
    motion, here, x_next, z_next = _motion_2d(o), o.here, o.x_next, o.z_next

    @o.jit
    def velocity(i, s, vx, vz, sxx, szz, sxz, rho):
        r = here(rho, i, s)
        motion(i, s, vx, vz, sxx, szz, sxz, r + x_next(rho, i, s), r + z_next(rho, i, s))

    return velocity


def _motion_3d(o):
    at, put, two = o.at, o.put, o.number(2)
    x_up, x_dn, y_up, y_dn, z_up, z_dn = o.x_up, o.x_dn, o.y_up, o.y_dn, o.z_up, o.z_dn

    @o.jit
    def motion(i, s, vx, vy, vz, sxx, syy, szz, sxy, sxz, syz, mass_x, mass_y, mass_z):
        force = x_up(sxx, i, s, 0) + y_dn(sxy, i, s, 0) + z_dn(sxz, i, s, 0)
        put(vx, i, s, at(vx, i) + two / mass_x * force)
        force = x_dn(sxy, i, s, 1) + y_up(syy, i, s, 1) + z_dn(syz, i, s, 1)
        put(vy, i, s, at(vy, i) + two / mass_y * force)
        force = x_dn(sxz, i, s, 2) + y_dn(syz, i, s, 2) + z_up(szz, i, s, 2)
        put(vz, i, s, at(vz, i) + two / mass_z * force)

    return motion


def velocity_3d(o):
    """Return the update of vx, vy and vz."""
    motion, here, two = _motion_3d(o), o.here, o.number(2)

    @o.jit
    def velocity(i, s, vx, vy, vz, sxx, syy, szz, sxy, sxz, syz, rho_x, rho_y, rho_z):
        k = i - s.packed
        mass_x = two * here(rho_x, k, s)
        mass_y = two * here(rho_y, k, s)
        mass_z = two * here(rho_z, k, s)
        motion(i, s, vx, vy, vz, sxx, syy, szz, sxy, sxz, syz, mass_x, mass_y, mass_z)

    return velocity


def even_velocity_3d(o):
    """Return the update of vx, vy and vz where one density does for all."""
    motion, here, x_next, y_next, z_next = _motion_3d(o), o.here, o.x_next, o.y_next, o.z_next

    @o.jit
    def velocity(i, s, vx, vy, vz, sxx, syy, szz, sxy, sxz, syz, rho):
        r = here(rho, i, s)
        mass_x, mass_y = r + x_next(rho, i, s), r + y_next(rho, i, s)
        mass_z = r + z_next(rho, i, s)
        motion(i, s, vx, vy, vz, sxx, syy, szz, sxy, sxz, syz, mass_x, mass_y, mass_z)

    return velocity
