"""Plane waves that come from below."""
