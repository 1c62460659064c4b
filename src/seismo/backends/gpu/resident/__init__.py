"""Planes that live in shared memory, with the time loop in the kernel."""
