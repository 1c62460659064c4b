"""Elastic waves in rock of each symmetry, with and without loss; in planes P-SV waves, and SH."""

from __future__ import annotations

from seismo.equations.elastic import isotropic, lossy, lossy_tti, orthorhombic, sh, tti

EQUATIONS = (
    isotropic.EQUATION, isotropic.VTI, orthorhombic.EQUATION, tti.EQUATION, tti.TRICLINIC,
    lossy.EQUATION, lossy.VTI, lossy_tti.EQUATION, lossy_tti.TRICLINIC,
    sh.EQUATION, sh.VTI, sh.LOSSY, sh.LOSSY_VTI,
)  # fmt: skip
