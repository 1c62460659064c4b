"""Elastic waves in transversely isotropic rock whose axis is tilted (TTI) and which attenuates.

Fields, interpolation and contacts as in `seismo.equations.elastic.tti`, where the model gives qp or
qs besides. With the ratios p and s of complex moduli to unrelaxed ones the stiffness is s C + (p -
s) v v^T, v the roots of P moduli (`seismo.equations.rock.anisotropic_loss`): S waves lose in the
proportion of C, and the projection of a strain on v loses as P waves do. With the sums Z_l of old
and new memory variables and Y_l / 2 of both (`seismo.equations.framework.memory_variables`),
for normal strains e_n and shear strains g_I::

    L_K = sum over l of Ys_l Z_Kl / 2,                             of every strain K
    D   = sum over l of (Yp_l - Ys_l) / 2 sum over K of v_K Z_Kl

    h_I = c_I g_I,     G_I = P h_I / c_I                           on the nodes
    s_n += sum of c_nm (e_m - L_m) + sum of c_nI (G_I - L_I) - v_n D
    t_I  = [sum of c_nI (e_n - L_n) + sum of c_IJ (G_J - L_J) - v_I D] / c_I,  J not I
    s_I += c_I (g_I - L_I') + c_I P' t_I

with memory variables of e_n and G_I on the nodes, and of g_I, which L_I' is of, beside them. So the
loss of strains is, as their energy, a symmetric form of e_n, P h_I and g_I, and not negative where
the rocks' own is not.

Numbers y of P and of S moduli, `y_p` and `y_s`, are of cells whose dilation and distortion lose
alike (`seismo.model.effective.averaging`); beside nodes y of c_I is the mean weighted with 1 / c_I,
as in `seismo.equations.elastic.lossy`. In a cell that a contact cuts they and v stand
for the loss of all constants, which is exact for shear across flat layers, and else approximate.

**Rock of 21 constants** has the same equations, fields, stages and formulas: the stiffness relaxes
to s C + (p - s) v v^T, with the ratios p and s of moduli of P and of S waves, and v about the axes
of the rock the roots of c11, c22, c33 for xx, yy, zz, and 0 for shear strains
(`seismo.equations.rock.anisotropic_loss`). So P waves along these axes have qp in orthorhombic
rock, and S waves along them qs. Rocks are given by Thomsen's or Tsvankin's parameters, or by
elastic constants (`seismo.equations.rock.rock_parameters`), where the model gives qp or qs besides;
constants hold at the reference frequency of velocities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from seismo.equations.elastic import tti as elastic_tti
from seismo.equations.elastic.formulas import four_nodes, normal_changes, pairs
from seismo.equations.framework.memory_variables import (
    UNKNOWN,
    CellArrays,
    at_once,
    drive,
    loss,
    numbers_of,
    relaxing_source,
    remember,
    responses_of_memory,
    with_loss,
    with_memory,
)
from seismo.equations.framework.parameters import (
    QP,
    QS,
)
from seismo.equations.framework.table import Physics
from seismo.equations.rock import (
    plane_waves,
    rock_parameters,
)
from seismo.equations.rock.anisotropic_loss import SHEAR_SHARE, shear_share
from seismo.equations.rock.elastic_constants import named
from seismo.equations.rock.relaxation import Relaxation

_SOFTEST = 1e10  # 1 / (c_I dt) of rock is far below, and of a fluid far above (`elastic.FLUID_Q`)


def on_node(pair: str) -> str:
    """Name the shear strain of a pair of axes that is interpolated to the nodes."""
    return f"node_{pair}"


def node(cell):
    """Update the normal stresses, and the coupling t on the nodes, less their memory.

    s_nn += sum over m of c_nm (e_m - L_m) + sum over I of a_nI (P h_I - c_I L_I) - v_n D,
    t_I = sum over n of a_nI (e_n - L_n) + sum over J of b_IJ (P h_J - c_J L_J) - v_I / c_I D.
    """
    shear = pairs(cell.axes)
    axes = sorted(cell.axes)
    # e_n, and G_I = P h_I / c_I: stresses interpolated to the nodes, and the strains of these.
    before = {a: cell[f"s{a}{a}"] for a in axes}
    strains = {a: cell.d(a, f"v{a}") for a in axes}
    stresses = {pair: cell.mean(pair, f"h_{pair}") for pair in shear}
    compliance = {pair: cell[named("q", pair)] for pair in shear}
    rates = {a + a: strains[a] for a in axes}
    rates |= {on_node(pair): _shear_strain(stresses[pair], compliance[pair]) for pair in shear}
    memory = dict(zip((*axes, *shear), remember(cell, rates).values(), strict=True))
    # D: excess loss of P moduli over S moduli, of the strain that v projects.
    excess = _excess(cell, _projected(cell, memory))
    # e_n - L_n and P h_I - c_I L_I: S moduli lose in the proportion of the stiffness.
    y = cell["y_s"]
    for a in axes:
        strains[a] = strains[a] - loss(cell, "s", y, memory[a])
    for pair in shear:
        stresses[pair] = stresses[pair] - loss(cell, "s", y, memory[pair]) / compliance[pair]
    # Normal stresses: s_n += c_nm e_m + a_nI P h_I - v_n D
    for a, normal in normal_changes(cell, strains).items():
        coupled = cell.sum(cell[named("a", a, pair)] * stresses[pair] for pair in shear)
        change = normal + coupled - cell[named("root", a)] * excess
        cell.put(f"s{a}{a}", before[a] + change)
    # Coupling: t_I = a_nI e_n + b_IJ P h_J - v_I / c_I D, J not I
    for pair in shear:
        coupled = cell.sum(cell[named("a", a, pair)] * strains[a] for a in axes)
        for other in shear:
            if other != pair:
                coupled = coupled + cell[named("b", pair, other)] * stresses[other]
        cell.put(f"t_{pair}", coupled - compliance[pair] * cell[named("root", pair)] * excess)


def _shear_strain(stress, compliance):
    """Return G_I = P h_I / c_I, and next to nothing on nodes of fluids.

    P brings stresses of rock beside it there, too, and c_I is none: 16 bits do not hold that.
    """
    solid = _SOFTEST / (_SOFTEST + compliance)
    return stress * (compliance * solid) * solid


def _projected(cell, memory: dict) -> list:
    """Return sum of v_K Z_Kl of the strains' memories, by mechanism."""
    mechanisms = range(len(memory["x"]))
    return [cell.sum(cell[named("root", k)] * memory[k][n] for k in memory) for n in mechanisms]


