"""Maps seen from above."""
