"""Plane sections of model and wavefield."""
