"""Slow waves of acoustic anisotropy, and isotropic spheres about sources."""

from seismo.features import Feature

FEATURE = Feature(
    "slow_waves",
    earth="spheres_at_sources:with_spheres",
    causes="error:CAUSES",
)
