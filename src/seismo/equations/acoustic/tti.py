"""Acoustic waves in transversely isotropic rock whose axis is tilted; density is constant.

`seismo.equations.acoustic.vti` about an axis n that may change from point to point, in the
self-adjoint form of Zhang, Zhang & Zhang (2011, Geophysics 76, WA3)::

    d2p/dt2 = vp^2 [ (1 + 2 epsilon) H p + sqrt(1 + 2 delta) N r ]
    d2r/dt2 = vp^2 [ sqrt(1 + 2 delta) H p + N r ]

    N = div n n . grad,    H = laplacian - N,    n = (n_x, n_y, n_z)

p, r [Pa] are the stresses across and along the axis. Two stages: the slopes along the axis, all on
the nodes at t = n dt, and the pressures::

    p_n = n . grad p,    r_n = n . grad r                                 [Pa/m]
    N p = d_a (n_a p_n),    N r = d_a (n_a r_n),    H p = (xx + yy + zz) p - N p

with w = k (root H p + N r), and k, root, rest of `acoustic_vti`::

    p(n+1) = 2 p(n) - p(n-1) + root w + rest H p,    r(n+1) = 2 r(n) - r(n-1) + w

First differences are centred on the nodes, so that N is minus the square of the operator of p_n.
The Laplacian is that of second differences, which is at least as large for every wavenumber
(`seismo.grid.coefficients.centred_first`) and |n| <= 1: N and H are symmetric and negative however
n varies between points, and nothing grows if epsilon >= delta. Where the axis is upright all over,
`acoustic_vti` takes its place, whose differences along z are compact.

Beside waves of the first kind there are slow ones (`acoustic_vti`); in absorbing layers, where the
axis is oblique, these would grow. Layers therefore have delta = epsilon, with which there are none:
the medium turns to that over the first points of a layer, which damp nothing.

Both p and r are continuous where the axis is oblique to a contact. Stresses at a contact of unlike
epsilon or delta are continuous only with slow waves, which become shorter on finer grids: these
parameters should change over several points.

Rock that attenuates remembers the curvatures H p and N r, as that of `acoustic_vti` does; slopes
along the axis remember nothing. In absorbing layers it keeps its Q.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from seismo.equations.acoustic import vti as acoustic_vti
from seismo.equations.framework.declaration import Collar, Equation
from seismo.equations.framework.parameters import (
    DELTA,
    EPSILON,
    PHI,
    QP,
    THETA,
    VP,
    Gradual,
)
from seismo.equations.framework.table import (
    Field,
    Physics,
    Stage,
)
from seismo.equations.rock.elastic_constants import axis_of
from seismo.equations.rock.relaxation import Relaxation
from seismo.equations.rock.slow_waves import SlowWaves

COLLAR_POINTS = 16
SLOW_WAVES = (
    "behind P it sends slow waves of S kind, which rock does not have (epsilon 0.2, delta 0.1: "
    "half of P along the axis at 20 points per wavelength, 1.5 times P at 40; 8 and 19 % between "
    "the axes); isotropic_source: auto adds a sphere of half a wavelength about it with delta = "
    "epsilon, which leaves none and changes P by 3 to 7 %"
)
SUDDEN = Gradual(
    ("epsilon", "delta"),
    0.03,
    "where the axis is tilted a sudden change turns P into slow waves, 0.3 to 3 % of the traces "
    "for 0.15, the more the finer the grid: let epsilon and delta change over a quarter of a "
    "wavelength, which leaves 0.02 to 0.5 %",
)
# Of the length of n, so that its rounded square is no more than 1.
_LENGTH = 1.0 - 1e-6


def slopes(cell):
    """p_n = n_x dp/dx + n_y dp/dy + n_z dp/dz, and r_n alike."""
    for name in "pr":
        # Slope along the axis: n . grad, of p and of r.
        cell.put(f"{name}_n", cell.sum(cell[f"n_{a}"] * cell.centred(a, name) for a in cell.axes))


def flux(cell):
    """Update the fluxes dp/dx, dp/dy and dp/dz of the absorbing layers."""
    for a in cell.axes:
        cell.flux(a, "p")


def pressures(cell):
    """p(n+1) = 2 p(n) - p(n-1) + root w + rest H p, r(n+1) = 2 r(n) - r(n-1) + w."""
    before = acoustic_vti.present(cell)
    acoustic_vti.advance(cell, before, *curvatures(cell))


def lossy_pressures(cell):
    """Advance both pressures by H p and N r less loss."""
    acoustic_vti.advance_with_loss(cell, curvatures)


def curvatures(cell):
    """Return H p and N r."""
    laplacian = cell.sum(cell.dd(a, "p") for a in cell.axes)
    # N p and N r
    along_p, along_r = (
        cell.sum(cell.centred(a, f"{name}_n", of=f"n_{a}") for a in cell.axes) for name in "pr"
    )
    # H p = (laplacian - N) p
    return laplacian - along_p, along_r


def coefficients(medium: dict, dt: float) -> dict:
    """Return the coefficients of `acoustic_vti`, and n of the mean axis."""
    axes = {name: medium[name] for name in medium if name.startswith("axis_")}
    n = {f"n_{name[-1]}": _LENGTH * component for name, component in axes.items()}
    return acoustic_vti.coefficients(medium, dt) | n


def elliptic(coefficients: dict, share: np.ndarray) -> dict:
    """Return coefficients with delta moved by a share (0 to 1) of the way to epsilon.

    root^2 + rest / k is 1 + 2 epsilon, which stays.
    """
    k, root, rest = (coefficients[name] for name in ("k", "root", "rest"))
    kept = {name: value + 0.0 * share for name, value in coefficients.items()}
    # 1 + 2 epsilon = root^2 + rest / k is kept while delta moves to epsilon.
    return kept | {"root": np.sqrt(root**2 + share * rest / k), "rest": (1.0 - share) * rest}


def axis(medium: Mapping[str, float], dimensions: int) -> np.ndarray:
    """Return the axis of a rock along the axes of the grid."""
    n = axis_of(medium["theta"], medium["phi"])
    return np.array([n[a] for a in ("xyz" if dimensions == 3 else "xz")])


def tables(axes: str, options: None) -> Physics:
    """Return the table along `axes`."""
    upright = acoustic_vti.tables(axes, options)
    now = ("p", "r")
    before = ("p_old", "r_old")
    along = ("p_n", "r_n")
    n = tuple(f"n_{a}" for a in axes)
    return replace(
        upright,
        # p_n and r_n are new in every step: they have no past.
        fields=(*upright.fields, *(Field(name, "", "Pa/m", slope=True) for name in along)),
        stages=(
            # Order of a step: slopes p_n and r_n, PML fluxes, then pressures.
            Stage("axis", along, now, n, slopes),
            Stage("flux", (), ("p",), (), flux, where="layer"),
            Stage(
                "pressure", before, (*now, *along), ("k", "root", "rest", *n), pressures,
                shares="flux",
            ),
        ),
        coefficients=coefficients,
        medium=(*upright.medium, *(f"axis_{a}" for a in axes)),
        fastest_along={},
        about_sources=tuple(replace(c, problem=SLOW_WAVES) for c in upright.about_sources),
        slow_waves=SlowWaves(axis, spread=True),
        broad_sources=True,
        gradual=SUDDEN,
    )  # fmt: skip


def lossy_tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table of rock that attenuates along `axes`."""
    return acoustic_vti.with_loss(tables(axes, None), lossy_pressures, options)


EQUATION = Equation(
    name="acoustic_tti",
    parameters=(VP, EPSILON, DELTA, THETA, PHI),
    tables=tables,
    extends="acoustic",
    nanoseconds={"cpu": {2: 4.3, 3: 13.5}},
    bandwidth_share={"gpu": {3: 0.93}},
    energy=acoustic_vti.energy,
    beside_layers=Collar(COLLAR_POINTS, elliptic),
)
LOSSY = EQUATION.attenuating(
    "viscoacoustic_tti", lossy_tables, QP, nanoseconds={"cpu": {2: 6.2, 3: 19.0}}
)
