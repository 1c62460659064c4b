"""Settings of an inversion: a YAML file, checked as a scenario is.

Its keys::

    scenario, start     waves and grid, and the first model
    observed            recorded traces
    parameters, ties    unknowns with bounds, and parameters that follow from them
    misfit, bands       comparison of traces, by frequency bands one after the other
    precondition, smooth, mask, optimiser, shots
"""

from __future__ import annotations

import math
import os
import re
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Tag, create_model, model_validator

from seismo.equations.framework.parameters import Parameter
from seismo.equations.framework.registry import PARAMETERS
from seismo.errors import KeyPath
from seismo.inversion.misfits import KINDS
from seismo.inversion.survey.settings import (
    FixedNodes,
    IterationCount,
    ObservedFiles,
    PositiveShare,
    SourceIllumination,
    SurveySettings,
    TraceWindow,
    load_settings,
    rising,
)
from seismo.scenario import Scenario, units
from seismo.scenario.model_parts import ModelPart
from seismo.scenario.quantities import (
    Field,
    Integer,
    Mistake,
    PositiveLength,
    PositiveNumber,
    Quantity,
    ScenarioSection,
    by_type,
    value_of,
    with_keys,
)

_TIE = re.compile(
    r"(?P<source>[a-z]\w*)\s*(?P<sign>[*/])\s*(?P<number>[0-9.]+(?:e[-+]?[0-9]+)?)", re.IGNORECASE
)
GARDNER = "gardner"


def _of_unknowns(parameter: Parameter) -> dict[str, tuple[Any, Any]]:
    """Return the key of a parameter that may be unknown."""
    value = value_of(parameter)
    pair: Any = tuple[value, value]  # type: ignore[valid-type]
    bounds: Any = (
        Annotated[pair, AfterValidator(rising)], Field(description="least and greatest value")
    )  # fmt: skip
    make: Any = create_model
    section = make(
        f"Unknown_{parameter.name}", __base__=UnknownParameter, __module__=__name__, bounds=bounds,
        __doc__=f"{parameter.meaning}, as an unknown.",
    )  # fmt: skip
    field = Field(None, description=f"{parameter.meaning}, if it is unknown")
    return {parameter.name: (section | None, field)}


def _of_ties(parameter: Parameter) -> dict[str, tuple[Any, Any]]:
    """Return the key of a parameter that may follow from an unknown one."""
    field = Field(None, description=f"how the {parameter.meaning} follows from an unknown")
    return {parameter.name: (Annotated[str, AfterValidator(_readable_tie)] | None, field)}


def _readable_tie(text: str) -> str:
    if text != GARDNER and _TIE.fullmatch(text.strip()) is None:
        raise ValueError(f"must be {GARDNER}, or a ratio such as vp / 1.8 or vp * 0.55")
    return text


class UnknownParameter(ScenarioSection):
    """A parameter that the inversion changes."""

    bounds: tuple[float, float]
    unknown: Literal["value", "slowness", "log"] = Field(
        "value",
        description="what is unknown: the parameter as it is (velocity), its inverse (slowness), "
        "or its logarithm",
    )


@with_keys(PARAMETERS.values(), _of_unknowns)
class UnknownParameters(ScenarioSection):
    """The unknowns."""

    @property
    def by_name(self) -> dict[str, UnknownParameter]:
        """The parameters that are given."""
        return {n: getattr(self, n) for n in type(self).model_fields if getattr(self, n)}

    @model_validator(mode="after")
    def _has_any(self) -> UnknownParameters:
        if not self.by_name:
            raise ValueError("names no parameter: give one, such as vp")
        return self


@with_keys(PARAMETERS.values(), _of_ties)
class ParameterTies(ScenarioSection):
    """Parameters that follow from unknowns, node by node."""

    @property
    def by_name(self) -> dict[str, tuple[str, float, float]]:
        """The parameter that each follows from, and the power and factor: y = factor x^power."""
        written = {n: getattr(self, n) for n in type(self).model_fields if getattr(self, n)}
        return {name: _tie(text) for name, text in written.items()}


def _tie(text: str) -> Any:
    """Return the source, the power and the factor of a tie.

    Literature: Gardner, Gardner & Gregory (1974, Geophysics 39, 770-780): rho = 310 vp^(1/4), SI.
    """
    if text == GARDNER:
        return "vp", 0.25, 310.0
    match = _TIE.fullmatch(text.strip())
    assert match is not None  # it was checked
    number = float(match["number"])
    return match["source"], 1.0, number if match["sign"] == "*" else 1.0 / number


