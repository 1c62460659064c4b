"""A kernel for each component: nine sweeps of the elastic equations instead of two.

What is wrong: each kernel reads again what the one before has read. The three velocities share the
density and three of six stresses; the normal stresses share all three velocities and both
stiffnesses, and compute the same divergence three times. Between two kernels everything goes out to
memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ladder.stand import Call


def _vx(o):
    at, put, two, here = o.at, o.put, o.number(2), o.here
    x_next, x_up, y_dn, z_dn = o.x_next, o.x_up, o.y_dn, o.z_dn

    @o.jit
    def velocity(i, s, vx, sxx, syy, szz, sxy, sxz, syz, rho):
        force = x_up(sxx, i, s, 0) + y_dn(sxy, i, s, 0) + z_dn(sxz, i, s, 0)
        put(vx, i, s, at(vx, i) + two / (here(rho, i, s) + x_next(rho, i, s)) * force)

    return velocity


def _vy(o):
    at, put, two, here = o.at, o.put, o.number(2), o.here
    y_next, x_dn, y_up, z_dn = o.y_next, o.x_dn, o.y_up, o.z_dn

    @o.jit
    def velocity(i, s, vy, sxx, syy, szz, sxy, sxz, syz, rho):
        force = x_dn(sxy, i, s, 1) + y_up(syy, i, s, 1) + z_dn(syz, i, s, 1)
        put(vy, i, s, at(vy, i) + two / (here(rho, i, s) + y_next(rho, i, s)) * force)

    return velocity


def _vz(o):
    at, put, two, here = o.at, o.put, o.number(2), o.here
    z_next, x_dn, y_dn, z_up = o.z_next, o.x_dn, o.y_dn, o.z_up

    @o.jit
    def velocity(i, s, vz, sxx, syy, szz, sxy, sxz, syz, rho):
        force = x_dn(sxz, i, s, 2) + y_dn(syz, i, s, 2) + z_up(szz, i, s, 2)
        put(vz, i, s, at(vz, i) + two / (here(rho, i, s) + z_next(rho, i, s)) * force)

    return velocity


def _normal(o, across: tuple[str, str]):
    """Make a normal stress: that all strains make, less what shear leaves of those across."""
    at, put, two, here = o.at, o.put, o.number(2), o.here
    x_dn, y_dn, z_dn = o.x_dn, o.y_dn, o.z_dn
    strain = {
        "x": o.jit(lambda vx, vy, vz, i, s: x_dn(vx, i, s, 0)),
        "y": o.jit(lambda vx, vy, vz, i, s: y_dn(vy, i, s, 0)),
        "z": o.jit(lambda vx, vy, vz, i, s: z_dn(vz, i, s, 0)),
    }
    one, other = (strain[axis] for axis in across)

    @o.jit
    def stress(i, s, sii, vx, vy, vz, c11, q):
        e = x_dn(vx, i, s, 0) + y_dn(vy, i, s, 0) + z_dn(vz, i, s, 0)
        beside = one(vx, vy, vz, i, s) + other(vx, vy, vz, i, s)
        put(sii, i, s, at(sii, i) + here(c11, i, s) * e - two / here(q, i, s) * beside)

    return stress


def _sxx(o):
    return _normal(o, ("y", "z"))


def _syy(o):
    return _normal(o, ("x", "z"))


def _szz(o):
    return _normal(o, ("x", "y"))


def _sxy(o):
    at, put, four, here = o.at, o.put, o.number(4), o.here
    x_next, y_next, x_up, y_up = o.x_next, o.y_next, o.x_up, o.y_up

    @o.jit
    def stress(i, s, sxy, vx, vy, vz, c11, q):
        total = here(q, i, s) + x_next(q, i, s) + y_next(q, i, s) + x_next(q, i + s.y_stride, s)
        put(sxy, i, s, at(sxy, i) + four / total * (y_up(vx, i, s, 1) + x_up(vy, i, s, 1)))

    return stress


def _sxz(o):
    at, put, four, here = o.at, o.put, o.number(4), o.here
    x_next, z_next, x_up, z_up = o.x_next, o.z_next, o.x_up, o.z_up

    @o.jit
    def stress(i, s, sxz, vx, vy, vz, c11, q):
        total = here(q, i, s) + x_next(q, i, s) + z_next(q, i, s) + x_next(q, i + s.z_stride, s)
        put(sxz, i, s, at(sxz, i) + four / total * (z_up(vx, i, s, 1) + x_up(vz, i, s, 2)))

    return stress


def _syz(o):
    at, put, four, here = o.at, o.put, o.number(4), o.here
    y_next, z_next, y_up, z_up = o.y_next, o.z_next, o.y_up, o.z_up

    @o.jit
    def stress(i, s, syz, vx, vy, vz, c11, q):
        total = here(q, i, s) + y_next(q, i, s) + z_next(q, i, s) + y_next(q, i + s.z_stride, s)
        put(syz, i, s, at(syz, i) + four / total * (z_up(vy, i, s, 2) + y_up(vz, i, s, 2)))

    return stress


FORMULAS: dict[int, tuple[Callable, ...]] = {
    3: (_vx, _vy, _vz),
    6: (_sxx, _syy, _szz, _sxy, _sxz, _syz),
}


def bind(backend: Any, call: Call) -> list:
    """Bind a sweep for each field that the product's sweep writes."""
    formulas = FORMULAS[len(call.operands.writes)]
    return [
        launch
        for number, formula in enumerate(formulas)
        for launch in call.writing(number, formula).bind(backend)
    ]
