"""Slow waves of acoustic anisotropy, and isotropic spheres about sources."""
