"""Source time functions."""
