"""Exact waves in layered media."""
