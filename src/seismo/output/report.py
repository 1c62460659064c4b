"""The plain-text description of a results file that ``seismo info`` prints.

Everything comes from attributes and coordinates: describing a file of many gigabytes reads a few
kilobytes, but for maps, up to a size, which are searched for their largest value.

Sources are described by depths and sizes, for `seismo check`, `seismo info` and figures. A row of
them has z and depth below the ground in m, and of a moment its scalar moment in N m (in 2-D N m
per metre) and, in 3-D, its magnitude; of what a source lacks it has no key.

**A comparison** (`compare`) of two results files tells whether they are identical to the last bit,
or how far apart. Of every array of traces, snapshots and maps: the relative L2 difference |b - a| /
|a|, and the largest difference of two numbers. NaN in both (what a broken run left out) is no
difference. The rest is read for damage only.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seismo.output.results_file import COMPLETE, UNSTABLE
from seismo.output.run_directory.partial_files import UNFINISHED
from seismo.output.run_results import RunResults
from seismo.output.store.array_sets import MapSet, SnapshotSeries, TraceSet
from seismo.output.store.arrays import NamedArrays
from seismo.output.store.layout import timing
from seismo.scenario.units import with_unit

MOST_SOURCES = 12  # that are described each
_MOST_READ = 5e6  # points of a map: read within a tenth of a second


def described(row: Mapping[str, Any]) -> str:
    """Format z, depth below the ground, moment and magnitude of a source; "" of none."""
    return ranged([row])


def ranged(rows: Sequence[Mapping[str, Any]]) -> str:
    """Format z, depths, moments and magnitudes of sources, from least to most."""
    texts = []
    if z := _range(rows, "z"):
        texts.append(f"z = {z} m")
    if depth := _range(rows, "depth"):
        texts.append(f"{depth} m below the ground")
    if moment := _range(rows, "scalar_moment", "{:.4g}"):
        unit = "N m" if any("magnitude" in row for row in rows) else "N m per metre"
        magnitude = _range(rows, "magnitude", "{:.2f}")
        texts.append(f"M0 {moment} {unit}" + f" (Mw {magnitude})" * bool(magnitude))
    return ", ".join(texts)


def source_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each of a few sources; of more for the largest and for all together."""
    named = [row for row in rows if described(row)]
    if len(named) <= MOST_SOURCES:
        yield from (f"{row['name']}: {described(row)}" for row in named)
        return
    sizes = [row.get("scalar_moment", 0.0) for row in named]
    if any(sizes):
        largest = named[sizes.index(max(sizes))]
        yield f"{largest['name']}, the largest: {described(largest)}"
    yield f"all {len(named)}: {ranged(named)}"


def _range(rows: Sequence[Mapping[str, Any]], name: str, form: str = "{:.6g}") -> str:
    """Format the least and the largest number of a column; "" where no row has it."""
    column = [float(row[name]) for row in rows if name in row]
    if name in ("z", "depth"):  # to a millimetre: 0 is no -3e-11
        column = [round(length, 3) + 0.0 for length in column]
    if not column:
        return ""
    return " to ".join(dict.fromkeys(form.format(end) for end in (min(column), max(column))))


