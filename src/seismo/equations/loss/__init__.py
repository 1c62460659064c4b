"""Relaxation mechanisms and laws of attenuation."""
