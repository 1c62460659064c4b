"""Sources and records of a run: injection, receivers, snapshots and maps."""
