"""Kernels that sweep the grid: marches along z, layouts of threads, and their launches."""
