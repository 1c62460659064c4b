"""Receivers of a scenario: positions and recorded quantities."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, StringConstraints, Tag

from seismo.equations.framework.registry import EQUATIONS, PHYSICS, VARIANTS, physics_for
from seismo.equations.framework.table import Physics
from seismo.errors import KeyPath
from seismo.scenario.draft import AXES, Draft, inside
from seismo.scenario.mistakes import listed_names
from seismo.scenario.quantities import (
    Field,
    FilePath,
    Integer,
    Length,
    Mistake,
    Mistakes,
    Name,
    PositiveLength,
    SamplingInterval,
    ScenarioSection,
    Shorthand,
    Truth,
    by_type,
)
from seismo.scenario.sections.grid import (
    AnyPoint,
    AnyPosition,
    GeographicPosition,
    Position,
    UtcTime,
)

_OF_MOVING = ("relative_depth", "outside")  # keys that say how receivers move

CODE = "R{:04d}"  # of receivers that have none
MOST_RECEIVERS = 1_000_000  # of a set
_STANDARD = [
    "velocity",
    "displacement",
    "acceleration",
    "pressure",
    "stress",
    "divergence",
    "rotation",
    "strain_rate",
    "strain",
]
ALONG_FIBRES = ("strain_rate", "strain")
_OTHERS = [name for known in VARIANTS for name in physics_for(*known).quantities]
Trace: Any = Literal[tuple(dict.fromkeys(_STANDARD + _OTHERS))]
ChannelPattern = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9_*?-]*(\.[A-Za-z0-9_*?-]*){3}$")
]
ReceiverCount = Annotated[Integer, Field(ge=1, le=100_000)]


def _one_value(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else (value, value, 1)


class _OrOneValue:
    """JSON schema for editors: a value may stand for [value, value, 1]."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Add the plain number and the text with a unit to the list."""
        listed = handler(schema)
        alternatives = listed["prefixItems"][0]["anyOf"]
        return {"anyOf": [listed, *alternatives], "x-unit": "m"}


Ticks = Annotated[
    tuple[Length, Length, ReceiverCount],
    BeforeValidator(_one_value),
    _OrOneValue(),
    Shorthand("a number in m"),
]


def _defaults() -> Iterator[str]:
    """Name the default quantities of each equation."""
    key = attrgetter("default_quantities")
    for quantities, equations in groupby(sorted(map(EQUATIONS.__getitem__, PHYSICS), key=key), key):
        yield f"{', '.join(quantities)} ({', '.join(e.name for e in equations)})"


class _ReceiverSet(ScenarioSection):
    name: Name = Field(
        "receivers", description="name of the set in the results; different for each set"
    )
    quantities: Annotated[tuple[Trace, ...], Field(min_length=1)] | None = Field(
        None,
        description=f"what to record; left out, {'; '.join(_defaults())}; along fibres "
        f"{' and '.join(ALONG_FIBRES)} alone, left out {ALONG_FIBRES[0]}",
    )
    interval: SamplingInterval | None = Field(
        None, description="sampling interval, with an anti-alias filter; default: every step"
    )


class _MovableSet(_ReceiverSet):
    relative_to: Literal["source"] | None = Field(
        None,
        description="source: x and y are offsets from the source of each shot, with which the "
        "receivers move; z stays a depth; default: places on the grid's axes",
    )
    relative_depth: Truth | None = Field(
        None,
        description="of receivers that move: whether z is an offset as well, from the depth of the "
        "source; default: false",
    )
    outside: Literal["error", "drop"] | None = Field(
        None,
        description="of receivers that move, where some leave the grid in some shots: error, or "
        "drop, which records NaN in their place; default: error",
    )

    @property
    def moves(self) -> bool:
        """Whether the receivers move with the shots."""
        return self.relative_to is not None

    @property
    def offset_axes(self) -> str:
        """The axes whose coordinates are offsets from the source."""
        if not self.moves:
            return ""
        return "xyz" if self.relative_depth else "xy"


class PointReceivers(_MovableSet):
    """Receivers listed singly."""

    type: Literal["points"]
    positions: Annotated[tuple[AnyPoint, ...], Field(min_length=1)] = Field(
        description="list of x, (y,) z or longitude, latitude, depth; each with an optional code"
    )


class LineReceivers(_MovableSet):
    """Equally spaced receivers from start to end, both included."""

    type: Literal["line"]
    start: Position = Field(description="first receiver")
    end: Position = Field(description="last receiver")
    count: ReceiverCount = Field(description="number of receivers")


class GridReceivers(_MovableSet):
    """Receivers on a regular grid; an axis is [from, to, count], or a value."""

    type: Literal["grid"]
    x: Ticks = Field(description="[from, to, count] along x, or one x")
    y: Ticks | None = Field(None, description="[from, to, count] along y, or one y (3-D only)")
    z: Ticks | None = Field(None, description="[from, to, count] along z, or one z")
    depth: Ticks | None = Field(
        None, description="in place of z: [from, to, count] below the ground, or one depth"
    )


