"""What samples of gridded models mean, for the report of `seismo check`."""

from __future__ import annotations

from collections.abc import Iterator

from seismo.scenario.part_keys import GriddedPart
from seismo.solver.discretization import Discretization

_MEANINGS = {  # by their interpolation
    "linear": "values between points are linear; interpolation: cells makes each a rock to midway",
    "cells": "each point is the rock of its cell, which ends midway to the next (interpolation)",
}


def sample_facts(setup: Discretization) -> Iterator[tuple[str, str]]:
    """Yield a line for each meaning of samples in the model."""
    gridded = (section for section in setup.scenario.model if isinstance(section, GriddedPart))
    for interpolation in dict.fromkeys(section.interpolation for section in gridded):
        yield "samples", _MEANINGS[interpolation]
