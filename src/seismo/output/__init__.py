"""Results on disk: one HDF5 file per run, its writer, its reader and its provenance."""
