"""The check of a scenario: mistakes in its files and places, beside mistakes that it shows alone.

Rules between keys need the scenario alone, model files and positions need a grid and the ground. A
scenario with mistakes of the first kind has fillers in their place
(`seismo.scenario.mistakes.continuation`), and further mistakes are looked for then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from seismo.acquisition.geometry import Geometry
from seismo.equations.framework.registry import physics_for
from seismo.errors import KeyPath, ScenarioError, SeismoError, gathered
from seismo.features import acting
from seismo.scenario import Scenario, ScenarioInput, load
from seismo.scenario.document import filled
from seismo.scenario.scenario_facts import with_chosen_values
from seismo.solver.grid_layout import ground_over, levels_of, make_grid
from seismo.solver.medium.earth_samples import earth_of
from seismo.solver.sampling.field_sampling import refuse_empty_boxes

_CELLS = 100  # along the shortest side of a grid that stands for one that is not chosen yet


def load_placed(
    source: ScenarioInput, accuracy: str | float | None = None,
    complete: Callable[[Scenario], Scenario] = with_chosen_values,
) -> Scenario:  # fmt: skip
    """Read and check a scenario, where it has mistakes its files and positions, too.

    A grid and layers that are left to the program are chosen.

    Args:
        source: see `load`.
        accuracy: wanted error in place of its own.
        complete: function(scenario) -> with what it leaves to the program.

    Raises:
        ScenarioError: with every mistake that can be known before the earth is looked at; or no
            grid will do.
    """
    try:
        scenario = load(source)
        if accuracy is not None:
            scenario = _with_accuracy(scenario, accuracy)
        return complete(scenario)
    except ScenarioError as error:
        rest = filled(*error.read) if error.read else None
        if rest is None:
            raise
        scenario, entries = rest
        # Fillers have no mistakes of the user's.
        others = [text for text in _further(scenario) if not _is_among(text, entries)]
        messages = dict.fromkeys((*error.messages, *others))
        raise ScenarioError(*sorted(messages, key=_line_column)) from None


def choices_of(scenario: Scenario) -> dict[str, Any]:
    """Return the values that the program chose, by the paths of their keys.

    An accuracy, and fitted differences, are among `Scenario.chosen` where a caller asked for them.
    """
    return {
        key: value
        for key, value in scenario.chosen.items()
        if key != "grid.accuracy" and (key, value) != ("grid.stencil", "fitted")
    }


def _with_accuracy(scenario: Scenario, accuracy: str | float) -> Scenario:
    """Return a scenario with another wanted error, mistakes of which name the option."""
    try:
        return scenario.completed({"grid.accuracy": accuracy})
    except ScenarioError as error:
        problems = [text.rpartition("grid.accuracy: ")[2] for text in error.messages]
        raise ScenarioError(*(f"--accuracy: {problem}" for problem in problems)) from None


def _further(scenario: Scenario) -> Iterator[str]:
    """Yield mistakes in the files and positions of a scenario."""
    try:
        if fillers := _filled_grid(scenario):
            scenario = scenario.changed(fillers)
        region = make_grid(scenario)
        # Of two grids the coarser has rows of all depths, the finer the ground.
        grids = levels_of(scenario)
        fine = grids[0].grid
        coarse = grids[-1].grid
        # The ground, from which depths count.
        ground = ground_over(scenario, fine)
        # Parameters of the equation, which files of the model have to give.
        relaxation = next((fit(scenario) for fit in acting("relaxation", scenario)), None)
        options = relaxation or scenario.options
        name = scenario.equation.name
        physics = physics_for(name, region.dimensions, options, ground is not None)
        # Sources, receivers and boxes, which lie in the grid.
        placed = Geometry(scenario, region, ground)
        boxes = partial(refuse_empty_boxes, scenario, coarse)
        steps: list[Callable[[], Any]] = [placed.shots, placed.groups, boxes]
        # Random media are drawn as they are read, which takes long.
        if all(model_part.type != "random" for model_part in scenario.model):
            steps.append(partial(earth_of, scenario, region, physics, relaxation, ground))
        gathered(steps)
    except ScenarioError as error:
        yield from error.messages
    except SeismoError:  # of fillers, no mistake of the user
        return


def _filled_grid(scenario: Scenario) -> dict[str, Any]:
    """Return keys with fillers in place of a grid and layers that are left to the program."""
    extent = scenario.grid.extent
    lengths = {axis: length for axis in "xyz" if (length := getattr(extent, axis)) is not None}
    length = min(lengths.values()) / _CELLS
    fillers: dict[str, Any] = {}
    if scenario.grid.is_open:
        # Whole cells along each axis, and below a plane, too.
        fillers["grid.spacing"] = {
            axis: long / (3 * math.ceil(long / (3.0 * length))) for axis, long in lengths.items()
        }
    if scenario.boundaries.layer.is_open:
        fillers["boundaries.layer.points"] = 1
    return fillers


def _line_column(message: str) -> tuple[float, ...]:
    """Return line and column of a message; messages without come last."""
    line_column = getattr(message, "line_column", None)
    return line_column or (math.inf,)


def _is_among(message: str, entries: Iterable[KeyPath]) -> bool:
    """Whether a message is about an entry or a section that has a filler."""
    key = getattr(message, "key", ())
    return any(key[: len(entry)] == entry for entry in entries)
