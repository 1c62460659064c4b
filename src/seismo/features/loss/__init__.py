"""Attenuation: mechanisms of a run, effective losses, storage and checks."""
