"""Settings of images and kernels: YAML files, checked as a scenario is.

Keys of both, beside those of `seismo.inversion.survey.settings`::

    background          the model in which waves travel
    shots               those that are added
    window, low_pass    samples and frequencies that count
    mask                nodes without an image
"""

from __future__ import annotations

import math
import os
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, model_validator

from seismo.inversion.survey.settings import (
    FixedNodes,
    IterationCount,
    ObservedFiles,
    PositiveShare,
    SurveySettings,
    TraceWindow,
    load_settings,
)
from seismo.scenario import Scenario, units
from seismo.scenario.model_parts import ModelPart
from seismo.scenario.quantities import (
    Field,
    Length,
    Name,
    PositiveLength,
    Quantity,
    ScenarioSection,
    Shorthand,
    Truth,
)

Corner = Annotated[float, Quantity(units.FREQUENCY, gt=0.0, le=math.inf)]
ImagingCondition = Literal["impedance", "vp", "vs"]
RockParameter = Literal["vp", "vs", "rho"]


def _as_tuple(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _without_repetition(names: tuple[str, ...]) -> tuple[str, ...]:
    for number, name in enumerate(names):
        if name in names[:number]:
            raise ValueError(f"names {name} twice; leave it out once")
    return names


_NAMES = (
    Field(min_length=1), BeforeValidator(_as_tuple), AfterValidator(_without_repetition),
    Shorthand("a name"),
)  # fmt: skip
NameList = Annotated[tuple[Name, ...], *_NAMES]


class Background(ScenarioSection):
    """The model in which waves travel."""

    model: Annotated[tuple[ModelPart, ...], Field(min_length=1)] | None = Field(
        None, description="its parts, as of a scenario [default: those of the scenario]"
    )
    smooth: PositiveLength | None = Field(
        None, description="standard deviation of the Gaussian that smooths slowness and density"
    )
    above: Length | None = Field(
        None, description="nodes of a lesser z, such as water, stay as they are"
    )

    @model_validator(mode="after")
    def _smooth_below(self) -> Background:
        if self.above is not None and self.smooth is None:
            raise ValueError("above is of smoothing: give smooth, or leave it out")
        return self


class ChosenShots(ScenarioSection):
    """Some of the shots of the scenario."""

    names: NameList | None = Field(None, description="names of shots [default: all]")
    every: IterationCount = Field(1, description="1: all of these; 2: the first, the third, ...")


class GradientSettings(SurveySettings):
    """What settings of images and kernels both have."""

    background: Background = Field(Background(), description="the model in which waves travel")
    shots: ChosenShots = Field(ChosenShots(), description="shots that are added [default: all]")
    window: TraceWindow = Field(TraceWindow(), description="samples that count")
    low_pass: Corner = Field(math.inf, description="corner of a low-pass filter; inf: none")
    mask: FixedNodes = Field(FixedNodes(), description="nodes without an image")

    def background_scenario(self) -> Scenario:
        """Return the scenario, with the model of the background before it is smoothed.

        Raises:
            ScenarioError: with every mistake of the scenario, or of `background.model`.
        """
        return self.scenario_with("background", "model")


class Illumination(ScenarioSection):
    """The division of an image by the energy that a node sees of all sources."""

    normalise: Truth = Field(True, description="whether the image is divided")
    level: PositiveShare = Field(0.001, description="added, as a share of the greatest energy")


class Migration(GradientSettings):
    """A migration; its attributes are the keys of its file."""

    observed: ObservedFiles = Field(description="files of observed traces")
    migrate: Literal["recorded", "difference"] = Field(
        "recorded",
        description="the observed traces, or less those of the background: direct waves cancel "
        "where amplitudes agree",
    )
    conditions: Annotated[tuple[ImagingCondition, ...], *_NAMES] = Field(
        ("impedance",), description="imaging conditions: impedance, vp, vs"
    )
    illumination: Illumination = Field(Illumination(), description="normalisation")
    filter: Literal["none", "laplacian"] = Field(
        "none", description="laplacian: less of the long waves of images of vp and vs"
    )


class Kernel(GradientSettings):
    """A sensitivity kernel; its attributes are the keys of its file."""

    kind: Literal["traveltime", "amplitude", "waveform"] = Field(
        "traveltime", description="what the kernel is of"
    )
    receivers: Name | None = Field(None, description="set of receivers [default: the only one]")
    codes: NameList | None = Field(
        None, description="receivers of it that are added [default: all]"
    )
    component: Name | None = Field(None, description="such as vz or pressure [default: the only]")
    observed: ObservedFiles | None = Field(
        None, description="files of observed traces, of waveform"
    )
    parameters: Annotated[tuple[RockParameter, ...], *_NAMES] | None = Field(
        None, description="kernels by these [default: all of the equation]"
    )

    @model_validator(mode="after")
    def _with_its_keys(self) -> Kernel:
        if (self.observed is not None) != (self.kind == "waveform"):
            raise ValueError(
                "waveform needs observed traces" if self.observed is None
                else f"observed is no key of {self.kind}: leave it out"
            )  # fmt: skip
        return self


def load_migration(path: str | os.PathLike[str]) -> Migration:
    """Read and check a migration.

    Raises:
        ScenarioError: it cannot be read; or every mistake in it, a line each.
    """
    return load_settings(path, Migration, "migration")


def load_kernel(path: str | os.PathLike[str]) -> Kernel:
    """Read and check a sensitivity kernel.

    Raises:
        ScenarioError: it cannot be read; or every mistake in it, a line each.
    """
    return load_settings(path, Kernel, "kernel")
