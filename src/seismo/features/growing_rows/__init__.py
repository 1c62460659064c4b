"""Rows whose spacing grows with depth."""
