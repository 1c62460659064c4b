"""Elastic waves that attenuate, in place of those of `seismo.equations.elastic`."""

from __future__ import annotations

from seismo.equations.viscoelastic import isotropic, sh, tti

EQUATIONS = (
    isotropic.EQUATION, isotropic.VTI, sh.EQUATION, sh.VTI, tti.EQUATION, tti.TRICLINIC,
)  # fmt: skip
