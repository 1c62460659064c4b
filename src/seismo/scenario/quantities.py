"""Sections of a scenario, and the typed quantities with units that they hold.

A section is plain data that never changes after it was validated. Its numbers are declared as
``Length``, ``Velocity`` and so on: the annotation parses units, checks the range and tells the JSON
schema and the reference the values that it accepts, so that each fact is written once. Values that
may be left to the program accept the word ``auto``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Strict,
    StringConstraints,
    create_model,
)
from pydantic import Field as Field
from pydantic_core import core_schema

from seismo.equations.framework.parameters import CONSTANTS, LEAST_CONSTANT, RHO, Parameter
from seismo.errors import KeyPath, ScenarioError
from seismo.grid.coordinates import MOST
from seismo.scenario import units

AUTO = "auto"


@dataclass(frozen=True)
class Shorthand:
    """Annotation of a section or list that may be written shorter; `words` describe how."""

    words: str


class OrAuto:
    """Annotation of a value that may be left to the program: ``auto``."""

    words = AUTO

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Accept the word, and the annotated type."""
        inner = handler(source)
        written = core_schema.wrap_serializer_function_ser_schema(self._checked, schema=inner)
        return core_schema.no_info_wrap_validator_function(
            self._checked, inner, serialization=written
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Describe both spellings."""
        return {"anyOf": [{"const": AUTO}, handler(schema["schema"])]}

    @staticmethod
    def _checked(value: Any, check: Callable[[Any], Any]) -> Any:
        return AUTO if value == AUTO else check(value)


class Described:
    """An annotation that describes the values it allows itself."""

    @property
    def allowed(self) -> str:
        """Values that may stand there, in words."""
        raise NotImplementedError


@dataclass(frozen=True)
class AutoOrCount(Described):
    """Annotation of a whole number from 1 on that may be left to the program: ``auto``.

    With a `length` it is a list of so many, with `choices` a member of them.
    """

    length: int = 0
    choices: tuple[int, ...] = ()

    @property
    def allowed(self) -> str:
        """Describe the allowed values."""
        if self.choices:
            return f"auto, or one of {', '.join(map(str, self.choices))}"
        plain = f"a list of {self.length} whole numbers" if self.length else "a whole number"
        return f"auto, or {plain}, at least 1"

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Accept the word and whole numbers, no texts that look like them."""
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Describe both spellings."""
        number: dict[str, Any] = {"type": "integer", "minimum": 1}
        if self.choices:
            number = {"type": "integer", "enum": list(self.choices)}
        ends = {"minItems": self.length, "maxItems": self.length}
        several = {"type": "array", "items": number, **ends}
        return {"anyOf": [{"const": AUTO}, several if self.length else number]}

    def _checked(self, value: Any) -> Any:
        is_choice = value in self.choices if self.choices else True
        if value == AUTO or (not self.length and _is_count(value) and is_choice):
            return value
        counts = value if isinstance(value, list | tuple) else ()
        if self.length and len(counts) == self.length and all(map(_is_count, counts)):
            return tuple(counts)
        raise ValueError(f"must be {self.allowed}")


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


TAG = "|"  # starts the name of a union's branch, so that no key can be mistaken for it


@dataclass(frozen=True)
class Suggestion:
    """A key or value that is likely meant by an unknown word.

    Attributes:
        text: end of a message, such as "; did you mean 'top'?"; "" where nothing is alike.
        meant: that key or value; "" where the text says something else.
        is_synonym: whether it means the same as the word; the text tells the difference otherwise.
    """

    text: str = ""
    meant: str = ""
    is_synonym: bool = True


NO_SUGGESTION = Suggestion()


@dataclass(frozen=True)
class Mistake:
    """A mistake of a scenario: its path, and the values that are allowed instead.

    Attributes:
        path: keys that lead to it.
        problem: the text of its message.
        kind: whether its key is unknown or missing, or its value has to be true or false.
        suggestion: the key or value that is likely meant.
    """

    path: KeyPath
    problem: str
    kind: Literal["unknown", "missing", "truth", "other"] = dataclass_field(
        default="other", compare=False
    )
    suggestion: Suggestion = dataclass_field(default=NO_SUGGESTION, compare=False)

    @property
    def is_unknown(self) -> bool:
        """Whether no such key exists."""
        return self.kind == "unknown"


Mistakes = Iterator[Mistake]


class ScenarioSection(BaseModel):
    """A piece of a scenario: immutable, with no keys beyond those declared."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_default=False,
        use_attribute_docstrings=False,
        defer_build=True,
    )

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse to change checked data."""
        if not name.startswith("_"):
            raise ScenarioError(
                f"{name}: a scenario stays as it was checked; make another, such as "
                "scenario.changed({'time.duration': '1 s'})"
            )
        super().__setattr__(name, value)


Section = TypeVar("Section", bound=type[BaseModel])


def with_keys(
    declared: Iterable[Any], keys: Callable[[Any], dict[str, tuple[Any, Any]]]
) -> Callable[[Section], Section]:
    """Return a decorator that gives a section keys of each thing that equations declare.

    Args:
        declared: parameters, equations.
        keys: function(declared) -> type and `Field` by key.
    """

    def extended(section: Section) -> Section:
        named = {key: field for thing in declared for key, field in keys(thing).items()}
        make: Any = create_model
        return make(
            section.__name__, __base__=section, __doc__=section.__doc__,
            __module__=section.__module__, **named,
        ) if named else section  # fmt: skip

    return extended


@dataclass(frozen=True)
class AddedKey:
    """A key that a feature adds to the scenario, behind another key.

    Attributes:
        name: the key.
        after: the key that it follows in the schema, and in scenarios that are written.
        annotation: the type of its value.
        field: its default and description.
    """

    name: str
    after: str
    annotation: Any
    field: Any


def with_added(additions: Iterable[AddedKey]) -> Callable[[Section], Section]:
    """Return a decorator that adds keys of features to a section."""

    def extended(section: Section) -> Section:
        make: Any = create_model
        keys = {added.name: (added.annotation, added.field) for added in additions}
        model = make(
            section.__name__, __base__=section, __doc__=section.__doc__,
            __module__=section.__module__, **keys,
        )  # fmt: skip
        fields = model.__pydantic_fields__
        order = [name for name in fields if name not in keys]
        for added in additions:
            order.insert(order.index(added.after) + 1, added.name)
        # The schema is built at the first use, of the fields in this order.
        model.__pydantic_fields__ = {name: fields[name] for name in order}
        return model

    return extended


@dataclass(frozen=True)
class Quantity:
    """Annotation of a float: accepts a number in SI or a text with a unit, within bounds."""

    dimension: units.Dimension
    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None

    @property
    def infinite(self) -> bool:
        """Whether infinity is a value."""
        return self.le == math.inf

    def bounds(self) -> dict[str, float]:
        """Return the bounds that are set, by pydantic's names."""
        all_bounds = {"gt": self.gt, "ge": self.ge, "lt": self.lt, "le": self.le}
        return {name: value for name, value in all_bounds.items() if value not in (None, math.inf)}

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Convert first, then check the bounds."""
        number = core_schema.float_schema(**self.bounds(), allow_inf_nan=self.infinite)  # type: ignore[arg-type]

        def convert(value: Any) -> float:
            endless = self.infinite and value in (math.inf, "inf", ".inf")
            return math.inf if endless else units.to_si(value, self.dimension)

        return core_schema.no_info_before_validator_function(convert, number)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Describe both spellings, and the unit of the plain number."""
        names = {
            "gt": "exclusiveMinimum",
            "ge": "minimum",
            "lt": "exclusiveMaximum",
            "le": "maximum",
        }
        number = {"type": "number"} | {names[key]: value for key, value in self.bounds().items()}
        symbol = self.dimension.symbol
        examples = [f"1 {unit}" for unit in self.dimension.offers]
        text = {"type": "string", "pattern": r"^\s*[-+]?[0-9.]"} | (
            {"examples": examples} if examples else {}
        )
        return {"anyOf": [number, text]} | ({"x-unit": symbol} if symbol else {})


