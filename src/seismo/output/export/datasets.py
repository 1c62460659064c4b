"""Results as xarray has them: a DataTree of datasets with the attributes of the CF conventions.

Each receiver set, series of snapshots and set of maps, and the model, is a dataset, all but the
last with an axis `shot`. Arrays are read when they are used, as far as they are indexed. Receivers
are numbered, so that sections can be drawn; their codes are the coordinate `code`.

**The table of ground-motion measures** has a row for each station and component, all in SI units.
Components as in the exported seismograms, N, E and Z, or X, Y and Z. Stations with two horizontal
ones also have the rows RotD50 and RotD100. Peaks need their own motion (acceleration, velocity or
displacement), all other measures acceleration. Motion is refined to thirty samples in the shortest
period of the waves first, so that neither peaks nor integrals depend on the sampling interval.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from types import SimpleNamespace
from typing import Any

import numpy as np

from seismo.acquisition import ground_motion as measures
from seismo.acquisition.locator import Projection
from seismo.acquisition.trace_processing import refine
from seismo.errors import ScenarioError
from seismo.formats.reading import optional_package
from seismo.formats.seismograms import Recording, recordings, start_date
from seismo.output.export import (
    ExportFile,
    ExportFormat,
    ExportSelection,
    FilesOfFormat,
    quantities_of,
)
from seismo.output.run_directory import HiddenFile
from seismo.output.run_results import RunResults
from seismo.output.store.array_sets import (
    Z_TRUE,
    MapSet,
    Model,
    SnapshotSeries,
    TraceSet,
)
from seismo.output.store.arrays import NamedArrays
from seismo.output.store.layout import long_name, unit_of

_CONVENTIONS = "CF-1.11"
_DESCRIPTIONS = {  # of coordinates that results files do not have
    "receiver": ("number of the receiver", ""),
    "code": ("code of the receiver", ""),
    "offset": ("horizontal distance from the source, on lines with the sign of x", "m"),
    "source_x": ("x of the source", "m"),
    "source_y": ("y of the source", "m"),
    "source_z": ("z of the source, positive down", "m"),
}
_STANDARD_NAMES = {"longitude": "longitude", "latitude": "latitude", "time": "time", "z": "depth"}
_ROWS = {  # of rows that follow the ground: their z is no depth of points
    "long_name": "s, the z that rows have where the ground is level; z_true has that of points",
    "units": "m",
    "axis": "Z",
    "positive": "down",
}
_AXES = {"x": "X", "y": "Y", "z": "Z", "time": "T"}
_COMPRESSED = {"zlib": True, "complevel": 4, "shuffle": True}

CoordinateEntries = dict[str, tuple[Any, Any]]  # name -> (dimensions, numbers or texts)


def datatree_of(results: RunResults) -> Any:
    """Return an ``xarray.DataTree`` with the groups traces, snapshots, maps and model.

    Raises:
        ScenarioError: xarray is not installed.
    """
    xarray = optional_package("xarray", "xarray", "the export to xarray")
    datasets = {f"traces/{name}": _traces(results, t) for name, t in results.traces.items()}
    for name, group in groupby(results.snapshots.items(), lambda item: item[0].partition("/")[0]):
        datasets[f"snapshots/{name}"] = _snapshots(results, [series for _, series in group])
    datasets |= {f"maps/{name}": _maps(results, maps) for name, maps in results.maps.items()}
    if len(results.model):
        axes = {**results.model.axes, **_true(results.model)}
        datasets["model"] = _dataset(results, [results.model], (), axes)
    tree = xarray.DataTree.from_dict(datasets)
    tree.attrs = {
        "Conventions": _CONVENTIONS,
        "title": results.title,
        "source": f"seismo {results.attributes.get('seismo_version', '')}".strip(),
        "history": f"{results.attributes.get('created', '')} run of seismo".strip(),
        "comment": "SI units; axes of the grid, z positive down",
        "scenario": results.scenario,
    }
    return tree


def netcdf(selection: ExportSelection) -> FilesOfFormat:
    """Return a NetCDF file (netCDF-4) of all results; with an event, times are dates.

    Raises:
        ScenarioError: xarray or h5netcdf is not installed.
    """
    optional_package("h5netcdf", "xarray", "the export to NetCDF")
    tree = datatree_of(selection.results)
    if selection.results.event:
        for node in tree.subtree:
            if "time" in node.coords:
                date = start_date(selection.results).isoformat().replace("+00:00", "Z")
                node["time"].attrs["units"] = f"seconds since {date}"
    yield ExportFile(selection.file_name("", suffix=".nc"), lambda file: _write(tree, file))


def _write(tree: Any, file: HiddenFile) -> None:
    nodes = {node.path: node.dataset for node in tree.subtree}
    encoding: dict[str, dict[str, Any]] = {
        path: {name: dict(_COMPRESSED) for name in node.data_vars}
        | {name: {"_FillValue": None} for name, c in node.coords.items() if c.dtype.kind == "f"}
        for path, node in nodes.items()
    }
    tree.to_netcdf(file.path, engine="h5netcdf", encoding=encoding)


def _traces(results: RunResults, traces: TraceSet) -> Any:
    """Return the dataset of a receiver set: (shot, receiver, time)."""
    coordinates: CoordinateEntries = {
        "shot": ("shot", _texts(traces.shots)),
        "receiver": ("receiver", np.arange(len(traces.codes))),
        "time": ("time", traces.time),
        "code": ("receiver", _texts(traces.codes)),
    }
    if traces.sites:
        coordinates["site"] = ("receiver", _texts(traces.sites))
    for name in traces.columns:
        if name not in coordinates:
            numbers = traces.column(name)
            moving = numbers is not None and numbers.ndim == 2
            coordinates[name] = (("shot", "receiver") if moving else "receiver", numbers)
    coordinates |= traces.geometry
    return _dataset(results, [traces], ("shot", "receiver", "time"), coordinates)


def _snapshots(results: RunResults, several: Sequence[SnapshotSeries]) -> Any:
    """Return the dataset of a series of snapshots of shots: (shot, time, ...)."""
    first = several[0]
    shots = [series.shot or next(iter(results.shots), "shot_000") for series in several]
    coordinates: CoordinateEntries = {"shot": ("shot", _texts(shots)), "time": ("time", first.time)}
    coordinates |= _grid_coordinates(results, first)
    return _dataset(results, several, ("shot", "time"), coordinates, stacked=True)


def _maps(results: RunResults, maps: MapSet) -> Any:
    """Return the dataset of a set of maps: (shot, ...)."""
    coordinates: CoordinateEntries = {"shot": ("shot", _texts(maps.shots))}
    return _dataset(results, [maps], ("shot",), coordinates | _grid_coordinates(results, maps))


def _grid_coordinates(results: RunResults, frames: SnapshotSeries | MapSet) -> CoordinateEntries:
    """Return the axes of frames, the plane that they are on, and its longitudes and latitudes."""
    coordinates: CoordinateEntries = {axis: (axis, ticks) for axis, ticks in frames.axes.items()}
    geographic = results.section("geographic")
    if geographic and {"x", "y"} <= coordinates.keys():
        x, y = np.meshgrid(coordinates["x"][1], coordinates["y"][1])
        longitude, latitude = Projection(SimpleNamespace(**geographic)).to_geographic(x, y)
        coordinates["longitude"] = (("y", "x"), longitude)
        coordinates["latitude"] = (("y", "x"), latitude)
    coordinates |= {axis: ((), position) for axis, position in frames.plane.items()}
    return coordinates | _true(frames)


def _true(arrays: SnapshotSeries | MapSet | Model) -> CoordinateEntries:
    """Return z of the points of arrays, where their axis z does not have it."""
    z = arrays.z_true
    return {} if z is None else {Z_TRUE: (tuple(arrays.axes), z)}


def _dataset(
    results: RunResults,
    groups: Sequence[NamedArrays],
    leading: tuple[str, ...],
    coordinates: Mapping[str, Any],
    stacked: bool = False,
) -> Any:
    """Return a dataset of arrays that are read when used; `stacked` groups are a shot each."""
    import xarray

    first = groups[0]
    # Fields stand half a cell further along these axes, except fields read at receivers.
    is_staggered = "receiver" not in leading
    half_cells = json.loads(results.attributes.get("half_cell", "{}")) if is_staggered else {}
    arrays = {}
    for name in first:
        dimensions = (*leading[:1], *first.dimensions(name)) if stacked else first.dimensions(name)
        lazy = xarray.core.indexing.LazilyIndexedArray(_stored_array(groups, name, stacked))
        facts = {"units": first.unit(name), "long_name": long_name(name)}
        facts |= {"half_cell": half_cells[name]} if name in half_cells else {}
        arrays[name] = xarray.Variable(dimensions, lazy, facts)
    described = {}
    for name, entry in coordinates.items():
        dimensions, numbers = entry if isinstance(entry, tuple) else (name, entry)
        facts = _ROWS if name == "z" and Z_TRUE in coordinates else _description(name)
        described[name] = xarray.Variable(dimensions, numbers, facts)
    return xarray.Dataset(arrays, described)


def _description(name: str) -> dict[str, str]:
    """Return the attributes of a coordinate."""
    words, unit = _DESCRIPTIONS.get(name, (long_name(name), unit_of(name)))
    facts = {"long_name": words, "units": unit, "axis": _AXES.get(name, "")}
    facts["standard_name"] = _STANDARD_NAMES.get(name, "")
    if name in ("z", Z_TRUE):
        facts["positive"] = "down"
    return {key: text for key, text in facts.items() if text}


def _texts(names: Sequence[str]) -> np.ndarray:
    return np.array(names, dtype=str)


@cache
def _array_type() -> type:
    """Return the class of arrays in results files, whose base is xarray's."""
    from xarray.backends import BackendArray
    from xarray.core import indexing

    class StoredArray(BackendArray):
        """An array of a results file, or a stack of arrays of several groups."""

        def __init__(self, groups: Sequence[NamedArrays], name: str, stacked: bool) -> None:
            shape = groups[0].shape(name)
            self._groups = groups
            self._name = name
            self._stacked = stacked
            self.shape = (len(groups), *shape) if stacked else shape
            self.dtype = np.dtype(groups[0].type_of(name))

        def __getitem__(self, key: Any) -> np.ndarray:
            support = indexing.IndexingSupport.BASIC
            return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

        def _read(self, key: tuple[Any, ...]) -> np.ndarray:
            if not self._stacked:
                return self._groups[0].values_of(self._name, key)
            shots = key[0]
            rest = key[1:]
            if isinstance(shots, int | np.integer):
                return self._groups[int(shots)].values_of(self._name, rest)
            return np.stack([g.values_of(self._name, rest) for g in self._groups[shots]])

    return StoredArray


