"""SAC files: a folder for each recording, a file for each component of each station.

The reference time of the header is the origin time (iztype io). Coordinates are those of stations
and of the source that begins first; distance, azimuth and back azimuth follow from them on the
WGS84 ellipsoid. Without longitudes the distance is that on the grid. Samples stay in SI, whose unit
is in kuser0: SAC's own idep would say nanometres. (SAC manual, "SAC data file format".)
"""

from __future__ import annotations

from datetime import datetime
from io import BytesIO
from typing import Any

from seismo.acquisition.moment_tensor import magnitude_of, scalar_moment
from seismo.formats.reading.optional_package import optional_package
from seismo.formats.seismology.obspy_stream import SEISMIC
from seismo.formats.seismology.seismograms import (
    CodeLengths,
    Recording,
    Seismogram,
    ground,
    origin_date,
    recordings,
    start_date,
    tensor_of,
)
from seismo.grid.coordinates import nearest_turn
from seismo.output.export.selection import ExportFile, ExportSelection, FilesOfFormat
from seismo.output.run_directory.atomic_file import plain_name

_LETTERS = CodeLengths(8, 8, 8)
_LONGEST_NAME = 16  # of an event


def sac(selection: ExportSelection) -> FilesOfFormat:
    """Return the SAC files, in a folder for each recording.

    Raises:
        ScenarioError: a code is longer than SAC has room for, or ObsPy is not installed.
    """
    module = optional_package("obspy.io.sac", "seismology", "the export to SAC")
    for words, recording in recordings(selection, SEISMIC):
        recording.check_codes("SAC", _LETTERS)
        shared = _event(recording)
        folder = selection.file_name(words, "sac")
        for seismogram in recording.seismograms():
            header = shared | _channel(seismogram) | _station(recording, seismogram.receiver)
            data = BytesIO()
            module.SACTrace(data=seismogram.samples, **header).write(data)
            name = seismogram.name
            code = ".".join((name.network, name.station, name.location, seismogram.channel))
            file_name = plain_name(f"{code}.sac", recording.results.path)
            yield ExportFile.of_bytes(f"{folder}/{file_name}", data.getvalue())


def _event(recording: Recording) -> dict[str, Any]:
    """Return the header fields of a recording: times and the hypocentre."""
    # The reference time has whole milliseconds; `o` and `b` have the rest.
    origin = origin_date(recording.results)
    reference = origin.replace(microsecond=origin.microsecond // 1000 * 1000)
    start = start_date(recording.results, float(recording.traces.time[0]))
    event = recording.results.event
    header = {
        "delta": recording.interval,
        **_date(reference),
        "iztype": "io",
        "o": (origin - reference).total_seconds(),
        "b": (start - reference).total_seconds(),
        "kevnm": (event.get("id") or event.get("name") or "")[:_LONGEST_NAME] or "seismo",
        "kuser0": recording.unit,
    }
    source = recording.hypocentre
    if {"longitude", "latitude"} <= source.keys():
        header |= {
            "evlo": float(nearest_turn(source["longitude"], 0.0)),
            "evla": source["latitude"],
        }
    if (tensor := tensor_of(source)) is not None and "y" in source:  # in 2-D it is one per metre
        header |= {"mag": magnitude_of(scalar_moment(tensor)), "imagtyp": "imw"}
    if "z" in source:
        depth = source.get("depth", source["z"] - ground(recording.results))
        header["evdp"] = depth / 1e3
    return header


def _channel(one: Seismogram) -> dict[str, Any]:
    header = {
        "kstnm": one.name.station,
        "knetwk": one.name.network,
        "khole": one.name.location,
        "kcmpnm": one.channel,
        "cmpaz": one.azimuth,
        "cmpinc": None if one.dip is None else 90.0 + one.dip,  # from the vertical
    }
    return {key: value for key, value in header.items() if value not in (None, "")}


def _station(recording: Recording, receiver: int) -> dict[str, Any]:
    """Return the header fields of a station; distances of the grid where it is not on earth."""
    header: dict[str, Any] = {"stdp": recording.depth(receiver), "lcalda": recording.on_earth}
    if recording.on_earth:
        position = recording.position(receiver)
        names = {"latitude": "stla", "longitude": "stlo", "elevation": "stel"}
        return header | {field: position[name] for name, field in names.items()}
    distance = recording.distance(receiver)
    return header if distance is None else header | {"dist": distance / 1e3}


def _date(reference: datetime) -> dict[str, int]:
    """Return the fields of SAC's reference time."""
    return {
        "nzyear": reference.year,
        "nzjday": reference.timetuple().tm_yday,
        "nzhour": reference.hour,
        "nzmin": reference.minute,
        "nzsec": reference.second,
        "nzmsec": reference.microsecond // 1000,
    }
