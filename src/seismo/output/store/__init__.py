"""Contents of a results file: groups, arrays, chunks, scales."""
