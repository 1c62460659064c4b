"""Elastic waves in isotropic and VTI rock: velocity and stress in 3-D, and P-SV in 2-D.

    rho dv_i/dt = d_j s_ij,    ds_ij/dt = c_ijkl d_k v_l

The rock is isotropic, a fluid where vs = 0. A cell that a contact cuts is not: seen from a longer
wave it is transversely isotropic about z (Backus 1962), so the stiffness is c11, c13, c33, c44,
c66, which for a single rock are c11 = c33 = lambda + 2 mu, c13 = lambda, c44 = c66 = mu.

Staggering of Virieux (1986), Levander (1988), Graves (1996): normal stresses on the nodes; v_i
half a cell further along i; s_ij half a cell further along i and j. Stresses at t = n dt,
velocities half a step later. Model arrays stand on the nodes: `rho` / dt, the stiffnesses times dt
[Pa s], and `q` = 1 / (c44 dt), `q66` = 1 / (c66 dt). The density of a velocity is the mean of two
nodes, the stiffness of a shear stress the harmonic mean of four (Moczo et al. 2002): 0 beside a
fluid. Where no contact cuts, c13 = c11 - 2 mu and c33 = c11: `even` formulas read c11 and q only.
c13, c33 and `q66` are kept for the other planes alone, and stand `packed` numbers earlier. So are
`rho_x`, `rho_y`, `rho_z` for planes where fluids of unlike density meet: they slip, and have a
density for each component (`seismo.model.effective.density`).

On the row of a free surface szz vanishes: `surface` subtracts from sxx (and syy) the contribution
of a nonzero szz, c13 / c33 szz, whatever d_z v_z was. In a fluid that is all of it to the last bit:
all normal stresses change equally there, as the differences of stiffnesses are zero. What rounding
left behind would push the water for ever. So would normal stresses that differ by the rounding of a
fused product: their common part is `rounded` first.

Stresses store the energy s : C^-1 : s / 2, on the points where they stand (`energy`). Normal
stresses do not depend on shear strains here: their part is a form of the matrix between normal
strains and stresses on the nodes, that of each shear stress a product with its compliance, the mean
of the nodes beside it.

**VTI rock**, transversely isotropic about z, has the same equations, fields, stages and formulas: a
stack of isotropic layers is such, too. Here each rock has five constants of its own, given or from
Thomsen's parameters (`seismo.equations.rock.rock_parameters`)::

    sxx = c11 exx + (c11 - 2 c66) eyy + c13 ezz,    szz = c13 (exx + eyy) + c33 ezz,
    syy = (c11 - 2 c66) exx + c11 eyy + c13 ezz,    sxz = 2 c44 exz,  syz = 2 c44 eyz,
                                                    sxy = 2 c66 exy

Planes z of isotropic rock alone keep two stiffnesses, as above; all others keep the five. An
upright contact with a fluid, or one that dips, acts by pressure alone (`c33`), as between isotropic
media. The moment of a source of volume, c11 times that, is that of waves along the layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from operator import attrgetter

import numpy as np

from seismo.equations.acoustic.variable_density import (
    even_density,
    inertia,
    lightness,
)
from seismo.equations.elastic import formulas
from seismo.equations.elastic.formulas import four_nodes, pairs
from seismo.equations.framework.declaration import Equation, LayeredWaves, StoredEnergy
from seismo.equations.framework.parameters import (
    DELTA,
    EPSILON,
    GAMMA,
    RHO,
    VP,
    VS,
    Condition,
)
from seismo.equations.framework.sloping_ground import shear_rate
from seismo.equations.framework.table import (
    CurvedSurface,
    Field,
    IsotropicPlanes,
    Physics,
    SourceTerm,
    Stage,
    Term,
)
from seismo.equations.rock import elastic_constants as constants
from seismo.equations.rock import (
    plane_waves,
    rock_parameters,
)

Mean = Callable[[str], np.ndarray]


def stored(
    axes: str, stiffness: Callable[[Mean], list], compliance: Callable[[str], str]
) -> tuple[StoredEnergy, ...]:
    """Return the forms of all stresses.

    Args:
        axes: "xz" or "xyz".
        stiffness: function(mean) -> matrix of normal strains and stresses, times dt.
        compliance: function(pair of axes) -> coefficient of that shear stress, over dt.
    """

    def normal(mean: Mean) -> dict:
        # s_aa (C^-1)_ab s_bb
        rows = _inverse(stiffness(mean))
        return {
            (f"s{a}{a}", f"s{b}{b}"): entry
            for a, row in zip(axes, rows, strict=True)
            for b, entry in zip(axes, row, strict=True)
        }

    def shear(pair: str, mean: Mean) -> dict:
        # s_ab^2 / c_I
        return {(f"s{pair}", f"s{pair}"): mean(compliance(pair))}

    return (
        StoredEnergy("", normal),
        *(StoredEnergy(pair, partial(shear, pair)) for pair in pairs(axes)),
    )


def _inverse(matrix: list[list]) -> list[list]:
    """Return the inverse of a symmetric matrix of arrays, two or three rows."""
    if len(matrix) == 2:
        (a, b), (_, c) = matrix
        cofactors = [[c, -b], [-b, a]]
    else:
        cofactors = [
            [
                matrix[i - 2][j - 2] * matrix[i - 1][j - 1]
                - matrix[i - 2][j - 1] * matrix[i - 1][j - 2]
                for j in range(3)
            ]
            for i in range(3)
        ]
    determinant = sum(a * b for a, b in zip(matrix[0], cofactors[0], strict=True))
    return [[entry / determinant for entry in row] for row in cofactors]


def energy(axes: str) -> tuple[StoredEnergy, ...]:
    """Return the energy of stresses in rock that is isotropic or transversely isotropic about z."""
    return stored(axes, partial(_stiffness, axes), lambda pair: "q66" if pair == "xy" else "q")


def _stiffness(axes: str, mean: Mean) -> list:
    c11, c13, c33 = (mean(name) for name in ("c11", "c13", "c33"))
    if len(axes) == 2:
        return [[c11, c13], [c13, c33]]
    # c12 = c11 - 2 c66
    c12 = c11 - 2.0 / mean("q66")
    return [[c11, c12, c13], [c12, c11, c13], [c13, c13, c33]]


def between_nodes(array: np.ndarray, axis: str) -> np.ndarray:
    """Return the sums of four nodes (z, y, x) about points half a cell along z and an axis."""
    for a in ("zyx".index("z"), "zyx".index(axis)):
        count = array.shape[a]
        array = array + array.take(np.minimum(np.arange(count) + 1, count - 1), a)
    return array


def moduli(
    coefficients: Mapping[str, np.ndarray], numbers: Mapping[str, float]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return c33 dt of nodes, and the shear moduli times dt between them, by horizontal axis."""
    q = coefficients["q"]
    return coefficients["c33"], {a: 4.0 / between_nodes(q, a) for a in "xy"}


