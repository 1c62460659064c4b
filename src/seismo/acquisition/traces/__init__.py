"""Processing of traces, spectra and measures of ground motion."""
