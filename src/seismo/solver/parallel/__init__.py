"""The subdomains of a run: their division, halos, and the region that can move."""
