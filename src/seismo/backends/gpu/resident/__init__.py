"""Planes that live in shared memory, of a cluster or in tiles, with the time loop in the kernel."""
