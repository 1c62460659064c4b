"""Scenarios on coarser grids and for few steps: as much of each as runs within a second."""

from typing import Any

from seismo.errors import ScenarioError, SeismoError
from seismo.scenario import Scenario
from seismo.solver.discretize import discretize

FACTORS = (1, 2, 3, 4, 6, 8, 12, 16)
POINTS = 60_000
MOST_POINTS = 600_000  # of a grid of which no factor leaves fewer than POINTS
STEPS = 60


def changes_to_small(scenario: Scenario, updates: int = 0) -> dict[str, Any]:
    """Return what makes a scenario one of fewer points and steps, as `Scenario.changed` takes it.

    The spacing is the first that leaves few points, or else that with the fewest.

    Args:
        scenario: of any size.
        updates: of points in all steps, where these are more than STEPS.

    Raises:
        ScenarioError: none of a larger spacing is valid.
    """
    problem = "too large"
    spacing = scenario.model_dump(mode="json", exclude_none=True)["grid"]["spacing"]
    fewest, smallest = MOST_POINTS, None
    for factor in FACTORS:
        wider = {a: step if step == "auto" else factor * step for a, step in spacing.items()}
        try:
            coarse = scenario.changed({"grid.spacing": wider})
            discretization = discretize(coarse)
            if discretization.points >= fewest:
                continue
            steps = max(STEPS, updates // discretization.points)
            duration = min(coarse.time.duration, steps * discretization.clock.dt)
            changes = {"grid.spacing": wider, "time.duration": duration}
            discretize(scenario.changed(changes))
        except SeismoError as error:
            problem = str(error)
            continue
        fewest, smallest = discretization.points, changes
        if fewest <= POINTS:
            break
    if smallest is None:
        raise ScenarioError(problem)
    return smallest
