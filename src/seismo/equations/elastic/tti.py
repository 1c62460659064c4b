"""Elastic waves in rock of any anisotropy: with a tilted axis (TTI), or of 21 constants.

The rocks are the VTI ones of `seismo.equations.elastic.isotropic`, each about an axis n of its own,
so that normal stresses depend on shear strains, and shear stresses on normal strains. With n = xx,
yy, zz and I, J = yz, xz, xy, strains e_n and g_I = d_a v_b + d_b v_a, and c_I for c44, c55, c66::

    s_n' = sum over m of c_nm e_m + sum over I of c_nI g_I
    s_I' = c_I g_I + sum over n of c_nI e_n + sum over J of c_IJ g_J,  J not I

Fields stand where they do in `seismo.equations.elastic.isotropic`. What couples them is
interpolated between shear points and nodes by P, the mean of four points along each axis (9/16,
-1/16), and back by P', the transpose of it (Igel, Mora & Riollet 1995, Geophysics 60, 1203, in a
form that keeps energy)::

    h_I = c_I g_I                                                [Pa], new in every step
    s_n += sum of c_nm e_m + sum of a_nI P h_I,                  a_nI = c_nI / c_I
    t_I  = sum of a_nI e_n + sum of b_IJ P h_J  [1/s],           b_IJ = c_IJ / (c_I c_J)
    s_I += h_I + c_I P' t_I

c_I beside nodes is the harmonic mean of four, as there, so that the stresses h_I are interpolated,
which hardly jump at contacts. A uniform strain costs the energy e C e, whatever C changes to from
node to node, and the step conserves it. Under a free surface P and P' are adjoint in the norms of
the closed differences (`seismo.grid.surface_interpolation`), and e_z is such that szz vanishes.

Errors of velocities in a whole space (tilt 30 degrees, epsilon 0.2, delta 0.1, gamma 0.15) at 10
points per shortest wavelength, two to three of these away: 0.01 % in 2-D at order 8, 0.03 % in 3-D
at order 4.

**Rock of 21 constants** has the same equations, fields, stages and formulas. Rocks are given by
Thomsen's or Tsvankin's parameters, or by elastic constants, with theta, phi and azimuth
(`seismo.equations.rock.rock_parameters`).

Formulas are the same for space and for a plane. `pairs` of axes name shear components.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations, combinations_with_replacement, product

import numpy as np

from seismo.equations.acoustic.variable_density import inertia
from seismo.equations.elastic import definite, isotropic
from seismo.equations.elastic.formulas import four_nodes, normal_changes, pairs
from seismo.equations.elastic.isotropic import FLUID_Q
from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.parameters import (
    CONSTANTS,
    PHI,
    RHO,
    THETA,
    TSVANKIN,
    VP,
    VS,
    Condition,
)
from seismo.equations.framework.table import (
    Field,
    Physics,
    Stage,
)
from seismo.equations.rock import elastic_constants as constants
from seismo.equations.rock import (
    plane_waves,
    rock_parameters,
)
from seismo.equations.rock.elastic_constants import named


def _modulus(cell, pair: str):
    """Return the shear stiffness where the stress of a pair stands, the harmonic mean."""
    return 4.0 / four_nodes(cell, named("q", pair), *pair)


def strain(cell):
    """h_ab = c_I (d_b v_a + d_a v_b): the shear strain's own part of a shear stress."""
    # h_I = c_I g_I, g_ab = d_b v_a + d_a v_b
    for a, b in pairs(cell.axes):
        cell.put(f"h_{a}{b}", _modulus(cell, a + b) * (cell.d(b, f"v{a}") + cell.d(a, f"v{b}")))


