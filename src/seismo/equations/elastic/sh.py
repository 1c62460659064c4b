"""Elastic SH waves in 2-D: vy and the two shear stresses that drive it.

    rho dvy/dt = d_x sxy + d_z syz,    dsxy/dt = mu d_x vy,    dsyz/dt = mu d_z vy

vy [m/s] stands on the nodes, half a step later than sxy, syz [Pa], which stand half a cell further
along x and z (Moczo 1989). `rho` / dt, `q_xy` = 1 / (mu_xy dt) and `q` = 1 / (mu_yz dt) on the
nodes; mu of a stress is the harmonic mean of its two nodes.

The rock is isotropic; a cell that a contact cuts has a modulus for each stress: moduli add up along
it, compliances across it (`seismo.model.effective.averaging`). `even` formulas, of planes that no
contact cuts, read `q` only; `q_xy` is kept for the other planes alone, and stands `packed` numbers
earlier.

**VTI rock** has the same equations, fields and formulas, with the moduli

    dsxy/dt = c66 d_x vy,    dsyz/dt = c44 d_z vy,    c44 = rho vs^2,  c66 = c44 (1 + 2 gamma)

where vs is that along the axis (Thomsen 1986); c44 and c66 may be given, too, of any rock whose
motion along y is not coupled to other motion in the plane of x and z. Wavefronts are ellipses.
Planes z of isotropic rock alone keep a single modulus, all others both.

**Rock that attenuates**, where the model gives qs, has the same grid, density and effective media
(`seismo.equations.framework.memory_variables`)::

    ds/dt = mu (d vy less its memory)

On the nodes stand unrelaxed `q_xy` and `q`, and `qy_xy`, `qy`: these times the numbers y of the
moduli. c66 and c44 of VTI rock both relax with the weights of S waves: the quality factor is qs in
all directions.
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

import numpy as np

from seismo.equations.elastic.isotropic import FLUID_Q
from seismo.equations.framework.declaration import (
    Equation,
    LayeredWaves,
    StoredEnergy,
)
from seismo.equations.framework.memory_variables import (
    UNKNOWN,
    loss,
    remember,
    with_loss,
    with_memory,
)
from seismo.equations.framework.parameters import (
    CONSTANTS,
    GAMMA,
    QS,
    RHO,
    VS,
)
from seismo.equations.framework.table import (
    Field,
    IsotropicPlanes,
    Physics,
    SourceTerm,
    Stage,
    Term,
)
from seismo.equations.rock import elastic_constants as constants
from seismo.equations.rock import plane_waves, rock_parameters
from seismo.equations.rock.relaxation import Relaxation


def velocity(cell):
    """Rho dvy/dt = d_x sxy + d_z syz."""
    # vy(n + 1/2) = vy(n - 1/2) + dt / rho (d_x sxy + d_z syz)
    force = cell.d("x", "sxy") + cell.d("z", "syz")
    cell.put("vy", cell["vy"] + force / cell["rho"])


def stress(cell):
    """Hooke's law with a modulus for each stress."""
    # Harmonic means of two nodes: along x of mu_xy, along z of mu_yz.
    _shear(cell, "x", "sxy", cell["q_xy"] + cell.next("q_xy", "x"))
    _shear(cell, "z", "syz", cell["q"] + cell.next("q", "z"))


def isotropic_stress(cell):
    """Hooke's law where both stresses have the same modulus."""
    q = cell["q"]
    _shear(cell, "x", "sxy", q + cell.next("q", "x"))
    _shear(cell, "z", "syz", q + cell.next("q", "z"))


def _shear(cell, a: str, name: str, compliance) -> None:
    """s_ya += mu d_a vy; `compliance` is the sum of 1 / (mu dt) of two nodes."""
    # s(n + 1) = s(n) + mu dt d_a vy(n + 1/2)
    cell.put(name, cell[name] + 2.0 / compliance * cell.d(a, "vy"))


def lossy_stress(cell):
    """Hooke's law with a modulus for each stress, and the memory of both strains."""
    _lossy_shear(cell, "x", "xy", "q_xy", "qy_xy")
    _lossy_shear(cell, "z", "yz", "q", "qy")


def isotropic_lossy_stress(cell):
    """Hooke's law where both stresses have the same modulus, and the memory of both strains."""
    _lossy_shear(cell, "x", "xy", "q", "qy")
    _lossy_shear(cell, "z", "yz", "q", "qy")