def shear(cell):
    """s_az -= mu / g P0 Px(a e), mu the harmonic mean of four nodes."""
    for a in cell.axes[:-1]:
        mu = 4.0 / four_nodes(cell, "q", "z", a)
        cell.put(f"s{a}z", cell[f"s{a}z"] - mu * shear_rate(cell, a))


CURVED_SURFACE = CurvedSurface(moduli, shear, ("q",))


FLUID_Q = 1e30  # 1 / (mu dt) of a fluid: finite, since lanes assume no infinities


def coefficients(medium: dict, dt: float) -> dict:
    """Return densities / dt, the stiffnesses times dt, and their inverses `q` and `q66`.

    Args:
        medium: densities `rho` and of the components [kg/m^3], `c11`, `c13`, `c33`, `c44` and in
            3-D `c66` [Pa].
        dt: time step [s].
    """
    # Inverse shear moduli: mu = 0 of a fluid becomes a mu that is negligible, but no infinity.
    floor = 1.0 / (FLUID_Q * dt)
    named = inertia(medium, dt) | {"q": 1.0 / (medium["c44"].clip(min=floor) * dt)}
    if "c66" in medium:
        named["q66"] = 1.0 / (medium["c66"].clip(min=floor) * dt)
    # Stiffness times dt: a step adds c dt e to a stress.
    return named | {name: medium[name] * dt for name in ("c11", "c13", "c33")}


