"""Boxes of a scenario: `output.boxes`, sources of type `wavefield`, and their rules."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from seismo.equations.framework.table import Physics
from seismo.errors import KeyPath
from seismo.scenario.draft import Draft
from seismo.scenario.quantities import (
    AddedKey,
    Field,
    FilePath,
    Integer,
    Interval,
    Mistake,
    Mistakes,
    Name,
    RelativeError,
    ScenarioSection,
)
from seismo.scenario.sections.sources import AddedSource, SourceSection

_SINGLE = "are of grids with a single spacing: leave grid.refinement out"


class BoxEnds(ScenarioSection):
    """The first and the last coordinate of a box along each axis."""

    x: Interval | None = Field(None, description="from, to")
    y: Interval | None = Field(None, description="from, to (3-D)")
    z: Interval | None = Field(
        None, description="from, to; a box that begins at the free surface is open there"
    )


class BoxSection(ScenarioSection):
    """A box about whose faces all fields are recorded, for sources of type `wavefield`."""

    name: Name = Field("box", description="name in the results; different for each entry")
    box: BoxEnds = Field(description="where; its ends move inwards to nodes of the grid")
    steps: Annotated[Integer, Field(ge=1)] | None = Field(
        None,
        description="time steps between two records; default: as many as leave 8 records in the "
        "shortest period of the sources",
    )
    relative_error: RelativeError | None = Field(
        1e-6, description="bound of the relative rounding error, for smaller files"
    )


class WavefieldSource(SourceSection):
    """The wavefield that another run has recorded about the faces of a box."""

    is_driven: ClassVar[bool] = False
    type: Literal["wavefield"]
    name: Name | None = Field(None, description="name in messages and results")
    path: FilePath = Field(
        description="results file of the other run, relative to the scenario's folder"
    )
    box: Name | None = Field(None, description="which box of a file that has several")

    def mistakes(self, draft: Draft, table: Physics, path: KeyPath) -> Mistakes:
        """Check that no survey moves it, and that the grid has a single spacing."""
        if draft.survey is not None:
            problem = "moves its source, and a recorded wavefield has its place: leave it out"
            yield Mistake(("survey",), problem)
        if draft.grid is not None and (draft.grid.plane_is_open or draft.grid.planes):
            yield Mistake((*path, "type"), f"wavefields {_SINGLE}")


def boxes(draft: Draft) -> Mistakes:
    """Check the boxes that are recorded, and that the run has all of them."""
    if draft.output is None or draft.dimensions is None:
        return
    for number, entry in enumerate(draft.output.boxes):
        path: KeyPath = ("output", "boxes", number)
        if entry is None:
            continue
        several = "survey" if draft.survey is not None else "ensemble"
        if draft.survey is not None or draft.others.get("ensemble") is not None:
            yield Mistake(path, f"boxes are recorded of a single shot: leave {several} out")
        if draft.grid is not None and (draft.grid.plane_is_open or draft.grid.planes):
            yield Mistake(path, f"boxes {_SINGLE}")
        for axis in "xyz":
            ends = getattr(entry.box, axis)
            limits = draft.limits(axis)
            if axis == "y" and draft.dimensions == 2:
                if ends is not None:
                    yield Mistake((*path, "box", "y"), "a 2-D run has no y: leave it out")
            elif ends is None:
                yield Mistake((*path, "box"), f"needs {axis}: [from, to]")
            elif limits is not None and not limits[0] <= ends[0] < ends[1] <= limits[1]:
                problem = f"outside the grid: {axis} from {limits[0]:g} m to {limits[1]:g} m"
                yield Mistake((*path, "box", axis), f"{problem}; move it inside")


KEY = AddedKey(
    "boxes", "maps", tuple[BoxSection, ...],
    Field((), description="boxes about whose faces all fields are recorded"),
)  # fmt: skip
SOURCE = AddedSource(WavefieldSource, after="moment_tensor")
RULES = {"cuts": (boxes,)}