def _lossy_shear(cell, a: str, strain: str, q: str, qy: str) -> None:
    """s_ya += mu d_a vy, mu the harmonic mean of two nodes, y weighted with 1/mu."""
    # ds_ya/dt = mu (d_a vy - sum Y_l xi^l)
    rate = cell.d(a, "vy")
    (memory,) = remember(cell, {strain: rate}).values()
    # mu: harmonic mean of two nodes; y: their mean weighted with 1 / mu.
    compliance = cell[q] + cell.next(q, a)
    y = (cell[qy] + cell.next(qy, a)) / compliance
    name = f"s{strain}"
    mu = 2.0 / compliance
    cell.put(name, cell[name] + mu * (rate - loss(cell, "s", y, memory)))


def coefficients(medium: dict, dt: float) -> dict:
    """Return `rho` / dt, `q_xy` and `q` from `rho` [kg/m^3], `mu_xy` and `mu_yz` [Pa]."""
    # mu = 0 of a fluid becomes a mu that is negligible, but no infinity.
    floor = 1.0 / (FLUID_Q * dt)
    return {
        "rho": medium["rho"] / dt,
        "q_xy": 1.0 / (medium["mu_xy"].clip(min=floor) * dt),
        "q": 1.0 / (medium["mu_yz"].clip(min=floor) * dt),
    }


def one_modulus(medium: dict) -> np.ndarray:
    """Return where both stresses have the same modulus."""
    return np.isclose(medium["mu_xy"], medium["mu_yz"], rtol=1e-9, atol=0.0)


def lossy_coefficients(medium: dict, dt: float) -> dict:
    """Return the same, and `qy_xy` and `qy`."""
    named = coefficients(medium, dt)
    # q y: y weighted with 1 / (mu dt), which the formulas average.
    named["qy_xy"] = named["q_xy"] * medium["y_mu_xy"]
    named["qy"] = named["q"] * medium["y_mu_yz"]
    return named


def one_lossy_modulus(medium: dict) -> np.ndarray:
    """Return where both stresses have the same modulus and y."""
    alike = np.isclose(medium["y_mu_xy"], medium["y_mu_yz"], rtol=1e-6, atol=1e-9)
    return one_modulus(medium) & alike


def tables(axes: str, options: None) -> Physics:
    """Return the table in x and z."""
    even = IsotropicPlanes(isotropic_stress, ("q",), one_modulus, attrgetter("uniform"))
    return Physics(
        axes=axes,
        fields=(
            # vy on the nodes; each stress half a cell along its axis (Moczo 1989).
            Field("vy", "", "m/s"),
            Field("sxy", "x", "Pa"),
            Field("syz", "z", "Pa", vanishes=True),
        ),
        stages=(
            # Leapfrog: velocity at n + 1/2 from stresses at n, stresses at n + 1 from it.
            Stage("velocity", ("vy",), ("sxy", "syz"), ("rho",), velocity),
            Stage("stress", ("sxy", "syz"), ("vy",), ("q_xy", "q"), stress, even=even),
        ),
        coefficients=coefficients,
        medium=("rho", "mu_xy", "mu_yz"),
        observables={
            "velocity": {"vy": (Term("vy"),)},
            "stress": {"sxy": (Term("sxy"),), "syz": (Term("syz"),)},
            # de_ay/dt = d_a vy / 2
            "strain_rate": {
                "exy_rate": (Term("vy", 0.5, along="x"),),
                "eyz_rate": (Term("vy", 0.5, along="z"),),
            },
        },
        drives={
            # dvy/dt = F_y / (rho cell area)
            "force": (SourceTerm("vy", "y", lambda mean, dt: 1 / mean("rho")),),
            # ds_ay/dt = -dM_ay/dt / cell area
            "moment_tensor": (
                SourceTerm("sxy", "xy", lambda mean, dt: -dt, derivative=1),
                SourceTerm("syz", "yz", lambda mean, dt: -dt, derivative=1),
            ),
        },
        fastest=attrgetter("vs_max"),
        fluid_rests=True,
        gradients=("vy",),
    )