def _excess(cell, memory: list):
    """Return the loss of P moduli less that of S moduli, of a strain."""
    return loss(cell, "p", cell["y_p"], memory) - loss(cell, "s", cell["y_s"], memory)


def shear(cell):
    """s_I += c_I (g_I - L_I) + c_I P' t_I, c_I the harmonic mean, y weighted with 1 / c_I."""
    every = pairs(cell.axes)
    before = {pair: cell[f"s{pair}"] for pair in every}
    # g_I = h_I / c_I, and c_I = 4 over the sum of four 1 / c_I.
    compliance = {pair: four_nodes(cell, named("q", pair), *pair) for pair in every}
    rates = {pair: 0.25 * compliance[pair] * cell[f"h_{pair}"] for pair in every}
    memory = remember(cell, rates)
    for pair in every:
        y = four_nodes(cell, named("qy", pair), *pair) / compliance[pair]
        # P' t_I: the transpose of P, from nodes to shear points.
        coupled = cell.mean(pair, f"t_{pair}") - loss(cell, "s", y, memory[pair])
        change = cell[f"h_{pair}"] + 4.0 / compliance[pair] * coupled
        cell.put(f"s{pair}", before[pair] + change)


def shares_at_once(cell):
    """Return the shares of C, and lost of v v^T, in the stiffness of a strain within a step."""
    kept = 1.0 - at_once(cell, "s", cell["y_s"])
    lost = at_once(cell, "p", cell["y_p"]) - at_once(cell, "s", cell["y_s"])
    return kept, lost


