"""Elastic constants of rock and the speeds of its waves."""
