"""Seismograms as ObsPy has them, a Stream and an Inventory of stations, and its formats of them.

*miniSEED*: a file for each recording, with its stations in StationXML.

*ASDF* (Krischer et al. 2016), by pyasdf: a file holds all receiver sets of a shot, StationXML, and
the event in QuakeML, whose moment tensor is that of the shot's only source, in the GCMT frame.

*SAC*: a folder for each recording, a file for each component of each station. The reference time of
the header is the origin time (iztype io). Coordinates refer to stations and the source that begins
first; distance, azimuth and back azimuth follow from them on the WGS84 ellipsoid. Without
longitudes the distance is that on the grid. Samples stay in SI, whose unit is in kuser0: SAC's own
idep would say nanometres. (SAC manual, "SAC data file format".)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from io import BytesIO
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from seismo.acquisition.moment_tensor import grid_axes, magnitude_of, scalar_moment, to_gcmt
from seismo.formats.reading import optional_package
from seismo.formats.seismograms import (
    CodeLengths,
    Recording,
    Seismogram,
    ground,
    hypocentre,
    origin_date,
    recordings,
    start_date,
    tensor_of,
)
from seismo.grid.coordinates import nearest_turn
from seismo.output.export import (
    QUANTITIES,
    ExportFile,
    ExportFormat,
    ExportSelection,
    FilesOfFormat,
)
from seismo.output.run_directory import HiddenFile, plain_name
from seismo.output.run_results import RunResults

SEISMIC = (*QUANTITIES, "pressure")  # quantities with codes of channels
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

    Elevations are of the ground of the run, over flat ground of the station list.

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
    """Return the files of miniSEED: a file for each recording, with its stations in StationXML.

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


def _channel(
    module: Any, recording: Recording, trace: Seismogram, described: dict[str, Any]
) -> Any:
    unit = _UNITS[recording.unit]
    sensitivity = module.InstrumentSensitivity(
        value=1.0, frequency=1.0, input_units=unit, output_units=unit,
        input_units_description=_WORDS[unit],
    )  # fmt: skip
    # A stage that changes nothing: remove_response and remove_sensitivity ask for it.
    stage = module.PolesZerosResponseStage(
        1, 1.0, 1.0, unit, unit, "LAPLACE (RADIANS/SECOND)", 1.0, [], []
    )
    response = module.Response(instrument_sensitivity=sensitivity, response_stages=[stage])
    return module.Channel(
        trace.channel, trace.name.location, **described, azimuth=trace.azimuth, dip=trace.dip,
        sample_rate=1.0 / recording.interval,
        response=response,
    )  # fmt: skip


def _start(recording: Recording) -> Any:
    """Return the date of the first sample as an ``obspy.UTCDateTime``."""
    date = start_date(recording.results, float(recording.traces.time[0]))
    return _obspy("obspy").UTCDateTime(date)


def _obspy(module: str) -> Any:
    return optional_package(module, "seismology", "the export to ObsPy's formats")


TAG = "synthetic"  # of all waveforms
_PURPOSE = "the export to ASDF"


def asdf(selection: ExportSelection) -> FilesOfFormat:
    """Return a file for each shot.

    Raises:
        ScenarioError: a code is longer than ASDF has room for, nothing is selected that has
            channels, or pyasdf is not installed.
    """
    optional_package("pyasdf", "asdf", _PURPOSE)
    by_shot: dict[str, list[Recording]] = {}
    for _, recording in recordings(selection, SEISMIC):
        recording.check_codes("ASDF", LETTERS)
        by_shot.setdefault(recording.shot, []).append(recording)
    for shot, selected in by_shot.items():

        def write(file: HiddenFile, shot: str = shot, selected: list = selected) -> None:
            _write(selection.results, shot, selected, file)

        word = shot if len(by_shot) > 1 or len(selected[0].traces.shots) > 1 else ""
        yield ExportFile(selection.file_name(word, suffix=".asdf"), write)


def _write(results: RunResults, shot: str, selected: list[Recording], file: HiddenFile) -> None:
    pyasdf = optional_package("pyasdf", "asdf", _PURPOSE)
    path = str(file.path)
    with pyasdf.ASDFDataSet(path, mode="w", mpi=False, compression="gzip-3") as data:
        event = _asdf_event(results, shot)
        if event is not None:
            data.add_quakeml(event)
        for recording in selected:
            channels = list(recording.seismograms())
            data.add_waveforms(stream_of(recording, channels), TAG, event_id=event)
            if recording.on_earth:
                data.add_stationxml(inventory_of(recording, channels))


def _asdf_event(results: RunResults, shot: str) -> Any:
    """Return the event of a shot, None where its source has no longitude and latitude."""
    source = hypocentre(results, shot)
    if "longitude" not in source:
        return None
    module = optional_package("obspy.core.event", "seismology", _PURPOSE)
    obspy = optional_package("obspy", "seismology", _PURPOSE)
    words = results.event
    name = str(words.get("id") or f"{results.path.stem}-{shot}")
    origin = module.Origin(
        resource_id=_identifier(module, name, "origin"),
        time=obspy.UTCDateTime(origin_date(results)),
        longitude=float(nearest_turn(source["longitude"], 0.0)), latitude=source["latitude"],
        depth=source.get("depth", source["z"] - ground(results)),
    )  # fmt: skip
    event = module.Event(resource_id=_identifier(module, name, "event"), origins=[origin])
    if words.get("name"):
        event.event_descriptions = [module.EventDescription(str(words["name"]), "earthquake name")]
    event.preferred_origin_id = origin.resource_id
    if len(results.sources_of(shot)) == 1:
        _describe_tensor(module, name, event, source)
    return event


