"""Parts of the earth model with samples at points, from files or a random medium.

Keys of parameters, which equations declare, are added to the sections of all parts here.

Random perturbations of the earth model, as a part that follows others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

from pydantic import ValidatorFunctionWrapHandler, WrapValidator, model_validator

from seismo.equations.framework.parameters import CONSTANTS, VP, VS, Parameter
from seismo.equations.framework.registry import PARAMETERS
from seismo.formats import names, suffixes
from seismo.formats.reading import no_file
from seismo.scenario import units
from seismo.scenario.quantities import (
    ONE_LENGTH,
    Field,
    FilePath,
    Integer,
    Length,
    Mistake,
    Number,
    PositiveLength,
    Quantity,
    ScenarioSection,
    Shorthand,
    one_length,
    or_one_length,
    value_of,
    with_keys,
)

Keys = dict[str, tuple[Any, Any]]  # type and `Field` by key
with_parameters = partial(with_keys, PARAMETERS.values())


def keys_of(parameter: Parameter, kind: Any, description: str) -> Keys:
    """Return the key of a parameter; rules of the model say where it may be left out."""
    return {parameter.name: (kind | None, Field(None, description=description))}


class DepthPart(ScenarioSection):
    """A part that varies with depth alone."""

    relative_to: Literal["ground"] | None = Field(
        None,
        description="ground: its depths count from the ground, which it follows; default: they are "
        "z of the grid's axis",
    )


class ChangingPart(ScenarioSection):
    """A part that gives at least one property, and keeps all others."""

    @model_validator(mode="after")
    def _changes_something(self) -> ChangingPart:
        if all(getattr(self, name, None) is None for name in PARAMETERS):
            known = ", ".join(f"'{name}'" for name in PARAMETERS if name not in CONSTANTS)
            raise ValueError(f"changes nothing: give at least one of {known}, or elastic constants")
        return self


class GriddedPart(ChangingPart):
    """A part whose properties are samples at points."""

    interpolation: Literal["linear", "cells"] = Field(
        "linear",
        description="between samples: linear, or cells, each of which is one rock and ends midway "
        "to the next sample",
    )


PointCount = Annotated[Integer, Field(ge=1)]
Axes = Literal[
    "z", "x", "y", "zx", "xz", "zy", "yz", "yx", "xy", "zyx", "zxy", "yzx", "yxz", "xzy", "xyz"
]  # fmt: skip


class FileOrigin(ScenarioSection):
    """Coordinates of the first point of a gridded file; by default the grid's."""

    x: Length | None = Field(None, description="smallest x")
    y: Length | None = Field(None, description="smallest y (3-D only)")
    z: Length | None = Field(None, description="smallest depth")


class AlongAxes(ScenarioSection):
    """Lengths along x, y and z."""

    @property
    def one_for_all(self) -> bool:
        """Whether it is the same along all axes, y too, which a 2-D run does not have."""
        return len({getattr(self, axis) for axis in "xyz"}) == 1


