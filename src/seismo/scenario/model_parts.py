"""The earth model as a list of parts, each laid over the model of the parts before it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    Discriminator,
    Tag,
    TypeAdapter,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import core_schema

from seismo.equations.framework.parameters import QP, QS, RHO, VP, VS, Parameter
from seismo.equations.framework.registry import PARAMETERS
from seismo.scenario.gridded_parts import (
    FILES,
    Axes,
    ChangingPart,
    DepthPart,
    FileOrigin,
    GriddedFile,
    GriddedPart,
    Keys,
    RandomPart,
    SampleSpacing,
    VolumePart,
    keys_of,
    with_parameters,
)
from seismo.scenario.mistakes import schema_text
from seismo.scenario.python_data import PythonArray
from seismo.scenario.quantities import (
    TAG,
    Field,
    FilePath,
    Interval,
    Length,
    PositiveLength,
    ScenarioSection,
    Shorthand,
    by_type,
    gradient_of,
    or_one_length,
    value_of,
)
from seismo.scenario.units import NOT_A_NUMBER


@dataclass(frozen=True)
class OneForBoth:
    """Annotation of a section with top and bottom: a single value holds for both."""

    value_type: Any

    @cached_property
    def _adapter(self) -> TypeAdapter[float]:
        return TypeAdapter(self.value_type)

    def _both(self, value: Any, check: Any) -> Any:
        if isinstance(value, Mapping | BaseModel):
            return check(value)
        try:
            number = self._adapter.validate_python(value)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            cause = first.get("ctx", {}).get("error")
            problem = str(cause or f"must be {schema_text.allowed(self.value_type)}")
            if cause is None or problem.startswith(NOT_A_NUMBER):
                problem += ", or keys top, bottom"
            raise ValueError(problem) from None
        return check({"top": number, "bottom": number})

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Accept the value, and the annotated type."""
        return core_schema.no_info_wrap_validator_function(self._both, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Describe both spellings."""
        number = self._adapter.json_schema()
        return {"anyOf": [*number["anyOf"], handler(schema["schema"])]}


def ends_of(parameter: Parameter, module: str) -> tuple[type[ScenarioSection], Any]:
    """Return a section with a parameter at top and bottom, for a module, and its annotation."""
    name = parameter.name
    meaning = parameter.meaning
    value_type = value_of(parameter)
    title = "".join(word[0].upper() + word[1:] for word in meaning.split())
    ends = create_model(
        f"{title}Range",
        __base__=ScenarioSection,
        __doc__=f"{meaning[0].upper()}{meaning[1:]} at both ends of a gradient.",
        __module__=module,
        top=(value_type, Field(description=f"{name} at `z_top` and above")),
        bottom=(value_type, Field(description=f"{name} at `z_bottom` and below")),
    )
    words = Shorthand(schema_text.allowed(value_type))
    return ends, Annotated[ends, OneForBoth(value_type), words]


MOST_POINTS = 1000  # of an outline: every point of the grid is compared with each
OutlinePoint = tuple[Length, Length]
COLUMNS = (VP, VS, RHO)  # of tables, after the depth
QUALITY_COLUMNS = (QP, QS)  # after `COLUMNS`, if any


def headings(columns: Iterable[Parameter]) -> str:
    """Return the names of a table's columns, as people list them."""
    return ", ".join(("z", *(parameter.name for parameter in columns)))


def _row(columns: tuple[Parameter, ...]) -> Any:
    row = tuple[(Length, *map(value_of, columns))]  # type: ignore[misc, valid-type]
    return Annotated[row, Tag(f"{TAG}[{headings(columns)}]")]


def _branch_of_row(value: Any) -> str:
    is_longer = isinstance(value, list | tuple) and len(value) > 1 + len(COLUMNS)
    return f"{TAG}[{headings((*COLUMNS, *QUALITY_COLUMNS) if is_longer else COLUMNS)}]"


TableRow: Any = Annotated[
    _row(COLUMNS) | _row((*COLUMNS, *QUALITY_COLUMNS)), Discriminator(_branch_of_row)
]


def _value(parameter: Parameter, where: str = "") -> Keys:
    zero = f"; 0 is {parameter.zero}" if parameter.zero else ""
    description = f"{parameter.meaning}{where}{zero}"
    return keys_of(parameter, value_of(parameter), description)


def _gradient(parameter: Parameter) -> Keys:
    change = f"change of {parameter.name} per metre below the top"
    return {f"{parameter.name}_gradient": (gradient_of(parameter), Field(0.0, description=change))}


def _range(parameter: Parameter) -> Keys:
    ends, annotation = ends_of(parameter, __name__)
    globals()[ends.__name__] = ends  # where pickle looks for it
    return keys_of(parameter, annotation, f"{parameter.meaning} at top and bottom, or everywhere")


def _file(parameter: Parameter) -> Keys:
    kind = FILES.get(parameter.unit, GriddedFile)
    return keys_of(parameter, kind, parameter.meaning)


def _array(parameter: Parameter) -> Keys:
    description = f"{parameter.meaning}{parameter.unit and f' in {parameter.unit}'}"
    return keys_of(parameter, PythonArray, description)


@with_parameters(_value)
class UniformPart(ScenarioSection):
    """The same values everywhere."""

    type: Literal["uniform"]


@with_parameters(_gradient)
@with_parameters(partial(_value, where=" at the top"))
class Layer(ScenarioSection):
    """A layer, from its top down to the top of the next; the first reaches up, too."""

    top: Length = Field(description="depth z of the layer's top")


class LayersPart(DepthPart):
    """Horizontal layers, listed downwards; the first has no upper end and the last no bottom."""

    type: Literal["layers"]
    layers: Annotated[tuple[Layer, ...], Field(min_length=1)] = Field(
        description="layers, listed downwards"
    )


@with_parameters(_range)
class GradientPart(DepthPart):
    """Values that change linearly between two depths and stay constant beyond them."""

    type: Literal["gradient"]
    z_top: Length | None = Field(
        None, description="depth where the change begins; the grid's top by default"
    )
    z_bottom: Length | None = Field(
        None, description="depth where it ends; the grid's bottom by default"
    )


class TablePart(DepthPart):
    """A 1-D model as rows of depth, vp, vs, rho and, in media that attenuate, qp and qs.

    Two rows of equal depth make a discontinuity.
    """

    type: Literal["table"]
    rows: Annotated[tuple[TableRow, ...], Field(min_length=1)] | None = Field(
        None,
        description="rows of [z, vp, vs, rho] or [z, vp, vs, rho, qp, qs], listed downwards",
    )
    path: FilePath | None = Field(None, description="CSV file of such rows, instead of `rows`")
    attenuates: bool = Field(
        False, description="whether the file of `path` has columns qp and qs, too"
    )
    interpolation: Literal["linear", "constant"] = Field(
        "linear", description="between rows: linear, or constant down to the next row"
    )

    @model_validator(mode="after")
    def _one_origin(self) -> TablePart:
        if (self.rows is None) == (self.path is None):
            raise ValueError("a table needs exactly one of 'rows' and 'path'")
        if self.rows and self.attenuates:
            raise ValueError("attenuates says what a file holds; leave it out beside 'rows'")
        if self.rows and any(a[0] > b[0] for a, b in pairwise(self.rows)):
            raise ValueError("rows must be listed downwards, z never decreasing")
        for number, row in enumerate(self.rows or ()):
            if self.rows and len(row) != len(self.rows[0]):
                raise ValueError(
                    f"rows[{number}] has {len(row)} values, rows[0] {len(self.rows[0])}: give qp "
                    "and qs in all rows, .inf where nothing is lost, or in none"
                )
        return self

    @property
    def quality_factors(self) -> set[str]:
        """Return which of qp and qs attenuate."""
        names = [parameter.name for parameter in QUALITY_COLUMNS]
        if self.rows is None:
            return set(names) if self.attenuates else set()
        columns = list(zip(*self.rows, strict=True))[1 + len(COLUMNS) :]
        lossy = (any(map(math.isfinite, column)) for column in columns)
        return {name for name, is_lossy in zip(names, lossy, strict=False) if is_lossy}


@with_parameters(_value)
class BlockPart(ChangingPart):
    """A box; an axis left out is covered whole, a property left out is kept."""

    type: Literal["block"]
    x: Interval | None = Field(None, description="[from, to] along x")
    y: Interval | None = Field(None, description="[from, to] along y (3-D only)")
    z: Interval | None = Field(None, description="[from, to] along z")


class Centre(ScenarioSection):
    """The middle of a sphere (3-D) or of a disc (2-D)."""

    x: Length = Field(description="x of the centre")
    y: Length | None = Field(None, description="y of the centre (3-D only)")
    z: Length = Field(description="depth of the centre")


@with_parameters(_value)
class SpherePart(ChangingPart):
    """A sphere in 3-D, a disc in 2-D; a property left out is kept."""

    type: Literal["sphere"]
    center: Centre = Field(description="the centre")
    radius: PositiveLength = Field(description="the radius")


@with_parameters(_value)
class InterfacePart(ChangingPart):
    """All beneath an interface that dips or bends; several, listed downwards, make such layers.

    Where a lower interface rises above an upper, the layer between them pinches out.
    """

    type: Literal["interface"]
    points: tuple[OutlinePoint, ...] = Field(
        description="[x, z] of the interface, x increasing: straight between them, flat beyond; "
        "the same for every y"
    )

    @model_validator(mode="after")
    def _goes_on(self) -> InterfacePart:
        _enough(self.points, 2)
        if any(point[0] >= following[0] for point, following in pairwise(self.points)):
            raise ValueError("points must be listed with x increasing; a polygon may turn back")
        return self


@with_parameters(_value)
class PolygonPart(ChangingPart):
    """A body with corners in the plane of x and z; a property left out is kept."""

    type: Literal["polygon"]
    points: tuple[OutlinePoint, ...] = Field(
        description="[x, z] of the corners, one after the other; the same for every y"
    )

    @model_validator(mode="after")
    def _has_corners(self) -> PolygonPart:
        _enough(self.points, 3)
        return self


@with_parameters(_file)
class FilePart(GriddedPart):
    """Properties read from gridded files, each with its own format."""

    type: Literal["file"]


@with_parameters(_array)
class ArrayPart(GriddedPart):
    """Properties in arrays from Python, resampled as gridded files are.

    Coordinates and units of an xarray.DataArray count; of a NumPy array, or without them, the keys
    here, and SI.
    """

    type: Literal["array"]
    axes: Axes | None = Field(
        None,
        description="axes of the arrays in C order, if not z, zx or zyx; "
        "values are constant along a missing axis",
    )
    spacing: SampleSpacing = Field(
        None,
        description="spacing of the arrays' points: one length for all axes, or x, z (and y); "
        "the grid's by default, whose points they have to be then",
        json_schema_extra=or_one_length,
    )
    origin: FileOrigin | None = Field(
        None, description="coordinates of the arrays' first point; the grid's by default"
    )


class WaterPart(ScenarioSection):
    """Sea water (vs = 0) from the top of the grid down to a depth."""

    type: Literal["water"]
    depth: Length = Field(description="z of the sea bed")
    vp: value_of(VP) = Field(1500.0, description="sound velocity")  # type: ignore[valid-type]
    rho: value_of(RHO) = Field(1000.0, description="density")  # type: ignore[valid-type]


def rock_sections(model: Iterable[Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the keys and the section of each part of a model, or of each of its layers."""
    for index, model_part in enumerate(model):
        layers = getattr(model_part, "layers", None)
        if layers is None:
            yield ("model", index), model_part
        else:
            yield from ((("model", index, "layers", n), layer) for n, layer in enumerate(layers))


def given_in(section: Any) -> set[str]:
    """Return the parameters that a part, or a layer, has values of."""
    return {name for name in PARAMETERS if getattr(section, name, None) is not None}


def named_parameters(model: Iterable[Any]) -> set[str]:
    """Return the parameters that any part gives, whatever their values."""
    names: set[str] = set()
    for model_part in model:
        # A table has columns of both quality factors, or of none.
        if getattr(model_part, "quality_factors", set()):
            names |= {parameter.name for parameter in QUALITY_COLUMNS}
    return names.union(*(given_in(section) for _, section in rock_sections(model)))


def given_parameters(model: Iterable[Any]) -> set[str]:
    """Return the parameters that any part gives a value other than the default."""
    own_names: set[str] = set()
    for model_part in model:
        own_names |= getattr(model_part, "quality_factors", set())
    for _, section in rock_sections(model):
        for name in given_in(section):
            value = getattr(section, name)
            ends = (getattr(value, "top", value), getattr(value, "bottom", value))
            if any(end != PARAMETERS[name].default for end in ends):
                own_names.add(name)
    return own_names


def _enough(points: tuple[tuple[float, float], ...], least: int) -> None:
    if not least <= len(points) <= MOST_POINTS:
        raise ValueError(f"has {len(points)} points; give {least} to {MOST_POINTS}")


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
    | Annotated[ArrayPart, Tag("|array")]
    | Annotated[VolumePart, Tag("|volume")]
    | Annotated[RandomPart, Tag("|random")]
    | Annotated[WaterPart, Tag("|water")],
    by_type(),
]
