"""Guarded readers of text, NumPy and HDF5 files from outside."""
