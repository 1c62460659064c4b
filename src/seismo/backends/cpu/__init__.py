"""Kernels and threads of the CPU."""
