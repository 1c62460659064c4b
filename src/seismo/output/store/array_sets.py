"""The groups of a results file: seismograms, snapshots, maps, model, wavelets, telemetry."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np

from seismo.errors import ScenarioError
from seismo.output.store.arrays import (
    NamedArrays,
    choose,
    text_attribute,
)
from seismo.output.store.ground import Z_TRUE, GroundRecord

Sources = list[dict[str, Any]]
RECORDING = "recording"  # coordinate of sets that drop receivers: 1 where they record, else 0

_COORDINATES = (
    *"xyz",
    "depth",
    "elevation",
    "longitude",
    "latitude",
    "x_azimuth",
    "station_elevation",
    "r_hyp",
    "r_rup",
    "r_jb",
    RECORDING,
)  # of some sets


class TraceSet(NamedArrays):
    """The seismograms of one receiver set: quantity -> (shot, receiver, time)."""

    def __init__(
        self, group: h5py.Group | None, name: str, sources: Callable[[], Sources] = list
    ) -> None:
        """Look up the content of the group; `sources` returns those of the file, in rows."""
        super().__init__(group, name)
        self._sources = sources
        # Coordinates (shot, receiver) of receivers that move are no traces.
        moving = {k: d for k, d in self._arrays.items() if d.ndim == 2}
        self._columns |= moving
        self._arrays = {k: d for k, d in self._arrays.items() if k not in moving}

    @property
    def moves(self) -> bool:
        """Whether the receivers move with the shots: coordinates are (shot, receiver) then."""
        return self.fact("relative_to") is not None

    def coordinate(self, name: str, shot: int) -> np.ndarray | None:
        """Return a coordinate (receiver) in one shot, such as x; None where a run has none.

        Raises:
            UnknownNameError: the set has no such coordinate.
        """
        if name not in _COORDINATES:
            choose(dict.fromkeys(self.columns), name, self.name)
        numbers = self.column(name)
        return numbers[shot] if numbers is not None and numbers.ndim == 2 else numbers

    def heights(self, shot: int) -> np.ndarray:
        """Return the heights (receiver) of receivers in m: -z, over topography above its zero."""
        names = ("elevation", "depth", "z")
        elevation, depth, z = (self.coordinate(name, shot) for name in names)
        if elevation is not None and depth is not None:
            return elevation - depth
        return np.zeros(len(self.codes)) if z is None else -z

    def recording(self, shot: int) -> np.ndarray:
        """Return which receivers (receiver) record in one shot; the others lie off the grid."""
        numbers = self.coordinate(RECORDING, shot)
        return np.ones(len(self.codes), bool) if numbers is None else numbers > 0.0

    def recorded_at(self, names: str, shot: str | None) -> np.ndarray | None:
        """Return the coordinates (axis, n) m along some axes of the receivers that record.

        Args:
            names: of the axes, such as "xz".
            shot: name of the shot; None for all of them.

        Returns:
            Nothing where the set has not all of these axes.
        """
        if not all(name in self.columns for name in names):
            return None
        shots = self.shots
        numbers = [shots.index(shot)] if shot in shots else range(len(shots) if self.moves else 1)
        positions = []
        for name in names:
            columns = [np.asarray(self.coordinate(name, number)) for number in numbers]
            kept = [c[self.recording(k)] for c, k in zip(columns, numbers, strict=True)]
            positions.append(np.concatenate(kept))
        if shot is None and self.moves:
            return np.unique(positions, axis=1)
        return np.array(positions)

    @property
    def geometry(self) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
        """Where sources are: name -> axes, and numbers in m along them.

        `source_x`, `source_y`, `source_z` (shot) of the source that begins first, and `offset`
        (shot, receiver), horizontal, on lines with the sign of x; nothing where they are not known.
        """
        first: dict[Any, dict[str, Any]] = {}
        for source in sorted(self._sources(), key=lambda row: float(row.get("start", 0.0))):
            first.setdefault(source.get("shot"), source)
        rows = [first.get(shot, first.get(None, {})) for shot in self.shots]
        known = [axis for axis in "xyz" if rows and all(axis in row for row in rows)]
        positions = {axis: np.array([float(row[axis]) for row in rows]) for axis in known}
        named: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
            f"source_{axis}": (("shot",), position) for axis, position in positions.items()
        }
        columns = {axis: self.column(axis) for axis in "xy" if axis in positions}
        away = [c - positions[a][:, None] for a, c in columns.items() if c is not None]
        if away and self.x is not None:
            offset = away[0] if len(away) == 1 else np.hypot(*away)
            named["offset"] = (("shot", "receiver"), offset)
        return named

    def _labelled(self, name: str, array: np.ndarray) -> Any:
        """Return an array with its coordinates; damaged sources leave theirs out."""
        labelled = super()._labelled(name, array)
        with contextlib.suppress(ScenarioError, TypeError, ValueError):
            for coordinate, (axes, numbers) in self.geometry.items():
                labelled = labelled.assign_coords({coordinate: (axes, numbers, {"units": "m"})})
        return labelled

    @property
    def x(self) -> np.ndarray | None:
        """Receiver x (receiver) m as used; (shot, receiver) of receivers that move."""
        return self.column("x")

    @property
    def y(self) -> np.ndarray | None:
        """Receiver y (receiver) m as used, as `x`; None in 2-D."""
        return self.column("y")

    @property
    def z(self) -> np.ndarray | None:
        """Receiver z (receiver) m as used, as `x`; positive down."""
        return self.column("z")

    @property
    def gauge_length(self) -> float | None:
        """Length in m of fibre that a channel records the strain of, None where it is no fibre."""
        length = self.fact("gauge_length")
        return None if length is None else float(length)

    @property
    def codes(self) -> list[str]:
        """Receiver codes."""
        return _strings(self.column("receiver"))

    @property
    def sites(self) -> list[str]:
        """Names of the sites of receivers, "" of those without; empty without a list of them."""
        return [] if "site" not in self.columns else _strings(self.column("site"))

    @property
    def shots(self) -> list[str]:
        """Shot names."""
        return _strings(self.column("shot"))

    @property
    def time(self) -> np.ndarray:
        """Sample times (time) s."""
        return self.numbers("time")


class _OnGrid(NamedArrays):
    """Arrays over the axes of a slice of the grid.

    Attributes:
        ground: that rows follow, None where it is flat; the axis z is s then (`ground_record`).
    """

    _leading = 0  # axes before those of the grid

    def __init__(
        self, group: h5py.Group | None, name: str, ground: GroundRecord | None = None
    ) -> None:
        """Look up the content of the group."""
        super().__init__(group, name)
        self.ground = ground

    @property
    def axes(self) -> dict[str, np.ndarray]:
        """Coordinates in m by name, in the order of the array axes."""
        return _axes(self, skip=self._leading)

    @property
    def plane(self) -> dict[str, float]:
        """The axis across the plane and its position (m), empty for the full grid."""
        return {}

    @property
    def z_true(self) -> np.ndarray | None:
        """Z in m of the points (over the axes), None where the axis z has it."""
        return None if self.ground is None else self.ground.points(self.axes, self.plane)

    def _labelled(self, name: str, array: np.ndarray) -> Any:
        labelled = super()._labelled(name, array)
        if (z := self.z_true) is not None:
            labelled = labelled.assign_coords({Z_TRUE: (list(self.axes), z, {"units": "m"})})
        return labelled


class _Frames(_OnGrid):
    """Arrays of frames, each over the axes of a slice of the grid."""

    _leading = 1

    @property
    def plane(self) -> dict[str, float]:
        """The axis across the plane and its position (m), empty for the full grid."""
        positions = {axis: self.fact(f"plane_{axis}") for axis in "xyz"}
        return {axis: float(value) for axis, value in positions.items() if value is not None}

    @property
    def ground_of_plane(self) -> GroundRecord | None:
        """The ground, that of the plane alone where it is across x or y; None where flat."""
        return None if self.ground is None else self.ground.cut(self.plane)

    @property
    def described_plane(self) -> list[str]:
        """Where the plane is, as words; nothing for the full grid."""
        if self.ground is not None and self.ground.is_on(self.plane):
            return ["on the ground"]
        return [f"{axis} = {value:.6g} m" for axis, value in self.plane.items()]


class MapSet(_Frames):
    """Largest values over the run: quantity -> (shot, [z, y, x])."""

    @property
    def shots(self) -> list[str]:
        """Shot names."""
        return _strings(self.column("shot"))


class SnapshotSeries(_Frames):
    """Snapshots of the wavefield: field -> (time, [z, y, x])."""

    @property
    def time(self) -> np.ndarray:
        """Times of the snapshots (time) s."""
        return self.numbers("time")

    @property
    def shot(self) -> str | None:
        """The shot these snapshots belong to, None when the run has only one."""
        return text_attribute(self._group, "shot") or None

    def frame(self, field: str, index: int) -> np.ndarray:
        """Read one snapshot of one field over the axes."""
        return self.values_of(field, index)


class Model(_OnGrid):
    """The earth model on the grid: parameter -> (z, [y,] x)."""


class Wavelets(NamedArrays):
    """The source time functions as injected: ``wavelet`` (source, time)."""

    @property
    def time(self) -> np.ndarray:
        """Sample times (time) s."""
        return self.numbers("time")

    @property
    def names(self) -> list[str]:
        """Source names."""
        return _strings(self.column("source"))

    @property
    def samples(self) -> np.ndarray:
        """Samples (source, time)."""
        return self.values_of("wavelet")


class TelemetryRecord(NamedArrays):
    """Performance of a run over wall-clock time: quantity -> (time)."""

    def __init__(self, group: h5py.Group | None, name: str) -> None:
        """Look up the content of the group: all but the time are arrays, of one axis."""
        super().__init__(group, name)
        self._arrays = {k: d for k, d in self._columns.items() if k != "time"}
        self._columns = {k: d for k, d in self._columns.items() if k == "time"}

    @property
    def time(self) -> np.ndarray:
        """Seconds after the first step (time)."""
        return self.numbers("time")


def _axes(arrays: NamedArrays, skip: int) -> dict[str, np.ndarray]:
    for name in arrays:
        names = arrays.dimensions(name)[skip:]
        return {axis: arrays.numbers(axis) for axis in names}
    return {}


def _strings(texts: np.ndarray | None) -> list[str]:
    return [] if texts is None else [str(value) for value in texts]