def _stored_array(groups: Sequence[NamedArrays], name: str, stacked: bool) -> Any:
    return _array_type()(groups, name, stacked)


NETCDF = ExportFormat(netcdf, dated=False)


PERIODS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.5, 10.0)  # s
_PEAKS = {
    "acceleration": ("pga", "m/s^2"),
    "velocity": ("pgv", "m/s"),
    "displacement": ("pgd", "m"),
}
_HORIZONTAL = ("NE", "XY")
_ROTATED = ("RotD50", "RotD100")

_SAMPLES = 30  # in the shortest period
_BLOCK = 16  # receivers at once

TableRow = dict[str, Any]
Components = dict[str, np.ndarray]  # component -> (receiver, time)
MeasureTable = dict[str, dict[str, np.ndarray]]  # component -> title -> (receiver)


def ground_motion_of(selection: ExportSelection) -> list[TableRow]:
    """Return a row for each shot, station and component.

    Its keys are set, shot, code, component, the coordinates, `distance` (m, horizontal), and the
    measures with their units, such as `pga (m/s^2)` and `sa_0.5s (m/s^2)`; NaN where a component
    has none.

    Raises:
        ScenarioError: no ground motion is recorded, or a period or the damping is no such thing.
    """
    periods = _periods(selection)
    table: dict[tuple[str, ...], TableRow] = {}
    for _, recording in recordings(selection, tuple(_PEAKS)):
        components = _components(recording)
        receivers = np.flatnonzero(recording.traces.recording(recording.index)).tolist()
        for first in range(0, len(receivers), _BLOCK):
            block = {name: motion[first : first + _BLOCK] for name, motion in components.items()}
            by_component = _measures(recording, block, periods, selection.damping)
            for row, receiver in enumerate(receivers[first : first + _BLOCK]):
                code = recording.traces.codes[receiver]
                for component, columns in by_component.items():
                    key = (recording.traces.name, recording.shot, code, component)
                    if key not in table:
                        table[key] = _station_columns(recording, receiver, component)
                    table[key] |= {name: float(array[row]) for name, array in columns.items()}
    titles = dict.fromkeys(title for row in table.values() for title in row)
    return [{title: row.get(title, math.nan) for title in titles} for row in table.values()]


