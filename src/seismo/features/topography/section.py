"""Topography in a scenario: hills, a plane that dips, or a file of heights; with its rules.

Heights are in m up, and z is down: ground of height H stands at z = `datum` - H.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Tag

from seismo.errors import KeyPath
from seismo.formats import names, suffixes
from seismo.scenario import units
from seismo.scenario.draft import Draft
from seismo.scenario.gridded_parts import FileOrigin, SampleSpacing
from seismo.scenario.quantities import (
    AddedKey,
    Angle,
    Field,
    FilePath,
    Length,
    Mistake,
    Mistakes,
    PositiveLength,
    Quantity,
    ScenarioSection,
    by_type,
    or_one_length,
)

if TYPE_CHECKING:
    from seismo.scenario.document import Scenario

STEEPEST = 60.0  # degrees
_LEVEL_IN_2D = (0.0, 180.0, -180.0, 360.0, -360.0)  # azimuths along x
FORMATS = suffixes("heights")  # -> formats
GroundDip = Annotated[float, Quantity(units.ANGLE, ge=0.0, le=STEEPEST)]


class Place(ScenarioSection):
    """A place on the map."""

    x: Length = Field(description="x")
    y: Length | None = Field(None, description="y (3-D only)")


class GroundPoint(Place):
    """A point of the ground."""

    z: Length = Field(description="depth, positive down")


class Hill(ScenarioSection):
    """A hill of height exp(-(r / width)^2), r the distance from its center."""

    center: Place = Field(description="its top")
    height: Length = Field(description="above the ground around; negative: a canyon")
    width: PositiveLength = Field(description="distance from the center to 1/e of the height")


class HillsTopography(ScenarioSection):
    """Level ground with hills and canyons, whose heights add up."""

    type: Literal["hills"]
    hills: Annotated[tuple[Hill, ...], Field(min_length=1, max_length=10_000)] = Field(
        description="hills and canyons"
    )
    datum: Length = Field(0.0, description="z of the ground far from all hills")


class PlaneTopography(ScenarioSection):
    """A plane that dips."""

    type: Literal["plane"]
    dip: GroundDip = Field(description="angle from the horizontal")
    azimuth: Angle = Field(
        0.0,
        description="horizontal direction of the way down the dip, from +x towards +y; in 2-D 0 or "
        "180 deg",
    )
    through: GroundPoint = Field(description="a point of it")


class FileTopography(ScenarioSection):
    """Heights from a file, at the points of a regular grid.

    Files with longitudes and latitudes, or with a `crs`, need the section `geographic`; in 2-D the
    ground is that along y = 0.
    """

    type: Literal["file"]
    path: FilePath = Field(description="the file, relative to the scenario's folder")
    format: Literal[*names("heights")] | None = Field(  # type: ignore[valid-type]
        None,
        description="default: by the suffix .npy, .nc, .nc4, .cdf or .grd, .tif or .tiff, .xyz, "
        ".txt or .csv (lines of x, y and height, or longitude, latitude and height)",
    )
    variable: FilePath | None = Field(
        None, description="variable of a NetCDF file; default: the only one of two axes"
    )
    spacing: SampleSpacing = Field(
        None,
        description="of a .npy file, whose axes are y, x (2-D: x): one length, or x and y; "
        "default: the grid's",
        json_schema_extra=or_one_length,
    )
    origin: FileOrigin | None = Field(
        None, description="of a .npy file: x, y of its first point; default: the grid's"
    )
    coordinates: Literal["degrees", "metres"] | None = Field(
        None,
        description="what the first two columns of an XYZ file are; default: degrees if the "
        "scenario has the section geographic, and no crs is given",
    )
    crs: FilePath | None = Field(
        None,
        description="coordinate reference system of the file's x and y, such as EPSG:32610; "
        "default: that of a GeoTIFF file, else they are those of the grid",
    )
    datum: Length = Field(0.0, description="z of height 0")
    outside: Literal["refuse", "nearest"] = Field(
        "refuse", description="where the grid leaves the file: an error, or the height at its edge"
    )


AnyTopography = HillsTopography | PlaneTopography | FileTopography
TopographySection = Annotated[
    Annotated[HillsTopography, Tag("|hills")]
    | Annotated[PlaneTopography, Tag("|plane")]
    | Annotated[FileTopography, Tag("|file")],
    by_type(),
]


def heights_format(section: Any) -> str:
    """Return the format of a file of heights: as given, or by the suffix, "" if unknown."""
    return section.format or FORMATS.get(PurePath(section.path).suffix.lower(), "")


def ground(draft: Draft) -> Mistakes:
    """Check that the top is the ground, and its description."""
    if not draft.has_topography:
        return
    if draft.boundaries is not None and draft.boundaries.top != "free_surface":
        yield Mistake(("boundaries", "top"), "topography is that of a free surface: set "
                      "top: free_surface")  # fmt: skip
    for index, source in enumerate(draft.sources or ()):
        if getattr(source, "type", "") == "plane_wave":
            yield Mistake(
                ("sources", index, "type"),
                "plane waves come in through rows that topography bends: use point sources, or "
                "leave topography out",
            )
    yield from _described(draft, draft.others.get("topography"))


def _described(draft: Draft, section: Any) -> Mistakes:
    for path, point in _described_at(section):
        if point.y is not None and draft.dimensions == 2:
            yield Mistake((*path, "y"), "a 2-D run has no y: leave it out")
        if point.y is None and draft.dimensions == 3:
            yield Mistake((*path, "y"), "missing: a 3-D run needs y")
    kind = getattr(section, "type", "")
    if kind == "plane" and draft.dimensions == 2 and section.azimuth not in _LEVEL_IN_2D:
        yield Mistake(("topography", "azimuth"), "a 2-D run dips along x alone: give 0 or 180 deg")
    if kind != "file":
        return
    written = heights_format(section)
    if not written:
        problem = f"missing: {section.path!r} ends in none of {', '.join(FORMATS)}"
        yield Mistake(("topography", "format"), f"{problem}; give it")
    of_npy = ("spacing", "origin")
    keys = {"variable": "netcdf", "coordinates": "xyz", **dict.fromkeys(of_npy, "npy")}
    for key, wanted in keys.items():
        if written and written != wanted and getattr(section, key) is not None:
            problem = f"is of {wanted} files, and this is one of {written}: leave it out"
            yield Mistake(("topography", key), problem)
    if section.crs is not None and not draft.has_geographic:
        problem = "needs the section 'geographic': longitude, latitude of the grid's x = 0, y = 0"
        yield Mistake(("topography", "crs"), problem)
    if section.crs is not None and section.coordinates == "degrees":
        yield Mistake(("topography", "crs"), "is one of metres: leave it or coordinates out")


def _described_at(section: Any) -> Iterator[tuple[KeyPath, Any]]:
    """Yield the places that describe the ground, with their paths."""
    for number, hill in enumerate(getattr(section, "hills", ())):
        yield ("topography", "hills", number, "center"), hill.center
    if getattr(section, "through", None) is not None:
        yield ("topography", "through"), section.through


def section_of(scenario: Scenario) -> AnyTopography | None:
    """Return the topography of a scenario; None where the ground is flat."""
    section: AnyTopography | None = scenario.section("topography")
    return section


KEY = AddedKey(
    "topography",
    "boundaries",
    TopographySection | None,
    Field(None, description="ground that is not flat"),
)
RULES = {"geometry": (ground,)}
