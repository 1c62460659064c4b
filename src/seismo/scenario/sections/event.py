"""The earthquake, or blast, that a run stands for: its origin time and what catalogues call it.

With it traces have a date: the sample at a time t of the run is at ``time + t - at``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, StringConstraints, WithJsonSchema

from seismo.scenario.base import Field, ScenarioSection, Text, Time

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
