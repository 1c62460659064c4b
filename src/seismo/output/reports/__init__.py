"""Reports on results files."""
