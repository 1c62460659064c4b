"""Seismograms, record sections and spectra."""
