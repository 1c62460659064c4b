"""Positions: in metres on the grid's axes, or by longitude, latitude and depth."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Tag

from seismo.scenario.base import Field, Latitude, Length, Longitude, Name, ScenarioSection, by_keys

DepthFrom = Literal["ground", "datum"]
DEPTH_FROM = (
    "what depth counts from: the ground above, or the datum, height 0 of the ground "
    "(topography.datum, else z = 0); default: ground"
)


class Position(ScenarioSection):
    """A point on the grid's axes."""

    x: Length = Field(description="x")
    y: Length | None = Field(None, description="y (3-D only)")
    z: Length | None = Field(None, description="z, positive down; or give depth")
    depth: Length | None = Field(
        None,
        description="vertically below the ground: the free surface, or z = 0; in place of z",
    )


class GeographicPosition(ScenarioSection):
    """A point on the earth, projected by the scenario's `geographic` section."""

    longitude: Longitude = Field(description="longitude, positive east")
    latitude: Latitude = Field(description="latitude, positive north")
    depth: Length | None = Field(
        None, description="depth below the ground: the free surface, or z = 0; or give z"
    )
    z: Length | None = Field(None, description="z of the grid, positive down; in place of depth")
    depth_from: DepthFrom | None = Field(None, description=DEPTH_FROM)


class Point(Position):
    """A receiver on the grid's axes."""

    code: Name | None = Field(None, description="station code, such as CI.PAS.00")


class GeographicPoint(GeographicPosition):
    """A receiver on the earth."""

    code: Name | None = Field(None, description="station code, such as CI.PAS.00")


def _choose(keys: frozenset[str]) -> str:
    names_earth = bool(keys & {"longitude", "latitude"})
    names_grid = bool(keys & {"x", "y"}) or ("z" in keys and not names_earth)
    on_earth = (names_earth or bool(keys & {"depth", "depth_from"})) and not names_grid
    return "longitude, latitude, depth" if on_earth else "x, y, z"


AnyPosition = Annotated[
    Annotated[Position, Tag("|x, y, z")]
    | Annotated[GeographicPosition, Tag("|longitude, latitude, depth")],
    by_keys(_choose),
]
AnyPoint = Annotated[
    Annotated[Point, Tag("|x, y, z")]
    | Annotated[GeographicPoint, Tag("|longitude, latitude, depth")],
    by_keys(_choose),
]
