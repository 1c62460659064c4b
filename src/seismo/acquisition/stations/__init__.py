"""Stations and receivers."""
