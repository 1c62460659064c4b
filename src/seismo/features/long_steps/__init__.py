"""Stencils that allow longer time steps."""
