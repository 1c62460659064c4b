"""Acoustic waves of variable density: pressure and particle velocity, first order in time.

    rho dv/dt = -grad p,    dp/dt = -kappa div v

p [Pa] stands on the nodes at t = n dt, vx vy vz [m/s] half a cell further along their axis, half a
step later (Virieux 1986 for fluids). `kappa` = rho vp^2 dt [Pa s], `rho` / dt [kg/(m^3 s)]; the
density at a velocity is the mean of its two nodes (Moczo et al. 2002).

Planes z with cells that a contact cuts have a density for each component, where it stands: `rho_x`,
`rho_y`, `rho_z` (`seismo.model.effective.density`). These are kept for such planes only, and stand
`packed` numbers earlier.

Rock that attenuates, where the model gives qp, has the same grid and density
(`seismo.equations.framework.memory_variables`)::

    dp/dt = -kappa (div v less what its memory lacks)

On the nodes stand unrelaxed `kappa` dt and the number `y` of its loss.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import numpy as np

from seismo.equations.framework.declaration import (
    Equation,
    LayeredWaves,
    StoredEnergy,
)
from seismo.equations.framework.memory_variables import (
    UNKNOWN,
    lasting,
    lossless,
    pressures_with_loss,
)
from seismo.equations.framework.parameters import QP, RHO, VP
from seismo.equations.framework.sloping_ground import with_pressure_surface
from seismo.equations.framework.table import (
    Field,
    IsotropicPlanes,
    Physics,
    SourceTerm,
    Stage,
    Term,
)
from seismo.equations.rock.relaxation import Relaxation


def masses(cell):
    """Yield each axis with twice the density / dt of the velocity along it, where it stands."""
    # The effective density of each component.
    for a in cell.axes:
        yield a, 2.0 * cell[f"rho_{a}"]


def mean_masses(cell):
    """Yield the same from the two nodes beside a velocity (Moczo et al. 2002)."""
    # `mass` = rho_i + rho_(i+1), twice the mean density / dt.
    rho = cell["rho"]
    for a in cell.axes:
        yield a, rho + cell.next("rho", a)


def velocity(cell):
    """v(n + 1/2) = v(n - 1/2) - dt / rho grad p, with a density for each component."""
    for a, mass in masses(cell):
        _accelerate(cell, a, mass)


def isotropic_velocity(cell):
    """The same with the mean density of two nodes."""
    for a, mass in mean_masses(cell):
        _accelerate(cell, a, mass)


def _accelerate(cell, a: str, mass) -> None:
    """v_a -= 2 / mass dp/da."""
    # rho dv/dt = -grad p
    cell.put(f"v{a}", cell[f"v{a}"] - 2.0 / mass * cell.d(a, "p"))


def pressure(cell):
    """p(n + 1) = p(n) - kappa dt div v."""
    _expand(cell, lossless)


def lossy_pressure(cell):
    """p(n + 1) = p(n) - kappa dt (div v - sum Y_l xi^l)."""
    _expand(cell, lasting)


def _expand(cell, less_loss: Callable) -> None:
    # dp/dt = -kappa div v
    divergence = less_loss(cell, "volume", cell.total(*((a, f"v{a}") for a in cell.axes)))
    cell.put("p", cell["p"] - cell["kappa"] * divergence)


def coefficients(medium: dict, dt: float) -> dict:
    """Return the densities / dt [kg/m^3] and `kappa` dt from `p_modulus` [Pa]."""
    return inertia(medium, dt) | {"kappa": medium["p_modulus"] * dt}


def inertia(medium: dict, dt: float) -> dict:
    """Return the densities `rho` and of the components, / dt [kg/m^3]."""
    return {name: densities / dt for name, densities in medium.items() if name.startswith("rho")}


def one_density(medium: dict) -> np.ndarray:
    """Return where no fluids of unlike density share a cell: <rho> is 1 / <1 / rho>."""
    # Fluids of unlike density: arithmetic mean along a contact, harmonic across it.
    solid = np.isnan(medium["rho_x"])
    return solid | np.isclose(medium["rho"], medium["rho_x"], rtol=1e-9, atol=0.0)


def even_density(formula: Callable) -> IsotropicPlanes:
    """Return the density in planes without contacts of unlike fluids, from `rho`."""
    return IsotropicPlanes(
        formula, ("rho",), one_density, attrgetter("fluids_alike"), ("rho_x",), True
    )


def lightness(mean: Callable, dt: float) -> np.ndarray:
    """Return a force's factor for the velocity along it: dt / rho [m^3/kg s]."""
    return 1 / mean("rho", of_component=True)