def ground_motion(selection: ExportSelection) -> FilesOfFormat:
    """Return a CSV file of `ground_motion_of`; missing values are empty cells."""
    table = ground_motion_of(selection)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table[0])
    writer.writerows([_cell(value) for value in row.values()] for row in table)
    name = selection.file_name(selection.receivers or "", selection.shot or "", "ground-motion")
    yield ExportFile.of_bytes(f"{name}.csv", text.getvalue().encode())


def _periods(selection: ExportSelection) -> Sequence[float]:
    """Return the periods of spectra: as requested, or the usual ones that the grid resolves."""
    if not 0.0 <= selection.damping < 1.0:
        raise ScenarioError(f"damping {selection.damping:g}: give a share of 0 to below 1")
    if selection.periods is None:
        highest = float(selection.results.attributes.get("f_max", math.inf))
        return [period for period in PERIODS if period * highest >= 1.0]
    if not all(0.0 < period < math.inf for period in selection.periods):
        raise ScenarioError(f"periods {selection.periods}: give numbers above 0, in s")
    return selection.periods


def _components(recording: Recording) -> Components:
    """Return component -> (receiver, time)."""
    stacked: dict[str, list[np.ndarray]] = {}
    for seismogram in recording.seismograms():
        stacked.setdefault(seismogram.channel[-1], []).append(seismogram.samples.astype(float))
    return {component: np.array(traces) for component, traces in stacked.items()}


