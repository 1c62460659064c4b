"""Results of an inversion: an HDF5 file with a model, its misfit and gradient for each iteration.

::

    /iterations/misfit, relative_misfit, band, evaluation         (iteration)
    /iterations/<parameter>, gradient_<parameter>                  (iteration, z, [y,] x)
    /evaluations/misfit, band                                      (evaluation)

Rows of the first model of a band have its misfit in that band. `relative_misfit` is that over the
first of the band.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from seismo.equations.framework.registry import PARAMETERS
from seismo.inversion.full_waveform.journal import Evaluation
from seismo.inversion.full_waveform.preparation import PreparedInversion
from seismo.inversion.survey.results_file import (
    NodeResults,
    open_results_of,
    write_axes,
    write_results,
)
from seismo.output.store.chunks import create_frames, frame_of, write_block
from seismo.output.store.layout import attach_scales, write_array, write_scale


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
    """

    iterations: Sequence[Iteration]
    corners: Sequence[float]
    misfits: Sequence[float]
    axes: Mapping[str, np.ndarray]


def write_history(
    path: Path, prepared: PreparedInversion, status: str, history: History, read: Any
) -> None:
    """Write the results, which replace an earlier file when they are complete.

    Args:
        path: the file.
        prepared: the inversion.
        status: whether it is complete.
        history: the iterations.
        read: function of the number of an evaluation to the `Evaluation`.

    Raises:
        StorageError: the disk is full or failing.
    """
    attributes = prepared.attributes | {"status": status}
    write = partial(_write, history, read)
    write_results(path, prepared.noun, attributes, prepared.geometry, history.axes, write)


def _write(history: History, read: Any, file: h5py.File) -> None:
    _write_iterations(file.create_group("iterations"), history, read)
    _write_evaluations(file.create_group("evaluations"), history)


def _write_iterations(group: h5py.Group, history: History, read: Any) -> None:
    rows = history.iterations
    scale = write_scale(group, "iteration", np.arange(len(rows), dtype=float))
    scales = [scale, *write_axes(group, history.axes)]
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


class InversionResults(NodeResults):
    """The results of an inversion, open for reading.

    Attributes:
        parameters: names of those that changed.
    """

    group_name = "iterations"

    def __init__(self, file: h5py.File, path: Path) -> None:
        """Take an open file."""
        super().__init__(file, path)
        self.parameters = [name for name in PARAMETERS if name in self._group]

    def column(self, name: str) -> np.ndarray:
        """Return numbers (iteration): misfit, relative_misfit, band or evaluation."""
        return np.asarray(self._group[name][:])

    def model(self, name: str, iteration: int) -> np.ndarray:
        """Return a parameter, or gradient_<parameter> (z, [y,] x), of an iteration."""
        return np.asarray(self._group[name][range(len(self._group[name]))[iteration]])

    @property
    def last_of_bands(self) -> dict[float, int]:
        """The last iteration of each band, by its corner in Hz."""
        return {float(corner): number for number, corner in enumerate(self.column("band"))}

    def info(self) -> str:
        """Describe the file in plain text: title, status, models, misfits by band."""
        shape = " x ".join(str(axis.size) for axis in self.axes.values())
        rows = [
            ("models", f"{', '.join(self.parameters)} at {shape} nodes"),
            ("iterations", f"{len(self.column('misfit'))}, the first of each band included"),
        ]
        relative = self.column("relative_misfit")
        for corner, last in self.last_of_bands.items():
            name = "all frequencies" if np.isinf(corner) else f"below {corner:g} Hz"
            rows.append(("misfit", f"{relative[last]:.4g} of the first, {name}"))
        return self.described(*rows)

    @property
    def unit(self) -> Mapping[str, str]:
        """The unit of each parameter."""
        return {name: PARAMETERS[name].unit for name in self.parameters}


def open_inversion(path: str | os.PathLike[str]) -> AbstractContextManager[InversionResults]:
    """Open results of an inversion for reading.

    Raises:
        ScenarioError: the file is missing, damaged, or holds no inversion.
    """
    return open_results_of(path, "inversion", "invert", InversionResults)
