"""Acoustic waves in VTI and TTI rock that attenuates; density is constant.

The equations and fields are those of `seismo.equations.acoustic.vti`, where the model gives qp
beside epsilon or delta. All moduli relax alike, so that Q is qp in all directions. What is
remembered is H p, `across`, and Z r, `along`, at t = n dt, as in `seismo.equations.viscoacoustic`:
with the memory xi of either,

    H p - sum Y_l xi^l,    Z r - sum Y_l xi^l

stand in their places. `y` is the number of the loss of vp^2.

**Tilted axes.** The equations and fields are those of `seismo.equations.acoustic.tti`, where the
model gives qp beside theta. What is remembered is the curvature across the axis, H p, and along it,
N r: vp^2 stands outside of both, so that with the memory xi of either

    H p - sum Y_l xi^l,    N r - sum Y_l xi^l

stand in their places. The slopes along the axis, which H and N are made of, remember nothing. In
absorbing layers the medium turns to delta = epsilon as without loss, and keeps its Q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from seismo.equations.acoustic import tti as acoustic_tti
from seismo.equations.acoustic import vti as acoustic_vti
from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.parameters import QP
from seismo.equations.framework.table import Physics, Stage
from seismo.equations.loss.memory_variables import (
    UNKNOWN,
    loss,
    memory_fields,
    names_of,
    numbers_of,
    remember,
    strain_source,
)
from seismo.equations.loss.relaxation import Relaxation

CURVATURES = ("across", "along")


def pressures(cell):
    """Advance both pressures by what lasts of H p and Z r."""
    advance_by_what_lasts(cell, acoustic_vti.curvatures)


def advance_by_what_lasts(cell, curvatures: Callable) -> None:
    """Advance both pressures by curvatures(cell), those across and along the axis, less loss."""
    # H p and Z r, each less sum Y_l xi^l of its own memory.
    before = acoustic_vti.present(cell)
    y = cell["y"]
    rates = dict(zip(CURVATURES, curvatures(cell), strict=True))
    memory = remember(cell, rates)
    lasting = [rate - loss(cell, "p", y, memory[name]) for name, rate in rates.items()]
    acoustic_vti.advance(cell, before, *lasting)


def with_loss(plain: Physics, advance: Callable, relaxation: Relaxation) -> Physics:
    """Return the table of a lossless equation of two pressures with the memory of curvatures.

    Args:
        plain: the table, whose last stage advances the pressures.
        advance: function(cell), which does so with loss.
        relaxation: the mechanisms.
    """
    *others, last = plain.stages
    # A source of volume is a strain rate of both kinds, as the mean stress weighs them.
    share = 1.0 - 1.0 / len(plain.axes)  # of the mean stress that p has
    shares = {"across": lambda mean, dt: share, "along": lambda mean, dt: 1.0 - share}
    volume = zip(plain.drives["pressure"], shares.items(), strict=True)
    remembered = tuple(name for strain in CURVATURES for name in names_of(strain, relaxation))

    def coefficients(medium: dict, dt: float) -> dict:
        # Those of the lossless equation, and y.
        return plain.coefficients(medium, dt) | {"y": medium["y_vp"]}

    return replace(
        plain,
        fields=(*plain.fields, *memory_fields(dict.fromkeys(CURVATURES, ""), relaxation)),
        stages=(
            *others,
            Stage(
                last.name, (*last.writes, *remembered), last.reads, (*last.coefficients, "y"),
                advance, shares=last.shares,
            ),
        ),
        coefficients=coefficients,
        medium=(*plain.medium, "y_vp"),
        drives=plain.drives | {
            "pressure": tuple(
                one
                for term, (strain, rate) in volume
                for one in strain_source(term, rate, strain, relaxation)
            )
        },
        numbers=numbers_of(relaxation, "p"),
    )  # fmt: skip


def tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table along some axes."""
    return with_loss(acoustic_vti.tables(axes, None), pressures, options or UNKNOWN)


EQUATION = Equation(
    name="viscoacoustic_vti",
    parameters=(*acoustic_vti.EQUATION.parameters, QP),
    tables=tables,
    extends="acoustic",
    nanoseconds={"cpu": {2: 2.9, 3: 7.4}},
)


def tilted_pressures(cell):
    """Advance both pressures by what lasts of H p and N r."""
    advance_by_what_lasts(cell, acoustic_tti.curvatures)


def tti_tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table along some axes."""
    return with_loss(acoustic_tti.tables(axes, None), tilted_pressures, options or UNKNOWN)


TTI = replace(
    acoustic_tti.EQUATION,
    name="viscoacoustic_tti",
    parameters=(*acoustic_tti.EQUATION.parameters, QP),
    tables=tti_tables,
    nanoseconds={"cpu": {2: 6.2, 3: 19.0}},
    bandwidth_share={},
    energy=None,
)
