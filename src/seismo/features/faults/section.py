"""Finite faults: their section of a scenario."""

from __future__ import annotations

from typing import ClassVar, Literal

from seismo.scenario.quantities import (
    Field,
    FilePath,
    Name,
    PositiveTime,
    Time,
)
from seismo.scenario.sections.grid import DEPTH_FROM, DepthFrom
from seismo.scenario.sections.sources import AddedSource, SourceSection


class FiniteFaultSource(SourceSection):
    """A rupture: many subfaults, each with its mechanism, onset and slip rate."""

    acts_as: ClassVar = "moment_tensor"
    extent: ClassVar = "a finite fault"  # instead of a point
    type: Literal["finite_fault"]
    path: FilePath = Field(
        description="Standard Rupture Format (.srf, .srf.gz), SRF-HDF5, or FSP of SRCMOD (.fsp), "
        "relative to the scenario's folder"
    )
    rigidity: Literal["auto", "file", "model"] = Field(
        "auto",
        description="shear modulus that makes slip a moment: the file's (SRF 2.0; of FSP that "
        "which gives the moment of its header), or that of the model at each subfault; auto: the "
        "file's if it has one",
    )
    smoothing: PositiveTime | None = Field(
        None,
        description="half duration of the Gaussian (as of gaussian_rate) that smooths all slip "
        "rates, whose jumps no grid carries; default: none",
    )
    depth_from: DepthFrom | None = Field(None, description=DEPTH_FROM)
    name: Name | None = Field(None, description="name in messages and results")
    delay: Time = Field(0.0, description="time added to the onsets")


SOURCE = AddedSource(FiniteFaultSource, after="event")
