"""Contributions to an assessment: causes of errors, warnings, facts, and their formats.

A feature gives its causes of the expected error by the hook `causes`, a tuple of `Cause`, its
warnings by the hook `checks`, a tuple of `Check`, and its facts by the hook `reports`, a tuple of
`Report`. They come behind the core's own of the same subject. Causes of the core stand in
`seismo.runs.prediction.accuracy`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from seismo.acquisition.receivers import ReceiverGroup
from seismo.features import acting
from seismo.grid.grid import AXES
from seismo.runs.coordinates import true_positions
from seismo.scenario import Scenario
from seismo.solver.discretization import Discretization

WarningLines = Iterator[str]
_USELESS = 0.7  # relative error of traces that have little to do with the true ones
_MOST_NAMED = 3


def always(discretization: Discretization) -> bool:
    """Whether a finer grid has less of an error: of most."""
    return True


def never(discretization: Discretization) -> bool:
    """Whether a finer grid has less of an error: not where this is given."""
    return False


@dataclass(frozen=True)
class Cause:
    """A cause of errors.

    Attributes:
        name: as `check` calls it, or the beginning of that.
        error: function(discretization) -> relative L2 error of the worst trace; None of causes that
            are found together with others.
        subject: of the error: "medium", "surface" or "contacts".
        power: of the spacing, with which it falls; None without such a law of its own.
        falls_with_order: whether differences of a higher order have less of it.
        falls_with_spacing: function(discretization) -> whether a finer grid is its remedy.
        remedy: text, or function(discretization) -> text, of its remedy otherwise; "" without any.
        key: of the scenario, for warnings of an error that is mostly of this cause.
    """

    name: str
    error: Callable[[Discretization], float] | None = None
    subject: str = ""
    power: float | None = None
    falls_with_order: bool = False
    falls_with_spacing: Callable[[Discretization], bool] = always
    remedy: str | Callable[[Discretization], str] = ""
    key: str = "grid.spacing"

    def mend(self, discretization: Discretization) -> str:
        """Return the remedy where a finer grid is none, "" without any."""
        return self.remedy if isinstance(self.remedy, str) else self.remedy(discretization)


def causes_of_features(scenario: Scenario) -> list[Cause]:
    """List the causes of the features that a scenario uses."""
    return [cause for causes in acting("causes", scenario) for cause in causes]


def errors_of_features(discretization: Discretization, subject: str) -> list[tuple[str, float]]:
    """List the errors of a run by features, of a subject."""
    return [
        (cause.name, cause.error(discretization))
        for cause in causes_of_features(discretization.scenario)
        if cause.subject == subject and cause.error
    ]


@dataclass(frozen=True)
class Check:
    """Warnings of a feature.

    Attributes:
        subject: of `seismo.runs.prediction.assess`, behind whose own they come.
        lines: function(discretization) -> the warnings.
    """

    subject: str
    lines: Callable[[Discretization], WarningLines]


@dataclass(frozen=True)
class Report:
    """Facts of a feature.

    Attributes:
        subject: of `seismo.runs.check.report`, behind whose own they come.
        lines: function(discretization) -> labels and texts.
    """

    subject: str
    lines: Callable[[Discretization], Iterator[tuple[str, str]]]


def warnings_of_features(discretization: Discretization, subject: str) -> WarningLines:
    """Yield the warnings of the features that a run uses, about a subject."""
    for checks in acting("checks", discretization.scenario):
        for check in checks:
            if check.subject == subject:
                yield from check.lines(discretization)


def facts_of_features(discretization: Discretization, subject: str) -> Iterator[tuple[str, str]]:
    """Yield the facts of the features that a run uses, about a subject."""
    for reports in acting("reports", discretization.scenario):
        for report in reports:
            if report.subject == subject:
                yield from report.lines(discretization)


def in_percent(share: float) -> str:
    """Format a share to two digits."""
    return f"{100.0 * share:.2g} %"


def percent(error: float) -> str:
    """Format a relative error."""
    return "more than 70 %" if error > _USELESS else in_percent(error)


def up_to(error: float) -> str:
    """Format a relative error that is a bound."""
    return percent(error) if error > _USELESS else f"up to about {percent(error)}"


def rounded_down(value: float) -> float:
    """Return a number rounded down to two digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / unit * (1.0 + 1e-9)) * unit:.2g}")


def named(
    discretization: Discretization,
    group: ReceiverGroup,
    condition: Callable[[np.ndarray], np.ndarray],
    count: int,
) -> str:
    """Format how many of a set meet a condition, and the first few of them with their places.

    Args:
        discretization: the run.
        group: the set.
        condition: function(positions (n, 3) m) -> (n) of truth values.
        count: receivers that meet it.
    """
    texts = []
    for code, position in group.first_where(condition, _MOST_NAMED):
        # z over topography is no row of the grid.
        (true_position,) = true_positions(discretization, position[None]) + 0.0
        coordinates = (
            f"{axis} = {true_position[AXES.index(axis)]:.6g}" for axis in discretization.grid.axes
        )
        texts.append(f"{code} at {', '.join(coordinates)} m")
    if count > len(texts):
        texts.append(f"and {count - len(texts)} more")
    return f"{count} of {len(group)} ({'; '.join(texts)})"