def _measures(
    recording: Recording, motions: Components, periods: Sequence[float], damping: float
) -> MeasureTable:
    """Return component -> title of a column -> measure (receiver)."""
    name, unit = _PEAKS[recording.quantity]
    highest = float(recording.results.attributes.get("f_max", 0.0))
    factor = max(1, math.ceil(_SAMPLES * highest * recording.interval))
    motions = {component: refine(motion, factor) for component, motion in motions.items()}
    table = _peaks(f"{name} ({unit})", motions)
    if recording.quantity != "acceleration":
        return table
    interval = recording.interval / factor
    accelerations = np.array(list(motions.values()))
    for period in periods:
        responses = measures.spectral_response(accelerations, interval, period, damping)
        by_component = dict(zip(motions, responses, strict=True))
        for component, column in _peaks(f"sa_{period:g}s (m/s^2)", by_component).items():
            table[component] |= column
    for title, (unit, function) in measures.INTENSITIES.items():
        for component, motion in motions.items():
            table[component][f"{title} ({unit})"] = function(motion, interval)
    return table


def _peaks(title: str, motions: Components) -> MeasureTable:
    """Return component -> its peaks; RotD50 and RotD100 of two horizontal components, too."""
    table = {name: {title: measures.peak(motion)} for name, motion in motions.items()}
    for pair in _HORIZONTAL:
        if set(pair) <= motions.keys():
            rotated = measures.rotated_peaks(*(motions[component] for component in pair))
            table |= {name: {title: p} for name, p in zip(_ROTATED, rotated, strict=True)}
    return table


def _station_columns(recording: Recording, receiver: int, component: str) -> TableRow:
    """Return the columns that identify a row."""
    traces = recording.traces
    row: TableRow = {
        "set": traces.name,
        "shot": recording.shot,
        "code": traces.codes[receiver],
        "component": component,
    }
    units = {"longitude": "deg", "latitude": "deg"}
    for name, column in recording.coordinates.items():
        row[f"{name} ({units.get(name, 'm')})"] = column[receiver]
    distance = recording.distance(receiver)
    return row if distance is None else row | {"distance (m)": distance}


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.7g}"
    return str(value)


def _remarks(results: RunResults) -> Iterator[str]:
    recorded = {name for traces in results.traces.values() for name in quantities_of(traces)}
    if missing := [quantity for quantity in _PEAKS if quantity not in recorded]:
        yield (
            f"measures of {', '.join(missing)} are left out; add it to the receivers' quantities "
            "(acceleration for SA, Arias intensity, CAV and durations)"
        )


GROUND_MOTION = ExportFormat(ground_motion, dated=False, has_spectra=True, remarks=_remarks)
