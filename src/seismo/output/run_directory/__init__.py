"""The run directory: locks, partial files and checkpoints."""
