"""SEG-Y and Seismic Unix files."""
