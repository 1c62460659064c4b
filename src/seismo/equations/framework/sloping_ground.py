"""Free surface of ground that slopes: formulas and tables that equations have there.

What slopes add to derivatives stands in fields of its own (`with_slopes`).

**Elastic waves.** The normal traction on row 0 vanishes. The traction across a surface
z = s + f(x, y) B is, with a = f_x, b = f_y, at its nodes::

    T = szz - a Px' P0' sxz - b Py' P0' syz,

P0' being row 0 of the interpolation from half points to nodes along z. Differences do not tell
d_z vz at the surface: it is the rate e that makes T vanish. It adds c33 / g e to szz, c13 / g
e to the others, and takes mu / g P0 Px(a e) from sxz in the rows that P0, the column of the surface
in the interpolation to half points, reaches (and so syz). With w = sum of P0' P0 mu / g::

    A e = -T,    A = c33 / g + a Px' w_x Px a + b Py' w_y Py b,

which is symmetric, positive and nearly diagonal, and is solved by a fixed number of Jacobi's
iterations: local, and the same for every cut of the grid. T is that of the stress, not of its rate,
so that the next step removes the residual. The horizontal tractions vanish by the closed
differences. Energy is constant, whatever the medium (the forces are the adjoint of the strains).

Planes, with a number for each column: `surface_c33` is c33 / g, `surface_x`, `surface_y` are w_x,
w_y, `surface_diagonal` the diagonal of A.

**Acoustic waves.** The pressure vanishes on the row that follows the ground. Over flat ground the
free surface is an image, the pressure with the other sign. Where rows follow
the ground nothing stands above them: differences are closed as for elastic waves, and p is
set to 0 on row 0. With Gp the gradient of p (`seismo.features.topography.differences`), and div its
negative adjoint in the norms N of nodes and H of half points, g the height of cells::

    rho dv/dt = -Gp p,    dp/dt = -kappa div v,    p = 0 on row 0
    E = sum N g p^2 / (2 kappa) + sum H g rho v^2 / 2,    dE/dt = 0

whatever the ground and the medium: row 0 would add p dp/dt / kappa alone, which is 0. Forces take
no part in the balance beside the surface, and no system has to be solved there.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from seismo.equations.framework.formula import (
    half_of_derivative,
    is_slope_name,
    slope_name,
    sloping,
)
from seismo.equations.framework.table import (
    Field,
    Physics,
    Stage,
)

RESIDUALS = {"float32": 1e-7, "float64": 1e-15}  # of the traction, which the iterations leave
# Jacobi's spectral radius on a dip of 45 degrees, at most, in rock of c44 = c33 / 3: with four or
# eight points to an interpolation.
RADIUS = 0.15
MOST_RADIUS = 0.7
TRACTION = "surface_traction"
TO_SURFACE = "to_surface_{}"  # numbers: row 0 of the interpolation to nodes
RATES = ("surface_rate_0", "surface_rate_1")  # e, before and after an iteration, by turns
PLANES = ("surface_c33", "surface_diagonal", "surface_x", "surface_y")


def iterations(steepest: float, shear: float, residual: float) -> int:
    """Return how many of Jacobi's iterations leave a residual.

    Args:
        steepest: tangent of the steepest dip.
        shear: the largest c44 / c33 at the surface.
        residual: share of the traction.
    """
    # Of A without its diagonal, which grows with a^2 c44 / c33: RADIUS at 1/3.
    radius = RADIUS * 3.0 * shear * steepest**2
    if radius == 0.0:
        return 1
    wanted = math.ceil(math.log(residual) / math.log(min(radius, MOST_RADIUS)))
    return wanted | 1  # odd, so that the last writes to the same array as the first


def with_slopes(physics: Physics) -> Physics:
    """Return the table of a wave equation with stages for the slopes' contributions."""
    stages = list[Stage]()
    fields = list[Field]()
    for stage in physics.stages:
        names = tuple(slope_name(sums) for sums in physics.formula(stage, False).across)
        for number, name in enumerate(names):
            axis, field = sloping(name)[0]
            half = half_of_derivative(physics.named(field).half, axis)
            unit = physics.named(field).unit
            fields.append(Field(name, half, unit, slope=True, buffer=number))
        if names:
            read = tuple(dict.fromkeys(field for name in names for _, field in sloping(name)))
            stages.append(Stage(f"{stage.name} slopes", names, read, (), slopes, where="curved"))
        stages.append(replace(stage, slopes=names))
    return replace(physics, fields=(*physics.fields, *fields), stages=tuple(stages))


def slopes(cell):
    """H of each derivative along x or y, by its name (`seismo.backends.operators.cell`)."""
    for name in cell.fields:
        if is_slope_name(name):
            cell.put(name, cell.curved.sloped(name))


