"""Arrays of a run with Deepwave, Devito or the like, in an .npz: model, places, wavelets.

    vp, (vs, rho, qp, qs)   the model, along axes such as z, x
    spacing                 of its points in m: one number, or one an axis
    sources, receivers      (n, axes) or (shots, n, axes): indices where they are whole numbers,
                            else m; in the order of the model's axes
    wavelet, dt             (time) samples and their interval in s; dt_s, dt_ms say the unit
    nt or duration          optional: samples, or s, of the run

Names that these programs have for them are taken, too, and tell the differences between them:

    Deepwave    source_locations, receiver_locations: indices, whole numbers or not;
                source_amplitudes (shot, source, time): dt in s, s = -samples (its setup of a
                scalar propagator)
    Devito      src_coordinates, rec_coordinates, src_data (time, source): places that fire
                together; no units of its own: with velocities in km/s and m its dt is in ms

Such programs add the samples to a point of their grid as s of (1/vp^2) p_tt - lap p = s: a
pressure source whose amplitude is the volume of a cell.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seismo.errors import ScenarioError
from seismo.formats.converted_run import ConvertedRun, physics_with, short
from seismo.formats.reading.arrays import UNPACKED, read_npz

_LONG = 0.05  # s: a longer interval beside velocities in km/s is in ms, so that m/ms are km/s
_PROGRAMS = {
    "Deepwave": ("source_locations", "receiver_locations", "source_amplitudes"),
    "Devito": ("src_coordinates", "rec_coordinates", "src_data"),
}
_NAMES = {
    "vp": ("vp", "v", "velocity"), "vs": ("vs",), "rho": ("rho", "density"), "qp": ("qp",),
    "qs": ("qs",), "spacing": ("spacing", "grid_spacing", "dx", "h"), "origin": ("origin",),
    "sources": ("sources", "source_positions", "source_locations", "src_coordinates"),
    "receivers": ("receivers", "receiver_positions", "receiver_locations", "rec_coordinates"),
    "wavelet": ("wavelet", "source_amplitudes", "src_data"), "nt": ("nt",),
    "dt": ("dt",), "dt_s": ("dt_s",), "dt_ms": ("dt_ms",),
    "duration": ("duration",),
}  # fmt: skip
_PROPERTIES = ("vp", "vs", "rho", "qp", "qs")
_SLOW = 20.0  # faster rock has no km/s


@dataclass(frozen=True)
class ArrayLayout:
    """The axes of the arrays, and along each the points, their spacing and the first in m.

    Attributes:
        axes: names, in the order of the arrays.
        shape: points.
        spacing: of the points in m.
        origin: of the first point in m.
        indexed: whether places are indices; None: whole numbers are.
    """

    axes: str
    shape: tuple[int, ...]
    spacing: tuple[float, ...]
    origin: tuple[float, ...]
    indexed: bool | None = None

    def by_axis(self, numbers: Sequence[float] | np.ndarray) -> dict[str, Any]:
        """Return numbers as the scenario writes them, x before y and z."""
        named = dict(zip(self.axes, numbers, strict=True))
        return {axis: short(float(named[axis])) for axis in "xyz" if axis in named}

    def metres(self, positions: np.ndarray) -> np.ndarray:
        """Return positions (..., axes) in m."""
        are_whole = np.issubdtype(positions.dtype, np.integer)
        if are_whole if self.indexed is None else self.indexed:
            return np.asarray(self.origin) + positions * np.asarray(self.spacing)
        return np.asarray(positions, float)


def positions_of(
    run: ConvertedRun, arrays: dict[str, np.ndarray], name: str, axes: int
) -> np.ndarray:
    """Return positions (shots or 1, n, axes), not in m yet."""
    positions = arrays[name]
    if positions.ndim not in (2, 3) or positions.shape[-1] != axes or not positions.size:
        raise ScenarioError(
            f"{run.source}: {name} has the shape {positions.shape}; give (n, {axes}), or (shots, "
            f"n, {axes})"
        )
    return positions if positions.ndim == 3 else positions[None]


def line_of(layout: ArrayLayout, points: np.ndarray) -> dict[str, Any] | None:
    """Return equally spaced points (n, axes) m as a line of a survey."""
    line = np.linspace(points[0], points[-1], len(points))
    if np.abs(line - points).max() > 1e-6 * min(layout.spacing):
        return None
    ends = {"start": layout.by_axis(points[0]), "end": layout.by_axis(points[-1])}
    return {"line": {**ends, "count": len(points)}}


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
    """Return the samples (wavelet, time): a single wavelet where all are the same."""
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


def convert_arrays(run: ConvertedRun) -> None:
    """Carry the arrays of an .npz over; each property becomes a file beside the scenario.

    Raises:
        ScenarioError: something is missing, or does not fit.
    """
    run.program = "NumPy"
    arrays, program = _read(run)
    if "vp" not in arrays:
        raise ScenarioError(f"{run.source}: has no vp; give the velocities by that name")
    layout = _layout(run, arrays, run.axes, program)
    dimensions = len(layout.axes)
    given_names = [name for name in _PROPERTIES if name in arrays]
    if "vs" in arrays and "rho" not in arrays:
        raise ScenarioError(f"{run.source}: has vs and no rho, which elastic waves need; add it")
    needed = [name for name in given_names if name in ("vp", "vs", "rho")]
    run.sections["title"] = f"{run.source.stem}, from arrays"
    run.sections["physics"] = physics_with(needed, dimensions)
    steps = [(n - 1) * d for n, d in zip(layout.shape, layout.spacing, strict=True)]
    run.sections["grid"] = {
        "extent": layout.by_axis(steps),
        "spacing": layout.by_axis(layout.spacing),
        "origin": layout.by_axis(layout.origin),
    }
    run.sections["boundaries"] = {"top": "absorbing"}
    run.remark("boundaries", "Assumed: no free surface. top: free_surface is one.")
    units = _add_model(run, arrays, layout, run.units)
    interval = interval_of(run, arrays, program, units)
    rows = samples_of(run, arrays, program)
    _add_time(run, arrays, interval, rows.shape[1])
    shots = add_sources(run, arrays, layout, program, (rows, interval))
    indexed = [
        name for name in ("sources", "receivers")
        if name in arrays and np.issubdtype(arrays[name].dtype, np.integer)
    ]  # fmt: skip
    if program == "Devito" and indexed:
        run.remark(
            "sources",
            "Assumed: places in whole numbers are indices; write those in m as decimals (300.0).",
        )
    _add_receivers(run, arrays, layout, shots)
    for section in run.sections.get("receivers", ()):
        section["interval"] = short(interval)


def _read(run: ConvertedRun) -> tuple[dict[str, np.ndarray], str]:
    """Return the arrays by the names used here, and the program whose names they have."""
    try:
        arrays, unread = read_npz(run.source, {name for names in _NAMES.values() for name in names})
    except UNPACKED as error:
        reason = " ".join(str(error).split())
        raise ScenarioError(f"{run.source}: is no readable archive of arrays: {reason}") from None
    programs = [
        program for program, names in _PROGRAMS.items() if any(name in arrays for name in names)
    ]
    if len(programs) > 1:
        raise ScenarioError(
            f"{run.source}: has names of {' and '.join(programs)}; give those of one"
        )
    known = {}
    for name, others in _NAMES.items():
        if present := [other for other in others if other in arrays]:
            known[name] = arrays.pop(present[0])
    for name in (*arrays, *unread):
        run.leave_out(f"{run.source}: {name}", "no array of a scenario has this name")
    for name, array in known.items():
        if not np.issubdtype(array.dtype, np.number) or not np.isfinite(array).all():
            raise ScenarioError(f"{run.source}: {name}: holds what is no finite number")
    return known, "".join(programs)


def _layout(
    run: ConvertedRun, arrays: dict[str, np.ndarray], axes: str | None, program: str
) -> ArrayLayout:
    shape = arrays["vp"].shape
    if len(shape) not in (2, 3):
        raise ScenarioError(f"{run.source}: vp has {len(shape)} axes; 2 or 3 are a model")
    if axes is None:
        axes = "zx" if len(shape) == 2 else "zyx"
        run.remark("model", f"Assumed: the axes of the arrays are {', '.join(axes)} (--axes).")
    if len(axes) != len(shape):
        raise ScenarioError(f"--axes {axes}: vp has {len(shape)} axes; name each once")
    if "spacing" not in arrays:
        raise ScenarioError(f"{run.source}: has no spacing; add the distance of points in m")
    spacing = _one_an_axis(run, arrays["spacing"], "spacing", len(shape))
    if min(spacing) <= 0.0:
        raise ScenarioError(f"{run.source}: spacing is {min(spacing):g} m; it has to be above 0")
    origin = _one_an_axis(run, arrays.get("origin", np.zeros(1)), "origin", len(shape))
    return ArrayLayout(axes, shape, spacing, origin, True if program == "Deepwave" else None)


def _one_an_axis(
    run: ConvertedRun, numbers: np.ndarray, name: str, count: int
) -> tuple[float, ...]:
    flat = np.asarray(numbers, float).ravel()
    if flat.size not in (1, count):
        raise ScenarioError(f"{run.source}: {name} has {flat.size} numbers; give 1 or {count}")
    return tuple(float(n) for n in np.broadcast_to(flat, (count,)))


def _add_model(
    run: ConvertedRun, arrays: dict[str, np.ndarray], layout: ArrayLayout, units: str | None
) -> str:
    """Add the model; return the units of its velocities."""
    largest = float(arrays["vp"].max())
    if units is None:
        units = "km/s" if largest < _SLOW else "m/s"
        run.remark("model", f"Assumed: velocities are in {units}, the largest is {largest:g}.")
    # A sample is a point of the grids of these programs.
    section: dict[str, Any] = {"type": "file", "interpolation": "cells"}
    for name in _PROPERTIES:
        if name not in arrays:
            continue
        array = arrays[name]
        if array.shape != layout.shape:
            raise ScenarioError(
                f"{run.source}: {name} has the shape {array.shape}, vp {layout.shape}; give both "
                "at the same points"
            )
        stream = io.BytesIO()
        np.save(stream, np.ascontiguousarray(array, np.float32))
        section[name] = {"path": run.add_side_file(f"{name}.npy", stream.getvalue())}
        if layout.axes not in ("zx", "zyx"):
            section[name]["axes"] = layout.axes
        if name in ("vp", "vs") and units == "km/s":
            section[name]["units"] = units
    if "rho" in arrays and float(arrays["rho"].max()) < _SLOW:
        section["rho"]["units"] = "g/cm3"
        run.remark("model", "Assumed: densities are in g/cm3.")
    run.sections["model"] = [section]
    return units


def _add_time(
    run: ConvertedRun, arrays: dict[str, np.ndarray], interval: float, samples: int
) -> None:
    count = int(arrays["nt"]) if "nt" in arrays else samples
    duration = float(arrays["duration"]) if "duration" in arrays else (count - 1) * interval
    run.sections["time"] = {"duration": short(duration)}
    run.remark("time", "The step is chosen from the stability limit of this grid.")


def _add_receivers(
    run: ConvertedRun, arrays: dict[str, np.ndarray], layout: ArrayLayout, shots: np.ndarray
) -> None:
    if "receivers" not in arrays:
        run.leave_out(f"{run.source}: receivers", "are not there: the run records no traces")
        return
    placed = layout.metres(positions_of(run, arrays, "receivers", len(layout.axes)))
    section: dict[str, Any] = {"name": "receivers"}
    points = placed[0]
    if np.ptp(placed, axis=0).max() > 0.0:
        # Offsets from the source; z stays a depth.
        across = [0.0 if axis == "z" else 1.0 for axis in layout.axes]
        if len(placed) == len(shots):
            placed = placed - shots[:, None, :] * np.array(across)
        if np.ptp(placed, axis=0).max() > 1e-6 * min(layout.spacing):
            raise ScenarioError(
                f"{run.source}: receivers of each shot are elsewhere, and not at fixed offsets "
                "from its source; convert shots one by one"
            )
        points = placed[0]
        section["relative_to"] = "source"
    line = line_of(layout, points) if len(points) > 1 else None
    if line is None:
        section |= {"type": "points", "positions": [layout.by_axis(point) for point in points]}
    else:
        section |= {"type": "line", **line["line"]}
    run.sections["receivers"] = [section]


def is_archive(path: Path) -> bool:
    """Whether a file is an archive, as .npz is."""
    return path.is_file() and zipfile.is_zipfile(path)
