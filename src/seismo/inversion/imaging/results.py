"""Results of a migration or of sensitivity kernels: an HDF5 file of arrays on nodes.

::

    /arrays/<name>, background_<parameter>       (z, [y,] x)
"""

from __future__ import annotations

import os
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np

from seismo.equations.framework.registry import PARAMETERS
from seismo.inversion.survey.results_file import (
    COMPLETE,
    NodeResults,
    open_results_of,
    write_axes,
    write_results,
)
from seismo.output.store.layout import write_array

if TYPE_CHECKING:
    from seismo.inversion.imaging.preparation import PreparedGradient

_BACKGROUND = "background_"


@dataclass(frozen=True)
class NodeArray:
    """An array (z, [y,] x) and its unit."""

    array: np.ndarray
    unit: str


def squared(unit: str) -> str:
    """Return the square of a unit: m^2/s^2 of m/s."""
    return re.sub(
        r"([A-Za-z]+)(?:\^(\d+))?", lambda match: f"{match[1]}^{2 * int(match[2] or 1)}", unit
    )


def write_arrays(path: Path, prepared: PreparedGradient, arrays: dict[str, NodeArray]) -> None:
    """Write arrays on nodes, and the background.

    Args:
        path: the file.
        prepared: what they are results of.
        arrays: by name.

    Raises:
        StorageError: the disk is full or failing.
    """
    run = prepared.propagator.discretization
    attributes = prepared.attributes | {
        "status": COMPLETE,
        "shots": ", ".join(run.shots[number].name for number in prepared.shots),
    }
    background = {
        f"{_BACKGROUND}{name}": NodeArray(array, PARAMETERS[name].unit)
        for name, array in prepared.models.items()
    }
    write = partial(_write, prepared.axes, arrays | background)
    write_results(path, prepared.noun, attributes, prepared.geometry, prepared.axes, write)


def _write(axes: dict[str, np.ndarray], arrays: dict[str, NodeArray], file: h5py.File) -> None:
    group = file.create_group("arrays")
    scales = write_axes(group, axes)
    for name, of_nodes in arrays.items():
        write_array(group, name, of_nodes.array, scales, of_nodes.unit)


class ArrayResults(NodeResults):
    """Images or kernels, open for reading.

    Attributes:
        names: of the arrays beside the background.
        background: names of the parameters of the background.
    """

    group_name = "arrays"

    def __init__(self, file: h5py.File, path: Path) -> None:
        """Take an open file."""
        super().__init__(file, path)
        order = [*PARAMETERS, *sorted(self._group)]
        names = sorted(set(self._group) - self.axes.keys(), key=order.index)
        self.names = [name for name in names if not name.startswith(_BACKGROUND)]
        self.background = [n for n in PARAMETERS if f"{_BACKGROUND}{n}" in names]

    def array(self, name: str) -> np.ndarray:
        """Return an array (z, [y,] x)."""
        return np.asarray(self._group[name][:])

    def background_of(self, parameter: str) -> np.ndarray:
        """Return a parameter (z, [y,] x) of the background, in SI."""
        return self.array(f"{_BACKGROUND}{parameter}")

    def unit(self, name: str) -> str:
        """Return the unit of an array."""
        return str(self._group[name].attrs.get("units", ""))

    @property
    def _measurement(self) -> str:
        """What a kernel is of; nothing of an image."""
        if "kind" not in self.attributes:
            return ""
        return "{kind} of {component} at {receivers}".format(**self.attributes)

    def info(self) -> str:
        """Describe the file in plain text: title, status, shots, arrays with their largest."""
        shape = " x ".join(str(axis.size) for axis in self.axes.values())
        rows = [
            ("kernel of", self._measurement),
            ("shots", str(self.attributes["shots"])),
            ("nodes", shape),
            ("background", ", ".join(self.background)),
        ]
        for name in self.names:
            largest = float(np.abs(self.array(name)).max())
            unit = self.unit(name).removeprefix("1")
            rows.append(("array", f"{name}, at most {largest:.4g} {unit}".rstrip()))
        return self.described(*rows)


def open_image(path: str | os.PathLike[str]) -> AbstractContextManager[ArrayResults]:
    """Open results of a migration for reading.

    Raises:
        ScenarioError: the file is missing, damaged, or holds no image.
    """
    return open_results_of(path, "image", "image", ArrayResults)


def open_kernel(path: str | os.PathLike[str]) -> AbstractContextManager[ArrayResults]:
    """Open sensitivity kernels for reading.

    Raises:
        ScenarioError: the file is missing, damaged, or holds no kernel.
    """
    return open_results_of(path, "kernel", "kernel", ArrayResults)
