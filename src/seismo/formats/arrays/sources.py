"""Sources of arrays of a run with Deepwave, Devito or the like: wavelets, places, strengths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from seismo.errors import ScenarioError
from seismo.formats.arrays.layout import (
    ArrayLayout,
    line_of,
    positions_of,
)
from seismo.formats.conversion.converted_run import ConvertedRun, short

_LONG = 0.05  # s: a longer interval beside velocities in km/s is in ms, so that m/ms are km/s


def interval_of(
    run: ConvertedRun, arrays: dict[str, np.ndarray], program: str, units: str
) -> float:
    """Return the sampling interval in s; its name, or the program's, says the unit."""
    name = next((name for name in ("dt_s", "dt_ms", "dt") if name in arrays), None)
    if name is None:
        raise ScenarioError(f"{run.source}: has no dt; add the interval of the wavelet in s")
    interval = float(np.asarray(arrays[name], float).ravel()[0])
    if interval <= 0.0:
        raise ScenarioError(f"{run.source}: {name} is {interval:g}; it has to be above 0")
    in_ms = name == "dt_ms"
    if name == "dt" and units == "km/s" and program != "Deepwave":
        in_ms = program == "Devito" or interval > _LONG
        if in_ms:
            text = f"Assumed: dt = {interval:g} is in ms, as velocities in km/s are m/ms (dt_s)."
            run.remark("time", text)
    return 1e-3 * interval if in_ms else interval


def samples_of(run: ConvertedRun, arrays: dict[str, np.ndarray], program: str) -> np.ndarray:
    """Return the samples (wavelet, time): one wavelet where all are the same."""
    if "wavelet" not in arrays:
        raise ScenarioError(f"{run.source}: has no wavelet; add its samples by that name")
    wavelet = np.atleast_1d(np.asarray(arrays["wavelet"], float))
    time_axis = int(np.argmax(wavelet.shape))
    if wavelet.ndim > 1 and program:
        time_axis = 0 if program == "Devito" else wavelet.ndim - 1
    elif wavelet.ndim == 3:
        time_axis = 2
    rows = np.moveaxis(wavelet, time_axis, -1).reshape(-1, wavelet.shape[time_axis])
    if rows.shape[1] >= 2 and np.ptp(rows, axis=0).max() <= 1e-6 * np.abs(rows).max():
        return rows[:1]
    if rows.shape[1] < 2 or program != "Devito":
        raise ScenarioError(
            f"{run.source}: wavelet of shape {wavelet.shape}: one wavelet of 2 or more samples is "
            "carried over; convert shots with other wavelets one by one"
        )
    return rows


def _wavelets(run: ConvertedRun, rows: np.ndarray, interval: float) -> list[dict[str, Any]]:
    """Add samples (wavelet, time) as files; return the wavelets for the scenario."""
    sections = []
    for number, row in enumerate(rows, 1):
        text = f"# values every {interval:g} s\n" + "".join(f"{value:.9g}\n" for value in row)
        suffix = "wavelet.txt" if len(rows) == 1 else f"wavelet{number}.txt"
        path = run.add_side_file(suffix, text.encode())
        sections.append({"type": "file", "path": path, "interval": short(interval), "delay": 0})
    return sections


def add_sources(
    run: ConvertedRun, arrays: dict[str, np.ndarray], layout: ArrayLayout, program: str,
    sampled: tuple[np.ndarray, float],
) -> np.ndarray:  # fmt: skip
    """Add the sources and, of several shots, the survey; return the places of shots (shot, axes).

    Args:
        run: that is converted.
        arrays: of the archive.
        layout: of the model.
        program: whose names the arrays have, "" of none.
        sampled: samples (wavelet, time), and their interval in s.
    """
    if "sources" not in arrays:
        raise ScenarioError(f"{run.source}: has no sources; add their places by that name")
    placed = positions_of(run, arrays, "sources", len(layout.axes))
    if arrays["sources"].ndim == 3 and placed.shape[1] > 1:
        raise ScenarioError(
            f"{run.source}: sources has {placed.shape[1]} sources in each shot; one is carried "
            "over. Those of one shot may be given as src_coordinates (n, axes), which fire together"
        )
    points = layout.metres(placed).reshape(-1, len(layout.axes))
    wavelets = _wavelets(run, *sampled)
    together = points if program == "Devito" else points[:1]
    if len(wavelets) not in (1, len(together)):
        raise ScenarioError(
            f"{run.source}: src_data has {len(wavelets)} wavelets, and src_coordinates "
            f"{len(together)} places; give one wavelet a place"
        )
    if len(wavelets) == 1:
        wavelets *= len(together)
    kind = _kind_of_sources(run, layout, program, "vs" in arrays)
    run.sections["sources"] = [
        {"type": kind["type"], "position": layout.by_axis(point), **kind, "wavelet": wavelet}
        for point, wavelet in zip(together, wavelets, strict=True)
    ]
    if len(together) > 1:
        run.remark(
            "sources", "Assumed: they fire together, as the points of a source of Devito do."
        )
    shots = points[:1] if program == "Devito" else points
    if len(shots) > 1:
        run.sections["survey"] = line_of(layout, shots) or {
            "shots": [{"position": layout.by_axis(shot)} for shot in shots]
        }
        run.remark("survey", "Each place is a shot of its own.")
    return shots


def _kind_of_sources(
    run: ConvertedRun, layout: ArrayLayout, program: str, elastic: bool
) -> dict[str, Any]:
    """Return the type of sources, and their amplitude."""
    if elastic:
        run.remark("sources", "Assumed: explosions, whose moment rate is the wavelet.")
        return {"type": "explosion"}
    signs = {
        "Deepwave": "Deepwave subtracts them: the amplitude is negative.",
        "Devito": "Devito adds them, as they are.",
        "": "Programs differ in the sign.",
    }
    run.remark(
        "sources",
        "Assumed: the samples were added to one point of the grid: the amplitude is the volume "
        f"of a cell (2-D: its area). {signs[program]}",
    )
    cell = math.prod(layout.spacing)
    return {"type": "pressure", "amplitude": short(-cell if program == "Deepwave" else cell)}
