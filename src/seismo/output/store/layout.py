"""The layout of a results file: functions that make its groups, datasets, scales and attributes.

It is kept as functions, as the bytes of a file that they have made, with which every file that is
to have this layout begins (`partial_files`), and as the shape of each dataset's frame, needed by
threads that pack chunks before they reach the file.

Axes have names: dimension scales with units, as netCDF and xarray understand them.

Names, symbols and units of the contents are those of the report and of figures, too.

Symbols: u displacement (m), v velocity (m/s), a acceleration (m/s^2), s stress (Pa), p pressure
(Pa), rho density (kg/m^3), vp and vs wave speeds (m/s); x north, y east, z down.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import h5py
import numpy as np

from seismo.equations.framework.registry import PARAMETERS
from seismo.errors import ScenarioError
from seismo.output.store.chunks import Frame, create_frames, frame_of, write_chunked

_ORDER = (r"vp", r"vs", r"rho", r"p|pressure", r"v[xyz]", r"u[xyz]", r"a[xyz]", r"s[xyz]{2}", r".*")
_MOTIONS = {"u": "displacement", "v": "particle velocity", "a": "acceleration"}
_LONG_NAMES = {parameter.name: parameter.meaning for parameter in PARAMETERS.values()} | {
    "p": "pressure",
    "pressure": "pressure",
    "divergence": "divergence of the particle velocity",
    "strain": "mean strain along the fibre over the gauge length",
    "strain_rate": "rate of the mean strain along the fibre over the gauge length",
    "fibre_distance": "distance along the fibre",
    "vp": "P-wave speed",
    "vs": "S-wave speed",
    "rho": "density",
    "x": "x",
    "y": "y",
    "z": "z, positive down",
    "z_true": "z of the point, positive down",
    "depth": "depth below the ground",
    "elevation": "height of the ground there",
    "station_elevation": "elevation of the station list",
    "site": "name of the site",
    "r_hyp": "distance from the hypocentre",
    "r_rup": "distance from the rupture",
    "r_jb": "horizontal distance from the surface projection of the rupture",
    "ground": "z of the ground, positive down",
    "x_requested": "x requested in the scenario",
    "y_requested": "y requested in the scenario",
    "z_requested": "z requested in the scenario",
    "longitude": "longitude",
    "latitude": "latitude",
    "x_azimuth": "direction of +x there, clockwise from north",
    "time": "time since the start of the run",
    "shot": "shot name",
    "receiver": "receiver code",
    "recording": "1 where the receiver records, 0 where it lies outside the grid",
    "source": "source name",
    "wavelet": "source time function as injected",
    "points_per_second": "point updates per second",
    "bandwidth_share": "share of the copy bandwidth",
    "utilisation": "share of the time in which the device is busy",
    "output_waiting": "bytes queued for writing",
    "output_stalls": "waits for space in the output ring",
}

_PEAK = re.compile(r"(pg[va]|sa)(?:_([a-z]\w*?))?(?:_([0-9][0-9.e+-]*)s)?")
_PEAKS = {
    "pgv": "peak ground velocity",
    "pga": "peak ground acceleration",
    "sa": "spectral acceleration",
}
_DIRECTIONS = {
    "": "",
    "horizontal": "horizontal ",
    "rotd50": "RotD50 of ",
    "rotd100": "RotD100 of ",
}


def rank(name: str) -> int:
    """Return the sort key of a name in listings: the index of the first pattern that matches."""
    return next(k for k, pattern in enumerate(_ORDER) if re.fullmatch(pattern, name, re.DOTALL))


def long_name(name: str) -> str:
    """Return the words for a quantity, field, parameter or coordinate (the name if unknown)."""
    if name in _LONG_NAMES:
        return _LONG_NAMES[name]
    if match := re.fullmatch(r"([uva])([xyz])", name):
        return f"{_MOTIONS[match[1]]}, {match[2]} component"
    if match := re.fullmatch(r"s([xyz])([xyz])", name):
        return f"stress {match[1]}{match[2]}"
    if match := _PEAK.fullmatch(name):
        which = _DIRECTIONS.get(match[2] or "", f"{match[2]} component of ")
        return f"{which}{_PEAKS[match[1]]}" + (f" at {match[3]} s" if match[3] else "")
    if match := re.fullmatch(r"rotation_([xyz])", name):
        return f"rotation rate about {match[1]}"
    if match := re.fullmatch(r"e([xyz])([xyz])(_rate)?", name):
        return f"{'strain rate' if match[3] else 'strain'} {match[1]}{match[2]}"
    return name.replace("_", " ")


def symbol(name: str) -> str:
    """Return the symbol of a quantity as matplotlib mathematics, such as ``$v_z$``."""
    if match := re.fullmatch(r"([uvas])([xyzps]{1,2})", name):
        letter = r"\sigma" if match[1] == "s" else match[1]
        return f"${letter}_{{{match[2]}}}$"
    if match := re.fullmatch(r"rotation_([xyz])", name):
        return rf"$\dot\omega_{match[1]}$"
    if match := re.fullmatch(r"e([xyz]{2})(_rate)?", name):
        letter = r"\dot\varepsilon" if match[2] else r"\varepsilon"
        return f"${letter}_{{{match[1]}}}$"
    if match := _PEAK.fullmatch(name):
        period = f"({match[3]} s)" if match[3] else ""
        which = (match[2] or "").replace("rotd", "RotD")
        return f"{match[1].upper()}{period} {which}".rstrip()
    words = {"p": "pressure", "rho": r"$\rho$", "divergence": r"$\nabla\cdot v$"}
    return words.get(name, name.replace("_", " "))


def axis_label(name: str, unit: str = "") -> str:
    """Return a figure's label of a quantity, with its unit, such as ``$v_z$ (down, m/s)``.

    Components along z are positive down, where seismograms of observatories have up.
    """
    down = "down" if re.fullmatch(r"[uva]z", name) else ""
    remarks = ", ".join(filter(None, (down, unit)))
    return f"{symbol(name)} ({remarks})" if remarks else symbol(name)


def pretty_unit(unit: str) -> str:
    """Return a unit as it is printed in figures, with raised exponents: kg/m³."""
    return re.sub(r"(?<=m|s|a)\^?([23])\b", lambda m: "²³"[int(m[1]) - 2], unit)


def timing(start: float, centre: float | None) -> str:
    """Format the time of a source (s): the centre of its wavelet if symmetric, or its start."""
    return f"begins at {start:.6g} s" if centre is None else f"centred at {centre:.6g} s"


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
_AXES = {"x": "X", "y": "Y", "z": "Z", "time": "T"}  # CF's name of the axis of a scale
_STANDARD_NAMES = ("longitude", "latitude")  # that the CF conventions have by the same name
LayOut = Callable[[h5py.File], None]
BOUNDS = ("v110", "v110")  # HDF5 of 2016: since then metadata carry checksums


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
    """Store the sources, a row each, as columns along a dimension; missing numbers are NaN.

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


