"""Elastic isotropic waves in rock that attenuates: velocity, stress and memory variables.

    rho dv_i/dt = d_j s_ij,    ds_ij/dt = c_ijkl d_k v_l less what the medium remembers

2-D (P-SV) and 3-D, in place of `seismo.equations.elastic`, whose grid, density, effective media and
free surface it has, where the model gives qp or qs. P moduli relax with the weights of P waves,
shear moduli with those of S waves (`seismo.equations.loss.memory_variables`).

Model arrays stand on the nodes: unrelaxed c11 dt, c33 dt, `common` = sqrt(c11 c33) dt, `slack` =
`common` - c13 dt, which is 2 mu dt in one rock and 0 in a fluid, `q` = 1 / (c44 dt), `q66` = 1 /
(c66 dt); and the numbers y of their losses: `y11`, `y33`, `y_slack`, `qy` = q times that of c44,
`qy66`. In a cell that a contact cuts they are exact to first order in 1/Q
(`seismo.model.effective.averaging`). Where none cuts, c11, q, y11 and qy tell all.

**VTI rock** has the same equations, fields and formulas, with the rocks of
`seismo.equations.elastic.vti`: c11 and c33 relax with the weights of P waves, c44 and c66 with
those of S waves, and c13 = sqrt(c11 c33) - `slack` with both (`seismo.equations.loss.anisotropic`,
which tells what quality factors waves then have by direction). Where the model gives qp or qs
beside epsilon, delta or gamma, or the five constants that stand for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from operator import attrgetter

import numpy as np

from seismo.equations.elastic import isotropic
from seismo.equations.elastic import vti as elastic_vti
from seismo.equations.elastic.formulas import four_nodes
from seismo.equations.elastic.isotropic import between_nodes
from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.parameters import (
    QP,
    QS,
    RHO,
    VP,
    VS,
)
from seismo.equations.framework.sloping_ground import shear_rate
from seismo.equations.framework.table import CurvedSurface, IsotropicPlanes, Physics, Stage
from seismo.equations.loss.anisotropic import SHEAR_SHARE, shear_share
from seismo.equations.loss.memory_variables import (
    UNKNOWN,
    CellArrays,
    at_once,
    drive,
    memory_fields,
    names_of,
    numbers_of,
    relaxing_source,
    responses_of_memory,
)
from seismo.equations.loss.relaxation import Relaxation
from seismo.equations.rock import rock_parameters
from seismo.equations.viscoelastic import formulas
from seismo.equations.viscoelastic.formulas import moduli_at_once


def moduli(
    coefficients: Mapping[str, np.ndarray], numbers: Mapping[str, float]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return c33 dt of nodes, and the shear moduli times dt between them, as in one step."""
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


def curved_surface(remembers: tuple[str, ...]) -> CurvedSurface:
    """Return how the equation takes part, with memory variables of shear strains across z."""
    return CurvedSurface(moduli, shear, ("q", "qy"), remembers)


def coefficients(medium: dict, dt: float) -> dict:
    """Return the arrays that formulas take; see above.

    Args:
        medium: those of `seismo.equations.elastic`, and `y_c11`, ... of its stiffnesses.
        dt: time step [s].
    """
    named = isotropic.coefficients(medium, dt)
    # Common P modulus g = sqrt(c11 c33) and d = g - c13, which is 2 mu in one rock.
    named["common"] = np.sqrt(named["c11"] * named["c33"])
    named["slack"] = named["common"] - named.pop("c13")
    # y of each modulus; q y of shear moduli, whose harmonic mean weights y with 1 / mu.
    named |= {"y11": medium["y_c11"], "y33": medium["y_c33"], "y_slack": medium["y_slack"]}
    named["qy"] = named["q"] * medium["y_c44"]
    if "q66" in named:
        named["qy66"] = named["q66"] * medium["y_c66"]
    return named


def one_rock(medium: dict) -> np.ndarray:
    """Return where one rock fills a cell, so that y of c11 and of the shear modulus tell all."""
    # One rock: both P moduli lose alike, and so do both shear moduli.
    close = partial(np.isclose, rtol=1e-6, atol=1e-9)
    alike = close(medium["y_c33"], medium["y_c11"]) & close(medium["y_slack"], medium["y_c44"])
    return isotropic.one_rock(medium) & alike


