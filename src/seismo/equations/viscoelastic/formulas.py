"""Updates of stresses in rock that attenuates, one text for space and for P-SV waves in a plane.

Symbols are those of `seismo.equations.viscoelastic`; the velocities are those of
`seismo.equations.elastic`. Each shear modulus acts on its strain rate less what the memory of that
lacks: mu (e - sum Y_l xi^l).
"""

from __future__ import annotations

from itertools import combinations

from seismo.equations.elastic.formulas import four_nodes
from seismo.equations.loss.memory_variables import (
    added,
    at_once,
    drive,
    loss,
    loss_between,
    remember,
)


def isotropic_stress(cell):
    """Hooke's law where one rock fills a cell: s_aa += M div v - 2 mu (e_b + e_c)."""
    # Read all before anything is written.
    before = _normal_stresses(cell)
    strain, memory = _normal_strains(cell)
    # M (div v - sum Y_l xi^l), with the memory of the volume strain.
    total = cell.sum(strain.values()) - loss(cell, "p", cell["y11"], added(*memory.values()))
    pressure = cell.rounded(cell["c11"] * total)
    mu = 2.0 / cell["q"]  # twice the modulus
    # y of the shear modulus: (q y) / q.
    y = 0.5 * mu * cell["qy"]
    for a in cell.axes:
        # 2 mu (e_b + e_c - sum Y_l (xi_b + xi_c))
        others = [b for b in cell.axes if b != a]
        change = cell.sum(strain[b] for b in others)
        change = change - loss(cell, "s", y, added(*(memory[b] for b in others)))
        cell.put(f"s{a}{a}", before[a] + pressure - mu * change)
    _shear_stresses(cell, {a + b: ("q", "qy") for a, b in combinations(cell.axes, 2)})


def stress(cell):
    """Hooke's law of a medium that is transversely isotropic about z.

    With the common P modulus g = sqrt(c11 c33) and d = g - c13, both horizontal stresses and szz:
    s_zz += g div v + (c33 - g) e_z - d (e_x + e_y),
    s_aa += g div v + (c11 - g) (e_x + e_y) - d e_z - 2 mu66 e_b, b the other horizontal axis.
    In a fluid d, c11 - g, c33 - g and mu66 are zero.
    """
    # Read all before anything is written.
    before = _normal_stresses(cell)
    strain, memory = _normal_strains(cell)
    horizontal = cell.axes[:-1]
    slack = cell["slack"]
    y_slack = cell["y_slack"]
    y = _y_common(cell)
    # g (div v - sum Y_l xi^l): common to all normal stresses.
    total = cell.sum(strain.values()) - loss(cell, "p", y, added(*memory.values()))
    pressure = cell.rounded(cell["common"] * total)
    # szz: (c33 - g) e_z - d (e_x + e_y), each modulus with its own loss.
    along = cell.sum(strain[b] for b in horizontal)
    remembered = added(*(memory[b] for b in horizontal))
    lacking = along - loss(cell, "s", y_slack, remembered)
    change = _beyond_common(cell, "33", y, strain["z"], memory["z"]) - slack * lacking
    cell.put("szz", before["z"] + pressure + change)
    # What is common to the horizontal stresses.
    vertical = strain["z"] - loss(cell, "s", y_slack, memory["z"])
    change = _beyond_common(cell, "11", y, along, remembered) - slack * vertical
    for a in horizontal:
        normal_change = change
        # 3-D: less 2 mu66 of the other horizontal strain.
        for b in horizontal.replace(a, ""):
            mu = 2.0 / cell["q66"]  # twice the modulus
            normal_change = normal_change - mu * (
                strain[b] - loss(cell, "s", 0.5 * mu * cell["qy66"], memory[b])
            )
        cell.put(f"s{a}{a}", before[a] + pressure + normal_change)
    # Shear stresses: 1 / c44 across planes z, 1 / c66 within them.
    pairs = combinations(cell.axes, 2)
    _shear_stresses(cell, {a + b: ("q", "qy") if b == "z" else ("q66", "qy66") for a, b in pairs})


def _y_common(cell):
    """Return y of sqrt(c11 c33), the mean of theirs."""
    return 0.5 * (cell["y11"] + cell["y33"])


def _beyond_common(cell, modulus: str, y_common, strain, memory):
    """Return (c - g) e, each modulus with its own loss; `modulus` is "11" or "33"."""
    c = cell[f"c{modulus}"]
    y = cell[f"y{modulus}"]
    g = cell["common"]
    # (c - g)(e - sum Y_l(g) xi) - c sum (Y_l(c) - Y_l(g)) xi
    lossy = (c - g) * (strain - loss(cell, "p", y_common, memory))
    return lossy - c * loss_between(cell, "p", y, y_common, memory)


def _normal_stresses(cell) -> dict:
    return {a: cell[f"s{a}{a}"] for a in cell.axes}


def _normal_strains(cell) -> tuple[dict, dict]:
    """Return the normal strain rates and what is remembered of them."""
    strain = {a: cell.d(a, f"v{a}") for a in cell.axes}
    memory = remember(cell, {a + a: rate for a, rate in strain.items()})
    return strain, {a: memory[a + a] for a in strain}


def _shear_stresses(cell, arrays: dict) -> None:
    """s_ab += mu (d_b v_a + d_a v_b), mu the harmonic mean of four nodes, y weighted with 1/mu.

    `arrays` names 1 / (mu dt) and that times y, for each pair of axes.
    """
    before = {ab: cell[f"s{ab}"] for ab in arrays}
    # 2 e_ab = d_b v_a + d_a v_b
    rate = {ab: cell.total((ab[1], f"v{ab[0]}"), (ab[0], f"v{ab[1]}")) for ab in arrays}
    memory = remember(cell, rate)
    for ab, (q, qy) in arrays.items():
        first_axis, second_axis = ab[::-1] if ab[1] == "z" else ab
        # mu: harmonic mean of four nodes; y: their mean weighted with 1 / mu.
        compliance = four_nodes(cell, q, first_axis, second_axis)
        y = four_nodes(cell, qy, first_axis, second_axis) / compliance
        change = 4.0 / compliance * (rate[ab] - loss(cell, "s", y, memory[ab]))
        cell.put(f"s{ab}", before[ab] + change)


def moduli_at_once(cell):
    """Return c33, g and d of a strain within one step: c (1 - sum Y_l b_l / 2)."""
    c33 = cell["c33"] * (1.0 - at_once(cell, "p", cell["y33"]))
    common = cell["common"] * (1.0 - at_once(cell, "p", _y_common(cell)))
    slack = cell["slack"] * (1.0 - at_once(cell, "s", cell["y_slack"]))
    return c33, common, slack


def surface(cell):
    """Szz = 0 on a free surface: e_z is such that it is, and acts on s_aa and the memory, too.

    s_aa gives back c13 / c33 szz. Within a step stiffnesses are c (1 - sum Y_l b_l / 2).
    """
    excess = cell["szz"]
    c33, common, slack = moduli_at_once(cell)
    # c13 = g - d: s_aa loses c13 / c33 szz.
    share = (c33 - common + slack) / c33 * excess
    for a in cell.axes[:-1]:
        cell.put(f"s{a}{a}", cell[f"s{a}{a}"] - excess + share)
    cell.put("szz", excess - excess)
    # The memory of e_zz takes the strain rate that szz = 0 adds.
    drive(cell, "zz", -1.0 / c33 * excess)
