"""Shared parts of inversions, images and kernels: settings, observed traces, journal, ranks."""
