"""Kernels, memory and launches of a GPU."""
