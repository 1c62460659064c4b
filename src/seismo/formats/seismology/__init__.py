"""Formats of observational seismology: QuakeML, StationXML, SAC, ASDF, FDSN text."""
