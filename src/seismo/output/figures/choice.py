"""Selection of a figure: the set, series, shot and component that a user named or left open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, TypeVar

import numpy as np
from pydantic import Field

from seismo.errors import ScenarioError
from seismo.output.run_results import PREVIEW, RunResults
from seismo.output.store.array_sets import (
    MapSet,
    SnapshotSeries,
    TraceSet,
)
from seismo.output.store.arrays import (
    NamedArrays,
    choose,
    listed,
)


class EmptyFigureError(ScenarioError):
    """The data of a figure are not stored."""


class UnusedOptionError(ScenarioError):
    """An option changes nothing in a figure."""


Named = TypeVar("Named", TraceSet, MapSet)
# What options may be: `draw` holds them to it.
Percentile = Annotated[float, Field(gt=0, le=100)]
Names = str | Annotated[Sequence[str], Field(min_length=1)]
FigureCount = Annotated[int, Field(ge=1, le=1000)]
MOST_QUANTITIES = 3  # in a figure, unless they are named


def trace_set(results: RunResults, name: str | None) -> TraceSet:
    """Return the receiver set `name`, or the first that has data to draw.

    Raises:
        ScenarioError: there is no such set, or none at all, or it cannot be drawn.
    """
    drawable = {
        key: trace_group
        for key, trace_group in results.traces.items()
        if not too_short(trace_group)
    }
    sets = results.traces if name is not None or not drawable else drawable
    problem = "holds no traces; add receivers to the scenario"
    traces = _named_or_first(results, sets, name, "receivers", problem)
    if too_short(traces):
        raise ScenarioError(f"{results.path}: {too_short(traces)}")
    return traces


def too_short(traces: TraceSet) -> str:
    """Explain why traces of one sample are not drawn; nothing of longer traces."""
    if len(traces.time) > 1:
        return ""
    return (
        f"receivers {traces.name}: one sample in every trace is nothing to draw; give an interval "
        "shorter than time.duration"
    )


def snapshot_series(
    results: RunResults, name: str | None, shot: str | int | None = None
) -> SnapshotSeries:
    """Return the snapshot series `name` (or the first) of a shot (or the first).

    Raises:
        ScenarioError: there is no such series or shot, or no snapshots at all.
    """
    available = {k: s for k, s in results.snapshots.items() if len(s) and len(s.time)}
    if not available:
        raise ScenarioError(
            f"{results.path}: holds no snapshots; add output.snapshots to the scenario"
        )
    if name in available:
        return available[name]
    stem = name if name is not None else next(iter(available)).partition("/")[0]
    shots = {s.shot or k: s for k, s in available.items() if k.partition("/")[0] == stem}
    if not shots:
        stems = dict.fromkeys(key.partition("/")[0] for key in available)
        return choose({**stems, **available}, stem, "snapshots")
    return shots[shot_name(list(shots), shot)]


def map_set(results: RunResults, name: str | None) -> MapSet:
    """Return the set of maps `name`, or the first.

    Raises:
        ScenarioError: there is no such set, or none at all.
    """
    return _named_or_first(
        results, results.maps, name, "maps", "holds no maps; add output.maps to the scenario"
    )


def _named_or_first(
    results: RunResults, sets: Mapping[str, Named], name: str | None, where: str, problem: str
) -> Named:
    if name is not None:
        return choose(sets, name, where)
    for candidate in sets.values():
        if len(candidate):
            return candidate
    raise ScenarioError(f"{results.path}: {problem}")


def alternatives(results: RunResults) -> dict[str, tuple[str, list[str]]]:
    """Return the alternatives of a figure by option: their word, the names.

    The first name is the default.
    """
    sets = [name for name, group in results.traces.items() if len(group) and not too_short(group)]
    series = [k.partition("/")[0] for k, s in results.snapshots.items() if len(s) and len(s.time)]
    return {
        "shot": ("shots", results.shots),
        "receivers": ("sets of receivers", sets),
        "series": ("series of snapshots", list(dict.fromkeys(series))),
        "maps": ("sets of maps", [name for name, group in results.maps.items() if len(group)]),
    }


def volumes(option: str, sets: Mapping[str, SnapshotSeries] | Mapping[str, MapSet]) -> list[str]:
    """Return the options, such as ``series=all``, that choose sets stored in three dimensions."""
    names = (name.partition("/")[0] for name, group in sets.items() if len(group.axes) == 3)
    return [f"{option}={name}" for name in dict.fromkeys(names)]


def refuse_empty(
    results: RunResults, arrays: NamedArrays, names: Sequence[str], index: int | None = None
) -> None:
    """Refuse to draw where nothing is stored of a shot, or of any frame where none is given.

    Raises:
        EmptyFigureError: there is nothing of any of these quantities.
    """
    stored = set[int]().union(*(arrays.stored(name) for name in names))
    if results.status == PREVIEW:
        raise EmptyFigureError(f"{arrays.name}: a preview has no waves; run the scenario first")
    if index not in stored and not (index is None and stored):
        raise EmptyFigureError(
            f"{results.path}: {arrays.name}: nothing of {listed(names)} is stored, the run is "
            f"{results.status}: the figure would be empty"
        )
    if isinstance(arrays, TraceSet) and index is not None and not arrays.recording(index).any():
        raise EmptyFigureError(
            f"{results.path}: {arrays.name}: no receiver lies inside the grid in "
            f"{arrays.shots[index]}: the figure would be empty; choose another shot"
        )


def shot_index(traces: TraceSet | MapSet, shot: str | int | None) -> int:
    """Return the index of a shot given by name or number (None: the first).

    Raises:
        ScenarioError: there is no such shot.
    """
    return traces.shots.index(shot_name(traces.shots, shot))


def shot_words(results: RunResults, name: str | None) -> str:
    """Return which shot of a survey is shown; nothing for a single shot."""
    count = len(results.shots)
    return f"{name}, one of {count} shots" if name and count > 1 else ""


def first_components(arrays: NamedArrays, names: Names | None) -> tuple[list[str], str]:
    """Return the quantities asked for, else the first few, and words where there are more.

    Raises:
        ScenarioError: a component is not in the file.
    """
    names_in_file = components(arrays, names)
    if names is not None or len(names_in_file) <= MOST_QUANTITIES:
        return names_in_file, ""
    return names_in_file[:MOST_QUANTITIES], f"{MOST_QUANTITIES} of {len(names_in_file)} quantities"


def components(arrays: NamedArrays, names: Names | None) -> list[str]:
    """Return the quantities asked for, or all of them; a text may hold several, by commas.

    Raises:
        ScenarioError: a component is not in the file.
    """
    requested = list(arrays) if names is None else _split(names)
    return [name for name in requested if choose(dict.fromkeys(arrays, True), name, arrays.name)]


def receiver_indices(traces: TraceSet, codes: Names | None, most: int, shot: int) -> np.ndarray:
    """Return the indices of the receivers named, or at most `most` spread over the set.

    Raises:
        ScenarioError: there is no such receiver, or it does not record in this shot.
    """
    recording = np.flatnonzero(traces.recording(shot))
    if codes is None:
        count = len(recording)
        thinned = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
        return recording[thinned]
    index = {code: k for k, code in enumerate(traces.codes)}
    chosen = {code: choose(index, code, traces.name) for code in _split(codes)}
    for code, number in chosen.items():
        if number not in recording:
            raise ScenarioError(
                f"{traces.name}: {code} lies outside the grid in {traces.shots[shot]}, and "
                "records nothing; choose another receiver or shot"
            )
    return np.array(list(chosen.values()))


def shot_name(shots: Sequence[str], shot: str | int | None) -> str:
    """Return the name of a shot given by name or number (None: the first).

    Raises:
        ScenarioError: there is no such shot.
    """
    if shot is None:
        return shots[0]
    if str(shot) in shots:
        return str(shot)
    if str(shot).isdecimal() and int(shot) < len(shots):
        return shots[int(shot)]
    raise ScenarioError(f"there is no shot {shot!r} (available: {listed(shots)})")


def _split(names: str | Iterable[str]) -> list[str]:
    items = names.split(",") if isinstance(names, str) else list(names)
    return [name.strip() for name in items]