class FileLayout:
    """Everything in a results file but its chunks.

    Attributes:
        functions: make it, in order.
        frames: of each dataset that is stored chunk by chunk.
    """

    def __init__(self, *functions: LayOut) -> None:
        """Begin with a list of functions."""
        self.functions: list[LayOut] = list(functions)
        self.frames: dict[str, Frame] = {}
        self._groups: dict[str, int] = {}
        self._image = b""
        self._functions_in_image = -1

    def image(self) -> bytes:
        """Return the bytes of a new file with everything in it."""
        # Made in memory once for all files, until another function is added: HDF5 takes long.
        if self._functions_in_image != len(self.functions):
            memory = {"driver": "core", "backing_store": False, "libver": BOUNDS}
            with h5py.File(f"layout-{id(self)}", "w", **memory) as file:
                for function in self.functions:
                    function(file)
                file.flush()
                self._image = file.id.get_file_image()
            self._functions_in_image = len(self.functions)
        return self._image

    def claim(self, kind: str, name: str, shot: str | None = None) -> str:
        """Return the path of a group, or of a shot's within it, that nothing else may have.

        Raises:
            ScenarioError: it is taken, or no name.
        """
        if not name or "/" in name or name in (".", ".."):
            raise ScenarioError(f"{kind} name {name!r}: use letters, digits, '-' and '_'")
        path = f"{kind}/{name}"
        number = self._groups.get(path, 0)
        if number and shot is None:
            raise ScenarioError(f"{kind} name {name!r} is used twice; give each set its own name")
        self._groups[path] = number + 1
        return path if shot is None else f"{path}/shot_{number:03d}"

    def traces(
        self, set_name: str, axes: tuple[Sequence[str], Sequence[str], np.ndarray],
        coordinates: Mapping[str, np.ndarray], units: Mapping[str, str],
        facts: Mapping[str, object], dtype: Any,
    ) -> LayOut:  # fmt: skip
        """Describe the seismograms of a receiver set; return the function that makes their group.

        Args:
            set_name: name of the set.
            axes: names of the shots, codes of the receivers, times in s.
            coordinates: name -> (receiver), or (shot, receiver) if different between shots.
            units: name of each dataset -> unit.
            facts: attributes of the group.
            dtype: float type on disk.
        """
        folder = self.claim("traces", set_name)
        frame = frame_of((len(axes[1]), len(axes[2])), dtype, keep_last=True)
        self.frames |= {f"{folder}/{name}": frame for name in units}

        def lay_out(file: h5py.File) -> None:
            group = new_group(file, folder)
            group.attrs.update(facts)
            scales = [
                write_scale(group, "shot", axes[0]),
                write_scale(group, "receiver", axes[1]),
                write_scale(group, "time", axes[2], "s"),
            ]
            for name, coordinate in coordinates.items():
                write_coordinate(group, name, coordinate, scales[2 - np.ndim(coordinate) : 2])
            for name, unit in units.items():
                dataset = create_frames(group, name, (len(axes[0]),), frame)
                attach_scales(dataset, scales, unit, coordinates=coordinates)

        return lay_out

    def series(
        self, folder: str, leading: tuple[str, Sequence[str] | np.ndarray],
        axes: Mapping[str, np.ndarray], units: Mapping[str, str], facts: Mapping[str, object],
        dtype: Any, error: float = 0.0,
    ) -> LayOut:  # fmt: skip
        """Describe a group of datasets over (leading, *axes); return the function that makes it.

        Args:
            folder: path of the group.
            leading: name and values of the first axis.
            axes: coordinates in m of the others.
            units: name of each dataset -> unit.
            facts: attributes of the group.
            dtype: float type on disk.
            error: bound of the relative error that values were rounded with.
        """
        frame = frame_of(tuple(len(coordinate) for coordinate in axes.values()), dtype)
        self.frames |= {f"{folder}/{name}": frame for name in units}

        def lay_out(file: h5py.File) -> None:
            group = new_group(file, folder)
            group.attrs.update(facts)
            scales = [write_scale(group, *leading, unit_of(leading[0]))]
            scales += [
                write_scale(group, axis, coordinate, "m") for axis, coordinate in axes.items()
            ]
            for name, unit in units.items():
                dataset = create_frames(group, name, (len(leading[1]),), frame)
                attach_scales(dataset, scales, unit)
                if error:
                    dataset.attrs["relative_error_bound"] = error

        return lay_out


def new_group(file: h5py.File, path: str) -> h5py.Group:
    """Make a group in a parent that keeps the order of the scenario: the first is drawn."""
    kind, _, rest = path.partition("/")
    parent = file[kind] if kind in file else file.create_group(kind, track_order=True)
    return parent.create_group(rest)


def whole_arrays(
    name: str, axes: Mapping[str, tuple[Any, str]], arrays: Mapping[str, tuple[np.ndarray, str]],
    facts: Mapping[str, object],
) -> LayOut:  # fmt: skip
    """Return the function that makes a group of arrays along the same axes.

    Args:
        name: of the group.
        axes: name -> numbers or texts, and their unit.
        arrays: name -> array, and its unit.
        facts: attributes of the group.
    """

    def lay_out(file: h5py.File) -> None:
        group = file.create_group(name)
        group.attrs.update(facts)
        scales = [write_scale(group, axis, *ticks) for axis, ticks in axes.items()]
        for key, (array, unit) in arrays.items():
            write_array(group, key, array, scales, unit)

    return lay_out


def plane_attributes(plane: Mapping[str, float]) -> dict[str, object]:
    """Return the attributes of a group for a plane such as {"y": 500.0} (m)."""
    return {f"plane_{axis}": value for axis, value in plane.items()}
