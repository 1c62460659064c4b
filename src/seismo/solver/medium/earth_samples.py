"""The earth of a run and its statistics, from a single pass over the nodes of the grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from seismo.acquisition.locator import Projection, level_of
from seismo.equations.framework.parameters import Conversion
from seismo.equations.framework.table import Physics
from seismo.equations.rock.relaxation import Relaxation
from seismo.errors import ModelError, ScenarioError
from seismo.features import acting
from seismo.grid.coordinates import VerticalCoordinate
from seismo.grid.grid import AXES, Grid
from seismo.model.build import build_earth
from seismo.model.earth import Earth, GroundFrame
from seismo.model.effective import GridCells
from seismo.model.effective.averaging import effective_medium, plain_planes
from seismo.model.extremes import Extremes, extremes_by_row, extremes_of
from seismo.model.media import MediaSample
from seismo.scenario import Scenario
from seismo.scenario.gridded_parts import volume_format
from seismo.scenario.model_parts import ModelPart, given_parameters

# A module that imports this, and a module that few runs need.
if TYPE_CHECKING:
    from seismo.model.node_values import ModelRange
    from seismo.solver.discretization import Discretization

_OWN_GROUND = ("geomodelgrids", "rfile", "sfile", "openswpc")  # formats that have a ground
EVEN_RUN = 8  # planes of even medium that are worth launches of their own


def even_planes(discretization: Discretization) -> dict[str, np.ndarray]:
    """Return which planes are even for each stage that asks; short runs do not pay."""
    grid = discretization.grid
    earth = discretization.own_earth
    physics = discretization.physics
    averaging = discretization.scenario.averaging
    nodes = GridCells.of(grid)
    even_by_stage = {}
    for stage, rule in [(s, s.even) for s in physics.stages if s.even]:
        if earth.layered:
            # Layered earth: ask the averages of a column.
            names = (*physics.medium, *rule.asks)
            column = effective_medium(earth, nodes.column, names, averaging)
            even = rule.where(column).reshape(-1)
        elif rule.everywhere(discretization.extremes):
            even = np.ones(nodes.z.size, bool)
        elif rule.simple is not None and earth.is_open:
            even = np.zeros(nodes.z.size, bool)  # other models may have any rock
        else:
            density = rule.of_density
            even = plain_planes(earth, nodes, averaging, density, rule.simple)
        # Densities stand between planes: both must be even.
        if rule.of_density:
            even[:-1] &= even[1:].copy()
        else:
            for own_rows in acting("uneven_rows", discretization.scenario):
                even = even & ~own_rows(discretization, rule.where)
        even_by_stage[stage.name] = even
        ends = [0, *(np.flatnonzero(np.diff(even)) + 1), even.size]
        for first, last in pairwise(ends):
            # Short runs are not worth a launch of their own.
            even[first:last] &= last - first >= EVEN_RUN
    return even_by_stage


def read_earth(
    scenario: Scenario, grid: Grid, physics: Physics, relaxation: Relaxation | None,
    topography: VerticalCoordinate | None = None, region: Grid | None = None,
    models: ModelRange | None = None,
) -> tuple[Earth, Extremes, MediaSample]:  # fmt: skip
    """Return the earth, its extremes on the grid and its media, from a single pass over the nodes.

    Of a grid that is a part of the `region` it is the earth of that. With a range of models it is
    the earth on the nodes, and extremes are those of all models in the range.
    """
    earth = earth_of(scenario, region or grid, physics, relaxation, topography)
    if models is None:
        return earth, *statistics_of(scenario, earth, grid, physics, topography)
    earth = models.on_nodes(earth, grid)
    extremes, sample = statistics_of(scenario, earth, grid, physics, topography)
    return earth, models.widened(extremes, earth, physics.derived), sample


def statistics_of(
    scenario: Scenario, earth: Earth, grid: Grid, physics: Physics,
    topography: VerticalCoordinate | None = None,
) -> tuple[Extremes, MediaSample]:  # fmt: skip
    """Return the extremes and the media of an earth on a grid, from one pass over its nodes."""
    cells = scenario.averaging == "effective"
    with _placed(scenario):
        # One pass over the nodes: extremes and media.
        sample = MediaSample(earth, grid)
        extremes = extremes_of(earth, GridCells.of(grid), cells, sample.take, physics.derived)
        for refuse in acting("refuse_media", scenario):
            refuse(scenario, earth, extremes, topography)
        return extremes, sample


def earth_of(
    scenario: Scenario, grid: Grid, physics: Physics, relaxation: Relaxation | None,
    topography: VerticalCoordinate | None = None,
) -> Earth:  # fmt: skip
    """Return the earth of a run, which goes on beyond the extent as at its edge.

    Over topography it takes coordinates x, y, s (`seismo.grid.coordinates`).
    """
    y_limits = grid.limits("y") if grid.dimensions == 3 else None
    clamp = (grid.limits("z"), y_limits, grid.limits("x"))
    # The region that parts are asked about; below topography it begins at the highest ground.
    frame = GroundFrame(
        topography, level_of(scenario, grid), _below_ground(scenario.model, topography is not None)
    )
    top, bottom = grid.limits("z")
    # Parts that count from the ground are asked for depths, from 0 under the highest ground on.
    highest = frame.level
    if topography is not None:
        top = highest = topography.highest
    region = ((top, bottom), *clamp[1:])
    below = ((top - highest, bottom - highest), *clamp[1:])
    # Files that give no spacing have that of the grid, along z where its rows have equal height.
    axes = grid.axes if grid.stretching is None else grid.axes.replace("z", "")
    spacing = {a: grid.spacing[AXES.index(a)] for a in axes}
    geographic = scenario.geographic
    # Depths of files count from level ground, over topography from z = 0.
    level = 0.0 if scenario.has_topography else scenario.ground
    projection = None if geographic is None else partial(Projection, geographic, level)
    with _placed(scenario):
        earth = build_earth(
            scenario.model,
            scenario.base,
            physics.needs,
            region,
            spacing,
            projection,
            dict.fromkeys(frame.below_ground, below),
        )
    earth = replace(
        earth,
        clamp=clamp,
        conditions=physics.conditions,
        relaxation=relaxation,
        frame=frame,
    )
    if (conversion := conversion_of(scenario.model, physics)) is not None:
        earth = replace(earth, needs=conversion.names, conversion=conversion)
    return earth


def _below_ground(sections: Sequence[Any], has_topography: bool) -> frozenset[int]:
    """Return the numbers of the parts of a model whose z counts from the ground."""
    return frozenset(
        number
        for number, section in enumerate(sections)
        if getattr(section, "relative_to", None) == "ground"
        or (has_topography and section.type == "volume" and volume_format(section) in _OWN_GROUND)
    )


@contextmanager
def _placed(scenario: Scenario) -> Iterator[None]:
    """Raise mistakes in the model with their places in a scenario."""
    try:
        yield
    except ModelError as error:
        placed = [scenario.mistake(*e.key, problem=e.problem) for e in (error, *error.others)]
        kind = ScenarioError if error.others else ModelError
        raise kind(*(text for error in placed for text in error.messages)) from None


def conversion_of(model: Sequence[ModelPart], physics: Physics) -> Conversion | None:
    """Return the conversion of the model's parameters to those of the waves; None if alike."""
    conversion = physics.conversion
    if conversion is None or set(conversion.names) != set(physics.needs):
        return conversion
    # Convert only the model's parameters that the waves do not have.
    needed = given_parameters(model) & set(conversion.takes) - set(conversion.names)
    return conversion if needed else None


def rows_of(
    earth: Earth, grid: Grid, physics: Physics, averaging: str, extremes: Extremes
) -> list[Extremes] | None:
    """Return the extremes of each row of the grid; None where all rows have equal height.

    Files may be faster between the nodes than on any: with them each row has the extremes of all.
    """
    if grid.stretching is None:
        return None
    if earth.gridded:
        return [extremes] * grid.points[2]
    cells = averaging == "effective"
    return extremes_by_row(earth, GridCells.of(grid), cells, physics.derived)
