"""Arrays of runs with Deepwave, Devito and the like."""