class MisfitSettings(TraceWindow):
    """The comparison of traces."""

    kind: Literal[tuple(KINDS)] = Field("l2", description="misfit of two traces")  # type: ignore[valid-type]
    threshold: PositiveNumber | None = Field(None, description="of huber, in the unit of traces")
    water_level: PositiveNumber | None = Field(None, description="of envelope [default: 0.001]")
    sharpness: PositiveNumber | None = Field(None, description="of transport [default: 3]")

    @property
    def options(self) -> dict[str, float]:
        """The options of the kind that are given."""
        names = ("threshold", "water_level", "sharpness")
        return {n: getattr(self, n) for n in names if getattr(self, n) is not None}

    @model_validator(mode="after")
    def _with_its_options(self) -> MisfitSettings:
        option = {"huber": "threshold", "envelope": "water_level", "transport": "sharpness"}
        for name in self.options:
            if option.get(self.kind) != name:
                raise ValueError(f"{name} is no option of {self.kind}: leave it out")
        if self.kind == "huber" and self.threshold is None:
            raise ValueError("huber needs a threshold, in the unit of the traces")
        return self


class Optimiser(ScenarioSection):
    """The way to the least misfit."""

    method: Literal["l-bfgs-b", "adam"] = Field("l-bfgs-b", description="method")
    iterations: IterationCount = Field(20, description="of each band, at most")
    memory: Annotated[Integer, Field(ge=1, le=100)] | None = Field(
        None, description="of l-bfgs-b: updates that it remembers [default: 10]"
    )
    tolerance: PositiveNumber | None = Field(
        None, description="of l-bfgs-b: relative decrease of the misfit below which it ends [1e-6]"
    )
    step: PositiveShare | None = Field(
        None, description="of adam: share of the bounds that an unknown changes by [default: 2 %]"
    )

    @model_validator(mode="after")
    def _with_own_keys(self) -> Optimiser:
        others = ("step",) if self.method == "l-bfgs-b" else ("memory", "tolerance")
        for name in others:
            if getattr(self, name) is not None:
                raise ValueError(f"{name} is no key of {self.method}: leave it out")
        return self


class DepthPower(ScenarioSection):
    """Multiply by a power of the depth below the top of the model."""

    type: Literal["depth"] = Field("depth", description="kind")
    power: PositiveNumber = Field(1.0, description="power of the depth")


AnyPrecondition = Annotated[
    Annotated[SourceIllumination, Tag("|illumination")] | Annotated[DepthPower, Tag("|depth")],
    by_type(),
]


class RandomShots(ScenarioSection):
    """Shots that are drawn anew for each iteration."""

    each: IterationCount = Field(description="shots of an iteration")
    random: Annotated[Integer, Field(ge=0)] = Field(description="seed of the draw")


def _in_order(bands: tuple[float, ...]) -> tuple[float, ...]:
    if any(low >= high for low, high in pairwise(bands)):
        raise ValueError("must increase: the lowest frequency comes first")
    return bands


Band = Annotated[float, Quantity(units.FREQUENCY, gt=0.0, le=math.inf)]


class Inversion(SurveySettings):
    """An inversion; its attributes are the keys of its file."""

    observed: ObservedFiles = Field(description="files of observed traces")
    parameters: UnknownParameters = Field(description="unknowns, with their bounds")
    ties: ParameterTies = Field(ParameterTies(), description="parameters that follow from unknowns")
    start: Annotated[tuple[ModelPart, ...], Field(min_length=1)] | None = Field(
        None, description="parts of the first model, as of a scenario [default: the scenario's]"
    )
    misfit: MisfitSettings = Field(MisfitSettings(), description="comparison of traces")
    bands: Annotated[tuple[Band, ...], Field(min_length=1), AfterValidator(_in_order)] = Field(
        (math.inf,), description="corners of low-pass filters, one after the other; inf: none"
    )
    optimiser: Optimiser = Field(Optimiser(), description="the way to the least misfit")
    precondition: AnyPrecondition | None = Field(None, description="weights of the gradient")
    smooth: PositiveLength | None = Field(
        None, description="standard deviation of the Gaussian that smooths changes of the model"
    )
    mask: FixedNodes = Field(FixedNodes(), description="nodes that stay as they are")
    shots: RandomShots | None = Field(None, description="shots of an iteration [default: all]")

    def first_scenario(self) -> Scenario:
        """Return the scenario, with the first model as its own.

        Raises:
            ScenarioError: with every mistake of the scenario, or of `start`.
        """
        return self.scenario_with("start")


def load_inversion(path: str | os.PathLike[str]) -> Inversion:
    """Read and check an inversion.

    Raises:
        ScenarioError: it cannot be read; or every mistake in it, a line each.
    """
    return load_settings(path, Inversion, "inversion", _between)


def _between(inversion: Inversion) -> list[Mistake]:
    """Return mistakes of keys that do not go together."""
    mistakes: list[tuple[KeyPath, str]] = []
    unknowns = inversion.parameters.by_name
    for name, (source, _, _) in inversion.ties.by_name.items():
        if name in unknowns:
            problem = "is among `parameters`, too; leave it out at either place"
            mistakes.append((("ties", name), problem))
        elif source not in unknowns:
            known = ", ".join(unknowns)
            mistakes.append((("ties", name), f"{source} is no unknown; use {known}"))
    if inversion.shots is not None and inversion.optimiser.method != "adam":
        problem = "l-bfgs-b needs the same shots in all iterations; write optimiser: {method: adam}"
        mistakes.append((("shots",), problem))
    return [Mistake(path, problem) for path, problem in mistakes]
