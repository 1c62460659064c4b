"""Sources of a scenario, at points or in files, and the shots of a survey."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints, Tag, model_validator

from seismo.scenario.quantities import (
    Angle,
    Dip,
    Field,
    FilePath,
    Force,
    Incidence,
    Integer,
    Magnitude,
    Moment,
    Name,
    ParticleVelocity,
    PositiveLength,
    PositiveMoment,
    PositiveTime,
    PressureStrength,
    ScalarMoment,
    ScenarioSection,
    Time,
    TimeFromZero,
    Together,
    VolumeRate,
    by_keys,
    by_type,
)
from seismo.scenario.sections.position import DEPTH_FROM, AnyPosition, DepthFrom, Position
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


# of those that have none
SOURCE_NAME = "source_{:03d}"
SHOT_NAME = "shot_{:03d}"
FRAMES = {
    "aki_richards": ("xx", "yy", "zz", "xy", "xz", "yz"),
    "gcmt": ("rr", "tt", "pp", "rt", "rp", "tp"),
    "enu": ("ee", "nn", "uu", "en", "eu", "nu"),
}
TensorFrame = Literal["aki_richards", "gcmt", "enu"]
TimeFunction = Literal["moment_rate", "moment"]
ISOTROPIC_SOURCE = (
    "auto: where a source in anisotropic rock would send slow waves of acoustic equations, delta "
    "turns to epsilon in a sphere of half a dominant wavelength about it"
)
_TIME_FUNCTION = "what the wavelet is: the moment rate, or the moment itself"


class _Source(ScenarioSection):
    name: Name | None = Field(None, description="name in messages and results")
    position: AnyPosition = Field(description="where: x, (y,) z, or longitude, latitude, depth")
    wavelet: Wavelet = Field(description="source time function")
    delay: Time = Field(0.0, description="time added to the wavelet's own")


class ExplosionSource(_Source):
    """An isotropic moment tensor."""

    type: Literal["explosion"]
    moment: ScalarMoment = Field(1.0, description="scalar moment (in 2-D per metre of y)")
    time_function: TimeFunction = Field("moment_rate", description=_TIME_FUNCTION)


class PressureSource(_Source):
    """The source s(t) of (1/vp^2) p_tt - lap p = s: density times the rate's change of a volume."""

    type: Literal["pressure"]
    amplitude: PressureStrength = Field(
        1.0, description="factor on the wavelet, Pa m in 3-D and Pa in 2-D"
    )


class VolumeRateSource(_Source):
    """Volume injected at a rate q(t), as by an air gun: s of a pressure source is rho dq/dt."""

    type: Literal["volume_rate"]
    amplitude: VolumeRate = Field(
        1.0, description="factor on the wavelet, m3/s in 3-D and m2/s in 2-D"
    )


class ForceVector(ScenarioSection):
    """A force; at least one component is not zero."""

    x: Force = Field(0.0, description="component along x (in 2-D per metre of y)")
    y: Force = Field(0.0, description="component along y, where it moves anything")
    z: Force = Field(0.0, description="component along z, positive down")

    @model_validator(mode="after")
    def _not_zero(self) -> ForceVector:
        if self.x == self.y == self.z == 0.0:
            raise ValueError("the force is zero: give x, y or z, like {z: 1 N}")
        return self


class ForceSource(_Source):
    """A point force."""

    type: Literal["force"]
    force: ForceVector = Field(description="components of the force")


class AkiRichardsTensor(ScenarioSection):
    """Moment tensor on the axes x (north), y (east), z (down)."""

    xx: Moment = Field(0.0, description="north-north (in 2-D per metre of y)")
    yy: Moment = Field(0.0, description="east-east")
    zz: Moment = Field(0.0, description="down-down")
    xy: Moment = Field(0.0, description="north-east")
    xz: Moment = Field(0.0, description="north-down")
    yz: Moment = Field(0.0, description="east-down")


class GcmtTensor(ScenarioSection):
    """Moment tensor on the axes r (up), t (south), p (east), as the GCMT catalogue lists it."""

    rr: Moment = Field(0.0, description="up-up")
    tt: Moment = Field(0.0, description="south-south")
    pp: Moment = Field(0.0, description="east-east")
    rt: Moment = Field(0.0, description="up-south")
    rp: Moment = Field(0.0, description="up-east")
    tp: Moment = Field(0.0, description="south-east")


class EnuTensor(ScenarioSection):
    """Moment tensor on the axes east, north, up."""

    ee: Moment = Field(0.0, description="east-east")
    nn: Moment = Field(0.0, description="north-north")
    uu: Moment = Field(0.0, description="up-up")
    en: Moment = Field(0.0, description="east-north")
    eu: Moment = Field(0.0, description="east-up")
    nu: Moment = Field(0.0, description="north-up")


def _choose(keys: frozenset[str]) -> str:
    """Choose the frame that has most of the keys, misspelt as Mrr or M_rr too."""
    bare = {key.lower().removeprefix("m").removeprefix("_") for key in keys}
    return max(FRAMES, key=lambda frame: len(bare & set(FRAMES[frame])))


