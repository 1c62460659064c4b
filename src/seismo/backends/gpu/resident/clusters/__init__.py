"""Planes in the shared memory of a cluster of blocks."""
