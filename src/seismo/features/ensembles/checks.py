"""Checks of an ensemble: its extent, and the largest expected error of its extreme members."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from seismo.errors import ScenarioError
from seismo.features.ensembles.members import Members
from seismo.runs.prediction.accuracy import Expected
from seismo.runs.prediction.assess import Finding, expected_of
from seismo.runs.prediction.lines import percent
from seismo.runs.resources.memory import output_of
from seismo.scenario.units import with_unit
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import discretize

_MOST_ASSESSED = 8  # members


@dataclass(frozen=True)
class EnsembleExtent:
    """An ensemble, as `check` reports it.

    Attributes:
        members: how many.
        drawn: each key with its least and greatest value.
        assessed: the members with extreme values whose error was predicted.
        worst: of them, that with the largest error.
        error: expected of its traces.
        description: of its values.
        relative_work: steps of all members over those of the scenario as it is written.
        bytes: of the results before compression.
    """

    members: int
    drawn: tuple[str, ...]
    assessed: tuple[int, ...]
    worst: int
    error: float
    description: str
    relative_work: float
    bytes: int

    def __str__(self) -> str:
        """Describe it in a line."""
        numbers = ", ".join(map(str, self.assessed))
        return (
            f"{self.members} members, which draw {'; '.join(self.drawn)}; other lines are of the "
            f"scenario as it is written, and all members take about {self.relative_work:.3g} times "
            f"its run time, with the memory of one on each rank; results up to "
            f"{with_unit(self.bytes, 'B')}; largest expected trace error {percent(self.error)} of "
            f"the members with extreme values ({numbers}): member {self.worst}, {self.description}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def extent_of(discretization: Discretization, expected: Expected) -> EnsembleExtent | None:
    """Return what `check` says of an ensemble; None of a scenario without one.

    Raises:
        ScenarioError: the values of a member will not do.
    """
    scenario = discretization.scenario
    if scenario.section("ensemble") is None:
        return None
    members = Members(scenario)
    members.refuse_unsound()
    draws = members.draws
    extremes = draws.extremes[:_MOST_ASSESSED]
    runs = {member: _discretized(members, member) for member in extremes}
    errors = {member: expected_of(run).error for member, run in runs.items()}
    worst = max(errors, key=lambda member: errors[member])
    steps = sum(run.total_steps for run in runs.values()) / len(runs)
    drawn = tuple(
        f"{key} from {with_unit(float(column.min()), key.unit)} to "
        f"{with_unit(float(column.max()), key.unit)}"
        for key, column in zip(draws.keys, draws.table.T, strict=True)
    )
    return EnsembleExtent(
        len(members), drawn, tuple(extremes), worst, errors[worst], draws.described(worst),
        len(members) * steps / discretization.total_steps,
        len(members) * output_of(discretization).total,
    )  # fmt: skip


def _discretized(members: Members, member: int) -> Discretization:
    """Return the run of a member.

    Raises:
        ScenarioError: with the member and its values.
    """
    scenario = members[member]
    try:
        return discretize(scenario)
    except ScenarioError as error:
        raise members.refused(member, error) from None


FINDINGS = (Finding("ensemble", "ensemble", extent_of),)
