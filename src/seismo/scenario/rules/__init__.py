"""Rules between keys of the scenario."""