def same_on_all_axes(kind: Any, value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Check a section of lengths along axes, or a length for all of them.

    Args:
        kind: of the section, or that or None.
        value: as it is written.
        check: function(value) -> the section.
    """
    if isinstance(value, kind | Mapping):
        return check(value)
    length = one_length(value)
    return check({"x": length, "y": length, "z": length})


class FileSpacing(AlongAxes):
    """Spacing of the points of a gridded file; by default the grid's."""

    x: PositiveLength | None = Field(None, description="along x")
    y: PositiveLength | None = Field(None, description="along y (3-D only)")
    z: PositiveLength | None = Field(None, description="along z")


_SPACING = WrapValidator(partial(same_on_all_axes, FileSpacing | None))
SampleSpacing = Annotated[FileSpacing | None, _SPACING, ONE_LENGTH]
FORMATS = {**suffixes("array"), **suffixes("traces")}  # by suffix, else raw
OTHERS = {  # by suffix: other kinds of files, and how NumPy gets at the values
    ".npz": ("an archive of arrays", 'numpy.load("{path}")["{name}"]'),
    ".txt": ("a text", 'numpy.loadtxt("{path}")'),
    ".csv": ("a text", 'numpy.loadtxt("{path}", delimiter=",")'),
    ".mat": ("a MATLAB file", 'scipy.io.loadmat("{path}")["{name}"]'),
}


def format_of(file: Any) -> str:
    """Return the format of a gridded file: as given, or by the suffix."""
    return file.format or FORMATS.get(PurePath(file.path).suffix.lower(), "raw")


class GriddedFile(ScenarioSection):
    """A file with a property on a regular grid, which is resampled to the grid of the run.

    Values are interpolated linearly, except between a fluid (vs = 0) and a solid, and between a
    quality factor and inf, where the value of the closest point is used. `theta` and `phi` are
    interpolated as an axis: between tilts of 89 and -89 degrees lies 90; the same part gives both.
    """

    path: FilePath = Field(description="the file, relative to the scenario's folder")
    format: Literal[*names("array", "traces")] | None = Field(  # type: ignore[valid-type]
        None, description="default: by the suffix .npy, .h5, .hdf5, .hdf, .sgy or .segy, else raw"
    )
    dataset: FilePath | None = Field(
        None, description="dataset of an HDF5 file; default: the only one"
    )
    shape: Annotated[tuple[PointCount, ...], Field(min_length=1, max_length=3)] | None = Field(
        None, description="numbers of points in C order; required for raw, else verified"
    )
    axes: Axes | None = Field(
        None,
        description="axes of the file in C order, if not z, zx or zyx; "
        "values are constant along a missing axis",
    )
    dtype: Literal["float32", "float64", "int16", "uint16", "int32"] = Field(
        "float32", description="number type of a raw file"
    )
    byte_order: Literal["little", "big"] = Field("little", description="byte order of a raw file")
    spacing: SampleSpacing = Field(
        None,
        description="spacing of the file's points: one length for all axes, or x, z (and y); "
        "the grid's by default, of SEG-Y that of its headers",
        json_schema_extra=or_one_length,
    )
    origin: FileOrigin | None = Field(
        None,
        description="coordinates of the file's first point; the grid's by default, of SEG-Y "
        "those of its headers",
    )


class VelocityFile(GriddedFile):
    """A velocity on a regular grid."""

    units: Literal["m/s", "km/s"] = Field("m/s", description="unit of the values")


class DensityFile(GriddedFile):
    """A density on a regular grid."""

    units: Literal["kg/m3", "g/cm3"] = Field("kg/m3", description="unit of the values")


class StiffnessFile(GriddedFile):
    """An elastic constant on a regular grid."""

    units: Literal["Pa", "GPa"] = Field("Pa", description="unit of the values")


FILES = {
    "m/s": VelocityFile,
    "kg/m3": DensityFile,
    "Pa": StiffnessFile,
}  # by SI unit; others are in that


VOLUMES = suffixes("volume")  # -> formats


class VolumeVariable(ScenarioSection):
    """A variable of a file, and its unit where the file does not say it, or says it wrongly."""

    variable: FilePath = Field(description="its name in the file")


class VelocityVariable(VolumeVariable):
    """A velocity of a file."""

    units: Literal["m/s", "km/s"] | None = Field(
        None, description="unit of the values; default: the file's, or else m/s"
    )


class DensityVariable(VolumeVariable):
    """A density of a file."""

    units: Literal["kg/m3", "g/cm3"] | None = Field(
        None, description="unit of the values; default: the file's, or else kg/m3"
    )


class StiffnessVariable(VolumeVariable):
    """An elastic constant of a file."""

    units: Literal["Pa", "GPa"] | None = Field(
        None, description="unit of the values; default: the file's, or else Pa"
    )


# By SI unit.
_VARIABLES = {"m/s": VelocityVariable, "kg/m3": DensityVariable, "Pa": StiffnessVariable}


class MinimumVelocities(ScenarioSection):
    """The smallest velocities of a part."""

    vp: value_of(VP) | None = Field(None, description="smallest P velocity")  # type: ignore[valid-type]
    vs: value_of(VS) | None = Field(None, description="smallest S velocity")  # type: ignore[valid-type]


def _named(kind: type[VolumeVariable], value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    bare = not isinstance(value, Mapping | VolumeVariable)
    return check({"variable": value} if bare else value)


def _variable(parameter: Parameter) -> Keys:
    if parameter.unit == "deg":  # axes of rock, which are more than two numbers to interpolate
        return {}
    kind = _VARIABLES.get(parameter.unit, VolumeVariable)
    validator = WrapValidator(partial(_named, kind))
    checked = Annotated[kind, validator, Shorthand("its name")]  # type: ignore[valid-type]
    return keys_of(parameter, checked, f"variable with the {parameter.meaning}")


@with_parameters(_variable)
class VolumePart(GriddedPart):
    """Several properties from a file, taken at the place of every point of the grid.

    Files with longitudes and latitudes, or with a `crs`, need the section `geographic`.
    """

    type: Literal["volume"]
    path: FilePath = Field(description="the file, relative to the scenario's folder")
    format: Literal[*names("volume")] | None = Field(  # type: ignore[valid-type]
        None,
        description="default: by the suffix .nc, .nc4 or .cdf, .h5 or .hdf5, .sfile, .rfile, "
        ".lst, .xyz (specfem: a tomography_model.xyz)",
    )
    crs: FilePath | None = Field(
        None,
        description="coordinate reference system of the file's x and y, such as EPSG:32610; "
        "they are those of the grid by default (of an sfile: the `proj` of SW4's input)",
    )
    minimum: MinimumVelocities | None = Field(
        None, description="smallest velocities: smaller ones of the file are raised to them"
    )
    positive: Literal["down", "up"] | None = Field(
        None, description="where vertical coordinates grow to; default: as the file says"
    )
    outside: Literal["refuse", "nearest", "keep"] = Field(
        "refuse",
        description="points outside the file: an error, values of its edge, or the parts before",
    )
    missing: Literal["refuse", "column", "keep"] = Field(
        "refuse",
        description="values that the file lacks: an error, the nearest ones up or down, "
        "or the parts before",
    )

    @property
    def everywhere(self) -> bool:
        """Whether it gives its properties over the whole grid."""
        return "keep" not in (self.outside, self.missing)


def missing_volumes(model: Any, base: Path) -> Iterator[Mistake]:
    """Find volumes whose file is not there among parts of a model that may be wrong otherwise.

    Args:
        model: the parts as they are written.
        base: folder that relative paths start from.
    """
    for index, section in enumerate(model if isinstance(model, list | tuple) else ()):
        if not isinstance(section, Mapping) or section.get("type") != "volume":
            continue
        path = section.get("path")
        if isinstance(path, str):
            with contextlib.suppress(OSError, ValueError):  # no file can have such a name
                if problem := no_file(base / path):
                    yield Mistake(("model", index, "path"), problem)


def volume_format(section: Any) -> str:
    """Return the format of a volume: as given, or by the suffix, "" if unknown."""
    return section.format or VOLUMES.get(PurePath(section.path).suffix.lower(), "")


CLIPPED = 3.0  # standard deviations that perturbations keep within
Hurst = Annotated[float, Quantity(units.NUMBER, gt=0.0, le=1.0)]
Deviation = Annotated[float, Quantity(units.NUMBER, gt=0.0, lt=1.0 / CLIPPED)]


class CorrelationLengths(AlongAxes):
    """Distances over which a random medium is alike, along each axis."""

    x: PositiveLength = Field(description="along x")
    y: PositiveLength | None = Field(None, description="along y (3-D only)")
    z: PositiveLength = Field(description="along z")


CORRELATION = WrapValidator(partial(same_on_all_axes, CorrelationLengths))


class PerturbedProperties(ScenarioSection):
    """The share of the random medium in each property; all follow the same realisation."""

    vp: Number = Field(0.0, description="factor of vp: 1 is the standard deviation of `std`")
    vs: Number = Field(0.0, description="factor of vs")
    rho: Number = Field(0.0, description="factor of rho; negative: light where it is fast")


def _factors(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    listed = isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
    return check(dict.fromkeys(value, 1.0) if listed else value)


class RandomPart(ScenarioSection):
    """Random perturbations of the parts before it, relative to their values.

    They have von Karman's covariance everywhere, and are drawn on the whole grid from a seed: the
    same for any cut of the grid, backend and number of processes.
    """

    type: Literal["random"]
    law: Literal["von_karman"] = Field("von_karman", description="of their covariance")
    hurst: Hurst = Field(
        description="exponent: 0.5 makes the covariance exponential, less makes it rougher"
    )
    correlation: Annotated[CorrelationLengths, CORRELATION, ONE_LENGTH] = Field(
        description="correlation lengths: one for all axes, or x, z (and y)",
        json_schema_extra=or_one_length,
    )
    std: Deviation = Field(
        description=f"relative standard deviation; perturbations keep within {CLIPPED:g} of it"
    )
    properties: Annotated[
        PerturbedProperties, WrapValidator(_factors), Shorthand("a list of some of these keys")
    ] = Field(
        description="factors by property, such as {vp: 1, vs: 1, rho: 0.8}; of a list all are 1"
    )
    seed: Annotated[Integer, Field(ge=0, lt=2**63)] = Field(
        description="another one draws another medium of the same law"
    )
    spacing: SampleSpacing = Field(
        None,
        description="spacing of the points that it is drawn at, linear between them; the grid's "
        "by default: give it to keep a medium on grids of other spacings",
        json_schema_extra=or_one_length,
    )

    @model_validator(mode="after")
    def _stays_positive(self) -> RandomPart:
        factors = self.properties.model_dump()
        if not any(factors.values()):
            raise ValueError("perturbs nothing: give properties, such as {vp: 1, vs: 1}")
        for name, factor in factors.items():
            if CLIPPED * self.std * abs(factor) >= 1.0:
                raise ValueError(
                    f"{name} would vary by {CLIPPED:g} x {self.std:g} x {abs(factor):g} and reach "
                    "0: less std, or a smaller factor"
                )
        return self
