"""Full-waveform inversion: models that fit observed traces, from a YAML file to an HDF5 file."""
