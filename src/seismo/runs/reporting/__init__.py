"""Progress, status and telemetry of runs."""
