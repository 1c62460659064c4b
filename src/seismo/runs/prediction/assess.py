"""The quality of a run's results, expected: `check` reports it, and results files keep it.

A feature that makes several grids of a run assesses these together, by the hook `assess`;
further facts of features come by the hook `findings`, a tuple of `Finding`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from seismo.features import acting
from seismo.runs.prediction.accuracy import Expected, expected_error
from seismo.runs.prediction.checks.warnings import cautions
from seismo.runs.prediction.remedy import remedy_of_a_miss
from seismo.runs.prediction.resolution import LayerResolution, layers_of
from seismo.solver.discretization import Discretization


@dataclass(frozen=True)
class Assessment:
    """The quality of a run, known before a step is taken.

    Attributes:
        f_max: highest frequency of the sources in Hz.
        layers: media of the earth and how the grid carries their waves.
        expected: error of the traces, and its causes.
        warnings: questions of a seismologist.
        remedy: function(discretization, expected) -> the remedy where the wanted accuracy is missed
            and no warning says so, "" otherwise.
    """

    f_max: float
    layers: list[LayerResolution]
    expected: Expected
    warnings: list[str]
    remedy: Callable[[Discretization, Expected], str] = remedy_of_a_miss


@dataclass(frozen=True)
class Finding:
    """A fact of a feature about a run, that `check` prints and gives as plain data.

    Attributes:
        key: in plain data.
        label: of its line.
        find: function(discretization, expected) -> an object with `as_dict`, None where there is
            nothing to say.
    """

    key: str
    label: str
    find: Callable[[Discretization, Expected], Any]


def assess(discretization: Discretization) -> Assessment:
    """Return the error and the warnings to expect of a run."""
    for assessed in acting("assess", discretization.scenario):
        if assessment := assessed(discretization):
            return assessment
    f_max = discretization.highest_frequency
    layers = layers_of(discretization, f_max)
    expected = expected_error(of_survey(discretization))
    return Assessment(f_max, layers, expected, cautions(discretization, layers, expected))


def of_survey(discretization: Discretization) -> Discretization:
    """Return a run with all shots of its survey: each job of an array expects the same error."""
    if len(discretization.shots) == len(discretization.survey_shots):
        return discretization
    above = None if discretization.above is None else of_survey(discretization.above)
    return replace(discretization, shots=discretization.survey_shots, above=above)
