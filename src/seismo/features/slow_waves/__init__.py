"""Slow waves of acoustic anisotropy, and isotropic spheres about sources."""

from seismo.features import Feature

FEATURE = Feature(
    "slow_waves",
    earth="spheres:with_spheres",
    causes="spheres:CAUSES",
)
