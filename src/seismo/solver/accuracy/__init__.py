"""The stencil and the time step of a run, from the waves that its grid carries."""