def one_rock(medium: dict) -> np.ndarray:
    """Return where one rock fills a cell, so that c11 and the shear stiffness suffice."""
    c11 = medium["c11"]
    mu = medium["c44"]
    # Isotropy: c33 = c11, c13 = lambda = c11 - 2 mu, c66 = c44 = mu.
    close = partial(np.isclose, rtol=1e-9, atol=0.0)
    alike = close(medium["c33"], c11) & np.isclose(medium["c13"], c11 - 2 * mu, 0, 1e-9 * c11)
    return alike & close(medium["c66"], mu) if "c66" in medium else alike


def observables(axes: str) -> dict:
    """Name the velocity, stress, pressure, divergence, rotation and strain of the elastic field."""
    normal = [f"s{a}{a}" for a in axes]
    # 2-D: only rotation about y, the axis across the plane.
    curl = {a: [b for b in "xyz" if b != a] for a in ("xyz" if "y" in axes else "y")}
    sign = {"x": (-1, 1), "y": (1, -1), "z": (-1, 1)}  # of d_c v_b and d_b v_c, b before c
    return {
        "velocity": {f"v{a}": (Term(f"v{a}"),) for a in axes},
        "stress": {s: (Term(s),) for s in normal + [f"s{p}" for p in formulas.pairs(axes)]},
        # p = -(sxx + syy + szz) / 3; in 2-D the mean of two.
        "pressure": {"pressure": tuple(Term(s, -1.0 / len(axes)) for s in normal)},
        # div v = d_x vx + d_y vy + d_z vz
        "divergence": {"divergence": tuple(Term(f"v{a}", along=a) for a in axes)},
        # Half the curl of v: (d_b v_c - d_c v_b) / 2.
        "rotation": {
            f"rotation_{a}": (
                Term(f"v{b}", 0.5 * sign[a][0], along=c),
                Term(f"v{c}", 0.5 * sign[a][1], along=b),
            )
            for a, (b, c) in curl.items()
        },
        # de_ab/dt = (d_b v_a + d_a v_b) / 2
        "strain_rate": {f"e{a}{a}_rate": (Term(f"v{a}", along=a),) for a in axes}
        | {
            f"e{ab}_rate": tuple(Term(f"v{ab[k]}", 0.5, along=ab[1 - k]) for k in (0, 1))
            for ab in formulas.pairs(axes)
        },
    }


def _injection(mean, dt):
    """Return c_p^2 dt: the pressure that a volume source s adds is c_p^2 times its integral."""
    return mean("c11") / (mean("rho") * dt)


def drives(axes: str) -> dict:
    """Name the sources; a moment tensor M acts on the stress as -dM/dt (stress glut).

    A volume that comes out of a small sphere at a rate q has the isotropic dM/dt = c11 q (Mueller
    2001, JGR 106, B2); as in a fluid s = rho dq/dt.
    """
    normal = [a + a for a in axes]
    shear = formulas.pairs(axes)
    return {
        # dv_a/dt = F_a / (rho cell volume)
        "force": tuple(SourceTerm(f"v{a}", a, lightness) for a in axes),
        # ds_ab/dt = -dM_ab/dt / cell volume, all six components (in 2-D three).
        "moment_tensor": tuple(
            SourceTerm(f"s{ab}", ab, lambda mean, dt: -dt, derivative=1) for ab in normal + shear
        ),
        # The isotropic moment tensor M: all normal stresses alike.
        "explosion": tuple(
            SourceTerm(f"s{ab}", "", lambda mean, dt: -dt, derivative=1) for ab in normal
        ),
        # Source s of pressure as in a fluid: p grows by c_p^2 times the integral of s.
        "pressure": tuple(
            SourceTerm(f"s{ab}", "", lambda mean, dt: -_injection(mean, dt), derivative=-1)
            for ab in normal
        ),
        # Volume rate q: ds_aa/dt = -c11 q / cell volume.
        "volume_rate": tuple(
            SourceTerm(f"s{ab}", "", lambda mean, dt: -mean("c11")) for ab in normal
        ),
    }


