"""When a run stores what it can go on from."""

from __future__ import annotations

from typing import Annotated

from seismo.scenario.base import Field, Integer, PositiveTime, ScenarioSection


class Checkpoint(ScenarioSection):
    """How often a checkpoint is written, beside when a signal or the end of a job asks for one."""

    wall_time: PositiveTime = Field(
        1800.0, description="time on the clock on the wall between two checkpoints"
    )
    steps: Annotated[Integer, Field(ge=1)] | None = Field(
        None, description="steps between two checkpoints, whichever comes first"
    )
