"""Lists of stations, in the format of the file: tables, StationXML, FDSN text, SPECFEM, SW4."""

from __future__ import annotations

from pathlib import Path

from seismo.acquisition.stations.station import StationList
from seismo.acquisition.stations.table import expected_columns, read_table
from seismo.errors import ModelError
from seismo.formats.reading.text import is_station_xml, read_lines
from seismo.formats.seismology.fdsn_stations import is_fdsn, read_fdsn
from seismo.formats.seismology.station_xml import read_station_xml
from seismo.formats.specfem.stations import is_specfem, read_specfem
from seismo.formats.sw4.stations import read_sw4, receiver_lines
from seismo.scenario.sections.receivers import StationReceivers

_ONLY = {  # keys that one format alone has -> that
    "coordinates": "STATIONS files of SPECFEM (six columns, no header)",
    "surface": "STATIONS files of SPECFEM (six columns, no header)",
    "channels": "StationXML",
    "time": "StationXML",
}


def read_stations(
    path: Path, group: StationReceivers, axes: str, on_earth: bool, datum: float | None
) -> StationList:
    """Read a list of stations.

    Args:
        path: the file.
        group: `StationReceivers` of the scenario.
        axes: of the grid, "xz" or "xyz".
        on_earth: whether the grid has a place there.
        datum: z in m of height 0 over topography, on which stations without z and depth stand;
            None where the ground is flat.

    Raises:
        ScenarioError: the file is missing or malformed, with a message for each malformed line, or
            the scenario has a key that its format does not.
    """
    if is_station_xml(path):
        _refuse(group, path, "coordinates", "surface")
        return read_station_xml(path, group.channels, group.time)
    _refuse(group, path, "channels", "time")
    lines = read_lines(path, f"{expected_columns(axes)}, or StationXML, STATIONS, or rec lines")
    if is_specfem(lines):
        return read_specfem(path, lines, group, axes, on_earth, datum)
    _refuse(group, path, "coordinates", "surface")
    if is_fdsn(lines):
        return read_fdsn(path, lines)
    if receivers := receiver_lines(lines):
        return read_sw4(path, receivers, axes)
    return read_table(path, lines, axes, on_ground=datum is not None)


def read_points(path: Path, axes: str) -> StationList:
    """Read a table of points, which have no codes, for a grid along some axes.

    Raises:
        ScenarioError: the file is missing or malformed, with a message for each malformed line.
    """
    return read_table(path, read_lines(path, expected_columns(axes, False)), axes, False)


def _refuse(group: StationReceivers, path: Path, *keys: str) -> None:
    """Raise ModelError for a key that says something of another format."""
    for key in keys:
        if getattr(group, key) not in (None, ()):
            raise ModelError(f"is for {_ONLY[key]}, and {path} is none; leave it out", key)
