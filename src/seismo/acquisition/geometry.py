"""The scenario's geometry as plain data: the sources of every shot, and the receiver groups.

Longitudes and latitudes are projected to the grid, mechanisms rotated into its axes, and all
positions checked to lie inside the grid.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from seismo.acquisition import moment_tensor
from seismo.acquisition.events import action_of
from seismo.acquisition.locator import Coordinates, Locator, floats
from seismo.acquisition.receiver_sets import receiver_groups
from seismo.acquisition.receivers import ReceiverGroup
from seismo.acquisition.shots import Shot
from seismo.acquisition.sources import PointSource, kind_of
from seismo.acquisition.spectra import wavelet_of
from seismo.equations.framework.registry import physics_for
from seismo.errors import ModelError, ScenarioError, gathered
from seismo.grid.grid import AXES, Grid
from seismo.grid.vertical_coordinate import VerticalCoordinate
from seismo.scenario import Scenario
from seismo.scenario.sections.sources import (
    SHOT_NAME,
    SOURCE_NAME,
    EventSource,
    Survey,
)


class Geometry:
    """Sources and receivers of a scenario in grid coordinates."""

    def __init__(
        self, scenario: Scenario, grid: Grid, topography: VerticalCoordinate | None = None
    ) -> None:
        self._scenario = scenario
        self._grid = grid
        self._physics = physics_for(scenario.equation.name, grid.dimensions, scenario.options)
        self._locate = Locator(scenario, grid, topography)

    def shots(self) -> list[Shot]:
        """Return all shots, before `with_moments`; without a survey there is one."""
        sources = self._scenario.sources
        survey = self._scenario.survey
        if survey is None:
            points = gathered(partial(self._placed_source, s, n) for n, s in enumerate(sources))
            return [Shot(SHOT_NAME.format(0), tuple(points))]
        return [
            Shot(name, (self._source(sources[0], 0, position),))
            for name, position in self._shot_positions(survey)
        ]

    def groups(self) -> list[ReceiverGroup]:
        """Return the receiver sets."""
        return receiver_groups(self._locate, self._source_positions())

    def _source_positions(self) -> dict[str, Coordinates] | None:
        """Return the position of the only source of each shot, where receivers move with it.

        None where these cannot be placed, which `shots` tells.
        """
        if not any(group.moves for group in self._scenario.receivers):
            return {}
        try:
            return {shot.name: shot.points[0].position for shot in self.shots()}
        except ScenarioError:
            return None

    def _shot_positions(self, survey: Survey) -> list[tuple[str, Coordinates]]:
        if survey.line is not None:
            line = survey.line
            return [
                (SHOT_NAME.format(n), self._locate.inside(floats(p), "survey", "line"))
                for n, p in enumerate(self._locate.line(line.start, line.end, line.count))
            ]
        positions = gathered(
            partial(self._locate.position, shot.position, "survey", "shots", n, "position")
            for n, shot in enumerate(survey.shots)
        )
        names = (shot.name or SHOT_NAME.format(n) for n, shot in enumerate(survey.shots))
        return list(zip(names, positions, strict=True))

    def _placed_source(self, source: Any, number: int) -> Any:
        if source.type == "event":
            return self._event(source, number)
        if kind := kind_of(self._scenario, source):
            return kind.locate(self._locate, source, number)
        position = self._locate.position(source.position, "sources", number, "position")
        return self._source(source, number, position)

    def _event(self, source: EventSource, number: int) -> PointSource:
        key = ("sources", number)
        wavelet_of(self._scenario, number)  # raises what is wrong with it
        try:
            action = action_of(source, self._scenario.base, self._scenario.event)
        except ModelError as error:
            raise self._locate.mistakes((*key, *error.key), [error.problem]) from None
        degrees_of_event = action.degrees | {"depth_from": source.depth_from}
        coordinates = self._locate.on_earth(degrees_of_event)
        if problem := self._locate.outside(coordinates, degrees_of_event):
            degrees = "longitude {longitude:g}, latitude {latitude:g}, depth {depth:g} m"
            event = degrees.format(**action.degrees)
            raise self._scenario.mistake(*key, "path", problem=f"its event ({event}): {problem}")
        position = self._locate.inside(coordinates, *key)
        azimuth = self._locate.azimuth(position)
        return PointSource(
            name=source.name or SOURCE_NAME.format(number),
            kind="moment_tensor",
            position=position,
            strength=moment_tensor.grid_components(moment_tensor.to_grid(action.tensor, azimuth)),
            wavelet=action.wavelet,
            delay=action.delay,
            derivative=1,
            base=self._scenario.base,
        )

    def _source(self, source: Any, number: int, position: Coordinates) -> PointSource:
        wavelet = wavelet_of(self._scenario, number)
        moment = source.type in ("explosion", "moment_tensor")
        rate = moment and source.time_function == "moment_rate"
        strength = self._strength(source, position)
        if source.type in ("moment_tensor", "force"):
            self._refuse_silent(source, number, strength)
        return PointSource(
            name=source.name or SOURCE_NAME.format(number),
            kind=source.type,
            position=position,
            strength=strength,
            wavelet=wavelet,
            delay=source.delay,
            derivative=1 if rate else 0,
            base=self._scenario.base,
        )

    def _strength(self, source: Any, position: Coordinates) -> dict[str, float]:
        if source.type == "force":
            return {a: getattr(source.force, a) for a in AXES}
        if source.type == "moment_tensor":
            return moment_tensor.grid_components(
                moment_tensor.tensor_of(source, self._locate.azimuth(position))
            )
        return {"": source.moment if source.type == "explosion" else source.amplitude}

    def _refuse_silent(self, source: Any, number: int, strength: dict[str, float]) -> None:
        """Raise ScenarioError if no component of a force or moment acts in the wave equation."""
        acting = self._physics.components(source.type)
        if any(strength[name] for name in acting):
            return
        key = "force"
        remedy = f"give it along {' or '.join(acting)}"
        if source.type == "moment_tensor":
            angles = source.components is None
            key = "strike" if angles else "components"
            remedy = "change the angles" if angles else "give one of these"
            remedy += ", or use a 3-D grid (grid.extent.y)"
        raise self._scenario.mistake(
            "sources", number, key,
            problem=f"this source radiates nothing: in {self._grid.dimensions}-D, physics "
            f"{self._scenario.physics} is moved by {', '.join(acting)} (along the grid's axes), "
            f"which are zero; {remedy}",
        )  # fmt: skip
