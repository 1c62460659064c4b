"""Settings that inversions, images and kernels share: a YAML file, checked as a scenario is.

Its keys::

    scenario            waves and grid: the path of a scenario, or its keys
    observed            recorded traces
    windows, masks      samples and nodes that count
    snapshots, output
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, PrivateAttr, ValidationError

from seismo.errors import ScenarioError
from seismo.scenario import Scenario, load, units
from seismo.scenario.document import check
from seismo.scenario.mistakes import error_messages
from seismo.scenario.quantities import (
    Field,
    FilePath,
    Integer,
    Length,
    Mistake,
    Name,
    PositiveLength,
    Quantity,
    ScenarioSection,
    Shorthand,
    Text,
    Time,
    TimeFromZero,
)
from seismo.scenario.scenario_facts import with_chosen_values
from seismo.scenario.strict_yaml import Document, read_file, to_text

IterationCount = Annotated[Integer, Field(ge=1, le=100_000)]
LengthFromZero = Annotated[float, Quantity(units.LENGTH, ge=0.0)]
PositiveSpeed = Annotated[float, Quantity(units.VELOCITY, gt=0.0)]
PositiveShare = Annotated[float, Quantity(units.NUMBER, gt=0.0, le=1.0)]


_POSITION = re.compile(r"^(.*?:\d+:\d+: )(?=\w)")  # of a mistake, before its key


def rising(bounds: tuple[float, float]) -> tuple[float, float]:
    """Return bounds whose first is less than their second.

    Raises:
        ValueError: it is not.
    """
    if bounds[0] >= bounds[1]:
        raise ValueError("must increase: write the least value first")
    return bounds


class ObservedFile(ScenarioSection):
    """A file of observed traces: results of seismo, or SEG-Y of one component of a set."""

    path: FilePath = Field(description="results of seismo (.h5), or a SEG-Y file (.segy, .sgy)")
    receivers: Name | None = Field(
        None, description="set of receivers of the scenario [default: of results all; of SEG-Y the "
        "only set]",
    )  # fmt: skip
    component: Name | None = Field(
        None, description="such as vz or pressure [default: of results all; of SEG-Y the only one]"
    )


def _listed(value: Any) -> Any:
    entries = value if isinstance(value, list | tuple) else [value]
    return [{"path": entry} if isinstance(entry, str) else entry for entry in entries]


ObservedFiles = Annotated[
    tuple[ObservedFile, ...],
    Field(min_length=1), BeforeValidator(_listed), Shorthand("a file path"),
]  # fmt: skip


class MovingMute(ScenarioSection):
    """An end of the time window, which moves with the distance from the source."""

    velocity: PositiveSpeed | None = Field(
        None, description="distance over time [default: the same time at all distances]"
    )
    delay: Time = Field(0.0, description="time at distance 0")


class TraceWindow(ScenarioSection):
    """The samples that count."""

    after: MovingMute | None = Field(None, description="samples before this time do not count")
    before: MovingMute | None = Field(None, description="samples after this time do not count")
    taper: TimeFromZero = Field(0.0, description="cosine taper outside these times")
    offsets: Annotated[tuple[LengthFromZero, LengthFromZero], AfterValidator(rising)] | None = (
        Field(None, description="least and greatest distance from the source that counts")
    )


class FixedNodes(ScenarioSection):
    """Nodes that stay as they are at the start, and have no image."""

    above: Length | None = Field(None, description="nodes of a lesser z, such as water")
    slower_than: PositiveSpeed | None = Field(
        None, description="nodes where vp (else vs) is less at the start, such as water"
    )
    sources: PositiveLength | None = Field(
        None, description="distance from sources over which changes grow from nothing"
    )
    receivers: PositiveLength | None = Field(None, description="the same of receivers")
    layers: PositiveLength | None = Field(
        None, description="distance from absorbing layers within which nodes stay"
    )


class SourceIllumination(ScenarioSection):
    """Divide by the energy of the waves that a node sees of all sources."""

    type: Literal["illumination"] = Field("illumination", description="kind")
    level: PositiveShare = Field(0.01, description="added, as a share of the greatest energy")


class SurveySettings(ScenarioSection):
    """What all of these files have; its attributes are their keys."""

    title: Text = Field("", description="a line for figures and results")
    scenario: FilePath = Field(description="the scenario of the waves: its path, or its keys")
    snapshots: IterationCount | None = Field(
        None,
        description="steps between fields that derivatives are made of [default: by the waves]",
    )
    output: FilePath | None = Field(
        None, description="the results [default: the name of this file, with .h5]"
    )

    _document: Document = PrivateAttr(default_factory=lambda: Document(""))
    _inline: Document | None = PrivateAttr(default=None)
    _base: Path = PrivateAttr(default_factory=Path)

    @property
    def base(self) -> Path:
        """The folder of the file, where relative paths begin."""
        return self._base

    @property
    def text(self) -> str:
        """The file as it was written."""
        return self._document.text

    @property
    def results_path(self) -> Path:
        """The default path of the results."""
        if self.output is not None:
            return self._base / self.output
        return Path(f"{Path(self._document.name).stem}.h5")

    def mistake(self, *path: str | int, problem: str) -> ScenarioError:
        """Return the error of a problem at a key, with its place and its value as written."""
        return error_messages.scenario_error(self._document, [Mistake(path, problem)])

    def scenario_with(self, *path: str) -> Scenario:
        """Return the scenario, with the parts of a model at a key of this file as its own.

        Args:
            path: of the key; where the file does not have it the scenario keeps its model.

        Raises:
            ScenarioError: with every mistake of the scenario, or of the parts.
        """
        scenario = self._own_scenario()
        model: Any = self._document.data
        for key in path:
            model = (model or {}).get(key)
        try:
            if model is not None:
                scenario = scenario.changed({"model": model})
        except ScenarioError as error:
            key = f"{'.'.join(path)}["
            problems = [text.replace("model[", key) for text in error.messages]
            raise ScenarioError(*(f"{self._document.name}: {p}" for p in problems)) from None
        # A grid that is left to the program suits these waves.
        return with_chosen_values(scenario, stencil="fitted")

    def _own_scenario(self) -> Scenario:
        """Return the scenario as it is in its file, or in this one."""
        if self._inline is None:
            return load(self._base / self.scenario)
        try:
            return check(self._inline, self._base)
        except ScenarioError as error:
            messages = (_POSITION.sub(r"\1scenario.", text) for text in error.messages)
            raise ScenarioError(*messages) from None

    def resolved(self) -> str:
        """Return the settings with every default, as YAML in SI."""
        return to_text(self.model_dump(mode="json", exclude_none=True))


S = TypeVar("S", bound=SurveySettings)


def load_settings(
    path: str | os.PathLike[str], kind: type[S], noun: str,
    between: Callable[[S], Iterable[Mistake]] = lambda settings: (),
) -> S:  # fmt: skip
    """Read and check settings.

    Args:
        path: the file.
        kind: the settings.
        noun: for a file that is nothing of the kind.
        between: function of settings to mistakes of keys that do not go together.

    Raises:
        ScenarioError: they cannot be read; or every mistake in them, a line each.
    """
    file = Path(path)
    document = read_file(file)
    if not isinstance(document.data, dict):
        raise ScenarioError(
            f"{file}: is no {noun}, which begins like 'scenario: scenario.yaml'; see "
            "`seismo examples inversions`"
        )
    inline = _without_inline(document)
    mistakes: list[Mistake] = []
    try:
        settings = kind.model_validate(document.data)
        mistakes = list(between(settings))
    except ValidationError as error:
        mistakes = error_messages.translate(error, kind, document)
    if mistakes or document.mistakes:
        raise error_messages.scenario_error(document, mistakes)
    settings._document = document
    settings._inline = inline
    settings._base = file.parent
    return settings


def _without_inline(document: Document) -> Document | None:
    """Take the keys of a scenario out of a file, whose path is left instead; None of a path."""
    if not isinstance(document.data.get("scenario"), dict):
        return None
    line_columns = {
        path[1:]: line_column
        for path, line_column in document.line_columns.items()
        if path[:1] == ("scenario",)
    }
    inline = Document(document.name, document.text, document.data["scenario"], line_columns)
    document.data["scenario"] = Path(document.name).name
    return inline
