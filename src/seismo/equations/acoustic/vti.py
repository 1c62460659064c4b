"""Acoustic waves in transversely isotropic rock whose axis is vertical; density is constant.

p and r are the horizontal and the vertical pressure of an elastic medium without S velocity along
its axis (Duveneck & Bakker 2011), second order in time (Zhang, Zhang & Zhang 2011)::

    d2p/dt2 = vp^2 [ (1 + 2 epsilon) H p + sqrt(1 + 2 delta) Z r ],   H = d2/dx2 + d2/dy2
    d2r/dt2 = vp^2 [ sqrt(1 + 2 delta) H p + Z r ],                   Z = d2/dz2

with vp along the axis and Thomsen's (1986) epsilon and delta. With w = k (root H p + Z r), and all
at t = n dt on the nodes::

    p(n+1) = 2 p(n) - p(n-1) + root w + rest H p,    r(n+1) = 2 r(n) - r(n-1) + w

p, r [Pa], k = vp^2 dt^2 [m^2], root = sqrt(1 + 2 delta), rest = 2 (epsilon - delta) k [m^2]. So
the matrix of the right side is k (root, 1)^T (root, 1) + rest (1, 0)^T (1, 0), positive however its
numbers are rounded, and diag(H, Z) is negative: nothing grows if epsilon >= delta. Where they are
equal p = root r, and wavefronts are ellipses; where both are 0 this is `acoustic`.

Pressure is the mean stress. A source of volume, `pressure`, adds to strains with the weights of
pressure receivers, hence reciprocity; an explosion adds to both stresses.

Where epsilon > delta sources also send waves of the second kind, S waves as it were: slow, the
slowest of them shorter than any grid resolves. They are part of these equations. None come from
where epsilon = delta, as in water.

Rock that attenuates, where the model gives qp besides, has the same equations and fields. All
moduli relax alike, so that Q is qp in all directions. What is remembered is H p, `across`, and Z r,
`along`, at t = n dt (`seismo.equations.acoustic.constant_density`): with the memory xi of either,

    H p - sum Y_l xi^l,    Z r - sum Y_l xi^l

stand in their places. `y` is the number of the loss of vp^2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter

import numpy as np

from seismo.equations.framework.declaration import Equation, StoredEnergy
from seismo.equations.framework.memory_variables import (
    UNKNOWN,
    loss,
    pressures_with_loss,
    remember,
)
from seismo.equations.framework.parameters import (
    DELTA,
    EPSILON,
    QP,
    VP,
    Condition,
)
from seismo.equations.framework.table import (
    Field,
    Physics,
    SourceTerm,
    Stage,
    Term,
)
from seismo.equations.rock.relaxation import Relaxation
from seismo.equations.rock.slow_waves import SlowWaves

CURVATURES = ("across", "along")  # the axis of the rock: strains that are remembered


def differentiated(axis: str) -> str:
    """Name the field whose second derivative along an axis drives both."""
    return "r" if axis == "z" else "p"


def flux(cell):
    """Update the fluxes dp/dx, dp/dy and dr/dz of the absorbing layers."""
    for a in cell.axes:
        cell.flux(a, differentiated(a))


def pressures(cell):
    """p(n+1) = 2 p(n) - p(n-1) + root w + rest H p, r(n+1) = 2 r(n) - r(n-1) + w."""
    before = present(cell)
    advance(cell, before, *curvatures(cell))


def lossy_pressures(cell):
    """Advance both pressures by H p and Z r less loss."""
    advance_with_loss(cell, curvatures)


def advance_with_loss(cell, curvatures: Callable) -> None:
    """Advance both pressures by curvatures(cell) across and along the axis, less loss."""
    # H p and Z r, each less sum Y_l xi^l of its own memory.
    before = present(cell)
    y = cell["y"]
    rates = dict(zip(CURVATURES, curvatures(cell), strict=True))
    memory = remember(cell, rates)
    advance(cell, before, *(rate - loss(cell, "p", y, memory[n]) for n, rate in rates.items()))


def present(cell):
    """Return p, r, their previous values, k, root and rest; before layers store their memory."""
    return [cell[name] for name in ("p", "r", "p_old", "r_old", "k", "root", "rest")]


def curvatures(cell):
    """Return H p and Z r."""
    # H p = d2p/dx2 + d2p/dy2, Z r = d2r/dz2
    second = {a: cell.dd(a, differentiated(a)) for a in cell.axes}
    return cell.sum(second[a] for a in cell.axes if a != "z"), second["z"]


def advance(cell, before, across, along):
    """Add w = k (root across + along) to both pressures, and rest across to p."""
    p, r, past_p, past_r, k, root, rest = before
    # The symmetric part w, common to both equations.
    w = k * (root * across + along)
    # Leapfrog of both pressures, overwriting the previous step's.
    cell.put("p_old", 2.0 * p - past_p + root * w + rest * across)
    cell.put("r_old", 2.0 * r - past_r + w)


def coefficients(medium: dict, dt: float) -> dict:
    """Return k [m^2], root and rest [m^2] from `vp` [m/s], `delta` and `anellipticity` [m^2/s^2].

    A wave of horizontal slowness q crosses thin layers as it does the mean of

        (1 - vp^2 (1 + 2 epsilon) q^2) / (vp^2 (1 - 2 vp^2 (epsilon - delta) q^2))
          = 1 / vp^2 - (1 + 2 delta) q^2 - 2 vp^2 (epsilon - delta) (1 + 2 delta) q^4 - ...

    so that these three are averaged, the last by the name of anellipticity. Sharp averages of
    layers reach beyond the values on either side (`seismo.model.effective.column`), but not below 0
    here.
    """
    # k = vp^2 dt^2, root = sqrt(1 + 2 delta), rest = 2 (epsilon - delta) k.
    k = (medium["vp"] * dt) ** 2
    square = 1.0 + 2.0 * medium["delta"]
    # Anellipticity is vp^2 (epsilon - delta)(1 + 2 delta): divided by the last factor.
    rest = 2.0 * np.maximum(medium["anellipticity"], 0.0) / square * dt**2
    return {"k": k, "root": np.sqrt(square), "rest": rest}


def horizontal_velocity(samples: dict) -> np.ndarray:
    """Return vp sqrt(1 + 2 epsilon) [m/s], that of the fastest wave."""
    return samples["vp"] * np.sqrt(1.0 + 2.0 * samples["epsilon"])


def _volume(share: float, mean, dt: float):
    """Return a volume source's factor for p [m^2]."""
    return mean("root") * _volume_down(share, mean, dt) + share * mean("rest")