def lossy_tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table of rock that attenuates in x and z."""
    relaxation = options or UNKNOWN
    plain = tables(axes, None)
    even = IsotropicPlanes(
        isotropic_lossy_stress, ("q", "qy"), one_lossy_modulus, attrgetter("uniform")
    )
    # Memory of both strain rates, where their stresses stand.
    strains = {"xy": "x", "yz": "z"}
    hooke = with_memory(
        plain.stages[1], lossy_stress, strains, ("q_xy", "q", "qy_xy", "qy"), relaxation, even
    )
    return with_loss(
        plain, relaxation, "s", strains, [hooke], lossy_coefficients, ("y_mu_xy", "y_mu_yz")
    )


def energy(axes: str) -> tuple[StoredEnergy, ...]:
    """Return the energy of the stresses, s^2 / mu."""
    return (
        StoredEnergy("x", lambda mean: {("sxy", "sxy"): mean("q_xy")}),
        StoredEnergy("z", lambda mean: {("syz", "syz"): mean("q")}),
    )


def _moduli(rho: np.ndarray, mu_xy: np.ndarray, mu_yz: np.ndarray) -> tuple[np.ndarray, ...]:
    # The fluid of these waves has the stiffness 1 / rho and the densities 1 / mu.
    bulk = 1.0 / rho
    return bulk, bulk, bulk, np.zeros_like(bulk), 1.0 / mu_xy, 1.0 / mu_yz


# SH waves behave as the pressure in a fluid of density 1 / mu and bulk modulus 1 / rho.
LAYERED = LayeredWaves(
    averages=("rho", "mu_xy", "mu_yz"),
    medium=lambda vs, rho: (vs, 0.0, 1.0 / (rho * vs**2)),
    parameters=lambda vp, vs, rho: (vp, 1.0 / (rho * vp**2)),
    moduli=_moduli,
    rigid_surface=True,
)
EQUATION = Equation(
    name="elastic_sh",
    parameters=(VS, RHO),
    tables=tables,
    dimensions=(2,),
    also_called=("sh",),
    nanoseconds={"cpu": {2: 1.4}},
    bandwidth_share={"gpu": {2: 0.68}},
    layered=LAYERED,
    energy=energy,
)


LOSSY = EQUATION.attenuating(
    "viscoelastic_sh", lossy_tables, QS,
    nanoseconds={"cpu": {2: 2.8}}, bandwidth_share={"gpu": {2: 0.68}},
)  # fmt: skip


def isotropic_throughout(extremes) -> bool:
    """Whether an earth of these extremes is one isotropic medium."""
    return extremes.uniform and extremes.others[GAMMA.name] == (0.0, 0.0)


def of_rocks(table: Physics) -> Physics:
    """Return the table of waves in these rocks, of that in isotropic rock."""
    velocity, stress = table.stages
    assert stress.even is not None
    # One modulus tells a plane of isotropic rock only.
    even = replace(stress.even, everywhere=isotropic_throughout, simple=constants.isotropic)
    return replace(
        table,
        stages=(velocity, replace(stress, even=even)),
        # vs is along the axis, the fastest wave sqrt(c66 / rho) or sqrt(c44 / rho).
        conversion=rock_parameters.sh(),
        derived={"fastest": plane_waves.fastest},
        fastest=lambda extremes: extremes.others["fastest"][1],
    )


def vti_tables(axes: str, options: None) -> Physics:
    """Return the table in x and z."""
    return of_rocks(tables(axes, options))


def lossy_vti_tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table of rock that attenuates in x and z."""
    table = of_rocks(lossy_tables(axes, options))
    return replace(table, conversion=rock_parameters.attenuating(rock_parameters.sh(), QS.name))


def _like(vs, rho, gamma):
    """Return the P-SV medium of isotropic rock, whose contacts err about as much."""
    return EQUATION.waves_in_layers.medium(vs, rho)


def _plain(vp, vs, rho):
    return (*EQUATION.waves_in_layers.parameters(vp, vs, rho), 0.0)


VTI = Equation(
    name="elastic_sh_vti",
    parameters=(VS, RHO, GAMMA),
    tables=vti_tables,
    instead=tuple(CONSTANTS[name] for name in ("c44", "c66")),
    dimensions=(2,),
    nanoseconds={"cpu": {2: 1.6}},
    bandwidth_share={"gpu": {2: 0.68}},
    layered=replace(EQUATION.waves_in_layers, medium=_like, parameters=_plain),
    extends="elastic_sh",
    energy=energy,
)
LOSSY_VTI = VTI.attenuating(
    "viscoelastic_sh_vti", lossy_vti_tables, QS, nanoseconds={"cpu": {2: 3.1}}
)
