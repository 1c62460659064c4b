"""Runs in memory for many models of the same grid, and derivatives by them."""
