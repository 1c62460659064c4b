"""Sources that are files: events of catalogues."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from seismo.scenario.base import Field, FilePath, Name, ScenarioSection, Time
from seismo.scenario.wavelet import Wavelet

EventId = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class EventSource(ScenarioSection):
    """An earthquake of a catalogue: its moment tensor where its centroid is, at its time."""

    type: Literal["event"]
    path: FilePath = Field(description="QuakeML, or CMTSOLUTION, relative to the scenario's folder")
    id: EventId | None = Field(
        None, description="which event of a file with several: the end of its identifier"
    )
    origin: Literal["centroid", "hypocentre"] = Field(
        "centroid", description="where it acts: the centroid, if the file has one, or hypocentre"
    )
    wavelet: Wavelet | None = Field(
        None, description="moment rate; default: gaussian_rate of the file's half duration"
    )
    name: Name | None = Field(None, description="name in messages and results")
    delay: Time = Field(0.0, description="time added to that of the centroid")

    @property
    def acts_as(self) -> str:
        """Return the type of what it is made of."""
        return "moment_tensor"
