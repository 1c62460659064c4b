"""Kernels that know no physics."""
