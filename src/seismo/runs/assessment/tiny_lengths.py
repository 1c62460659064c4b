"""Lengths of the scenario that are far below the spacing: most likely they are meant in km."""

from __future__ import annotations

from collections.abc import Iterator

from seismo.errors import KeyPath
from seismo.runs.assessment.timing_checks import WarningLines
from seismo.scenario import Scenario
from seismo.scenario.error_messages import key_path
from seismo.scenario.model_parts import BlockPart, SpherePart
from seismo.scenario.units import meant_in_km
from seismo.solver.discretization import Discretization

_LEAST = 0.1  # of the spacing


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