ONE_LENGTH = Shorthand("a number in m, above 0")


def or_one_length(schema: dict[str, Any]) -> None:
    """Extend the JSON schema: a single length may serve all axes."""
    number = {"type": "number", "exclusiveMinimum": 0}
    text = {"type": "string", "pattern": r"^\s*[-+]?[0-9.]", "examples": ["10 m"]}
    others = schema.pop("anyOf", None) or [{"$ref": schema.pop("$ref")}]
    schema["anyOf"] = [number, text, *others]
    schema["x-unit"] = "m"


def one_length(value: Any) -> float:
    """Read a length for all axes."""
    length = units.to_si(value, units.LENGTH)
    if length <= 0.0:
        raise ValueError("must be greater than 0 m")
    return length


# relative
_LEAST_ERROR = 1e-6
_LARGEST_ERROR = 0.1
# kg/m3: no medium lies between, but g/cm3 of rocks
_AIR = 1.5
_LIGHTEST = 10.0
_ROUNDING = 0.01  # Pa: of constants that were turned in double precision


def impossible(parameter: Parameter, value: float) -> str:
    """Explain why no medium has this value (SI) of a parameter, if none has."""
    low, high = parameter.limits
    if parameter is RHO and _AIR < value < _LIGHTEST:
        limits = f"at most {_AIR:g}, or {_LIGHTEST:g} to {high:g} kg/m3"
        return (
            f"{value:g} kg/m3 is too light for ground and water, and too heavy for air ({limits}); "
            f"did you mean '{value:g} g/cm3'?"
        )
    if parameter.name in CONSTANTS and _ROUNDING < abs(value) < LEAST_CONSTANT:
        return (
            f"{value:g} Pa is too little for any rock ({LEAST_CONSTANT:g} Pa at least); did you "
            f"mean '{value:g} GPa'?"
        )
    reached = value == (0.0 if parameter.zero else low) and parameter.has_least
    if low < value <= high or reached:
        return ""
    if parameter.unit != units.VELOCITY.symbol:
        first = "from" if parameter.reached else "above"
        limits = f"{first} {low:g}, at most {high:g} {parameter.unit}".rstrip()
        return f"{value:g} {parameter.unit}".rstrip() + f" is no {parameter.meaning} ({limits})"
    too_slow = value <= low
    suggestion = f"{value:g} km/s" if too_slow else f"{value / 1e3:g} m/s"
    is_plausible = 100.0 <= (value * 1e3 if too_slow else value / 1e3) <= 9000.0
    hint = f"; did you mean '{suggestion}'?" if is_plausible else ""
    limits = f"{'0, or ' if parameter.zero else ''}{low:g} m/s to {high / 1e3:g} km/s"
    adjective = "slow" if too_slow else "fast"
    wave = parameter.meaning.partition(" ")[0]
    return f"{value:g} m/s is too {adjective} for {wave} waves ({limits}){hint}"