def strain_responses(axes: str, medium: dict) -> dict[str, dict[str, np.ndarray]]:
    """Return the stresses' responses to strains (`Physics.strain_responses`).

    Args:
        axes: "xz" or "xyz".
        medium: c33, and of each horizontal axis a c_az and the shear stiffness of strains az
            (rows) [Pa] on node rows; c13 and c44 where all axes have these.
    """

    def shear(pair: str) -> np.ndarray:
        # Shear stiffness of a half row: harmonic mean of two nodes.
        modulus = medium[name if (name := constants.named("c", pair, pair)) in medium else "c44"]
        below = np.append(modulus[1:], modulus[-1:])
        return 2.0 * modulus * below / np.maximum(modulus + below, 1.0)

    across = {a: medium.get(constants.named("c", a, "z"), medium["c13"]) for a in axes[:-1]}
    normal = {"szz": medium["c33"], **{f"s{a}{a}": c for a, c in across.items()}}
    return {"zz": normal, **{f"{a}z": {f"s{a}z": shear(f"{a}z")} for a in axes[:-1]}}


def tables(axes: str, options: None) -> Physics:
    """Return the table along `axes`: in 2-D of P-SV waves."""
    v = [f"v{a}" for a in axes]
    normal = [f"s{a}{a}" for a in axes]
    shear = [f"s{p}" for p in formulas.pairs(axes)]
    n = len(axes)
    stiffness = ("c11", "c13", "c33", *(("q66",) if n == 3 else ()), "q")
    # Planes where fluids of unlike density meet: a density for each component.
    densities = tuple(f"rho_{a}" for a in axes)
    even = even_density(formulas.isotropic_velocity)
    stresses = (*normal, *shear)
    # rho dv/dt = div s: half a step later than the stresses.
    momentum = Stage("velocity", (*v,), stresses, densities, formulas.velocity, even=even)
    even = IsotropicPlanes(formulas.isotropic_stress, ("c11", "q"), one_rock, attrgetter("uniform"))
    # ds/dt = c : grad v
    hooke = Stage("stress", stresses, (*v,), stiffness, formulas.stress, even=even)
    return Physics(
        axes=axes,
        fields=(
            *(Field(f"v{a}", a, "m/s") for a in axes),
            # Virieux (1986) staggering: s_aa on the nodes, s_ab half a cell along a and b.
            *(Field(name, "", "Pa") for name in normal),
            *(Field(name, name[1:], "Pa", vanishes="z" in name) for name in shear),
        ),
        stages=(
            momentum,
            hooke,
            # Free surface: szz = 0 on its row, after Hooke's law.
            Stage("surface", (*normal,), (), ("c13", "c33"), formulas.surface, where="surface"),
        ),
        coefficients=coefficients,
        medium=("rho", "c11", "c13", "c33", "c44", *(("c66",) if n == 3 else ())),
        observables=observables(axes),
        drives=drives(axes),
        layer_shift=2.0,  # less lets waves guided under a free surface grow in the layers
        fluid_meets_solid=True,
        strain_responses=partial(strain_responses, axes),
        fluid_force={a: Term(f"s{a}{a}", 1.0, a) for a in axes},
        gradients=tuple(v),
        curved_surface=CURVED_SURFACE,
    )


