"""Seismograms as ObsPy has them: a Stream with the metadata of stations in an Inventory."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from itertools import groupby
from operator import attrgetter
from typing import Any

from seismo.formats.reading.optional_package import optional_package
from seismo.formats.seismology.seismograms import (
    CodeLengths,
    Recording,
    Seismogram,
    recordings,
    start_date,
)
from seismo.output.export.selection import (
    QUANTITIES,
    ExportFile,
    ExportSelection,
    FilesOfFormat,
)
from seismo.output.run_results import RunResults

SEISMIC = (*QUANTITIES, "pressure")  # what has codes of channels
LETTERS = CodeLengths(2, 5, 2)  # of miniSEED 2
_UNITS = {"m/s": "M/S", "m": "M", "m/s^2": "M/S**2", "Pa": "PA", "rad/s": "RAD/S"}  # of StationXML
_WORDS = {"M/S": "velocity", "M": "displacement", "M/S**2": "acceleration", "PA": "pressure",
          "RAD/S": "rotation rate"}  # fmt: skip


def stream_of(recording: Recording, seismograms: Iterable[Seismogram]) -> Any:
    """Return an ``obspy.Stream``.

    A trace's ``stats.seismo`` has x, (y,) z in m of the receiver, the unit, the quantity and the
    shot; ``stats.distance`` is the horizontal distance from the source in m, and
    ``stats.coordinates`` has latitude and longitude where there are any.

    Raises:
        ScenarioError: ObsPy is not installed.
    """
    obspy = _obspy("obspy")
    start = _start(recording)
    stream = obspy.Stream()
    for seismogram in seismograms:
        trace = obspy.Trace(
            seismogram.samples,
            {
                "network": seismogram.name.network,
                "station": seismogram.name.station,
                "location": seismogram.name.location,
                "channel": seismogram.channel,
                "delta": recording.interval,
                "starttime": start,
            },
        )
        receiver = seismogram.receiver
        position = {
            a: recording.coordinates[a][receiver] for a in "xyz" if a in recording.coordinates
        }
        facts = {"unit": recording.unit, "quantity": recording.quantity, "shot": recording.shot}
        trace.stats.seismo = obspy.core.AttribDict(position | facts)
        if (distance := recording.distance(receiver)) is not None:
            trace.stats.distance = distance
        if recording.on_earth:
            trace.stats.coordinates = obspy.core.AttribDict(recording.position(receiver))
        stream.append(trace)
    return stream


def stream_of_all(
    results: RunResults, receivers: str | None, shot: str | None, quantity: str | None
) -> Any:
    """Return the ``obspy.Stream`` of all recordings that are selected, as `stream_of` does."""
    stream = _obspy("obspy").Stream()
    for _, recording in recordings(ExportSelection(results, receivers, shot, quantity), SEISMIC):
        stream += stream_of(recording, recording.seismograms())
    return stream


def inventory_of(recording: Recording, seismograms: Iterable[Seismogram]) -> Any:
    """Return an ``obspy.Inventory`` of the stations, with sites of their list.

    Elevations are those of the ground of the run, over flat ground of the station list.

    Its responses are 1: samples are in SI units. All is open from the first sample on.

    Raises:
        ScenarioError: stations have no longitude and latitude, or ObsPy is not installed.
    """
    module = _obspy("obspy.core.inventory")
    by_station = groupby(seismograms, attrgetter("receiver"))
    since = {"start_date": _start(recording)}
    networks: dict[str, Any] = {}
    for receiver, group in by_station:
        channels = list(group)
        name = channels[0].name
        network = networks.setdefault(
            name.network, module.Network(name.network, stations=[], **since)
        )
        position = recording.position(receiver)
        station = next((s for s in network if s.code == name.station), None)
        if station is None:
            coordinates = {key: position[key] for key in ("latitude", "longitude", "elevation")}
            sites = recording.traces.sites
            site = module.Site(sites[receiver] if sites else "")
            station = module.Station(
                name.station, **coordinates, **since, site=site, channels=[]
            )  # fmt: skip
            network.stations.append(station)
        station.channels += [
            _channel(module, recording, channel, position | since) for channel in channels
        ]
    return module.Inventory(list(networks.values()), source="seismo")


def miniseed(selection: ExportSelection) -> FilesOfFormat:
    """Return the files of miniSEED: one for each recording, with its stations in StationXML.

    Raises:
        ScenarioError: a code is longer than miniSEED has room for, or as `stream_of` does.
    """
    for words, recording in recordings(selection, SEISMIC):
        recording.check_codes("miniSEED", LETTERS)
        channels = list(recording.seismograms())
        data = BytesIO()
        stream_of(recording, channels).write(data, format="MSEED", encoding="FLOAT32")
        yield ExportFile.of_bytes(selection.file_name(words, suffix=".mseed"), data.getvalue())
        if recording.on_earth:
            data = BytesIO()
            inventory_of(recording, channels).write(data, format="STATIONXML")
            yield ExportFile.of_bytes(selection.file_name(words, suffix=".xml"), data.getvalue())


def _channel(module: Any, recording: Recording, one: Seismogram, described: dict[str, Any]) -> Any:
    unit = _UNITS[recording.unit]
    sensitivity = module.InstrumentSensitivity(
        value=1.0, frequency=1.0, input_units=unit, output_units=unit,
        input_units_description=_WORDS[unit],
    )  # fmt: skip
    # A stage that changes nothing: remove_response and remove_sensitivity ask for one.
    stage = module.PolesZerosResponseStage(
        1, 1.0, 1.0, unit, unit, "LAPLACE (RADIANS/SECOND)", 1.0, [], []
    )
    response = module.Response(instrument_sensitivity=sensitivity, response_stages=[stage])
    return module.Channel(
        one.channel, one.name.location, **described, azimuth=one.azimuth, dip=one.dip,
        sample_rate=1.0 / recording.interval,
        response=response,
    )  # fmt: skip


def _start(recording: Recording) -> Any:
    """Return the date of the first sample as an ``obspy.UTCDateTime``."""
    date = start_date(recording.results, float(recording.traces.time[0]))
    return _obspy("obspy").UTCDateTime(date)


def _obspy(module: str) -> Any:
    return optional_package(module, "seismology", "the export to ObsPy's formats")
