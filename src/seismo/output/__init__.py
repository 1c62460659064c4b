"""Results on disk: an HDF5 file per run, its writer, its reader and its provenance."""