def strain_responses(axes: str, relaxation: Relaxation, medium: dict) -> dict:
    """Return what strains add to stresses and memory within a step (`Physics.strain_responses`).

    Args:
        axes: "xz" or "xyz".
        relaxation: the mechanisms of a run.
        medium: what `coefficients` takes (rows), on node rows.
    """
    numbers = numbers_of(relaxation, "ps")
    c33, common, slack = formulas.moduli_at_once(CellArrays(coefficients(medium, 1.0), numbers))
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
    """Name the sources; what depends on c11 feels its loss."""
    # Sources of stress c11 q relax as c11 does.
    named = isotropic.drives(axes)

    def share(mean: Callable) -> np.ndarray:
        return relaxation.anelastic("p", mean("y11"))

    return named | {
        kind: tuple(t for term in named[kind] for t in relaxing_source(term, share, relaxation))
        for kind in ("pressure", "volume_rate")
    }


def tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table along some axes: in 2-D that of P-SV waves."""
    relaxation = options or UNKNOWN
    plain = isotropic.tables(axes, None)
    momentum, hooke, _ = plain.stages
    in_space = len(axes) == 3
    # Memory variables of all strain rates, by the indices of the stress.
    memories = {name[1:]: names_of(name[1:], relaxation) for name in hooke.writes}
    remembered = tuple(name for names in memories.values() for name in names)
    strains = (*hooke.writes, *remembered)
    # Each memory variable stands where its strain rate does.
    halves = {strain: plain.named(f"s{strain}").half for strain in memories}
    stiffness = ("c11", "c33", "common", "slack", "q", "y11", "y33", "y_slack", "qy")
    even = IsotropicPlanes(
        formulas.isotropic_stress, ("c11", "q", "y11", "qy"), one_rock, attrgetter("uniform")
    )
    normal = tuple(f"s{a}{a}" for a in axes)
    # Free surface: s_aa gives back c13 / c33 of szz, as both act within the step.
    at_surface = ("c33", "common", "slack", "y11", "y33", "y_slack")
    return Physics(
        axes=axes,
        fields=(*plain.fields, *memory_fields(halves, relaxation)),
        stages=(
            momentum,
            Stage(
                "stress", strains, hooke.reads,
                (*stiffness, *(("q66", "qy66") if in_space else ())), formulas.stress, even=even,
            ),
            Stage(
                "surface", (*normal, *memories["zz"]), (), at_surface, formulas.surface,
                where="surface",
            ),
        ),
        coefficients=coefficients,
        medium=(
            # Averages of the lossless medium, and y of its stiffnesses.
            *plain.medium, "y_c11", "y_c33", "y_slack", "y_c44", *(("y_c66",) if in_space else ())
        ),
        observables=plain.observables,
        drives=drives(axes, relaxation),
        layer_shift=plain.layer_shift,
        fluid_meets_solid=True,
        strain_responses=partial(strain_responses, axes, relaxation),
        fluid_force=plain.fluid_force,
        numbers=numbers_of(relaxation, "ps"),
        gradients=plain.gradients,
        curved_surface=curved_surface(tuple(
            name for a in axes[:-1] for name in memories[f"{a}z"]
        )),
    )  # fmt: skip


EQUATION = Equation(
    name="viscoelastic",
    parameters=(VP, VS, RHO, QP, QS),
    tables=tables,
    extends="elastic",
    nanoseconds={"cpu": {2: 6.4, 3: 30.0}},
    bandwidth_share={"gpu": {2: 0.83, 3: 0.90}},
    layered=isotropic.LAYERED.with_further(math.inf, math.inf),
)


def vti_tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table along some axes: in 2-D that of P-SV waves."""
    table = elastic_vti.of_rocks(tables(axes, options))
    # Least qp for the qs of each rock, so that every strain loses energy.
    share = partial(shear_share, dimensions=len(axes))
    return replace(
        table,
        conversion=rock_parameters.attenuating(rock_parameters.vti(), QP.name, QS.name),
        derived={**table.derived, SHEAR_SHARE: share},
    )


VTI = Equation(
    name="viscoelastic_vti",
    parameters=(*elastic_vti.EQUATION.parameters, QP, QS),
    tables=vti_tables,
    instead=rock_parameters.OF_VTI,
    extends="elastic",
    nanoseconds={"cpu": {2: 8.4, 3: 39.0}},
    layered=elastic_vti.EQUATION.waves_in_layers.with_further(math.inf, math.inf),
)
