"""The plan of a run, said before a step is taken."""