Tensor = Annotated[
    Annotated[AkiRichardsTensor, Tag("|aki_richards")]
    | Annotated[GcmtTensor, Tag("|gcmt")]
    | Annotated[EnuTensor, Tag("|enu")],
    by_keys(_choose),
]


class MomentTensorSource(_Source):
    """A moment tensor: six components in a named frame, or a fault's angles and its size."""

    type: Literal["moment_tensor"]
    frame: TensorFrame = Field(
        "aki_richards",
        description="axes of `components`: north-east-down, GCMT's r-theta-phi, or east-north-up",
    )
    components: Tensor | None = Field(
        None, description="the components by name; those left out are zero"
    )
    strike: Angle | None = Field(
        None,
        description="strike, clockwise from north at the source (from +x without `geographic`)",
    )
    dip: Dip | None = Field(None, description="dip")
    rake: Angle | None = Field(None, description="rake")
    moment: PositiveMoment | None = Field(
        None, description="scalar moment of strike, dip, rake (in 2-D per metre of y)"
    )
    magnitude: Magnitude | None = Field(
        None, description="moment magnitude Mw, instead of `moment` (in 2-D per metre of y too)"
    )
    time_function: TimeFunction = Field("moment_rate", description=_TIME_FUNCTION)

    @model_validator(mode="after")
    def _one_mechanism(self) -> MomentTensorSource:
        angles = [name for name in ("strike", "dip", "rake") if getattr(self, name) is not None]
        sizes = [name for name in ("moment", "magnitude") if getattr(self, name) is not None]
        extra = ", ".join(angles + sizes)
        if self.components is not None:
            if extra:
                raise ValueError(
                    f"give 'components' or a fault's angles, not both; leave out {extra}"
                )
        elif not angles:
            raise ValueError("needs 'components', or strike, dip, rake and moment or magnitude")
        elif len(angles) < 3:
            raise ValueError("needs all of strike, dip and rake")
        elif len(sizes) != 1:
            raise ValueError("strike, dip and rake need exactly one of 'moment' and 'magnitude'")
        return self


class PlaneWaveSource(ScenarioSection):
    """A plane wave from below, in a layered earth over a half-space."""

    type: Literal["plane_wave"]
    name: Name | None = Field(None, description="name in messages and results")
    wave: Literal["P", "SV", "SH"] = Field(description="what comes up in the half-space")
    incidence: Incidence = Field(
        0.0, description="angle of its direction in the half-space from the vertical"
    )
    azimuth: Angle | None = Field(
        None,
        description="horizontal direction in which it goes, clockwise from north at the middle of "
        "the grid (from +x without `geographic`); in 2-D 0 or 180 deg",
    )
    amplitude: ParticleVelocity = Field(
        1.0, description="factor on the wavelet: particle velocity in the half-space, m/s"
    )
    wavelet: Wavelet = Field(description="particle velocity against time")
    delay: TimeFromZero = Field(
        0.0,
        description="time added to the wavelet's own, which begins half a dominant period after "
        "t = 0 where the wave comes to its box first",
    )
    margin: PositiveLength | None = Field(
        None,
        description="from the ends of grid.extent, but for the top, to the box in which the run "
        "has the total motion; default: 12 points",
    )


Source = Annotated[
    Annotated[ExplosionSource, Tag("|explosion")]
    | Annotated[PressureSource, Tag("|pressure")]
    | Annotated[VolumeRateSource, Tag("|volume_rate")]
    | Annotated[ForceSource, Tag("|force")]
    | Annotated[MomentTensorSource, Tag("|moment_tensor")]
    | Annotated[PlaneWaveSource, Tag("|plane_wave")]
    | Annotated[EventSource, Tag("|event")]
    | Annotated[FiniteFaultSource, Tag("|finite_fault")],
    by_type(),
]


class ShotSection(ScenarioSection):
    """One position of a survey's source."""

    name: Name | None = Field(None, description="name of the shot in the results")
    position: AnyPosition = Field(description="where the source is for this shot")


class ShotLine(ScenarioSection):
    """Equally spaced shots from start to end, both included."""

    start: Position = Field(description="first shot")
    end: Position = Field(description="last shot")
    count: Annotated[Integer, Field(ge=1, le=100_000)] = Field(description="number of shots")


class Survey(ScenarioSection):
    """Many shots with the scenario's one source, each with its own traces."""

    shots: tuple[ShotSection, ...] = Field((), description="shots one by one")
    line: ShotLine | None = Field(None, description="shots along a line, instead of `shots`")
    batch: Together = Field(
        "auto",
        description="shots that advance together on a device, or on those that share a grid; auto: "
        "the number that is fastest",
    )
    spread: Literal["auto", "shots", "grid"] = Field(
        "auto",
        description="what devices or ranks share: the shots, each with the full grid, or the grid "
        "of every shot; auto: the faster one, or a combination",
    )

    @model_validator(mode="after")
    def _some_shots(self) -> Survey:
        if bool(self.shots) == (self.line is not None):
            raise ValueError("a survey needs exactly one of 'shots' and 'line'")
        return self
