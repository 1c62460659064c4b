"""Causes of the expected error of traces: their size, how it falls with the spacing, the remedy.

Causes of the core stand in `seismo.runs.prediction.accuracy`; features give theirs by the hook
`causes`, a tuple of `Cause`. Errors are listed by subject, those of features behind the core's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from seismo.features import acting
from seismo.scenario import Scenario
from seismo.solver.discretization import Discretization


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
        subject: what the error belongs to: "medium", "surface" or "contacts".
        power: of the spacing, with which it falls; None without such a law.
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
        """Return what mends it where a finer grid does not, "" where nothing does."""
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
