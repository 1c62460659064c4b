"""The scenario as a whole: its sections, its checks, and how it is written back as YAML.

Features add keys (hooks ``key`` and ``output_key``: an `AddedKey`), types of sources (``source``:
an `AddedSource`) and rules (``rules``: functions of a `Draft`, by the rule that they follow).
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import PrivateAttr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from seismo.equations.framework.declaration import Equation
from seismo.equations.framework.registry import EQUATIONS, PHYSICS, equation_for
from seismo.errors import KeyPath, ScenarioError
from seismo.features import giving
from seismo.scenario import between_sections, model_rules
from seismo.scenario.draft import OWN_KEYS, Draft
from seismo.scenario.gridded_parts import missing_volumes
from seismo.scenario.mistakes import error_messages
from seismo.scenario.model_parts import ModelPart, given_parameters
from seismo.scenario.python_data import path_of, plain, put
from seismo.scenario.quantities import (
    Field,
    Mistake,
    Mistakes,
    ScenarioSection,
    Text,
    with_added,
    with_keys,
)
from seismo.scenario.sections import output, receivers, sources
from seismo.scenario.sections.grid import (
    Boundaries,
    Event,
    Geographic,
    GridSpec,
    TimeSpec,
    ground_of,
)
from seismo.scenario.sections.output import Checkpoint
from seismo.scenario.sections.receivers import ALONG_FIBRES, ReceiverSet
from seismo.scenario.sections.sources import ISOTROPIC_SOURCE, Survey, any_source
from seismo.scenario.strict_yaml import Document, read, read_file, tight, to_text

if TYPE_CHECKING:
    from seismo.scenario.mistakes.continuation import Mended

_OWN_RULES = (
    between_sections.dimension,
    between_sections.combination,
    model_rules.rocks,
    model_rules.gridded_angles,
    model_rules.perturbations,
    model_rules.seas,
    between_sections.options,
    between_sections.geometry,
    between_sections.heights,
    between_sections.lines,
    receivers.grids,
    receivers.fibres,
    receivers.moving,
    model_rules.model_shapes,
    model_rules.properties,
    sources.source_types,
    receivers.recorded_quantities,
    output.cuts,
    output.snapshot_times,
    between_sections.names,
    sources.source_files,
    between_sections.survey,
)


@cache
def _rules() -> tuple[Callable[[Draft], Mistakes], ...]:
    """Return all rules: rules of features come behind the rules of the scenario that they name."""
    added = [rules for feature in giving("rules") for rules in feature["rules"].items()]
    behind: dict[str, list[Any]] = {}
    for name, rules in added:
        behind.setdefault(name, []).extend(rules)
    return tuple(each for rule in _OWN_RULES for each in (rule, *behind.get(rule.__name__, ())))


Output: Any = with_added([feature["output_key"] for feature in giving("output_key")])(output.Output)
Output.__module__ = __name__  # where pickles find it
AnySource: Any = any_source([feature["source"] for feature in giving("source")])


def _options(equation: Equation) -> dict[str, tuple[Any, Any]]:
    if equation.options is None:
        return {}
    field = Field(None, description=f"options of physics {equation.name}")
    return {equation.name: (equation.options | None, field)}


@with_keys(EQUATIONS.values(), _options)
@with_added([feature["key"] for feature in giving("key")])
class Scenario(ScenarioSection):
    """All inputs of a run: the earth, the waves, sources and receivers; all in SI."""

    title: Text = Field("", description="a line for figures and results")
    physics: Literal[PHYSICS] = Field(description="the wave equation")  # type: ignore[valid-type]
    precision: Literal["float16", "float32", "float64"] = Field(
        "float32",
        description="number type of the fields; float16, on GPUs, of lossless elastic waves "
        "and of acoustic ones",
    )
    grid: GridSpec = Field(description="region, spacing and differences")
    time: TimeSpec = Field(description="simulated time and its steps")
    boundaries: Boundaries = Field(Boundaries(), description="faces of the region")
    model: Annotated[tuple[ModelPart, ...], Field(min_length=1)] = Field(
        description="parts of the earth model, applied in order"
    )
    averaging: Literal["effective", "point"] = Field(
        "effective",
        description="staggered properties: effective medium (averaged), or values at the points",
    )
    isotropic_source: Literal["none", "auto"] = Field("none", description=ISOTROPIC_SOURCE)
    sources: Annotated[tuple[AnySource, ...], Field(min_length=1)] = Field(
        description="sources, acting together"
    )
    receivers: tuple[ReceiverSet, ...] = Field((), description="sets of receivers")
    survey: Survey | None = Field(None, description="many shots with one source")
    output: Output = Field(Output(), description="output besides traces")
    checkpoint: Checkpoint = Field(Checkpoint(), description="how often checkpoints are written")
    geographic: Geographic | None = Field(
        None, description="geographic reference, for longitudes and latitudes"
    )
    event: Event | None = Field(None, description="origin time and identifier of the event")

    _document: Document = PrivateAttr(default_factory=lambda: Document(""))
    _base: pathlib.Path = PrivateAttr(default_factory=pathlib.Path)
    _checked: dict[str, Any] = PrivateAttr(default_factory=dict)
    _chosen: dict[str, Any] = PrivateAttr(default_factory=dict)

    @field_validator("receivers")
    @classmethod
    def _default_quantities(cls, sets: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
        equation = EQUATIONS.get(info.data.get("physics", ""))
        default = equation and equation.default_quantities
        return tuple(
            group.model_copy(
                update={"quantities": ALONG_FIBRES[:1] if group.type == "fibre" else default}
            )
            if group.quantities is None
            else group
            for group in sets
        )

    @model_validator(mode="after")
    def _keep_rules(self) -> Scenario:
        mistakes = _broken(self._draft())
        if mistakes:
            text = "; ".join(f"{error_messages.key_path(m.path)}: {m.problem}" for m in mistakes)
            raise PydanticCustomError(
                error_messages.RULES, "{text}", {"text": text, "mistakes": mistakes}
            )
        return self

    @property
    def _required(self) -> set[str]:
        """The parameters that the equation has to take."""
        sections = (getattr(self, key) for key in type(self).model_fields)
        return given_parameters(self.model).union(*(getattr(s, "gives", ()) for s in sections))

    def _draft(self) -> Draft:
        """Return the scenario as its rules take it, with all parts."""
        written = {key for key in type(self).model_fields if getattr(self, key) is not None}
        sections: Any = {key: getattr(self, key) for key in OWN_KEYS if hasattr(self, key)}
        return Draft(
            **sections,
            others={key: getattr(self, key) for key in written - OWN_KEYS},
            written=frozenset(written),
            required=frozenset(self._required),
        )

    @property
    def arithmetic(self) -> str:
        """The number type of arithmetic, and of storage except fields."""
        return "float32" if self.in_16_bits else self.precision

    @property
    def in_16_bits(self) -> bool:
        """Whether fields are kept in 16 bits."""
        return self.precision == "float16"

    def __eq__(self, other: object) -> bool:
        """Compare the simulations; the file of origin does not count."""
        if not isinstance(other, Scenario):
            return NotImplemented
        return self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        """Return a hash of the fields."""
        return hash(tuple(self.__dict__.values()))

    @property
    def dimensions(self) -> int:
        """Return 2 or 3."""
        return 2 if self.grid.extent.y is None else 3

    @property
    def ground(self) -> float:
        """Z in m of flat ground, from which depths count."""
        return ground_of(self.grid.origin.top, self.boundaries.top)

    def section(self, key: str) -> Any:
        """Return the section of a key that a feature adds; None where there is none."""
        return getattr(self, key)

    @property
    def has_topography(self) -> bool:
        """Whether the ground is not flat."""
        return self.section("topography") is not None

    @property
    def datum(self) -> float:
        """Z in m of height 0; that of z = 0 where the ground has no datum."""
        return float(getattr(self.section("topography"), "datum", 0.0))

    @property
    def equation(self) -> Equation:
        """Return the wave equation of the physics that takes the model's parameters."""
        return equation_for(self.physics, self.dimensions, self._required)

    @property
    def options(self) -> Any:
        """Return the options of the wave equation; None are its defaults, if it has any."""
        return getattr(self, self.equation.name, None)

    @property
    def base(self) -> pathlib.Path:
        """Return the folder of the scenario file, where relative paths begin."""
        return self._base

    @property
    def path(self) -> pathlib.Path | None:
        """Return the file the scenario was loaded from, or None."""
        return self._base / pathlib.Path(self._document.name).name if self._document.name else None

    @property
    def chosen(self) -> dict[str, Any]:
        """Return the values that were left to the program, by the paths of their keys."""
        return self._chosen

    @property
    def text(self) -> str:
        """Return the YAML as it was written, or the resolved YAML where there was none."""
        return self._document.text or self.to_yaml()

    def typed(self, *path: str | int) -> Any:
        """Return the value of a key as it was written, a mark where it was not."""
        return error_messages.value_at(self._source().data, path)

    def resolve(self, path: str) -> pathlib.Path:
        """Return a path of the scenario, relative ones beginning at the scenario's folder."""
        return self._base / path

    @property
    def results_path(self) -> pathlib.Path | None:
        """Return the default path of the results; None for a scenario without a file.

        `output.path`, or the scenario's own name in the current folder.

        Raises:
            ScenarioError: a link takes `output.path` out of the scenario's folder.
        """
        if self.output.path is not None:
            path = self.resolve(self.output.path)
            if not pathlib.Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.base)):
                problem = "a link leaves the scenario's folder; use --output for other folders"
                raise ScenarioError(f"output.path {path}: {problem}")
            return path
        return None if self.path is None else pathlib.Path(f"{self.path.stem}.h5")

    def where(self, *path: str | int) -> str:
        """Return ``file:line:column`` of a key such as ``where("time", "step")``, or ``""``."""
        line_column = error_messages.line_column_of(self._document, path)
        name = self._document.name
        return f"{name}:{line_column[0]}:{line_column[1]}" if line_column and name else ""

    def named(self, *path: str | int) -> str:
        """Return a key and its place, ``model[0].vp (file:line:column)``."""
        location = self.where(*path)
        return f"{error_messages.key_path(path)}{location and f' ({location})'}"

    def mistake(self, *path: str | int, problem: str) -> ScenarioError:
        """Return the error of a `problem` at `path`, with its place and its value as written."""
        return error_messages.scenario_error(self._source(), [Mistake(path, problem)])

    def changed(self, changes: Mapping[str, Any]) -> Scenario:
        """Return another scenario, checked as a file with these values would be.

        It is that of no file: `path` is None, and `text` the resolved YAML. Relative paths still
        begin at the same folder.

        Args:
            changes: values by the paths of their keys, such as ``{"time.duration": "1 s",
                "sources[0].position.x": 300.0}``; a mapping or list where a key holds several,
                None to leave a key out.

        Raises:
            ScenarioError: with every mistake, or a path leads nowhere.
        """
        return self._with_changes(changes, Document(""))

    def completed(self, additions: dict[str, Any]) -> Scenario:
        """Return this scenario of the same file with further keys, which `chosen` has.

        Raises ScenarioError as `changed` does.
        """
        completed = self._with_changes(additions, self._source())
        completed._chosen = self._chosen | additions
        return completed

    def _with_changes(self, changes: Mapping[str, Any], origin: Document) -> Scenario:
        scenario = self.confirmed()
        data = plain(scenario._source().data)
        for key, value in changes.items():
            if mistake := put(data, path_of(key), value):
                raise scenario.mistake(*mistake.path, problem=mistake.problem)
        return check(Document(origin.name, origin.text, data, origin.line_columns), scenario.base)

    def confirmed(self) -> Scenario:
        """Return this scenario as it was checked, or another where a copy was altered since.

        Raises:
            ScenarioError: with every mistake of an altered scenario.
        """
        data = plain(self)
        return self if data == self._checked else check(Document("", data=data), self.base)

    def _repr_html_(self) -> str:
        """Return the scenario as it was written, as notebooks show it."""
        return f"<pre>{escape(self.text)}</pre>"

    def to_yaml(self) -> str:
        """Return the resolved scenario in SI; it loads back equal."""
        return to_text(self.model_dump(mode="json", exclude_none=True))

    def _source(self) -> Document:  # without the mistakes that are not this call's
        data = self._document.data if self._document.data is not None else self
        return Document(self._document.name, self._document.text, data, self._document.line_columns)


