"""The earth model as a list of parts, each laid over what the parts before it made."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Tag, model_validator

from seismo.scenario.base import (
    Density,
    DensityGradient,
    Field,
    FilePath,
    Interval,
    Length,
    PositiveLength,
    PVelocity,
    ScenarioSection,
    SVelocity,
    VelocityGradient,
    by_type,
)
from seismo.scenario.model_files import DensityFile, VelocityFile

MOST_POINTS = 1000  # of an outline: every point of the grid is compared with each
Point = tuple[Length, Length]
Row = tuple[Length, PVelocity, SVelocity, Density]


class UniformPart(ScenarioSection):
    """The same values everywhere."""

    type: Literal["uniform"]
    vp: PVelocity = Field(description="P velocity")
    vs: SVelocity | None = Field(None, description="S velocity; 0 is a fluid")
    rho: Density | None = Field(None, description="density")


class Layer(ScenarioSection):
    """One layer, from its top down to the top of the next."""

    top: Length = Field(description="depth z of the layer's top")
    vp: PVelocity = Field(description="P velocity at the top")
    vs: SVelocity | None = Field(None, description="S velocity at the top; 0 is a fluid")
    rho: Density | None = Field(None, description="density at the top")
    vp_gradient: VelocityGradient = Field(0.0, description="change of vp per metre below the top")
    vs_gradient: VelocityGradient = Field(0.0, description="change of vs per metre below the top")
    rho_gradient: DensityGradient = Field(0.0, description="change of rho per metre below the top")


class LayersPart(ScenarioSection):
    """Horizontal layers, listed downwards; the last one has no bottom."""

    type: Literal["layers"]
    layers: Annotated[tuple[Layer, ...], Field(min_length=1)] = Field(
        description="layers, listed downwards"
    )


class PVelocityRange(ScenarioSection):
    """P velocity at both ends of a gradient."""

    top: PVelocity = Field(description="vp at `z_top` and above")
    bottom: PVelocity = Field(description="vp at `z_bottom` and below")


class SVelocityRange(ScenarioSection):
    """S velocity at both ends of a gradient."""

    top: SVelocity = Field(description="vs at `z_top` and above")
    bottom: SVelocity = Field(description="vs at `z_bottom` and below")


class DensityRange(ScenarioSection):
    """Density at both ends of a gradient."""

    top: Density = Field(description="rho at `z_top` and above")
    bottom: Density = Field(description="rho at `z_bottom` and below")


class GradientPart(ScenarioSection):
    """Values that change linearly between two depths and stay constant beyond them."""

    type: Literal["gradient"]
    z_top: Length | None = Field(
        None, description="depth where the change begins; the grid's top by default"
    )
    z_bottom: Length | None = Field(
        None, description="depth where it ends; the grid's bottom by default"
    )
    vp: PVelocityRange = Field(description="P velocity at top and bottom")
    vs: SVelocityRange | None = Field(None, description="S velocity at top and bottom")
    rho: DensityRange | None = Field(None, description="density at top and bottom")


class TablePart(ScenarioSection):
    """A 1-D model as rows of depth, vp, vs, rho; two rows of one depth make a discontinuity."""

    type: Literal["table"]
    rows: Annotated[tuple[Row, ...], Field(min_length=1)] | None = Field(
        None, description="rows of [z, vp, vs, rho], listed downwards"
    )
    path: FilePath | None = Field(None, description="CSV file of such rows, instead of `rows`")
    interpolation: Literal["linear", "constant"] = Field(
        "linear", description="between rows: linear, or constant down to the next row"
    )

    @model_validator(mode="after")
    def _one_origin(self) -> TablePart:
        if (self.rows is None) == (self.path is None):
            raise ValueError("a table needs exactly one of 'rows' and 'path'")
        if self.rows and any(a[0] > b[0] for a, b in pairwise(self.rows)):
            raise ValueError("rows must be listed downwards, z never decreasing")
        return self


class BlockPart(ScenarioSection):
    """A box; an axis left out is covered whole, a property left out is kept."""

    type: Literal["block"]
    x: Interval | None = Field(None, description="[from, to] along x")
    y: Interval | None = Field(None, description="[from, to] along y (3-D only)")
    z: Interval | None = Field(None, description="[from, to] along z")
    vp: PVelocity | None = Field(None, description="P velocity")
    vs: SVelocity | None = Field(None, description="S velocity; 0 is a fluid")
    rho: Density | None = Field(None, description="density")

    @model_validator(mode="after")
    def _changes_something(self) -> BlockPart:
        _some_property(self.vp, self.vs, self.rho)
        return self


class Centre(ScenarioSection):
    """The middle of a sphere (3-D) or of a disc (2-D)."""

    x: Length = Field(description="x of the centre")
    y: Length | None = Field(None, description="y of the centre (3-D only)")
    z: Length = Field(description="depth of the centre")


class SpherePart(ScenarioSection):
    """A sphere in 3-D, a disc in 2-D; a property left out is kept."""

    type: Literal["sphere"]
    center: Centre = Field(description="the centre")
    radius: PositiveLength = Field(description="the radius")
    vp: PVelocity | None = Field(None, description="P velocity")
    vs: SVelocity | None = Field(None, description="S velocity; 0 is a fluid")
    rho: Density | None = Field(None, description="density")

    @model_validator(mode="after")
    def _changes_something(self) -> SpherePart:
        _some_property(self.vp, self.vs, self.rho)
        return self


class InterfacePart(ScenarioSection):
    """All beneath an interface that dips or bends; several, listed downwards, make such layers.

    Where a lower one rises above an upper one, the layer between them pinches out.
    """

    type: Literal["interface"]
    points: tuple[Point, ...] = Field(
        description="[x, z] of the interface, x increasing: straight between them, flat beyond; "
        "the same for every y"
    )
    vp: PVelocity | None = Field(None, description="P velocity")
    vs: SVelocity | None = Field(None, description="S velocity; 0 is a fluid")
    rho: Density | None = Field(None, description="density")

    @model_validator(mode="after")
    def _goes_on(self) -> InterfacePart:
        _some_property(self.vp, self.vs, self.rho)
        _enough(self.points, 2)
        if any(one[0] >= other[0] for one, other in pairwise(self.points)):
            raise ValueError("points must be listed with x increasing; a polygon may turn back")
        return self


class PolygonPart(ScenarioSection):
    """A body with corners in the plane of x and z; a property left out is kept."""

    type: Literal["polygon"]
    points: tuple[Point, ...] = Field(
        description="[x, z] of the corners, one after the other; the same for every y"
    )
    vp: PVelocity | None = Field(None, description="P velocity")
    vs: SVelocity | None = Field(None, description="S velocity; 0 is a fluid")
    rho: Density | None = Field(None, description="density")

    @model_validator(mode="after")
    def _has_corners(self) -> PolygonPart:
        _some_property(self.vp, self.vs, self.rho)
        _enough(self.points, 3)
        return self


class FilePart(ScenarioSection):
    """Properties read from gridded files, each with its own format."""

    type: Literal["file"]
    vp: VelocityFile | None = Field(None, description="P velocity")
    vs: VelocityFile | None = Field(None, description="S velocity")
    rho: DensityFile | None = Field(None, description="density")

    @model_validator(mode="after")
    def _changes_something(self) -> FilePart:
        _some_property(self.vp, self.vs, self.rho)
        return self


class WaterPart(ScenarioSection):
    """Sea water (vs = 0) from the top of the grid down to a depth."""

    type: Literal["water"]
    depth: Length = Field(description="z of the sea bed")
    vp: PVelocity = Field(1500.0, description="sound velocity")
    rho: Density = Field(1000.0, description="density")


def _enough(points: tuple[tuple[float, float], ...], least: int) -> None:
    if not least <= len(points) <= MOST_POINTS:
        raise ValueError(f"has {len(points)} points; give {least} to {MOST_POINTS}")


def _some_property(*values: object) -> None:
    if all(value is None for value in values):
        raise ValueError("changes nothing: give at least one of 'vp', 'vs', 'rho'")


ModelPart = Annotated[
    Annotated[UniformPart, Tag("|uniform")]
    | Annotated[LayersPart, Tag("|layers")]
    | Annotated[GradientPart, Tag("|gradient")]
    | Annotated[TablePart, Tag("|table")]
    | Annotated[BlockPart, Tag("|block")]
    | Annotated[SpherePart, Tag("|sphere")]
    | Annotated[InterfacePart, Tag("|interface")]
    | Annotated[PolygonPart, Tag("|polygon")]
    | Annotated[FilePart, Tag("|file")]
    | Annotated[WaterPart, Tag("|water")],
    by_type(),
]
