"""Checkpoints, resumption, signals and deadlines of runs."""
