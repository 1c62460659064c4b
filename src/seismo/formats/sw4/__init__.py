"""Files of SW4."""
