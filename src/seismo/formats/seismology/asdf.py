"""Seismograms in ASDF (Krischer et al. 2016), with StationXML and the event in QuakeML, by pyasdf.

One file holds all receiver sets of a shot. Its moment tensor is that of the shot's only source, in
the GCMT frame, where it is one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from seismo.acquisition.moment_tensor import (
    grid_axes,
    magnitude_of,
    scalar_moment,
    to_gcmt,
)
from seismo.formats.reading.optional_package import optional_package
from seismo.formats.seismology.obspy_stream import (
    LETTERS,
    SEISMIC,
    inventory_of,
    stream_of,
)
from seismo.formats.seismology.seismograms import (
    Recording,
    ground,
    hypocentre,
    origin_date,
    recordings,
    tensor_of,
)
from seismo.grid.coordinates import nearest_turn
from seismo.output.export.selection import ExportFile, ExportSelection, FilesOfFormat
from seismo.output.run_directory.atomic_file import HiddenFile
from seismo.output.run_results import RunResults

TAG = "synthetic"  # of all waveforms
_PURPOSE = "the export to ASDF"


def asdf(selection: ExportSelection) -> FilesOfFormat:
    """Return one file for each shot.

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
        event = _event(results, shot)
        if event is not None:
            data.add_quakeml(event)
        for recording in selected:
            channels = list(recording.seismograms())
            data.add_waveforms(stream_of(recording, channels), TAG, event_id=event)
            if recording.on_earth:
                data.add_stationxml(inventory_of(recording, channels))


def _event(results: RunResults, shot: str) -> Any:
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
