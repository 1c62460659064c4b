"""When a run writes checkpoints."""

from __future__ import annotations

from typing import Annotated

from seismo.scenario.base import Field, Integer, PositiveTime, ScenarioSection


class Checkpoint(ScenarioSection):
    """Interval of checkpoints; a signal or the end of a job requests one, too."""

    wall_time: PositiveTime = Field(1800.0, description="wall-clock time between two checkpoints")
    steps: Annotated[Integer, Field(ge=1)] | None = Field(
        None, description="steps between two checkpoints, whichever comes first"
    )
