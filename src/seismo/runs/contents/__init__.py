"""Contents that a run adds to its results file."""
