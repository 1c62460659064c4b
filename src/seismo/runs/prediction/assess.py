"""The quality of a run's results, expected: `check` reports it, and results files keep it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from seismo.features.refinement.error import (
    beside_plane,
    inaccurate_refined,
    refined_error,
)
from seismo.features.refinement.sides import on_side
from seismo.runs.prediction.accuracy import Expected, expected_error
from seismo.runs.prediction.checks.warnings import cautions
from seismo.runs.prediction.resolution import LayerResolution, layers_of
from seismo.solver.discretization import Discretization


@dataclass(frozen=True)
class Assessment:
    """The quality of a run, known before a step is taken.

    Attributes:
        f_max: highest frequency of the sources in Hz.
        layers: media of the earth and how the grid carries their waves.
        expected: error of the traces, and what it comes from.
        warnings: what a seismologist would ask about.
    """

    f_max: float
    layers: list[LayerResolution]
    expected: Expected
    warnings: list[str]


def assess(discretization: Discretization) -> Assessment:
    """Return the error and the warnings to expect of a run."""
    f_max = discretization.highest_frequency
    if discretization.fine is None:
        layers = layers_of(discretization, f_max)
        expected = expected_error(_of_survey(discretization))
        return Assessment(f_max, layers, expected, cautions(discretization, layers, expected))
    expected = refined_error(_of_survey(discretization))
    grids = [(grid, layers_of(grid, f_max)) for grid in (discretization.fine, discretization)]
    lines = [*inaccurate_refined(discretization, expected)]
    lines += [
        line for grid, layers in grids
        for line in cautions(on_side(grid), layers, expected, discretization)
    ]  # fmt: skip
    lines += beside_plane(discretization)
    # What is said of both grids is said once.
    every = [layer for _, layers in grids for layer in layers]
    return Assessment(f_max, every, expected, list(dict.fromkeys(lines)))


def _of_survey(discretization: Discretization) -> Discretization:
    """Return a run with all shots of its survey: each job of an array expects the same error."""
    if len(discretization.shots) == len(discretization.survey_shots):
        return discretization
    fine = None if discretization.fine is None else _of_survey(discretization.fine)
    return replace(discretization, shots=discretization.survey_shots, fine=fine)
