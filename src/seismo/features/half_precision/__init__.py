"""Fields in 16 bits."""
