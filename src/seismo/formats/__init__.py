"""Formats of other programs' files: a module or folder for each, and a table of all.

A line of `FORMATS` names the functions of a format by use, as ``module:name`` counted from this
folder (from `seismo` with a point in front); it is imported when it is first used:

- `stations`: function(`StationFile`) -> `StationList`, and `is_stations`: function(`StationFile`)
  -> whether it has this format (`seismo.acquisition.stations`).
- `events`: function(path) -> events; `is_events`: function(path) (`seismo.acquisition.events`).
- `array`: function(path, specification) -> array of a parameter, and `traces`: function(path,
  specification, region) -> array, axes, origin, spacing (`seismo.model.files`).
- `volume`: function(`VolumeRequest`) -> `Volume`, and `volume_files`: function(path) -> further
  files that it names (`seismo.model.volume`).
- `heights`: function(`HeightsRequest`) -> `Heights` (`seismo.features.topography.height_files`).
- `run`: function(`ConvertedRun`), which fills it, and `is_run`: function(path) -> whether it is an
  input of this program (`seismo.formats.converted_run`).
- `export`: an `ExportFormat` (`seismo.output.export`).

Formats are asked in this order whether a file is theirs, and named in it. `suffixes` of a use tell
the format from the name of a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any


class FileFormat:
    """A format: its name, its functions by use, and suffixes of files by use."""

    def __init__(
        self, name: str, suffixes: Mapping[str, tuple[str, ...]] | None = None, **functions: str
    ) -> None:
        """Declare a format, with ``module:name`` by use."""
        self.name = name
        self.suffixes = suffixes or {}
        self.functions = functions

    def __getitem__(self, use: str) -> Any:
        """Return the function, or the object, of a use."""
        module, _, name = self.functions[use].partition(":")
        return getattr(import_module(f".{module}", __name__), name)


FORMATS = (
    FileFormat(
        "npy", {"array": (".npy",), "heights": (".npy",)},
        array="reading.arrays:read_npy",
        heights=".features.topography.height_files:heights_of_npy",
    ),
    FileFormat("hdf5", {"array": (".h5", ".hdf5", ".hdf")}, array="reading.arrays:read_hdf5"),
    FileFormat("miniseed", export="obspy_stream:MINISEED"),
    FileFormat("asdf", export="obspy_stream:ASDF"),
    FileFormat("sac", export="obspy_stream:SAC"),
    FileFormat(
        "segy", {"traces": (".sgy", ".segy")},
        traces="segy.model:read_segy",
        export="segy.export:SEGY",
    ),
    FileFormat("su", export="segy.export:SU"),
    FileFormat("raw", array="reading.arrays:read_raw"),
    FileFormat(
        "netcdf", {"volume": (".nc", ".nc4", ".cdf"), "heights": (".nc", ".nc4", ".cdf", ".grd")},
        volume="netcdf:read_netcdf",
        heights=".features.topography.height_files:heights_of_netcdf",
        export=".output.export.datasets:NETCDF",
    ),
    FileFormat(
        "geotiff", {"heights": (".tif", ".tiff")},
        heights=".features.topography.height_files:heights_of_geotiff",
        export=".output.export.geotiff:GEOTIFF",
    ),
    FileFormat("ground-motion", export=".output.export.datasets:GROUND_MOTION"),
    FileFormat(
        "xyz", {"heights": (".xyz", ".txt", ".csv")},
        heights=".features.topography.height_files:heights_of_text",
    ),
    FileFormat(
        "geomodelgrids", {"volume": (".h5", ".hdf5")},
        volume="geomodelgrids:read_geomodelgrids",
    ),
    FileFormat("sfile", {"volume": (".sfile",)}, volume="sw4.volumes:read_sfile"),
    FileFormat("rfile", {"volume": (".rfile",)}, volume="sw4.volumes:read_rfile"),
    FileFormat(
        "openswpc", {"volume": (".lst",)},
        volume="openswpc:read_openswpc",
        volume_files="openswpc:grids_of",
    ),
    FileFormat("npz", is_run="numpy_archive:is_archive", run="numpy_archive:convert_arrays"),
    FileFormat("quakeml", is_events="reading:is_xml", events="fdsn:read_quakeml"),
    FileFormat(
        "stationxml", is_stations="fdsn:is_station_xml", stations="fdsn:read_station_xml"
    ),
    FileFormat(
        "specfem", {"volume": (".xyz",)},
        volume="specfem.tomography:read_tomography",
        is_stations="specfem.files:is_specfem",
        stations="specfem.files:read_specfem",
        is_events="specfem.files:may_be_events",
        events="specfem.files:read_cmtsolution",
        is_run="specfem:is_specfem3d",
        run="specfem:convert_specfem3d",
    ),
    FileFormat("fdsn", is_stations="fdsn:is_fdsn", stations="fdsn:read_fdsn"),
    FileFormat(
        "sw4",
        is_stations="sw4.stations:has_receivers",
        stations="sw4.stations:read_sw4",
        is_run="sw4:is_sw4",
        run="sw4:convert_sw4",
    ),
)  # fmt: skip


def giving(use: str) -> list[FileFormat]:
    """Return the formats, in order, that have something for a use."""
    return [known for known in FORMATS if use in known.functions]


def format_for(use: str, name: str) -> FileFormat:
    """Return the format of a name, for a use that it has."""
    return next(known for known in giving(use) if known.name == name)


def suffixes(use: str) -> dict[str, str]:
    """Return the names of formats by the suffixes of files, for a use."""
    return {suffix: known.name for known in giving(use) for suffix in known.suffixes.get(use, ())}


def names(*uses: str) -> tuple[str, ...]:
    """Return the names of the formats, in order, that have something for any use of several."""
    return tuple(known.name for known in FORMATS if not known.functions.keys().isdisjoint(uses))
