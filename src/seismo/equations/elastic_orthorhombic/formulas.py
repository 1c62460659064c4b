"""Updates of stresses in orthorhombic rock, one text for space and for a plane.

Symbols are those of `seismo.equations.elastic_orthorhombic`. `pairs` of axes name shear components.
"""

from __future__ import annotations

from seismo.equations.elastic.formulas import four_nodes, normal_changes, pairs
from seismo.equations.rock.elastic_constants import named


def stress(cell):
    """s_aa += sum over b of c_ab e_b;  s_ab += c_I (d_b v_a + d_a v_b), c_I the harmonic mean."""
    axes = sorted(cell.axes)
    # Normal stresses: s_aa += c_ab e_b, no coupling with shear.
    strains = {a: cell.d(a, f"v{a}") for a in axes}
    for a, change in normal_changes(cell, strains).items():
        cell.put(f"s{a}{a}", cell[f"s{a}{a}"] + change)
    # Shear stresses: s_ab += c_I (d_b v_a + d_a v_b)
    for pair in pairs(cell.axes):
        a, b = pair
        modulus = 4.0 / four_nodes(cell, named("q", pair), a, b)
        change = modulus * cell.total((b, f"v{a}"), (a, f"v{b}"))
        cell.put(f"s{pair}", cell[f"s{pair}"] + change)


def surface(cell):
    """Szz = 0 on a free surface; s_aa gives back what a nonzero szz added, c_az / c33 szz."""
    excess = cell["szz"]
    # Excess strain e_z = szz / c33, that would have made szz of the step.
    strain = excess / cell["c33"]
    for a in sorted(cell.axes)[:-1]:
        cell.put(f"s{a}{a}", cell[f"s{a}{a}"] - cell[named("c", a, "z")] * strain)
    cell.put("szz", excess - excess)
