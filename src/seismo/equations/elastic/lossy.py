"""Elastic isotropic waves in rock that attenuates: velocity, stress and memory variables.

    rho dv_i/dt = d_j s_ij,    ds_ij/dt = c_ijkl d_k v_l less memory terms

2-D (P-SV) and 3-D, in place of `seismo.equations.elastic.isotropic`, whose grid, density, effective
media and free surface it has, where the model gives qp or qs. P moduli relax with the weights of P
waves, shear moduli with weights of S waves (`seismo.equations.framework.memory_variables`).

Model arrays stand on the nodes: unrelaxed c11 dt, c33 dt, `common` = sqrt(c11 c33) dt, `slack` =
`common` - c13 dt, which is 2 mu dt in a single rock and 0 in a fluid, `q` = 1 / (c44 dt), `q66` = 1
/ (c66 dt); and the numbers y of their losses: `y11`, `y33`, `y_slack`, `qy` = q times that of c44,
`qy66`. In a cell that a contact cuts they are exact to first order in 1/Q
(`seismo.model.effective.averaging`). Where none cuts, c11, q, y11 and qy tell all. Each shear
modulus acts on its strain rate less its memory, mu (e - sum Y_l xi^l); formulas are the same for
space and for P-SV waves in a plane.

**VTI rock** has the same equations, fields and formulas, with the rocks of
`seismo.equations.elastic.isotropic`: c11 and c33 relax with the weights of P waves, c44 and c66
with those of S waves, and c13 = sqrt(c11 c33) - `slack` with both
(`seismo.equations.rock.anisotropic_loss`, with the quality factors of waves by direction). Where
the model gives qp or qs beside epsilon, delta or gamma, or the five constants that stand for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from operator import attrgetter

import numpy as np

from seismo.equations.elastic import isotropic
from seismo.equations.elastic.formulas import four_nodes
from seismo.equations.elastic.isotropic import between_nodes
from seismo.equations.framework.memory_variables import (
    UNKNOWN,
    CellArrays,
    added,
    at_once,
    drive,
    loss,
    loss_between,
    names_of,
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
from seismo.equations.framework.sloping_ground import shear_rate
from seismo.equations.framework.table import CurvedSurface, IsotropicPlanes, Physics
from seismo.equations.rock import rock_parameters
from seismo.equations.rock.anisotropic_loss import SHEAR_SHARE, shear_share
from seismo.equations.rock.relaxation import Relaxation


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
    """Return the normal strain rates and their memory terms."""
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
    """Return c33, g and d of a strain within a step: c (1 - sum Y_l b_l / 2)."""
    c33 = cell["c33"] * (1.0 - at_once(cell, "p", cell["y33"]))
    common = cell["common"] * (1.0 - at_once(cell, "p", _y_common(cell)))
    slack = cell["slack"] * (1.0 - at_once(cell, "s", cell["y_slack"]))
    return c33, common, slack


def free_surface(cell):
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


def moduli(
    coefficients: Mapping[str, np.ndarray], numbers: Mapping[str, float]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return c33 dt of nodes, and the shear moduli times dt between them, within a step."""
    arrays = CellArrays(dict(coefficients), dict(numbers))
    c33, *_ = moduli_at_once(arrays)
    shear_moduli = {}
    for a in "xy":
        # Harmonic mean of four nodes; y their mean weighted with 1 / mu.
        compliance = between_nodes(coefficients["q"], a)
        y = between_nodes(coefficients["qy"], a) / compliance
        shear_moduli[a] = 4.0 / compliance * (1.0 - at_once(arrays, "s", y))
    return c33, shear_moduli


def shear(cell):
    """s_az and its memory take the strain rate -P0 Px(a e) / g of the surface."""
    for a in cell.axes[:-1]:
        compliance = four_nodes(cell, "q", "z", a)
        y = four_nodes(cell, "qy", "z", a) / compliance
        rate = -1.0 * shear_rate(cell, a)
        change = 4.0 / compliance * (1.0 - at_once(cell, "s", y)) * rate
        cell.put(f"s{a}z", cell[f"s{a}z"] + change)
        drive(cell, f"{a}z", rate)


def coefficients(medium: dict, dt: float) -> dict:
    """Return the arrays that formulas take; see above.

    Args:
        medium: as in `seismo.equations.elastic.isotropic`, and `y_c11`, ... of its stiffnesses.
        dt: time step [s].
    """
    named = isotropic.coefficients(medium, dt)
    # Common P modulus g = sqrt(c11 c33) and d = g - c13, which is 2 mu in a single rock.
    named["common"] = np.sqrt(named["c11"] * named["c33"])
    named["slack"] = named["common"] - named.pop("c13")
    # y of each modulus; q y of shear moduli, whose harmonic mean weights y with 1 / mu.
    named |= {"y11": medium["y_c11"], "y33": medium["y_c33"], "y_slack": medium["y_slack"]}
    named["qy"] = named["q"] * medium["y_c44"]
    if "q66" in named:
        named["qy66"] = named["q66"] * medium["y_c66"]
    return named


