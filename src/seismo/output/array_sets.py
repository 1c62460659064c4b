"""The groups of a results file: seismograms, snapshots, maps, model, wavelets, telemetry."""

from __future__ import annotations

import h5py
import numpy as np

from seismo.output.arrays import NamedArrays, text_attribute


class TraceSet(NamedArrays):
    """The seismograms of one receiver set: quantity -> (shot, receiver, time)."""

    @property
    def x(self) -> np.ndarray | None:
        """Receiver x (receiver) m as used."""
        return self.column("x")

    @property
    def y(self) -> np.ndarray | None:
        """Receiver y (receiver) m as used, None in 2-D."""
        return self.column("y")

    @property
    def z(self) -> np.ndarray | None:
        """Receiver z (receiver) m as used, positive down."""
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
    def shots(self) -> list[str]:
        """Shot names."""
        return _strings(self.column("shot"))

    @property
    def time(self) -> np.ndarray:
        """Sample times (time) s."""
        return self.numbers("time")


class _Frames(NamedArrays):
    """Arrays of frames, each over the axes of a slice of the grid."""

    @property
    def axes(self) -> dict[str, np.ndarray]:
        """Coordinates in m by name, in the order of the array axes."""
        return _axes(self, skip=1)

    @property
    def plane(self) -> dict[str, float]:
        """The axis across the plane and its position (m), empty for the full grid."""
        positions = {axis: self.fact(f"plane_{axis}") for axis in "xyz"}
        return {axis: float(value) for axis, value in positions.items() if value is not None}


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


class Model(NamedArrays):
    """The earth model on the grid: parameter -> (z, [y,] x)."""

    @property
    def axes(self) -> dict[str, np.ndarray]:
        """Coordinates in m by name, in the order of the array axes."""
        return _axes(self, skip=0)


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
