"""Lengths and heights that are far below the spacing: most likely they are meant in km."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from seismo.errors import KeyPath
from seismo.runs.assessment.timing_checks import WarningLines
from seismo.scenario import Scenario
from seismo.scenario.error_messages import key_path
from seismo.scenario.model_parts import BlockPart, SpherePart
from seismo.scenario.topography import FileTopography
from seismo.scenario.units import meant_in_km
from seismo.solver.discretization import Discretization
from seismo.solver.ground import ground_of

_LEAST = 0.1  # of the spacing
_HIGHEST = 9.0  # km, of land
_SLOPES = (0.01, 1.8)  # of ground: of plains, and of 60 degrees


def tiny_lengths(setup: Discretization) -> WarningLines:
    """Name lengths far below the spacing, and ask for their unit."""
    scenario = setup.scenario
    spacing = min(filter(None, map(scenario.grid.spacing.at_top, "xyz")))
    for path, what, length in _lengths(scenario):
        if 0.0 < length < _LEAST * spacing:
            location = scenario.where(*path)
            named = f"{key_path(path)}{location and f' ({location})'}"
            remedy = meant_in_km(length, spacing) or "check its unit"
            yield (
                f"{named}: {what} of {length:.6g} m, in a grid with points every {spacing:.6g} m; "
                f"{remedy}"
            )
    yield from _heights(setup, spacing)


def _heights(setup: Discretization, spacing: float) -> WarningLines:
    """Name heights of a file that make no ground to speak of, and some in km."""
    section = setup.scenario.topography
    ground = ground_of(setup.scenario)
    if not isinstance(section, FileTopography) or ground is None or setup.ground is None:
        return
    highest = float(np.abs(section.datum - ground.z).max())
    least, most = _SLOPES
    is_ground_in_km = highest < _HIGHEST and least < 1e3 * setup.ground.steepest < most
    if ground.relief < _LEAST * spacing and is_ground_in_km:
        yield (
            f"topography.path: heights of {section.path} vary by {ground.relief:.3g} m, in a grid "
            f"with points every {spacing:.6g} m; if they are in km, write them in m"
        )


def _lengths(scenario: Scenario) -> Iterator[tuple[KeyPath, str, float]]:
    """Yield keys, what they are the length of, and lengths in m."""
    for number, model_part in enumerate(scenario.model):
        path = ("model", number)
        if isinstance(model_part, SpherePart):
            yield (*path, "radius"), "a radius", model_part.radius
        elif isinstance(model_part, BlockPart):
            sides = ((axis, getattr(model_part, axis)) for axis in "xyz")
            yield from (
                ((*path, axis), "a side", ends[1] - ends[0]) for axis, ends in sides if ends
            )
    for number, hill in enumerate(getattr(scenario.topography, "hills", ())):
        yield ("topography", "hills", number, "width"), "a width", hill.width
