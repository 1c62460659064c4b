"""Samples of gridded models, and spheres about sources, for the report of `seismo check`."""

from __future__ import annotations

from collections.abc import Iterator

from seismo.scenario.earth.part_keys import GriddedPart
from seismo.scenario.units import with_unit
from seismo.solver.discretization import Discretization

_MEANINGS = {  # by their interpolation
    "linear": "values between points are linear; interpolation: cells makes each a rock to midway",
    "cells": "each point is the rock of its cell, which ends midway to the next (interpolation)",
}


def sample_facts(discretization: Discretization) -> Iterator[tuple[str, str]]:
    """Yield a line for each meaning of samples in the model, and one of spheres about sources."""
    gridded = (
        section for section in discretization.scenario.model if isinstance(section, GriddedPart)
    )
    for interpolation in dict.fromkeys(section.interpolation for section in gridded):
        yield "samples", _MEANINGS[interpolation]
    if (spheres := discretization.earth.spheres) is not None:
        yield (
            "spheres",
            f"{len(spheres.centres)} of {with_unit(spheres.radius, 'm')} about sources: "
            f"{spheres.turned} turns to {spheres.other} (isotropic_source)",
        )