ScenarioInput = Scenario | Mapping[str, Any] | str | os.PathLike[str]


def load(scenario: ScenarioInput) -> Scenario:
    """Read and check a scenario.

    Args:
        scenario: the path of its YAML file; or nested dicts and lists with the keys of the YAML,
            where relative paths begin at the working directory; or a loaded scenario.

    Raises:
        ScenarioError: with every mistake, or where the file cannot be read.
    """
    if isinstance(scenario, Scenario):
        return scenario.confirmed()
    if isinstance(scenario, Mapping):
        return from_dict(scenario)
    if not isinstance(scenario, str | os.PathLike):
        raise ScenarioError(
            f"{type(scenario).__name__}: is no scenario; give the path of a YAML file, or a dict "
            "of its keys"
        )
    return check(read_file(pathlib.Path(scenario)), pathlib.Path(scenario).parent)


def parse(text: str, name: str = "scenario.yaml") -> Scenario:
    """Read and check a scenario from YAML `text`; relative paths begin at the folder of `name`.

    Raises ScenarioError with every mistake.
    """
    return check(read(text, name), pathlib.Path(name).parent)


def from_dict(data: Mapping[str, Any], base: str | os.PathLike[str] = ".") -> Scenario:
    """Check a scenario given as nested dicts and lists with the keys of the YAML.

    Raises ScenarioError with every mistake.
    """
    keys = dict(data) if isinstance(data, Mapping) else data
    return check(Document("", data=keys), pathlib.Path(base))


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a scenario, for editors."""
    schema = Scenario.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def check(document: Document, base: pathlib.Path) -> Scenario:
    """Return the scenario that `document` holds; relative paths begin at the folder `base`.

    Raises ScenarioError with every mistake of the document.
    """
    if not isinstance(document.data, dict):
        content = "empty" if document.data is None else "not a mapping of keys to values"
        name = document.name or "scenario"
        if isinstance(document.data, str) and (problem := tight(document.data)):
            raise ScenarioError(f"{name}: {problem}")
        raise ScenarioError(
            f"{name}: {content}: a scenario begins like 'physics: elastic'; see 'seismo new'"
        )
    document.data = plain(document.data)  # the caller may change its own
    try:
        scenario = Scenario.model_validate(document.data)
        mistakes = list(sources.amounts(scenario.dimensions, document.data))
    except ValidationError as error:
        mistakes = error_messages.translate(error, Scenario, document)
        mistakes += missing_volumes(document.data.get("model"), base)
        if all(item["type"] != error_messages.RULES for item in error.errors(include_url=False)):
            mistakes += _beside(mistakes, document)
    if mistakes or document.mistakes:
        faulty = error_messages.scenario_error(document, mistakes)
        faulty.read = document, mistakes, base
        raise faulty
    scenario._document = document
    scenario._base = base
    scenario._checked = plain(scenario)
    return scenario


def _beside(mistakes: list[Mistake], document: Document) -> list[Mistake]:
    """Return the mistakes that are found beside others, with stand-ins for these."""
    from seismo.scenario.mistakes import continuation  # sound scenarios need none

    mended = continuation.with_stand_ins(document.data, mistakes)
    inside = _inside(mended, document)
    known = [*mistakes, *inside]
    if inside:
        mended = continuation.with_stand_ins(document.data, known)
    draft = continuation.draft_of_data(mended.data, Scenario)
    amounts = sources.amounts(draft.dimensions, mended.data)
    misspelt_sections = {mistake.path[:-1] for mistake in known if mistake.is_unknown}
    return inside + [
        mistake
        for mistake in (*_broken(draft), *amounts)
        if mistake.path not in misspelt_sections
        and not error_messages.is_misspelt(mistake, known)
        and not any(mistake.path[: len(path)] == path for path in mended.replaced)
    ]


def _inside(mended: Mended, document: Document) -> list[Mistake]:
    """Return the mistakes in sections whose type is misspelt, by the type that is meant."""
    if not mended.retyped:
        return []
    try:
        Scenario.model_validate(mended.data)
    except ValidationError as error:
        retyped = Document(document.name, document.text, mended.data, document.line_columns)
        return [
            mistake
            for mistake in error_messages.translate(error, Scenario, retyped)
            if any(mistake.path[: len(path)] == path for path in mended.retyped)
        ]
    return []


def _broken(draft: Draft) -> list[Mistake]:
    return [mistake for rule in _rules() for mistake in rule(draft)]


def filled(
    document: Document, mistakes: list[Mistake], base: pathlib.Path
) -> tuple[Scenario, set[KeyPath]] | None:
    """Return a faulty scenario with fillers, and the paths of these; None where it has no grid.

    Args:
        document: as it was read.
        mistakes: beside the mistakes of the document.
        base: the scenario's folder.
    """
    from seismo.scenario.mistakes import continuation

    # An unknown key may have been meant to move the grid, or to be a section of it.
    unexplained = [m for m in mistakes if m.is_unknown and not m.suggestion.meant]
    if any(len(m.path) == 1 or m.path[0] in continuation.BASIC for m in unexplained):
        return None
    # Unknown keys of other sections are left out by stand-ins.
    paths = [m.path for m in document.mistakes]
    paths += [m.path for m in mistakes if len(m.path) != 2 or not m.is_unknown]
    entries = {continuation.entry_of(path) for path in paths} - {()}
    data = continuation.with_stand_ins(document.data, mistakes).data
    data = continuation.with_fillers(data, continuation.draft_of_data(data, Scenario), entries)
    try:
        scenario = check(Document(document.name, "", data, document.line_columns), base)
    except ScenarioError:
        return None
    return scenario, entries