def surface(cell):
    """Szz = 0 on a free surface: e_z is such that it is, and acts on s_aa, t_I and the memory.

    Within a step stiffnesses are c (1 - sum Ys_l b_l / 2) - v v^T sum (Yp_l - Ys_l) b_l / 2.
    """
    stress = cell["szz"]
    kept, lost = shares_at_once(cell)
    v = cell[named("root", "z")]
    # Excess strain e_z that would have made szz of the step.
    strain = stress / (cell["c33"] * kept - v * v * lost)
    retained = strain * kept
    projected = strain * v * lost
    for a in sorted(cell.axes)[:-1]:
        change = cell[named("c", a, "z")] * retained - cell[named("root", a)] * projected
        cell.put(f"s{a}{a}", cell[f"s{a}{a}"] - change)
    for pair in pairs(cell.axes):
        shear_loss = cell[named("q", pair)] * cell[named("root", pair)] * projected
        change = cell[named("a", "z", pair)] * retained - shear_loss
        cell.put(f"t_{pair}", cell[f"t_{pair}"] - change)
    cell.put("szz", stress - stress)
    # The memory of e_zz takes the strain rate that szz = 0 adds.
    drive(cell, "zz", 0.0 - strain)


_LEAST_DISTORTION = 1e-9  # of the dilation's modulus, below which a medium is a fluid


def losses(medium: dict) -> tuple[np.ndarray, np.ndarray]:
    """Return y of P and of S moduli from the loss of dilation and distortion.

    With the sums a and b of constants they have a y_a = y_s a + (y_p - y_s) q_a, where q_a is a of
    v v^T in place of C, and so has b.
    """
    plane = "" if "c22" in medium else "plane_"
    x, y, z = (medium.get(f"root{n}", 0.0) for n in "123")
    yz, xz, xy = (medium.get(f"root{n}", 0.0) for n in "456")
    # Dilation and distortion, of C and of v v^T.
    if plane:
        c11, c33, c13 = (medium[name] for name in ("c11", "c33", "c13"))
        shares = (x + z) ** 2, (x - z) ** 2 + 4.0 * xz**2
        sums = c11 + c33 + 2.0 * c13, c11 + c33 - 2.0 * c13 + 4.0 * medium["c55"]
    else:
        normal = medium["c11"] + medium["c22"] + medium["c33"]
        mixed = medium["c12"] + medium["c13"] + medium["c23"]
        shear = medium["c44"] + medium["c55"] + medium["c66"]
        shares = (
            (x + y + z) ** 2,
            x * (x - y) + y * (y - z) + z * (z - x) + 3.0 * (yz**2 + xz**2 + xy**2),
        )
        sums = normal + 2.0 * mixed, normal - mixed + 3.0 * shear
    of_dilation = shares[0] / sums[0]
    # A fluid has no distortion; its C is v v^T, so that y_s is not asked for: y_p takes its place.
    solid = sums[1] > _LEAST_DISTORTION * sums[0]
    of_distortion = shares[1] / np.where(solid, sums[1], 1.0)
    y_dilation = medium[f"y_{plane}dilation"]
    y_distortion = np.where(solid, medium[f"y_{plane}distortion"], y_dilation)
    # Both equations, solved for y_p - y_s.
    beyond = (y_dilation - y_distortion) / (of_dilation - np.where(solid, of_distortion, 0.0))
    y_s = y_distortion - beyond * of_distortion
    return y_s + beyond, y_s


def coefficients(medium: dict, dt: float) -> dict:
    """Return those of TTI rock without loss, and the roots v, y of nodes, and 1 / (c_I dt) y_I.

    Args:
        medium: densities `rho` and of the components [kg/m^3], constants c11 ... c66 [Pa], root1
            ... [sqrt(Pa)], and `y_...` of shear stiffnesses, dilation and distortion.
        dt: time step [s].
    """
    arrays = elastic_tti.coefficients(medium, dt)
    arrays["y_p"], arrays["y_s"] = losses(medium)
    # v sqrt(dt): v v^T times dt is a stiffness times dt.
    roots = {name: medium[name] for name in medium if name.startswith("root")}
    arrays |= {name: root * dt**0.5 for name, root in roots.items()}
    # c_I y_cI = c_I y_I + (y_p - y_s) v_I^2, the loss of c_I itself and of P moduli.
    for i in (n for n in "456" if f"c{n}{n}" in medium):
        modulus = medium[f"c{i}{i}"]
        divisor = np.where(modulus > 0.0, modulus, 1.0)  # a fluid has none, and no root
        beyond = (arrays["y_p"] - arrays["y_s"]) * roots[f"root{i}"] ** 2 / divisor
        arrays[f"qy{i}"] = arrays[f"q{i}"] * (medium[f"y_c{i}{i}"] - beyond)
    return arrays


