"""Images of contacts by reverse-time migration, and sensitivity kernels: from YAML to HDF5."""
