"""The gridded files that a model can be read from: their keys, and the formats by their names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import ValidatorFunctionWrapHandler, WrapValidator

from seismo.scenario.base import Field, FilePath, Integer, Length, PositiveLength, ScenarioSection
from seismo.scenario.sections.grid import (
    ONE_LENGTH,
    one_length,
    or_one_length,
)

PointCount = Annotated[Integer, Field(ge=1)]
Axes = Literal[
    "z", "x", "y", "zx", "xz", "zy", "yz", "yx", "xy", "zyx", "zxy", "yzx", "yxz", "xzy", "xyz"
]  # fmt: skip


class FileOrigin(ScenarioSection):
    """Coordinates of the first point of a gridded file; those left out are the grid's."""

    x: Length | None = Field(None, description="smallest x")
    y: Length | None = Field(None, description="smallest y (3-D only)")
    z: Length | None = Field(None, description="smallest depth")


class FileSpacing(ScenarioSection):
    """Spacing of the points of a gridded file; those left out are the grid's."""

    x: PositiveLength | None = Field(None, description="along x")
    y: PositiveLength | None = Field(None, description="along y (3-D only)")
    z: PositiveLength | None = Field(None, description="along z")

    @property
    def one_for_all(self) -> bool:
        """Whether it is the same along all axes, y too, which a 2-D run does not have."""
        return self.x == self.y == self.z


def _same_on_all_axes(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    if value is None or isinstance(value, Mapping | FileSpacing):
        return check(value)
    length = one_length(value)
    return FileSpacing(x=length, y=length, z=length)


SampleSpacing = Annotated[FileSpacing | None, WrapValidator(_same_on_all_axes), ONE_LENGTH]
FORMATS = {  # by suffix, else raw
    ".npy": "npy", ".h5": "hdf5", ".hdf5": "hdf5", ".hdf": "hdf5", ".sgy": "segy", ".segy": "segy",
}  # fmt: skip
OTHERS = {  # by suffix: what none of these is, and how NumPy gets at the values
    ".npz": ("an archive of arrays", 'numpy.load("{path}")["{name}"]'),
    ".txt": ("a text", 'numpy.loadtxt("{path}")'),
    ".csv": ("a text", 'numpy.loadtxt("{path}", delimiter=",")'),
    ".mat": ("a MATLAB file", 'scipy.io.loadmat("{path}")["{name}"]'),
}


def format_of(file: Any) -> str:
    """Return the format of a gridded file: as it is given, or told by the suffix."""
    return file.format or FORMATS.get(PurePath(file.path).suffix.lower(), "raw")


class GriddedFile(ScenarioSection):
    """A file with one property on a regular grid, which is resampled to the grid of the run.

    Values are interpolated linearly, except between a fluid (vs = 0) and a solid, and between a
    quality factor and inf, where the value of the closest point is used. `theta` and `phi` are
    interpolated as an axis: between tilts of 89 and -89 degrees lies 90; one part gives both.
    """

    path: FilePath = Field(description="the file, relative to the scenario's folder")
    format: Literal["npy", "hdf5", "segy", "raw"] | None = Field(
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