class StationReceivers(_MovableSet):
    """Receivers from a list of stations with their codes and coordinates."""

    type: Literal["stations"]
    path: FilePath = Field(
        description="CSV file, whose first line names the columns: network, station, location and "
        "longitude, latitude, depth or x, (y,) z (or depth; neither over topography: the ground); "
        "StationXML; text of FDSN web services (#Network|Station|...); a STATIONS file of SPECFEM; "
        "or an input file of SW4 (its rec lines)"
    )
    coordinates: Literal["degrees", "metres"] | None = Field(
        None,
        description="what a STATIONS file has; default: degrees if the scenario has the section "
        "geographic",
    )
    surface: Length | None = Field(
        None,
        description="of a STATIONS file of SPECFEM whose z points up (SPECFEM2D; SPECFEM3D with "
        "USE_SOURCES_RECEIVERS_Z): the z that the ground of the grid has there, over topography "
        "height 0",
    )
    channels: tuple[ChannelPattern, ...] = Field(
        (),
        description="of StationXML: patterns such as CI.*.*.HN?, one of which has to match a "
        "channel NET.STA.LOC.CHA; default: all",
    )
    time: UtcTime | None = Field(
        None,
        description="of StationXML: a time at which a station and its channel have to be open, "
        "ISO 8601",
    )


class FibreReceivers(_ReceiverSet):
    """Channels along a fibre (DAS): the mean strain along it over the gauge length."""

    type: Literal["fibre"]
    moves: ClassVar[bool] = False
    offset_axes: ClassVar[str] = ""
    points: Annotated[tuple[AnyPosition, ...], Field(min_length=2)] | None = Field(
        None,
        description="start, bends and end of the fibre: x, (y,) z or longitude, latitude, depth",
    )
    path: FilePath | None = Field(
        None,
        description="in their place a CSV file of them; its first line names the columns: "
        "longitude, latitude, depth or x, (y,) z",
    )
    spacing: PositiveLength = Field(description="distance between channels along the fibre")
    gauge_length: PositiveLength = Field(
        description="length of fibre that each channel records the strain of"
    )


ReceiverSet = Annotated[
    Annotated[PointReceivers, Tag("|points")]
    | Annotated[LineReceivers, Tag("|line")]
    | Annotated[GridReceivers, Tag("|grid")]
    | Annotated[StationReceivers, Tag("|stations")]
    | Annotated[FibreReceivers, Tag("|fibre")],
    by_type(),
]


def fibres(draft: Draft) -> Mistakes:
    """Check that each fibre has either its points or a file of them."""
    for index, group in enumerate(draft.receivers or ()):
        if isinstance(group, FibreReceivers) and (group.points is None) == (group.path is None):
            problem = "missing: give the points of the fibre, or path, a file of them"
            if group.path is not None:
                problem = "a fibre has its points here, or in a file: leave points or path out"
            yield Mistake(("receivers", index, "points"), problem)


def grids(draft: Draft) -> Mistakes:
    """Check the ranges of receivers that lie on a regular grid of their own."""
    for index, group in enumerate(draft.receivers or ()):
        if not isinstance(group, GridReceivers):
            continue
        count = math.prod(ticks[2] for ticks in (group.x, group.y, group.z, group.depth) if ticks)
        if count > MOST_RECEIVERS:
            problem = f"makes {count} receivers, {MOST_RECEIVERS} is the limit; take fewer"
            yield Mistake(("receivers", index, "x"), problem)
        for axis in AXES:
            ticks = None if axis in group.offset_axes else getattr(group, axis)
            for end in (0, 1) if ticks and ticks[2] > 1 else (0,):
                value = ticks[end] if ticks else None
                yield from inside(draft, ("receivers", index, axis, end), axis, value)


def moving(draft: Draft) -> Mistakes:
    """Check that receivers which move with the shots have a single source as their origin."""
    for index, group in enumerate(draft.receivers or ()):
        path = ("receivers", index)
        if group is None or isinstance(group, FibreReceivers):
            continue
        if not group.moves:
            for key in _OF_MOVING:
                if getattr(group, key) is not None:
                    problem = "says how receivers move: add relative_to: source, or leave it out"
                    yield Mistake((*path, key), problem)
            continue
        if problem := _without_origin(draft.sources):
            yield Mistake((*path, "relative_to"), problem)
        for number, point in enumerate(getattr(group, "positions", ())):
            if isinstance(point, GeographicPosition):
                yield Mistake(
                    (*path, "positions", number, "longitude"),
                    "is a place, where relative_to: source needs an offset: give x, (y,) z in m, "
                    "or leave relative_to out",
                )


def _without_origin(sources: tuple[Any, ...] | None) -> str:
    """Return why no source can be the origin; "" if one can."""
    if sources is None:
        return ""
    if len(sources) != 1:
        return (
            f"needs one source to count from, and there are {len(sources)}, which act together; "
            "keep one in sources, or leave relative_to out and write places"
        )
    if extent := getattr(sources[0], "extent", ""):
        return (
            f"needs a source at a point, and {extent} is none; leave relative_to out and "
            "write places"
        )
    return ""


def recorded_quantities(draft: Draft) -> Mistakes:
    """Check that the equation has the quantities of each set of receivers."""
    table = draft.table
    if table is None:
        return
    known = table.quantities
    offers = f"physics {draft.physics} records"
    for index, group in enumerate(draft.receivers or ()):
        names = (group and group.quantities) or ()
        if group is not None and group.type == "fibre":
            yield from _along_fibre(draft, table, ("receivers", index), names)
            continue
        yield from listed_names(("receivers", index, "quantities"), names, known, offers)


def _along_fibre(draft: Draft, table: Physics, path: KeyPath, names: tuple[str, ...]) -> Mistakes:
    """Check that a fibre records its strain, and the equation has the motion that strains it."""
    yield from listed_names((*path, "quantities"), names, ALONG_FIBRES, "a fibre records")
    moving = table.observables.get("velocity", {})
    if any(f"v{axis}" not in moving for axis in table.axes):
        problem = f"physics {draft.physics} has no motion along a fibre: use physics elastic"
        if table.fields[0].name == "p":
            problem += ", or give rho in the model"
        yield Mistake((*path, "type"), problem)