def _volume_down(share: float, mean, dt: float):
    """Return a volume source's factor for r [m^2]; `share` of it is horizontal."""
    return mean("k") * (share * mean("root") + 1.0 - share)


def _moment(mean, dt: float) -> float:
    return dt**2


BEHIND_P = Condition(
    lambda samples: samples["epsilon"] <= samples["delta"],
    ("epsilon", "delta"),
    "behind P it sends slow waves of S kind, which rock does not have (epsilon 0.2 and "
    "delta 0.1: 2 % of P between the axes, as much as P and more along them and across them, "
    "the more the finer the grid); isotropic_source: auto adds a sphere of half a wavelength "
    "about it with delta = epsilon, which leaves 1.5 % and changes P by 3 to 6 %",
)
STABLE = Condition(
    lambda samples: samples["epsilon"] >= samples["delta"],
    ("epsilon", "delta"),
    "waves would grow where epsilon is less than delta: raise epsilon, or lower delta, "
    "or use physics: elastic",
)


def tables(axes: str, options: None) -> Physics:
    """Return the table along `axes`."""
    share = 1.0 - 1.0 / len(axes)  # of the mean stress that p has
    now = ("p", "r")
    before = ("p_old", "r_old")
    return Physics(
        axes=axes,
        fields=(
            # Two levels of both pressures, which change places after each step.
            *(Field(name, "", "Pa") for name in now),
            *(
                Field(old, "", "Pa", previous_of=name)
                for name, old in zip(now, before, strict=True)
            ),
        ),
        stages=(
            # PML: fluxes are updated before their derivatives.
            Stage("flux", (), now, (), flux, where="layer"),
            Stage("pressure", before, now, ("k", "root", "rest"), pressures, shares="flux"),
        ),
        coefficients=coefficients,
        medium=("vp", "delta", "anellipticity"),
        # Mean stress: p counts for each horizontal axis, r for z.
        observables={"pressure": {"pressure": (Term("p", share), Term("r", 1.0 - share))}},
        # s acts as in `acoustic`, and so does the moment of an explosion.
        drives={
            "pressure": (
                SourceTerm("p", "", partial(_volume, share)),
                SourceTerm("r", "", partial(_volume_down, share)),
            ),
            "explosion": tuple(SourceTerm(name, "", _moment, derivative=2) for name in now),
        },
        derived={"horizontal": horizontal_velocity},
        # Fastest wave: vp sqrt(1 + 2 epsilon) along the layers, vp along the axis.
        fastest=lambda extremes: max(extremes.vp_max, extremes.others["horizontal"][1]),
        fastest_along=dict.fromkeys(axes[:-1], lambda extremes: extremes.others["horizontal"][1])
        | {"z": attrgetter("vp_max")},
        about_sources=(BEHIND_P,),
        slow_waves=SlowWaves(lambda medium, dimensions: np.eye(dimensions)[-1]),
        smooth_across_layers=True,
        conditions=(STABLE,),
    )


