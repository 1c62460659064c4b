"""Fields read at any position, and sources spread from it."""
