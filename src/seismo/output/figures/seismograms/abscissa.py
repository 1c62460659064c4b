"""Where the traces of a section stand: the receivers along an axis, and what it is called."""

from __future__ import annotations

import numpy as np

from seismo.errors import ScenarioError
from seismo.output.figures.style import length_unit
from seismo.output.results import Results
from seismo.output.store.array_sets import TraceSet

MOST_CODES = 15  # receivers whose codes are written
_MOST_TICKS = 5
_LEAST_GAP = 0.02  # of the mean: closer traces cover each other
_NAMED_GAP = 0.2  # and their codes, where these are written


def placed(
    results: Results, traces: TraceSet, index: int, source: dict[str, float], by: str | None
) -> tuple[np.ndarray, np.ndarray, str, dict[float, str]]:
    """Return the receivers that record, in their order, their places, the label, and the ticks.

    Raises:
        ScenarioError: receivers have no such place.
    """
    is_survey = len(traces.shots) > 1 or bool(results.section("survey"))
    if by is None and source and (traces.moves or (is_survey and _is_line(traces, index))):
        by = "offset"
    positions, label = abscissa(traces, index, source, by)
    recording = np.flatnonzero(traces.recording(index))
    positions = positions[recording]
    # Receivers at one place, but for rounding, keep their order.
    order = np.argsort(np.round(positions, _digits(positions)), kind="stable")
    positions, ticks = spread(positions[order])
    return recording[order], positions, label, ticks


def abscissa(
    traces: TraceSet, index: int, source: dict[str, float], by: str | None
) -> tuple[np.ndarray, str]:
    """Return where each trace of a shot stands (receiver) and the axis label.

    Raises:
        ScenarioError: `by` is not possible for these receivers.
    """
    columns = {axis: traces.coordinate(axis, index) for axis in "xyz"}
    coordinates = {axis: positions for axis, positions in columns.items() if positions is not None}
    if (along := traces.column("fibre_distance")) is not None:
        coordinates["fibre"] = along
    by = by or ("fibre" if along is not None else _natural(coordinates, source))
    if by == "number":
        return np.arange(len(traces.codes), dtype=float), "receiver number"
    if by in coordinates:
        positions = coordinates[by]
        words = "distance along the fibre" if by == "fibre" else by
    elif by in ("distance", "offset") and source:
        positions, what = offsets(traces, index, source)
        words = what or "horizontal distance"
        if by == "distance":
            positions = np.abs(positions)
            words = "horizontal distance"
    else:
        raise ScenarioError(
            f"by {by!r}: use {', '.join([*coordinates, 'distance', 'offset', 'number'])}"
        )
    # A distance is told in the unit that a line of the same receivers is.
    factor, unit = length_unit(positions, *coordinates.values())
    return positions * factor, f"{words} ({unit})"


def offsets(
    traces: TraceSet, index: int, source: dict[str, float]
) -> tuple[np.ndarray, str | None]:
    """Return the horizontal distances (receiver) m, signed in 2-D, and what they are called."""
    along = {a: c for a in "xy" if (c := traces.coordinate(a, index)) is not None}
    distances = [v - source[a] for a, v in along.items() if a in source]
    if not distances:
        return np.zeros(len(traces.codes)), None
    if len(along) == 1:
        return distances[0], "offset"
    return np.sqrt(np.sum(np.square(distances), axis=0)), "horizontal distance"


def _is_line(traces: TraceSet, index: int) -> bool:
    """Whether receivers of a 2-D run lie along x."""
    columns = {a: c for a in "xyz" if (c := traces.coordinate(a, index)) is not None}
    return "y" not in columns and _natural(columns, {"x": 0.0}) == "x"


def spread(positions: np.ndarray) -> tuple[np.ndarray, dict[float, str]]:
    """Return places (receiver, growing) where no two traces cover each other, and their ticks.

    Where some do, or their codes would, all are put side by side at equal distances, and ticks say
    where a part of them really stands; there are none otherwise.
    """
    gaps = np.diff(positions)
    least = _NAMED_GAP if positions.size <= MOST_CODES else _LEAST_GAP
    if not gaps.size or gaps.min() >= least * gaps.mean() > 0.0:
        return positions, {}
    every = 1 if positions.size <= MOST_CODES else -(-positions.size // _MOST_TICKS)
    ticked = range(0, positions.size, every)
    rounded = np.round(positions, _digits(positions) - 1)  # three digits, for which there is room
    return np.arange(positions.size, dtype=float), {float(n): f"{rounded[n]:.10g}" for n in ticked}


def _digits(positions: np.ndarray) -> int:
    """Return the decimals that tell a thousandth of the largest place, or less."""
    largest = np.abs(positions).max(initial=0.0)
    return 3 - int(np.floor(np.log10(largest))) if largest > 0.0 else 0


def _natural(coordinates: dict[str, np.ndarray], source: dict[str, float]) -> str:
    spans = {
        axis: float(np.ptp(coordinate))
        for axis, coordinate in coordinates.items()
        if coordinate.size
    }
    longest = max(spans, key=lambda axis: spans[axis], default=None)
    if longest is None or spans[longest] == 0.0:
        return "number"
    # A line on the ground is one whatever its heights.
    along = coordinates[longest]
    is_level = longest in "xy" and np.unique(along).size == along.size
    beside = [span for axis, span in spans.items() if axis not in (longest, "z" * is_level)]
    others = max(beside, default=0.0)
    return longest if others < 0.05 * spans[longest] or not source else "distance"