def report(results: RunResults) -> str:
    """Return the description, one fact a line, aligned."""
    rows = [row for section in _PARTS for row in section(results)]
    lines = [f"{results.path}  ({with_unit(results.path.stat().st_size, 'B')})"]
    for label, text in rows:
        lines += textwrap.wrap(
            text,
            width=100,
            initial_indent=f"  {label:<12}",
            subsequent_indent=" " * 14,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [f"  {label}"]
    return "\n".join(lines)


def _identity(results: RunResults) -> Iterator[tuple[str, str]]:
    origin = results.provenance
    if results.status != COMPLETE or results.message:
        yield "STATUS", ": ".join(filter(None, (results.status, results.message)))
    if results.status not in (COMPLETE, UNSTABLE, UNFINISHED):
        known = f"{COMPLETE}, {UNSTABLE} or {UNFINISHED}"
        yield "STATUS", f"{results.status!r} is not what seismo writes ({known}): it was changed"
    if results.title:
        yield "title", results.title
    dimensions = len(results.model.axes)
    yield "physics", results.physics + (f", {dimensions}-D" if dimensions else "")
    commit = origin.get("commit")
    version = f"seismo {origin.get('seismo', 'unknown')}" + (f" ({commit})" if commit else "")
    yield "created", f"{origin.get('created', 'unknown')} by {version}"
    packages = [
        f"{name} {origin[name]}" for name in ("python", "numpy", "numba", "h5py") if name in origin
    ]
    yield "with", ", ".join(packages)
    yield (
        "machine",
        ", ".join(
            str(fact)
            for fact in (
                origin.get("host"),
                origin.get("cpu"),
                f"{origin['threads']} threads" if origin.get("threads") else "",
            )
            if fact
        ),
    )
    yield "command", str(origin.get("command", "unknown"))


def _grid(results: RunResults) -> Iterator[tuple[str, str]]:
    axes = {name: coordinate for name, coordinate in results.model.axes.items() if len(coordinate)}
    if axes:
        points = " x ".join(str(len(coordinate)) for coordinate in axes.values())
        yield "grid", f"{points} points ({', '.join(axes)}); {_extents(axes)}"
    if (ground := results.ground) is not None:
        yield (
            "ground",
            f"z from {ground.z.min():.6g} to {ground.z.max():.6g} m; rows follow it (the grid's z "
            f"is theirs where the ground is at z = {axes['z'][0]:.6g} m) and are flat below z = "
            f"{ground.flat_from:.6g} m",
        )
    for name in results.model:
        limits = results.model.attribute(name, "actual_range")
        if limits is not None and np.size(limits) == 2:
            low, high = np.ravel(limits)
            span = f"{low:.5g} to {high:.5g}" if high > low else f"{low:.5g}"
            yield name, f"{span} {results.model.unit(name)}"


def _accuracy(results: RunResults) -> Iterator[tuple[str, str]]:
    errors = {"expected": results.expected_error, "wanted": results.wanted_error}
    texts = [f"{100 * e:.2g} % {name}" for name, e in errors.items() if math.isfinite(e)]
    if texts:
        yield "accuracy", f"relative error of the traces: {', '.join(texts)}"
    if results.chosen:
        yield "chosen", settings(results.chosen)


def settings(chosen: Mapping[str, Any]) -> str:
    """List chosen values: lengths in m, numbers, names, or none."""
    texts = (f"{v:.6g} m" if isinstance(v, float) else str(v or "none") for v in chosen.values())
    return ", ".join(f"{key} {text}" for key, text in zip(chosen, texts, strict=True))


def _extents(axes: dict[str, np.ndarray]) -> str:
    return ", ".join(
        f"{name} {coordinate[0]:.6g} to {coordinate[-1]:.6g} m{_steps(coordinate)}"
        for name, coordinate in axes.items()
    )


def _steps(coordinate: np.ndarray) -> str:
    if len(coordinate) < 2:
        return ""
    first = coordinate[1] - coordinate[0]
    last = coordinate[-1] - coordinate[-2]
    grows = f" to {last:.6g} m" if last > first * (1.0 + 1e-6) else ""
    return f" every {first:.6g} m{grows}"


def _run(results: RunResults) -> Iterator[tuple[str, str]]:
    summary = dict(results.summary)
    steps = summary.pop("steps", results.attributes.get("steps"))
    text = f"step {with_unit(results.dt, 's')}" if np.isfinite(results.dt) else "step unknown"
    if isinstance(steps, int | float | np.number):
        text += f", {int(steps)} steps, {with_unit(steps * results.dt, 's')}"
    yield "time", text
    facts = [_fact(key, value) for key, value in summary.items()]
    if facts:
        yield "run", "; ".join(facts)
    for warning in results.warnings:
        yield "warning", warning


def _fact(key: str, value: Any) -> str:
    words = key.replace("_", " ")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{words} {value}"
    if key.endswith("_per_second"):
        unit = key.removesuffix("_per_second")
        return with_unit(value, {"bytes": "B/s"}.get(unit, f"{unit}/s"))
    for ending, unit in (("_s", "s"), ("_seconds", "s"), ("_bytes", "B")):
        if key.endswith(ending):
            return f"{words.removesuffix(ending.replace('_', ' '))} {with_unit(value, unit)}"
    if "share" in key:
        return f"{words} {value:.0%}"
    return f"{words} {value}" if isinstance(value, int) else f"{words} {value:.6g}"


def _sources(results: RunResults) -> Iterator[tuple[str, str]]:
    sources = results.sources
    for source in sources[:MOST_SOURCES]:
        position = ", ".join(f"{a} {source[a]:.6g}" for a in "xyz" if a in source)
        name = source.get("name", source.get("source", "source"))
        text = f"{name}: {source.get('type', 'unknown type')} at {position} m"
        if "wavelet" in source and "start" in source:
            source_time = timing(float(source["start"]), source.get("centre"))
            text += f", {source['wavelet']} {source_time}"
        if size := described({key: source[key] for key in source if key != "z"}):
            text += f", {size}"
        yield "source", text
    if len(sources) > MOST_SOURCES:
        yield "", f"... and {len(sources) - MOST_SOURCES} more sources; all: {ranged(sources)}"


def _traces(results: RunResults) -> Iterator[tuple[str, str]]:
    for name, traces in results.traces.items():
        yield "traces", f"{name}: {_trace_shape(traces)}"
        yield from _peaks(traces)
    if results.traces and results.traces_hash:
        yield "hash", f"{results.traces_hash} (SHA-256 of all traces)"


def _trace_shape(traces: TraceSet) -> str:
    time = traces.time
    shots = len(traces.shots)
    receivers = len(traces.codes)
    moving = " that move with the source" * traces.moves
    every = f" every {with_unit(time[1] - time[0], 's')}" if len(time) > 1 else ""
    return (
        f"{shots} shot{'s' * (shots != 1)} x {receivers} receiver{'s' * (receivers != 1)}{moving} "
        f"x {len(time)} samples{every}"
    )


def _snapshots(results: RunResults) -> Iterator[tuple[str, str]]:
    for name, series in results.snapshots.items():
        yield "snapshots", f"{name}: {_series_shape(series)}"
        yield from _peaks(series)


def _boxes(results: RunResults) -> Iterator[tuple[str, str]]:
    for name, faces in results.boxes.items():
        series = next(iter(faces.values()))
        yield (
            "box",
            f"{name}: {', '.join(series)} about {', '.join(faces)}, {len(series.time)} times",
        )


def _series_shape(series: SnapshotSeries) -> str:
    time = series.time
    span = f" from {time[0]:.4g} to {time[-1]:.4g} s" if len(time) else ""
    stored = min((len(series.stored(name)) for name in series), default=len(time))
    span += f", {stored} of them stored" if stored < len(time) else ""
    shot = f", shot {series.shot}" if series.shot else ""
    return f"{len(time)} times{span}, {_cut(series)}{shot}"


def _maps(results: RunResults) -> Iterator[tuple[str, str]]:
    for name, maps in results.maps.items():
        shots = len(maps.shots)
        yield "maps", f"{name}: {shots} shot{'s' * (shots != 1)}, {_cut(maps)}"
        yield from _peaks(maps, _highest_point(maps))


def _cut(arrays: MapSet | SnapshotSeries) -> str:
    on_ground = arrays.ground is not None and arrays.ground.is_on(arrays.plane)
    plane = "".join(f", {'' if on_ground else 'plane '}{p}" for p in arrays.described_plane)
    points = " x ".join(str(len(coordinate)) for coordinate in arrays.axes.values())
    return f"{points} points ({', '.join(arrays.axes)}){plane}"


def _highest_point(maps: MapSet) -> Callable[[str], str]:
    """Return what says where the largest value of a map is, of all but very large ones."""

    def location(name: str) -> str:
        if np.prod(maps.shape(name), dtype=float) > _MOST_READ or not maps.stored(name):
            return ""
        map_samples = np.nan_to_num(maps.values_of(name))
        shot, *point = np.unravel_index(int(map_samples.argmax()), map_samples.shape)
        axes = {
            axis: coordinate[n]
            for (axis, coordinate), n in zip(maps.axes.items(), point, strict=True)
        }
        position = {**axes, **maps.plane}
        # Over topography the axis z counts rows; the point has a z of its own.
        if maps.z_true is not None:
            position["z"] = maps.z_true[tuple(point)]
        rounded = {axis: round(float(value), 6) + 0.0 for axis, value in position.items()}
        words = ", ".join(f"{axis} {rounded[axis]:.6g}" for axis in "xyz" if axis in rounded)
        return f" at {words} m" + f" ({maps.shots[shot]})" * (len(maps.shots) > 1)

    return location


def _peaks(
    arrays: NamedArrays, location: Callable[[str], str] = lambda _: ""
) -> Iterator[tuple[str, str]]:
    texts = []
    for name in arrays:
        peak = arrays.attribute(name, "peak")
        unit = arrays.unit(name)
        size = "not stored" if peak is None else with_unit(float(peak), unit) + location(name)
        texts.append(f"{name} {size}")
    if texts:
        yield "  peak", ", ".join(texts)


_PARTS = (_identity, _grid, _accuracy, _run, _sources, _traces, _snapshots, _maps, _boxes)


_COMPARED = ("traces", "snapshots", "maps")
_ROUNDING = 1e-9  # of the step of an axis, by which equal places may differ


@dataclass(frozen=True)
class Comparison:
    """One array of two files.

    Attributes:
        name: of the array, with its group.
        identical: whether all bits are the same.
        relative: L2 norm of the difference over that of the first one.
        largest: difference of two numbers.
        unit: of the latter.
        obstacle: why there is nothing to compare, if so.
    """

    name: str
    identical: bool = False
    relative: float = np.nan
    largest: float = np.nan
    unit: str = ""
    obstacle: str = ""

    def __str__(self) -> str:
        """Describe it in a few words."""
        if self.obstacle or self.identical:
            return f"{self.name}: {self.obstacle or 'identical'}"
        most = with_unit(self.largest, self.unit)
        return f"{self.name}: differ by {self.relative:.3g} (relative L2), {most} at most"


def compare(first: RunResults, second: RunResults) -> Iterator[Comparison]:
    """Compare all arrays of two files."""
    for results in (first, second):
        results.verify(without=_COMPARED)
    for kind in _COMPARED:
        first_sets = dict(getattr(first, kind))
        second_sets = dict(getattr(second, kind))
        for name in first_sets | second_sets:
            yield from _compare_sets(f"{kind}/{name}", first_sets.get(name), second_sets.get(name))


def _compare_sets(
    name: str, first: NamedArrays | None, second: NamedArrays | None
) -> Iterator[Comparison]:
    if first is None or second is None:
        yield Comparison(name, obstacle=_only(second is None))
        return
    different_columns = [
        c for c in first.columns if not _same_axis(_column(first, c), _column(second, c))
    ]
    for array in dict.fromkeys([*first, *second]):
        path = f"{name}/{array}"
        if array not in first or array not in second:
            yield Comparison(path, obstacle=_only(array in first))
        elif first.shape(array) != second.shape(array):
            shapes = f"{first.shape(array)} and {second.shape(array)}"
            yield Comparison(path, obstacle=f"have the shapes {shapes}")
        elif different_columns:
            yield Comparison(
                path, obstacle=f"stand at other places: {', '.join(different_columns)}"
            )
        else:
            yield _compare(path, array, first, second)


def _only(first: bool) -> str:
    return f"only in the {'first' if first else 'second'} file"


def _same_axis(first: Any, second: Any) -> bool:
    """Whether two coordinates are equal, numbers but for rounding."""
    if first is None or second is None or np.shape(first) != np.shape(second):
        return first is second
    first = np.asarray(first)
    second = np.asarray(second)
    if not (first.dtype.kind in "fiu" and second.dtype.kind in "fiu") or not first.size:
        return np.array_equal(first, second)
    largest = float(np.nanmax(np.abs(first), initial=0.0))
    steps = np.abs(np.diff(first.astype(float)))
    step = min(steps[steps > _ROUNDING * largest], default=largest)
    return np.allclose(first, second, rtol=0.0, atol=_ROUNDING * step, equal_nan=True)


def _column(arrays: NamedArrays, name: str) -> Any:
    return arrays.column(name) if name in arrays.columns else None


def _compare(path: str, name: str, first: NamedArrays, second: NamedArrays) -> Comparison:
    """Compare two arrays, a frame at a time."""
    identical = True
    difference_energy = 0.0
    energy = 0.0
    largest = 0.0
    for index in range(first.shape(name)[0]):
        a, b = (arrays.values_of(name, index) for arrays in (first, second))
        identical &= a.tobytes() == b.tobytes()
        difference = np.subtract(b, a, dtype=float)
        difference[np.isnan(a) & np.isnan(b)] = 0.0
        difference_energy += float(np.sum(difference**2))
        energy += float(np.nansum(np.square(a, dtype=float)))
        largest = float(np.maximum(largest, np.abs(difference).max(initial=0.0)))
    relative = (
        float(np.sqrt(difference_energy / energy))
        if energy
        else (np.inf if difference_energy else 0.0)
    )
    return Comparison(path, identical, relative, largest, first.unit(name))
