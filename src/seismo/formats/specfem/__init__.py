"""Files of SPECFEM3D and SPECFEM2D."""
