"""Acoustic waves under ground that slopes: the pressure vanishes on the row that follows it.

Over flat ground the free surface is an image, the pressure with the other sign. Where rows follow
the ground nothing stands above them: differences are closed as those of elastic waves are, and p is
set to 0 on row 0. With Gp the gradient of p (`seismo.features.topography.row_weights`), and div its
negative adjoint in the norms N of nodes and H of half points, g the height of cells::

    rho dv/dt = -Gp p,    dp/dt = -kappa div v,    p = 0 on row 0
    E = sum N g p^2 / (2 kappa) + sum H g rho v^2 / 2,    dE/dt = 0

whatever the ground and the medium: row 0 would add p dp/dt / kappa alone, which is 0. Forces take
no part in the balance beside the surface, and no system has to be solved there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from seismo.equations.framework.table import Physics, Stage


def surface(cell):
    """P = 0, as a number of the lane's kind."""
    pressure = cell["p"]
    cell.put("p", pressure - pressure)


def sloping(flat: Physics, options: Any = None) -> Physics:
    """Return the table under ground that slopes from that over flat ground, of first order in time.

    `options`: of the equation, which change nothing here.
    """
    return replace(
        flat,
        fields=tuple(replace(f, vanishes=f.name == "p") for f in flat.fields),
        stages=(*flat.stages, Stage("surface", ("p",), (), (), surface, where="surface")),
        gradients=("p",),
    )