def node(cell):
    """Update the normal stresses, and the coupling t on the nodes.

    s_nn += sum over m of c_nm e_m + sum over I of a_nI P h_I,
    t_I = sum over n of a_nI e_n + sum over J of b_IJ P h_J.
    """
    shear = pairs(cell.axes)
    axes = sorted(cell.axes)
    # e_n, and P h_I: shear stresses interpolated to the nodes.
    strains = {a: cell.d(a, f"v{a}") for a in axes}
    on_nodes = {pair: cell.mean(pair, f"h_{pair}") for pair in shear}
    # Normal stresses: s_n += c_nm e_m + a_nI P h_I
    for a, normal in normal_changes(cell, strains).items():
        coupled = cell.sum(cell[named("a", a, pair)] * on_nodes[pair] for pair in shear)
        cell.put(f"s{a}{a}", cell[f"s{a}{a}"] + normal + coupled)
    # Coupling: t_I = a_nI e_n + b_IJ P h_J, J not I
    for pair in shear:
        coupled = cell.sum(cell[named("a", a, pair)] * strains[a] for a in axes)
        for other in shear:
            if other != pair:
                coupled = coupled + cell[named("b", pair, other)] * on_nodes[other]
        cell.put(f"t_{pair}", coupled)


def shear(cell):
    """s_I += h_I + c_I P' t_I."""
    for pair in pairs(cell.axes):
        # P' t_I: the transpose of P, from nodes to shear points.
        coupled = _modulus(cell, pair) * cell.mean(pair, f"t_{pair}")
        cell.put(f"s{pair}", cell[f"s{pair}"] + cell[f"h_{pair}"] + coupled)


def surface(cell):
    """Szz = 0 on a free surface: reducing e_z to that end takes c_az e_z, a_zI e_z along."""
    excess = cell["szz"]
    # Excess strain e_z = szz / c33, that would have made szz of the step.
    strain = excess / cell["c33"]
    for a in sorted(cell.axes)[:-1]:
        cell.put(f"s{a}{a}", cell[f"s{a}{a}"] - cell[named("c", a, "z")] * strain)
    for pair in pairs(cell.axes):
        cell.put(f"t_{pair}", cell[f"t_{pair}"] - cell[named("a", "z", pair)] * strain)
    cell.put("szz", excess - excess)


_ALONG = 1e-6  # component of an axis across a plane that is rounding
IN_PLANE = Condition(
    lambda medium: (
        constants.isotropic(medium)
        | (np.abs(constants.axis_of(medium["theta"], medium["phi"])["y"]) < _ALONG)
    ),
    ("phi", "theta"),
    "in 2-D the axis has to lie in the plane of x and z: phi is 0 or 180 deg",
)


def _couplings(axes: str) -> dict[str, tuple[str, str]]:
    """Name the constants a of normal and shear strains and b of two shear strains, and these."""
    shear = pairs(axes)
    # a_nI couples normal stress n and shear strain I; b_IJ two shear components.
    normal = {named("a", *two): two for two in product(axes, shear)}
    return normal | {named("b", *two): two for two in combinations(shear, 2)}


def _odd(couplings: dict[str, tuple[str, str]], axis: str) -> tuple[str, ...]:
    """Name couplings of which one shear strain, not two, has an axis: its mirror flips them."""
    return tuple(
        name
        for name, strains in couplings.items()
        if sum(len(strain) == 2 and axis in strain for strain in strains) == 1
    )


def coefficients(medium: dict, dt: float) -> dict:
    """Return densities / dt, normal stiffnesses times dt, 1 / (c_I dt), a_nI and b_IJ / dt.

    Args:
        medium: densities `rho` and of the components [kg/m^3], constants c11 ... c66 [Pa].
        dt: time step [s].
    """
    # By the indices of c_ij: normal (both up to 3), shear (equal), mixed, two of shear.
    arrays = inertia(medium, dt)
    # c_I = 0 of a fluid becomes a modulus that is negligible, but none to divide by.
    floor = 1.0 / (FLUID_Q * dt)
    for name in (n for n in medium if n[0] == "c"):
        i, j = name[1:]
        shear_moduli = {n: medium[f"c{n}{n}"].clip(min=floor) for n in (i, j) if n > "3"}
        # c_nm dt of two normal strains.
        if len(shear_moduli) == 0:
            arrays[name] = medium[name] * dt
        # q_I = 1 / (c_I dt)
        elif i == j:
            arrays[f"q{i}"] = 1.0 / (shear_moduli[i] * dt)
        # a_nI = c_nI / c_I
        elif len(shear_moduli) == 1:
            arrays[f"a{i}{j}"] = medium[name] / shear_moduli[j]
        else:
            # b_IJ = c_IJ / (c_I c_J dt)
            arrays[f"b{i}{j}"] = medium[name] / (shear_moduli[i] * shear_moduli[j] * dt)
    return arrays


