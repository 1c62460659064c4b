"""The grid of the least expected error that keeps to a budget of time and memory.

Grids are chosen for one error after the other. Their shares of the budget follow a power of the
error, by which the next is named, until a grid takes nearly all of the budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from seismo.errors import ScenarioError
from seismo.features.chosen_grids.choice import GridSearch
from seismo.features.chosen_grids.prices import ERRORS
from seismo.runs.check.budget import Budget, duration
from seismo.runs.check.planned_run import PlannedRun
from seismo.runs.prediction.lines import percent
from seismo.runs.prediction.remedy import CLOSE
from seismo.scenario import Scenario
from seismo.scenario.units import with_unit
from seismo.solver.discretization import Discretization

LARGEST = max(ERRORS)
LEAST = min(ERRORS)
_POWER = 1.5  # of the error, with which time falls, before two grids tell
_LEAST_POWER = 0.1
_LARGEST_STEP = 5.0  # ratio of two errors
_TRIALS = 8  # errors
_AIM = 0.95  # share of the budget
_NEARLY = 0.85  # share of the budget from which on no smaller error is sought
_NEAR = 1.06  # ratio of errors between which none is sought


@dataclass(frozen=True)
class Offer:
    """The chosen grid of an error.

    Attributes:
        wanted: relative error.
        scenario: with the grid.
        expected: relative error, of this grid.
        seconds: that it takes.
        memory: bytes on the fullest memory.
        share: of the budget.
    """

    wanted: float
    scenario: Scenario
    expected: float
    seconds: float
    memory: float
    share: float


def least_error(
    scenario: Scenario, budget: Budget, plan: Callable[[Discretization], PlannedRun]
) -> Scenario:
    """Return a scenario with the wanted error, and the grid, of the least error in a budget.

    Args:
        scenario: whose spacing is left to the program.
        budget: of time and memory.
        plan: function(discretization) -> run planned on its devices.

    Raises:
        ScenarioError: the spacing is typed, or no grid for 5 % keeps to the budget.
    """
    if not scenario.grid.is_open:
        raise scenario.mistake(
            "grid", "spacing", problem="is typed, and a budget chooses it; leave it out, or leave "
            "--within and --memory out"
        )  # fmt: skip
    offers: list[Offer] = []
    wanted: float | None = _rounded(scenario.grid.accuracy)
    while wanted is not None and len(offers) < _TRIALS:
        offers.append(_offer(scenario, wanted, budget, plan))
        wanted = _next(offers)
    fitting = [offer for offer in offers if offer.share <= 1.0]
    if not fitting:
        raise ScenarioError(_too_small(budget, offers[-1]))
    return min(fitting, key=lambda offer: offer.expected).scenario


def _offer(
    scenario: Scenario, wanted: float, budget: Budget,
    plan: Callable[[Discretization], PlannedRun],
) -> Offer:  # fmt: skip
    open_scenario = scenario.completed({"grid.accuracy": wanted})
    grid = GridSearch(open_scenario).cheapest()
    planned = plan(grid.discretization)
    seconds = planned.seconds * grid.points_beside / grid.coarser
    memory = planned.largest_need * grid.points_beside
    return Offer(
        wanted, open_scenario.completed(grid.keys), grid.expected.error, seconds, memory,
        budget.share(seconds, memory),
    )  # fmt: skip


def _next(offers: list[Offer]) -> float | None:
    """Return the error to try after these, None where the least is known, or none fits."""
    fitting = sorted((o for o in offers if o.share <= 1.0), key=lambda o: o.wanted)
    larger = max((o for o in offers if o.share > 1.0), key=lambda o: o.wanted, default=None)
    if not fitting:
        return LARGEST if larger is not None and larger.wanted < LARGEST else None
    least = fitting[0]
    is_missed = least.expected > CLOSE * least.wanted  # no grid mends that
    if is_missed or least.share >= _NEARLY or least.wanted <= LEAST:
        return None
    smallest = max(LEAST, least.wanted / _LARGEST_STEP if larger is None else larger.wanted)
    if larger is not None and least.wanted < _NEAR**2 * smallest:
        return None
    power = _power(least, larger or (fitting[1] if len(fitting) > 1 else None))
    wanted = least.wanted * (least.share / _AIM) ** (1.0 / power)
    wanted = max(smallest * _NEAR if larger else smallest, min(wanted, least.wanted / _NEAR))
    return _rounded(wanted)


def _power(offer: Offer, other: Offer | None) -> float:
    """Return the power of the error with which shares of the budget fall."""
    if other is None:
        return _POWER
    ratio = math.log(offer.wanted / other.wanted)
    return max(_LEAST_POWER, -math.log(offer.share / other.share) / ratio)


def _rounded(error: float) -> float:
    """Return an error to two digits, as a person would type it."""
    return min(LARGEST, max(LEAST, float(f"{error:.2g}")))


def _too_small(budget: Budget, offer: Offer) -> str:
    return (
        f"--within, --memory: {budget} are too little for any grid: an error of "
        f"{percent(offer.wanted)} takes {duration(offer.seconds)} and "
        f"{with_unit(offer.memory, 'B')}; give more, or lower grid.extent, time.duration or the "
        "frequencies of the sources"
    )
