"""What is done with a scenario: check, run, resume, batch jobs, benchmarks."""
