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

**Couplings are weakened** (`weakened`) so that no motion sets energy free, however media contrast.
The discrete energy of rock of any anisotropy is, in these symbols,

    sum over half points of h_I^2 / c_I  +  sum over nodes of e c e + 2 e a P h + P h b P h

With e such that it is least the nodes give K = a' c^-1 a - b back, at most the share k of all
1 / c_I, k < 1 in any rock. In uniform rock P h has no more energy than h, and the sum is positive.
But at a node of soft rock P weights by -1/16 a row from much stiffer rock, where the strain stores
hardly any energy, and energy is gained: motion grows, for k = 0.1 from contrasts of about 1 : 1000
on.

So the couplings of a shear strain at a node are scaled by s: c_nI s_I, c_IJ s_I s_J, of which the
nodes give back k s_I^2 / c_I. With q = 1 / c_I, of half points the mean of four nodes::

    m = least q of the half points that P takes at a node
    f = k min(q, m)                 part of k q that the bound |P h| <= |h| allows everywhere
    g = k q - f                     the rest
    r = q - largest f around        energy that is left at a half point
    t = 1 / (|P| (|P|' g / r))      at most 1: share of g that r allows, by Cauchy's inequality

and s^2 = (f + t g) / (k q): it is 1 wherever nothing could grow, and for k = 0.3 and a flat contact
to contrasts of 1 : 100 of the shear stiffness. In absorbing layers, where the medium goes on as at
their inner edge, all nodes of a line outwards have the least s of them, so that s does, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations, combinations_with_replacement, product

import numpy as np

from seismo.equations.acoustic.variable_density import inertia
from seismo.equations.elastic import isotropic
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
from seismo.grid.interpolation import Midpoints

REACH = 6  # nodes beyond a node that its factors depend on
_MOST = 0.999  # share k that is taken for more
_FLUID = 1e-9  # share of c11 c33 that is left of it in a fluid
_SLAB = 1 << 19  # nodes at once
_LEAST_SHEAR = 1.0  # Pa, of nodes of fluid and beside it: there nothing is coupled


def weakened(medium: Mapping[str, np.ndarray], along: Mapping[str, Midpoints]) -> dict:
    """Return a medium (z, y, x) whose couplings are so weak that no motion sets energy free.

    Args:
        medium: constants c11 ... c66 [Pa] of nodes, roots of rock that attenuates, and others.
        along: interpolation by axis.
    """
    axes = "".join(sorted(along))
    share = _in_slabs(medium, axes)
    shear = pairs(axes)
    factors = {pair: _factor(medium, share, along, pair) for pair in shear}
    changed = dict(medium)
    for pair in shear:
        # v_I of shear strains is scaled as their couplings.
        root = named("root", pair)
        if root in medium:
            changed[root] = medium[root] * factors[pair]
        for a in axes:
            name = named("c", a, pair)
            changed[name] = medium[name] * factors[pair]
    for first, second in combinations_with_replacement(shear, 2):
        if first != second:
            name = named("c", first, second)
            changed[name] = medium[name] * factors[first] * factors[second]
    return changed


def _in_slabs(medium: Mapping[str, np.ndarray], axes: str) -> np.ndarray:
    """Return `coupled_share`, by slabs of planes z: it takes 40 numbers for each node."""
    planes = len(medium["c11"])
    count = max(1, _SLAB * planes // medium["c11"].size)
    stiffness = {name: array for name, array in medium.items() if name[0] == "c"}
    return np.concatenate([
        coupled_share({name: c[first : first + count] for name, c in stiffness.items()}, axes)
        for first in range(0, planes, count)
    ])  # fmt: skip


def coupled_share(medium: Mapping[str, np.ndarray], axes: str) -> np.ndarray:
    """Return k (...), by which coupling lessens the energy of shear strains at most."""
    shear = pairs(axes)
    strains = (*axes, *shear)
    # Where there is fluid, which couples nothing, any rock will do that does not either. Its normal
    # stresses are one number, c11 c33 = c13^2, also beside shear stiffness of the next cells.
    c11, c33, c13 = (medium[named("c", *ends)] for ends in ("xx", "zz", "xz"))
    stiff = [medium[named("c", pair, pair)] > _LEAST_SHEAR for pair in shear]
    sheared = np.logical_and.reduce([*stiff, c11 * c33 - c13**2 > _FLUID * c11 * c33])
    rest = {
        (i, j): np.where(sheared, medium[named("c", i, j)], 1.0 * (i == j))
        for i, j in combinations_with_replacement(strains, 2)
    }
    root = {pair: np.sqrt(rest[pair, pair]) for pair in shear}
    # Schur complement: strains e that make the energy of shear strains least.
    for n, pivot in enumerate(axes):
        for i, j in combinations_with_replacement(strains[n + 1 :], 2):
            rest[i, j] = rest[i, j] - rest[pivot, i] * rest[pivot, j] / rest[pivot, pivot]
    scaled = {
        (i, j): rest[i, j] / (root[i] * root[j]) for i, j in combinations_with_replacement(shear, 2)
    }
    return 1.0 - _least_eigenvalue(scaled, shear)


def _least_eigenvalue(m: Mapping[tuple[str, str], np.ndarray], rows: list[str]) -> np.ndarray:
    """Return the least eigenvalue of symmetric matrices of size 1 or 3."""
    if len(rows) == 1:
        return m[rows[0], rows[0]]
    a, b, c = rows
    # Trigonometric solution of the cubic, of the matrix less the mean of its diagonal.
    mean = (m[a, a] + m[b, b] + m[c, c]) / 3.0
    x, y, z = (m[n, n] - mean for n in rows)
    beside = m[a, b] ** 2 + m[a, c] ** 2 + m[b, c] ** 2
    size = np.sqrt((x**2 + y**2 + z**2 + 2.0 * beside) / 6.0)
    determinant = (
        x * y * z + 2.0 * m[a, b] * m[a, c] * m[b, c]
        - x * m[b, c] ** 2 - y * m[a, c] ** 2 - z * m[a, b] ** 2
    )  # fmt: skip
    turn = np.clip(0.5 * determinant / np.maximum(size, 1e-100) ** 3, -1.0, 1.0)
    return mean + 2.0 * size * np.cos(np.arccos(turn) / 3.0 + 2.0 * np.pi / 3.0)


def _factor(
    medium: Mapping[str, np.ndarray], share: np.ndarray, along: Mapping[str, Midpoints], pair: str
) -> np.ndarray:
    """Return s (z, y, x) of the strain of a pair of axes."""
    lines = [along[axis] for axis in pair]

    def each(method, points: np.ndarray) -> np.ndarray:
        for line in lines:
            points = method(line, points)
        return points

    q = 1.0 / np.maximum(medium[named("c", pair, pair)], _LEAST_SHEAR)
    halves = each(Midpoints.mean, q)
    # f, the share allowed everywhere, and the rest of k q.
    bounded = np.clip(share, 0.0, _MOST) * np.minimum(q, each(Midpoints.least, halves))
    wanted = np.maximum(share, 0.0) * q
    rest = wanted - bounded
    # t, the share of the rest that the energy left at half points allows.
    unused = halves - each(Midpoints.largest, bounded)
    most = each(Midpoints.at_nodes, each(Midpoints.at_halves, rest) / unused)
    allowed = 1.0 / np.maximum(most, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = (bounded + allowed * rest) / wanted
    lessened = (wanted > 0.0) & (allowed < 1.0)
    return each(Midpoints.least_in_layers, np.where(lessened, np.sqrt(squared), 1.0))


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
        weakened=weakened,
        weakened_by=REACH,
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
