"""Absorbing layers: their profiles, their memory variables, and a watch for growth."""