def on_ground(physics: Physics, count: int, to_surface: np.ndarray) -> Physics:
    """Return the table of a wave equation with this surface.

    Args:
        physics: the table over flat ground.
        count: of iterations, odd.
        to_surface: row 0 of the interpolation from half points to nodes.
    """
    surface = physics.curved_surface
    assert surface is not None  # other tables only have slopes
    fields = tuple(
        Field(name, "", unit, slope=True, on_surface=True)
        for name, unit in ((TRACTION, "Pa"), *((rate, "1/s") for rate in RATES))
    )
    # Traction, Jacobi's iterations, then e in szz, the other stresses, and the shear ones.
    shear = tuple(f"s{a}z" for a in physics.axes[:-1])
    stages = []
    for stage in physics.stages:
        if stage.where != "surface":
            stages.append(stage)
            continue
        stages.append(Stage("traction", (TRACTION, RATES[1]), ("szz", *shear), (), traction,
                            where="surface"))  # fmt: skip
        stages += [
            Stage(f"iteration {n}", (RATES[1 - n % 2],), (RATES[n % 2], TRACTION), (),
                  iterate_to_0 if n % 2 else iterate_to_1, where="surface")
            for n in range(1, count)
        ]  # fmt: skip
        stages += [
            Stage("normal traction", ("szz", TRACTION), (RATES[1],), (), normal, where="surface"),
            stage,
            Stage("restored", ("szz",), (TRACTION,), (), restored, where="surface"),
            Stage("shear traction", (*shear, *surface.remembers), (RATES[1],),
                  surface.coefficients, surface.shear, where="closed"),
        ]  # fmt: skip
    numbers = {TO_SURFACE.format(k): float(weight) for k, weight in enumerate(to_surface)}
    return replace(
        physics, fields=(*physics.fields, *fields), stages=tuple(stages),
        numbers={**physics.numbers, **numbers},
    )  # fmt: skip


def traction(cell):
    """T = szz - a Px' P0' sxz - b Py' P0' syz, and e = -T / diagonal, the first iteration."""
    weights = [cell.number(name) for name in cell.numbers if name.startswith(TO_SURFACE[:-2])]
    excess = cell["szz"]
    for a in cell.axes[:-1]:
        # a Px' P0' s_az
        on_nodes = cell.curved.above(a, f"s{a}z", weights)
        excess = excess - cell.curved.plane(f"ground_{a}_") * on_nodes
    cell.put(TRACTION, excess)
    cell.put(RATES[1], -1.0 / cell.curved.plane("surface_diagonal") * excess)


def _iterate(cell, old: str, new: str) -> None:
    """e_new = e - (T + A e) / diagonal."""
    rate = cell[old]
    unbalanced = cell[TRACTION] + cell.curved.plane("surface_c33") * rate
    for a in cell.axes[:-1]:
        # a Px' w Px a e
        through = cell.curved.through(a, old, f"ground_{a}_", f"surface_{a}")
        unbalanced = unbalanced + cell.curved.plane(f"ground_{a}_") * through
    cell.put(new, rate - unbalanced / cell.curved.plane("surface_diagonal"))


def iterate_to_0(cell):
    """Iterate from the second rate to the first."""
    _iterate(cell, RATES[1], RATES[0])


def iterate_to_1(cell):
    """Iterate from the first rate to the second."""
    _iterate(cell, RATES[0], RATES[1])


def normal(cell):
    """Store szz + c33 / g e, and set szz to the value that the surface formula needs."""
    added = cell.curved.plane("surface_c33") * cell[RATES[1]]
    cell.put(TRACTION, cell["szz"] + added)
    cell.put("szz", -1.0 * added)


def restored(cell):
    """Return szz, which balances the shear tractions."""
    cell.put("szz", cell[TRACTION])


def shear_rate(cell, a: str):
    """Return P0 Px(a e) / g: the contribution of half the surface's rate to the strain of s_az."""
    between = cell.curved.between(a, RATES[1], f"ground_{a}_")
    return cell.curved.of_surface * between / cell.curved.height("".join(sorted(a + "z")))


def surface(cell):
    """P = 0, as a number of the lane's kind."""
    pressure = cell["p"]
    cell.put("p", pressure - pressure)


def with_pressure_surface(flat: Physics, options: Any = None) -> Physics:
    """Return the table under ground that slopes from that over flat ground, of first order in time.

    `options`: of the equation, which change nothing here.
    """
    return replace(
        flat,
        fields=tuple(replace(f, vanishes=f.name == "p") for f in flat.fields),
        stages=(*flat.stages, Stage("surface", ("p",), (), (), surface, where="surface")),
        gradients=("p",),
    )