def drives(axes: str) -> dict:
    """Name the sources.

    s of (1/c^2) p_tt - lap p = s; q of p_t / (rho c^2) + div v = q; an explosion's moment; a force.
    """
    return {
        # Source s of the wave equation: p grows by c^2 times the integral of s.
        "pressure": (
            SourceTerm("p", "", lambda mean, dt: mean("kappa") / (mean("rho") * dt), derivative=-1),
        ),
        # dp/dt = kappa q / cell volume
        "volume_rate": (SourceTerm("p", "", lambda mean, dt: mean("kappa")),),
        # dp/dt = dM/dt / cell volume
        "explosion": (SourceTerm("p", "", lambda mean, dt: dt, derivative=1),),
        "force": tuple(SourceTerm(f"v{a}", a, lightness) for a in axes),
    }


def tables(axes: str, options: None) -> Physics:
    """Return the table along `axes`."""
    v = tuple(f"v{a}" for a in axes)
    densities = tuple(f"rho_{a}" for a in axes)
    even = even_density(isotropic_velocity)
    return Physics(
        axes=axes,
        # Staggering: p on the nodes, v_a half a cell along a.
        fields=(Field("p", "", "Pa"), *(Field(f"v{a}", a, "m/s") for a in axes)),
        stages=(
            # Leapfrog: velocities at n + 1/2 from p(n), p(n + 1) from them.
            Stage("velocity", v, ("p",), densities, velocity, even=even),
            Stage("pressure", ("p",), v, ("kappa",), pressure),
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


def lossy_tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table of rock that attenuates along `axes`."""
    # Volume that comes out of a point is a strain of the fluid, and drives its memory, too.
    sources = {
        "pressure": [("volume", lambda mean, dt: -1.0 / (mean("rho") * dt))],
        "volume_rate": [("volume", lambda mean, dt: -1.0)],
    }
    return pressures_with_loss(
        tables(axes, None), options or UNKNOWN, lossy_pressure, "y_p_modulus", sources
    )


def energy(axes: str) -> tuple[StoredEnergy, ...]:
    """Return the energy of the pressure, p^2 / kappa."""
    return (StoredEnergy("", lambda mean: {("p", "p"): 1.0 / mean("kappa")}),)


def _moduli(rho: np.ndarray, bulk: np.ndarray) -> tuple[np.ndarray, ...]:
    return bulk, bulk, bulk, np.zeros_like(bulk), rho, rho


LAYERED = LayeredWaves(
    averages=("rho", "p_modulus"),
    medium=lambda vp, rho: (vp, 0.0, rho),
    parameters=lambda vp, vs, rho: (vp, rho),
    moduli=_moduli,
)
EQUATION = Equation(
    name="acoustic_variable_density",
    parameters=(VP, RHO),
    tables=tables,
    nanoseconds={"cpu": {2: 1.4, 3: 2.6}},
    bandwidth_share={"gpu": {2: 0.68, 3: 0.88}},
    layered=LAYERED,
    energy=energy,
    sloping=with_pressure_surface,
)
LOSSY = EQUATION.attenuating(
    "viscoacoustic_variable_density",
    lossy_tables,
    QP,
    nanoseconds={"cpu": {2: 2.2, 3: 4.4}},
    bandwidth_share={"gpu": {2: 0.68, 3: 0.95}},
)
