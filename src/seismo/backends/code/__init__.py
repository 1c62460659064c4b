"""Formulas as compiled code, and the cache that keeps it."""
