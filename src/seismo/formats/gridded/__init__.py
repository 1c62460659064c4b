"""Gridded earth models: NetCDF, OpenSWPC, GeoModelGrids."""
