"""Positions: in metres on the grid's axes, or by longitude, latitude and depth."""

from __future__ import annotations

from typing import Annotated

from pydantic import Tag

from seismo.scenario.base import Field, Latitude, Length, Longitude, Name, ScenarioSection, by_keys

GEOGRAPHIC_KEYS = frozenset(("longitude", "latitude", "depth"))


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
    depth: Length = Field(description="depth below the ground: the free surface, or z = 0")


class Point(Position):
    """A receiver on the grid's axes."""

    code: Name | None = Field(None, description="station code, such as CI.PAS.00")


class GeographicPoint(GeographicPosition):
    """A receiver on the earth."""

    depth: Length = Field(0.0, description="depth below the ground: the free surface, or z = 0")
    code: Name | None = Field(None, description="station code, such as CI.PAS.00")


def _choose(keys: frozenset[str]) -> str:
    on_earth = keys & GEOGRAPHIC_KEYS and not keys & {"x", "y", "z"}
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