def with_loss(plain: Physics, update: Callable, options: Relaxation | None) -> Physics:
    """Return the table of two pressures with loss, of that without, and the update of both."""
    # A source of volume is a strain rate of both kinds, as the mean stress weighs them.
    share = 1.0 - 1.0 / len(plain.axes)  # of the mean stress that p has
    rates = (lambda mean, dt: share, lambda mean, dt: 1.0 - share)
    sources = {"pressure": list(zip(CURVATURES, rates, strict=True))}
    return pressures_with_loss(plain, options or UNKNOWN, update, "y_vp", sources)


def lossy_tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table of rock that attenuates along `axes`."""
    return with_loss(tables(axes, None), lossy_pressures, options)


def _stored(mean) -> dict:
    k, root, rest = (mean(name) for name in ("k", "root", "rest"))
    # r^2 / k + (p - root r)^2 / rest, conserved as p^2 / k is in `acoustic`. Where delta = epsilon
    # p is root r, and r^2 / k is all.
    differs = rest > 0.0
    inverse = np.where(differs, 1.0 / np.where(differs, rest, 1.0), 0.0)
    mixed = -root * inverse
    return {
        ("p", "p"): inverse, ("p", "r"): mixed, ("r", "p"): mixed,
        ("r", "r"): 1.0 / k - root * mixed,
    }  # fmt: skip


def _response(mean) -> dict:
    k, root, rest = (mean(name) for name in ("k", "root", "rest"))
    # What H p and Z r add to p and r in a step.
    mixed = root * k
    return {
        ("p", "p"): root * mixed + rest, ("p", "r"): mixed, ("r", "p"): mixed, ("r", "r"): k,
    }  # fmt: skip


def energy(axes: str) -> tuple[StoredEnergy, ...]:
    """Return the energy of both pressures."""
    return (StoredEnergy("", _stored, _response),)


EQUATION = Equation(
    name="acoustic_vti",
    parameters=(VP, EPSILON, DELTA),
    tables=tables,
    extends="acoustic",
    energy=energy,
    nanoseconds={"cpu": {2: 1.3, 3: 2.9}},
    bandwidth_share={"gpu": {2: 0.78, 3: 1.0}},
)
LOSSY = EQUATION.attenuating(
    "viscoacoustic_vti", lossy_tables, QP, nanoseconds={"cpu": {2: 2.9, 3: 7.4}}
)
