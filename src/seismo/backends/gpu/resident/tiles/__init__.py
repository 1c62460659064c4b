"""Planes in tiles on all multiprocessors of a card."""
