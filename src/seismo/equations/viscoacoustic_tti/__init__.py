"""Acoustic waves in rock of tilted axis that attenuates; density is constant.

The equations and fields are those of `seismo.equations.acoustic_tti`, where the model gives qp
beside theta. All moduli relax alike, so that Q is qp in all directions. As in
`seismo.equations.viscoacoustic_vti` what is remembered is the curvature across the axis, H p, and
along it, N r: vp^2 stands outside of both, so that with the memory xi of either

    H p - sum Y_l xi^l,    N r - sum Y_l xi^l

stand in their places. The slopes along the axis, which H and N are made of, remember nothing. In
absorbing layers the medium turns to delta = epsilon as without loss, and keeps its Q.
"""

from __future__ import annotations

from dataclasses import replace

from seismo.equations import acoustic_tti
from seismo.equations.framework.parameters import QP
from seismo.equations.framework.table import Physics
from seismo.equations.loss.memory_variables import UNKNOWN
from seismo.equations.loss.relaxation import Relaxation
from seismo.equations.viscoacoustic_vti import advance_by_what_lasts, with_loss


def pressures(cell):
    """Advance both pressures by what lasts of H p and N r."""
    advance_by_what_lasts(cell, acoustic_tti.curvatures)


def tables(axes: str, options: Relaxation | None) -> Physics:
    """Return the table along some axes."""
    return with_loss(acoustic_tti.tables(axes, None), pressures, options or UNKNOWN)


EQUATION = replace(
    acoustic_tti.EQUATION,
    name="viscoacoustic_tti",
    parameters=(*acoustic_tti.EQUATION.parameters, QP),
    tables=tables,
    nanoseconds={"cpu": {2: 6.2, 3: 19.0}},
    bandwidth_share={},
    energy=None,
)
