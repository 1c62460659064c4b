"""Effective media of cells of the grid."""