def strain_responses(axes: str, relaxation: Relaxation, medium: dict) -> dict:
    """Return the fields' responses to strains within a step in upright rock.

    What shear strains add goes through h_I, which memory variables remember later in the step.

    Args:
        axes: "xz" or "xyz".
        relaxation: the mechanisms of a run.
        medium: as for `coefficients` (rows), on node rows.
    """
    arrays = coefficients(medium, 1.0)
    kept, lost = shares_at_once(CellArrays(arrays, numbers_of(relaxation, "ps")))
    # c_az (1 - sum Ys_l b_l / 2) - v_a v_z sum (Yp_l - Ys_l) b_l / 2
    relaxed = {
        name: medium[name] * kept - arrays[named("root", a)] * arrays["root3"] * lost
        for a, name in ((a, named("c", a, "z")) for a in axes)
    }
    responses = elastic_tti.strain_responses(axes, medium | relaxed)
    responses["zz"] |= responses_of_memory("zz", relaxation, relaxed["c33"])
    return responses


def _share(relaxation: Relaxation) -> Callable:
    """Return function(mean), the share that mechanisms take of c11, (mechanism, ...)."""

    def share(mean: Callable) -> np.ndarray:
        of_p = mean("root1") ** 2 / mean("c11")
        p = relaxation.anelastic("p", mean("y_p"))
        s = relaxation.anelastic("s", mean("y_s"))
        return s + (p - s) * of_p

    return share


def tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table along `axes`: in 2-D of P-SV waves."""
    relaxation = options or UNKNOWN
    plain = elastic_tti.tables(axes, None)
    _, _, node_stage, surface_stage, beside = plain.stages
    shear_pairs = pairs(axes)
    # Memory variables of normal strains and of shear strains on the nodes, and beside them.
    on_nodes = dict.fromkeys((*(a + a for a in axes), *map(on_node, shear_pairs)), "")
    halves = {pair: pair for pair in shear_pairs}
    roots = tuple(named("root", component) for component in (*axes, *shear_pairs))
    q = tuple(named("q", pair) for pair in shear_pairs)
    qy = tuple(named("qy", pair) for pair in shear_pairs)
    losing = (*roots, *q, "y_p", "y_s")
    plane = "plane_" if len(axes) == 2 else ""
    sums = (f"y_{plane}dilation", f"y_{plane}distortion")
    sources = {
        kind: tuple(t for term in plain.drives[kind]
                    for t in relaxing_source(term, _share(relaxation), relaxation))
        for kind in ("pressure", "volume_rate")
    }  # fmt: skip
    at_nodes = (*node_stage.coefficients, *losing)
    at_surface = (*surface_stage.coefficients, *losing)
    return with_loss(
        plain, relaxation, "ps", on_nodes | halves,
        [
            with_memory(node_stage, node, on_nodes, at_nodes, relaxation),
            with_memory(surface_stage, surface, ("zz",), at_surface, relaxation),
            with_memory(beside, shear, halves, (*q, *qy), relaxation),
        ],
        coefficients,
        (*sorted(roots), *sums, *(f"y_{named('c', pair, pair)}" for pair in shear_pairs)),
        drives=plain.drives | sources,
        # Least qp for the qs of each rock, so that every strain loses energy.
        derived={**plain.derived, SHEAR_SHARE: partial(shear_share, dimensions=len(axes))},
        strain_responses=partial(strain_responses, axes, relaxation),
        # A mirror changes the sign of roots of shear strains, as of their couplings to normal
        # strains.
        odd={
            axis: (*names, *(named("root", pair) for pair in shear_pairs if axis in pair))
            for axis, names in plain.odd.items()
        },
    )  # fmt: skip


EQUATION = elastic_tti.EQUATION.attenuating("viscoelastic_tti", tables, QP, QS)


def triclinic_tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table along `axes`: in 2-D of P-SV waves."""
    return replace(
        # All 21 constants relax as those of TTI rock do, the rocks are given otherwise.
        tables(axes, options),
        conversion=rock_parameters.lossy_rock(axes),
        # Least qp for the qs of each rock, so that every strain loses energy.
        derived={
            "fastest": plane_waves.fastest,
            SHEAR_SHARE: partial(shear_share, dimensions=len(axes)),
        },
        conditions=(),
    )


TRICLINIC = elastic_tti.TRICLINIC.attenuating("viscoelastic_triclinic", triclinic_tables, QP, QS)
