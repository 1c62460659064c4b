"""Uses of a scenario: check, run, resume, batch jobs, benchmarks."""
