"""Models in NetCDF files: of the IRIS Earth Model Collaboration, of UCVM, or in metres.

    depth, latitude, longitude      in any order, of any names that say so, depths in m or km
    z, y, x                         in m or km: of the grid, or of a reference system (`crs`)

Depths need not be even. Values are missing where the attributes say so (`_FillValue`,
`missing_value`), where they are NaN, and where they are 99999, as in models of that collaboration.
Classic files are read by scipy, files of version 4 by h5netcdf; only the region of a grid is read.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seismo.errors import ModelError
from seismo.formats.reading import optional_package
from seismo.formats.reading.arrays import (
    brief,
    check_dataset,
    dataset_of,
    is_hollow,
    listing,
    members,
    open_hdf5,
    refuse_what_does_not_fit,
)
from seismo.grid.coordinates import centred_longitudes, unwrapped
from seismo.model.samples import fill_columns, in_si
from seismo.model.volume import (
    Placement,
    Volume,
    VolumeBlock,
    VolumeRequest,
    on_the_earth,
)
from seismo.scenario.gridded_parts import VolumePart
from seismo.scenario.python_data import LENGTHS, TIMES

_MISSING = 99999.0
_NAMES = {  # of coordinates, by their kind
    "longitude": ("longitude", "lon", "degrees_east", "degree_east"),
    "latitude": ("latitude", "lat", "degrees_north", "degree_north"),
    "x": ("x", "easting", "utm_x", "x_utm", "projection_x_coordinate"),
    "y": ("y", "northing", "utm_y", "y_utm", "projection_y_coordinate"),
    "depth": ("depth", "z", "dep", "elevation", "altitude", "height", "level"),
}


class NetcdfAxis(NamedTuple):
    """An axis of a file: its kind, its name there, and its rising coordinates in m or degrees.

    `order` are their numbers in the file.
    """

    kind: str
    name: str
    ticks: np.ndarray
    order: np.ndarray

    def centred(self, low: float, high: float) -> NetcdfAxis:
        """Return longitudes as they rise about the middle of two."""
        if self.kind != "longitude":
            return self
        ticks, numbers = centred_longitudes(self.ticks, 0.5 * (low + high))
        return self._replace(ticks=ticks, order=self.order[numbers])


def read_netcdf(request: VolumeRequest) -> Volume:
    """Read the part of a file that a region needs.

    Raises:
        ModelError: it is no such file, or its axes, units or values do not fit.
    """
    path = request.path
    section = request.section
    variables = request.variables
    with open_netcdf(path, variables) as dataset:
        arrays = {name: _variable(dataset, name, spec, path) for name, spec in variables.items()}
        name = next(iter(arrays))
        axes = _axes(dataset, arrays[name], section, path)
        _refuse_other_axes(arrays, name, path)
        placement = _placement(axes, section, request.region, path, request.projection)
        limits = _limits(axes, placement, request.region)
        axes = [axis.centred(*ends) for axis, ends in zip(axes, limits, strict=True)]
        kept = [_needed(axis, *ends) for axis, ends in zip(axes, limits, strict=True)]
        refuse_what_does_not_fit(path, 8 * len(arrays) * int(np.prod([len(k) for k in kept])))
        samples = {
            name: _samples(array, name, variables[name], axes, kept, path)
            for name, array in arrays.items()
        }
    if section.missing == "column":
        samples = {name: fill_columns(array) for name, array in samples.items()}
    ticks = tuple(axis.ticks[k] for axis, k in zip(axes, kept, strict=True))
    names = tuple(_with_unit(axis) for axis in axes)
    reach = tuple((float(axis.ticks[0]), float(axis.ticks[-1])) for axis in axes)
    return request.volume((VolumeBlock(ticks, samples),), placement, names, reach)


@contextmanager
def open_netcdf(path: Path, variables: Mapping[str, Any] | None = None) -> Iterator[Any]:
    """Open a NetCDF file for reading, as a dataset of xarray.

    Args:
        path: of the file.
        variables: specifications of the variables to be read, by the scenario's keys.

    Raises:
        ModelError: it is no NetCDF file, or something of it is stored in other files.
    """
    with path.open("rb") as file:
        start = file.read(4)
    if start[:3] != b"CDF" and start != b"\x89HDF":
        raise ModelError(f"{path} is not a NetCDF file; check `format`", "path")
    xarray = optional_package("xarray", "xarray", f"{path}: a NetCDF file")
    engine = "scipy"
    if start == b"\x89HDF":
        engine = "h5netcdf"
        optional_package(engine, "xarray", f"{path}: a NetCDF file")
        _refuse_other_files(path, variables or {})
    with (
        warnings.catch_warnings(action="ignore"),
        xarray.open_dataset(path, engine=engine, decode_times=False) as dataset,
    ):
        yield dataset


def _refuse_other_files(path: Path, variables: Mapping[str, Any]) -> None:
    """Refuse an HDF5 file with anything that is stored elsewhere, or coordinates hardly stored."""
    import h5py

    with open_hdf5(path, locking="best-effort") as file:
        inside = dict(members(file))
        for name in file:
            if name not in inside:
                raise ModelError(
                    f"{path}: {brief(name)} is stored elsewhere, which is not followed; copy it "
                    "into one file",
                    "path",
                )
        for entry in inside.values():
            if isinstance(entry, h5py.Dataset) and entry.ndim == 1 and is_hollow(entry):
                raise ModelError(
                    f"{path}: {brief(entry.name)} has {entry.shape[0]} values, of which the file "
                    "holds next to nothing; store all of them",
                    "path",
                )
        for name, spec in variables.items():
            try:
                check_dataset(dataset_of(file, spec.variable, path), path, "dataset")
            except ModelError as error:
                raise ModelError(error.problem, name) from None


def _variable(dataset: Any, name: str, spec: Any, path: Path) -> Any:
    """Return the variable of a parameter, without non-spatial axes of length 1."""
    if spec.variable not in dataset.data_vars:
        known = listing(sorted(map(str, dataset.data_vars)))
        raise ModelError(
            f"{path} has no variable {spec.variable!r}; available: {known}", name, "variable"
        )
    array = dataset[spec.variable]
    single = [d for d in array.dims if array.sizes[d] == 1 and not kind_of(dataset, d)]
    array = array.isel(dict.fromkeys(single, 0))
    if array.dtype.kind not in "fiu":
        raise ModelError(f"{path}: {spec.variable} has type {array.dtype}, no numbers", name)
    return array


def kind_of(dataset: Any, dimension: Any) -> str:
    """Return the kind of a dimension: longitude, latitude, x, y, depth, or ""."""
    attributes = dataset[dimension].attrs if dimension in dataset.coords else {}
    words = [str(dimension), *(str(attributes.get(k, "")) for k in ("standard_name", "units"))]
    words = [word.strip().lower() for word in words]
    kinds = [kind for kind, names in _NAMES.items() if not set(words).isdisjoint(names)]
    return kinds[0] if kinds else "depth" if "positive" in attributes else ""


def _axes(dataset: Any, array: Any, section: VolumePart, path: Path) -> list[NetcdfAxis]:
    """Return the axes of a variable: depth, latitude or y, longitude or x."""
    by_kind = {kind_of(dataset, dimension): dimension for dimension in array.dims}
    geographic = ["depth", "latitude", "longitude"]
    plain = ["depth", "y", "x"]
    wanted = next(
        (w for w in (geographic, plain, ["depth", "x"]) if by_kind.keys() == set(w)), None
    )
    if wanted is None or len(array.dims) != len(wanted):
        raise ModelError(
            f"{path}: {array.name} has the axes {listing(map(str, array.dims))}; it needs depth, "
            "latitude, longitude, or z, y, x, each with coordinates of its own",
            "path",
        )
    return [axis_of(dataset, kind, by_kind[kind], section, path) for kind in wanted]


def axis_of(
    dataset: Any, kind: str, name: Any, section: VolumePart | None, path: Path
) -> NetcdfAxis:
    """Return an axis of a variable.

    Args:
        dataset: of xarray.
        kind: of the axis.
        name: of its dimension.
        section: of the scenario, which says where depths grow to; None without depths.
        path: of the file.

    Raises:
        ModelError: it has no coordinates, or they are not in m, or in no order.
    """
    if name not in dataset.coords:
        raise ModelError(f"{path} has no coordinates along {name}; add them to the file", "path")
    attributes = dataset[name].attrs
    ticks = np.asarray(dataset[name].values, float)
    if kind not in ("longitude", "latitude"):
        unit = str(attributes.get("units", "")).strip().lower()
        if unit not in LENGTHS or unit in TIMES:
            raise ModelError(
                f"{path}: its coordinates {name} are in {brief(unit)}; give them in m or km", "path"
            )
        ticks = ticks * LENGTHS[unit]
    elif kind == "longitude":
        ticks = unwrapped(ticks)
    has_depths = section if kind == "depth" else None
    if has_depths and _points_up(name, ticks, attributes, has_depths, path):
        ticks = -ticks
    order = np.argsort(ticks, kind="stable")
    rising = ticks[order]
    if (
        not np.isfinite(rising).all()
        or (np.diff(rising) <= 0.0).any()
        or ((np.diff(order) != 1).any() and (np.diff(order) != -1).any())
    ):
        raise ModelError(
            f"{path}: its coordinates {name} neither rise nor fall from one to the next; sort them",
            "path",
        )
    return NetcdfAxis(kind, str(name), rising, order)


def _points_up(
    name: Any, ticks: np.ndarray, attributes: Mapping[str, Any], section: VolumePart, path: Path
) -> bool:
    """Whether vertical coordinates grow upwards: as the scenario says, or the file, or its name."""
    written = section.positive or str(attributes.get("positive", "")).strip().lower()
    if written in ("up", "down"):
        return written == "up"
    if str(name).lower() in ("depth", "dep") or (str(name).lower() == "z" and ticks.min() >= 0.0):
        return False
    raise ModelError(
        f"missing: {path} does not say where its coordinates {name} ({ticks.min():g} to "
        f"{ticks.max():g} m) grow to; give positive: down, or up",
        "positive",
    )


def _refuse_other_axes(arrays: Mapping[str, Any], first: str, path: Path) -> None:
    """Refuse variables that are not on the same grid."""
    for name, array in arrays.items():
        if set(array.dims) != set(arrays[first].dims):
            raise ModelError(
                f"{path}: {array.name} has the axes {listing(map(str, array.dims))}, "
                f"{arrays[first].name} {listing(map(str, arrays[first].dims))}; give it by a part "
                "of its own",
                name,
            )


def _placement(
    axes: list[NetcdfAxis], section: VolumePart, region: Mapping[str, Any], path: Path,
    projection: Callable[[], Any] | None,
) -> Placement:  # fmt: skip
    if axes[-1].kind == "longitude":
        if section.crs:
            raise ModelError(f"{path} has longitudes and latitudes; leave it out", "crs")
        return on_the_earth(projection, path)
    if section.crs:
        return on_the_earth(projection, path, section.crs)
    if len(axes) - 1 != len(region) - 1:
        expected = "depth and x" if len(region) == 2 else "depth, y and x"
        raise ModelError(
            f"{path} has the axes {', '.join(axis.name for axis in axes)}, and the grid is "
            f"{len(region)}-D; give a file of {expected}",
            "path",
        )
    return Placement()


def _limits(
    axes: list[NetcdfAxis], placement: Placement, region: Mapping[str, tuple[float, float]]
) -> list[tuple[float, float]]:
    """Return the least and the largest coordinate of a region along each axis."""
    low, high = (z - placement.ground for z in region["z"])
    return [(low, high), *placement.reach(region)[-len(axes) + 1 :]]


def _needed(axis: NetcdfAxis, low: float, high: float) -> np.ndarray:
    """Return the numbers of the ticks that a region from low to high needs, and a further tick."""
    first = max(0, int(np.searchsorted(axis.ticks, low)) - 2)
    last = min(axis.ticks.size, int(np.searchsorted(axis.ticks, high)) + 2)
    return np.arange(min(first, axis.ticks.size - 1), max(last, 1))


def _samples(
    array: Any, name: str, spec: Any, axes: list[NetcdfAxis], kept: list[np.ndarray], path: Path
) -> np.ndarray:
    """Return the values of a parameter in SI, NaN where there are none."""
    numbers = {axis.name: axis.order[k] for axis, k in zip(axes, kept, strict=True)}
    name_of_last = axes[-1].name
    last = numbers[name_of_last]
    # Longitudes that go around the earth begin anew in the file.
    runs = np.split(last, 1 + np.flatnonzero(np.abs(np.diff(last)) != 1))
    samples = np.concatenate([_read(array, numbers | {name_of_last: run}) for run in runs], -1)
    samples = np.where(samples == _MISSING, np.nan, samples)
    if np.isnan(samples).all():
        raise ModelError(
            f"{path}: {array.name} has no values where the grid is; take another file", name
        )
    unit = str(array.attrs.get("units", ""))
    return in_si(samples, name, unit, getattr(spec, "units", None), f"{path}: {array.name}")


def _read(array: Any, numbers: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return values at consecutive numbers, rising or falling, along each axis by its name."""
    slices = {
        d: slice(int(n.min()), int(n.max()) + 1) for d, n in numbers.items()
    }  # read in the file's order,
    block: np.ndarray = array.isel(slices).transpose(*numbers).values.astype(float)
    # turned where its coordinates fall
    return block[tuple(slice(None, None, -1 if n[0] > n[-1] else 1) for n in numbers.values())]


def _with_unit(axis: NetcdfAxis) -> str:
    """Return the name of an axis and the unit of its ticks."""
    return f"{axis.kind} {'degrees' if axis.kind in ('longitude', 'latitude') else 'm'}"