def _identifier(module: Any, name: str, kind: str) -> Any:
    allowed = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
    return module.ResourceIdentifier(f"smi:local/seismo/{allowed}/{kind}")


def _describe_tensor(module: Any, name: str, event: Any, source: dict[str, Any]) -> None:
    """Add magnitude and moment tensor of a source to an event, where it has these."""
    grid_tensor = tensor_of(source)
    if grid_tensor is None or "x_azimuth" not in source:
        return
    rotation = grid_axes(float(source["x_azimuth"]))
    # From the grid's axes to north, east, down: the inverse of `to_grid`.
    tensor = rotation.T @ grid_tensor @ rotation
    moment = scalar_moment(tensor)
    origin = event.origins[0].resource_id
    gcmt = {f"m_{key}": size for key, size in to_gcmt(tensor).items()}
    mechanism = module.FocalMechanism(
        resource_id=_identifier(module, name, "mechanism"),
        moment_tensor=module.MomentTensor(
            derived_origin_id=origin, scalar_moment=moment, tensor=module.Tensor(**gcmt)
        ),
    )
    magnitude = module.Magnitude(
        resource_id=_identifier(module, name, "magnitude"),
        mag=float(np.round(magnitude_of(moment), 4)),
        magnitude_type="Mw",
        origin_id=origin,
    )
    event.focal_mechanisms = [mechanism]
    event.magnitudes = [magnitude]
    event.preferred_focal_mechanism_id = mechanism.resource_id
    event.preferred_magnitude_id = magnitude.resource_id


_SAC_LETTERS = CodeLengths(8, 8, 8)
_LONGEST_NAME = 16  # of an event


def sac(selection: ExportSelection) -> FilesOfFormat:
    """Return the SAC files, in a folder for each recording.

    Raises:
        ScenarioError: a code is longer than SAC has room for, or ObsPy is not installed.
    """
    module = optional_package("obspy.io.sac", "seismology", "the export to SAC")
    for words, recording in recordings(selection, SEISMIC):
        recording.check_codes("SAC", _SAC_LETTERS)
        shared = _sac_event(recording)
        folder = selection.file_name(words, "sac")
        for seismogram in recording.seismograms():
            header = (
                shared | _sac_channel(seismogram) | _sac_station(recording, seismogram.receiver)
            )
            data = BytesIO()
            module.SACTrace(data=seismogram.samples, **header).write(data)
            name = seismogram.name
            code = ".".join((name.network, name.station, name.location, seismogram.channel))
            file_name = plain_name(f"{code}.sac", recording.results.path)
            yield ExportFile.of_bytes(f"{folder}/{file_name}", data.getvalue())


def _sac_event(recording: Recording) -> dict[str, Any]:
    """Return the header fields of a recording: times and the hypocentre."""
    # The reference time has whole milliseconds; `o` and `b` have the rest.
    origin = origin_date(recording.results)
    reference = origin.replace(microsecond=origin.microsecond // 1000 * 1000)
    start = start_date(recording.results, float(recording.traces.time[0]))
    event = recording.results.event
    header = {
        "delta": recording.interval,
        **_sac_date(reference),
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
    if (tensor := tensor_of(source)) is not None and "y" in source:  # in 2-D it is per metre
        header |= {"mag": magnitude_of(scalar_moment(tensor)), "imagtyp": "imw"}
    if "z" in source:
        depth = source.get("depth", source["z"] - ground(recording.results))
        header["evdp"] = depth / 1e3
    return header


def _sac_channel(trace: Seismogram) -> dict[str, Any]:
    header = {
        "kstnm": trace.name.station,
        "knetwk": trace.name.network,
        "khole": trace.name.location,
        "kcmpnm": trace.channel,
        "cmpaz": trace.azimuth,
        "cmpinc": None if trace.dip is None else 90.0 + trace.dip,  # from the vertical
    }
    return {key: value for key, value in header.items() if value not in (None, "")}


def _sac_station(recording: Recording, receiver: int) -> dict[str, Any]:
    """Return the header fields of a station; distances of the grid where it is not on earth."""
    header: dict[str, Any] = {"stdp": recording.depth(receiver), "lcalda": recording.on_earth}
    if recording.on_earth:
        position = recording.position(receiver)
        names = {"latitude": "stla", "longitude": "stlo", "elevation": "stel"}
        return header | {field: position[name] for name, field in names.items()}
    distance = recording.distance(receiver)
    return header if distance is None else header | {"dist": distance / 1e3}


def _sac_date(reference: datetime) -> dict[str, int]:
    """Return the fields of SAC's reference time."""
    return {
        "nzyear": reference.year,
        "nzjday": reference.timetuple().tm_yday,
        "nzhour": reference.hour,
        "nzmin": reference.minute,
        "nzsec": reference.second,
        "nzmsec": reference.microsecond // 1000,
    }


def _asdf_remarks(results: RunResults) -> Iterator[str]:
    if not results.section("geographic"):
        yield (
            "the scenario has no section geographic: the file has no stations and no event, whose "
            "longitudes and latitudes StationXML and QuakeML need"
        )


MINISEED = ExportFormat(miniseed, SEISMIC)
ASDF = ExportFormat(asdf, SEISMIC, remarks=_asdf_remarks)
SAC = ExportFormat(sac, SEISMIC)
