"""Updates of velocities and stresses, the same for space and for P-SV waves in a plane.

Symbols as in `seismo.equations.elastic.isotropic`. Coefficients of planes that no contact
cuts, where one rock fills the cells, are `rho`, `c11` and `q` alone (the functions
`isotropic_...`).
"""

from __future__ import annotations

from itertools import combinations

from seismo.equations.acoustic.variable_density import masses, mean_masses
from seismo.equations.rock.elastic_constants import named


def pairs(axes: str) -> list[str]:
    """Return the shear components."""
    return [a + b for a, b in combinations(sorted(axes), 2)]


def velocity(cell):
    """rho_i dv_i/dt = d_j s_ij, with a density for each component, where it stands."""
    for a, mass in masses(cell):
        _accelerate(cell, a, mass)


def isotropic_velocity(cell):
    """The same with the mean density of the two nodes beside a velocity (Moczo et al. 2002)."""
    for a, mass in mean_masses(cell):
        _accelerate(cell, a, mass)


def _accelerate(cell, a: str, mass) -> None:
    """v_a += 2 / mass d_j s_aj."""
    # d_j s_aj, the sum over the axes of the grid.
    force = cell.total(*((b, _stress(a, b)) for b in cell.axes))
    # v_a(n + 1/2) = v_a(n - 1/2) + dt / rho d_j s_aj, with `mass` = 2 rho / dt.
    cell.put(f"v{a}", cell[f"v{a}"] + 2.0 / mass * force)


def stress(cell):
    """Hooke's law of a medium that is transversely isotropic about z (Backus 1962).

    s_aa += c13 div v + (c11 - c13) (e_x + e_y) - 2 mu66 e_b,  b the other horizontal axis,
    s_zz += c13 div v + (c33 - c13) e_z.
    """
    horizontal = cell.axes[:-1]
    # Normal strain rates e_x, e_y, e_z on the nodes.
    strain = {a: cell.d(a, f"v{a}") for a in cell.axes}
    c13 = cell["c13"]
    # c13 div v is common to all normal stresses; rounded once, so that a fluid's stay equal.
    pressure = cell.rounded(c13 * cell.sum(strain.values()))
    # Horizontal: (c11 - c13)(e_x + e_y) less 2 mu66 of the other horizontal strain.
    for a in horizontal:
        change = (cell["c11"] - c13) * cell.sum(strain[b] for b in horizontal)
        for b in horizontal.replace(a, ""):
            change = change - 2.0 / cell["q66"] * strain[b]
        cell.put(f"s{a}{a}", cell[f"s{a}{a}"] + pressure + change)
    # Vertical: (c33 - c13) e_z.
    change = (cell["c33"] - c13) * strain["z"]
    cell.put("szz", cell["szz"] + pressure + change)
    # Shear stresses: 1 / c44 across planes z, 1 / c66 within them.
    for a, b in combinations(cell.axes, 2):
        first_axis, second_axis = (b, a) if b == "z" else (a, b)
        _shear(cell, a, b, four_nodes(cell, "q" if b == "z" else "q66", first_axis, second_axis))


def normal_changes(cell, strains: dict) -> dict:
    """Return sum over m of c_nm e_m by n, the normal stresses of normal strains.

    They are c div v, with one of the constants, plus terms of the constants' differences: a fluid's
    constants are equal, and its stresses stay equal to the last bit. Else they would part by
    rounding and turn the fluid, which nothing holds.
    """
    axes = sorted(strains)
    common = cell[named("c", axes[0], axes[-1])]
    pressure = cell.rounded(common * cell.sum(strains[b] for b in axes))
    return {
        a: pressure + cell.sum((cell[named("c", a, b)] - common) * strains[b] for b in axes)
        for a in axes
    }


def isotropic_stress(cell):
    """Hooke's law where one rock fills a cell: s_aa += c11 div v - 2 mu (e_b + e_c)."""
    # s_aa += c11 div v - 2 mu (e_b + e_c), with lambda = c11 - 2 mu.
    strain = {a: cell.d(a, f"v{a}") for a in cell.axes}
    pressure = cell.rounded(cell["c11"] * cell.sum(strain.values()))
    mu = 2.0 / cell["q"]  # twice the modulus
    for a in cell.axes:
        others = cell.sum(strain[b] for b in cell.axes if b != a)
        cell.put(f"s{a}{a}", cell[f"s{a}{a}"] + pressure - mu * others)
    # s_ab += mu (d_b v_a + d_a v_b)
    for a, b in combinations(cell.axes, 2):
        _shear(cell, a, b, four_nodes(cell, "q", a, b))


def four_nodes(cell, q: str, a: str, b: str):
    """Return the sum of 1 / (mu dt) of the four nodes around a shear stress (Moczo et al. 2002)."""
    return cell[q] + cell.next(q, a) + cell.next(q, b) + cell.next(q, a + b)


def _shear(cell, a: str, b: str, compliance) -> None:
    """s_ab += mu (d_b v_a + d_a v_b), mu the harmonic mean of four nodes."""
    name = f"s{a}{b}"
    # Harmonic mean: 4 over the sum of four 1 / (mu dt); 0 beside a fluid.
    mu = 4.0 / compliance
    cell.put(name, cell[name] + mu * cell.total((b, f"v{a}"), (a, f"v{b}")))


def surface(cell):
    """Szz = 0 on a free surface; s_aa loses the contribution c13 / c33 szz of a nonzero szz."""
    excess = cell["szz"]
    c33 = cell["c33"]
    # s_aa loses c13 / c33 szz = szz - (c33 - c13) / c33 szz; in a fluid all of szz.
    share = (c33 - cell["c13"]) / c33 * excess
    for a in cell.axes[:-1]:
        cell.put(f"s{a}{a}", cell[f"s{a}{a}"] - excess + share)
    # szz = 0, as a number of the lane's kind.
    cell.put("szz", excess - excess)


def _stress(a: str, b: str) -> str:
    return f"s{min(a, b)}{max(a, b)}"
