"""Results of a task: an HDF5 file with attributes, arrays on nodes, sources and receivers.

::

    /geometry: sources and receivers, x, z and y in 3-D            (source), (receiver)

Each dimension has its coordinate as a scale, so that xarray opens each group.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import h5py
import numpy as np

from seismo.errors import ScenarioError
from seismo.formats.reading.arrays import open_hdf5
from seismo.output import provenance
from seismo.output.run_directory import HiddenFile, refusal, write_hidden
from seismo.output.store.layout import BOUNDS, write_array, write_scale

FORMAT_VERSION = 1
COMPLETE = "complete"
UNFINISHED = "unfinished"


def write_results(
    path: Path, noun: str, attributes: Mapping[str, Any],
    geometry: Mapping[str, np.ndarray], axes: Iterable[str],
    write_groups: Callable[[h5py.File], None],
) -> None:  # fmt: skip
    """Write results, which replace an earlier file when they are complete.

    Args:
        path: the file.
        noun: what they are, such as "inversion".
        attributes: of the file.
        geometry: positions (n, 3) m of "source" and "receiver".
        axes: of the grid.
        write_groups: function of the open file that writes all else.

    Raises:
        StorageError: the disk is full or failing.
    """

    def write(hidden: HiddenFile) -> None:
        with h5py.File(hidden, "w", libver=BOUNDS) as file:
            file.attrs.update({"format": f"seismo {noun}", "format_version": FORMAT_VERSION})
            file.attrs.update({k: v for k, v in provenance().items() if k in ("seismo", "created")})
            file.attrs.update(attributes)
            write_groups(file)
            _write_geometry(file.create_group("geometry"), geometry, axes)

    try:
        write_hidden(path, write)
    except OSError as error:
        raise refusal(path, error) from error


def write_axes(group: h5py.Group, axes: Mapping[str, np.ndarray]) -> list[h5py.Dataset]:
    """Write the coordinates in m of the nodes, and return their scales."""
    return [write_scale(group, name, axis, "m") for name, axis in axes.items()]


def _write_geometry(
    group: h5py.Group, geometry: Mapping[str, np.ndarray], axes: Iterable[str]
) -> None:
    for name, positions in geometry.items():
        scale = write_scale(group, name, np.arange(len(positions), dtype=float))
        for axis in axes:
            column = positions[:, "xyz".index(axis)]
            write_array(group, f"{name}_{axis}", column, [scale], "m")


class NodeResults:
    """Results with arrays on nodes, open for reading.

    Attributes:
        path: the file.
        attributes: of the file.
        axes: coordinates in m of the nodes by name, in the order of the arrays.
    """

    group_name: str

    def __init__(self, file: h5py.File, path: Path) -> None:
        """Take an open file."""
        self.path = path
        self.attributes = dict(file.attrs)
        self._group = file[self.group_name]
        self.axes = {a: self._group[a][:] for a in "zyx" if a in self._group}
        geometry = file["geometry"]
        self._geometry = {name: geometry[name][:] for name in geometry}

    def positions(self, kind: str, axis: str) -> np.ndarray:
        """Return coordinates (n) m of each "source" or "receiver" along an axis."""
        return np.asarray(self._geometry[f"{kind}_{axis}"])

    def described(self, *rows: tuple[str, str]) -> str:
        """Return title, status and rows of names and texts as plain text."""
        of_all = (
            ("title", str(self.attributes["title"])),
            ("status", str(self.attributes["status"])),
            ("seismo", f"{self.attributes['seismo']}, {self.attributes['created']}"),
        )
        lines = (f"  {name:<12}{text}" for name, text in (*of_all, *rows) if text)
        return "\n".join([str(self.path), *lines])


R = TypeVar("R", bound=NodeResults)


def attributes_of(path: Path) -> dict[str, Any]:
    """Return the attributes of an HDF5 file; none where it is no such file."""
    try:
        with open_hdf5(path, is_ours=True) as file:
            return dict(file.attrs)
    except (OSError, ValueError, ScenarioError):
        return {}


def is_results_of(path: Path, noun: str) -> bool:
    """Whether a file holds results of a kind, such as an "inversion"."""
    return attributes_of(path).get("format") == f"seismo {noun}"


@contextmanager
def open_results_of(
    path: str | os.PathLike[str], noun: str, command: str, kind: Callable[[h5py.File, Path], R]
) -> Iterator[R]:
    """Open results of a kind for reading.

    Args:
        path: the file.
        noun: the kind, such as "inversion".
        command: that writes them.
        kind: their class.

    Raises:
        ScenarioError: the file is missing, damaged, or holds something else.
    """
    name = Path(path)
    if not name.is_file():
        raise ScenarioError(f"{name}: there is no such file; run `seismo {command}` first")
    if not is_results_of(name, noun):
        raise ScenarioError(f"{name}: holds no {noun}; name what `seismo {command}` wrote")
    with open_hdf5(name, is_ours=True) as file:
        if file.attrs.get("format_version") != FORMAT_VERSION:
            raise ScenarioError(f"{name}: is of another version; use the seismo that wrote it")
        yield kind(file, name)