def _possible(parameter: Parameter) -> AfterValidator:
    def checked(value: float) -> float:
        if problem := impossible(parameter, value):
            raise ValueError(problem)
        return value

    return AfterValidator(checked)


def value_of(parameter: Parameter) -> Any:
    """Return the type of a parameter's values; velocities beyond its limits get a hint."""
    bounds: dict[str, float] = {"ge" if parameter.has_least else "gt": parameter.least}
    if parameter.unit != units.VELOCITY.symbol:
        bounds["le"] = parameter.limits[1]
    number = Quantity(units.DIMENSIONS[parameter.unit], **bounds)
    return Annotated[float, number, _possible(parameter)]


def gradient_of(parameter: Parameter) -> Any:
    """Return the type of a parameter's gradient."""
    return Annotated[float, Quantity(units.per_metre(units.DIMENSIONS[parameter.unit]))]


def _increasing(numbers: tuple[float, ...]) -> tuple[float, ...]:
    if any(low >= high for low, high in pairwise(numbers)):
        raise ValueError("must increase: write the smaller number first")
    return numbers


def _not_zero(value: float) -> float:
    if value == 0.0:
        raise ValueError("is 0, and nothing would move; give another number, or leave it out for 1")
    return value


def _short_names(path: str) -> str:
    if any(len(name.encode()) > 255 for name in path.split("/")):
        raise ValueError("has a name of more than 255 bytes, which no file has")
    return path


def _within_percents(value: Any) -> float:
    """Refuse a relative error beyond the limits, the more clearly where it counts percents."""
    error = units.to_si(value, units.NUMBER)
    if _LEAST_ERROR <= error <= _LARGEST_ERROR:
        return error
    limits = f"{100.0 * _LEAST_ERROR:g} to {100.0 * _LARGEST_ERROR:g} %"
    remedy = f"write {100.0 * _LARGEST_ERROR:g} % or less"
    if error < _LEAST_ERROR:
        remedy = f"write {100.0 * _LEAST_ERROR:g} % or more"
    elif not isinstance(value, str) and error <= 100.0 * _LARGEST_ERROR:
        remedy = f"write {error:g} %, or {error / 100.0:g}, if that is meant"
    raise ValueError(f"is {100.0 * error:g} %, and can be {limits}; {remedy}")


