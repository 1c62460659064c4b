"""A part of the model from one file with several properties, placed on the earth or in metres."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

from pydantic import ValidatorFunctionWrapHandler, WrapValidator

from seismo.equations.framework.parameters import (
    VP,
    VS,
    Parameter,
)
from seismo.formats.reading.text import no_file
from seismo.scenario.auto_values import Shorthand
from seismo.scenario.base import Field, FilePath, Mistake, ScenarioSection, value_of
from seismo.scenario.earth.part_keys import (
    GriddedPart,
    Keys,
    keys_of,
    with_parameters,
)

VOLUMES = {  # formats by suffix
    ".nc": "netcdf", ".nc4": "netcdf", ".cdf": "netcdf",
    ".h5": "geomodelgrids", ".hdf5": "geomodelgrids", ".sfile": "sfile", ".rfile": "rfile",
    ".lst": "openswpc", ".xyz": "specfem",
}  # fmt: skip


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
    """Several properties from one file, taken at the place of every point of the grid.

    Files with longitudes and latitudes, or with a `crs`, need the section `geographic`.
    """

    type: Literal["volume"]
    path: FilePath = Field(description="the file, relative to the scenario's folder")
    format: Literal["netcdf", "geomodelgrids", "sfile", "rfile", "openswpc", "specfem"] | None = (
        Field(
            None,
            description="default: by the suffix .nc, .nc4 or .cdf, .h5 or .hdf5, .sfile, .rfile, "
            ".lst, .xyz (specfem: a tomography_model.xyz)",
        )
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
    """Return the format of a volume: as it is given, or told by the suffix, "" if by neither."""
    return section.format or VOLUMES.get(PurePath(section.path).suffix.lower(), "")
