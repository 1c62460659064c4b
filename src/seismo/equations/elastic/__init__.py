"""Elastic waves in rock of each symmetry; in planes P-SV waves, and SH waves."""

from __future__ import annotations

from seismo.equations.elastic import isotropic, orthorhombic, sh, tti, vti

EQUATIONS = (
    isotropic.EQUATION, sh.EQUATION, vti.EQUATION, sh.VTI, orthorhombic.EQUATION,
    tti.EQUATION, tti.TRICLINIC,
)  # fmt: skip
