"""Sources of a scenario, at points or in files, and the shots of a survey."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Union, get_args

from pydantic import StringConstraints, Tag, model_validator

from seismo.equations.framework.table import Physics
from seismo.errors import KeyPath
from seismo.scenario import units
from seismo.scenario.draft import Draft, equations_with
from seismo.scenario.quantities import (
    TAG,
    Angle,
    Dip,
    Field,
    FilePath,
    Force,
    Integer,
    Magnitude,
    Mistake,
    Mistakes,
    Moment,
    Name,
    PositiveMoment,
    PressureStrength,
    ScalarMoment,
    ScenarioSection,
    Time,
    Together,
    VolumeRate,
    by_keys,
    by_type,
)
from seismo.scenario.sections.grid import DEPTH_FROM, AnyPosition, DepthFrom, Position
from seismo.scenario.sections.wavelet import Wavelet

_PER_METRE = {"pressure": units.PRESSURE_STRENGTH, "volume_rate": units.VOLUME_RATE}


class SourceSection(ScenarioSection):
    """A source of a scenario, with the rules of its type."""

    # Whether the equation declares a term for it; waves that come from outside have none.
    is_driven: ClassVar[bool] = True

    def mistakes(self, draft: Draft, table: Physics, path: KeyPath) -> Mistakes:
        """Check sources against the wave equation, and other sections."""
        return iter(())


EventId = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class EventSource(SourceSection):
    """An earthquake of a catalogue: its moment tensor where its centroid is, at its time."""

    acts_as: ClassVar = "moment_tensor"  # the type of its parts
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


# of sources that have none
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


class _Source(SourceSection):
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

    def mistakes(self, draft: Draft, table: Physics, path: KeyPath) -> Mistakes:
        """Check that the equation is moved along the force."""
        for axis in "xyz" if draft.dimensions else "":
            if axis not in table.components("force") and getattr(self.force, axis) != 0.0:
                yield Mistake((*path, "force", axis), _motionless(draft, table, "force", axis))


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

    def mistakes(self, draft: Draft, table: Physics, path: KeyPath) -> Mistakes:
        """Check that the equation takes the components of the tensor."""
        taken = table.components("moment_tensor")
        normal = any(name[0] == name[1] for name in taken)
        if self.components is None:
            if not normal:
                problem = (
                    f"physics {draft.physics} takes the components {', '.join(taken)}: give these"
                )
                yield Mistake((*path, "strike"), f"{problem} instead of the angles")
            return
        names = FRAMES[self.frame]
        given_names = tuple(type(self.components).model_fields)
        if given_names != names:
            expected = f"frame {self.frame} has the components {', '.join(names)}"
            problem = f"{expected}, not {', '.join(given_names)}"
            yield Mistake((*path, "components"), f"{problem}; change the frame or the names")
            return
        nonzero = [name for name in names if getattr(self.components, name) != 0.0]
        if not nonzero:
            yield Mistake(
                (*path, "components"), f"the moment tensor is zero: give one of {', '.join(names)}"
            )
        if self.frame == "aki_richards":
            # Along y nothing changes in the plane: myy acts on nothing there, and is a tensor's all
            # the same.
            lost = (n for n in nonzero if n not in taken and not (normal and n[0] == n[1]))
            for name in lost if draft.dimensions else ():
                problem = _motionless(draft, table, "moment_tensor", name)
                yield Mistake((*path, "components", name), problem)
        elif not normal:
            problem = f"physics {draft.physics} takes frame: aki_richards with the components"
            yield Mistake((*path, "frame"), f"{problem} {', '.join(taken)}")


Source: Any = SourceSection  # of any type, including features' types
SOURCES: tuple[type[SourceSection], ...] = (
    ExplosionSource,
    PressureSource,
    VolumeRateSource,
    ForceSource,
    MomentTensorSource,
    EventSource,
)


@dataclass(frozen=True)
class AddedSource:
    """A type of source that a feature adds, behind another type."""

    section: type[SourceSection]
    after: str


def any_source(additions: Iterable[AddedSource]) -> Any:
    """Return the annotation of a source of any type, including features' types."""
    sections = {type_of(section): section for section in SOURCES}
    order = list(sections)
    for added in additions:
        sections[type_of(added.section)] = added.section
        order.insert(order.index(added.after) + 1, type_of(added.section))
    members = tuple(Annotated[sections[name], Tag(f"{TAG}{name}")] for name in order)
    return Annotated[Union[members], by_type()]  # noqa: UP007


def type_of(section: type[SourceSection]) -> str:
    """Return the type by which a section is chosen."""
    name: str = get_args(section.model_fields["type"].annotation)[0]
    return name


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
    """Many shots with the scenario's only source, each with its own traces."""

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


def source_types(draft: Draft) -> Mistakes:
    """Check the types of sources, and the directions that the equation lacks."""
    table = draft.table
    if table is None:
        return
    for index, source in enumerate(draft.sources or ()):
        path: KeyPath = ("sources", index)
        if source is None:
            continue
        if source.is_driven and getattr(source, "acts_as", source.type) not in table.drives:
            offers = ", ".join(table.drives)
            yield Mistake((*path, "type"), f"physics {draft.physics} has the sources {offers}")
        else:
            yield from source.mistakes(draft, table, path)


def amounts(dimensions: int | None, data: dict[str, Any]) -> Mistakes:
    """Check the units of what a 2-D run has per metre of y, in the data of a scenario."""
    sources_as_written = data.get("sources")
    if dimensions is None or not isinstance(sources_as_written, list):
        return
    for index, source in enumerate(sources_as_written):
        if not isinstance(source, dict):
            continue
        amount = source.get("amplitude")
        dimension = _PER_METRE.get(str(source.get("type")))
        if dimension and isinstance(amount, str) and not units.fits(amount, dimension, dimensions):
            needed = dimension.offers[3 - dimensions]
            yield Mistake(
                ("sources", index, "amplitude"),
                f"a {dimensions}-D run needs {needed}" + " (per metre of y)" * (dimensions == 2),
            )


def _motionless(draft: Draft, table: Physics, kind: str, component: str) -> str:
    """Describe the waves that a source component does not excite, and the equations it does."""
    taken = ", ".join(table.components(kind))
    others = equations_with(len(table.axes), lambda other: component in other.components(kind))
    remedy = f"leave it out, or use physics: {others}" if others else "leave it out"
    return f"physics {draft.physics} in {len(table.axes)}-D is moved by {taken} only: {remedy}"


def source_files(draft: Draft) -> Mistakes:
    """Check that sources with longitudes and latitudes in files have a grid on the earth, in 3-D.

    A 2-D run would take their moments per metre.
    """
    for index, source in enumerate(draft.sources or ()):
        if not hasattr(source, "acts_as"):
            continue
        if not draft.has_geographic:
            yield Mistake(
                ("sources", index, "path"),
                "needs the section 'geographic': longitude, latitude of the grid's x = 0, y = 0",
            )
        if draft.dimensions == 2:
            problem = "needs a 3-D grid: give grid.extent.y"
            yield Mistake(("sources", index, "type"), problem)
        if draft.survey is not None:
            problem = f"moves its source, and one of type {source.type} stays where its file says"
            yield Mistake(("survey",), f"{problem}: leave survey out")
