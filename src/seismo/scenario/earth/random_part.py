"""Random perturbations of the earth model, as a part that follows others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ValidatorFunctionWrapHandler, WrapValidator, model_validator

from seismo.scenario import units
from seismo.scenario.earth.gridded_parts import SampleSpacing
from seismo.scenario.quantities import (
    ONE_LENGTH,
    Field,
    Integer,
    Number,
    PositiveLength,
    Quantity,
    ScenarioSection,
    Shorthand,
    one_length,
    or_one_length,
)

CLIPPED = 3.0  # standard deviations that perturbations keep within
Hurst = Annotated[float, Quantity(units.NUMBER, gt=0.0, le=1.0)]
Deviation = Annotated[float, Quantity(units.NUMBER, gt=0.0, lt=1.0 / CLIPPED)]


class CorrelationLengths(ScenarioSection):
    """Distances over which a random medium is alike, along each axis."""

    x: PositiveLength = Field(description="along x")
    y: PositiveLength | None = Field(None, description="along y (3-D only)")
    z: PositiveLength = Field(description="along z")

    @property
    def one_for_all(self) -> bool:
        """Whether it is the same along all axes, y too, which a 2-D run does not have."""
        return self.x == self.y == self.z


def _same_on_all_axes(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    if isinstance(value, Mapping | CorrelationLengths):
        return check(value)
    length = one_length(value)
    return CorrelationLengths(x=length, y=length, z=length)


class PerturbedProperties(ScenarioSection):
    """How much of the random medium each property takes; all follow one and the same."""

    vp: Number = Field(0.0, description="factor of vp: 1 is the standard deviation of `std`")
    vs: Number = Field(0.0, description="factor of vs")
    rho: Number = Field(0.0, description="factor of rho; negative: light where it is fast")


def _named(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    listed = isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
    return check(dict.fromkeys(value, 1.0) if listed else value)


class RandomPart(ScenarioSection):
    """Random perturbations of the parts before it, relative to their values.

    They have one covariance everywhere, that of von Karman's law, and are drawn on the whole grid
    from a seed: the same for any cut of the grid, backend and number of processes.
    """

    type: Literal["random"]
    law: Literal["von_karman"] = Field("von_karman", description="of their covariance")
    hurst: Hurst = Field(
        description="exponent: 0.5 makes the covariance exponential, less makes it rougher"
    )
    correlation: Annotated[CorrelationLengths, WrapValidator(_same_on_all_axes), ONE_LENGTH] = (
        Field(
            description="correlation lengths: one for all axes, or x, z (and y)",
            json_schema_extra=or_one_length,
        )
    )
    std: Deviation = Field(
        description=f"relative standard deviation; perturbations keep within {CLIPPED:g} of it"
    )
    properties: Annotated[
        PerturbedProperties, WrapValidator(_named), Shorthand("a list of some of these keys")
    ] = Field(
        description="factors by property, such as {vp: 1, vs: 1, rho: 0.8}; of a list all are 1"
    )
    seed: Annotated[Integer, Field(ge=0, lt=2**63)] = Field(
        description="another one draws another medium of the same law"
    )
    spacing: SampleSpacing = Field(
        None,
        description="spacing of the points that it is drawn at, linear between them; the grid's "
        "by default: give it to keep a medium on grids of other spacings",
        json_schema_extra=or_one_length,
    )

    @model_validator(mode="after")
    def _stays_positive(self) -> RandomPart:
        factors = self.properties.model_dump()
        if not any(factors.values()):
            raise ValueError("perturbs nothing: give properties, such as {vp: 1, vs: 1}")
        for name, factor in factors.items():
            if CLIPPED * self.std * abs(factor) >= 1.0:
                raise ValueError(
                    f"{name} would vary by {CLIPPED:g} x {self.std:g} x {abs(factor):g} and reach "
                    "0: less std, or a smaller factor"
                )
        return self
