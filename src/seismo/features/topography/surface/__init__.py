"""Free surface of rows that follow the ground."""
