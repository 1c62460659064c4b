"""Parts of the earth from gridded files."""
