"""A table of ground-motion measures: a row for each station and component, all in SI units.

Components as in the exported seismograms, N, E and Z, or X, Y and Z. Stations with two horizontal
ones also have the rows RotD50 and RotD100. Peaks need their own motion (acceleration, velocity or
displacement), all other measures acceleration. Motion is refined to thirty samples in the shortest
period of the waves first, so that neither peaks nor integrals depend on the sampling interval.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from seismo.acquisition import ground_motion as measures
from seismo.acquisition.trace_processing import refine
from seismo.errors import ScenarioError
from seismo.formats.seismograms import Recording, recordings
from seismo.output.export import (
    ExportFile,
    ExportFormat,
    ExportSelection,
    FilesOfFormat,
    quantities_of,
)
from seismo.output.run_results import RunResults

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
