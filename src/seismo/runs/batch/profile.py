"""A machine profile: what a batch job asks of a cluster, in a YAML file of its own."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ValidationError
from pydantic_core import core_schema

from seismo.errors import ScenarioError
from seismo.scenario.base import Field, Integer, Name, PositiveTime, ScenarioSection, Truth
from seismo.scenario.mistakes import error_messages
from seismo.scenario.reader import read_file

Count = Annotated[Integer, Field(ge=1, le=100_000)]


@dataclass(frozen=True)
class Matching:
    """Annotation of a text: the pattern it must match, and what `words` call it."""

    pattern: str
    words: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Take texts that match as a whole."""
        return core_schema.no_info_after_validator_function(self._matched, handler(source))

    def _matched(self, value: str) -> str:
        if not re.fullmatch(self.pattern, value):
            raise ValueError(f"must be {self.words}")
        return value


SbatchOption = Annotated[
    str, Matching(r"--[^\x00-\x1f]{1,500}", "an option such as --constraint=a100")
]
ShellLine = Annotated[str, Matching(r"[^\x00-\x1f]{1,2000}", "one line of shell")]
MemorySize = Annotated[
    str, Matching(r"[1-9][0-9]{0,8}[KMGT]", "a whole number with K, M, G or T, such as 64G")
]


class MachineProfile(ScenarioSection):
    """The resources of one job."""

    backend: Literal["cpu", "gpu"] = Field("cpu", description="where the run goes")
    nodes: Count = Field(1, description="nodes of the job")
    ranks: Count = Field(1, description="processes on each node; several of them share a run")
    cpus: Count = Field(4, description="cores on each node")
    gpus: Annotated[Integer, Field(ge=0, le=64)] = Field(
        0,
        description="GPUs of each node: they share the shots of a survey, or the grid of one shot; "
        "of several ranks each has one",
    )
    memory: MemorySize | None = Field(None, description="memory of the job, such as 64G")
    time: PositiveTime = Field(3600.0, description="longest time of the job on the wall")
    warning: PositiveTime = Field(
        240.0, description="so long before that end the run is asked to stop at a checkpoint"
    )
    exclusive: Truth = Field(False, description="whether the node is shared with no one")
    partition: Name | None = Field(None, description="partition to submit to")
    account: Name | None = Field(None, description="account that pays")
    options: tuple[SbatchOption, ...] = Field((), description="further options of sbatch")
    setup: tuple[ShellLine, ...] = Field(
        (), description="lines of shell run first, such as `module load cuda`"
    )
    progress: Annotated[Integer, Field(ge=1, le=100)] = Field(
        5, description="a line in the log every so many per cent"
    )


def load_profile(path: str | os.PathLike[str]) -> MachineProfile:
    """Read and check a profile.

    Raises:
        ScenarioError: it cannot be read; or every mistake in it, one line each.
    """
    file = Path(path)
    document = read_file(file)
    mistakes = []
    try:
        profile = MachineProfile.model_validate({} if document.data is None else document.data)
    except ValidationError as error:
        mistakes = error_messages.translate(error, MachineProfile, document)
    if mistakes or document.mistakes:
        raise error_messages.scenario_error(document, mistakes)
    least = {"gpu": 1}.get(profile.backend, 0)
    devices = profile.gpus
    if devices < least:
        raise ScenarioError(f"{file}: backend: {profile.backend} needs one: give gpus: {least}")
    if profile.nodes * profile.ranks > 1 and devices not in (0, profile.ranks):
        raise ScenarioError(
            f"{file}: gpus: {devices} for {profile.ranks} ranks on each node; each rank takes one: "
            f"give ranks: {devices}"
        )
    if profile.ranks > profile.cpus:
        raise ScenarioError(f"{file}: ranks: must not exceed the cores of a node (cpus)")
    if profile.warning >= profile.time:
        raise ScenarioError(f"{file}: warning: must be shorter than time ({profile.time:g} s)")
    return profile