def one_rock(medium: dict) -> np.ndarray:
    """Return where one rock fills a cell, so that y of c11 and of the shear modulus suffice."""
    # One rock: both P moduli lose alike, and so do both shear moduli.
    close = partial(np.isclose, rtol=1e-6, atol=1e-9)
    alike = close(medium["y_c33"], medium["y_c11"]) & close(medium["y_slack"], medium["y_c44"])
    return isotropic.one_rock(medium) & alike


def strain_responses(axes: str, relaxation: Relaxation, medium: dict) -> dict:
    """Return responses of stresses and memory to strains in a step (`Physics.strain_responses`).

    Args:
        axes: "xz" or "xyz".
        relaxation: the mechanisms of a run.
        medium: as for `coefficients` (rows), on node rows.
    """
    numbers = numbers_of(relaxation, "ps")
    c33, common, slack = moduli_at_once(CellArrays(coefficients(medium, 1.0), numbers))
    lossless = isotropic.strain_responses(axes, medium | {"c33": c33, "c13": common - slack})
    # y of a half row: the mean of two nodes weighted with 1 / mu.
    pair = [coefficients(medium, 1.0)[name] for name in ("q", "qy")]
    q, qy = (array + np.append(array[1:], array[-1:]) for array in pair)
    kept = 1.0 - at_once(CellArrays({}, numbers), "s", qy / q)
    responses = {}
    for strain, rates in lossless.items():
        lost = 1.0 if strain == "zz" else kept
        responses[strain] = {name: rate * lost for name, rate in rates.items()}
        responses[strain] |= responses_of_memory(strain, relaxation, c33)
    return responses


def drives(axes: str, relaxation: Relaxation) -> dict:
    """Name the sources; strengths that depend on c11 feel its loss."""
    # Sources of stress c11 q relax as c11 does.
    named = isotropic.drives(axes)

    def share(mean: Callable) -> np.ndarray:
        return relaxation.anelastic("p", mean("y11"))

    return named | {
        kind: tuple(t for term in named[kind] for t in relaxing_source(term, share, relaxation))
        for kind in ("pressure", "volume_rate")
    }


def tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table along `axes`: in 2-D of P-SV waves."""
    relaxation = options or UNKNOWN
    plain = isotropic.tables(axes, None)
    _, hooke, surface = plain.stages
    further = ("q66", "qy66") if len(axes) == 3 else ()
    # Memory of all strain rates, by the indices of the stress and where this stands.
    strains = {name[1:]: plain.named(name).half for name in hooke.writes}
    stiffness = ("c11", "c33", "common", "slack", "q", "y11", "y33", "y_slack", "qy", *further)
    even = IsotropicPlanes(isotropic_stress, ("c11", "q", "y11", "qy"), one_rock,
                           attrgetter("uniform"))  # fmt: skip
    # Free surface: s_aa gives back c13 / c33 of szz, as both act within the step.
    at_surface = ("c33", "common", "slack", "y11", "y33", "y_slack")
    losses = ("y_c11", "y_c33", "y_slack", "y_c44", *(("y_c66",) if further else ()))
    across = tuple(name for a in axes[:-1] for name in names_of(f"{a}z", relaxation))
    return with_loss(
        plain, relaxation, "ps", strains,
        [
            with_memory(hooke, stress, strains, stiffness, relaxation, even),
            with_memory(surface, free_surface, ("zz",), at_surface, relaxation),
        ],
        coefficients, losses,
        drives=drives(axes, relaxation),
        strain_responses=partial(strain_responses, axes, relaxation),
        curved_surface=CurvedSurface(moduli, shear, ("q", "qy"), across),
    )  # fmt: skip


EQUATION = isotropic.EQUATION.attenuating(
    "viscoelastic",
    tables,
    QP,
    QS,
    nanoseconds={"cpu": {2: 6.4, 3: 30.0}},
    bandwidth_share={"gpu": {2: 0.83, 3: 0.90}},
)


def vti_tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table along `axes`: in 2-D of P-SV waves."""
    table = isotropic.of_rocks(tables(axes, options))
    # Least qp for the qs of each rock, so that every strain loses energy.
    share = partial(shear_share, dimensions=len(axes))
    return replace(
        table,
        conversion=rock_parameters.attenuating(rock_parameters.vti(), QP.name, QS.name),
        derived={**table.derived, SHEAR_SHARE: share},
    )


VTI = isotropic.VTI.attenuating(
    "viscoelastic_vti", vti_tables, QP, QS, nanoseconds={"cpu": {2: 8.4, 3: 39.0}}
)
