"""The section `model` of the scenario."""
