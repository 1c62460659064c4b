"""Named axes inside HDF5: dimension scales with units, as netCDF and xarray understand them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import h5py
import numpy as np

from seismo.output.store.chunks import write_chunked
from seismo.output.store.quantities import long_name

_TEXT = h5py.string_dtype("utf-8")
_UNITS = {
    "longitude": "degrees_east",
    "latitude": "degrees_north",
    "x_azimuth": "degrees",
    "time": "s",
    "delay": "s",
    "start": "s",
    "centre": "s",
}
_LENGTHS = (
    "x", "y", "z", "z_true", "depth", "elevation", "fibre_distance", "r_hyp", "r_rup", "r_jb",
    "station_elevation",
)  # fmt: skip
_AXES = {"x": "X", "y": "Y", "z": "Z", "time": "T"}  # as CF calls what scales lie along
_STANDARD_NAMES = ("longitude", "latitude")  # that the CF conventions have by the same name


def write_scale(
    group: h5py.Group, name: str, coordinate: Sequence[str] | np.ndarray, unit: str = ""
) -> h5py.Dataset:
    """Store a coordinate (numbers in `unit`, or text) and make it a dimension scale."""
    dataset = _write_column(group, name, coordinate)
    describe(dataset, unit)
    if axis := _AXES.get(name):
        dataset.attrs["axis"] = axis
    dataset.make_scale(name)
    return dataset


def write_coordinate(
    group: h5py.Group, name: str, coordinate: Sequence[str] | np.ndarray,
    scales: Sequence[h5py.Dataset], unit: str = "",
) -> None:  # fmt: skip
    """Store a property along existing dimensions, such as the x of every receiver."""
    dataset = _write_column(group, name, coordinate)
    attach_scales(dataset, scales, unit or unit_of(name) if dataset.dtype.kind == "f" else "")


def write_array(
    group: h5py.Group, name: str, array: np.ndarray, scales: Sequence[h5py.Dataset], unit: str
) -> None:
    """Store a whole array of floats along existing dimensions."""
    attach_scales(write_chunked(group, name, np.asarray(array)), scales, unit)


def attach_scales(
    dataset: h5py.Dataset,
    scales: Sequence[h5py.Dataset],
    unit: str,
    coordinates: Iterable[str] = (),
) -> None:
    """Name every axis of a dataset by its scale and give it unit, long name and coordinates."""
    for axis, scale in enumerate(scales):
        dataset.dims[axis].attach_scale(scale)
    describe(dataset, unit)
    if names := " ".join(coordinates):
        dataset.attrs["coordinates"] = names


def describe(dataset: h5py.Dataset, unit: str) -> None:
    """Add ``units`` and ``long_name``, which plotting tools look for, and CF's names of places."""
    name = dataset.name.rpartition("/")[2]
    dataset.attrs["long_name"] = long_name(name)
    if unit:
        dataset.attrs["units"] = unit
    if name == "z":
        dataset.attrs["positive"] = "down"
    if name in _STANDARD_NAMES:
        dataset.attrs["standard_name"] = name


def unit_of(name: str) -> str:
    """Return the unit of a coordinate by its name: m for places, degrees, seconds, else none."""
    base = name.removesuffix("_requested").removeprefix("offset_").removeprefix("hypocentre_")
    if base.startswith("index_"):
        return "1"
    return "m" if base in _LENGTHS else _UNITS.get(base, "")


def write_table(
    group: h5py.Group, sources: Sequence[Mapping[str, object]], units: Mapping[str, str]
) -> None:
    """Store the sources, a row each, as columns along one dimension; missing numbers are NaN.

    Args:
        group: of the table.
        sources: rows of the table, possibly nested.
        units: by key; keys nested below have the same unit.
    """
    dimension = "source"
    flat = [_flatten(row) for row in sources]
    names = [str(row.get("name") or f"{dimension}_{k}") for k, row in enumerate(flat)]
    scale = write_scale(group, dimension, names)
    columns = dict.fromkeys(key for row in flat for key in row if key != dimension)
    for column in columns:
        cells = [row.get(column) for row in flat]
        unit = units.get(column.partition("_")[0], "")
        write_coordinate(group, column, _cells(cells), [scale], unit)


def _flatten(row: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in row.items():
        if isinstance(value, Mapping) and key == "requested":
            flat |= {f"{axis}_requested": coordinate for axis, coordinate in value.items()}
        elif isinstance(value, Mapping):
            flat |= _flatten(value, prefix if key == "position" else f"{prefix}{key}_")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _cells(cells: Sequence[object]) -> np.ndarray | list[str]:
    if all(v is None or isinstance(v, int | float | np.number) for v in cells):
        return np.array([np.nan if v is None else float(v) for v in cells])  # type: ignore[arg-type]
    return [_text(value) for value in cells]


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _write_column(group: h5py.Group, name: str, cells: Sequence[str] | np.ndarray) -> h5py.Dataset:
    column = _column(cells)
    if column.dtype.kind == "f":
        return write_chunked(group, name, column)
    return group.create_dataset(name, data=column)


def _column(cells: Sequence[str] | np.ndarray) -> np.ndarray:
    array = np.asarray(cells)
    if array.dtype.kind in "UO":
        return array.astype(_TEXT)
    return array.astype(np.float64)
