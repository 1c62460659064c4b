"""The region, its sampling in space and time, and the boundary conditions.

Positions: in metres on the grid's axes, or by longitude, latitude and depth; dates of events.

An event is the earthquake, or blast, that a run stands for. With it traces have a date: the sample
at a time t of the run is at ``time + t - at``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    StringConstraints,
    Tag,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    field_validator,
)
from pydantic_core import core_schema

from seismo.equations.framework.registry import VARIANTS, physics_for
from seismo.scenario import units
from seismo.scenario.quantities import (
    AUTO,
    ONE_LENGTH,
    Angle,
    Described,
    Field,
    FrequencyFromZero,
    Integer,
    Latitude,
    Length,
    Longitude,
    Mistake,
    Name,
    OrAuto,
    Orders,
    PositiveLength,
    PositiveNumber,
    PositiveTime,
    Quantity,
    RelativeError,
    ScenarioSection,
    SubdomainCounts,
    Text,
    Time,
    Truth,
    by_keys,
    one_length,
    or_one_length,
)

TALLEST = 10.0  # times the spacing at the top
_LIST = "a list of {below: 1 km, spacing: 100 m}"


class SpacingBelow(ScenarioSection):
    """The spacing along z below a depth, which rows grow to."""

    below: Length = Field(description="z from which on rows may grow")
    spacing: PositiveLength = Field(description="spacing that they grow to")


GrowingSpacing = float | Literal["auto"] | tuple[SpacingBelow, ...]


class LengthOrGrowth(Described):
    """Annotation of a spacing along z: a length, ``auto``, or lengths below some depths."""

    allowed = f"a number in m, above 0; auto; or {_LIST}"

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Accept all three."""
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Describe them."""
        length = {"type": "number", "exclusiveMinimum": 0, "x-unit": "m"}
        text = {"type": "string", "pattern": r"^\s*[-+]?[0-9.]", "examples": ["10 m"]}
        depth = {"anyOf": [{"type": "number"}, text]}
        rows = {
            "type": "object",
            "properties": {"below": depth, "spacing": {"anyOf": [length, text]}},
            "required": ["below", "spacing"],
            "additionalProperties": False,
        }
        several = {"type": "array", "items": rows, "minItems": 1}
        return {"anyOf": [length, text, {"const": "auto"}, several]}

    def _checked(self, value: Any) -> GrowingSpacing:
        if value == "auto":
            return "auto"
        if isinstance(value, list | tuple):
            return self._rows(value)
        if isinstance(value, Mapping):
            raise ValueError(f"must be {self.allowed}")
        try:
            length = units.to_si(value, units.LENGTH)
        except ValueError as error:
            raise ValueError(f"{error}; or auto, or {_LIST}") from None
        if length <= 0.0:
            raise ValueError(f"must be {self.allowed}")
        return length

    def _rows(self, value: list[Any] | tuple[Any, ...]) -> tuple[SpacingBelow, ...]:
        if not value:
            raise ValueError(f"must not be empty: give {self.allowed}")
        rows = tuple(row if isinstance(row, SpacingBelow) else _row(row) for row in value)
        for above, row in pairwise(rows):
            if row.below <= above.below or row.spacing < above.spacing:
                raise ValueError(
                    f"below {row.below:g} m: depths must increase, and spacings must not decrease"
                )
        return rows


def _row(value: Any) -> SpacingBelow:
    if not isinstance(value, Mapping) or set(value) != {"below", "spacing"}:
        raise ValueError(f"each of the list must have the keys below and spacing: {_LIST}")
    below, spacing = (units.to_si(value[key], units.LENGTH) for key in ("below", "spacing"))
    if spacing <= 0.0:
        raise ValueError(f"spacing {spacing:g} m: must be above 0 m")
    return SpacingBelow(below=below, spacing=spacing)


def growing(along_z: GrowingSpacing, top: float) -> Iterator[Mistake]:
    """Check how a spacing grows from that at the top in m."""
    for number, row in enumerate(along_z if isinstance(along_z, tuple) else ()):
        if not top <= row.spacing <= TALLEST * top:
            yield Mistake(
                ("grid", "spacing", "z", number, "spacing"),
                f"must be from {top:g} m, that along x, to {TALLEST * top:g} m; make it so, or "
                "change grid.spacing.x",
            )


RowSpacing = Annotated[Any, LengthOrGrowth()]


Courant = Annotated[float, Quantity(units.NUMBER, ge=1e-3, le=1.0)]
Reflection = Annotated[float, Quantity(units.NUMBER, gt=0.0, lt=1.0)]
Kappa = Annotated[float, Quantity(units.NUMBER, ge=1.0)]
FieldDamping = Annotated[float, Quantity(units.NUMBER, ge=0.0, le=1.0)]
FaceKind = Literal["absorbing", "free_surface", "rigid", "periodic"]

MOST_LAYER_POINTS = 500
_LEFT_OPEN: Any = AUTO

_SHIFTS = [(name, physics_for(name, n).layer_shift) for name, n in VARIANTS]


class Extent(ScenarioSection):
    """Lengths of the region, without the absorbing layers, which are added outside it."""

    x: PositiveLength = Field(description="length along x")
    y: PositiveLength | None = Field(
        None, description="length along y; giving it makes the run 3-D"
    )
    z: PositiveLength = Field(description="depth range")


class Spacing(ScenarioSection):
    """Distance between grid points along each axis; along z it may grow with depth."""

    x: PositiveLength = Field(description="spacing along x")
    y: PositiveLength | None = Field(None, description="spacing along y (3-D only)")
    z: RowSpacing = Field(
        description="spacing along z; auto: that along x at the top, growing with depth as far as "
        "the velocities allow, to 3 times that; a list of {below, spacing}: that along x at the "
        "top, growing below depths (5 % a row at most) to other spacings (first-order equations "
        "only)"
    )

    @property
    def grows(self) -> bool:
        """Whether that along z may grow with depth."""
        return not isinstance(self.z, float)

    def at_top(self, axis: str) -> float | None:
        """Return the spacing in m along an axis, at the top of the grid."""
        length: float | None = self.x if axis == "z" and self.grows else getattr(self, axis)
        return length


class Origin(ScenarioSection):
    """Coordinates of the first point of the region; z is that of its top."""

    x: Length = Field(0.0, description="smallest x of the region")
    y: Length = Field(0.0, description="smallest y of the region (3-D only)")
    z: Length | None = Field(
        None,
        description="depth of the top of the region; default: 0, with `topography` that of the "
        "highest ground",
    )

    @property
    def top(self) -> float:
        """Z in m of the top of the region over flat ground."""
        return self.z or 0.0


def ground_of(top: float, face: str) -> float:
    """Return z in m of the ground, from which depths count: the free surface, or z = 0.

    Args:
        top: z in m of the grid's top.
        face: condition at the top of the grid.
    """
    return top if face == "free_surface" else 0.0


class Refinement(ScenarioSection):
    """A level plane below which all spacings are larger."""

    below: Length = Field(description="z of the plane; a multiple of the spacing below it")
    factor: Literal[3] = Field(3, description="spacing below the plane over that above: 3")


class GridSpec(ScenarioSection):
    """The region and its grid; z points down, and 2-D has the axes x and z."""

    extent: Extent = Field(description="lengths of the region, without absorbing layers")
    spacing: Annotated[Spacing, ONE_LENGTH, OrAuto()] = Field(
        _LEFT_OPEN,
        description="distance between points: one length for all axes, or x, z (and y); auto: the "
        "largest with which the expected error keeps to the accuracy, with the order, stencil "
        "and layer.points that make the run cheapest where these are left out",
        json_schema_extra=or_one_length,
    )
    origin: Origin = Field(Origin(), description="coordinates of the first point")
    refinement: Annotated[tuple[Refinement, ...], OrAuto()] = Field(
        (),
        description="planes below which the spacing is three times larger, where waves are longer; "
        "one at most; auto: the shallowest that velocities, sources and receivers allow, if any",
    )
    order: Orders = Field(
        8,
        description="order of the spatial differences, even; auto: the lowest of 8, 12 and 16 "
        "whose dispersion error is within the accuracy, or below those of surfaces and contacts",
    )
    stencil: Literal["fitted", "long_steps", "taylor", "minmax"] = Field(
        "fitted",
        description="difference coefficients: fitted to the frequencies and paths of the run; "
        "long_steps: those with the longest time step whose dispersion keeps to 0.3 times the "
        "accuracy; taylor; minmax as in releases before 0.2: fitted to 0.1 % of the wave speed, "
        "inaccurate for long paths",
    )
    accuracy: RelativeError = Field(
        0.01,
        description="accepted error of the traces: spacing, order and layers that are auto keep to "
        "it, and check warns beyond it",
    )
    decomposition: SubdomainCounts = Field(
        "auto", description="subdomains along z and y; auto: one for each rank"
    )

    @property
    def planes(self) -> tuple[Refinement, ...]:
        """Planes below which the spacing is larger; none where auto has not been computed."""
        return () if self.plane_is_open else self.refinement

    @property
    def is_open(self) -> bool:
        """Whether the spacing is left to the program."""
        return self.spacing == AUTO

    @property
    def grows(self) -> bool:
        """Whether the spacing along z may grow with depth."""
        return not self.is_open and self.spacing.grows

    def at_top(self, axis: str) -> float | None:
        """Return the spacing in m along an axis, at the top of the grid; None where it is open."""
        return None if self.is_open else self.spacing.at_top(axis)

    @property
    def plane_is_open(self) -> bool:
        """Whether the plane is left to the program."""
        return self.refinement == AUTO

    @field_validator("spacing", mode="wrap")
    @classmethod
    def _same_on_all_axes(
        cls, value: Any, check: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> Any:
        if isinstance(value, Mapping | Spacing) or value == AUTO:
            return check(value)
        length = one_length(value)
        extent = info.data.get("extent")
        return Spacing(x=length, z=length, y=length if extent and extent.y is not None else None)


class TimeSpec(ScenarioSection):
    """Duration of the simulation, and the time step."""

    duration: PositiveTime = Field(description="length of the simulated time")
    step: PositiveTime | None = Field(
        None, description="time step; default: `courant` times the stability limit"
    )
    courant: Courant = Field(
        0.9, description="fraction of the exact stability limit that the step may take"
    )
    dispersion_removal: Truth = Field(
        True,
        description="remove the error of time stepping from sources and traces (exact transform); "
        "snapshots and maps keep the error",
    )


class AbsorbingLayer(ScenarioSection):
    """The CFS-CPML layers outside every absorbing face."""

    points: Annotated[Integer, Field(ge=1, le=MOST_LAYER_POINTS), OrAuto()] = Field(
        12,
        description="thickness in grid points; auto: the fewest whose reflections keep to the "
        "accuracy beside the grid's own error; left out with grid.spacing: auto it is auto, too",
    )
    reflection: Reflection | None = Field(
        None,
        description="theoretical reflection at normal incidence; default: by the points",
    )
    kappa: Kappa = Field(
        1.0,
        description="largest real stretch (equations of first order in time only); values above 1 "
        "increase reflections, several times at less than 7 points per wavelength",
    )
    alpha: FrequencyFromZero | None = Field(
        None,
        description="frequency shift; default: the lowest dominant frequency of the wavelets"
        + "".join(
            f", {times:g} times that for {name} waves"
            for name, times in dict.fromkeys(_SHIFTS)
            if times != 1.0
        ),
    )
    power: PositiveNumber | None = Field(
        None,
        description="power of the damping profile near its inner side; default: by the points",
    )
    damping: FieldDamping | None = Field(
        None,
        description="damping of the fields themselves, as a share of that of waves: it ends the "
        "growth of waves that soft ground or beds guide along the layer, and reflects; default: "
        "what the medium at the faces may need; 0 for runs that end before anything grows "
        "(equations of first order in time only)",
    )

    @property
    def is_open(self) -> bool:
        """Whether its points are left to the program."""
        return self.points == AUTO


class Boundaries(ScenarioSection):
    """Boundary condition of each face of the region."""

    top: FaceKind = Field(
        "absorbing", description="face at the smallest z; the only one that may be a free surface"
    )
    bottom: FaceKind = Field("absorbing", description="face at the largest z")
    x_min: FaceKind = Field("absorbing", description="face at the smallest x")
    x_max: FaceKind = Field("absorbing", description="face at the largest x")
    y_min: FaceKind = Field("absorbing", description="face at the smallest y (3-D only)")
    y_max: FaceKind = Field("absorbing", description="face at the largest y (3-D only)")
    layer: AbsorbingLayer = Field(AbsorbingLayer(), description="the absorbing layers")


class Geographic(ScenarioSection):
    """Geographic position of grid x = 0, y = 0.

    Mechanisms refer to north at the source; `x_azimuth` in the results is the direction of +x at
    each receiver, for rotation of its components to north and east.
    """

    longitude: Longitude = Field(description="longitude of the grid's x = 0, y = 0")
    latitude: Latitude = Field(description="latitude of the grid's x = 0, y = 0")
    azimuth: Angle = Field(0.0, description="direction of +x at x = 0, y = 0, clockwise from north")


DepthFrom = Literal["ground", "datum"]
DEPTH_FROM = (
    "what depth counts from: the ground above, or the datum, height 0 of the ground "
    "(topography.datum, else z = 0); default: ground"
)


class Position(ScenarioSection):
    """A point on the grid's axes."""

    x: Length = Field(description="x")
    y: Length | None = Field(None, description="y (3-D only)")
    z: Length | None = Field(None, description="z, positive down; or give depth")
    depth: Length | None = Field(
        None,
        description="vertically below the ground: the free surface, or z = 0; in place of z",
    )


