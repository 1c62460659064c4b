"""Points that absorbing layers need for the wanted accuracy, and their cost."""

from __future__ import annotations

import math
from collections.abc import Callable

from seismo.errors import SeismoError
from seismo.grid.grid import AXES
from seismo.runs.prediction.accuracy import sent_back
from seismo.runs.prediction.lines import percent
from seismo.runs.prediction.resolution import of_spacing
from seismo.scenario.sections.grid import MOST_LAYER_POINTS
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import discretize
from seismo.solver.grid_layout import FACES

LEAST_POINTS = 10
LEAST_THICKNESS = 0.1  # of the longest dominant wavelength
MOST_TRIED = 1e6  # points of a grid that is prepared to see what its layers send back
_COSTLY = 1.5  # times as many points of the grid, from which on they are said
_FEW = 50  # of so many points the last does not matter
_SEARCHED = 12  # numbers of points, between two of which one does and the other does not
CLOSE = 1.02  # times what is wanted, which is met


def longest_wavelength(discretization: Discretization) -> float:
    """Return the longest dominant wavelength in m."""
    return discretization.fastest / discretization.dominant_frequency


def absorbing_spacing(discretization: Discretization) -> float:
    """Return the least spacing in m across absorbing layers, 0 without any."""
    boundaries = discretization.scenario.boundaries
    kinds = {a: [getattr(boundaries, face) for face in FACES[a]] for a in discretization.grid.axes}
    spacings = (
        discretization.grid.spacing[AXES.index(a)] for a in kinds if "absorbing" in kinds[a]
    )
    return min(spacings, default=0.0)


def advised_points(discretization: Discretization, coarser: float = 1.0) -> int:
    """Return the points of layers that are thick enough for the longest waves, at least its own.

    Args:
        discretization: of the run.
        coarser: times as large a spacing as its own.
    """
    present = discretization.scenario.boundaries.layer.points
    spacing = coarser * absorbing_spacing(discretization)
    if not spacing:
        return present
    thick = math.ceil(LEAST_THICKNESS * longest_wavelength(discretization) / spacing * (1.0 - 1e-9))
    points = min(MOST_LAYER_POINTS, max(LEAST_POINTS, thick))
    # Waves grow sooner in more points, which are damped sooner, and may reflect more then.
    wanted = discretization.scenario.grid.accuracy
    errors = [sent_back(discretization, n, coarser, wanted) for n in (present, points)]
    return present if points <= present or errors[1] > errors[0] else points


def thicker(discretization: Discretization, wanted: float, coarser: float = 1.0) -> str:
    """Name the points of layers that send back no more than is wanted, nothing where its own do.

    Args:
        discretization: of the run.
        wanted: relative error by layers.
        coarser: times as large a spacing as its own.
    """
    if not absorbing_spacing(discretization):
        return ""
    least = advised_points(discretization, coarser)
    aim = wanted
    for _ in range(2):
        points, error = least_points(
            lambda n: sent_back(discretization, n, coarser, wanted), aim, least
        )
        sent_there = _on_its_grid(discretization, points, coarser, wanted) if error <= aim else None
        if sent_there is None or sent_there <= CLOSE * wanted:
            break
        aim *= wanted / sent_there
    if points == discretization.scenario.boundaries.layer.points:
        return ""
    return raised(discretization, points, coarser, error if error > aim else 0.0)


def raised(discretization: Discretization, points: int, coarser: float, error: float) -> str:
    """Word how many points layers need, what they cost, and what they still err by if too much."""
    text = f"raise boundaries.layer.points to {points}{_cost(discretization, points, coarser)}"
    if not error:
        return text
    return (
        f"{text}, with which they err by {percent(error)}, and enlarge grid.extent, so that "
        "absorbing layers lie further away"
    )


def least_points(sent: Callable[[int], float], wanted: float, least: int) -> tuple[int, float]:
    """Return the fewest points, from some on, that send back no more than is wanted, and how much.

    Where none do, the most that there may be.

    Args:
        sent: function(points) -> relative error.
        wanted: relative error.
        least: points.
    """
    few_points = points = least
    few_error = error = sent(points)
    while error > wanted:
        if points == MOST_LAYER_POINTS:
            return points, error
        few_points = points
        few_error = error
        points = min(2 * points, MOST_LAYER_POINTS)
        error = sent(points)
    for _ in range(_SEARCHED):
        if points <= few_points + 1 + few_points // _FEW:
            break
        # By the power of the points with which it falls between both.
        share = math.log(few_error / wanted) / math.log(few_error / max(error, 1e-3 * wanted))
        middle = round(few_points * (points / few_points) ** share)
        middle = min(points - 1, max(few_points + 1, middle))
        middle_error = sent(middle)
        if middle_error <= wanted:
            points = middle
            error = middle_error
        else:
            few_points = middle
            few_error = middle_error
    return points, error


def _on_its_grid(
    discretization: Discretization, points: int, coarser: float, wanted: float
) -> float | None:
    """Return what layers send back on a grid that is prepared with them, if it is small."""
    if discretization.grid.size / coarser**discretization.grid.dimensions > MOST_TRIED:
        return None
    try:
        scenario = of_spacing(discretization, coarser).changed({"boundaries.layer.points": points})
        return sent_back(discretize(scenario), beside=wanted)
    except SeismoError:
        return None


def _cost(discretization: Discretization, points: int, coarser: float) -> str:
    """Name how much larger the grid is with so many points of layers, and such a spacing."""
    grid = discretization.grid
    added_points = points - discretization.scenario.boundaries.layer.points
    times = 1.0
    for n, low, high in zip(grid.points, grid.low, grid.high, strict=True):
        if n > 1:
            inside = (n - low - high) / coarser
            faces = (low > 0) + (high > 0)
            times *= (inside + low + high + added_points * faces) / n
    if times <= _COSTLY:
        return ""
    if coarser == 1.0:
        return f" ({_plain(times)} times as many points of the grid)"
    return (
        f" with that spacing (together {_plain(times)} times as many points of the grid, "
        f"{_plain(times / coarser)} times the work)"
    )


def _plain(times: float) -> str:
    """Format a factor to two digits, without an exponent."""
    return f"{float(f'{times:.2g}'):.10g}"