LAYERED = LayeredWaves(
    # P-SV waves are these themselves.
    averages=("c11", "c13", "c33", "c44", "rho"),
    medium=lambda vp, vs, rho: (vp, vs, rho),
    parameters=lambda vp, vs, rho: (vp, vs, rho),
    moduli=lambda c11, c13, c33, c44, rho: (c11, c13, c33, c44, rho, rho),
)
EQUATION = Equation(
    name="elastic",
    parameters=(VP, VS, RHO),
    tables=tables,
    also_called=("psv", "p_sv", "p-sv"),
    nanoseconds={"cpu": {2: 3.3, 3: 9.1}},
    bandwidth_share={"gpu": {2: 0.83, 3: 0.84}},
    layered=LAYERED,
    energy=energy,
)


VTI_CONDITIONS = (
    # A fluid is isotropic.
    Condition(
        lambda medium: constants.isotropic(medium) | (medium["vs"] > 0.0),
        ("vs", "epsilon", "delta", "gamma"),
        "a fluid has none of these; set them to 0 where vs is 0",
    ),
    # c13 is real: Thomsen's (1986) delta is not too low.
    Condition(
        constants.has_c13,
        ("vp", "vs", "delta"),
        "delta is below -(1 - vs^2 / vp^2) / 2, so that c13 is no real number: raise it",
    ),
    # The stiffness is positive definite.
    Condition(
        constants.takes_energy,
        ("epsilon", "delta", "gamma"),
        "c33 (c11 - c66) is not above c13^2, so that a strain would set energy free: raise epsilon "
        "or lower delta",
    ),
)


def isotropic_throughout(extremes) -> bool:
    """Whether an earth of these extremes is one isotropic medium."""
    plain = all(extremes.others[p.name] == (0.0, 0.0) for p in (EPSILON, DELTA, GAMMA))
    return extremes.uniform and plain


def _like(vp, vs, rho, epsilon, delta, gamma):
    """Return the isotropic vp, vs, rho whose contacts err about as much as those of VTI rocks."""
    # c33 (1 + epsilon) is the mean of c33 and c11 = c33 (1 + 2 epsilon).
    return max(vp * (1.0 + epsilon) ** 0.5, 1.2 * vs), vs, rho


def _plain(vp, vs, rho):
    return vp, vs, rho, 0.0, 0.0, 0.0


def _of_rocks(stage: Stage) -> Stage:
    """Return a stage of the elastic equation whose even planes hold isotropic rock."""
    if stage.even is None or stage.even.of_density:
        return stage
    # Two stiffnesses, c11 and c44, tell a plane of isotropic rock only.
    even = replace(stage.even, everywhere=isotropic_throughout, simple=constants.isotropic)
    return replace(stage, even=even)


def of_rocks(table: Physics) -> Physics:
    """Return the table of waves in these rocks, of that in isotropic rock."""
    return replace(
        table,
        stages=tuple(map(_of_rocks, table.stages)),
        conversion=rock_parameters.vti(),
        # The fastest wave is sought over all directions: it may be oblique.
        derived={"fastest": plane_waves.fastest},
        fastest=lambda extremes: extremes.others["fastest"][1],
        conditions=VTI_CONDITIONS,
    )


def vti_tables(axes: str, options: None) -> Physics:
    """Return the table along `axes`: in 2-D of P-SV waves."""
    return of_rocks(tables(axes, options))


VTI = Equation(
    name="elastic_vti",
    parameters=(VP, VS, RHO, EPSILON, DELTA, GAMMA),
    tables=vti_tables,
    instead=rock_parameters.OF_VTI,
    nanoseconds={"cpu": {2: 3.9, 3: 10.5}},
    bandwidth_share={"gpu": {2: 0.83, 3: 0.84}},
    layered=replace(EQUATION.waves_in_layers, medium=_like, parameters=_plain),
    extends="elastic",
    energy=energy,
)