class GeographicPosition(ScenarioSection):
    """A point on the earth, projected by the scenario's `geographic` section."""

    longitude: Longitude = Field(description="longitude, positive east")
    latitude: Latitude = Field(description="latitude, positive north")
    depth: Length | None = Field(
        None, description="depth below the ground: the free surface, or z = 0; or give z"
    )
    z: Length | None = Field(None, description="z of the grid, positive down; in place of depth")
    depth_from: DepthFrom | None = Field(None, description=DEPTH_FROM)


class Point(Position):
    """A receiver on the grid's axes."""

    code: Name | None = Field(None, description="station code, such as CI.PAS.00")


class GeographicPoint(GeographicPosition):
    """A receiver on the earth."""

    code: Name | None = Field(None, description="station code, such as CI.PAS.00")


def _choose(keys: frozenset[str]) -> str:
    names_earth = bool(keys & {"longitude", "latitude"})
    names_grid = bool(keys & {"x", "y"}) or ("z" in keys and not names_earth)
    on_earth = (names_earth or bool(keys & {"depth", "depth_from"})) and not names_grid
    return "longitude, latitude, depth" if on_earth else "x, y, z"


AnyPosition = Annotated[
    Annotated[Position, Tag("|x, y, z")]
    | Annotated[GeographicPosition, Tag("|longitude, latitude, depth")],
    by_keys(_choose),
]
AnyPoint = Annotated[
    Annotated[Point, Tag("|x, y, z")]
    | Annotated[GeographicPoint, Tag("|longitude, latitude, depth")],
    by_keys(_choose),
]


_EXAMPLE = "2008-07-29T18:42:15Z"


def _in_utc(value: Any) -> str:
    """Return a date and time as ISO 8601 in UTC; one without an offset is in UTC."""
    text = value.isoformat() if hasattr(value, "isoformat") else value
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        problem = f"not a date and time: write ISO 8601 in UTC, such as {_EXAMPLE}"
        raise ValueError(problem) from None
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return time.isoformat().replace("+00:00", "Z")


UtcTime = Annotated[
    str,
    BeforeValidator(_in_utc),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": [_EXAMPLE]}),
]
EventText = Annotated[str, StringConstraints(max_length=80)]


class Event(ScenarioSection):
    """The event that is simulated; exported traces begin at its origin time, less `at`."""

    time: UtcTime = Field(
        description=f"origin time, ISO 8601, UTC unless it has an offset: {_EXAMPLE}"
    )
    at: Time = Field(0.0, description="time of the run at the origin time")
    id: EventText = Field("", description="identifier of the event, such as ci14383980")
    name: Text = Field("", description="name of the event, such as Chino Hills")
