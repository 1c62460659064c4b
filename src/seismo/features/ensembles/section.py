"""The section `ensemble` of a scenario: members, and the distributions of the drawn values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Tag, model_validator

from seismo.errors import ScenarioError
from seismo.grid.time_step import as_fraction
from seismo.scenario import units
from seismo.scenario.draft import Draft
from seismo.scenario.quantities import (
    AddedKey,
    Described,
    Field,
    FilePath,
    Integer,
    Mistake,
    Mistakes,
    Quantity,
    ScenarioSection,
    Text,
    Truth,
    by_type,
)

if TYPE_CHECKING:
    from seismo.features.ensembles.keys import DrawnKey
    from seismo.scenario import Scenario

MOST_MEMBERS = 100_000


class UnitOfKey(Described):
    """Annotation of a value in the unit of the drawn key, which rules read."""

    @property
    def allowed(self) -> str:
        """Values that may stand there, in words."""
        return "a number, or a text with a unit, as the key takes it"


def _is_number_or_text(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"must be {UnitOfKey().allowed}")
    return value


KeyValue = Annotated[Any, UnitOfKey(), AfterValidator(_is_number_or_text)]


class DistributionSection(ScenarioSection):
    """A key of the scenario and the distribution of its values."""

    key: Text = Field(
        description="path of a number in `model` or `sources`, such as model[1].vs or "
        "sources[0].position.x"
    )
    lowest: KeyValue | None = Field(None, description="no value below it")
    highest: KeyValue | None = Field(None, description="no value above it")

    @property
    def amounts(self) -> Iterator[tuple[tuple[str | int, ...], Any]]:
        """The values in the unit of the key, by their own keys."""
        for name in ("lowest", "highest", "mean", "deviation", "median", "numbers"):
            entry = getattr(self, name, None)
            if isinstance(entry, tuple):
                yield from (((name, n), number) for n, number in enumerate(entry))
            elif entry is not None:
                yield (name,), entry

    def limits(self, key: DrawnKey) -> tuple[float | None, float | None]:
        """Return the least and the greatest value in SI, None without one."""
        ends = (self.lowest, self.highest)
        low, high = (None if end is None else key.to_si(end) for end in ends)
        return low, high


class UniformValues(DistributionSection):
    """All values from `lowest` to `highest` are equally likely; of whole numbers both ends too."""

    type: Literal["uniform"]
    lowest: KeyValue = Field(description="no value below it")
    highest: KeyValue = Field(description="no value above it")


class NormalValues(DistributionSection):
    """A normal distribution, cut off at `lowest` and `highest` where these are given."""

    type: Literal["normal"]
    mean: KeyValue | None = Field(
        None, description="of the distribution before it is cut off; default: the value of the key"
    )
    deviation: KeyValue = Field(description="standard deviation before it is cut off")


class LognormalValues(DistributionSection):
    """The logarithm has a normal distribution, cut off where `lowest` and `highest` are given."""

    type: Literal["lognormal"]
    median: KeyValue | None = Field(
        None, description="of the distribution before it is cut off; default: the value of the key"
    )
    sigma: Annotated[float, Quantity(units.NUMBER, gt=0.0)] = Field(
        description="standard deviation of the natural logarithm: 0.1 is about 10 %"
    )


class ChosenValues(DistributionSection):
    """One of `numbers` for each member, drawn at random."""

    type: Literal["choice"]
    numbers: Annotated[tuple[KeyValue, ...], Field(min_length=1)] = Field(
        description="to choose from"
    )
    weights: tuple[Annotated[float, Quantity(units.NUMBER, ge=0.0)], ...] | None = Field(
        None, description="likelihood of each number, in any unit; default: all alike"
    )

    @model_validator(mode="after")
    def _weighted(self) -> ChosenValues:
        if self.weights is not None and len(self.weights) != len(self.numbers):
            raise ValueError(f"weights: give {len(self.numbers)}, as many as numbers")
        if self.weights is not None and not any(self.weights):
            raise ValueError("weights: are all 0; give at least one above 0")
        return self


class ListedValues(DistributionSection):
    """The values of the members one by one; nothing is drawn."""

    type: Literal["list"]
    numbers: Annotated[tuple[KeyValue, ...], Field(min_length=1)] = Field(
        description="one for each member, in their order"
    )


Distribution = Annotated[
    Annotated[UniformValues, Tag("|uniform")]
    | Annotated[NormalValues, Tag("|normal")]
    | Annotated[LognormalValues, Tag("|lognormal")]
    | Annotated[ChosenValues, Tag("|choice")]
    | Annotated[ListedValues, Tag("|list")],
    by_type(),
]


class EnsembleTable(ScenarioSection):
    """A CSV file of values: a row for each member, below a row of keys such as `model[1].vs`."""

    path: FilePath = Field(description="of the file, relative to the scenario's folder")


class EnsembleSection(ScenarioSection):
    """Many runs of the scenario, its *members*, each with values of its own."""

    members: Annotated[Integer, Field(ge=2, le=MOST_MEMBERS)] = Field(description="number of runs")
    seed: Annotated[Integer, Field(ge=0, lt=2**63)] = Field(
        0, description="of the drawn values; more members begin with the same values"
    )
    draw: tuple[Distribution, ...] = Field((), description="keys and their distributions")
    table: EnsembleTable | None = Field(
        None, description="values from a file, besides `draw` or in its place"
    )
    percentiles: tuple[Annotated[float, Quantity(units.NUMBER, ge=0.0, le=100.0)], ...] = Field(
        (16.0, 50.0, 84.0), description="of maps over the members, 0 to 100"
    )
    member_maps: Truth = Field(
        True, description="keep the maps of all members beside their statistics"
    )

    @model_validator(mode="after")
    def _draws(self) -> EnsembleSection:
        if not self.draw and self.table is None:
            raise ValueError("needs draw or table: the keys whose values differ between members")
        return self


KEY = AddedKey(
    "ensemble", "survey", EnsembleSection | None,
    Field(None, description="many runs with drawn values, in one file"),
)  # fmt: skip


def section_of(scenario: Scenario) -> EnsembleSection:
    """Return the section of a scenario that has an ensemble."""
    section: EnsembleSection = scenario.section("ensemble")
    return section


def drawn_keys(draft: Draft) -> Mistakes:
    """Check the keys that are drawn, and the numbers of their distributions."""
    from seismo.features.ensembles.keys import key_of  # other scenarios need it not

    ensemble: EnsembleSection | None = draft.others.get("ensemble")
    if ensemble is None or draft.model is None or draft.sources is None:
        return
    keys_before: set[Any] = set()
    for index, distribution in enumerate(ensemble.draw):
        path = ("ensemble", "draw", index)
        try:
            key = key_of(distribution.key, draft.model, draft.sources)
        except ScenarioError as error:
            yield Mistake((*path, "key"), str(error))
            continue
        if key.path in keys_before:
            yield Mistake((*path, "key"), "is drawn twice: leave one of them out")
        keys_before.add(key.path)
        mistakes = list(_numbers(distribution, key, path))
        yield from mistakes or _distribution(distribution, key, path, ensemble.members)


def _numbers(distribution: Any, key: DrawnKey, path: tuple[str | int, ...]) -> Mistakes:
    """Check that numbers have the unit of the key."""
    for below, number in distribution.amounts:
        try:
            key.to_si(number)
        except units.UnitError as error:
            yield Mistake((*path, *below), str(error))


def _distribution(
    distribution: Any, key: DrawnKey, path: tuple[str | int, ...], members: int
) -> Mistakes:
    """Check that a distribution has values."""
    low, high = distribution.limits(key)
    if low is not None and high is not None and low >= high:
        yield Mistake((*path, "highest"), f"must be above lowest, {low:g} {key.unit}".rstrip())
    if isinstance(distribution, NormalValues) and key.to_si(distribution.deviation) <= 0.0:
        yield Mistake((*path, "deviation"), "must be above 0")
    if isinstance(distribution, LognormalValues):
        median = key.value if distribution.median is None else key.to_si(distribution.median)
        for name, number in (("median", median), ("lowest", low), ("highest", high)):
            if number is not None and number <= 0.0:
                problem = f"{name} is {number:g}, and lognormal values are above 0"
                yield Mistake(path, f"{problem}: use another type")
    if isinstance(distribution, ListedValues) and len(distribution.numbers) != members:
        count = len(distribution.numbers)
        yield Mistake((*path, "numbers"), f"has {count} for {members} members: give as many")
    if isinstance(distribution, ChosenValues | ListedValues) and (low, high) != (None, None):
        yield Mistake(path, "lowest and highest are of distributions: leave them out of a list")


def common_layout(draft: Draft) -> Mistakes:
    """Refuse output whose layout differs between members."""
    if draft.others.get("ensemble") is None:
        return
    if draft.output is not None and draft.output.snapshots:
        problem = "are not kept of an ensemble: leave them out, or run a member by itself"
        yield Mistake(("output", "snapshots"), f"{problem} (seismo run --member 0)")
    if draft.time is None or draft.time.step is not None:
        return
    for index, group in enumerate(draft.receivers or ()):
        path = ("receivers", index, "interval")
        if group is None:
            continue
        if group.interval is None:
            yield Mistake(
                path, "missing: members of an ensemble take time steps of their own; give the time "
                "between samples, or time.step for all",
            )  # fmt: skip
        elif (as_fraction(draft.time.duration) / as_fraction(group.interval)).denominator > 1:
            yield Mistake(
                path, f"does not divide time.duration, {draft.time.duration:g} s: members of an "
                "ensemble would end with other samples; change one of them, or give time.step",
            )  # fmt: skip


RULES = {"names": (drawn_keys, common_layout)}
