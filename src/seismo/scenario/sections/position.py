"""Positions: in metres on the grid's axes, or by longitude, latitude and depth; dates of events.

An event is the earthquake, or blast, that a run stands for. With it traces have a date: the sample
at a time t of the run is at ``time + t - at``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, StringConstraints, Tag, WithJsonSchema

from seismo.scenario.quantities import (
    Field,
    Latitude,
    Length,
    Longitude,
    Name,
    ScenarioSection,
    Text,
    Time,
    by_keys,
)

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


_EXAMPLE = "2008-07-29T18:42:15Z"


def _in_utc(value: Any) -> str:
    """Return a date and time as ISO 8601 in UTC; one without an offset is in UTC."""
    text = value.isoformat() if hasattr(value, "isoformat") else value
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        problem = f"not a date and time: write ISO 8601 in UTC, such as {_EXAMPLE}"
        raise ValueError(problem) from None
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return time.isoformat().replace("+00:00", "Z")


UtcTime = Annotated[
    str,
    BeforeValidator(_in_utc),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": [_EXAMPLE]}),
]
EventText = Annotated[str, StringConstraints(max_length=80)]


class Event(ScenarioSection):
    """The event that is simulated; exported traces begin at its origin time, less `at`."""

    time: UtcTime = Field(
        description=f"origin time, ISO 8601, UTC unless it has an offset: {_EXAMPLE}"
    )
    at: Time = Field(0.0, description="time of the run at the origin time")
    id: EventText = Field("", description="identifier of the event, such as ci14383980")
    name: Text = Field("", description="name of the event, such as Chino Hills")
