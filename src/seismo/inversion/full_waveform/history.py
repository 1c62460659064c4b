"""Results of an inversion: an HDF5 file with a model, its misfit and gradient for each iteration.

::

    /iterations/misfit, relative_misfit, band, evaluation         (iteration)
    /iterations/<parameter>, gradient_<parameter>                  (iteration, z, [y,] x)
    /evaluations/misfit, band                                      (evaluation)
    /geometry: sources and receivers, x, z and y in 3-D            (source), (receiver)

Rows of the first model of a band have its misfit in that band. `relative_misfit` is that over the
first of the band. Each dimension has its coordinate as a scale, so that xarray opens each group.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from seismo.equations.framework.registry import PARAMETERS
from seismo.errors import ScenarioError
from seismo.formats.reading.arrays import open_hdf5
from seismo.inversion.full_waveform.journal import Evaluation
from seismo.output import provenance
from seismo.output.run_directory import HiddenFile, refusal, write_hidden
from seismo.output.store.chunks import create_frames, frame_of, write_block
from seismo.output.store.layout import BOUNDS, attach_scales, write_array, write_scale

FORMAT = "seismo inversion"
FORMAT_VERSION = 1
COMPLETE = "complete"
UNFINISHED = "unfinished"


@dataclass(frozen=True)
class Iteration:
    """An accepted model.

    Attributes:
        band: number of the band.
        corner: of the band in Hz, math.inf for no filter.
        evaluation: number of its evaluation.
    """

    band: int
    corner: float
    evaluation: int


@dataclass(frozen=True)
class History:
    """All that is written.

    Attributes:
        iterations: accepted models.
        corners: of the band of each evaluation, in Hz.
        misfits: of the evaluations.
        axes: coordinates in m of the nodes, by name, in the order of the arrays.
        geometry: positions (n, 3) m of "source" and "receiver".
        facts: attributes of the file.
    """

    iterations: Sequence[Iteration]
    corners: Sequence[float]
    misfits: Sequence[float]
    axes: Mapping[str, np.ndarray]
    geometry: Mapping[str, np.ndarray]
    facts: Mapping[str, Any]


def write_history(path: Path, history: History, read: Any) -> None:
    """Write the results, which replace an earlier file when they are complete.

    Args:
        path: the file.
        history: the iterations.
        read: function of the number of an evaluation to the `Evaluation`.

    Raises:
        StorageError: the disk is full or failing.
    """

    def write(hidden: HiddenFile) -> None:
        with h5py.File(hidden, "w", libver=BOUNDS) as file:
            file.attrs.update({"format": FORMAT, "format_version": FORMAT_VERSION})
            file.attrs.update({k: v for k, v in provenance().items() if k in ("seismo", "created")})
            file.attrs.update(history.facts)
            _write_iterations(file.create_group("iterations"), history, read)
            _write_evaluations(file.create_group("evaluations"), history)
            _write_geometry(file.create_group("geometry"), history)

    try:
        write_hidden(path, write)
    except OSError as error:
        raise refusal(path, error) from error


def _write_iterations(group: h5py.Group, history: History, read: Any) -> None:
    rows = history.iterations
    scale = write_scale(group, "iteration", np.arange(len(rows), dtype=float))
    scales = [scale, *(write_scale(group, name, axis, "m") for name, axis in history.axes.items())]
    first: dict[int, float] = {}
    for row in rows:
        first.setdefault(row.band, history.misfits[row.evaluation])
    misfit = np.array([history.misfits[row.evaluation] for row in rows])
    start = np.array([first[row.band] or 1.0 for row in rows])
    columns = {
        "misfit": (misfit, ""),
        "relative_misfit": (misfit / start, "1"),
        "band": (np.array([row.corner for row in rows]), "Hz"),
        "evaluation": (np.array([float(row.evaluation) for row in rows]), ""),
    }
    for name, (column, unit) in columns.items():
        write_array(group, name, column, [scale], unit)
    for number, row in enumerate(rows):
        evaluation: Evaluation = read(row.evaluation)
        for name, array, unit in _arrays(evaluation):
            if name not in group:
                frame = frame_of(array.shape, array.dtype)
                dataset = create_frames(group, name, (len(rows),), frame)
                attach_scales(dataset, scales, unit)
            write_block(group[name], (number,), array)


def _arrays(evaluation: Evaluation) -> Iterator[tuple[str, np.ndarray, str]]:
    """Yield name, array and unit of the models and gradients of an evaluation."""
    for name, array in evaluation.models.items():
        yield name, array, PARAMETERS[name].unit
    for name, array in evaluation.gradients.items():
        yield f"gradient_{name}", array, f"1/({PARAMETERS[name].unit})"


def _write_evaluations(group: h5py.Group, history: History) -> None:
    scale = write_scale(group, "evaluation", np.arange(len(history.misfits), dtype=float))
    write_array(group, "misfit", np.array(history.misfits), [scale], "")
    write_array(group, "band", np.array(history.corners), [scale], "Hz")


def _write_geometry(group: h5py.Group, history: History) -> None:
    for name, positions in history.geometry.items():
        scale = write_scale(group, name, np.arange(len(positions), dtype=float))
        for n, axis in enumerate("xyz"):
            if axis in history.axes:
                write_array(group, f"{name}_{axis}", positions[:, n], [scale], "m")


class InversionResults:
    """The results of an inversion, open for reading.

    Attributes:
        path: the file.
        attributes: of the file.
        axes: coordinates in m of the nodes by name, in the order of the arrays.
        parameters: names of those that changed.
    """

    def __init__(self, file: h5py.File, path: Path) -> None:
        """Take an open file."""
        self.path = path
        self._group = file["iterations"]
        self.attributes = dict(file.attrs)
        self.axes = {a: self._group[a][:] for a in "zyx" if a in self._group}
        self.parameters = [name for name in PARAMETERS if name in self._group]
        geometry = file["geometry"]
        self._geometry = {name: geometry[name][:] for name in geometry}

    def column(self, name: str) -> np.ndarray:
        """Return numbers (iteration): misfit, relative_misfit, band or evaluation."""
        return np.asarray(self._group[name][:])

    def model(self, name: str, iteration: int) -> np.ndarray:
        """Return a parameter, or gradient_<parameter> (z, [y,] x), of an iteration."""
        return np.asarray(self._group[name][range(len(self._group[name]))[iteration]])

    def positions(self, kind: str, axis: str) -> np.ndarray:
        """Return coordinates (n) m of each "source" or "receiver" along an axis."""
        return np.asarray(self._geometry[f"{kind}_{axis}"])

    @property
    def last_of_bands(self) -> dict[float, int]:
        """The last iteration of each band, by its corner in Hz."""
        return {float(corner): number for number, corner in enumerate(self.column("band"))}

    def info(self) -> str:
        """Describe the file in plain text: title, status, models, misfits by band."""
        shape = " x ".join(str(axis.size) for axis in self.axes.values())
        rows = [
            ("title", str(self.attributes["title"])),
            ("status", str(self.attributes["status"])),
            ("seismo", f"{self.attributes['seismo']}, {self.attributes['created']}"),
            ("models", f"{', '.join(self.parameters)} at {shape} nodes"),
            ("iterations", f"{len(self.column('misfit'))}, the first of each band included"),
        ]
        relative = self.column("relative_misfit")
        for corner, last in self.last_of_bands.items():
            name = "all frequencies" if np.isinf(corner) else f"below {corner:g} Hz"
            rows.append(("misfit", f"{relative[last]:.4g} of the first, {name}"))
        return "\n".join([str(self.path), *(f"  {name:<12}{text}" for name, text in rows if text)])

    @property
    def unit(self) -> Mapping[str, str]:
        """The unit of each parameter."""
        return {name: PARAMETERS[name].unit for name in self.parameters}


def is_inversion(path: Path) -> bool:
    """Whether a file holds results of an inversion."""
    try:
        with open_hdf5(path, is_ours=True) as file:
            return bool(file.attrs.get("format") == FORMAT)
    except (OSError, ValueError, ScenarioError):
        return False


@contextmanager
def open_inversion(path: str | os.PathLike[str]) -> Iterator[InversionResults]:
    """Open results of an inversion for reading.

    Raises:
        ScenarioError: the file is missing, damaged, or holds no inversion.
    """
    name = Path(path)
    if not name.is_file():
        raise ScenarioError(f"{name}: there is no such file; run `seismo invert` first")
    if not is_inversion(name):
        raise ScenarioError(f"{name}: holds no inversion; name what `seismo invert` wrote")
    with open_hdf5(name, is_ours=True) as file:
        if file.attrs.get("format_version") != FORMAT_VERSION:
            raise ScenarioError(f"{name}: is of another version; use the seismo that wrote it")
        yield InversionResults(file, name)
