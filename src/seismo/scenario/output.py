"""What a run writes besides the traces."""

from __future__ import annotations

from typing import Annotated

from pydantic import model_validator

from seismo.scenario.part import (
    Field,
    FilePath,
    Integer,
    Length,
    Name,
    Part,
    PositiveTime,
    TimeFromZero,
    Truth,
)


class Plane(Part):
    """One plane of a 3-D run, by the coordinate that is constant on it."""

    x: Length | None = Field(None, description="plane of constant x")
    y: Length | None = Field(None, description="plane of constant y")
    z: Length | None = Field(None, description="plane of constant depth")

    @model_validator(mode="after")
    def _one_axis(self) -> Plane:
        if sum(value is not None for value in (self.x, self.y, self.z)) != 1:
            raise ValueError("a plane needs exactly one of 'x', 'y', 'z'")
        return self


class Snapshots(Part):
    """Pictures of fields at equal intervals of time."""

    name: Name = Field("wavefield", description="name in the results; different for each entry")
    fields: Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        description="fields such as vx or sxz, `velocity` for all its components, or `pressure`"
    )
    interval: PositiveTime = Field(description="time between snapshots")
    decimate: Annotated[Integer, Field(ge=1, le=1000)] = Field(
        1, description="keep every n-th point of each axis"
    )
    start: TimeFromZero | None = Field(None, description="no snapshot before this time")
    stop: TimeFromZero | None = Field(None, description="no snapshot after this time")
    plane: Plane | None = Field(None, description="only this plane (3-D only)")

    @model_validator(mode="after")
    def _in_order(self) -> Snapshots:
        if self.start is not None and self.stop is not None and self.stop < self.start:
            raise ValueError(f"stop ({self.stop:g} s) comes before start ({self.start:g} s)")
        return self


class Output(Part):
    """The results file and its contents."""

    path: FilePath | None = Field(
        None, description="results file; the scenario's name with .h5 when left out"
    )
    snapshots: tuple[Snapshots, ...] = Field((), description="snapshots of the wavefield")
    model: Truth = Field(True, description="write the earth model as it was used")
