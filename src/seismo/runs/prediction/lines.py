"""Lines about a run: warnings and facts of `seismo check`, errors in percent, receivers by name.

A feature gives its warnings by the hook `checks`, a tuple of `Check`, and its facts by the hook
`reports`, a tuple of `Report`. They come behind the core's own of the same subject.
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
from seismo.solver.discretization import Discretization

WarningLines = Iterator[str]
_USELESS = 0.7  # relative error of traces that have little to do with the true ones
_MOST_NAMED = 3


@dataclass(frozen=True)
class Check:
    """Warnings of a feature.

    Attributes:
        subject: of `seismo.runs.prediction.checks.warnings`, behind whose own they come.
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
