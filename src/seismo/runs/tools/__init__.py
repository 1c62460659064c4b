"""Benchmarks, verification, profiles and kernels."""
