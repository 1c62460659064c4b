"""The scenario's geometry as plain data: the sources of every shot, and the receiver groups.

Longitudes and latitudes are projected to the grid, mechanisms rotated into its axes, and all
positions checked to lie inside the grid.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from seismo.acquisition.locator import Coordinates, Locator, floats
from seismo.acquisition.shots import Shot
from seismo.acquisition.sources import moment_tensor
from seismo.acquisition.sources.event_files import action_of
from seismo.acquisition.sources.frequencies import wavelet_of
from seismo.acquisition.sources.point_source import PointSource
from seismo.acquisition.stations.receiver_sets import receiver_groups
from seismo.acquisition.stations.receivers import ReceiverGroup
from seismo.equations.framework.registry import physics_for
from seismo.errors import ModelError, ScenarioError, gathered
from seismo.features.faults.finite_fault import (
    PlacedFault,
    read_rupture,
    unit_tensors,
)
from seismo.features.faults.geometry import FaultGeometry
from seismo.features.faults.rupture import Rupture
from seismo.features.plane_waves.plane_wave import (
    PlaneWave,
    first_corner,
    wave_box,
)
from seismo.features.topography.rows import Topography
from seismo.grid.grid import AXES, Grid
from seismo.scenario import Scenario
from seismo.scenario.sections.sources import (
    SHOT_NAME,
    SOURCE_NAME,
    EventSource,
    FiniteFaultSource,
    PlaneWaveSource,
    Source,
    Survey,
)

_DEGREES = ("longitude", "latitude", "depth")
_MOST_NAMED = 5  # subfaults outside the grid, in a message


class Geometry:
    """Sources and receivers of a scenario in grid coordinates."""

    def __init__(
        self, scenario: Scenario, grid: Grid, topography: Topography | None = None
    ) -> None:
        self._scenario = scenario
        self._grid = grid
        self._physics = physics_for(scenario.equation.name, grid.dimensions, scenario.options)
        self._locate = Locator(scenario, grid, topography)

    def shots(self) -> list[Shot]:
        """Return all shots, with faults as they are (`with_subfaults`); without a survey one."""
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

    def _placed_source(self, source: Source, number: int) -> PointSource | PlacedFault:
        if source.type == "event":
            return self._event(source, number)
        if source.type == "finite_fault":
            return self._fault(source, number)
        if source.type == "plane_wave":
            return self._plane_wave(source, number)
        position = self._locate.position(source.position, "sources", number, "position")
        return self._source(source, number, position)

    def _plane_wave(self, source: PlaneWaveSource, number: int) -> PlaneWave:
        wavelet = wavelet_of(self._scenario, number)
        middle = [0.5 * sum(self._grid.limits(axis)) for axis in AXES]
        azimuth = (source.azimuth or 0.0) - self._azimuth((middle[0], middle[1], 0.0))
        wave = PlaneWave(
            name=source.name or SOURCE_NAME.format(number),
            kind=source.type,
            position=(0.0, 0.0, 0.0),
            strength={"": source.amplitude},
            wavelet=wavelet,
            delay=source.delay,
            derivative=0,
            base=self._scenario.base,
            wave=source.wave,
            incidence=math.radians(source.incidence),
            azimuth=math.radians(azimuth),
            margin=source.margin,
        )
        if wave.start < 0.0:
            raise self._scenario.mistake(
                "sources", number, "delay",
                problem="the wave is in its box before t = 0: give "
                f"{source.delay - wave.start:.4g} s or more",
            )  # fmt: skip
        level = [
            a for a in self._grid.axes.replace("z", "")
            if getattr(self._scenario.boundaries, f"{a}_min") == "absorbing"
        ]  # fmt: skip
        box = wave_box(self._grid, source.margin, "".join(level))
        return replace(wave, position=first_corner(self._grid, box, wave.level))

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
        azimuth = self._azimuth(position)
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

    def _fault(self, source: FiniteFaultSource, number: int) -> PlacedFault:
        wavelet_of(self._scenario, number)  # raises what is wrong with the file
        rupture = read_rupture(source, self._scenario.base)
        assert self._locate.projection is not None  # the rules of the scenario
        slips = rupture.slips
        x, y = self._locate.projection.to_grid(slips.longitude, slips.latitude)
        z = slips.depth + self._locate.top(x, y, source.depth_from)
        coordinates = np.stack([x, y, z], axis=1)
        self._refuse_outside(rupture, coordinates, number, source.depth_from)
        event = self._scenario.event
        azimuths = self._locate.projection.x_azimuth(x, y)
        geometry = FaultGeometry(
            coordinates, np.radians(slips.strike - azimuths), np.radians(slips.dip), slips.area,
            rupture.rates.onset,
        )  # fmt: skip
        return PlacedFault(
            rupture, source, source.name or SOURCE_NAME.format(number),
            self._locate.on_grid(coordinates), unit_tensors(rupture, azimuths),
            source.delay + (event.at if event else 0.0), geometry,
        )  # fmt: skip

    def _refuse_outside(
        self, rupture: Rupture, coordinates: np.ndarray, number: int, depth_from: str | None
    ) -> None:
        """Raise ScenarioError with the first subfaults that lie outside the grid."""
        slips = rupture.slips
        outside = self._locate.are_outside(coordinates)
        numbers, firsts = np.unique(slips.subfault[outside], return_index=True)
        problems = []
        for n in np.flatnonzero(outside)[firsts[:_MOST_NAMED]].tolist():
            degrees: dict[str, Any] = {name: float(getattr(slips, name)[n]) for name in _DEGREES}
            degrees["depth_from"] = depth_from
            problem = self._locate.outside(tuple(coordinates[n].tolist()), degrees)
            if slips.depth[n] < 0.0 and depth_from != "datum":
                problem = f"lies {-slips.depth[n]:g} m above the surface; move it down"
            problems.append(f"{rupture.where(n)}: subfault {slips.subfault[n] + 1}: {problem}")
        if len(numbers) > _MOST_NAMED:
            problems.append(f"so do {len(numbers)} of {rupture.count} subfaults in all")
        if problems:
            raise self._locate.mistakes(("sources", number, "path"), problems)

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
                moment_tensor.tensor_of(source, self._azimuth(position))
            )
        return {"": source.moment if source.type == "explosion" else source.amplitude}

    def _azimuth(self, position: Coordinates) -> float:
        """Return the azimuth of x: north of a mechanism is that at its source."""
        if self._locate.projection is None:
            return 0.0
        return float(self._locate.projection.x_azimuth(position[0], position[1]))

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
