"""From a scenario to the time loop: discretization, fields, stages, boundaries, recording."""
