"""Point sources, moment tensors and events."""
