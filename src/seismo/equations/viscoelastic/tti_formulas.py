"""Updates of stresses in rock of any anisotropy that attenuates, one text for space and a plane.

Symbols are those of `seismo.equations.viscoelastic.tti`. `pairs` of axes name shear components;
coefficients are those of `seismo.equations.elastic.tti`, and besides `root` v, `y_p`, `y_s`, `qy`.
"""

from __future__ import annotations

from seismo.equations.elastic.formulas import four_nodes, normal_changes, pairs
from seismo.equations.loss.memory_variables import (
    at_once,
    drive,
    loss,
    remember,
)
from seismo.equations.rock.elastic_constants import named

_SOFTEST = 1e10  # 1 / (c_I dt) of rock is far below, and of a fluid far above (`elastic.FLUID_Q`)


def on_node(pair: str) -> str:
    """Name the shear strain of a pair of axes that is interpolated to the nodes."""
    return f"node_{pair}"


def node(cell):
    """Update the normal stresses, and the coupling t on the nodes, less what is remembered.

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
    # D: what P moduli lose beyond S moduli, of the strain that v projects.
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
    """Return the loss of P moduli less that of S moduli, of one strain."""
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
    """Return the shares of C, and lost of v v^T, in the stiffness of a strain within one step."""
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
