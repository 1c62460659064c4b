"""Sources that are files: events of catalogues, finite faults."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints

from seismo.scenario.base import Field, FilePath, Name, PositiveTime, ScenarioSection, Time
from seismo.scenario.sections.position import DEPTH_FROM, DepthFrom
from seismo.scenario.sections.wavelet import Wavelet

EventId = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class EventSource(ScenarioSection):
    """An earthquake of a catalogue: its moment tensor where its centroid is, at its time."""

    acts_as: ClassVar = "moment_tensor"  # the type of what it is made of
    type: Literal["event"]
    path: FilePath = Field(description="QuakeML, or CMTSOLUTION, relative to the scenario's folder")
    id: EventId | None = Field(
        None, description="which event of a file with several: the end of its identifier"
    )
    origin: Literal["centroid", "hypocentre"] = Field(
        "centroid", description="where it acts: the centroid, if the file has one, or hypocentre"
    )
    depth_from: DepthFrom | None = Field(None, description=DEPTH_FROM)
    crs: FilePath | None = Field(
        None,
        description="coordinate reference system of latorUTM and longorUTM in metres of a "
        "CMTSOLUTION of SPECFEM, such as EPSG:32611; default: they are degrees",
    )
    wavelet: Wavelet | None = Field(
        None, description="moment rate; default: gaussian_rate of the file's half duration"
    )
    name: Name | None = Field(None, description="name in messages and results")
    delay: Time = Field(0.0, description="time added to that of the centroid")


class FiniteFaultSource(ScenarioSection):
    """A rupture: many subfaults, each with its mechanism, onset and slip rate."""

    acts_as: ClassVar = "moment_tensor"
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