def strain_responses(axes: str, medium: dict) -> dict[str, dict[str, np.ndarray]]:
    """Return the fields' responses to strains in upright rock (`Physics.strain_responses`).

    What shear strains themselves add to their stresses is a field of its own, h_I.
    """
    plain = isotropic.strain_responses(axes, medium)
    through = {f"s{a}z": f"h_{a}z" for a in axes[:-1]}
    return {
        strain: {through.get(name, name): rate for name, rate in rates.items()}
        for strain, rates in plain.items()
    }


def tables(axes: str, options: None) -> Physics:
    """Return the table along `axes`: in 2-D of P-SV waves."""
    upright = isotropic.vti_tables(axes, options)
    momentum = upright.stages[0]
    components = pairs(axes)
    v = momentum.writes
    normal = tuple(f"s{a}{a}" for a in axes)
    # h_I: stress of the shear strain itself; t_I: coupling on the nodes.
    stresses, h, t = (tuple(f"{s}{p}" for p in components) for s in ("s", "h_", "t_"))
    stiffness = tuple(named("c", *two) for two in combinations_with_replacement(axes, 2))
    couplings = _couplings(axes)
    q = tuple(named("q", pair) for pair in components)
    every = combinations_with_replacement((*axes, *components), 2)
    across = tuple(named("a", "z", pair) for pair in components)
    return replace(
        upright,
        fields=(
            # h_I stands where s_I does, t_I on the nodes; both are new in every step.
            *upright.fields,
            *(Field(n, p, "Pa", slope=True, vanishes="z" in p)
              for n, p in zip(h, components, strict=True)),
            *(Field(n, "", "1/s", slope=True) for n in t),
        ),
        stages=(
            # Order of a step: velocities, h, normal stresses and t, then shear stresses.
            momentum,
            Stage("strain", h, v, q, strain),
            Stage("node", (*normal, *t), (*v, *h), (*stiffness, *couplings), node),
            Stage("surface", (*normal, *t), (),
                  (*(named("c", a, "z") for a in axes), *across), surface,
                  where="surface"),
            Stage("shear", stresses, (*h, *t), q, shear),
        ),
        coefficients=coefficients,
        medium=("rho", *sorted(named("c", *two) for two in every)),
        conversion=None,
        conditions=(*upright.conditions, *((IN_PLANE,) if len(axes) == 2 else ())),
        smooth_across_layers=True,
        strain_responses=partial(strain_responses, axes),
        # A mirror across an axis turns the sign of couplings that are odd in it.
        odd={axis: _odd(couplings, axis) for axis in axes},
        gradients=(),
        curved_surface=None,
        weakened=definite.weakened,
        weakened_by=definite.REACH,
    )  # fmt: skip


EQUATION = Equation(
    name="elastic_tti",
    parameters=(*isotropic.VTI.parameters, THETA, PHI),
    tables=tables,
    nanoseconds={"cpu": {2: 8.5, 3: 14.5}},
    bandwidth_share={"gpu": {3: 0.8}},
    # Contacts err about as much as those of rock with an upright axis, and as the axes differ
    # (`seismo.runs.prediction.contacts.sideways`).
    layered=isotropic.VTI.waves_in_layers.with_further(0.0, 0.0),
    extends="elastic",
)


def triclinic_tables(axes: str, options: None) -> Physics:
    """Return the table along `axes`: in 2-D of P-SV waves."""
    return replace(
        # All 21 constants: tables as of TTI rock, parameters given otherwise.
        tables(axes, options),
        conversion=rock_parameters.any_rock(axes),
        derived={"fastest": plane_waves.fastest},
        conditions=(),
    )


TRICLINIC = Equation(
    name="elastic_triclinic",
    parameters=(VP, VS, RHO, *TSVANKIN, *rock_parameters.ANGLES),
    tables=triclinic_tables,
    instead=(*rock_parameters.THOMSEN, *CONSTANTS.values()),
    nanoseconds=EQUATION.nanoseconds,
    bandwidth_share=EQUATION.bandwidth_share,
    extends="elastic",
)
