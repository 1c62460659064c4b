"""Formats of other programs' files: a folder for each program, and one table of them all.

A line of `FORMATS` names the functions of a format by their use, as ``module:name`` counted from
this folder; they are imported when they are first used:

- `stations`: function(`StationFile`) -> `StationList`, and `is_stations`: function(`StationFile`)
  -> whether it has this format (`seismo.acquisition.stations`).
- `events`: function(path) -> events; `is_events`: function(path) (`seismo.acquisition.events`).
- `array`: function(path, specification) -> array of one parameter, and `traces`: function(path,
  specification, region) -> array, axes, origin, spacing (`seismo.model.volumes`).
- `volume`: function(`VolumeRequest`) -> `Volume`, and `volume_files`: function(path) -> further
  files that it names (`seismo.model.volumes`).

Formats are asked in this order whether a file is theirs. `suffixes` of a use tell the format from
the name of a file.
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
        return getattr(import_module(f"{__name__}.{module}"), name)


FORMATS = (
    FileFormat("npy", {"array": (".npy",)}, array="reading.arrays:read_npy"),
    FileFormat("hdf5", {"array": (".h5", ".hdf5", ".hdf")}, array="reading.arrays:read_hdf5"),
    FileFormat("raw", array="reading.arrays:read_raw"),
    FileFormat("segy", {"traces": (".sgy", ".segy")}, traces="segy.model:read_segy"),
    FileFormat(
        "netcdf", {"volume": (".nc", ".nc4", ".cdf")},
        volume="gridded.netcdf:read_netcdf",
    ),
    FileFormat(
        "geomodelgrids", {"volume": (".h5", ".hdf5")},
        volume="gridded.geomodelgrids:read_geomodelgrids",
    ),
    FileFormat("sfile", {"volume": (".sfile",)}, volume="sw4.sfile:read_sfile"),
    FileFormat("rfile", {"volume": (".rfile",)}, volume="sw4.rfile:read_rfile"),
    FileFormat(
        "openswpc", {"volume": (".lst",)},
        volume="gridded.openswpc:read_openswpc",
        volume_files="gridded.openswpc:grids_of",
    ),
    FileFormat(
        "quakeml",
        is_events="reading.text:is_xml",
        events="seismology.quakeml:read_quakeml",
    ),
    FileFormat(
        "stationxml",
        is_stations="seismology.stations:is_station_xml",
        stations="seismology.stations:read_station_xml",
    ),
    FileFormat(
        "specfem", {"volume": (".xyz",)},
        volume="specfem.tomography:read_tomography",
        is_stations="specfem.stations:is_specfem",
        stations="specfem.stations:read_specfem",
        is_events="specfem.cmtsolution:may_be_events",
        events="specfem.cmtsolution:read_cmtsolution",
    ),
    FileFormat(
        "fdsn",
        is_stations="seismology.stations:is_fdsn",
        stations="seismology.stations:read_fdsn",
    ),
    FileFormat(
        "sw4",
        is_stations="sw4.stations:has_receivers",
        stations="sw4.stations:read_sw4",
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
