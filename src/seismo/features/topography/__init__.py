"""Ground that is not flat: rows of the grid that follow it."""
