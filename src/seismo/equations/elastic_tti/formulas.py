"""Updates of stresses in rock of any anisotropy, one text for space and for a plane.

Symbols are those of `seismo.equations.elastic_tti`. `pairs` of axes name shear components.
"""

from __future__ import annotations

from seismo.equations.elastic.formulas import four_nodes, normal_changes, pairs
from seismo.equations.rock.elastic_constants import named


def _modulus(cell, pair: str):
    """Return the shear stiffness where the stress of a pair stands, the harmonic mean."""
    return 4.0 / four_nodes(cell, named("q", pair), *pair)


def strain(cell):
    """h_ab = c_I (d_b v_a + d_a v_b): what the shear strain itself adds to a shear stress."""
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
    """Szz = 0 on a free surface: what e_z would have to be less takes c_az e_z, a_zI e_z along."""
    excess = cell["szz"]
    # Excess strain e_z = szz / c33, that would have made szz of the step.
    strain = excess / cell["c33"]
    for a in sorted(cell.axes)[:-1]:
        cell.put(f"s{a}{a}", cell[f"s{a}{a}"] - cell[named("c", a, "z")] * strain)
    for pair in pairs(cell.axes):
        cell.put(f"t_{pair}", cell[f"t_{pair}"] - cell[named("a", "z", pair)] * strain)
    cell.put("szz", excess - excess)
