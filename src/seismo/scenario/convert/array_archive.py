"""Arrays of a run with Deepwave, Devito or the like, in one .npz: model, places, wavelet.

    vp, (vs, rho, qp, qs)   the model, along axes such as z, x
    spacing                 of its points in m: one number, or one an axis
    sources, receivers      (n, axes) or (shots, n, axes): indices where they are whole numbers,
                            else m; in the order of the model's axes
    wavelet, dt             (time) samples and their interval
    nt or duration          optional: samples, or s, of the run

Names that these programs have for them are taken, too. Such programs add the samples to one point
of their grid as s of (1/vp^2) p_tt - lap p = s: a pressure source whose amplitude is the volume of
a cell.
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
from seismo.scenario.convert.converted_run import ConvertedRun, physics_with, short
from seismo.scenario.npy_files import UNPACKED, read_npz

_NAMES = {
    "vp": ("vp", "v", "velocity"), "vs": ("vs",), "rho": ("rho", "density"), "qp": ("qp",),
    "qs": ("qs",), "spacing": ("spacing", "grid_spacing", "dx", "h"), "origin": ("origin",),
    "sources": ("sources", "source_positions", "source_locations", "src_coordinates"),
    "receivers": ("receivers", "receiver_positions", "receiver_locations", "rec_coordinates"),
    "wavelet": ("wavelet", "source_amplitudes", "src_data"), "dt": ("dt",), "nt": ("nt",),
    "duration": ("duration",),
}  # fmt: skip
_PROPERTIES = ("vp", "vs", "rho", "qp", "qs")
_SLOW = 20.0  # faster rock has no km/s


@dataclass(frozen=True)
class ArrayLayout:
    """The axes of the arrays, and along each the points, their spacing and the first one in m."""

    axes: str
    shape: tuple[int, ...]
    spacing: tuple[float, ...]
    origin: tuple[float, ...]

    def by_axis(self, numbers: Sequence[float] | np.ndarray) -> dict[str, Any]:
        """Return numbers as the scenario writes them, x before y and z."""
        named = dict(zip(self.axes, numbers, strict=True))
        return {axis: short(float(named[axis])) for axis in "xyz" if axis in named}

    def metres(self, positions: np.ndarray) -> np.ndarray:
        """Return positions (..., axes) in m; whole numbers are indices."""
        if np.issubdtype(positions.dtype, np.integer):
            return np.asarray(self.origin) + positions * np.asarray(self.spacing)
        return np.asarray(positions, float)


def convert_arrays(run: ConvertedRun, axes: str | None, units: str | None) -> None:
    """Carry the arrays of an .npz over; each property becomes a file beside the scenario.

    Args:
        run: that is converted.
        axes: of the model's arrays, such as xz; None: zx or zyx.
        units: of velocities, m/s or km/s; None: by their size.

    Raises:
        ScenarioError: something is missing, or does not fit.
    """
    arrays = _read(run)
    if "vp" not in arrays:
        raise ScenarioError(f"{run.source}: has no vp; give the velocities by that name")
    layout = _layout(run, arrays, axes)
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
    fastest = _add_model(run, arrays, layout, units)
    interval = _interval(run, arrays, fastest / min(layout.spacing))
    wavelet, samples = _add_wavelet(run, arrays, interval)
    _add_time(run, arrays, interval, samples)
    shots = _add_sources(run, arrays, layout, wavelet)
    _add_receivers(run, arrays, layout, shots)


def _read(run: ConvertedRun) -> dict[str, np.ndarray]:
    try:
        arrays, unread = read_npz(run.source, {name for names in _NAMES.values() for name in names})
    except UNPACKED as error:
        reason = " ".join(str(error).split())
        raise ScenarioError(f"{run.source}: is no readable archive of arrays: {reason}") from None
    known = {}
    for name, others in _NAMES.items():
        if present := [other for other in others if other in arrays]:
            known[name] = arrays.pop(present[0])
    for name in (*arrays, *unread):
        run.leave_out(f"{run.source}: {name}", "no array of a scenario has this name")
    for name, array in known.items():
        if not np.issubdtype(array.dtype, np.number) or not np.isfinite(array).all():
            raise ScenarioError(f"{run.source}: {name}: holds what is no finite number")
    return known


def _layout(run: ConvertedRun, arrays: dict[str, np.ndarray], axes: str | None) -> ArrayLayout:
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
    return ArrayLayout(axes, shape, spacing, origin)


def _one_an_axis(
    run: ConvertedRun, numbers: np.ndarray, name: str, count: int
) -> tuple[float, ...]:
    flat = np.asarray(numbers, float).ravel()
    if flat.size not in (1, count):
        raise ScenarioError(f"{run.source}: {name} has {flat.size} numbers; give 1 or {count}")
    return tuple(float(n) for n in np.broadcast_to(flat, (count,)))


def _add_model(
    run: ConvertedRun, arrays: dict[str, np.ndarray], layout: ArrayLayout, units: str | None
) -> float:
    """Add the model; return the largest velocity in m/s."""
    largest = float(arrays["vp"].max())
    if units is None:
        units = "km/s" if largest < _SLOW else "m/s"
        run.remark("model", f"Assumed: velocities are in {units}, the largest is {largest:g}.")
    section: dict[str, Any] = {"type": "file"}
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
    return largest * (1e3 if units == "km/s" else 1.0)


def _interval(run: ConvertedRun, arrays: dict[str, np.ndarray], rate: float) -> float:
    """Return the sampling interval in s; `rate` is the largest velocity over the spacing, 1/s."""
    if "dt" not in arrays:
        raise ScenarioError(f"{run.source}: has no dt; add the interval of the wavelet in s")
    interval = float(np.asarray(arrays["dt"], float).ravel()[0])
    if interval <= 0.0:
        raise ScenarioError(f"{run.source}: dt is {interval:g} s; it has to be above 0")
    # No explicit scheme takes so long a step.
    if interval * rate > 1.0 and 1e-3 * interval * rate <= 1.0:
        run.remark("time", f"Assumed: dt = {interval:g} is in ms, as Devito's is.")
        return 1e-3 * interval
    return interval


def _add_wavelet(
    run: ConvertedRun, arrays: dict[str, np.ndarray], interval: float
) -> tuple[dict[str, Any], int]:
    """Add the samples of the wavelet; return it for the scenario, and their number."""
    if "wavelet" not in arrays:
        raise ScenarioError(f"{run.source}: has no wavelet; add its samples by that name")
    wavelet = np.asarray(arrays["wavelet"], float)
    # (shot, source, time) of Deepwave, (time, source) of Devito.
    time_axis = 2 if wavelet.ndim == 3 else int(np.argmax(wavelet.shape or (0,)))
    wavelet = np.atleast_1d(wavelet)
    rows = np.moveaxis(wavelet, time_axis, -1).reshape(-1, wavelet.shape[time_axis])
    if rows.shape[1] < 2 or np.ptp(rows, axis=0).max() > 1e-6 * np.abs(rows).max():
        raise ScenarioError(
            f"{run.source}: wavelet of shape {wavelet.shape}: one wavelet of 2 or more samples is "
            "carried over; convert shots with other wavelets one by one"
        )
    text = f"# values every {interval:g} s\n" + "".join(f"{value:.9g}\n" for value in rows[0])
    path = run.add_side_file("wavelet.txt", text.encode())
    wavelet_section = {"type": "file", "path": path, "interval": short(interval), "delay": 0}
    return wavelet_section, int(rows.shape[1])


def _add_time(
    run: ConvertedRun, arrays: dict[str, np.ndarray], interval: float, samples: int
) -> None:
    count = int(arrays["nt"]) if "nt" in arrays else samples
    duration = float(arrays["duration"]) if "duration" in arrays else count * interval
    run.sections["time"] = {"duration": short(duration)}
    run.remark("time", "The step is chosen from the stability limit of this grid.")


def _positions(
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


def _add_sources(
    run: ConvertedRun, arrays: dict[str, np.ndarray], layout: ArrayLayout, wavelet: dict[str, Any]
) -> np.ndarray:
    """Add the source and, where there are several places, the survey; return these (shot, axes)."""
    if "sources" not in arrays:
        raise ScenarioError(f"{run.source}: has no sources; add their places by that name")
    placed = _positions(run, arrays, "sources", len(layout.axes))
    if arrays["sources"].ndim == 3 and placed.shape[1] > 1:
        raise ScenarioError(
            f"{run.source}: sources has {placed.shape[1]} sources in each shot; one is carried over"
        )
    shots = layout.metres(placed).reshape(-1, len(layout.axes))
    cell = math.prod(layout.spacing)
    elastic = "vs" in arrays
    source: dict[str, Any] = {"type": "explosion"} if elastic else {"type": "pressure"}
    source["position"] = layout.by_axis(shots[0])
    if elastic:
        run.remark("sources", "Assumed: explosions, whose moment rate is the wavelet.")
    else:
        source["amplitude"] = short(cell)
        run.remark(
            "sources",
            "Assumed: the samples were added to one point of the grid: the amplitude is the volume "
            "of a cell (2-D: its area). Programs differ in the sign.",
        )
    source["wavelet"] = wavelet
    run.sections["sources"] = [source]
    if len(shots) > 1:
        run.sections["survey"] = _line(layout, shots) or {
            "shots": [{"position": layout.by_axis(shot)} for shot in shots]
        }
        run.remark("survey", "Each place is a shot of its own.")
    return shots


def _line(layout: ArrayLayout, points: np.ndarray) -> dict[str, Any] | None:
    """Return equally spaced points (n, axes) m as a line of a survey."""
    line = np.linspace(points[0], points[-1], len(points))
    if np.abs(line - points).max() > 1e-6 * min(layout.spacing):
        return None
    ends = {"start": layout.by_axis(points[0]), "end": layout.by_axis(points[-1])}
    return {"line": {**ends, "count": len(points)}}


def _add_receivers(
    run: ConvertedRun, arrays: dict[str, np.ndarray], layout: ArrayLayout, shots: np.ndarray
) -> None:
    if "receivers" not in arrays:
        run.leave_out(f"{run.source}: receivers", "are not there: the run records no traces")
        return
    placed = layout.metres(_positions(run, arrays, "receivers", len(layout.axes)))
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
    line = _line(layout, points) if len(points) > 1 else None
    if line is None:
        section |= {"type": "points", "positions": [layout.by_axis(point) for point in points]}
    else:
        section |= {"type": "line", **line["line"]}
    run.sections["receivers"] = [section]


def is_archive(path: Path) -> bool:
    """Whether a file is an archive, as .npz is."""
    return path.is_file() and zipfile.is_zipfile(path)
