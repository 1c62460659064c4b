"""The groups of a results file: seismograms, snapshots, maps, model, wavelets, telemetry, ground.

The vertical axis of arrays is s, which is z where rows are flat; points stand at

    z = s + f B(s),    B = (1 - (s - level) / depth)^3,   0 below level + depth,

f the depth of the ground below the level (`seismo.grid.coordinates`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

import h5py
import numpy as np

from seismo.errors import ScenarioError
from seismo.grid.coordinates import share
from seismo.output.store.arrays import NamedArrays, children, choose, read, reading, text_attribute

Z_TRUE = "z_true"  # coordinate with z of points, where the axis z is s
_NEAR = 1e-6  # of the spacing: coordinates at one point
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


class GroundRecord:
    """The ground under a run.

    Attributes:
        x: coordinates (n) in m of its columns.
        spacing: of the first two of them in m.
        y: coordinates (m) in m; 0 of a 2-D run.
        z: of the ground (m, n) in m.
        level: z in m of flat ground, on which the first row lies.
        depth: below the level in m from which on rows are flat.
        datum: z in m of height 0.
    """

    def __init__(self, group: h5py.Group) -> None:
        """Read it."""
        arrays = dict(children(group, h5py.Dataset))
        with reading(group):
            self.x = read(arrays["x"])
            self.spacing = float(self.x[1] - self.x[0])
            self.y = read(arrays["y"]) if "y" in arrays else np.zeros(1)
            self.z = np.atleast_2d(read(arrays["ground"]))
            numbers = [float(group.attrs[name]) for name in ("level", "depth", "datum")]
        (self.level, self.depth, self.datum) = numbers

    @property
    def flat_from(self) -> float:
        """S in m from which on rows are flat."""
        return self.level + self.depth

    def is_on(self, plane: Mapping[str, float]) -> bool:
        """Whether a plane of the results is the ground."""
        return "z" in plane and abs(plane["z"] - self.level) < _NEAR * self.spacing

    def cut(self, plane: Mapping[str, float]) -> GroundRecord:
        """Return the ground of a plane across x or y alone; itself on others."""
        rows = [_nearest(self.y, plane["y"])] if "y" in plane else slice(None)
        columns = [_nearest(self.x, plane["x"])] if "x" in plane else slice(None)
        result = copy(self)
        result.y = self.y[rows]
        result.x = self.x[columns]
        result.z = self.z[rows][:, columns]
        return result

    def at(self, y: np.ndarray | float, x: np.ndarray | float) -> np.ndarray:
        """Return z in m of the ground at the nodes next to coordinates (broadcast shape) in m."""
        return self.z[_nearest(self.y, y), _nearest(self.x, x)]

    def points(self, axes: Mapping[str, np.ndarray], plane: Mapping[str, float]) -> np.ndarray:
        """Return z in m of the points of arrays over axes (in their order), on a plane across."""
        names = list(axes)
        shaped = {
            name: np.reshape(ticks, [-1 if n == k else 1 for k in range(len(names))])
            for n, (name, ticks) in enumerate(axes.items())
        }
        y, x, s = (
            shaped.get(axis, plane.get(axis, default))
            for axis, default in (("y", 0.0), ("x", 0.0), ("z", self.level))
        )
        z = s + (self.at(y, x) - self.level) * share(s, self.level, self.depth)
        return np.broadcast_to(z, [len(ticks) for ticks in axes.values()])

    def nearest_rows(self, axes: Mapping[str, np.ndarray], z: float) -> np.ndarray:
        """Return the numbers (y, x) of the rows of a volume whose points are nearest to z in m."""
        across = {name: axes[name] for name in ("y", "x")}
        rows = np.zeros([ticks.size for ticks in across.values()], int)
        nearest = np.full(rows.shape, np.inf)
        # Row by row: points of a volume at once may be many.
        for row, s in enumerate(axes["z"]):
            distance = np.abs(self.points(across, {"z": float(s)}) - z)
            rows[distance < nearest] = row
            nearest = np.minimum(nearest, distance)
        return rows


def _nearest(nodes: np.ndarray, coordinates: np.ndarray | float) -> np.ndarray:
    """Return the numbers of the nodes next to coordinates."""
    if nodes.size == 1:
        return np.zeros(np.shape(coordinates), int)
    step = (nodes[-1] - nodes[0]) / (nodes.size - 1)
    return np.clip(np.rint((coordinates - nodes[0]) / step), 0, nodes.size - 1).astype(int)


class TraceSet(NamedArrays):
    """The seismograms of a receiver set: quantity -> (shot, receiver, time)."""

    def __init__(
        self, group: h5py.Group | None, name: str, sources: Callable[[], Sources] = list
    ) -> None:
        """Look up the content of the group; `sources` returns the file's sources, in rows."""
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
        """Return a coordinate (receiver) in a shot, such as x; None where a run has none.

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
        """Return which receivers (receiver) record in a shot; the others lie off the grid."""
        numbers = self.coordinate(RECORDING, shot)
        return np.ones(len(self.codes), bool) if numbers is None else numbers > 0.0

    def recorded_at(self, names: str, shot: str | None) -> np.ndarray | None:
        """Return the coordinates (axis, n) m along axes of the receivers that record.

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
        """Names of the sites of receivers, "" if missing; empty without a list of them."""
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
        ground: that rows follow, None where it is flat; the axis z is s then (`GroundRecord`).
    """

    _leading = 0  # axes before the grid's

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
        """The shot these snapshots belong to, None when the run has a single shot."""
        return text_attribute(self._group, "shot") or None

    def frame(self, field: str, index: int) -> np.ndarray:
        """Read a snapshot of a field over the axes."""
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
        """Look up the content of the group: all but the time are arrays of a single axis."""
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