def _not_tiny(value: float) -> float:
    if value < _SHORTEST:
        raise ValueError(f"is shorter than {_SHORTEST:g} s; check its unit")
    return value


_SHORTEST = 1e-15  # s: far below the step of any wave that a grid carries
Number = Annotated[float, Quantity(units.NUMBER)]
Factor = Annotated[float, Quantity(units.NUMBER), AfterValidator(_not_zero)]
PositiveNumber = Annotated[float, Quantity(units.NUMBER, gt=0.0)]
RelativeError = Annotated[
    float,
    Quantity(units.NUMBER, ge=_LEAST_ERROR, le=_LARGEST_ERROR),
    BeforeValidator(_within_percents),
]
Length = Annotated[float, Quantity(units.LENGTH)]
PositiveLength = Annotated[float, Quantity(units.LENGTH, gt=0.0)]
Time = Annotated[float, Quantity(units.TIME)]
PositiveTime = Annotated[float, Quantity(units.TIME, gt=0.0), AfterValidator(_not_tiny)]
SamplingInterval = Annotated[float, Quantity(units.TIME, gt=0.0, le=1e6), AfterValidator(_not_tiny)]
TimeFromZero = Annotated[float, Quantity(units.TIME, ge=0.0)]
Frequency = Annotated[float, Quantity(units.FREQUENCY, ge=1e-9, le=1e9)]
PositiveFrequency = Annotated[float, Quantity(units.FREQUENCY, gt=0.0)]
FrequencyFromZero = Annotated[float, Quantity(units.FREQUENCY, ge=0.0)]
Force = Annotated[float, Quantity(units.FORCE)]
Moment = Annotated[float, Quantity(units.MOMENT)]
PressureStrength = Annotated[float, Quantity(units.PRESSURE_STRENGTH), AfterValidator(_not_zero)]
VolumeRate = Annotated[float, Quantity(units.VOLUME_RATE), AfterValidator(_not_zero)]
ScalarMoment = Annotated[float, Quantity(units.MOMENT), AfterValidator(_not_zero)]
PositiveMoment = Annotated[float, Quantity(units.MOMENT, gt=0.0)]
Magnitude = Annotated[float, Quantity(units.NUMBER, ge=-5.0, le=10.5)]
Angle = Annotated[float, Quantity(units.ANGLE, ge=-360.0, le=360.0)]
Dip = Annotated[float, Quantity(units.ANGLE, ge=0.0, le=90.0)]
Incidence = Annotated[float, Quantity(units.ANGLE, ge=0.0, le=89.0)]
ParticleVelocity = Annotated[float, Quantity(units.VELOCITY), AfterValidator(_not_zero)]
Longitude = Annotated[float, Quantity(units.ANGLE, ge=-MOST, le=MOST)]
Latitude = Annotated[float, Quantity(units.ANGLE, ge=-90.0, le=90.0)]
Interval = Annotated[tuple[Length, Length], AfterValidator(_increasing)]
Corners = Annotated[tuple[Frequency, Frequency, Frequency, Frequency], AfterValidator(_increasing)]

Integer = Annotated[int, Strict()]
Together = Annotated[Any, AutoOrCount()]
SubdomainCounts = Annotated[Any, AutoOrCount(length=2)]
Orders = Annotated[Any, AutoOrCount(choices=tuple(range(2, 17, 2)))]
Truth = Annotated[bool, Strict()]
Text = Annotated[str, StringConstraints(max_length=500)]
FilePath = Annotated[
    str,
    StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00-\x1f\x7f-\x9f]+\z"),
    AfterValidator(_short_names),
]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z")]


def by_type() -> Discriminator:
    """Return the discriminator of a union whose branches differ in their ``type``."""

    def branch(value: Any) -> str | None:
        name = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
        return f"{TAG}{name}" if isinstance(name, str) else None

    return Discriminator(branch)


def by_keys(choose: Callable[[frozenset[str]], str]) -> Discriminator:
    """Return the discriminator of a union whose branches differ in their keys."""

    def branch(value: Any) -> str:
        keys = value if isinstance(value, dict) else getattr(type(value), "model_fields", {})
        return TAG + choose(frozenset(str(key) for key in keys))

    return Discriminator(branch)
